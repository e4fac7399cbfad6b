"""Dynamic multicast under real MPIs: overlapping groups at once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

import pytest

from hocket.mpi.installation import NATIVE
from hocket.mpi.launch import environment_of_crowd
from hocket.mpi.multicast import build

from .conftest import AS_ROOT, PROGRAMS, ROOT, SECONDS, Mpi

MODES = ("recv", "poll", "listen", "threads")


def run(mpi: Mpi, ranks: int, program: Sequence[str]) -> str:
    """Run a program without the preloaded library; return its output."""
    line = [str(mpi.installation.mpiexec), "-n", str(ranks), *program]
    settings = {**os.environ, **AS_ROOT, **environment_of_crowd(64), "PYTHONPATH": str(ROOT / "python")}
    ran = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, env=settings, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def compiled(mpi: Mpi, name: str) -> str:
    """Compile a program of the tests."""
    library, target = build(str(mpi.installation.mpicc)), mpi.folder / name
    if not target.exists():
        source = PROGRAMS / f"{name}.c"
        link = [library, f"-L{library.parent}", "-lhocket", f"-Wl,-rpath,{library.parent}"]
        options = ["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{NATIVE / 'include'}"]
        subprocess.run([mpi.installation.mpicc, *options, source, "-o", target, *link], check=True)
    return str(target)


@pytest.mark.parametrize("mode", MODES)
def test_overlapping_groups(mpi: Mpi, mode: str) -> None:
    printed = run(mpi, 4, [compiled(mpi, "multicast_stress"), "60", "100000", "3", "measured", mode])
    assert printed.startswith("ok") or (mode == "threads" and printed.startswith("no threads"))


@pytest.mark.real_mpi
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "rules",
    ["measured", "simulated", "paper", "broadcast: chain, segment=64KiB", "broadcast: double_tree, segment=64KiB"],
)
def test_500_overlapping_multicasts_over_16_ranks(mpi: Mpi, mode: str, rules: str) -> None:
    printed = run(mpi, 16, [compiled(mpi, "multicast_stress"), "500", str(4 << 20), "11", rules, mode])
    assert printed.startswith("ok") or (mode == "threads" and printed.startswith("no threads"))


@pytest.mark.real_mpi
@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 9])
def test_odd_numbers_of_ranks(mpi: Mpi, ranks: int) -> None:
    for mode in MODES:
        run(mpi, ranks, [compiled(mpi, "multicast_stress"), "200", "50000", "5", "measured", mode])


@pytest.mark.parametrize("ranks", [1, 3])
def test_data_types(mpi: Mpi, ranks: int) -> None:
    assert run(mpi, ranks, [compiled(mpi, "multicast_types")]) == "ok\n"


@pytest.mark.real_mpi
def test_more_than_2_gib(mpi: Mpi) -> None:
    assert run(mpi, 2, [compiled(mpi, "multicast_types"), "large"]) == "ok\n"


@pytest.mark.parametrize(("ranks", "master"), [(3, 1), pytest.param(1, 0, marks=pytest.mark.real_mpi), (5, 0)])
def test_python(mpi: Mpi, ranks: int, master: int) -> None:
    if mpi.python is None:
        pytest.skip("no mpi4py for this MPI")
    program = [
        str(mpi.python),
        "-m",
        "mpi4py",
        str(PROGRAMS / "multicast.py"),
        str(master),
        str(mpi.installation.mpicc),
    ]
    assert run(mpi, ranks, program).count("ok") == ranks


MISUSE = """
from mpi4py import MPI
from hocket import Error
from hocket.mpi.multicast import Domain
comm = MPI.COMM_WORLD
half = comm.Split(comm.rank % 2)
told = []
for wrong in ({"comm": half.Create_intercomm(0, comm, 1 - comm.rank % 2)}, {"comm": comm, "master": 2**40}):
    try:
        Domain(**wrong)
    except Error as error:
        told.append(str(error))
domain = Domain(comm)
if comm.rank == 0:
    domain.send([1], b"held")
held = domain.take() if comm.rank == 1 else None
domain.close()
if comm.rank == 1:
    held.release()
if comm.rank == 0:
    print(*told, "closed", sep="; ")
"""


def test_misuse_is_told_and_does_not_wait_for_ever(mpi: Mpi) -> None:
    if mpi.python is None:
        pytest.skip("no mpi4py for this MPI")
    assert run(mpi, 2, [str(mpi.python), "-c", MISUSE]) == (
        "comm: got an intercommunicator, expected an intracommunicator; "
        "master: got 2147483647, expected a rank below 2; closed\n"
    )
