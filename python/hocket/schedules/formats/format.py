"""The interface of a schedule format; GOAL and Hocket's own format, which the compiled module streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hocket._native import Error
from hocket.base import files
from hocket.definitions.machine import Machine
from hocket.definitions.verification import Verdict
from hocket.schedules.schedule import Form, Schedule


@dataclass(frozen=True)
class Format:
    """A format of schedules."""

    name: str  # its name, as in `--format`
    ending: str  # the ending of its file names
    is_text: bool  # whether it is text, which may be printed to a terminal
    begins: Callable[[bytes], bool]  # returns whether the first bytes of a file belong to this format
    # Reads a file, given its name and, if `is_sized`, the bytes of a rank's larger buffer.
    read: Callable[[str, int | None], Schedule]
    # Returns the content of the file; None if a schedule has several files.
    as_bytes: Callable[[Schedule, Machine | None], bytes] | None
    # Writes a schedule, and returns the names of the written files; by default one with its content.
    save: Callable[[Schedule, str, Machine | None], tuple[str, ...]] | None = None
    is_sized: bool = False  # whether its files do not contain the size of the call
    lacks: str = ""  # why only the messages of a file can be checked; empty if `verify` checks everything
    verify: Callable[[str], Verdict] | None = None  # checks a file

    def write(self, schedule: Schedule, file: str, machine: Machine | None) -> tuple[str, ...]:
        """Write a schedule, and return the names of the written files."""
        if self.save is not None:
            return self.save(schedule, file, machine)
        assert self.as_bytes is not None  # a format of several files saves them
        files.write(file, self.as_bytes(schedule, machine))
        return (file,)


def size_for(size_bytes: int | None, what: str) -> int:
    """Return the size for files that contain none, or refuse `what` without it."""
    if size_bytes is None:
        raise Error(f"{what} contains no size, expected --size, the bytes of a GPU's larger buffer")
    return size_bytes


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
