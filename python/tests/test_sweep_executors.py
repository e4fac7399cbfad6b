"""Sweeps on MPI and Dask give the same table, also after a worker was lost."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import hocket
from tests.processes import until

SPEC = """
collective = "allgather"
ranks = [4, 6]
sizes = "8B..4KiB:8"
machine = "jitter-paper"
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

SOON_GIVEN_UP = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
"""Dask gives up work once two workers have died on it, not four."""

MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))

needs_mpi = pytest.mark.skipif(MPIEXEC is None, reason="needs mpiexec: pip install mpich")
needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow: pip install pyarrow")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A scheduler of Dask that runs, with a worker of two threads, as `--executor` names it."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, protocol="tcp", dashboard_address=None) as cluster:
        yield f"dask={cluster.scheduler_address}"


def check(spec: Path, command: list[str]) -> None:
    """Run a sweep; compare its table with the table by threads."""
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


COMMANDS = {
    "compare": ["compare", "barrier", "--ranks", "8", "--machine", "jitter-paper", "--json"],
    "verify": ["verify", "allreduce", "ring", "--ranks", "1-6", "--json"],
    "tune": ["tune", "barrier", "--ranks", "4", "--machine", "cluster", "--output", "tuned", "--json"],
}


@cache
def by_threads(command: str) -> Any:
    """The result of a command without another executor."""
    with TemporaryDirectory() as folder:
        return json.loads(output([*HOCKET, *COMMANDS[command]], Path(folder)))


