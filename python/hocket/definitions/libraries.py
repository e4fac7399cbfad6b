"""Libraries whose decisions are known: what they run where no tuning file says anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from hocket import _native
from hocket._native import Error
from hocket.base.checks import unknown

DEFAULTS = ("mpich-5.0", "openmpi-5.0", "openmpi-4.1", "ucc-1")
"""The libraries."""

BY_MACHINE = ("nccl-2",)
"""Libraries whose decisions depend on the machine: on its section [gpu]."""

BY_NODES = ("mpich-5.0", "openmpi-5.0", "openmpi-4.1")
"""Libraries of which another component takes the calls of ranks on several nodes."""

MPI_DEFAULTS = ("mpich-5.0", "openmpi-5.0")
"""The MPI libraries among them."""

CLOSED_TABLES = ("intelmpi-2021",)
"""Libraries whose decisions are in tables that nothing describes."""

LIBRARY_RULES: Mapping[str, str] = MappingProxyType(dict(_native.rules_of_libraries()))
"""What MPI libraries choose over a network, as rules, by names such as "mpich-5.0"; each text tells its source."""


def library_named(text: str, libraries: Iterable[str] = DEFAULTS) -> str | None:
    """Return the library of a name, with or without its version; none if it is not one of these."""
    return next((each for each in libraries if text in (each, each.split("-")[0])), None)


def defaults_named(text: str) -> tuple[str, ...]:
    """Return the libraries of a list such as "mpich,nccl-2", which needs no versions; refuse unknown decisions."""
    libraries, names = (*DEFAULTS, *BY_MACHINE), dict[str, None]()
    for part in text.split(","):
        if (name := library_named(part, libraries)) is None:
            raise no_defaults(part, libraries)
        names[name] = None
    return tuple(names)


def no_defaults(text: str, libraries: Iterable[str]) -> Error:
    """Return the error for a library whose decisions are not known, unlike those of some libraries."""
    if library_named(text, CLOSED_TABLES) is not None:
        return Error(f"{text}: its defaults are not known, as their tables are closed; hocket mpi bench measures them")
    return unknown("defaults", text, libraries)
