"""Verification of MSCCL schedules: their tasks run on symbolic chunks; findings name GPU, thread block and step."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from hocket import _native
from hocket._native import Error
from hocket.base import checks
from hocket.base.call import Call
from hocket.definitions.calls import made_of_any
from hocket.definitions.verification import Finding, Verdict
from hocket.schedules.msccl import Action, Block, Msccl, Place, Step, Tasks
from hocket.schedules.schedule import Schedule

_Connection = tuple[int, int, int]
"""A sending GPU, a receiving GPU, and a channel."""
_Ends = dict[_Connection, list[tuple[int, str]]]

_FREE_SLOTS = 10_000_000  # added to a channel: the tag of messages that say that a slot is free
_MOST_CHUNKS = 1 << 24  # limit for all GPUs together
_WHERE = re.compile(
    r"recv \S+ from rank (?P<full>\d+) \(tag 1(?P<channel>\d{7})\)"
    r"|rank (?P<rank>\d+)(?P<verb> waits| sent it) in task (?P<far>\d+)|\btask (?P<near>\d+)"
    r"|scratch\[(?P<begin>\d+)\.\.(?P<end>\d+)\]|\b(?P<word>rank|element|tag)(?=s?\b)"
)
_WORDS = {"rank": "gpu", "element": "chunk", "tag": "channel"}


def verify_msccl(content: Msccl, *, slots: int | None = None) -> Verdict:
    """Check a schedule: its result, deadlocks, messages that nobody receives, and steps that race for a chunk.

    With slots, a connection holds so many messages before a send waits for a receive. A schedule is refused if the ends
    of a connection disagree about the length of a message, if steps of a GPU wait in a cycle, or if it has too many
    chunks.
    """
    checks.instance("verify_msccl", content, Msccl, "hocket.schedules.msccl.Msccl")
    if slots is not None and checks.whole("slots", slots) < 1:
        raise Error("slots: got 0, expected at least one")
    chunks = content.ranks * (content.input_chunks() + content.output_chunks())
    if chunks > _MOST_CHUNKS:
        raise Error(f"{content.name}: {chunks} chunks of all GPUs, expected at most {_MOST_CHUNKS}")
    sent = _sends(content)
    gpus = [_SymbolicTasks(content, gpu, slots, sent) for gpu in range(content.ranks)]
    scratch = [gpu.scratch_bytes for gpu in gpus]
    data = {"format": 1, "element_bytes": 1, "scratch": scratch, "ranks": [gpu.tasks for gpu in gpus]}
    schedule = Schedule.of(content.name, data, collective=content.collective)
    shares = content.ranks if content.collective in ("allgather", "alltoall") else 1
    size_bytes = content.chunks // shares
    call = made_of_any(content.collective, Call(ranks=content.ranks, size_bytes=size_bytes, element_bytes=1))
    finding = Finding(**_native.verify_schedule(content.name, schedule.content, False, call))
    counterexamples = tuple(_with_places(one, gpus) for one in finding.counterexamples)
    return Verdict((replace(finding, counterexamples=counterexamples),))


def _sends(content: Msccl) -> _Ends:
    """Return the steps that send on each connection, each with its number of chunks; refuse a receive of another."""
    sent: _Ends = defaultdict(list)
    received: _Ends = defaultdict(list)
    for gpu, blocks in enumerate(content.gpus):
        for number, block in blocks.items():
            for at, step in enumerate(block.steps):
                action = step.action or Action()
                if action.sends:
                    sent[gpu, block.send, block.channel].append((step.count, _place_of(content, gpu, number, at)))
                if action.receives:
                    received[block.recv, gpu, block.channel].append((step.count, _place_of(content, gpu, number, at)))
    for connection, receives in received.items():
        for (room, receiver), (count, sender) in zip(receives, sent[connection], strict=False):
            if room != count:
                raise Error(f"{receiver}: receives {room} chunks, but {sender} sends {count}, expected as many")
    return sent


def _place_of(content: Msccl, gpu: int, number: int, at: int) -> str:
    step = content.gpus[gpu][number].steps[at]
    return f"gpu {gpu}, thread block {number}, step {at} ({step.kind}, line {step.line})"


class _SymbolicTasks(Tasks):
    """The tasks of a GPU on one memory of chunks: first its input is copied there, and last its output from there."""

    def __init__(self, content: Msccl, gpu: int, slots: int | None, sent: _Ends) -> None:
        self._slots = slots
        self._sends_of = {connection: len(sends) for connection, sends in sent.items()}
        self._message_counts: Counter[_Connection] = Counter()
        sizes = {"i": content.input_chunks(), "o": content.output_chunks(), "s": content.scratch[gpu]}
        self._begins = dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
        self._sizes = sizes
        super().__init__(content, gpu, 1)

    def _begin(self) -> None:
        self.scratch_bytes = sum(self._sizes.values())
        source = {"buffer": "input", "offset": 0, "len": self._sizes["i"]}
        self._append({"copy": {"source": source, "target": self._span(Place("i", 0), self._sizes["i"])}}, [])

    def _end(self, last: Iterable[int]) -> None:
        target = {"buffer": "result", "offset": 0, "len": self._sizes["o"]}
        copy = {"source": self._span(Place("o", 0), self._sizes["o"]), "target": target}
        self._append({"copy": copy}, [0, *last])

    def _add(self, block: Block, step: Step, after: list[int], landing: dict[str, Any]) -> int:
        """Append the tasks of a step. If slots are few, a send waits for a message that says that a slot is free."""
        action, nothing = step.action or Action(), {"buffer": "scratch", "offset": 0, "len": 0}
        tag = _FREE_SLOTS + block.channel
        if self._slots is not None and action.sends:
            self._message_counts[self._gpu, block.send, block.channel] += 1
            if self._message_counts[self._gpu, block.send, block.channel] > self._slots:
                after = [self._append({"recv": {"from": block.send, "tag": tag, "into": nothing}}, after)]
        last = super()._add(block, step, after, landing)
        if self._slots is not None and action.receives:
            connection = (block.recv, self._gpu, block.channel)
            self._message_counts[connection] += 1
            if self._message_counts[connection] + self._slots <= self._sends_of.get(connection, 0):
                last = self._append({"send": {"to": block.recv, "tag": tag, "data": nothing}}, [last])
        return last

    def _span(self, place: Place, count: int) -> dict[str, Any]:
        place = self._content.resolve(self._gpu, place)
        return {"buffer": "scratch", "offset": self._begins[place.buffer] + max(place.offset, 0), "len": count}

    def _append(self, action: dict[str, Any], after: list[int]) -> int:
        """Append a task; a step goes on after the end of a send, as connections copy what they send."""
        self.tasks.append({"action": action, **({"after": after or [0]} if self.tasks else {})})
        return len(self.tasks) - 1

    def place_of(self, task: int) -> str:
        """Return the GPU, thread block and step of a task."""
        if task not in self.steps:
            return f"gpu {self._gpu}, the copy of its {'input' if task == 0 else 'output'}"
        return _place_of(self._content, self._gpu, *self.steps[task])

    def name_of(self, begin: int, end: int) -> str:
        """Return the buffer and the chunks of a part of its memory."""
        for buffer, first in reversed(self._begins.items()):
            if first <= begin < first + self._sizes[buffer]:
                return f"{buffer}[{begin - first}..{end - first}]"
        return "the received chunks"


def _with_places(counterexample: Mapping[str, Any], gpus: Sequence[_SymbolicTasks]) -> dict[str, Any]:
    """Return a counterexample with steps and buffers of the file in place of tasks and memory."""

    def translate_line(line: str) -> str:
        gpu: _SymbolicTasks = gpus[counterexample["at_ranks"][0]]

        def word(match: re.Match[str]) -> str:
            nonlocal gpu
            if match["full"]:
                return f"a free slot to gpu {match['full']}, channel {int(match['channel'])}"
            if match["far"]:
                gpu = gpus[int(match["rank"])]
            if task := match["far"] or match["near"]:
                return f"{gpu.place_of(int(task))}{match['verb'] or ''}"
            if match["begin"]:
                return gpu.name_of(int(match["begin"]), int(match["end"]))
            return _WORDS[match["word"]]

        return _WHERE.sub(word, line)

    def translate(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(translate, value))
        return "\n".join(map(translate_line, value.split("\n"))) if isinstance(value, str) else value

    texts = {name: translate(counterexample[name]) for name in ("span", "expected", "got", "details", "message")}
    return {**counterexample, **texts}
