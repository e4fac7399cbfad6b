"""`hocket convert`: a schedule in another format."""

from __future__ import annotations

from dataclasses import replace

from hocket.base.units import format_count
from hocket.cli.command import command
from hocket.cli.printing import say
from hocket.cli.schedules import ENDINGS, FORMAT, hand_out, read_schedule
from hocket.cli.values import OneOf
from hocket.definitions.machine import Machine
from hocket.schedules.formats import format_for
from hocket.schedules.msccl import COLLECTIVES


@command(fields=ENDINGS, form=FORMAT, collective=OneOf(COLLECTIVES))
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
