"""A static schedule as data: recorded from a program, or read from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from hocket import _native, checks
from hocket.call import Call
from hocket.files import read_text
from hocket.library import Algorithm, as_algorithm
from hocket.machine import Machine
from hocket.requests import call_request, hand

__all__ = ["Schedule", "record"]

_MOST_BYTES = 1 << 32
"""How much of a file is read: some 30 million operations."""


@dataclass(frozen=True)
class Schedule:
    """What every rank does, as data.

    Attributes:
        name: What it was recorded from, or its file.
        content: The tasks of every rank, which stay in the compiled module; see `data`.
    """

    name: str
    content: _native.Schedule = field(repr=False)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Schedule:
        """Read a schedule from a file: JSON when its name ends in .json, else GOAL text.

        Raises:
            Error: The file cannot be read, or is not a schedule: file and line.
        """
        file = checks.path("schedule", path)
        read = _native.Schedule.from_json if Path(file).suffix == ".json" else _native.Schedule.from_goal
        return cls(Path(file).name, read(read_text(file, most_bytes=_MOST_BYTES), file))

    @classmethod
    def of(cls, name: str, data: Mapping[str, Any]) -> Schedule:
        """Make a schedule of its content, in the words of `data`.

        Raises:
            Error: The content makes no sense: the task, and what was expected.
        """
        return cls(name, _native.Schedule.from_json(checks.json_text("schedule", data), checks.text("name", name)))

    @property
    def data(self) -> dict[str, Any]:
        """The content as plain data, as the JSON form has it."""
        return dict(json.loads(self.content.as_json()))

    def as_json(self) -> str:
        """Return the schedule as JSON text."""
        return self.content.as_json() + "\n"

    def as_goal(self, *, machine: Machine | None = None) -> str:
        """Return the schedule as GOAL text; without a machine, reductions and copies cost no time.

        Raises:
            Error: A task takes longer than GOAL can say: 2^53 ns.
        """
        known = None if machine is None else checks.instance("machine", machine, Machine, "hocket.Machine")
        node = None if known is None else json.dumps(known.as_request())
        return self.content.as_goal(node)


def record(algorithm: Algorithm | str, call: Call) -> Schedule:
    """Record what every rank does in a call.

    Raises:
        Error: An unknown algorithm, a call that it refuses, or a program whose shape depends on timing.
    """
    algorithm = as_algorithm(algorithm)
    return Schedule(algorithm.label, hand(_native.record, {"call": call_request(algorithm, call)}, algorithm))
