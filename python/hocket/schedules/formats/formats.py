"""The formats of schedules: this list is their registry."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from types import MappingProxyType

from hocket._native import Error
from hocket.base import checks
from hocket.base.files import unreadable
from hocket.base.names import among
from hocket.definitions.machine import Machine
from hocket.schedules.formats import chakra, goal, goal_binary, json, msccl_xml
from hocket.schedules.formats.format import Format
from hocket.schedules.schedule import Schedule

__all__ = ["FORMATS", "format_for", "format_of", "load", "save"]

_MODULES = (json, goal_binary, msccl_xml, chakra, goal)

FORMATS: Mapping[str, Format] = MappingProxyType({module.FORMAT.name: module.FORMAT for module in _MODULES})
"""The formats by name; GOAL text last: a file is that if it is no other."""

_FIRST_BYTES = 1 << 16


def format_of(path: str | PathLike[str]) -> Format:
    """Return the format of a file, by what it begins with. A pipe, which can be read once, is taken for GOAL or JSON.

    Raises:
        Error: The file cannot be read.
    """
    file = checks.path("schedule", path)
    first = b""
    if os.path.isfile(file):
        try:
            with open(file, "rb") as stream:
                first = stream.read(_FIRST_BYTES)
        except OSError as error:
            raise unreadable(file, error) from error
    return next(format for format in FORMATS.values() if format.begins(first))


def format_for(path: str | PathLike[str], name: str | None = None) -> Format:
    """Return the format in which a file is to be written: by name, else by the end of the file's name, else GOAL.

    Raises:
        Error: There is no such format.
    """
    if name is None:
        ending = os.path.splitext(checks.path("schedule", path))[1]
        return next((format for format in FORMATS.values() if format.ending == ending), FORMATS["goal"])
    return FORMATS[among("format", name, FORMATS)]


def load(path: str | PathLike[str], *, size_bytes: int | str | None = None) -> Schedule:
    """Read a schedule of any format, by what its file begins with.

    Args:
        path: The file; of Chakra's, which are one for each rank, that of rank 0.
        size_bytes: In MSCCL XML, which leaves it open, the larger of a GPU's input and output, such as "64KiB"; else
            None.

    Raises:
        Error: The file cannot be read or is malformed: file, line or element, and what was expected.
    """
    format = format_of(path)
    if size_bytes is not None and not format.is_sized:
        raise Error(f"{os.fspath(path)}: a schedule in {format.name} has its own sizes, expected no size")
    return format.read(os.fspath(path), None if size_bytes is None else checks.size_bytes("size_bytes", size_bytes))


def save(
    schedule: Schedule, path: str | PathLike[str], *, format: str | None = None, machine: Machine | None = None
) -> tuple[str, ...]:
    """Write a schedule, and return the names of the files that were written: of Chakra's there is one for each rank.

    Args:
        schedule: The schedule.
        path: The file; of Chakra's, what their names begin with, with or without the ending.
        format: One of `FORMATS`; by default the one that the name of the file ends in, or GOAL.
        machine: In GOAL and Chakra, whose times reductions and copies take; without a machine they cost no time.

    Raises:
        Error: The file cannot be written, or the format cannot tell what the schedule does.
    """
    checks.instance("schedule", schedule, Schedule, "hocket.Schedule")
    return format_for(path, format).save(schedule, os.fspath(path), machine)
