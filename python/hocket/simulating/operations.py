"""The operations of ranks, and the critical path: the chain of operations and messages that determines the time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

PARTS = ("latency", "bandwidth", "overhead", "computation", "waiting", "fault", "noise")
"""The parts of the time on a critical path."""


@dataclass(frozen=True)
class Event:
    """One operation of one rank."""

    rank: int
    kind: str  # "send", "recv", "reduce", "copy", "compute", "connect" or "disconnect"
    peer: int  # the other rank of a message or circuit; otherwise the rank itself
    tag: int
    bytes: float  # moved or combined
    start_s: float  # when the verb was reached
    end_s: float


@dataclass(frozen=True)
class Step:
    """A step of a critical path, from the moment when all its inputs are there to the end of an operation.

    Attributes:
        event: The operation whose end is the end of the step.
        from_rank: The rank where it starts: for a message whose other end came later, the other end's rank; else the
            same rank.
        start_s: Start of the step, which is the end of the previous step.
        parts_s: The parts of its time, by the names of `PARTS`; they add up to its length.
    """

    event: Event
    from_rank: int
    start_s: float
    parts_s: Mapping[str, float]

    @property
    def end_s(self) -> float:
        """End of the step."""
        return self.event.end_s


def total(steps: Iterable[Step]) -> dict[str, float]:
    """Return the parts of a path in seconds, added up over its steps."""
    parts_of_steps = [step.parts_s for step in steps]
    return {part: math.fsum(parts_s.get(part, 0.0) for parts_s in parts_of_steps) for part in PARTS}
