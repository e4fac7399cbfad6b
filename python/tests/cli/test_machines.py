"""`hocket machines`."""

from collections.abc import Callable
from pathlib import Path

import hocket
from tests.conftest import Ran


def test_every_preset_is_listed_with_what_it_is(hocket_command: Callable[..., Ran]) -> None:
    out = hocket_command("machines").out
    for name in hocket.presets():
        assert name in out
        assert hocket.Machine.load(name).description in out


def test_the_file_of_a_preset_can_be_copied(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_text(hocket_command("machines cluster").out)
    assert hocket.Machine.load(copy).name == "cluster"


def test_a_file_is_printed_with_its_host_apart(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "host.toml"
    path.write_text(hocket_command("machines loggp-infiniband --convert").out)
    assert hocket.Machine.load(path).host["o"] == "0.4 us"
    assert hocket_command("machines", path, "--convert").out == path.read_text(), "it has a host already"
    assert '[host]\no_send = "1.27 us"\n' in hocket_command("machines k_computer --convert").out
    assert "machine cluster: got the network model hockney, expected" in bad_input("machines cluster --convert")
    assert "--convert needs a machine" in bad_input("machines --convert")


def test_json_has_what_other_programs_need(hocket_command: Callable[..., Ran]) -> None:
    assert [entry["name"] for entry in hocket_command("machines --json").json] == list(hocket.presets())
    assert hocket_command("machines cluster --json").json.keys() == {"name", "model", "description", "text"}


def test_a_mistake_in_a_file_is_one_line(bad_input: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n[network]\nmodel = "hockney"\nlatency = 3\n')
    assert "mine.toml:4: network.latency: got integer, expected a text in quotes" in bad_input("machines", path)
