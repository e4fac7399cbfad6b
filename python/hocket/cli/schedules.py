"""What commands share that read or write schedules."""

from __future__ import annotations

import click

from hocket.base import files
from hocket.cli.options import OneOf, Read
from hocket.definitions.machine import Machine
from hocket.schedules.formats import FORMATS, Format, format_of, load
from hocket.schedules.schedule import Schedule

__all__ = ["as_bytes", "calc_machine_option", "format_option", "hand_out", "read_schedule"]

format_option = click.option(
    "--format",
    "form",
    type=OneOf(list(FORMATS)),
    help="The format; by default the one that the name of the file ends in, "
    f"{', '.join(format.ending for format in FORMATS.values())}, or goal.",
)
calc_machine_option = click.option(
    "--machine",
    type=Read(Machine.load, name="MACHINE"),
    help="The times of its reductions and copies go into GOAL and Chakra; without a machine they are 0. A call that is "
    "recorded takes from the machine what it does not give itself, such as the sizes of the torus.",
)


def read_schedule(names: tuple[str, ...], size_bytes: int | None) -> Schedule:
    """Return the schedule that a command line names as schedule FILE.

    Raises:
        UsageError: It names no file or several, or gives a size where the file has one.
        Error: The file cannot be read.
    """
    if len(names) != 2:
        raise click.UsageError(f"got {len(names) - 1} files, expected schedule FILE")
    if size_bytes is not None and not format_of(names[1]).is_sized:
        raise click.UsageError("a schedule has its own ranks and sizes, expected neither --ranks nor --size")
    return load(names[1], size_bytes=size_bytes)


def hand_out(schedule: Schedule, format: Format, output: str | None, machine: Machine | None) -> str:
    """Write a schedule to a file or to stdout, and return what names the files; nothing names stdout.

    Raises:
        UsageError: It is several files, which cannot go to stdout.
        Error: It cannot be written.
    """
    if output is not None and not files.is_stdout(output):
        first, *more = format.save(schedule, output, machine)
        return f"{first} to {more[-1]}" if more else first
    content = as_bytes(schedule, format, machine)
    click.echo(content.decode() if format.is_text else content, nl=False)
    return ""


def as_bytes(schedule: Schedule, format: Format, machine: Machine | None) -> bytes:
    """Return the content of the one file of a schedule.

    Raises:
        UsageError: It is several files.
        Error: It cannot be written.
    """
    if format.as_bytes is None:
        raise click.UsageError(
            f"a schedule in {format.name} is a file for each rank, expected what their names begin with"
        )
    return format.as_bytes(schedule, machine)
