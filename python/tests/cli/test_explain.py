"""`hocket explain`, and the pictures and graphs of other commands."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran

LINE = "explain allreduce ring --ranks 4 --size 4KiB"


def test_json_adds_up(hocket_command: Callable[..., Ran]) -> None:
    found = hocket_command(f"{LINE} --json").json
    time_s = found["simulation"]["time_s"]["mean"]
    assert math.fsum(found["parts_s"].values()) == pytest.approx(time_s)
    assert found["steps"][0]["start_s"] == 0
    assert found["steps"][-1]["event"]["end_s"] == time_s
    assert found["bound"]["time_s"] < time_s


def test_long_paths_are_shortened(hocket_command: Callable[..., Ran]) -> None:
    shown = hocket_command("explain allreduce ring --ranks 64 --size 4KiB").out
    assert " > .. > " in shown
    assert len(shown.splitlines()) < 60


def test_one_rank_takes_no_time(hocket_command: Callable[..., Ran]) -> None:
    assert "nothing takes time" in hocket_command("explain allreduce ring --ranks 1 --size 8B").out


@pytest.mark.parametrize("line", [LINE, "simulate allreduce ring --ranks 4 --size 4KiB"])
def test_picture(hocket_command: Callable[..., Ran], tmp_path: Path, line: str) -> None:
    path = tmp_path / "picture.svg"
    assert f"plot: {path}" in hocket_command(f"{line} --plot {path}").out
    assert "rank" in path.read_text()


def test_graph(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "graph.dot"
    hocket_command(f"record broadcast linear --ranks 3 --size 8B --graph {path}")
    assert path.read_text().startswith('digraph "broadcast/linear" {')


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"{LINE} --plot picture.gif", 'got "picture.gif", expected a file that ends in .png or .html or .svg'),
        ("explain allreduce ring --ranks 4", "--size is missing"),
        ("explain allreduce ring --ranks 4 --size 8B --cadence 2calls", 'unknown option "--cadence"'),
        ("simulate allreduce ring --ranks 4 --size 8B --plot a.svg --timeline a.svg", "--plot: got a.svg twice"),
    ],
)
def test_misuse(bad_input: Callable[..., str], line: str, told: str) -> None:
    assert told in bad_input(line)


def test_what_nccl_would_choose_is_said_on_machines_that_tell(hocket_command: Callable[..., Ran]) -> None:
    line = "explain allreduce ring --ranks 8 --size 4KiB"
    shown = hocket_command(f"{line} --machine gpu-cluster").out
    assert "ring/ll with 1 channel, 15.05 us by NCCL's table; tree/ll 15.33 us" in " ".join(shown.split())
    assert hocket_command(f"{line} --machine gpu-cluster --json").json["nccl"]["algorithm"] == "ring"
    assert hocket_command(f"{line} --json").json["nccl"] is None
