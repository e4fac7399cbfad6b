"""Machine files and presets."""

import pickle
import re
from pathlib import Path

import pytest

import hocket
from hocket.definitions.variants import with_layout, with_map

TEXT = """name = "mine"
[network]
model = "hockney"
latency = "1 us"
bandwidth = "1 GB/s"
"""


@pytest.mark.parametrize("name", hocket.presets())
def test_every_preset_is_a_machine_that_says_what_it_is(name: str) -> None:
    machine = hocket.Machine.load(name)
    assert machine.name == name
    assert machine.description.endswith(".")
    assert hocket.simulate("allreduce/ring", hocket.Call(ranks=3, size_bytes=300), machine=machine).time_s.mean > 0


def test_the_presets_named_in_the_documentation_exist() -> None:
    assert {"cluster", "jitter-paper", "loggp-infiniband", "loggp-xt4"} <= set(hocket.presets())


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("# A machine of mine.\n" + TEXT)
    machine = hocket.Machine.load(path)
    assert (machine.name, machine.model, machine.description) == ("mine", "hockney", "A machine of mine.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("1 us", "1 parsec"), r'mine\.toml:4: network\.latency: got "1 parsec", expected a time'),
        (TEXT.replace("latency", "latencie"), r"network\.latency is missing, expected a time"),
        (TEXT + 'colour = "red"\n', r"mine\.toml:6: network\.colour: unknown key, expected one of"),
        (TEXT.replace('"hockney"', '"hockey"'), r'mine\.toml:3: network\.model: got "hockey", did you mean "hockney"'),
        (TEXT.replace('"1 us"', '"1 us'), r"mine\.toml:4: "),
        ("", "name is missing"),
    ],
)
def test_a_mistake_is_refused_with_file_line_and_key(text: str, message: str) -> None:
    with pytest.raises(hocket.Error, match=message) as refusal:
        hocket.Machine.parse(text, "mine.toml")
    assert "\n" not in str(refusal.value)


def test_an_unknown_machine_is_refused_with_the_presets() -> None:
    with pytest.raises(hocket.Error, match='no machine "clutser", did you mean cluster'):
        hocket.Machine.load("clutser")


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b'name = "\xff"')
    with pytest.raises(hocket.Error, match=r"mine\.toml: invalid byte at offset 8, expected UTF-8 text"):
        hocket.Machine.load(path)
    with pytest.raises(hocket.Error, match="Is a directory"):
        hocket.Machine.load(tmp_path)


def test_a_layout_takes_the_place_of_the_shape_of_a_torus() -> None:
    machine = hocket.Machine.load("fugaku")
    laid = with_layout(machine, "4x2, 8")
    assert "layout 4x2, 8" in laid.parameters
    assert with_layout(laid, "8, 4x2").parameters == with_layout(machine, "8, 4x2").parameters
    # Trinaryx3 takes the shape of the job, and neighbours in it are neighbours on the torus.
    call = hocket.Call(ranks=64, size_bytes=1 << 20)
    square = with_layout(machine, "8, 8")
    found, expected = (hocket.simulate("allreduce/trinaryx3", call, machine=each) for each in (laid, square))
    assert (found.parameters["X"], found.parameters["Y"], found.parameters["Z"]) == (8, 8, 1)
    assert found.time_s == expected.time_s
    doubling = [
        hocket.simulate("allreduce/recursive_doubling", call, machine=each).time_s.mean for each in (laid, square)
    ]
    assert doubling[0] < doubling[1]


@pytest.mark.parametrize(
    ("machine", "layout", "expected"),
    [
        ("fugaku", "8 by 8", 'layout: got "8 by 8", expected the sizes of a torus'),
        ("fugaku", "", 'layout: got "", expected the sizes of a torus'),
        ("cluster", "8, 8", "layout: machine cluster has no torus, expected a machine with the topology torus"),
    ],
)
def test_layouts_that_are_refused(machine: str, layout: str, expected: str) -> None:
    with pytest.raises(hocket.Error, match=re.escape(expected)):
        with_layout(hocket.Machine.load(machine), layout)


def test_the_parameters_of_a_machine_name_all_its_sections() -> None:
    level = '[[level]]\nname = "socket"\nranks = 2\nlatency = "1 us"\nbandwidth = "2 GB/s"\n'
    text = (
        f'name = "m"\n[network]\nmodel = "hockney"\nlatency = "2 us"\nbandwidth = "1 GB/s"\nranks_per_node = 4\n{level}'
    )
    machine = hocket.Machine.parse(f'{text}[node.cards]\ncount = 2\nbandwidth = "3 GB/s"\n')
    levels = "level[0] bandwidth 2 GB/s, latency 1 us, name socket, ranks 2"
    assert machine.parameters == (
        f"hockney: bandwidth 1 GB/s, latency 2 us, ranks_per_node 4; {levels}; node.cards bandwidth 3 GB/s, count 2"
    )


UNEVEN = """name = "uneven"
[network]
model = "hockney"
latency = "2 us"
bandwidth = "1 GB/s"
local.latency = "0.5 us"
local.bandwidth = "8 GB/s"
"""


def chain_s(machine: hocket.Machine, ranks: int = 4) -> float:
    """Return the time of a chain of messages of 0 bytes, so that hops between nodes can be counted."""
    return hocket.simulate("broadcast/chain", hocket.Call(ranks=ranks, size_bytes=0), machine=machine).time_s.mean


