"""Machine files and presets."""

from pathlib import Path

import pytest

import hocket

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
