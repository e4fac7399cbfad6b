"""The MPI of this machine: its compiler wrapper, its launcher, its name, its family, and binaries compiled for it.

Libraries that programs preload, and programs that measure, are compiled once for each MPI and cached.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from hocket._native import Error
from hocket.base.parallel import ignore
from hocket.definitions.mpi_products import FAMILIES, PRODUCTS, product_in
from hocket.mpi.launchers import Template, folders

_WRAPPERS = ("mpicc", "mpiicx", "mpigcc", "cc")
"""The usual wrappers; the last one is Cray's, elsewhere a plain compiler."""
_ABI = "_abi"

NATIVE = Path(__file__).parent / "native"
"""The C sources, a folder for each binary, and libhocket: `make setup` copies them from `mpi/` of the repository."""


@dataclass(frozen=True)
class Installation:
    """An MPI to compile programs against and to run them under."""

    mpicc: Path  # its compiler wrapper
    launcher: Template  # what starts its ranks
    library: str  # the first line of its library version: the MPI's own name and version
    abi: str = ""  # the ABI of its programs, one of `FAMILIES`; empty if it is none of them
    # Called with a line of words before a binary is compiled for this MPI, which takes seconds.
    on_compiling: Callable[[str], object] = field(default=ignore, compare=False, repr=False)

    @staticmethod
    def find(mpicc: str | None = None, launcher: str | None = None) -> Installation:
        """Find an MPI: by the given wrapper, the wrapper beside the launcher, on the path, or beside Python.

        Its launcher is the given one, that of the environment, or the one beside the wrapper.

        Raises:
            Error: There is no MPI, or it cannot compile a program that asks for its name.
        """
        template = Template.find(launcher)
        neighbour = Path(template.words[0]).with_name("mpicc") if launcher and template else None
        compiler = _wrapper(mpicc or (str(neighbour) if neighbour and neighbour.exists() else None))
        abi, library = _who(compiler)
        return Installation(compiler, template or _own_launcher(compiler), library, abi)

    @staticmethod
    def of_product(name: str, launcher: str | None = None) -> Installation:
        """Find an MPI of a product by its own wrapper, such as `mpicc.openmpi`, or a usual one; refuse others."""
        product = PRODUCTS[name]
        Template.find(launcher)
        names = (f"mpicc.{name}", *product.wrappers, "mpicc")
        for path in filter(shutil.which, (str(Path(folder, each)) for each in names for folder in folders())):
            with suppress(Error):
                installation = Installation.find(path, launcher)
                if installation.product == name:
                    return installation
        wrappers = " or ".join(names)
        raise Error(
            f"--mpi: no {product.title} on the path, expected its wrapper as {wrappers}; --mpicc accepts others"
        )

    @property
    def product(self) -> str:
        """The product, one of `PRODUCTS`; empty if it is not known."""
        pair = product_in(self.library)
        return pair[0].name if pair else ""

    @property
    def note(self) -> str | None:
        """What to know of an MPI of no known product; None for others."""
        if self.product:
            return None
        abi = FAMILIES.get(self.abi, "an ABI of its own")
        return f'"{self.library}" is no MPI that Hocket knows; it has {abi}, by which Hocket goes'

    @property
    def family(self) -> str:
        """The family of the product; the ABI if the product is not known."""
        return PRODUCTS[self.product].family if self.product else self.abi

    @property
    def mpiexec(self) -> Path:
        """The MPI's own launcher; an Error if there is none."""
        return Path(_own_launcher(self.mpicc).words[0])

    @property
    def is_standard_abi(self) -> bool:
        """Whether its programs use the standard ABI: MPICH's `mpicc_abi`, beside `mpicc` for MPICH's own ABI."""
        return self.abi == "standard"

    def other_abi(self) -> Installation | None:
        """Return the same MPI with its other ABI, if it has two."""
        name = self.mpicc.name
        wrapper = self.mpicc.with_name(name.removesuffix(_ABI) if self.is_standard_abi else name + _ABI)
        if not wrapper.exists():
            return None
        abi, library = _who(wrapper)
        return replace(self, mpicc=wrapper, library=library, abi=abi)


