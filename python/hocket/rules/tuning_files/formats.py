"""The formats of tuning files: this list is their registry."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatch
from os import PathLike, fspath
from pathlib import Path

from hocket._native import Error
from hocket.base import files
from hocket.base.checks import among, hint
from hocket.base.kinds import expecting
from hocket.definitions.libraries import CLOSED_TABLES, DEFAULTS, no_defaults
from hocket.rules.tuning_files import (
    hocket_rules,
    intelmpi_adjust,
    mpich_json,
    nccl_csv,
    ncclx,
    openmpi_classic,
    openmpi_han,
    openmpi_json,
    ucc_tune,
)
from hocket.rules.tuning_files.decisions import default_rules
from hocket.rules.tuning_files.form import Format, Rules

_MODULES = (
    hocket_rules,
    openmpi_classic,
    openmpi_han,
    openmpi_json,
    mpich_json,
    intelmpi_adjust,
    ucc_tune,
    nccl_csv,
    ncclx,
)

FORMATS: Mapping[str, Format] = {each.name: each for module in _MODULES for each in module.FORMATS}
"""The formats by name, each with the version of what reads it."""


def format_of(path: str | PathLike[str], name: str | None, option: str) -> Format:
    """Return the format of a name, or that a part of a file's name tells, as in `a.mpich-5.0.json`; refuse others.

    The name would be given as `option`.
    """
    if name is not None:
        return FORMATS[among(option, name, FORMATS)]
    file = Path(fspath(path)).name
    if names := [each for each in FORMATS if f".{each}." in f".{file}."]:
        return FORMATS[sorted(names, key=len)[-1]]
    formats = (each for each in FORMATS.values() if any(fnmatch(file, pattern) for pattern in each.names))
    if (format := next(formats, None)) is None:
        lacks = "the file name does not contain the format and version"
        raise Error(f"{fspath(path)}: {lacks}, {hint('', FORMATS)} as {option}")
    return format


def read(path: str | PathLike[str], name: str | None = None, *, option: str = "--from") -> Rules:
    """Return the rules of a file, or a library's decisions by its name, where there is no such file; refuse others."""
    library = fspath(path)
    if library in (*DEFAULTS, *CLOSED_TABLES) and not Path(path).exists():
        if library in CLOSED_TABLES:
            raise no_defaults(library, DEFAULTS)
        if name is None:
            return default_rules(library)
    with expecting(path, "rules", "a tuning file"):
        return format_of(path, name, option).read(files.read_text(path), fspath(path))


def write_rules(rules: Rules, format: Format) -> str:
    """Return the text of rules in a format; refuse words of another library, and what the format cannot tell."""
    if rules.library != format.library:
        raise Error(f"got rules of {rules.library}, expected rules of {format.library} for a file of {format.name}")
    return format.write(rules)