def output(command: list[str], folder: Path) -> str:
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **ON_FEW_PROCESSORS},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("dask", marks=[pytest.mark.dask, pytest.mark.long]),
        pytest.param("mpi", marks=[pytest.mark.mpi, needs_mpi]),
    ],
)
def test_other_commands_give_the_same_results(
    kind: str, command: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    job = [str(MPIEXEC), "-n", "3", sys.executable, "-m", "mpi4py.futures", "-m", "hocket"]
    start, executor = (job, "mpi") if kind == "mpi" else (HOCKET, request.getfixturevalue("scheduler"))
    elsewhere = output([*start, *COMMANDS[command], "--executor", executor, "--jobs", "2"], tmp_path)
    assert json.loads(elsewhere) == by_threads(command)


def test_a_program_of_ones_own_stays_in_this_process() -> None:
    own = ["--load", "python/hocket/examples/ring_allreduce.py", "--executor", "dask"]
    ran = subprocess.run(
        [*HOCKET, "compare", "allreduce", "--ranks", "4", "--sizes", "8B", *own], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (
        2,
        "hocket: error: --executor: got dask, expected local, as allreduce/chunked_ring is a program of your own\n",
    )


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
@pytest.mark.long
@pytest.mark.usefixtures("scheduler")
def test_the_workers_of_dask_give_the_same_table_beside_another_scheduler(spec: Path) -> None:
    check(spec, [*HOCKET, "sweep", "spec.toml", "--output", "table.csv", "--executor", "dask", "--jobs", "2"])


@pytest.mark.dask
def test_a_scheduler_that_runs_gives_the_same_table(spec: Path, scheduler: str) -> None:
    check(spec, [*HOCKET, "sweep", "spec.toml", "--output", "table.csv", "--executor", scheduler])


IMPATIENT = """
import hocket.base.executors as executors, sys
executors._LOOK_S, executors._WAIT_AGAIN_S = 0.1, float(sys.argv.pop(1))
from hocket.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""Looks often at the workers of Dask, and waits for others as many seconds as the first argument says."""


@pytest.mark.dask
@pytest.mark.long
def test_workers_that_die_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = "    os._exit(7)\n    yield r.compute(0.0)\n"
    (tmp_path / "dies.py").write_text(f'import os, hocket\n@hocket.algorithm("barrier")\ndef dies(r, c):\n{dying}')
    (tmp_path / "spec.toml").write_text('load = "dies.py"\nranks = 2\n[algorithms]\ndies = {}\n')
    monkeypatch.chdir(tmp_path)
    impatient = [sys.executable, "-c", IMPATIENT, "60"]
    ran = run([*impatient, "sweep", "spec.toml", "--executor", "dask", "--jobs", "1"])
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("hocket: error: workers of Dask died") and ran.stderr.count("\n") == 1


ENDING = """
import signal, hocket, os

@hocket.algorithm("barrier")
def ending(r, c):
    os.kill(int(open("pid").read()), signal.SIGKILL)
    yield r.compute(1e-6)
"""
"""Kills the process in the file `pid`."""


@pytest.mark.dask
@pytest.mark.parametrize("ends", ["scheduler", pytest.param("worker", marks=pytest.mark.long)])
def test_a_scheduler_or_all_workers_that_end_are_one_line(ends: str, tmp_path: Path) -> None:
    (tmp_path / "ending.py").write_text(ENDING)
    (tmp_path / "spec.toml").write_text('load = "ending.py"\nranks = 2\n[algorithms]\nending = {}\n')
    where = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "tcp://127.0.0.1", "--port", "0"]
    dask += ["--no-dashboard", "--scheduler-file", "scheduler.json"]
    work = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", "scheduler.json", "--no-nanny"]
    with subprocess.Popen(dask, **where) as scheduler, subprocess.Popen(work, **where) as worker:
        (tmp_path / "pid").write_text(str((scheduler if ends == "scheduler" else worker).pid))
        try:
            file = tmp_path / "scheduler.json"
            until(lambda: file.exists() and file.read_text().endswith("}"), scheduler)
            address = json.loads(file.read_text())["address"]
            words = ["sweep", "spec.toml", "--executor", f"dask={address}"]
            ran = subprocess.run(
                [sys.executable, "-c", IMPATIENT, "0.1", *words],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=120,
            )
        finally:
            scheduler.kill()
            worker.kill()
    assert (ran.returncode, ran.stdout) == (2, "")
    *waiting, message = ran.stderr.splitlines()
    if ends == "scheduler":
        assert waiting == []
        expected = (
            f"--executor: the scheduler of Dask at {address} has ended, expected that it runs until the work is done"
        )
    else:
        (said,) = waiting
        assert said.startswith(f"hocket: no worker of Dask is left at {address}, waiting up to ")
        expected = f"--executor: no worker of Dask at {address} for 0 seconds, expected another"
    assert message == f"hocket: error: {expected}"


FRAGILE = """
import os, signal, time, hocket

@hocket.algorithm("broadcast")
def fragile(r, c):
    size = len(c.result(r))
    with open("began", "a") as began:
        began.write(f"{size} ")
    if size == 64 and not os.path.exists("cured"):
        while not os.path.exists("table.csv.partial.jsonl") or not os.path.getsize("table.csv.partial.jsonl"):
            time.sleep(0.01)
        if MEND:
            open("cured", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    yield r.compute(1e-6)
"""
"""Kills the worker that simulates 64 B, once a result is in the journal: until it is cured, or, to MEND, only once."""


SWEEP = ["sweep", "spec.toml", "--output", "table.csv", "--executor"]
ON_DASK = [*HOCKET, *SWEEP, "dask", "--jobs", "2"]
ON_MPI = [str(MPIEXEC), "-n", "3", sys.executable, "-m", "mpi4py.futures", "-m", "hocket", *SWEEP, "mpi"]


@pytest.fixture
def fragile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes a sweep with an algorithm that kills workers."""
    monkeypatch.chdir(tmp_path)

    def write(*, mends: bool) -> Path:
        Path("fragile.py").write_text(FRAGILE.replace("MEND", str(mends)))
        spec = 'load = "fragile.py"\nranks = 2\nsizes = "8B..64B"\n[algorithms]\nfragile = {}\n'
        Path("spec.toml").write_text(spec)
        return tmp_path / "spec.toml"

    return write


def run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        env={**os.environ, **ON_FEW_PROCESSORS, **SOON_GIVEN_UP},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def check_goes_on(command: list[str]) -> None:
    """Repair the algorithm and resume: cells of the journal are not simulated again, and the table is complete."""
    lines = Path("table.csv.partial.jsonl").read_text().splitlines()
    known = {json.loads(line)["row"]["size_bytes"] for line in lines}
    assert known and not Path("table.csv").exists()
    Path("cured").touch()
    Path("began").unlink()
    assert run(command).returncode == 0
    assert not known & set(map(int, Path("began").read_text().split()))
    assert Path("table.csv").read_text() == hocket.sweep("spec.toml").as_csv()


@pytest.mark.dask
def test_what_a_worker_of_dask_did_when_it_was_killed_is_done_by_another(fragile: Callable[..., Path]) -> None:
    check(fragile(mends=True), ON_DASK)


@pytest.mark.dask
@pytest.mark.long
def test_a_sweep_on_dask_that_kills_its_workers_goes_on_from_its_journal(fragile: Callable[..., Path]) -> None:
    fragile(mends=False)
    ran = run(ON_DASK)
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert ran.stderr.startswith("hocket: error: workers of Dask died") and ran.stderr.count("\n") == 1
    check_goes_on(ON_DASK)


@pytest.mark.mpi
@needs_mpi
def test_an_mpi_job_that_lost_a_rank_goes_on_from_its_journal(fragile: Callable[..., Path]) -> None:
    fragile(mends=False)
    ran = run(ON_MPI)
    assert ran.returncode != 0
    assert "BAD TERMINATION" in ran.stdout + ran.stderr  # the message of mpiexec
    check_goes_on(ON_MPI)


@needs_pyarrow
def test_parquet_holds_the_same_table(spec: Path) -> None:
    from pyarrow import parquet

    table = hocket.sweep(spec, output=spec.parent / "table.parquet")
    read = parquet.read_table(spec.parent / "table.parquet")
    assert read.to_pylist() == table.records()
    assert hocket.Table.load(spec.parent / "table.parquet") == table
    types = {name: str(read.schema.field(name).type) for name in ("algorithm", "ranks", "seed", "time_mean_s")}
    assert types == {"algorithm": "string", "ranks": "int64", "seed": "uint64", "time_mean_s": "double"}
