"""`hocket show machine`."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket.base.files import parse_toml
from tests.conftest import Ran

MACHINES = {
    "torus": "dims = [4, 3]",
    "mesh": "dims = [3, 2, 2]",
    "fat_tree": "down = [4, 4]\nup = [1, 2]",
    "dragonfly": "nodes_per_router = 2\nrouters_per_group = 2\nglobal_links_per_router = 1",
    "crossbar": "nodes = 5",
}


@pytest.fixture
def machine_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a machine file with a topology, and more keys of its network."""

    def write(topology: str, *keys: str) -> Path:
        path = tmp_path / f"{topology}.toml"
        lines = [f'name = "my-{topology}"', "[network]", 'model = "links"', f'topology = "{topology}"']
        path.write_text("\n".join([*lines, MACHINES[topology], *keys, 'link_bandwidth = "1 GB/s"']) + "\n")
        return path

    return write


def test_a_torus_is_shown_with_its_facts_and_a_drawing(
    hocket_command: Callable[..., Ran], machine_file: Callable[..., Path]
) -> None:
    lines = hocket_command("show machine", machine_file("torus")).out.splitlines()
    assert lines[0] == "my-torus"
    facts = dict(line.split("  ", 1) for line in lines[1 : lines.index("")])
    assert {name: value.strip() for name, value in facts.items()} == {
        "topology": "torus",
        "model": "links",
        "network": "dims [4, 3], link_bandwidth 1 GB/s",
        "nodes": "12, with room for 12 ranks",
        "switches": "0",
        "directed links": "48, each of 2 virtual channels",
        "longest route": "3 links",
        "mean route": "1.818 links, over all pairs of nodes",
        "bisection": "6 links each way",
    }
    assert "y 1  ─  4 ─  5 ─  6 ─  7 ─" in lines


@pytest.mark.parametrize("topology", MACHINES)
def test_the_links_and_routes_of_every_topology_fit_together(
    hocket_command: Callable[..., Ran], machine_file: Callable[..., Path], topology: str
) -> None:
    shown = hocket_command("show machine", machine_file(topology), "--route", 0, 4, "--json").json
    assert shown.keys() == {
        "machine",
        "topology",
        "network",
        "node",
        "host",
        "noise",
        "sections",
        "quantities",
        "nodes",
        "switches",
        "directed_links",
        "channels",
        "longest_route",
        "mean_route",
        "bisection",
        "remarks",
        "torus",
        "ranks",
        "picture",
        "vertices",
        "links",
        "is_complete",
        "route",
        "plot",
    }
    assert (shown["machine"], shown["topology"], shown["is_complete"]) == (f"my-{topology}", topology, True)
    assert [vertex["id"] for vertex in shown["vertices"]] == list(range(shown["nodes"] + shown["switches"]))
    assert [link["id"] for link in shown["links"]] == list(range(shown["directed_links"]))
    at = 0
    for hop in shown["route"]:
        link = shown["links"][hop["link"]]
        assert (link["name"], link["from"]) == (hop["name"], at)
        assert hop["channel"] < shown["channels"]
        at = link["to"]
        assert shown["vertices"][at]["name"] == hop["to"]
    assert shown["vertices"][at]["ranks"] == [4]
    assert 0 < len(shown["route"]) <= shown["longest_route"]


@pytest.mark.parametrize("topology", MACHINES)
def test_every_rank_is_in_the_drawing(
    hocket_command: Callable[..., Ran], machine_file: Callable[..., Path], topology: str
) -> None:
    machine = machine_file(topology, "ranks_per_node = 10")
    picture = hocket_command("show machine", machine, "--json").json["picture"]
    assert "0-9" in picture and "40-49" in picture


def test_a_route_is_told_by_the_names_of_its_links(
    hocket_command: Callable[..., Ran], machine_file: Callable[..., Path]
) -> None:
    out = hocket_command("show machine", machine_file("torus"), "--route", 0, 11).out
    *_, first, second = (line.split() for line in out.splitlines())
    assert "from rank 0 to rank 11: 2 links\n" in out
    assert first == ["-x", "from", "(0,0)", "(3,0)", "1", "1"]
    assert second == ["-y", "from", "(3,0)", "(3,2)", "15", "1"]


