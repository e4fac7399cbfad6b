"""`hocket show schedule`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran


@pytest.fixture
def tree(hocket_command: Callable[..., Ran], tmp_path: Path) -> Path:
    """A file with a binomial broadcast of six ranks."""
    path = tmp_path / "tree.goal"
    hocket_command("record broadcast binomial --ranks 6 --size 8B -o", path)
    return path


def test_facts_and_a_picture_are_shown(hocket_command: Callable[..., Ran], tree: Path) -> None:
    assert hocket_command("show schedule", tree).out == (
        "schedule tree.goal\n"
        "format      goal\n"
        "ranks       6\n"
        "messages    5, 40 B in all\n"
        "depth       3 messages, one after another\n"
        "a rank has  sends 0 to 3, receives 0 to 1\n"
        "\n"
        "→ to, ← from, ↔ exchange with, · pause; one column per round\n"
        "rank  1   2   3\n"
        "0     →4  →2  →1\n"
        "1     ·   ·   ←0\n"
        "2     ·   ←0  →3\n"
        "3     ·   ·   ←2\n"
        "4     ←0  →5  ·\n"
        "5     ·   ←4  ·\n"
    )


def test_pictures_are_written(hocket_command: Callable[..., Ran], tree: Path, tmp_path: Path) -> None:
    ran = hocket_command(
        "show schedule", tree, "--plot", tmp_path / "a.svg", "--graph", tmp_path / "a.dot", "--machine", "cluster"
    )
    assert ran.out.endswith(f"plot: {tmp_path / 'a.svg'}\ngraph: {tmp_path / 'a.dot'}\n")
    assert "tree.goal, 6 ranks, machine cluster" in (tmp_path / "a.svg").read_text()
    assert (tmp_path / "a.dot").read_text().count(' [color="#4c78a8"];') == 5


def test_computing_counts_as_no_message(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "slow.goal"
    path.write_text(
        "num_ranks 2\nrank 0 {\na: calc 9000000000\nb: send 8b to 1\nb requires a\n}\nrank 1 {\nrecv 8b from 0\n}\n"
    )
    shown = hocket_command("show schedule", path, "--json").json
    assert (shown["depth"], shown["tasks"]["computations"], shown["tasks"]["sends"]) == (1, [1, 0], [1, 0])


def test_a_schedule_that_never_ends_has_no_picture(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "stuck.goal"
    path.write_text("num_ranks 2\nrank 0 {\nrecv 8b from 1\n}\nrank 1 {\n}\n")
    ran = hocket_command("show schedule", path)
    assert ran.status == 0 and "no picture: deadlock: rank 0 waits" in ran.out


def test_options_of_schedules_are_theirs(bad_input: Callable[..., str], tree: Path) -> None:
    assert "expected schedule FILE" in bad_input("show schedule")
    assert "expected neither --ranks nor --route" in bad_input("show schedule", tree, "--ranks", "4")
    assert "apply only to schedule FILE" in bad_input("show allreduce ring --size 8B")
