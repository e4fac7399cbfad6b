"""Schedules as MSCCL XML: spans become chunks, and tasks become steps of thread blocks.

A GPU has a thread block for each direction of a connection. A copy or reduction goes to the block of the last task that
it waits for. The limits are in ROCm/rccl, src/include/msccl/msccl_struct.h and msccl_parser.h, which
src/misc/msccl/msccl_parser.cc checks; Azure/msccl-executor-nccl has the same reader. microsoft/msccl allows more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from hocket.schedules.chunks import Chunks, Task, is_idle, spans_of
from hocket.schedules.dependencies import ends_awaited
from hocket.schedules.msccl import BUFFERS, Block, Msccl, Place, Step
from hocket.schedules.schedule import Schedule

_MOST_COUNT = 71  # chunks of a step
_MOST_STEPS = 64  # steps of a thread block
_MOST_BLOCKS = 128  # thread blocks of a GPU: steps keep the number of one in 8 bits
_MOST_GPUS = 1024
_MOST_ELEMENTS = 4095  # XML elements that a GPU reads: the algorithm, all GPUs, its thread blocks and their steps
_MOST_CHANNELS = 32
_MOST_PEERS = 32  # peers to which a GPU sends on one channel, or from which it receives

_LETTERS = {name: letter for letter, name in BUFFERS.items()}
_KINDS = {"send": "s", "recv": "r", "copy": "cpy", "combine": "re"}
_NOWHERE = Place("i", -1)

_At = tuple[int, int]
"""A thread block and a step of it."""


def as_msccl(schedule: Schedule) -> Msccl:
    """Return a schedule in the form of MSCCL XML.

    Chunks are as large as the spans of the schedule allow. The order of operands is lost; it matters only for operators
    that do not commute. An Error says what MSCCL cannot express, or that the collective or spans are missing.
    """
    chunks = Chunks(schedule, "MSCCL XML", most_ranks=_MOST_GPUS)
    channels, ranks = _channels(chunks), range(len(chunks.ranks))
    return Msccl(
        name=schedule.name,
        collective=chunks.collective,
        chunks=chunks.count,
        in_place=chunks.in_place,
        gpus=tuple(_Gpu(chunks, rank, channels).blocks() for rank in ranks),
        scratch=tuple(map(chunks.scratch, ranks)),
    )


def _channels(chunks: Chunks) -> dict[int, int]:
    """Return the channel for each tag."""
    actions = (action for task in chain(*chunks.ranks) for action in task["action"].values())
    tags = sorted({action["tag"] for action in actions if "tag" in action})
    if len(tags) > _MOST_CHANNELS:
        raise chunks.refusal(f"got messages of {len(tags)} tags, expected at most {_MOST_CHANNELS} channels")
    return {tag: channel for channel, tag in enumerate(tags)}


class _Gpu:
    """The thread blocks of a GPU."""

    def __init__(self, chunks: Chunks, rank: int, channels: Mapping[int, int]) -> None:
        self._chunks, self._rank, self._channels = chunks, rank, channels
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._blocks: list[Block] = []
        self._awaited_steps: set[_At] = set()
        # For each block and each other block, the last step for which the former has waited.
        self._seen: dict[int, dict[int, int]] = defaultdict(dict)
        ends: dict[int, _At] = {}
        tasks = chunks.ranks[rank]
        idle = {number for number, task in enumerate(tasks) if is_idle(task)}
        waits = ends_awaited(tasks, exempt=idle)
        for number, task in enumerate(tasks):
            if number not in idle:
                ends[number] = self._add(task, [ends[earlier] for earlier in sorted(waits[number])])
        self._check()

    def blocks(self) -> dict[int, Block]:
        """Return the thread blocks by number."""
        for number, block in enumerate(self._blocks):
            for at, step in enumerate(block.steps):
                block.steps[at] = replace(step, has_waiters=(number, at) in self._awaited_steps)
        return dict(enumerate(self._blocks))

    def _add(self, task: Task, waits: Sequence[_At]) -> _At:
        """Append the steps of a task, and return the last step."""
        self._chunks.check_task(self._rank, task)
        ((kind, action),) = task["action"].items()
        if kind in ("send", "recv"):
            number = self._number(action.get("to", -1), action.get("from", -1), self._channels[action["tag"]])
        else:
            number = waits[-1][0] if waits else self._number(-1, -1, 0)
        steps = self._blocks[number].steps
        spans = [*spans_of(task)]
        size = self._chunks.elements
        count = spans[0]["len"] // size
        if kind in ("send", "recv") and count > _MOST_COUNT:
            why = f"its spans fit only chunks of which a message has {count}, expected at most {_MOST_COUNT}"
            raise self._chunks.refusal(why)
        after = self._after(number, waits)
        source, target = (Place(_LETTERS[s["buffer"]], s["offset"] // size) for s in (spans[0], spans[-1]))
        for first in range(0, count, _MOST_COUNT):
            part = min(_MOST_COUNT, count - first)
            whence, whither = (replace(place, offset=place.offset + first) for place in (source, target))
            steps.append(Step(_KINDS[kind], whence, whither, part, after, has_waiters=False))
            after = None
        return number, len(steps) - 1

    def _number(self, send: int, recv: int, channel: int) -> int:
        """Return the number of the thread block with these peers on this channel."""
        number = self._numbers.setdefault((send, recv, channel), len(self._blocks))
        if number == len(self._blocks):
            self._blocks.append(Block(send, recv, channel))
        return number

    def _after(self, number: int, waits: Sequence[_At]) -> _At | None:
        """Return the last thing that the next step of a block waits for; nops before the step wait for the others."""
        last: dict[int, int] = {}
        for block, step in waits:
            if block != number and step > self._seen[number].get(block, -1):
                last[block] = max(step, last.get(block, -1))
        self._seen[number] |= last
        self._awaited_steps |= last.items()
        *others, after = (None, *last.items())
        nops = [Step("nop", _NOWHERE, _NOWHERE, 0, other, has_waiters=False) for other in others if other]
        self._blocks[number].steps.extend(nops)
        return after

    def _check(self) -> None:
        """Refuse a schedule that exceeds the limits of a GPU."""
        peers: dict[tuple[bool, int], int] = defaultdict(int)
        for block in self._blocks:
            for is_send, peer in ((True, block.send), (False, block.recv)):
                peers[is_send, block.channel] += peer != -1
        elements = 1 + len(self._chunks.ranks) + len(self._blocks) + sum(len(block.steps) for block in self._blocks)
        limits = (
            (len(self._blocks), "thread blocks", _MOST_BLOCKS),
            *((len(block.steps), "steps in a thread block", _MOST_STEPS) for block in self._blocks),
            (elements, "XML elements to read", _MOST_ELEMENTS),
            (max(peers.values(), default=0), "peers on a channel", _MOST_PEERS),
        )
        self._chunks.check_limits(self._rank, limits)