def test_ranks_of_one_node_have_no_links_between_them(
    hocket_command: Callable[..., Ran], machine_file: Callable[..., Path]
) -> None:
    machine = machine_file("crossbar", "ranks_per_node = 2")
    assert hocket_command("show machine", machine, "--route", 6, 7).out.endswith("from rank 6 to rank 7: 0 links\n")


def test_routes_follow_the_permutation(hocket_command: Callable[..., Ran], machine_file: Callable[..., Path]) -> None:
    machine = machine_file("crossbar", "permutation = [4, 3, 2, 1, 0]")
    shown = hocket_command("show machine", machine, "--route", 0, 1, "--json").json
    assert [hop["name"] for hop in shown["route"]] == ["up from node 4", "down to node 3"]


def test_of_a_large_network_the_first_parts_are_listed(
    hocket_command: Callable[..., Ran], machine_file: Callable[..., Path]
) -> None:
    machine = machine_file("torus")
    machine.write_text(machine.read_text().replace("[4, 3]", "[130, 130]"))
    shown = hocket_command("show machine", machine, "--json").json
    assert (shown["directed_links"], shown["is_complete"]) == (67_600, False)
    assert (len(shown["vertices"]), len(shown["links"])) == (16_900, 65_536)


@pytest.mark.parametrize("name", hocket.presets())
def test_every_preset_can_be_shown(hocket_command: Callable[..., Ran], name: str) -> None:
    out = hocket_command("show machine", name).out
    machine = hocket.Machine.load(name)
    for part in (name, machine.model, *machine.network.values(), *machine.node.values()):
        assert part in out


def test_a_machine_without_a_topology_tells_its_keys(hocket_command: Callable[..., Ran]) -> None:
    assert "no topology: messages share no links\n" in hocket_command("show machine cluster").out
    shown = hocket_command("show machine jitter-paper --json").json
    machine = hocket.Machine.load("jitter-paper")
    assert shown == {
        "machine": "jitter-paper",
        "topology": None,
        "network": machine.network,
        "node": machine.node,
        "host": {},
        "noise": machine.noise,
        "quantities": machine.quantities,
        "sections": {
            "network": {
                **{"latency": "1 us", "bandwidth": "1 GB/s", "protocol": "rendezvous", "send_overhead": "0 s"},
            },
            "node": {"ports": "unlimited", "reduce_bandwidth": "10 GB/s"},
            "noise.os": machine.noise["os"],
            "noise.network": machine.noise["network"],
        },
    }


def files_of_pages() -> dict[str, str]:
    """The machine files in the pages, by page and name."""
    pattern = re.compile(r"^```\{code-block\} toml\n:caption: (\S+)\n(.*?)^```", re.M | re.S)
    pages = (Path(__file__).parents[3] / "docs").rglob("*.md")
    found = {f"{page.stem}/{name}": text for page in pages for name, text in pattern.findall(page.read_text())}
    return {name: text for name, text in found.items() if is_machine(text)}


def is_machine(text: str) -> bool:
    """Whether a text is a machine file without a mistake, and without other files."""
    try:
        return bool(hocket.Machine.parse(text))
    except hocket.Error:
        return False


FILES = {**{name: hocket.Machine.load(name).text for name in hocket.presets()}, **files_of_pages()}


