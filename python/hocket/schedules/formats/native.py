"""GOAL and Hocket's own format, which the compiled module reads and writes as streams."""

from __future__ import annotations

from collections.abc import Callable

from hocket.definitions.machine import Machine
from hocket.schedules.formats.format import Format
from hocket.schedules.schedule import Form, Schedule

_MAGIC = (4223).to_bytes(8, "little")


def _native(
    form: Form,
    ending: str,
    begins: Callable[[bytes], bool],
    lacks: str,
    load: Callable[[str], Schedule] = Schedule.load,
) -> Format:
    """Return one of the formats of the compiled module."""

    def save(schedule: Schedule, file: str, machine: Machine | None) -> tuple[str, ...]:
        schedule.save(file, format=form, machine=machine)
        return (file,)

    return Format(
        name=form,
        ending=ending,
        is_text=form != "goal_binary",
        begins=begins,
        read=lambda file, _: load(file),
        save=save,
        as_bytes=lambda schedule, machine: schedule.as_bytes(form, machine=machine),
        lacks=lacks,
    )


GOAL = _native("goal", ".goal", lambda _: True, "GOAL has no data")
"""GOAL as text: the format of files that no other format recognises."""

GOAL_BINARY = _native("goal_binary", ".bin", lambda first: first.startswith(_MAGIC), "GOAL has no data")
"""GOAL in binary form."""

JSON = _native(
    "json",
    ".json",
    lambda first: first.lstrip().startswith(b"{"),
    "it names no collective, whose result could be checked",
    # If the name of a file tells the format, the compiled module reads it as a stream.
    lambda file: Schedule.load(file) if file.endswith(".json") else Schedule.load_json(file),
)
"""Hocket's own format, which keeps all tasks and their data."""
