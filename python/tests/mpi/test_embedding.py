"""The program on the page about `hocket.h` runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from hocket.mpi.installation import NATIVE
from hocket.mpi.launch import environment_of_crowd

from .conftest import AS_ROOT, ROOT, SECONDS, Mpi


def test_a_program_embeds_libhocket(mpi: Mpi, tmp_path: Path) -> None:
    source, program = ROOT / "docs" / "embedding" / "sum.c", tmp_path / "sum"
    linked = [f"-I{NATIVE}/include", f"-L{NATIVE}", "-l:libhocket.so", f"-Wl,-rpath,{NATIVE}"]
    line = [mpi.installation.mpicc, "-Wall", "-Werror", source, *linked, "-o", program]
    subprocess.run(line, check=True, capture_output=True)
    for ranks in (1, 2, 5):
        job = [mpi.installation.mpiexec, "-n", str(ranks), program]
        settings = {**os.environ, **AS_ROOT, **environment_of_crowd(64)}
        ran = subprocess.run(job, env=settings, capture_output=True, text=True, timeout=SECONDS, check=True)
        first, last = ranks * (ranks - 1) // 2, ranks * (ranks - 1) // 2 + 7 * ranks
        expected = [f"allreduce ring, rank {rank}: {first} to {last}" for rank in range(ranks)]
        assert sorted(ran.stdout.splitlines()) == expected
