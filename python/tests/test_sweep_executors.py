"""Sweeps on MPI and Dask: the same table comes out. These tests need packages that few people have."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import hocket

SPEC = """
collective = "allgather"
ranks = [4, 6]
sizes = "8B..4KiB:8"
machines = "jitter-paper"
trials = 20
[algorithms]
ring = {}
recursive_doubling = {}
"""

HOCKET = [sys.executable, "-m", "hocket"]
ON_FEW_PROCESSORS = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
}
"""Ranks of MPICH that wait leave the processor to others."""

MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))

needs_mpi = pytest.mark.skipif(
    find_spec("mpi4py") is None or MPIEXEC is None, reason="needs mpi4py and mpiexec: pip install mpi4py mpich"
)
needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="needs Dask: pip install distributed")
needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow: pip install pyarrow")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


def check(spec: Path, command: list[str]) -> None:
    """Run a sweep and compare its table with that of threads."""
    ran = subprocess.run(
        command, cwd=spec.parent, env={**os.environ, **ON_FEW_PROCESSORS}, capture_output=True, text=True, timeout=120
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (spec.parent / "table.csv").read_text() == hocket.sweep(spec).as_csv()


@pytest.mark.mpi
@needs_mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_the_ranks_of_an_mpi_job_give_the_same_table(spec: Path, ranks: int) -> None:
    job = [str(MPIEXEC), "-n", str(ranks), sys.executable, "-m", "mpi4py.futures", "-m", "hocket"]
    check(spec, [*job, "sweep", "spec.toml", "--output", "table.csv", "--executor", "mpi"])


@pytest.mark.mpi
@needs_mpi
def test_bad_input_ends_an_mpi_job(tmp_path: Path) -> None:
    job = [str(MPIEXEC), "-n", "2", sys.executable, "-m", "mpi4py.futures", "-m", "hocket"]
    ran = subprocess.run(
        [*job, "sweep", "nowhere.toml", "--executor", "mpi"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 2
    assert "hocket: error: nowhere.toml: No such file or directory\n" in ran.stderr


@pytest.mark.dask
@needs_dask
def test_the_workers_of_dask_give_the_same_table(spec: Path) -> None:
    check(spec, [*HOCKET, "sweep", "spec.toml", "--output", "table.csv", "--executor", "dask", "--jobs", "2"])


@pytest.mark.dask
@needs_dask
def test_a_scheduler_that_runs_gives_the_same_table(spec: Path) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, protocol="tcp", dashboard_address=None) as cluster:
        address = f"dask={cluster.scheduler_address}"
        check(spec, [*HOCKET, "sweep", "spec.toml", "--output", "table.csv", "--executor", address])


@pytest.mark.dask
@needs_dask
def test_workers_that_die_are_one_line(tmp_path: Path) -> None:
    dying = "    os._exit(7)\n    yield r.compute(0.0)\n"
    (tmp_path / "dies.py").write_text(f'import os, hocket\n@hocket.algorithm("barrier")\ndef dies(r, c):\n{dying}')
    (tmp_path / "spec.toml").write_text('load = "dies.py"\nranks = 2\n[algorithms]\ndies = {}\n')
    command = [*HOCKET, "sweep", "spec.toml", "--executor", "dask", "--jobs", "1"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("hocket: error: workers of Dask died") and ran.stderr.count("\n") == 1


@needs_pyarrow
def test_parquet_holds_the_same_table(spec: Path) -> None:
    from pyarrow import parquet

    table = hocket.sweep(spec, output=spec.parent / "table.parquet")
    read = parquet.read_table(spec.parent / "table.parquet")
    assert read.to_pylist() == table.records()
    types = {name: str(read.schema.field(name).type) for name in ("algorithm", "ranks", "seed", "time_mean_s")}
    assert types == {"algorithm": "string", "ranks": "int64", "seed": "uint64", "time_mean_s": "double"}