def keys_and_texts(values: Any) -> Iterator[str]:
    """The names of tables and keys, and the texts and numbers, of a file."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield key
            yield from keys_and_texts(value)
    elif isinstance(values, list):
        for value in values:
            yield from keys_and_texts(value)
    else:
        yield str(values).lower() if isinstance(values, bool) else str(values)


@pytest.mark.parametrize("name", FILES)
def test_all_that_a_file_says_is_shown(hocket_command: Callable[..., Ran], tmp_path: Path, name: str) -> None:
    file = tmp_path / "machine.toml"
    file.write_text(FILES[name])
    machine = hocket.Machine.load(file)
    shown = hocket_command("show machine", file)
    lines = shown.out.partition("\n\n")[0].splitlines()
    assert max(map(len, lines)) <= 80
    words = " ".join(" ".join(lines).split())
    said = [text for text in keys_and_texts(parse_toml(machine.text, "")) if text != "name"]
    assert [text for text in said if not re.search(rf"(?<!\w){re.escape(text)}(?!\w)", words)] == []
    assert hocket_command("show machine", file, "--json").json["quantities"] == json.loads(
        json.dumps(machine.quantities)
    )


def test_a_network_is_drawn(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str], machine_file: Callable[..., Path], tmp_path: Path
) -> None:
    machine, picture = machine_file("torus"), tmp_path / "network.svg"
    assert hocket_command("show machine", machine, "--plot", picture).out.endswith(f"\nplot: {picture}\n")
    assert ">my-torus<" in picture.read_text()
    picture.unlink()
    assert hocket_command("show machine", machine, "--plot", picture, "--json").json["plot"] == str(picture)
    assert picture.exists()
    assert "ends in .png or .html or .svg" in bad_input("show machine", machine, "--plot", tmp_path / "network.gif")
    machine.write_text(machine.read_text().replace("[4, 3]", "[200, 200]"))
    large = tmp_path / "large.svg"
    assert bad_input("show machine", machine, "--plot", large).startswith("a picture of 160000 links, expected at most")
    assert not large.exists()


def test_a_rank_that_has_no_room_is_refused(bad_input: Callable[..., str], machine_file: Callable[..., Path]) -> None:
    machine = machine_file("torus")
    assert bad_input("show machine", machine, "--route", 0, 12) == "route: got rank 12, expected a rank from 0 to 11"
    assert bad_input("show machine", machine, "--route", 0, 12, "--json").startswith("route: got rank 12")
    assert bad_input("show machine", machine, "--route", "x", 0).startswith('--route: got "x", expected a whole number')
    assert bad_input("show machine", machine, "--route", 0) == "--route: got too few values, expected 2"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("show machine", "got 0 machines, expected one, a preset or a file"),
        ("show machine cluster cluster", "got 2 machines, expected one, a preset or a file"),
        ("show machine clutser", 'no machine "clutser", did you mean cluster?'),
        ("show machine cluster --ranks 4", "--ranks: does not apply to a machine, expected an algorithm"),
        (
            "show machine cluster --route 0 1",
            "--route: machine cluster has no topology, expected a machine with a topology",
        ),
        (
            "show machine cluster --plot net.png",
            "--plot: machine cluster has no topology, expected a machine with a topology",
        ),
        ("show allreduce ring --plot net.png", "--plot: does not apply to an algorithm, expected machine MACHINE"),
        ("show allreduce ring --route 0 1", "--route: does not apply to an algorithm, expected machine MACHINE"),
    ],
)
def test_what_cannot_be_shown_is_refused(bad_input: Callable[..., str], command: str, message: str) -> None:
    assert bad_input(command).startswith(message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"torus"', '"taurus"', ':4: network.topology: got "taurus", did you mean "torus"'),
        ("[4, 3]", "[4, 0]", ":5: network.dims: got [4, 0], expected sizes of at least 1 "),
        ("dims", "dimes", ": network.dims is missing, expected a list of sizes such as [8, 8]"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(
    bad_input: Callable[..., str], machine_file: Callable[..., Path], old: str, new: str, message: str
) -> None:
    machine = machine_file("torus")
    machine.write_text(machine.read_text().replace(old, new))
    assert f"{machine}{message}" in bad_input("show machine", machine)


def test_a_permutation_that_misses_a_node_is_one_line(
    bad_input: Callable[..., str], machine_file: Callable[..., Path]
) -> None:
    machine = machine_file("crossbar", "permutation = [0, 1, 2, 3, 3]")
    message = ":6: network.permutation: got [0, 1, 2, 3, 3], expected each of the nodes 0 to 4 once"
    assert message in bad_input("show machine", machine)
