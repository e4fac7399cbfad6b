"""The findings about other libraries still hold."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from hocket.mpi.launch import environment_of_crowd

from .conftest import AS_ROOT, ROOT, SECONDS, Mpi

FOLDER = ROOT / "docs" / "findings"
WRONG = {
    "reduce_scatter_block": ("MPICH", "5.0.2", (2, 4)),
    "ibcast_between_groups": ("MPICH", "5.0.2", (4, 5)),
    "different_thread_levels": ("MPICH", "5.0.2", (2, 3)),
    "persistent_testall": ("MPICH", "5.0.2", (1, 2, 4)),
    "pack_nothing": ("Open MPI", "5.0.11", (1,)),
    "ineighbor_on_two": ("Open MPI", "5.0.11", (2,)),
    "graph_from_grid": ("Open MPI", "5.0.11", (2, 3)),
}
"""For each program the library that gets it wrong, its version, and numbers of ranks."""


@pytest.mark.real_mpi
@pytest.mark.parametrize("name", WRONG)
def test_a_finding_is_as_the_page_says(mpi: Mpi, tmp_path: Path, name: str) -> None:
    library, version, counts = WRONG[name]
    installed = mpi.installation.library
    if not re.search(r"\b5\.0\.(2|11)\b", installed):
        pytest.skip(f"the page does not tell of {installed}")
    program = tmp_path / name
    subprocess.run([mpi.installation.mpicc, FOLDER / f"{name}.c", "-o", program], check=True, capture_output=True)
    is_wrong = installed.startswith(library) and version in installed
    for ranks in counts:
        line = [mpi.installation.mpiexec, "-n", str(ranks), program]
        settings = {**os.environ, **AS_ROOT, **environment_of_crowd(64)}
        ran = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, env=settings, check=False)
        assert (ran.returncode == 1) == is_wrong, (ran.stdout, ran.stderr)


def test_every_finding_has_its_program_and_its_line() -> None:
    page = (ROOT / "docs" / "findings.md").read_text()
    assert {file.stem for file in FOLDER.glob("*.c")} == set(WRONG)
    for name in WRONG:
        assert f"[{name}.c](findings/{name}.c)" in page
