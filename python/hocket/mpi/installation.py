"""The MPI of this machine: its compiler wrapper, its launcher, and its name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from hocket._native import Error

KINDS = {"mpich": "MPICH", "openmpi": "Open MPI"}
"""The names that MPIs of a kind give themselves, by kind."""


def kind_of(library: str) -> str | None:
    """Return the kind of an MPI, by the MPI's own name; None if it is none of `KINDS`."""
    return next((kind for kind, name in KINDS.items() if library.startswith(name)), None)


_ABI = "_abi"

_WHO = """
#include <mpi.h>
#include <stdio.h>
int main(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    puts(text);
    return 0;
}
"""


def _silent(_: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Installation:
    """An MPI to compile programs against and to run them under.

    Attributes:
        mpicc: Its compiler wrapper.
        mpiexec: Its launcher.
        library: The first line of its library version: the MPI's own name and version.
        on_compiling: Called with a line of words before a binary is compiled for this MPI, which takes seconds.
    """

    mpicc: Path
    mpiexec: Path
    library: str
    on_compiling: Callable[[str], object] = field(default=_silent, compare=False, repr=False)

    @staticmethod
    def find(mpicc: str | None = None, mpiexec: str | None = None) -> Installation:
        """Find an MPI: by the given wrapper, the wrapper beside the launcher, on the path, or beside Python.

        Raises:
            Error: There is no MPI, or it cannot compile a program that asks for its name.
        """
        mpicc_of_launcher = mpiexec and str(Path(mpiexec).parent / "mpicc") if mpiexec and os.sep in mpiexec else None
        compiler = _program(mpicc or mpicc_of_launcher, "mpicc", "the compiler wrapper of an MPI")
        launcher = _program(mpiexec or _launcher_beside(compiler), "mpiexec", "the launcher of an MPI")
        return Installation(compiler, launcher, _library(compiler))

    @staticmethod
    def of_kind(kind: str) -> Installation:
        """Find an MPI of a kind of `KINDS`: by its own wrapper, such as `mpicc.openmpi`, or a wrapper on the path.

        Raises:
            Error: There is no such MPI.
        """
        folders = _folders()
        names = [
            *(str(Path(folder, f"mpicc.{kind}")) for folder in folders),
            *(f"{folder}/mpicc" for folder in folders),
        ]
        for name in filter(shutil.which, names):
            installation = Installation.find(name)
            if installation.library.startswith(KINDS[kind]):
                return installation
        expected = f"expected its wrapper as mpicc.{kind} or mpicc; --mpicc accepts other names"
        raise Error(f"--mpi: no {KINDS[kind]} on the path, {expected}")

    @property
    def is_standard_abi(self) -> bool:
        """Whether its programs use the standard ABI: MPICH's `mpicc_abi`, beside `mpicc` for MPICH's own ABI."""
        return self.mpicc.name.endswith(_ABI)

    def other_abi(self) -> Installation | None:
        """Return the same MPI with its other ABI, if it has two."""
        name = self.mpicc.name
        wrapper = self.mpicc.with_name(name.removesuffix(_ABI) if self.is_standard_abi else name + _ABI)
        return replace(self, mpicc=wrapper, library=_library(wrapper)) if wrapper.exists() else None


def _folders() -> list[str]:
    """Return where to look for programs: on the path, and beside this Python, whose environment need not be active."""
    return [*os.get_exec_path(), str(Path(sys.executable).parent)]


def _program(text: str | None, usual: str, what: str) -> Path:
    """Find the program that an option names, or the usual one."""
    path = shutil.which(text or usual, path=os.pathsep.join(_folders()))
    if path is not None:
        return Path(path).absolute()
    if text is not None:
        raise Error(f"--{usual}: {text} is not a program, expected {what}")
    folder = Path(sys.executable).parent
    raise Error(f"no {usual} on the path or in {folder}, expected {what}; --{usual} accepts other names and folders")


def _launcher_beside(mpicc: Path) -> str | None:
    """Return the launcher that belongs to a wrapper: `mpicc.openmpi` goes with `mpiexec.openmpi`."""
    neighbours = [mpicc.with_name(mpicc.name.replace("mpicc", "mpiexec")), mpicc.with_name("mpiexec")]
    return next((str(launcher) for launcher in neighbours if launcher.exists()), None)


@cache
def _library(mpicc: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "who.c"), Path(folder, "who")
        source.write_text(_WHO)
        compile_with(mpicc, [str(source), "-o", str(program)])
        try:
            ran = subprocess.run([program], capture_output=True, text=True, check=False)
        except OSError as error:
            raise Error(
                f"{mpicc}: does not produce a program: {error.strerror}, expected the compiler wrapper of an MPI"
            ) from None
    lines = ran.stdout.strip("\0\n").splitlines()
    if ran.returncode or not lines:
        raise Error(f"{mpicc}: the compiled test program does not run: {_last_line(ran.stderr)}")
    return lines[0].rstrip("\0").strip()


def compile_with(mpicc: Path, arguments: list[str]) -> None:
    """Compile with the wrapper.

    Raises:
        Error: Compilation fails; the message contains the first error.
    """
    try:
        ran = subprocess.run([mpicc, *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Error(f"{mpicc}: {error.strerror}, expected the compiler wrapper of an MPI") from None
    if ran.returncode:
        errors = [line for line in ran.stderr.splitlines() if "error" in line] or [_last_line(ran.stderr)]
        raise Error(f"{mpicc} cannot compile: {errors[0]}")


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no error message"])[-1]
