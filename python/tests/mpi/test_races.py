"""The preloaded library under a race detector: ThreadSanitizer watches its C files.

It cannot watch libhocket, which is Rust and compiled without it. The C files report where libhocket changes an engine
or a program.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hocket.mpi.installation import NATIVE, cached_build

from .conftest import Mpi, Ran

pytestmark = pytest.mark.real_mpi

FLAGS = ["-g", "-fsanitize=thread"]
SUPPRESSIONS = Path(__file__).with_name("races.supp")
LINES = [
    "allreduce: recursive_doubling",
    "iallreduce: recursive_doubling",
    "broadcast: binomial",
    "barrier: dissemination",
]
FUNCTIONS = {"MPI_Allreduce", "MPI_Allreduce_init", "MPI_Barrier", "MPI_Bcast", "MPI_Iallreduce"}


@pytest.fixture
def detector(mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip if ThreadSanitizer or its programs do not work here; set the variables that the MPIs then need."""
    monkeypatch.setenv(
        "UCX_MEM_EVENTS", "n"
    )  # MPICH: UCX's memory hooks lock in threads before the detector knows them
    monkeypatch.setenv("PMIX_MCA_gds", "hash")  # Open MPI: its shared memory uses addresses of the detector
    source, program = tmp_path / "empty.c", tmp_path / "empty"
    source.write_text("int main(void) { return 0; }\n")
    line = [mpi.installation.mpicc, *FLAGS, source, "-o", program]
    made = subprocess.run(line, capture_output=True, text=True, check=False)
    ran = made if made.returncode else subprocess.run([program], capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip(f"no ThreadSanitizer here: {(ran.stderr.strip().splitlines() or ['its programs do not run'])[-1]}")


def run(mpi: Mpi, ranks: int, rounds: int, native: Path = NATIVE) -> Ran:
    """Run the program with a library under the detector, made of the C files in a folder."""
    flags = ["-shared", "-pthread", *FLAGS]
    library = cached_build(mpi.installation, "libhocket_mpi.so", "preload/**/*.c", flags, native=native)
    variables = {
        "LD_PRELOAD": str(library),
        "TSAN_OPTIONS": f"ignore_noninstrumented_modules=1 halt_on_error=1 suppressions={SUPPRESSIONS}",
    }
    ran = mpi.run(ranks, [mpi.compiled("threads.c", *FLAGS), str(rounds)], LINES, variables=variables)
    if "threads: none" in ran.output:
        pytest.skip("this MPI has no MPI_THREAD_MULTIPLE")
    return ran


def races(ran: Ran) -> list[str]:
    return re.findall(r"SUMMARY: ThreadSanitizer: (.*)", ran.output + ran.errors)


@pytest.mark.usefixtures("detector")
@pytest.mark.parametrize(("ranks", "rounds"), [(2, 20), (3, 10)])
def test_threads_that_run_collectives_at_once_race_for_nothing(mpi: Mpi, ranks: int, rounds: int) -> None:
    ran = run(mpi, ranks, rounds)
    assert races(ran) == []
    assert "threads: right" in ran.output, ran.output + ran.errors
    assert {function for function, _ in ran.algorithms} == FUNCTIONS, ran.errors


@pytest.mark.usefixtures("detector")
@pytest.mark.parametrize("lock", ["&state->lock", "&ended_lock"])
def test_a_lock_that_is_left_out_is_found(mpi: Mpi, lock: str, tmp_path: Path) -> None:
    native = tmp_path / "native"
    shutil.copytree(NATIVE, native)
    for source in (native / "preload" / "shim").glob("*.c"):
        source.write_text(re.sub(rf"\b(pthread_mutex_)?(un)?lock\({re.escape(lock)}\);", "", source.read_text()))
    assert any(races(run(mpi, 2, 100, native)) for _ in range(6))
