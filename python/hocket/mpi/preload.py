"""The library that a program preloads, compiled once for each MPI and kept."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from hocket._native import Error
from hocket.mpi.installation import Installation, compiled

__all__ = ["NATIVE", "SOURCES", "build", "cache_folder", "kept", "library_flag"]

NATIVE = Path(__file__).parent / "native"
"""C sources, the header, and libhocket."""

_LIBHOCKET = NATIVE / "libhocket.so"
_SHIM = (
    "types",
    "transport",
    "communicator",
    "node_memory",
    "neighbors",
    "operation",
    "started",
    "persistent",
    "log",
    "life_cycle",
)
_FUNCTIONS = ("collectives", "communicators", "point", "requests", "fortran")
SOURCES = (*(f"shim/{name}.c" for name in _SHIM), *(f"{name}.c" for name in _FUNCTIONS))
"""What the preloaded library is compiled from, in `NATIVE`."""


def cache_folder() -> Path:
    """Return where compiled libraries and rules are kept.

    Raises:
        Error: LD_PRELOAD cannot name what is there.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()
    if " " in str(base) or ":" in str(base):
        raise Error(f"XDG_CACHE_HOME: got {base}, expected a path without spaces and colons, where LD_PRELOAD is cut")
    return base / "hocket" / "mpi"


def build(installation: Installation) -> Path:
    """Return the library to preload under an MPI; it is compiled if it is not there yet, which takes seconds.

    Raises:
        Error: It cannot be compiled, or written.
    """
    flags = ["-shared", "-pthread", "-lrt", library_flag(installation)]
    return kept(installation, "libhocket_mpi.so", [NATIVE / name for name in SOURCES], flags)


def kept(installation: Installation, name: str, sources: list[Path], flags: list[str]) -> Path:
    """Return what the sources compile to, linked with libhocket; compiled if it is not there yet.

    Raises:
        Error: It cannot be compiled, or written.
    """
    if not _LIBHOCKET.exists():
        raise Error(f"{_LIBHOCKET} is missing, expected what the wheel or `make setup` puts there")
    folder = cache_folder() / _key(installation, [*sources, *sorted(NATIVE.rglob("*.h")), _LIBHOCKET], flags)
    target = folder / name
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as beside:
        shutil.copy(_LIBHOCKET, beside)
        made = Path(beside) / name
        link = [f"-L{beside}", "-lhocket", "-Wl,-rpath,$ORIGIN"]
        options = ["-O2", "-fPIC", f"-I{NATIVE}", *flags, "-o", str(made)]
        compiled(installation.mpicc, [*options, *map(str, sources), *link])
        for file in (_LIBHOCKET.name, name):
            os.replace(Path(beside) / file, folder / file)
    return target


def _key(installation: Installation, files: list[Path], flags: list[str]) -> str:
    """Return a name for what these files compile to."""
    shown = subprocess.run([installation.mpicc, "-show"], capture_output=True, check=False).stdout
    parts = [installation.library.encode(), str(installation.mpicc).encode(), shown, " ".join(flags).encode()]
    return hashlib.sha256(b"\0".join([*parts, *(file.read_bytes() for file in files)])).hexdigest()[:16]


def library_flag(installation: Installation) -> str:
    """Return the flag that tells a library which MPI it is compiled for."""
    escaped = installation.library.replace("\\", "\\\\").replace('"', '\\"')
    return f'-DHOCKET_MPI_LIBRARY="{escaped}"'
