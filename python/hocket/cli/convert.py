"""`hocket convert`: a schedule in another format."""

from __future__ import annotations

from dataclasses import replace

import click

from hocket.base.units import format_count
from hocket.cli import options
from hocket.cli.printing import say
from hocket.cli.schedules import calc_machine_option, format_option, hand_out, read_schedule
from hocket.definitions.machine import Machine
from hocket.schedules.formats import format_for
from hocket.schedules.msccl import COLLECTIVES


@click.command()
@click.argument("source", type=click.Path())
@click.argument("target", type=options.FILE)
@format_option
@options.schedule_size
@click.option(
    "--collective", type=options.OneOf(COLLECTIVES), help="The collective of SOURCE, if the file does not name it."
)
@calc_machine_option
def convert(
    source: str, target: str, form: str | None, size: int | None, collective: str | None, machine: Machine | None
) -> None:
    """Convert the schedule in the file SOURCE to another format and write it to TARGET; - is stdout.

    Hocket detects the format of SOURCE from its content. MSCCL XML and plans of MSCCL++ do not contain the size:
    reading them needs --size, the larger of a GPU's input and output. Writing them needs --collective if SOURCE does
    not name the collective.
    """
    schedule = read_schedule(("schedule", source), size)
    if collective is not None:
        schedule = replace(schedule, collective=collective)
    if text := hand_out(schedule, format_for(target, form), target, machine):
        say(f"{source}, {format_count(schedule.content.ranks, 'rank')}: {text}")
