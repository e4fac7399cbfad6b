"""A static schedule as data: recorded from a program, or read from a file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from hocket import _native, checks
from hocket.call import Call
from hocket.files import read_text
from hocket.library import Algorithm, as_algorithm
from hocket.machine import Machine
from hocket.requests import ask, call_request

__all__ = ["Schedule", "record"]

_MOST_BYTES = 1 << 32
"""How much of a file is read: some 30 million operations."""


@dataclass(frozen=True)
class Schedule:
    """What every rank does, as data.

    Attributes:
        name: What it was recorded from, or its file.
        data: Its content, in the compiled module's words.
    """

    name: str
    data: dict[str, Any] = field(repr=False)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Schedule:
        """Read a schedule from a file: JSON when its name ends in .json, else GOAL text.

        Raises:
            Error: The file cannot be read, or is not a schedule: file and line.
        """
        file = checks.path("schedule", path)
        read = _native.schedule_from_json if Path(file).suffix == ".json" else _native.schedule_from_goal
        return cls(Path(file).name, json.loads(read(read_text(file, most_bytes=_MOST_BYTES), file)))

    def as_json(self) -> str:
        """Return the schedule as JSON text."""
        return json.dumps(self.data) + "\n"

    def as_goal(self, *, machine: Machine | None = None) -> str:
        """Return the schedule as GOAL text; without a machine, reductions and copies cost no time.

        Raises:
            Error: A task takes longer than GOAL can say: 2^53 ns.
        """
        known = None if machine is None else checks.instance("machine", machine, Machine, "hocket.Machine")
        node = None if known is None else json.dumps(known.as_request())
        return _native.schedule_to_goal(checks.json_text("schedule", self.data), node)


def record(algorithm: Algorithm | str, call: Call) -> Schedule:
    """Record what every rank does in a call.

    Raises:
        Error: An unknown algorithm, a call that it refuses, or a program whose shape depends on timing.
    """
    algorithm = as_algorithm(algorithm)
    answer = ask(_native.record, {"call": call_request(algorithm, call)}, algorithm)
    return Schedule(algorithm.label, answer)
