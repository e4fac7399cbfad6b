"""GOAL and Hocket's own format, which the compiled module reads and writes as streams."""

from __future__ import annotations

from collections.abc import Callable

from hocket.definitions.machine import Machine
from hocket.schedules.formats.format import Format
from hocket.schedules.schedule import Form, Schedule


def native(
    form: Form,
    *,
    ending: str,
    is_text: bool,
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
        is_text=is_text,
        begins=begins,
        read=lambda file, _: load(file),
        save=save,
        as_bytes=lambda schedule, machine: schedule.as_bytes(form, machine=machine),
        lacks=lacks,
    )
