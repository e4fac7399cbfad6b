"""Schedules in the formats of other tools: reading, writing, detection by content, checks of messages.

The list of formats here is their registry. docs/schedules.md describes the formats.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from os import PathLike
from types import MappingProxyType
from typing import get_args

from hocket import _native
from hocket._native import Error
from hocket.base import checks
from hocket.base.checks import among
from hocket.base.files import unreadable
from hocket.base.kinds import expecting
from hocket.definitions.machine import Machine
from hocket.definitions.verification import Finding, Verdict
from hocket.schedules.formats import chakra
from hocket.schedules.formats.format import GOAL, GOAL_BINARY, JSON, Format, size_for
from hocket.schedules.msccl import Msccl
from hocket.schedules.msccl_verification import verify_msccl
from hocket.schedules.msccl_writing import as_msccl
from hocket.schedules.mscclpp import Plan
from hocket.schedules.mscclpp_tasks import schedule_of
from hocket.schedules.mscclpp_writing import as_plan
from hocket.schedules.schedule import Schedule, Sends

MSCCL = Format(
    name="msccl",
    ending=".xml",
    is_text=True,
    begins=lambda first: first.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"),
    read=lambda file, size_bytes: Msccl.load(file).schedule(size_for(size_bytes, f"{file}: MSCCL XML")),
    as_bytes=lambda schedule, _: as_msccl(schedule).as_xml().encode(),
    is_sized=True,
    verify=lambda file: verify_msccl(Msccl.load(file)),
)

_GPUS = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{(?=[\s\S]*"gpus"\s*:)')


def _verify_plan(file: str) -> Verdict:
    from hocket.schedules.mscclpp_verification import verify_plan

    return verify_plan(Plan.load(file))


MSCCLPP = Format(
    name="mscclpp",
    ending=".plan",
    is_text=True,
    begins=lambda first: _GPUS.search(first) is not None,
    read=lambda file, size_bytes: schedule_of(Plan.load(file), size_for(size_bytes, f"{file}: a plan of MSCCL++")),
    as_bytes=lambda schedule, _: as_plan(schedule).encode(),
    is_sized=True,
    verify=_verify_plan,
)

_FORMATS = (MSCCLPP, JSON, GOAL_BINARY, MSCCL, chakra.FORMAT, GOAL)

FORMATS: Mapping[str, Format] = MappingProxyType({format.name: format for format in _FORMATS})
"""The formats by name. GOAL text is the last: a file that is no other format counts as GOAL text."""

_FIRST_BYTES = 1 << 16


def format_of(path: str | PathLike[str]) -> Format:
    """Return the format of a file, from its first bytes. A pipe can be read only once and counts as GOAL or JSON."""
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
    """Return the format for writing a file: the given name, else by the ending of the file's name, else GOAL."""
    if name is None:
        ending = os.path.splitext(checks.path("schedule", path))[1]
        return next((format for format in FORMATS.values() if format.ending == ending), FORMATS["goal"])
    return FORMATS[among("format", name, FORMATS)]


def verify_file(path: str | PathLike[str], *, sends: Sends = "waiting") -> Verdict:
    """Return whether the schedule of a file is right, as far as its format can tell; see `verify_schedule`.

    A format with a check of its own says which sends wait.
    """
    file, format = os.fspath(path), format_of(path)
    with expecting(path, "schedule", "a schedule"):
        return verify_schedule(format.read(file, None), sends=sends) if format.verify is None else format.verify(file)


def load(path: str | PathLike[str], *, size_bytes: int | str | None = None) -> Schedule:
    """Read a schedule in any format, detected from the file's first bytes.

    Args:
        path: The file; for Chakra, which has one file per rank, the file of rank 0.
        size_bytes: For MSCCL XML and plans of MSCCL++, which do not contain the size: the larger of a GPU's input and
            output, such as "64KiB". None for other formats.

    Raises:
        Error: The file cannot be read or is malformed: file, line or element, and what was expected.
    """
    format = format_of(path)
    if size_bytes is not None and not format.is_sized:
        raise Error(f"{os.fspath(path)}: a schedule in {format.name} contains its sizes, expected no size_bytes")
    with expecting(path, "schedule", "a schedule"):
        return format.read(os.fspath(path), None if size_bytes is None else checks.size_bytes("size_bytes", size_bytes))


def save(
    schedule: Schedule, path: str | PathLike[str], *, format: str | None = None, machine: Machine | None = None
) -> tuple[str, ...]:
    """Write a schedule, and return the names of the written files; Chakra has one for each rank.

    Args:
        schedule: The schedule.
        path: The file; for Chakra, the common prefix of the files, with or without the ending.
        format: One of `FORMATS`; by default the ending of the file's name tells it, else GOAL.
        machine: The machine that gives the times of reductions and copies in GOAL and Chakra; without it they take no
            time.

    Raises:
        Error: The file cannot be written, or the format cannot express the schedule.
    """
    checks.instance("schedule", schedule, Schedule, "hocket.Schedule")
    return format_for(path, format).write(schedule, os.fspath(path), machine)


def verify_schedule(schedule: Schedule, *, sends: Sends = "waiting") -> Verdict:
    """Check the messages of a schedule, with eager and with rendezvous sends.

    All messages have to be received, every receive needs room for its message, and every rank has to reach its end.
    Receives from any source take messages in all orders, or in a sample of many orders.

    A schedule does not say what its result should be; `verify` checks the algorithm that it was recorded from.

    Args:
        schedule: The schedule.
        sends: Whether sends may wait for their receives; "buffered" checks eager sends only.

    Raises:
        Error: The argument is not a schedule.
    """
    checks.instance("schedule", schedule, Schedule, "hocket.Schedule")
    sends_wait = among("sends", sends, get_args(Sends)) == "waiting"
    return Verdict((Finding(**_native.verify_schedule(schedule.name, schedule.content, sends_wait)),))
