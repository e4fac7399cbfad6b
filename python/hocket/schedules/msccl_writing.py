"""Schedules as MSCCL XML: spans become chunks, and tasks become steps of thread blocks.

A GPU has a thread block for each direction of a connection. A copy or reduction goes to the block of the last task that
it waits for. The limits are in microsoft/msccl, src/include/msccl.h, and src/graph/topo.cc checks them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from hocket._native import Error
from hocket.base import checks
from hocket.schedules.dependencies import ends_awaited
from hocket.schedules.msccl import BUFFERS, COLLECTIVES, Block, Msccl, Place, Step
from hocket.schedules.schedule import Schedule

__all__ = ["as_msccl"]

_MOST_COUNT = 71  # chunks of a step
_MOST_STEPS = 256  # steps of a thread block
_MOST_BLOCKS = 216  # thread blocks of a GPU
_MOST_CHANNELS = 32
_MOST_PEERS = 32  # peers to which a GPU sends on one channel, or from which it receives
_MOST_CHUNKS = 1 << 16

_LETTERS = {name: letter for letter, name in BUFFERS.items()}
_KINDS = {"send": "s", "recv": "r", "copy": "cpy", "combine": "re"}
_SPANS = ("data", "into", "source", "target")
_NOWHERE = Place("i", -1)

_Task = Mapping[str, Any]
_At = tuple[int, int]
"""A thread block and a step of it."""


def as_msccl(schedule: Schedule) -> Msccl:
    """Return a schedule in the form of MSCCL XML.

    Chunks are as large as the spans of the schedule allow. The order of operands is lost; it matters only for operators
    that do not commute.

    Raises:
        Error: The schedule does not name its collective or its spans, or MSCCL cannot express it; the message says what
            was expected.
    """
    checks.instance("schedule", schedule, Schedule, "hocket.Schedule")
    if schedule.collective is None or schedule.collective not in COLLECTIVES:
        got = schedule.collective or "an unknown collective"
        raise _refused(schedule, f"got a schedule of {got}, expected {', '.join(COLLECTIVES)}")
    data = schedule.data
    chunks = _Chunks(schedule, data["ranks"])
    channels = _channels(schedule, data["ranks"])
    gpus = [_Gpu(schedule, rank, tasks, chunks.elements, channels) for rank, tasks in enumerate(data["ranks"])]
    return Msccl(
        name=schedule.name,
        collective=schedule.collective,
        chunks=chunks.count,
        in_place=chunks.in_place,
        gpus=tuple(gpu.blocks() for gpu in gpus),
        scratch=tuple(-(-_end(tasks, "scratch") // chunks.elements) for tasks in data["ranks"]),
    )


def _refused(schedule: Schedule, why: str) -> Error:
    return Error(f"{schedule.name} cannot be written as MSCCL XML: {why}")


class _Chunks:
    """The division of spans into chunks."""

    def __init__(self, schedule: Schedule, ranks: Sequence[Sequence[_Task]]) -> None:
        spans = [span for task in chain(*ranks) for span in _spans(task) if span["len"]]
        read, written = (_end(chain(*ranks), buffer) for buffer in ("input", "result"))
        self.in_place = read == 0
        larger = max(read, written)
        if larger == 0:
            raise _refused(
                schedule, "it does not say which data its messages carry, expected parts of input and result"
            )
        if self.in_place and schedule.collective not in ("allreduce", "allgather"):
            raise _refused(schedule, f"got {schedule.collective} in place, which is laid out in another way there")
        parts = 1 if schedule.collective == "allreduce" else len(ranks)
        if larger % parts:
            raise _refused(schedule, f"got {larger} elements, expected blocks of the same size for {parts} ranks")
        block = larger // parts
        if {"allgather": read, "reduce_scatter": written}.get(schedule.collective or "", 0) > block:
            why = f"it uses {read} elements of input and {written} of result, which is no {schedule.collective}"
            raise _refused(schedule, why)
        self.elements = math.gcd(block, *(number for s in spans for number in (s["offset"], s["len"])))
        self.count = larger // self.elements
        if self.count > _MOST_CHUNKS:
            raise _refused(schedule, f"its spans fit only {self.count} chunks, expected at most {_MOST_CHUNKS}")


def _end(tasks: Iterable[_Task], buffer: str) -> int:
    """Return the end of the part of a buffer that tasks use, in elements."""
    spans = (span for task in tasks for span in _spans(task) if span["buffer"] == buffer)
    return max((span["offset"] + span["len"] for span in spans if span["len"]), default=0)


def _spans(task: _Task) -> Iterator[Mapping[str, Any]]:
    (action,) = task["action"].values()
    yield from (action[key] for key in _SPANS if key in action)


def _is_idle(task: _Task) -> bool:
    """Return whether a task does nothing: it has no message and no data."""
    ((kind, action),) = task["action"].items()
    return not action["time_s"] if kind == "compute" else "source" in action and not action["source"]["len"]


def _channels(schedule: Schedule, ranks: Sequence[Sequence[_Task]]) -> dict[int, int]:
    """Return the channel for each tag."""
    actions = (action for task in chain(*ranks) for action in task["action"].values())
    tags = sorted({action["tag"] for action in actions if "tag" in action})
    if len(tags) > _MOST_CHANNELS:
        raise _refused(schedule, f"got messages of {len(tags)} tags, expected at most {_MOST_CHANNELS} channels")
    return {tag: channel for channel, tag in enumerate(tags)}


@dataclass
class _Draft:
    """A thread block, and for each other block the last step for which it has waited."""

    number: int
    send: int
    recv: int
    channel: int
    steps: list[Step] = field(default_factory=list)
    seen: dict[int, int] = field(default_factory=dict)


class _Gpu:
    """The thread blocks of a GPU."""

    def __init__(
        self, schedule: Schedule, rank: int, tasks: Sequence[_Task], chunk: int, channels: Mapping[int, int]
    ) -> None:
        self._schedule, self._rank, self._chunk, self._channels = schedule, rank, chunk, channels
        self._drafts: dict[tuple[int, int, int], _Draft] = {}
        self._awaited: set[_At] = set()
        ends: dict[int, _At] = {}
        idle = {number for number, task in enumerate(tasks) if _is_idle(task)}
        waits = ends_awaited(tasks, passed=idle)
        for number, task in enumerate(tasks):
            if number not in idle:
                ((kind, action),) = task["action"].items()
                ends[number] = self._add(kind, action, [ends[earlier] for earlier in sorted(waits[number])])
        self._check()

    def blocks(self) -> dict[int, Block]:
        """Return the thread blocks by number."""
        return {
            draft.number: Block(
                draft.send,
                draft.recv,
                draft.channel,
                steps=[
                    replace(step, has_waiters=(draft.number, at) in self._awaited)
                    for at, step in enumerate(draft.steps)
                ],
            )
            for draft in self._drafts.values()
        }

    def _add(self, kind: str, action: Mapping[str, Any], waits: Sequence[_At]) -> _At:
        """Append the steps of a task, and return the last step."""
        if kind == "compute":
            raise _refused(self._schedule, f"rank {self._rank} computes, expected messages, copies and reductions only")
        draft = self._home(kind, action, waits)
        spans = [action[key] for key in _SPANS if key in action]
        count = spans[0]["len"] // self._chunk
        if not count:
            raise _refused(self._schedule, f"rank {self._rank} has a {kind} without data, expected at least a chunk")
        if kind in ("send", "recv") and count > _MOST_COUNT:
            why = f"its spans fit only chunks of which a message has {count}, expected at most {_MOST_COUNT}"
            raise _refused(self._schedule, why)
        after = self._after(draft, waits)
        source, target = (Place(_LETTERS[s["buffer"]], s["offset"] // self._chunk) for s in (spans[0], spans[-1]))
        for first in range(0, count, _MOST_COUNT):
            part = min(_MOST_COUNT, count - first)
            whence, whither = (replace(place, offset=place.offset + first) for place in (source, target))
            draft.steps.append(Step(_KINDS[kind], whence, whither, part, after, has_waiters=False))
            after = None
        return draft.number, len(draft.steps) - 1

    def _home(self, kind: str, action: Mapping[str, Any], waits: Sequence[_At]) -> _Draft:
        """Return the thread block of a task."""
        if kind not in ("send", "recv"):
            known = list(self._drafts.values())
            return known[waits[-1][0]] if waits else self._draft(-1, -1, 0)
        channel = self._channels[action["tag"]]
        if kind == "send":
            return self._draft(action["to"], -1, channel)
        if action["from"] is None:
            raise _refused(self._schedule, f"rank {self._rank} receives from any rank, expected the rank")
        return self._draft(-1, action["from"], channel)

    def _draft(self, send: int, recv: int, channel: int) -> _Draft:
        return self._drafts.setdefault((send, recv, channel), _Draft(len(self._drafts), send, recv, channel))

    def _after(self, draft: _Draft, waits: Sequence[_At]) -> _At | None:
        """Return the last thing that the next step of a block waits for; nops before the step wait for the others."""
        last: dict[int, int] = {}
        for block, step in waits:
            if block != draft.number and step > draft.seen.get(block, -1):
                last[block] = max(step, last.get(block, -1))
        draft.seen |= last
        self._awaited |= last.items()
        *others, after = (None, *last.items())
        draft.steps += [Step("nop", _NOWHERE, _NOWHERE, 0, other, has_waiters=False) for other in others if other]
        return after

    def _check(self) -> None:
        """Refuse a schedule that exceeds the limits of a GPU."""
        if len(self._drafts) > _MOST_BLOCKS:
            what = f"{len(self._drafts)} thread blocks, expected at most {_MOST_BLOCKS}"
            raise _refused(self._schedule, f"gpu {self._rank} has {what}")
        peers: dict[tuple[bool, int], int] = defaultdict(int)
        for draft in self._drafts.values():
            if len(draft.steps) > _MOST_STEPS:
                what = f"{len(draft.steps)} steps in a thread block, expected at most {_MOST_STEPS}"
                raise _refused(self._schedule, f"gpu {self._rank} has {what}")
            for is_send, peer in ((True, draft.send), (False, draft.recv)):
                peers[is_send, draft.channel] += peer != -1
        if (most := max(peers.values(), default=0)) > _MOST_PEERS:
            raise _refused(
                self._schedule, f"gpu {self._rank} has {most} peers on a channel, expected at most {_MOST_PEERS}"
            )
