"""Verification of MSCCL schedules: steps run on symbolic chunks; findings name GPU, thread block and step."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hocket._native import Error
from hocket.base import checks
from hocket.definitions.verification import Finding, Verdict
from hocket.schedules.msccl import Action, Block, Msccl, Place, Step

_Chunk = tuple[int, str, int]
"""A chunk: a GPU, a buffer, and an index in the buffer."""
_Clock = NDArray[np.int32]
"""For each thread block, the number of its steps that happened before."""
_Key = tuple[int, int]
"""A thread block: a GPU, and the number of the block."""
_At = tuple[int, int, int]
"""A step: a GPU, a thread block, and the number of the step."""

_SHOWN = 3  # findings of each kind
_MOST_WAITS = 12  # blocks of a shown chain of waits

_MOST_CHUNKS = 1 << 24  # limit for all GPUs together


@dataclass(frozen=True)
class _Value:
    """The content of a chunk: the combined input chunks, the chunks counted twice, and the chunks never written."""

    parts: frozenset[_Chunk]
    twice: frozenset[_Chunk] = frozenset()
    unwritten: frozenset[_Chunk] = frozenset()

    def combined(self, other: _Value) -> _Value:
        return _Value(
            self.parts | other.parts,
            self.twice | other.twice | (self.parts & other.parts),
            self.unwritten | other.unwritten,
        )


@dataclass(frozen=True)
class _Message:
    values: tuple[_Value, ...]
    sender: _At
    clock: _Clock


@dataclass
class _Uses:
    """The last uses of a chunk."""

    writer: _At | None = None
    readers: list[_At] = field(default_factory=list)


def verify_msccl(content: Msccl, *, slots: int | None = None) -> Verdict:
    """Check a schedule: its result, deadlocks, messages that nobody receives, and steps that race for a chunk.

    Args:
        content: The schedule.
        slots: Number of messages that a connection holds before a send waits for a receive; by default no limit.

    Raises:
        Error: The content or the number of slots is invalid, or there are too many chunks.
    """
    checks.instance("verify_msccl", content, Msccl, "hocket.schedules.msccl.Msccl")
    if slots is not None and checks.whole("slots", slots) < 1:
        raise Error("slots: got 0, expected at least one")
    chunks = content.ranks * (content.input_chunks() + content.output_chunks())
    if chunks > _MOST_CHUNKS:
        raise Error(f"{content.name}: {chunks} chunks of all GPUs, expected at most {_MOST_CHUNKS}")
    run = _Run(content, slots)
    messages = run.findings()
    whose: dict[str, Any] = {"collective": "schedule", "algorithm": content.name, "ranks": content.ranks}
    finding = Finding(
        **whose,
        checked=1,
        exploration="sampled" if run.races else "deterministic",  # another order of steps may give another result
        orders=1,
        overtaking=0,
        counterexamples=tuple({**whose, "message": message} for message in messages),
        refused=None,
    )
    return Verdict((finding,))


class _Run:
    """One run. The order of ready steps does not change its outcome, unless steps race."""

    def __init__(self, content: Msccl, slots: int | None) -> None:
        self._content, self._slots = content, slots
        self._blocks: dict[_Key, Block] = {
            (gpu, number): block for gpu, blocks in enumerate(content.gpus) for number, block in blocks.items()
        }
        self._numbers = {key: number for number, key in enumerate(self._blocks)}
        self._places = dict.fromkeys(self._blocks, 0)
        self._clocks: dict[_Key, _Clock] = {key: np.zeros(len(self._blocks), np.int32) for key in self._blocks}
        self._told: dict[_At, _Clock] = {}
        self._queues: dict[tuple[int, int, int], deque[_Message]] = defaultdict(deque)
        self._values: dict[_Chunk, _Value] = {}
        self._uses: dict[_Chunk, _Uses] = defaultdict(_Uses)
        self.races: dict[tuple[_At, _At], _Chunk] = {}
        self._misfits: list[str] = []
        for gpu in range(content.ranks):
            for index in range(content.input_chunks()):
                place = content.located(gpu, Place("i", index))
                self._values[gpu, place.buffer, place.offset] = _Value(frozenset({(gpu, "i", index)}))

    def findings(self) -> list[str]:
        """Run to the end or until a deadlock, and return the errors."""
        is_going = True
        while is_going:
            is_going = False
            for key, block in self._blocks.items():
                while self._places[key] < len(block.steps) and self._wait(key) is None:
                    self._take(key, block, block.steps[self._places[key]])
                    is_going = True
        stuck = [key for key, block in self._blocks.items() if self._places[key] < len(block.steps)]
        found = self._misfits[:_SHOWN] + self._deadlock(stuck) + self._left_over() + self._raced()
        return found if stuck else found + self._wrong_results()

    def _wait(self, key: _Key) -> tuple[str, _Key | None] | None:
        """Return what the next step of a block waits for, and the block that would end the wait; None if it can run."""
        block = self._blocks[key]
        step, gpu = block.steps[self._places[key]], key[0]
        if step.after is not None and self._places[gpu, step.after[0]] <= step.after[1]:
            number, at = step.after
            return f"waits for step {at} of thread block {number}", (gpu, number)
        action = step.action or Action()
        if action.receives and not self._queues[block.recv, gpu, block.channel]:
            sender = self._block(block.recv, "send", gpu, block.channel)
            return f"waits for a message from gpu {block.recv}, channel {block.channel}", sender
        is_full = self._slots is not None and len(self._queues[gpu, block.send, block.channel]) >= self._slots
        if action.sends and is_full:
            receiver = self._block(block.send, "recv", gpu, block.channel)
            return f"waits for a free slot to gpu {block.send}, channel {block.channel}", receiver
        return None

    def _block(self, gpu: int, verb: Literal["send", "recv"], peer: int, channel: int) -> _Key | None:
        """Return the block of a GPU that sends to a peer on a channel, or receives from it."""
        blocks = self._content.gpus[gpu].items()
        found = (number for number, block in blocks if (getattr(block, verb), block.channel) == (peer, channel))
        return next(((gpu, number) for number in found), None)

    def _take(self, key: _Key, block: Block, step: Step) -> None:
        gpu, at = key[0], (*key, self._places[key])
        clock = self._clocks[key]
        if step.after is not None:
            np.maximum(clock, self._told[(gpu, *step.after)], out=clock)
        action = step.action or Action()
        values: list[_Value] = []
        if action.receives:
            message = self._queues[block.recv, gpu, block.channel].popleft()
            np.maximum(clock, message.clock, out=clock)
            values = self._fitted(message, step, at)
        if step.action is not None and action.has_source:
            source = self._read(at, step.source, step.count)
            values = [a.combined(b) for a, b in zip(values, source, strict=True)] if values else source
        if action.reduces and not action.receives:
            old = self._read(at, step.target, step.count)
            values = [a.combined(b) for a, b in zip(old, values, strict=True)]
        if action.writes:
            self._write(at, step.target, values)
        self._places[key] += 1
        clock[self._numbers[key]] = self._places[key]
        if action.sends:
            self._queues[gpu, block.send, block.channel].append(_Message(tuple(values), at, clock.copy()))
        if step.has_waiters:
            self._told[at] = clock.copy()

    def _fitted(self, message: _Message, step: Step, at: _At) -> list[_Value]:
        values = list(message.values)
        if len(values) != step.count:
            self._misfits.append(
                f"{self._step(at)} receives {step.count} chunks, but {self._step(message.sender)} sends {len(values)}"
            )
        missing = [_Value(frozenset(), unwritten=frozenset({(at[0], "message", index)})) for index in range(step.count)]
        return values[: step.count] + missing[len(values) :]

    def _chunks(self, at: _At, place: Place, count: int) -> list[_Chunk]:
        place = self._content.located(at[0], place)
        return [(at[0], place.buffer, place.offset + index) for index in range(count)]

    def _read(self, at: _At, place: Place, count: int) -> list[_Value]:
        chunks = self._chunks(at, place, count)
        for chunk in chunks:
            uses = self._uses[chunk]
            self._race(uses.writer, at, chunk)
            uses.readers.append(at)
        return [self._value(chunk) for chunk in chunks]

    def _write(self, at: _At, place: Place, values: list[_Value]) -> None:
        for chunk, value in zip(self._chunks(at, place, len(values)), values, strict=True):
            uses = self._uses[chunk]
            for other in (uses.writer, *uses.readers):
                self._race(other, at, chunk)
            self._uses[chunk] = _Uses(writer=at)
            self._values[chunk] = value

    def _value(self, chunk: _Chunk) -> _Value:
        return self._values.get(chunk) or _Value(frozenset(), unwritten=frozenset({chunk}))

    def _race(self, other: _At | None, at: _At, chunk: _Chunk) -> None:
        """Record a race unless `other` happened before `at`."""
        if other is None or other[:2] == at[:2]:
            return
        if self._clocks[at[:2]][self._numbers[other[:2]]] <= other[2]:
            self.races.setdefault((other, at), chunk)

    def _deadlock(self, stuck: list[_Key]) -> list[str]:
        if not stuck:
            return []
        chain: list[_Key] = []
        lines = []
        key: _Key | None = stuck[0]
        while key is not None and key not in chain and self._places[key] < len(self._blocks[key].steps):
            chain.append(key)
            what, waited_for = self._wait(key) or ("", None)
            lines.append(f"  {self._step((*key, self._places[key]))} {what}")
            key = waited_for
        if key is None:
            end = "  where no thread block is at the other end"
        elif key in chain:
            lines = lines[chain.index(key) :]
            end = "  and so on, in a cycle" if len(lines) > 1 else "  which is itself"
        else:
            end = f"  but gpu {key[0]}, thread block {key[1]} has ended"
        if len(lines) > _MOST_WAITS:
            lines = [*lines[:_MOST_WAITS], f"  and {len(lines) - _MOST_WAITS} more"]
        return ["\n".join([f"deadlock, {len(stuck)} thread blocks never end:", *lines, end])]

    def _left_over(self) -> list[str]:
        left = [message.sender for queue in self._queues.values() for message in queue]
        found = [
            f"{self._step(at)} sends to gpu {self._blocks[at[:2]].send}, channel {self._blocks[at[:2]].channel}: "
            "nobody receives it"
            for at in left[:_SHOWN]
        ]
        return found + _more(len(left), "messages that nobody receives")

    def _raced(self) -> list[str]:
        found = [
            f"race: {self._step(one)} and {self._step(other)} use {_name(chunk)}, and neither waits for the other"
            for (one, other), chunk in list(self.races.items())[:_SHOWN]
        ]
        return found + _more(len(self.races), "races")

    def _wrong_results(self) -> list[str]:
        content = self._content
        wrong = []
        for gpu in range(content.ranks):
            for index in range(content.output_chunks()):
                place = content.located(gpu, Place("o", index))
                chunk = (gpu, place.buffer, place.offset)
                value, expected = self._value(chunk), self._expected(gpu, index)
                if value != _Value(expected):
                    wrong.append((gpu, index, chunk, value, expected))
        found = [self._wrong(*each) for each in wrong[:_SHOWN]]
        return found + _more(len(wrong), "wrong chunks")

    def _expected(self, gpu: int, index: int) -> frozenset[_Chunk]:
        """Return the expected content of chunk `index` of a GPU's output."""
        content = self._content
        part = content.chunks // content.ranks
        match content.collective:
            case "allreduce":
                return frozenset((rank, "i", index) for rank in range(content.ranks))
            case "reduce_scatter":
                return frozenset((rank, "i", gpu * part + index) for rank in range(content.ranks))
            case "allgather":
                return frozenset({(index // part, "i", index % part)})
            case _:
                return frozenset({(index // part, "i", gpu * part + index % part)})

    def _wrong(self, gpu: int, index: int, chunk: _Chunk, value: _Value, expected: frozenset[_Chunk]) -> str:
        writer = self._uses[chunk].writer
        by = "nobody has written it" if writer is None else f"written last by {self._step(writer)}"
        facts = {
            "missing": expected - value.parts,
            "wrong": value.parts - expected,
            "counted twice": value.twice,
            "never written": value.unwritten,
        }
        lines = [f"  {label}: {_names(chunks)}" for label, chunks in facts.items() if chunks]
        return "\n".join([f"gpu {gpu}, output chunk {index} is wrong, {by}:", *lines])

    def _step(self, at: _At) -> str:
        step = self._blocks[at[:2]].steps[at[2]]
        return f"gpu {at[0]}, thread block {at[1]}, step {at[2]} ({step.kind}, line {step.line})"


def _name(chunk: _Chunk) -> str:
    return f"{chunk[1]}[{chunk[2]}] of gpu {chunk[0]}"


def _names(chunks: frozenset[_Chunk]) -> str:
    names = [_name(chunk) for chunk in sorted(chunks)]
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _more(count: int, what: str) -> list[str]:
    return [f"and {count - _SHOWN} more {what}"] if count > _SHOWN else []
