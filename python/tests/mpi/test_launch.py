"""Errors of an MPI or of a folder: one line."""

from __future__ import annotations

import gc
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket import Error
from hocket.mpi import Installation, environment, launch, saved_rules
from hocket.mpi.installation import cache_folder, cached_build, own_folder
from hocket.mpi.jobs import lines_of
from hocket.mpi.launch import environment_of_crowd, note_for_root
from hocket.mpi.launchers import Template
from hocket.mpi.tracing import program_name
from tests.conftest import Ran

from .conftest import AS_ROOT, ROOT, SECONDS, Mpi

OPEN_MPI = Installation(Path("/mpi/mpicc"), Template(("/mpi/mpiexec", "-n", "{ranks}")), "Open MPI v5.0.11")


def test_a_wrapper_that_makes_no_program(bad_input: Callable[..., str]) -> None:
    message = bad_input("mpi", "build", "--mpicc", "/bin/true", "--launcher", "/bin/true")
    assert message == (
        "/bin/true: does not produce a program: No such file or directory, expected the compiler wrapper of an MPI"
    )


@pytest.mark.parametrize("name", ["a b", "a:b"])
def test_a_folder_that_cannot_be_preloaded_from(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    with pytest.raises(Error, match=f"XDG_CACHE_HOME: got .*{name}, expected a path without spaces and colons"):
        cache_folder()


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/proc/self")
    with pytest.raises(
        Error, match=r"^/proc/self/.cache/hocket/mpi: cannot be made: .*, .* in the variable XDG_CACHE_HOME$"
    ):
        own_folder()


@pytest.mark.parametrize("spoilt", ["library", "libhocket", "folder", "owner"])
def test_a_library_that_others_can_write_is_not_loaded(
    spoilt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new" / "cache"))
    (tmp_path / "a.c").write_text("int a;\n")

    said: list[str] = []
    cc = Installation(Path("cc"), Template(()), "an MPI", on_compiling=said.append)

    def library() -> Path:
        return cached_build(cc, "liba.so", "a.c", ["-shared"], native=tmp_path)

    before = os.umask(0)
    try:
        built = library()
        assert said == ["compiling liba.so for an MPI, once"]
    finally:
        os.umask(before)
    for folder in (built.parent, *built.parent.parents[:3]):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert library() == built
    assert len(said) == 1
    if spoilt == "owner":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    else:
        {"library": built, "libhocket": built.with_name("libhocket.so"), "folder": built.parent}[spoilt].chmod(0o777)
    with pytest.raises(Error, match=r"belongs to user .*, mode 0[67].., expected your own, writable by you alone"):
        library()


@pytest.mark.parametrize("first", [True, False])
def test_a_library_on_some_ranks_only_is_not_used(first: bool, mpi: Mpi) -> None:
    program = [mpi.compiled("either_path.c")]
    preloaded = environment(mpi.installation, saved_rules(["allreduce: recursive_doubling"]), "summary")
    some: list[str] = ["env", *(f"{name}={value}" for name, value in preloaded.items()), *program]
    both: list[list[str]] = [some, program] if first else [program, some]
    line = [str(mpi.installation.mpiexec), "-n", "2", *both[0], ":", "-n", "1", *both[1]]
    settings = {**os.environ, **AS_ROOT, **environment_of_crowd(64)}
    ran = subprocess.run(line, capture_output=True, text=True, env=settings, timeout=SECONDS, check=True)
    assert ran.stderr == (
        f"hocket: rank {0 if first else 2}: some ranks do not have the library, expected LD_PRELOAD on all ranks; "
        "all calls are left to MPI\n"
    )
    assert ran.stdout == "0 wrong\n"


def test_a_program_may_change_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert cache_folder() == tmp_path / "cache" / "hocket" / "mpi"


def test_variables_of_an_earlier_environment_do_not_stay(
    monkeypatch: pytest.MonkeyPatch, hocket_command: Callable[..., Ran]
) -> None:
    monkeypatch.setattr(launch, "build", lambda _: Path("/new/libhocket_mpi.so"))
    monkeypatch.setattr(Installation, "find", lambda *_: OPEN_MPI)
    monkeypatch.setenv("LD_PRELOAD", "/old/libhocket_mpi.so /other.so")
    expected = {"LD_PRELOAD": "/new/libhocket_mpi.so /other.so", "HOCKET_RULES": "", "HOCKET_LOG": ""}
    assert environment(OPEN_MPI, None) == expected
    ran = hocket_command("mpi env --log summary")
    assert ran.out.splitlines() == [
        "export LD_PRELOAD='/new/libhocket_mpi.so /other.so'",
        "unset HOCKET_RULES",
        "export HOCKET_LOG=summary",
    ]


def test_what_open_mpi_wants_of_root_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.delenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", raising=False)
    note = note_for_root(OPEN_MPI)
    assert note is not None and note.startswith(
        "Open MPI refuses to run as root: set OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1,"
    )
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    assert note_for_root(OPEN_MPI) is None


def test_the_benchmark_without_an_mpi_says_so_in_a_line() -> None:
    line = [sys.executable, ROOT / "benchmarks" / "mpi_overhead.py", "--mpicc", "/nowhere/mpicc"]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    expected = "hocket: error: --mpicc: /nowhere/mpicc is not a program, expected the compiler wrapper of an MPI\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", expected)


COMPILER = """#!/bin/sh
printf '#!/bin/sh\necho mpich\necho some MPI 1.0\n' > "$3"
/bin/chmod 755 "$3"
"""
"""Makes a program, for arguments SOURCE -o PROGRAM, that tells the ABI and the name of an MPI."""


def test_an_mpi_beside_python_needs_no_activated_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    searched = (
        f"no mpicc, mpiicx, mpigcc or Cray's cc on the path or in {tmp_path}, expected the compiler wrapper of an MPI"
    )
    with pytest.raises(Error, match=re.escape(searched)):
        Installation.find()
    for name in ("mpicc", "mpiexec"):
        program = tmp_path / name
        program.write_text(COMPILER)
        program.chmod(0o755)
    found = Installation.find()
    launcher = Template((str(tmp_path / "mpiexec"), "-n", "{ranks}"))
    assert found == Installation(tmp_path / "mpicc", launcher, "some MPI 1.0", "mpich")
    assert (found.product, found.family) == ("", "mpich")
    assert found.note == '"some MPI 1.0" is no MPI that Hocket knows; it has MPICH\'s ABI, by which Hocket goes'


@pytest.mark.filterwarnings("error")
def test_an_answer_that_a_job_does_not_read_is_lost() -> None:
    def answer(line: str) -> str:
        time.sleep(0.3)  # the job has ended
        return line

    with pytest.raises(Error, match=r"^sh ended with status 3$"):
        lines_of(["sh", "-c", "echo start; exit 3"], {}, answer, asks=True)
    gc.collect()


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (["./app", "python"], "app"),
        (["/usr/bin/python3.11", "-u", "work/app.py", "8"], "app"),
        (["python", "-u", "-m", "mpi4py.bench"], "mpi4py.bench"),
        (["python"], "python"),
    ],
)
def test_a_trace_is_named_after_the_program_that_python_runs(program: list[str], name: str) -> None:
    assert program_name(program) == name
