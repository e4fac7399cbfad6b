"""The library that programs preload: compiled once for each MPI and cached."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from hocket._native import Error
from hocket.mpi.installation import NATIVE, Installation, compile_with

_LIBHOCKET = NATIVE / "libhocket.so"


def cache_folder() -> Path:
    """Return the folder of compiled libraries and rules.

    Raises:
        Error: LD_PRELOAD cannot name files in this folder.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()
    if " " in str(base) or ":" in str(base):
        raise Error(f"XDG_CACHE_HOME: got {base}, expected a path without spaces and colons, which split LD_PRELOAD")
    return base / "hocket" / "mpi"


def own_folder(*inside: str) -> Path:
    """Return the cache folder, or a folder inside it that only the user can write; it is made if necessary.

    Raises:
        Error: The folder cannot be made, or others can write it.
    """
    top = cache_folder()
    folder = top.joinpath(*inside)
    try:
        for each in reversed((folder, *folder.parents)):
            if not each.exists():
                each.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise Error(
            f"{folder}: cannot be made: {error.strerror}, expected a folder of your own, "
            "or another one in the variable XDG_CACHE_HOME"
        ) from error
    for each in (top.parent, top, folder):
        _check_own(each)
    return folder


def _check_own(path: Path) -> None:
    """Refuse folders that others can write, because programs would run their files."""
    status = path.stat()
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(status.st_mode)
        raise Error(
            f"{path}: belongs to user {status.st_uid}, mode {mode:04o}, expected your own, writable by you alone"
        )


def build(installation: Installation) -> Path:
    """Return the library to preload under an MPI. It is compiled if necessary, which takes seconds.

    Raises:
        Error: The library cannot be compiled or written.
    """
    return cached_build(installation, "libhocket_mpi.so", "preload/**/*.c", ["-shared", "-pthread"])


def cached_build(
    installation: Installation, name: str, patterns: str, flags: list[str], *, native: Path = NATIVE
) -> Path:
    """Return the library or program that C sources compile to, linked with libhocket; it is compiled if necessary.

    The patterns name files in the folder `native`, separated by spaces, such as `tracing/*.c`.

    Raises:
        Error: The binary cannot be compiled or written, or others can write it.
    """
    if not _LIBHOCKET.exists():
        raise Error(f"{_LIBHOCKET} is missing, expected the library from the wheel or from `make setup`")
    name_escaped = installation.library.replace("\\", "\\\\").replace('"', '\\"')
    flags = [f'-DHOCKET_MPI_LIBRARY="{name_escaped}"', *flags]  # tells a binary for which MPI it is compiled
    sources = [file for pattern in patterns.split() for file in sorted(native.glob(pattern))]
    folder = own_folder(_key(installation, [*sources, *sorted(native.rglob("*.h")), _LIBHOCKET], flags))
    target = folder / name
    if target.exists():
        for each in (folder / _LIBHOCKET.name, target):
            _check_own(each)
        return target
    installation.on_compiling(f"compiling {name} for {' '.join(installation.library.split())}, once")
    with tempfile.TemporaryDirectory(dir=folder) as folder_of_build:
        shutil.copy(_LIBHOCKET, folder_of_build)
        path_made = Path(folder_of_build) / name
        link = ["-Wl,--as-needed", f"-L{folder_of_build}", "-lhocket", "-Wl,-rpath,$ORIGIN", "-lrt", "-ldl", "-lm"]
        options = ["-O2", "-fPIC", f"-I{native / 'include'}", *flags, "-o", str(path_made)]
        compile_with(installation.mpicc, [*options, *map(str, sources), *link])
        for file in (_LIBHOCKET.name, name):
            (Path(folder_of_build) / file).chmod(0o755)
            os.replace(Path(folder_of_build) / file, folder / file)
    return target


def _key(installation: Installation, files: list[Path], flags: list[str]) -> str:
    """Return a name for the binary that these files compile to."""
    compiler_command = subprocess.run([installation.mpicc, "-show"], capture_output=True, check=False).stdout
    parts = [str(installation.mpicc).encode(), compiler_command, " ".join(flags).encode()]  # flags name the MPI
    return hashlib.sha256(b"\0".join([*parts, *(file.read_bytes() for file in files)])).hexdigest()[:16]
