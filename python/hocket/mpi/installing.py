"""Installing the library, rules and a module file in a folder for all users. Programs there need no Python."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hocket._native import Error
from hocket.base import files
from hocket.base.version import VERSION
from hocket.definitions.mpi_products import product_in
from hocket.mpi.installation import Installation, build

_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")
_MODULES = "modulefiles"
_MODULE = "hocket"
_STANDARD_ABI = "-abi"
_WORD = re.compile(r"[\w./@:+-]+")
_NO_RULES = (
    "# The first rule decides that fits a call. Without rules all calls are left to MPI; logs of jobs have them.\n"
)


@dataclass(frozen=True)
class InstalledLibrary:
    """The installed files."""

    # The name of the MPI with its version, such as "mpich-5.0.2"; it ends with "-abi" for the standard ABI of an MPICH.
    # The module is "hocket/mpich-5.0.2".
    name: str
    library: Path  # the library that programs preload
    rules: Path  # the file of rules
    environment: Path  # the file that a shell reads instead of loading the module
    launch: Path  # the script that preloads the library into one program only, not into every process of a shell
    module: Path  # the module file, in Tcl, for Environment Modules and Lmod

    @property
    def load(self) -> str:
        """The commands by which users load it."""
        return f"module use {self.module.parents[1]}; module load {_MODULE}/{self.name}"


def name_of(library: str) -> str:
    """Return a short name with the version, from the MPI's own name; refuse a name without a version."""
    product, version = product_in(library) or (None, "")
    if product is not None:
        return f"{product.name}-{version.replace(' ', '-')}"
    match = re.search(r"(.*?)\s*(?:version)?[\s:v]*(\d+(?:\.\w+)+)", library, re.IGNORECASE)
    if match is None:
        raise Error(f'--name: the MPI\'s name "{library}" contains no version, expected a name such as mpich-5.0.2')
    return f"{'-'.join(re.findall(r'[a-z0-9]+', match[1].lower())) or 'mpi'}-{match[2]}"


def install(
    installation: Installation,
    prefix: str,
    *,
    rules: str | None = None,
    name: str | None = None,
    job_logs: str | None = None,
    requires: str | None = None,
) -> InstalledLibrary:
    """Install the library for one MPI for all users, in a folder that can serve several; it replaces an earlier one.

    Without rules the installed ones stay, if there are any. The name has the version but no "-abi"; by default it is
    derived from the MPI's own. `job_logs` is the folder for job logs, `requires` the MPI's module, which users have to
    load first. An Error says that a file cannot be written, that the library cannot be compiled, or what name is
    invalid.
    """
    name = name or name_of(installation.library)
    if installation.is_standard_abi:
        name = f"{name.removesuffix(_STANDARD_ABI)}{_STANDARD_ABI}"
    if not _NAME.fullmatch(name) or name == _MODULES:
        raise Error(f'--name: got "{name}", expected a name and a version such as mpich-5.0.2')
    if requires is not None and not _WORD.fullmatch(requires):
        raise Error(f'--requires: got "{requires}", expected the name of a module such as mpich/5.0.2')
    logs = job_logs and _plain(os.path.abspath(job_logs), "--job-logs")
    root = Path(_plain(os.path.abspath(prefix), "--prefix"))
    folder = root / name
    files_built = build(installation)
    library = InstalledLibrary(
        name=name,
        library=folder / files_built.name,
        rules=folder / "site.rules",
        environment=folder / "environment.sh",
        launch=folder / "hocket-run",
        module=root / _MODULES / _MODULE / name,
    )
    for inner in (folder, library.module.parent):
        for each in reversed([inner, *inner.parents]):
            if not each.exists():
                files.make_folder(each)
                each.chmod(0o755)  # all users can read it, whatever the umask
    for file in sorted(files_built.parent.glob("*.so")):
        _write(folder / file.name, file.read_bytes(), 0o755)
    if rules is not None or not library.rules.exists():
        _write(library.rules, rules if rules is not None else _NO_RULES, 0o644)
    variables = {"HOCKET_RULES": str(library.rules), **({"HOCKET_JOB_LOG": logs} if logs else {})}
    title = f"collectives of {name} by Hocket {VERSION}"
    exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    preload = f'export LD_PRELOAD="{library.library}${{LD_PRELOAD:+ $LD_PRELOAD}}"'
    _write(library.environment, "\n".join([f"# {title}", preload, *exports, ""]), 0o644)
    _write(library.launch, f'#!/bin/sh\n# {title}\n. {library.environment}\nexec "$@"\n', 0o755)
    _write(library.module, _module(title, library, variables, requires), 0o644)
    return library


def _plain(path: str, option: str) -> str:
    if re.search(r"""[\s:"$\[\]\\{};']""", path):
        raise Error(f"{option}: got {path}, expected a path without spaces, colons, quotes and brackets")
    return path


def _write(path: Path, content: bytes | str, mode: int) -> None:
    data = content.encode() if isinstance(content, str) else content

    def write(place: str) -> None:
        Path(place).write_bytes(data)
        os.chmod(place, mode)

    files.write_by(path, write)


def _module(title: str, library: InstalledLibrary, variables: Mapping[str, str], requires: str | None) -> str:
    help_text = f"{title}. Rules: {library.rules}. Unload the module to switch it off."
    lines = [
        "#%Module1.0",
        f"module-whatis {{{title}}}",
        f"proc ModulesHelp {{ }} {{ puts stderr {{{help_text}}} }}",
        f"conflict {_MODULE}",
        *([f"prereq {requires}"] if requires else []),
        f'prepend-path --delim " " LD_PRELOAD {library.library}',
        *(f"setenv {name} {value}" for name, value in variables.items()),
    ]
    return "\n".join([*lines, ""])
