"""The division of a schedule's data into chunks, as in the formats of GPUs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from hocket._native import Error
from hocket.base import checks
from hocket.schedules.msccl import COLLECTIVES
from hocket.schedules.schedule import Schedule

_MOST_CHUNKS = 1 << 15  # the readers of MSCCL XML keep offsets in 16 bits
_SPANS = ("data", "into", "source", "target")

Task = Mapping[str, Any]


class Chunks:
    """The division of a schedule into chunks, for a file of a format of GPUs."""

    def __init__(self, schedule: Schedule, form: str, *, most_ranks: float = math.inf) -> None:
        self._form = form
        self._name = checks.instance("schedule", schedule, Schedule, "hocket.Schedule").name
        if schedule.collective is None or schedule.collective not in COLLECTIVES:
            got = schedule.collective or "an unknown collective"
            raise self.refusal(f"got a schedule of {got}, expected {', '.join(COLLECTIVES)}")
        self.collective, self.ranks = schedule.collective, schedule.data["ranks"]
        if len(self.ranks) > most_ranks:
            raise self.refusal(f"got {len(self.ranks)} ranks, expected at most {most_ranks}")
        spans = [span for task in chain(*self.ranks) for span in spans_of(task) if span["len"]]
        read, result_end = (_end_of(chain(*self.ranks), buffer) for buffer in ("input", "result"))
        self.in_place = read == 0  # whether input and result are the same memory
        larger = max(read, result_end)
        if larger == 0:
            raise self.refusal("it does not say which data its messages carry, expected spans of input and result")
        if self.in_place and self.collective not in ("allreduce", "allgather"):
            layout = "which MSCCL lays out differently, expected a call out of place"
            raise self.refusal(f"got {self.collective} in place, {layout}")
        parts = 1 if self.collective == "allreduce" else len(self.ranks)
        if larger % parts:
            raise self.refusal(f"got {larger} elements, expected blocks of the same size for {parts} ranks")
        block = larger // parts
        if {"allgather": read, "reduce_scatter": result_end}.get(self.collective, 0) > block:
            extent = f"{read} elements of input and {result_end} of result"
            raise self.refusal(f"it uses {extent}, which does not fit {self.collective}")
        # The elements of a chunk.
        self.elements = math.gcd(block, *(number for s in spans for number in (s["offset"], s["len"])))
        self.count = larger // self.elements  # the chunks of the larger of a rank's input and result
        if self.count > _MOST_CHUNKS:
            raise self.refusal(f"its spans fit only {self.count} chunks, expected at most {_MOST_CHUNKS}")

    def scratch(self, rank: int) -> int:
        """Return the number of chunks of a rank's scratch memory."""
        return -(-_end_of(self.ranks[rank], "scratch") // self.elements)

    def check_task(self, rank: int, task: Task) -> None:
        """Refuse a task that a thread block cannot do."""
        ((kind, action),) = task["action"].items()
        if kind == "compute":
            raise self.refusal(f"rank {rank} computes, expected messages, copies and reductions only")
        if kind == "recv" and action["from"] is None:
            raise self.refusal(f"rank {rank} receives from any rank, expected receives from a given rank")
        if not all(span["len"] for span in spans_of(task)):
            raise self.refusal(f"rank {rank} has a {kind} without data, expected at least a chunk")

    def check_limits(self, rank: int, limits: Sequence[tuple[int, str, int]]) -> None:
        """Refuse a schedule of which a GPU needs too much: how much, of what, and how much there may be."""
        for count, what, most in limits:
            if count > most:
                raise self.refusal(f"gpu {rank} has {count} {what}, expected at most {most}")

    def refusal(self, why: str) -> Error:
        """Return the error that the schedule cannot be written."""
        return Error(f"{self._name} cannot be written as {self._form}: {why}")


def _end_of(tasks: Iterable[Task], buffer: str) -> int:
    """Return the end of the part of a buffer that tasks use, in elements."""
    spans = (span for task in tasks for span in spans_of(task) if span["buffer"] == buffer)
    return max((span["offset"] + span["len"] for span in spans if span["len"]), default=0)


def spans_of(task: Task) -> Iterator[Mapping[str, Any]]:
    """Give the spans of a task."""
    (action,) = task["action"].values()
    yield from (action[key] for key in _SPANS if key in action)


def is_idle(task: Task) -> bool:
    """Return whether a task does nothing: it has no message and no data."""
    ((kind, action),) = task["action"].items()
    return not action["time_s"] if kind == "compute" else "source" in action and not action["source"]["len"]
