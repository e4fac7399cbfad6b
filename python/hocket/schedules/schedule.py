"""Static schedules as data: recorded from a program, or read from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from hocket import _native
from hocket.base import checks, files
from hocket.base.call import Call
from hocket.base.checks import among
from hocket.base.error import printable
from hocket.base.packages import alt
from hocket.base.results import Result, draw
from hocket.base.units import format_count
from hocket.definitions.calls import guard, prepare
from hocket.definitions.library import Algorithm, as_algorithm
from hocket.definitions.machine import Machine

Form = Literal["goal", "goal_binary", "json"]
"""The form of a schedule's file: GOAL text, GOAL's binary form, or Hocket's own form."""

Sends = Literal["waiting", "buffered"]
"""Whether a send may wait for its receive, as in MPI, or never waits, as in the tools that wrote some files."""

_MOST_JSON_BYTES = 1 << 32


@dataclass(frozen=True)
class Schedule(Result):
    """The tasks of every rank, as data.

    Attributes:
        name: The algorithm that it was recorded from, or its file.
        content: The tasks of every rank, in memory of the compiled module; see `data`.
        collective: The collective that it implements, if known; most files do not name it.
    """

    name: str
    content: _native.Schedule = field(repr=False)
    collective: str | None = field(default=None, compare=False)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Schedule:
        """Read a schedule from a file: as JSON if its name ends in .json, else as GOAL, text or binary.

        Raises:
            Error: The file cannot be read, or is not a schedule: file and line.
        """
        file = checks.path("schedule", path)
        try:
            return cls(printable(Path(file).name), _native.Schedule.load(file))
        except OSError as error:
            raise files.unreadable(file, error) from error

    @classmethod
    def load_json(cls, path: str | PathLike[str]) -> Schedule:
        """Read a schedule from a file of JSON, whatever its name.

        Raises:
            Error: The file cannot be read, or is not a schedule: file and line.
        """
        file = checks.path("schedule", path)
        text = files.read_text(file, most_bytes=_MOST_JSON_BYTES)
        return cls(printable(Path(file).name), _native.Schedule.from_json(text, file))

    @classmethod
    def of(cls, name: str, data: Mapping[str, Any], *, collective: str | None = None) -> Schedule:
        """Make a schedule from its content, in the form of `data`.

        Raises:
            Error: The content is invalid; the message names the task and what was expected.
        """
        content = _native.Schedule.from_json(checks.json_text("schedule", data), checks.text("name", name))
        return cls(name, content, collective)

    @property
    def title(self) -> str:
        """The algorithm or file, and the number of ranks."""
        return f"{self.name}, {format_count(self.content.ranks, 'rank')}"

    @property
    def data(self) -> dict[str, Any]:
        """The content as plain data, as in the JSON form."""
        self.content.check_data()
        return dict(json.loads(self.as_json()))

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each task: its rank, its number there, its action, and the tasks it waits for."""
        data = self.data
        return [
            _record(rank, number, task, data["element_bytes"])
            for rank, tasks in enumerate(data["ranks"])
            for number, task in enumerate(tasks)
        ]

    def plot(self, *, machine: Machine | str | PathLike[str] = "cluster") -> alt.LayerChart:
        """Return a chart of ranks over time, from running the schedule on a machine: tasks as bars, messages as lines.

        `hocket.dependency_graph` draws the dependencies between tasks.

        Raises:
            Error: The machine is unknown, there is a deadlock, or there is nothing or too much to draw.
        """
        chart: alt.LayerChart = draw(self, machine=machine)
        return chart

    def as_json(self) -> str:
        """Return the schedule as JSON text."""
        return self.as_bytes("json").decode()

    def as_goal(self, *, machine: Machine | None = None) -> str:
        """Return the schedule as GOAL text; without a machine, reductions and copies cost no time.

        Raises:
            Error: A task takes longer than GOAL can say: 2^53 ns.
        """
        return self.as_bytes("goal", machine=machine).decode()

    def as_bytes(self, format: Form, *, machine: Machine | None = None) -> bytes:
        """Return the content of a file that `save` would write.

        Raises:
            Error: A task takes longer than GOAL can say: 2^53 ns.
        """
        return self.content.as_bytes(*_form(format, machine))

    def save(self, path: str | PathLike[str], *, format: Form | None = None, machine: Machine | None = None) -> None:
        """Write the schedule to a file, rank by rank; even a long schedule needs no additional memory.

        Args:
            path: The file. A reader sees the old content or the new, never a part.
            format: The form of the file. By default the ending of its name tells it: JSON for .json, GOAL's binary form
                for .bin, and GOAL text for all others.
            machine: For GOAL, the machine that gives the times of reductions and copies; without it they take no time.

        Raises:
            Error: The file cannot be written, or a task takes longer than GOAL can say: 2^53 ns.
        """
        file = checks.path("schedule", path)
        by_name: dict[str, Form] = {".json": "json", ".bin": "goal_binary"}
        form = by_name.get(Path(file).suffix, "goal") if format is None else format
        of_machine = _form(form, machine)
        files.write_by(file, lambda place: self.content.save(*of_machine, place))


def _record(rank: int, number: int, task: Mapping[str, Any], element_bytes: int) -> dict[str, Any]:
    action, keys = next(iter(task["action"].items()))
    return {
        "rank": rank,
        "task": number,
        "action": action,
        **{key: keys.get(key) for key in ("to", "from", "tag")},
        "bytes": length_bytes(keys, element_bytes),
        "time_s": keys.get("time_s"),
        "after": task.get("after", []),
        "after_start": task.get("after_start", []),
    }


def length_bytes(keys: Mapping[str, Any], element_bytes: int) -> int | None:
    """Return the length of an action's data in bytes, given its keys; None if it has no data."""
    span = keys.get("data") or keys.get("into") or keys.get("source")
    return span["len"] * element_bytes if span else None


def _form(form: Form, machine: Machine | None) -> tuple[_native.Machine | None, str]:
    handle = None if machine is None else checks.instance("machine", machine, Machine, "hocket.Machine").handle
    return handle, among("format", form, get_args(Form))


def record(algorithm: Algorithm | str, call: Call, *, machine: Machine | str | PathLike[str] | None = None) -> Schedule:
    """Record what every rank does in a call.

    Args:
        algorithm: An algorithm, or its label such as "allreduce/ring".
        call: The call.
        machine: The machine that completes the call: automatic values, the sizes of its torus, and which ranks share a
            node.

    Raises:
        Error: The algorithm is unknown, it refuses the call on the machine, or its program's shape depends on timing.
    """
    algorithm = as_algorithm(algorithm)
    loaded_machine = Machine.load(machine) if isinstance(machine, str | PathLike) else machine
    request = prepare(algorithm, call, loaded_machine)
    content = guard(algorithm, lambda: _native.record(request))
    return Schedule(algorithm.label, content, algorithm.collective)
