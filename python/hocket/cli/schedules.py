"""Common code of commands that read or write schedules."""

from __future__ import annotations

import click

from hocket.base import files
from hocket.cli.values import OneOf
from hocket.definitions.machine import Machine
from hocket.schedules.formats import FORMATS, format_of, load
from hocket.schedules.formats.format import Format
from hocket.schedules.schedule import Schedule

FORMAT = OneOf(list(FORMATS))
ENDINGS = {"endings": ", ".join(format.ending for format in FORMATS.values())}
"""For the help of --format."""


def read_schedule(names: tuple[str, ...], size_bytes: int | None) -> Schedule:
    """Return the schedule that the words `schedule FILE` name; refuse other words, and a size if the file has one."""
    if len(names) != 2:
        raise click.UsageError(f"got {len(names) - 1} files, expected schedule FILE")
    if size_bytes is not None and not format_of(names[1]).is_sized:
        raise click.UsageError("a schedule has its own ranks and sizes, expected neither --ranks nor --size")
    return load(names[1], size_bytes=size_bytes)


def hand_out(schedule: Schedule, format: Format, output: str | None, machine: Machine | None) -> str:
    """Write a schedule to a file or to stdout, and return the names of the files as text; empty for stdout."""
    if output is not None and not files.is_stdout(output):
        first, *more = format.write(schedule, output, machine)
        return f"{first} to {more[-1]}" if more else first
    content = as_bytes(schedule, format, machine)
    files.write(files.STDOUT, content)
    return ""


def as_bytes(schedule: Schedule, format: Format, machine: Machine | None) -> bytes:
    """Return the content of a schedule's only file; refuse a format of several files."""
    if format.as_bytes is None:
        raise click.UsageError(
            f"format {format.name} writes a file for each rank, expected the prefix of their names, not stdout"
        )
    return format.as_bytes(schedule, machine)
