"""Logs of jobs: read, summed over jobs, and refused if invalid."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket
from hocket.mpi.installing import name_of
from hocket.mpi.job_logs import GROUPS, Report, log_files, read_job_log
from tests.conftest import Ran

ABOUT = {
    "hocket_job_log": 1,
    "hocket": "0.1.0",
    "mpi": "MPICH Version:      5.0.2",
    "program": "/opt/app",
    "user": "ada",
    "host": "n1",
    "job": "17",
    "rules": "/opt/site.rules",
    "start": "2026-11-24T03:18:22Z",
    "elapsed_s": 2.0,
    "ranks": 4,
    "nodes": 2,
}
RING = {
    "collective": "allreduce",
    "function": "MPI_Allreduce",
    "algorithm": "ring",
    "rule": "allreduce: ring",
    "reason": None,
    "ranks": 4,
    "size_from_bytes": 64,
    "calls": 10,
    "bytes": 4000,
    "time_s": 0.5,
}
PASSED = {**RING, "algorithm": None, "rule": None, "reason": "no rule for it"}


def written(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def test_a_log_is_read(tmp_path: Path) -> None:
    log = read_job_log(written(tmp_path / "a.jsonl", {**ABOUT, "later": 1}, {**RING, "time_s": None, "ranks": None}))
    assert (log.user, log.ranks, log.elapsed_s) == ("ada", 4, 2.0)
    assert (log.entries[0].algorithm, log.entries[0].ranks, log.entries[0].time_s) == ("ring", None, None)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "is empty, expected a job log"),
        (["{"], "1: expected a JSON object"),
        (["[" * 100_000], "1: expected a JSON object"),
        ([{"hocket_job_log": 2}], "1: expected a job log, which begins with hocket_job_log = 1"),
        ([{**ABOUT, "ranks": -1}], "1: ranks: expected a whole number from 0 on"),
        ([ABOUT, RING, ""], "3: expected a JSON object"),
        ([ABOUT, {**RING, "calls": True}], "2: calls: expected a whole number from 0 on"),
        ([ABOUT, {**RING, "time_s": float("nan")}], "2: time_s: expected a time in seconds or null"),
        ([ABOUT, {**RING, "reason": "both"}], "2: expected an algorithm, or the reason why calls were left to MPI"),
        ([ABOUT, {**RING, "algorithm": None}], "2: expected an algorithm, or the reason why calls were left to MPI"),
        ([ABOUT, {"collective": "allreduce"}], "2: function: expected a text"),
    ],
)
def test_what_is_no_log_is_refused_with_its_line(
    lines: list[Any], message: str, tmp_path: Path, bad_input: Callable[..., str]
) -> None:
    file = written(tmp_path / "a.jsonl", *lines)
    assert bad_input("mpi report", str(file)) == f"{file}:{' ' if lines == [] else ''}{message}"


@pytest.mark.parametrize("target", ["a pipe", "/dev/zero", "/dev/tty"])
def test_a_log_that_is_no_regular_file_is_refused_at_once(
    target: str, tmp_path: Path, bad_input: Callable[..., str], hocket_command: Callable[..., Ran]
) -> None:
    written(tmp_path / "logs" / "a.jsonl", ABOUT, RING)
    odd = tmp_path / "logs" / "b.jsonl"
    if target == "a pipe":
        os.mkfifo(odd)
    else:
        odd.symlink_to(target)
    for named in (odd, odd.parent):
        assert bad_input("mpi report", str(named)).startswith(f"{odd}: ")
    ran = hocket_command("mpi report --skip-damaged", str(odd.parent))
    assert ran.status == 0 and "1 file skipped" in ran.out and "1 job" in ran.out


@given(st.lists(st.sampled_from([json.dumps(ABOUT), json.dumps(RING), *'{}[]":,\n', "1e999", "null"]), max_size=8))
def test_any_text_is_a_log_or_one_line(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    file = tmp_path_factory.mktemp("logs") / "a.jsonl"
    file.write_text("".join(parts))
    try:
        read_job_log(file)
    except hocket.Error as error:
        assert str(error).startswith(f"{file}:") and "\n" not in str(error)


def test_jobs_are_added_up_by_any_groups(tmp_path: Path) -> None:
    one = read_job_log(written(tmp_path / "1", ABOUT, RING, {**RING, "size_from_bytes": 128}, PASSED))
    two = read_job_log(written(tmp_path / "2", {**ABOUT, "user": "bob", "start": "2026-11-25"}, {**RING, "ranks": 2}))
    for by in [("collective",), ("user", "algorithm"), tuple(GROUPS)]:
        report = Report(by)
        for log in (one, two):
            report.add(log)
        assert (report.jobs, report.rank_s, report.time_s) == (2, 16.0, 2.0)
        assert (report.first, report.last) == ("2026-11-24T03:18:22Z", "2026-11-25")
        assert sum(row.use.calls for row in report.rows) == 40
        assert sum(row.share for row in report.rows) == pytest.approx(1)
    report = Report(("user", "algorithm"))
    for log in (one, two):
        report.add(log)
    first, *rest = report.rows
    assert (dict(first.group), first.use.jobs, first.use.calls, first.share) == (
        {"user": "ada", "algorithm": "ring"},
        1,
        20,
        0.5,
    )
    assert first.use.mean_s == 1.0 / (20 * 4)
    assert [dict(row.group) for row in rest] == [
        {"user": "ada", "algorithm": None},
        {"user": "bob", "algorithm": "ring"},
    ]


def test_the_table_and_what_is_left_to_mpi(tmp_path: Path, hocket_command: Callable[..., Ran]) -> None:
    written(tmp_path / "logs" / "a.jsonl", ABOUT, RING, {**PASSED, "time_s": None})
    written(tmp_path / "logs" / "b.jsonl", ABOUT, RING, {**RING, "size_from_bytes": None, "time_s": 1.0})
    rows = [line.split() for line in hocket_command("mpi report", str(tmp_path / "logs")).out.splitlines()]
    assert rows[0] == ["2", "jobs"]
    assert rows[1] == ["began", "2026-11-24T03:18:22Z"]
    assert rows[3][-1] == "12.5%"  # 2 s of 2 jobs, 4 ranks, 2 s
    assert ["allreduce"] in rows
    assert ["-", "ring", "1", "10", "3.906", "KiB", "1.000", "s", "50.0%", "25.00", "ms"] in rows
    assert ["64", "B..", "ring", "2", "20", "7.812", "KiB", "1.000", "s", "50.0%", "12.50", "ms"] in rows
    assert rows[-2] == ["MPI_Allreduce", "no", "rule", "1", "10", "3.906", "KiB", "-", "-", "-"]
    assert rows[-1] == ["for", "it"]
    found = hocket_command("mpi report --by size --json", str(tmp_path / "logs")).json
    assert [(row["size_from_bytes"], row["calls"], row["mean_s"]) for row in found["rows"]] == [
        (64, 30, 0.0125),
        (None, 10, 0.025),
    ]
    assert [row["reason"] for row in found["left_to_mpi"]] == ["no rule for it"]


def test_damaged_logs_are_left_out_if_asked_for(tmp_path: Path, hocket_command: Callable[..., Ran]) -> None:
    good, bad = written(tmp_path / "a.jsonl", ABOUT, RING), written(tmp_path / "b.jsonl", ABOUT, "{")
    ran = hocket_command("mpi report --skip-damaged", str(tmp_path))
    assert (ran.status, ran.err) == (0, f"hocket: skipped: {bad}:2: expected a JSON object\n")
    assert "1 file skipped" in ran.out and "1 job" in ran.out
    good.unlink()
    ran = hocket_command("mpi report --skip-damaged", str(tmp_path))
    assert (ran.status, ran.out) == (0, "1 file skipped\n")


def test_files_are_those_named_and_those_in_folders(tmp_path: Path, bad_input: Callable[..., str]) -> None:
    one, two = written(tmp_path / "logs" / "b.jsonl", ABOUT), written(tmp_path / "a", ABOUT)
    (tmp_path / "logs" / "c.jsonl.part").touch()
    assert log_files([two, tmp_path, tmp_path / "logs"]) == [str(two), str(one)]
    (tmp_path / "none").mkdir()
    assert bad_input("mpi report", str(tmp_path / "none")) == (
        f"{tmp_path}/none: contains no job logs, expected files that end in .jsonl"
    )
    assert bad_input("mpi report", "/nowhere") == "/nowhere: No such file or directory"
    assert bad_input("mpi report --by sizes", str(two)).startswith('--by: unknown column "sizes", did you mean size?')


def test_names_of_mpis() -> None:
    assert name_of("MPICH Version:      5.0.2") == "mpich-5.0.2"
    assert name_of("Open MPI v5.0.11, package: Open MPI user@localhost, ident: 5.0.11") == "openmpi-5.0.11"
    assert name_of("Intel(R) MPI Library 2021.11 for Linux* OS") == "intelmpi-2021.11"
    assert name_of("MVAPICH Version:      4.0rc1") == "mvapich-4.0rc1"
    with pytest.raises(
        hocket.Error,
        match=r"^--name: the MPI's name \"An MPI\" contains no version, expected a name such as mpich-5.0.2$",
    ):
        name_of("An MPI")
