"""`hocket record`."""

import json
from collections.abc import Callable
from pathlib import Path

from hocket.examples import ring_allreduce
from tests.conftest import Ran

LINE = "record allreduce ring --ranks 4 --size 4KiB"


def test_goal_goes_to_stdout(hocket_command: Callable[..., Ran]) -> None:
    out = hocket_command(LINE).out
    assert out.startswith("num_ranks 4\n")
    assert out.count("rank ") >= 4


def test_json_goes_to_stdout(hocket_command: Callable[..., Ran]) -> None:
    assert len(json.loads(hocket_command(f"{LINE} --format json").out)["ranks"]) == 4


def test_binary_goal_is_written_and_simulated(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    for form in ["goal", "goal_binary"]:
        hocket_command(f"{LINE} --format {form} -o", tmp_path / form)
    text, binary = (hocket_command("simulate schedule", tmp_path / form).out for form in ["goal", "goal_binary"])
    assert binary == text.replace("schedule goal", "schedule goal_binary")


def test_binary_goal_is_no_text(bad_input: Callable[..., str]) -> None:
    assert "--json: got --format goal_binary, a binary format" in bad_input(f"{LINE} --format goal_binary --json")


def test_a_file_is_written_at_once(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "ring.goal"
    assert hocket_command(f"{LINE} -o", path).out == f"allreduce/ring, 4 ranks: {path}\n"
    assert path.read_text() == hocket_command(LINE).out
    assert [child.name for child in tmp_path.iterdir()] == ["ring.goal"]


def test_a_machine_gives_reductions_their_time(hocket_command: Callable[..., Ran]) -> None:
    assert "calc" in hocket_command(f"{LINE} --machine cluster").out


def test_json_about_the_recording_has_what_other_programs_need(hocket_command: Callable[..., Ran]) -> None:
    recorded = hocket_command(f"{LINE} --json").json
    assert recorded["schedule"] == hocket_command(LINE).out
    assert (recorded["collective"], recorded["algorithm"], recorded["format"]) == ("allreduce", "ring", "goal")
    assert recorded["output"] is None


def test_an_algorithm_written_in_python_is_recorded(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command("record chunked_ring --ranks 4 --size 4KiB --load", ring_allreduce.__file__)
    assert ran.out == hocket_command(LINE).out


def test_an_unwritable_file_is_one_line(bad_input: Callable[..., str], tmp_path: Path) -> None:
    assert "cannot be written" in bad_input(f"{LINE} -o", tmp_path)
