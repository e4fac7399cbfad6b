"""`hocket compare`."""

from collections.abc import Callable
from pathlib import Path

import hocket
from hocket.examples import ring_allreduce
from tests.conftest import Ran

LINE = "compare allreduce --ranks 16 --sizes 8B..2MiB:64"


def test_the_table_marks_the_best_and_names_it_per_size(hocket_command: Callable[..., Ran]) -> None:
    rows = hocket_command(LINE).out.splitlines()
    names = [algorithm.name for algorithm in hocket.algorithms("allreduce")]
    assert rows[0] == "allreduce on 16 ranks, machine cluster"
    assert rows[1].split() == ["size", *names]
    assert [row.split()[:2] for row in rows[3:7]] == [["8", "B"], ["512", "B"], ["32", "KiB"], ["2", "MiB"]]
    assert all("*" in row for row in rows[3:7])
    start = rows.index("fastest (*)") + 1
    assert rows[start].startswith("  8 B")
    assert any(name in rows[start] for name in names)


def test_json_has_a_result_for_each_size_and_algorithm(hocket_command: Callable[..., Ran]) -> None:
    found = hocket_command(f"{LINE} --json").json
    assert found["sizes_bytes"] == [8, 512, 32768, 2097152]
    assert len(found["results"]) == 4 * len(found["algorithms"])
    assert found["best"][0]["first_bytes"] == 8 and found["best"][-1]["last_bytes"] == 2097152
    assert found["not_compared"] == [] and found["plot"] is None


def test_jobs_do_not_change_the_result(hocket_command: Callable[..., Ran]) -> None:
    assert hocket_command(f"{LINE} --json --jobs 1").out == hocket_command(f"{LINE} --json --jobs 4").out


def test_only_the_algorithms_named_are_compared(hocket_command: Callable[..., Ran]) -> None:
    found = hocket_command("compare allreduce ring --ranks 4 --sizes 8B --json").json
    assert found["algorithms"] == ["ring"]


def test_an_algorithm_that_refuses_is_told_with_its_sentence(hocket_command: Callable[..., Ran]) -> None:
    out = hocket_command("compare allgather --ranks 6 --sizes 8B,1KiB").out
    told = out.partition("not compared\n")[2]
    assert "recursive_doubling: allgather recursive_doubling needs a power of two" in told


def test_a_barrier_is_compared_without_sizes(hocket_command: Callable[..., Ran]) -> None:
    assert hocket_command("compare barrier --ranks 8 --json").json["sizes_bytes"] == [0]


def test_an_algorithm_written_in_python_takes_part(hocket_command: Callable[..., Ran]) -> None:
    found = hocket_command("compare allreduce --ranks 4 --sizes 4KiB --json --load", ring_allreduce.__file__).json
    times_s = {result["algorithm"]: result["time_s"]["mean"] for result in found["results"]}
    assert times_s["chunked_ring"] == times_s["ring"]


def test_a_picture_is_written_and_named_last(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    for ending in ("png", "html"):
        path = tmp_path / f"out.{ending}"
        ran = hocket_command(f"{LINE} --plot", path)
        assert ran.out.endswith(f"\nplot: {path}\n")
        assert path.stat().st_size > 20_000


def test_an_unwritable_picture_is_one_line(bad_input: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be written" in bad_input(f"{LINE} --plot", tmp_path / "file" / "out.png")
