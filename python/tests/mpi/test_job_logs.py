"""Logs of jobs under real MPIs, and the installation for all users."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket.mpi import command
from hocket.mpi.installing import install
from hocket.mpi.job_logs import JobLog, read_job_log
from hocket.mpi.launch import environment_of_crowd
from tests.conftest import Ran

from .conftest import AS_ROOT, PROGRAMS, SECONDS, Mpi

RULES = ["allreduce[size=..64]: recursive_doubling  # short", "allreduce: native"]


def logged(mpi: Mpi, folder: Path, *arguments: str, ranks: int = 3) -> JobLog:
    """Return the log of a job, the only file of a new folder."""
    folder.mkdir()
    ran = mpi.run(ranks, [mpi.compiled("job_log.c"), *arguments], RULES, None, {"HOCKET_JOB_LOG": str(folder)})
    assert (ran.status, ran.errors) == (0, "")
    (file,) = folder.iterdir()
    return read_job_log(file)


def test_a_job_has_its_calls_by_rule_ranks_and_size_with_all_ranks_bytes(mpi: Mpi, tmp_path: Path) -> None:
    log = logged(mpi, tmp_path / "logs")
    assert (log.ranks, log.nodes, log.program) == (3, 1, mpi.compiled("job_log.c"))
    assert log.mpi is not None and log.mpi.startswith(mpi.installation.library)
    found = {(e.function, e.ranks, e.size_from_bytes, e.algorithm, e.rule, e.reason): e for e in log.entries}
    short, nothing = "allreduce[size=..64]: recursive_doubling", "no rule for it"
    # Each call counts once for all ranks, its bytes per rank. An alltoallv has 1 + 2 + 3 bytes on each rank.
    assert {key: (entry.calls, entry.bytes) for key, entry in found.items()} == {
        ("MPI_Allreduce", 3, 8, "recursive_doubling", short, None): (10, 10 * 3 * 8),
        ("MPI_Allreduce", 2, 8, "recursive_doubling", short, None): (3, 3 * 2 * 8),
        ("MPI_Allreduce", 1, 8, "recursive_doubling", short, None): (3, 3 * 8),
        ("MPI_Allreduce", 3, 64, None, None, "a rule says native"): (1, 3 * 64),
        ("MPI_Iallreduce", 3, 8, None, None, nothing): (2, 2 * 3 * 8),
        ("MPI_Bcast", 3, 64, None, None, nothing): (1, 3 * 100),
        ("MPI_Alltoallv", 3, None, None, None, nothing): (1, 3 * 6),
    }
    for entry in log.entries:
        assert (entry.time_s is None) == (entry.function == "MPI_Iallreduce")
        assert entry.time_s is None or 0 < entry.time_s < log.elapsed_s * log.ranks


@pytest.mark.parametrize("ranks", [1, 5])
def test_a_job_without_calls_has_a_log(mpi: Mpi, ranks: int, tmp_path: Path) -> None:
    log = logged(mpi, tmp_path / "logs", "quiet", ranks=ranks)
    assert (log.ranks, log.entries) == (ranks, ())


@pytest.mark.parametrize(("name", "problem"), [("nowhere", "No such file or directory"), ("file", "not a folder")])
def test_a_folder_that_is_none_is_one_line_and_the_job_runs(mpi: Mpi, name: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / name
    ran = mpi.run(2, [mpi.compiled("job_log.c")], RULES, None, {"HOCKET_JOB_LOG": str(folder)})
    assert (ran.status, ran.errors) == (0, f"hocket: HOCKET_JOB_LOG: {folder}: {problem}; this job writes no log\n")


def test_rules_of_several_files_are_tried_in_turn(mpi: Mpi, tmp_path: Path) -> None:
    mine, site = tmp_path / "mine.rules", tmp_path / "site.rules"
    mine.write_text("allreduce[size=..9]: ring\n")
    site.write_text("allreduce: linear\n")
    program, files = [mpi.compiled("job_log.c")], {"HOCKET_RULES": f"{mine}::{site}"}
    ran = mpi.run(2, program, (), variables=files)
    assert ran.algorithms == {("MPI_Allreduce", "allreduce ring"): 13, ("MPI_Allreduce", "allreduce linear"): 1}
    site.write_text("allreduce: none\n")
    ran = mpi.run(2, program, (), None, files)
    assert ran.errors.startswith(f'hocket: {site}:1: unknown allreduce algorithm "none"'), ran.errors
    assert ran.errors.endswith("; all calls are left to MPI\n")


def test_both_abis_of_an_mpi_are_installed(mpi: Mpi, tmp_path: Path, hocket_command: Callable[..., Ran]) -> None:
    wrapper = mpi.installation.mpicc
    found = hocket_command("mpi install --json --prefix", tmp_path / "opt", "--mpicc", wrapper).json
    other = mpi.installation.other_abi()
    if other is None:
        assert found["other_abi"] is None
        return
    launches = {mpi.installation: found["launch"], other: found["other_abi"]["launch"]}
    assert sum("-abi/" in launch for launch in launches.values()) == 1
    for installation, launch in launches.items():
        program = tmp_path / f"program-{installation.mpicc.name}"
        subprocess.run([installation.mpicc, PROGRAMS / "job_log.c", "-o", program], check=True, capture_output=True)
        line = command(installation, 2, [launch, str(program)], {"PATH": "/usr/bin:/bin"})
        subprocess.run(line, check=True, capture_output=True, timeout=SECONDS, env={**os.environ, **AS_ROOT})


def test_what_is_installed_needs_no_python(mpi: Mpi, tmp_path: Path, hocket_command: Callable[..., Ran]) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    old = os.umask(0o077)
    try:
        found = install(mpi.installation, str(tmp_path / "opt"), rules="allreduce: ring\n", job_logs=str(logs))
    finally:
        os.umask(old)
    paths = list((tmp_path / "opt").rglob("*"))
    runs = {found.launch, found.library, found.library.with_name("libhocket.so")}
    assert runs < set(paths)
    for path in paths:
        assert path.stat().st_mode & 0o777 == (0o755 if path.is_dir() or path in runs else 0o644), path
    line = command(mpi.installation, 2, [str(found.launch), mpi.compiled("job_log.c")], {"PATH": "/usr/bin:/bin"})
    settings = {**os.environ, **AS_ROOT, **environment_of_crowd(64)}
    subprocess.run(line, check=True, capture_output=True, timeout=SECONDS, env=settings)
    report = hocket_command("mpi report --by algorithm,rule --json", str(logs)).json
    assert {row["rule"]: row["calls"] for row in report["rows"]} == {"allreduce: ring": 17, None: 4}
    module = found.module.read_text()
    assert module.startswith("#%Module1.0\n")
    assert f'prepend-path --delim " " LD_PRELOAD {found.library}\n' in module
    again = install(mpi.installation, str(tmp_path / "opt"), name=found.name, requires="mpi/5")
    assert again == found and found.rules.read_text() == "allreduce: ring\n"  # existing rules stay
    module = found.module.read_text()
    assert "prereq mpi/5\n" in module and "HOCKET_JOB_LOG" not in module