def _wrapper(text: str | None) -> Path:
    """Find the compiler wrapper that an option names, or a usual one."""
    path = os.pathsep.join(folders())
    if text is not None:
        program = shutil.which(text, path=path)
        if program is None:
            raise Error(f"--mpicc: {text} is not a program, expected the compiler wrapper of an MPI")
        return Path(program).absolute()
    programs = ((name, shutil.which(name, path=path)) for name in _WRAPPERS)
    for name, program in programs:
        if program is not None and (name != "cc" or _is_wrapper(Path(program))):
            return Path(program).absolute()
    where = f"{', '.join(_WRAPPERS[:-1])} or Cray's {_WRAPPERS[-1]} on the path or in {Path(sys.executable).parent}"
    raise Error(f"no {where}, expected the compiler wrapper of an MPI; --mpicc accepts other names and folders")


def _is_wrapper(compiler: Path) -> bool:
    with suppress(Error):
        return bool(_who(compiler))
    return False


def _own_launcher(mpicc: Path) -> Template:
    """Return the launcher of a wrapper: `mpiexec.openmpi` goes with `mpicc.openmpi`; an Error if there is none."""
    neighbours = [mpicc.with_name(mpicc.name.replace("mpicc", "mpiexec")), mpicc.with_name("mpiexec")]
    own = next((str(path) for path in neighbours if path != mpicc and path.exists()), None) or shutil.which("mpiexec")
    if own is None:
        raise Error(f"no mpiexec beside {mpicc} or on the path, expected the launcher of an MPI; see --launcher")
    return Template((own, "-n", "{ranks}"))


@cache
def _who(mpicc: Path) -> tuple[str, str]:
    """Return the ABI of an MPI's programs, and its own name."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "who")
        compile_with(mpicc, [f"{NATIVE}/measuring/who.c", "-o", str(program), f"-I{NATIVE}/include"])
        try:
            ran = subprocess.run([program], capture_output=True, text=True, check=False)
        except OSError as error:
            raise Error(
                f"{mpicc}: does not produce a program: {error.strerror}, expected the compiler wrapper of an MPI"
            ) from None
    abi, *lines = ran.stdout.strip("\0\n").splitlines() or [""]
    if ran.returncode or not lines:
        raise Error(f"{mpicc}: the compiled test program does not run: {_last_line(ran.stderr)}")
    return abi, lines[0].rstrip("\0").strip()


def compile_with(mpicc: Path, arguments: list[str]) -> None:
    """Compile with the wrapper; an Error has the compiler's first one."""
    try:
        ran = subprocess.run([mpicc, *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Error(f"{mpicc}: {error.strerror}, expected the compiler wrapper of an MPI") from None
    if ran.returncode:
        errors = [line for line in ran.stderr.splitlines() if "error" in line] or [_last_line(ran.stderr)]
        raise Error(f"{mpicc} cannot compile: {errors[0]}")


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no error message"])[-1]


_LIBHOCKET = NATIVE / "libhocket.so"


def cache_folder() -> Path:
    """Return the folder of compiled libraries and rules; refuse one whose files LD_PRELOAD cannot name."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()
    if " " in str(base) or ":" in str(base):
        raise Error(f"XDG_CACHE_HOME: got {base}, expected a path without spaces and colons, which split LD_PRELOAD")
    return base / "hocket" / "mpi"


def own_folder(*inside: str) -> Path:
    """Return the cache folder, or one inside it; make it if necessary, and refuse it if others can write it."""
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
    """Return the library to preload under an MPI, compiled if necessary, in seconds; an Error if it cannot be."""
    return cached_build(installation, "libhocket_mpi.so", "preload/**/*.c", ["-shared", "-pthread"])


def cached_build(
    installation: Installation, name: str, patterns: str, flags: list[str], *, native: Path = NATIVE
) -> Path:
    """Return the library or program that C sources compile to, linked with libhocket; it is compiled if necessary.

    The patterns name files in the folder `native`, separated by spaces, such as `tracing/*.c`. A binary that others can
    write is refused.
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