@pytest.mark.parametrize(
    ("keys", "between"),
    [
        ("ranks_per_node = 2", 1),
        ('ranks_per_node = 2\nmap = "cyclic"', 3),
        ("ranks_on_nodes = [3, 1]", 1),
        ('ranks_on_nodes = [3, 1]\nmap = "cyclic"', 2),
        ("map = [4, 0, 0, 4]", 2),
        ('map = "job.hosts"', 3),
    ],
)
def test_ranks_are_where_the_map_says(keys: str, between: int, tmp_path: Path) -> None:
    (tmp_path / "job.hosts").write_text("a\nb\na\nb\n")
    file = tmp_path / "m.toml"
    file.write_text(UNEVEN.replace("[network]\n", f"[network]\n{keys}\n"))
    machine = hocket.Machine.load(file)
    assert chain_s(machine) == pytest.approx(between * 2e-6 + (3 - between) * 0.5e-6)
    call = hocket.Call(ranks=4, size_bytes=0)
    steps = hocket.simulate("broadcast/chain", call, machine=machine, keep=["critical_path"]).critical_path
    hops_s = sorted(step.parts_s["latency"] for step in steps if step.parts_s.get("latency"))
    assert hops_s == pytest.approx([0.5e-6] * (3 - between) + [2e-6] * between)


def test_a_machine_has_the_map_of_its_file_as_a_value(tmp_path: Path) -> None:
    (tmp_path / "job.hosts").write_text("0: a\n2: a\n1: b\n")
    file = tmp_path / "m.toml"
    file.write_text(UNEVEN.replace("[network]\n", '[network]\nmap = "job.hosts"\n'))
    machine = hocket.Machine.load(file)
    (tmp_path / "job.hosts").unlink()
    for again in (pickle.loads(pickle.dumps(machine)), hocket.Machine.parse(machine.text)):
        assert again.quantities["network.map"] == (0, 1, 0)
        assert chain_s(again, 3) == chain_s(machine, 3) == pytest.approx(4e-6)
    assert [line.partition(" ")[0] for line in machine.text.splitlines()] == [
        line.partition(" ")[0] for line in file.read_text().splitlines()
    ]


def test_another_map_takes_the_place_of_the_machines(tmp_path: Path) -> None:
    hosts = tmp_path / "job.hosts"
    hosts.write_text("a slots=1\nb slots=3\n")
    even = hocket.Machine.parse(UNEVEN.replace("[network]\n", "[network]\nranks_per_node = 2\n"))
    listed = with_map(even, str(hosts))
    for machine, hops in [(even, 1), (with_map(even, "cyclic"), 3), (listed, 1), (with_map(listed, "cyclic"), 1)]:
        assert chain_s(machine) == pytest.approx(hops * 2e-6 + (3 - hops) * 0.5e-6)
    assert chain_s(with_map(with_map(even, "cyclic"), "block")) == chain_s(even)
    apart = with_map(even, "block").text.replace("ranks_per_node = 2", "").replace('"block"', "[7, 0, 0, 7]")
    assert with_map(hocket.Machine.parse(apart), "block").quantities["network.map"] == (0, 0, 7, 7)
    assert with_map(hocket.Machine.parse(apart), "cyclic").quantities["network.map"] == (0, 7, 0, 7)
    with pytest.raises(hocket.Error, match="ranks: got 5, expected at most 4, the ranks that the map lists"):
        chain_s(listed, 5)
    with pytest.raises(hocket.Error, match='map: got "nowhere", expected "block", "cyclic" or the path of a file'):
        with_map(even, "nowhere")
    hosts.write_text("a slots\n")
    with pytest.raises(hocket.Error, match=r'job\.hosts:1: got "a slots", expected a line such as'):
        with_map(even, str(hosts))


def test_algorithms_see_the_nodes_of_the_map() -> None:
    call = hocket.Call(ranks=7, size_bytes=8)
    machine = hocket.Machine.parse(UNEVEN.replace("[network]\n", "[network]\nranks_on_nodes = [2, 4, 1]\n"))
    result = hocket.simulate("broadcast/hierarchical", call, machine=machine, keep=["events"])
    node = [0, 0, 1, 1, 1, 1, 2]
    sends = [event for event in result.events if event.kind == "send"]
    assert sum(node[event.rank] != node[event.peer] for event in sends) == 2
    dealt = with_map(machine, "cyclic")
    node = [0, 1, 2, 0, 1, 1, 1]
    result = hocket.simulate("broadcast/hierarchical", call, machine=dealt, keep=["events"])
    assert sum(node[event.rank] != node[event.peer] for event in result.events if event.kind == "send") == 2


def test_a_topology_shows_the_ranks_of_its_nodes() -> None:
    text = 'name = "m"\n[network]\nmodel = "links"\ntopology = "torus"\ndims = [3]\nlink_bandwidth = "1 GB/s"\n'
    cyclic = hocket.Machine.parse(f'{text}ranks_per_node = 2\nmap = "cyclic"\n').topology
    assert cyclic is not None
    assert [vertex.ranks for vertex in cyclic.parts(9)[0]] == [(0, 3), (1, 4), (2, 5)]
    assert [hop.to for hop in cyclic.route(3, 1)] == ["(1)"]
    listed = hocket.Machine.parse(f"{text}map = [2, 0, 2, 2]\n").topology
    assert listed is not None
    assert [vertex.ranks for vertex in listed.parts(9)[0]] == [(1,), (), (0, 2, 3)]
    assert "0,2-3" in listed.picture
