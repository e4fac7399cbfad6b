"""A soak: threads run collectives on communicators that they make and free, by seeds that are new each time.

HOCKET_SOAK_S is the time for each MPI. A failure prints its seed; with HOCKET_SOAK_SEED every run takes that seed.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import time
from pathlib import Path

import pytest

from hocket.mpi import build

from . import conftest
from .conftest import Mpi
from .test_dropin import PERSISTENT, SETS, TAKE_ALL, chosen

pytestmark = pytest.mark.real_mpi

SOAK_S = float(os.environ.get("HOCKET_SOAK_S", "20"))
SEED = os.environ.get("HOCKET_SOAK_SEED")
EPOCHS = 6
TAKE_ALL_OTHERS = (
    *("alltoallv: linear", "barrier: dissemination", "exscan: chain", "gather: linear", "gatherv: linear"),
    *("neighbor_allgather: linear", "scan: chain", "scatter: linear"),
)


def soak(mpi: Mpi, seed: int) -> None:
    """Run the program on a number of ranks and threads, and with rules, that follow from the seed."""
    draw = random.Random(seed)
    most_ranks = 3 if mpi.is_open_mpi else 5  # on two processors, threads of Open MPI wait long for their turn
    ranks, threads, number = draw.randint(2, most_ranks), draw.randint(2, 4), draw.randrange(SETS)
    lines = [*(f"{each.collective}: {each.name}" for each in chosen(number)), *TAKE_ALL, *TAKE_ALL_OTHERS]
    start_s = time.monotonic()
    print(f"HOCKET_SOAK_SEED={seed}: {ranks} ranks, {threads} threads, rules {number}", end="", flush=True)
    program = [mpi.compiled("soak.c"), *map(str, (seed, threads, EPOCHS))]
    ran = mpi.run(ranks, program, [*lines, *(f"i{line}" for line in lines)])
    if ran.output == "soak: none\n":
        pytest.skip("this MPI has no MPI_THREAD_MULTIPLE")
    assert ran.output == "soak: right\n", ran.output + ran.errors
    assert not {function for function, _ in ran.passed} & PERSISTENT, ran.errors
    print(f", right after {time.monotonic() - start_s:.1f} s", flush=True)


def test_threads_that_make_and_free_communicators(mpi: Mpi) -> None:
    print(f"\n{mpi.installation.mpicc}, {SOAK_S:.0f} s")
    build(mpi.installation)
    end_s = time.monotonic() + SOAK_S
    soak(mpi, int(SEED or random.randrange(10**9)))
    while time.monotonic() < end_s:
        soak(mpi, int(SEED or random.randrange(10**9)))


def test_a_program_that_does_not_end_is_reported_with_its_stacks(mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "SECONDS", 5)
    with pytest.raises(pytest.fail.Exception, match=r"no end after 5 s: .* sleep 60\n") as failure:
        mpi.run(2, ["sleep", "60"])
    report = str(failure.value)
    ranks = [int(pid) for pid in re.findall(r"^process (\d+)", report, re.MULTILINE)]
    assert len(ranks) == 2, report
    assert ("#0 " if shutil.which("gdb") else "gdb is not installed") in report
    end_s = time.monotonic() + 10
    while any(map(is_running, ranks)):  # a killed process takes a moment to end
        assert time.monotonic() < end_s, report


def is_running(pid: int) -> bool:
    try:
        return "sleep" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False
