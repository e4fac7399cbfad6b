"""The division of a schedule's data into chunks, as in the formats of GPUs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from hocket._native import Error
from hocket.schedules.schedule import Schedule

_MOST_CHUNKS = 1 << 15  # the readers of MSCCL XML keep offsets in 16 bits
_SPANS = ("data", "into", "source", "target")

_Task = Mapping[str, Any]


def refusal(schedule: Schedule, form: str, why: str) -> Error:
    """Return the error that a schedule cannot be written in a form."""
    return Error(f"{schedule.name} cannot be written as {form}: {why}")


class Chunks:
    """The division of spans into chunks.

    Attributes:
        elements: The number of elements of a chunk.
        count: The number of chunks of the larger of a rank's input and result.
        in_place: Whether input and result are the same memory.
    """

    def __init__(
        self,
        schedule: Schedule,
        ranks: Sequence[Sequence[_Task]],
        form: str,
    ) -> None:
        spans = [span for task in chain(*ranks) for span in spans_of(task) if span["len"]]
        read, result_end = (end_of(chain(*ranks), buffer) for buffer in ("input", "result"))
        self.in_place = read == 0
        larger = max(read, result_end)
        if larger == 0:
            raise refusal(
                schedule, form, "it does not say which data its messages carry, expected spans of input and result"
            )
        if self.in_place and schedule.collective not in ("allreduce", "allgather"):
            raise refusal(
                schedule,
                form,
                f"got {schedule.collective} in place, which MSCCL lays out differently, expected a call out of place",
            )
        parts = 1 if schedule.collective == "allreduce" else len(ranks)
        if larger % parts:
            raise refusal(schedule, form, f"got {larger} elements, expected blocks of the same size for {parts} ranks")
        block = larger // parts
        if {"allgather": read, "reduce_scatter": result_end}.get(schedule.collective or "", 0) > block:
            why = (
                f"it uses {read} elements of input and {result_end} of result, which does not fit {schedule.collective}"
            )
            raise refusal(schedule, form, why)
        self.elements = math.gcd(block, *(number for s in spans for number in (s["offset"], s["len"])))
        self.count = larger // self.elements
        if self.count > _MOST_CHUNKS:
            raise refusal(schedule, form, f"its spans fit only {self.count} chunks, expected at most {_MOST_CHUNKS}")


def end_of(tasks: Iterable[_Task], buffer: str) -> int:
    """Return the end of the part of a buffer that tasks use, in elements."""
    spans = (span for task in tasks for span in spans_of(task) if span["buffer"] == buffer)
    return max((span["offset"] + span["len"] for span in spans if span["len"]), default=0)


def spans_of(task: _Task) -> Iterator[Mapping[str, Any]]:
    """Give the spans of a task."""
    (action,) = task["action"].values()
    yield from (action[key] for key in _SPANS if key in action)


def is_idle(task: _Task) -> bool:
    """Return whether a task does nothing: it has no message and no data."""
    ((kind, action),) = task["action"].items()
    return not action["time_s"] if kind == "compute" else "source" in action and not action["source"]["len"]
