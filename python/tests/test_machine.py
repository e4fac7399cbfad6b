"""Machine files and presets."""

import re
from pathlib import Path

import pytest

import hocket
from hocket.definitions.variants import with_layout

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
    text = f'name = "m"\n[network]\nmodel = "hockney"\nlatency = "2 us"\nbandwidth = "1 GB/s"\nranks_per_node = 4\n{level}'
    machine = hocket.Machine.parse(f'{text}[node.cards]\ncount = 2\nbandwidth = "3 GB/s"\n')
    levels = "level[0] bandwidth 2 GB/s, latency 1 us, name socket, ranks 2"
    assert machine.parameters == (
        f"hockney: bandwidth 1 GB/s, latency 2 us, ranks_per_node 4; {levels}; node.cards bandwidth 3 GB/s, count 2"
    )
