"""Schedules as execution plans of MSCCL++: every GPU has one thread block, which does one thing after another.

Messages become puts. A receiver signals that its memory is ready; the sender puts the data there and signals. Two
channels join each pair of GPUs: one for ready memory, one for data. The limits are in execution_common.hpp in
src/core/include of microsoft/mscclpp.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hocket.schedules.chunks import Chunks, is_idle, spans_of
from hocket.schedules.dependencies import ends_awaited, messages_of
from hocket.schedules.schedule import Schedule

_MOST_OPERATIONS = 64  # of a thread block
_MOST_CHANNELS = 16  # of a thread block
_MOST_AT_ONCE = 8  # channels of an operation
_LETTERS = {"input": "i", "result": "o", "scratch": "s"}
_NOP = {"name": "nop"}
_LONGEST_LINE = 150  # characters
_MOST_BYTES = (1 << 64) - 1

_At = tuple[int, int]
"""A rank, and a task of it."""


class _Message(NamedTuple):
    """A message: its sending task and its receiving task."""

    send: _At
    receive: _At


def as_plan(schedule: Schedule) -> str:
    """Return a schedule as the text of an execution plan of MSCCL++.

    Chunks are as large as the spans of the schedule allow. The order of operands is lost. A schedule is refused if its
    collective or its spans are missing, or if a thread block has no room for it.
    """
    chunks = Chunks(schedule, "a plan of MSCCL++")
    writer = _Writer(chunks)
    writer.run()
    ranks = len(chunks.ranks)
    share = {"allgather": (ranks, 1), "reduce_scatter": (1, ranks)}.get(chunks.collective, (1, 1))
    content = {
        "name": schedule.name,
        "collective": chunks.collective.replace("_", ""),
        "protocol": "Simple",
        "inplace": chunks.in_place,
        "reuse_resources": False,
        "gpus": [
            {
                "id": gpu,
                "input_chunks": chunks.count // share[0],
                "output_chunks": chunks.count // share[1],
                "scratch_chunks": chunks.scratch(gpu),
                **writer.gpu(gpu),
            }
            for gpu in range(ranks)
        ],
        "num_threads_per_block": 1024,
        "use_double_scratch_buffer": False,
        "buffer_alignment": 16,
        "min_message_size": 0,
        "max_message_size": _MOST_BYTES,
    }
    return _text(content) + "\n"


def _text(value: Any, indent: str = "") -> str:
    """Return JSON in which what is short stands on one line."""
    line = json.dumps(value)
    if len(indent) + len(line) <= _LONGEST_LINE or not value or not isinstance(value, dict | list):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        first, last, members = "{", "}", [f"{json.dumps(key)}: {_text(one, inner)}" for key, one in value.items()]
    else:
        first, last, members = "[", "]", [_text(one, inner) for one in value]
    return f"{first}\n{inner}" + f",\n{inner}".join(members) + f"\n{indent}{last}"


class _Writer:
    """Goes through the tasks of all ranks in an order in which they can be done, and collects their operations."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks, self._chunk = chunks, chunks.elements
        ranks = self._ranks = chunks.ranks
        self._operations: list[list[dict[str, Any]]] = [[] for _ in ranks]
        self._peers: list[list[int]] = [[] for _ in ranks]
        self._buffers: list[list[tuple[int, str]]] = [[] for _ in ranks]
        self._is_done: set[_At] = set()
        idle = [{number for number, task in enumerate(tasks) if is_idle(task)} for tasks in ranks]
        self._left = [
            (rank, at) for rank, tasks in enumerate(ranks) for at in range(len(tasks)) if at not in idle[rank]
        ]
        for rank, number in self._left:
            chunks.check_task(rank, ranks[rank][number])
        self._messages = {at: _Message(*ends) for ends in messages_of(ranks) for at in ends}
        self._waits = [ends_awaited(tasks, exempt=exempt) for tasks, exempt in zip(ranks, idle, strict=True)]

    def run(self) -> None:
        """Do everything: first what a rank does alone, then all messages that can be sent at once."""
        while self._left:
            going = [at for at in self._left if self._can(at)]
            local = [at for at in going if at not in self._messages]
            ready = set(going)
            messages = {message for at in going if (message := self._messages.get(at)) and ready >= set(message)}
            if not local and not messages:
                raise self._chunks.refusal("its tasks wait for each other in a cycle, expected no cycles")
            for rank, number in local:
                self._do(rank, self._ranks[rank][number])
            if not local:
                self._exchange(sorted(messages))
            self._is_done.update(local, *(messages if not local else ()))
            self._left = [at for at in self._left if at not in self._is_done]

    def gpu(self, rank: int) -> dict[str, Any]:
        """Return the thread block of a GPU, and its channels and buffers of others."""
        operations = self._operations[rank]
        while operations and operations[-1] == _NOP:
            operations.pop()
        channels = 2 * len(self._peers[rank])
        in_block = (len(operations), "operations in a thread block", _MOST_OPERATIONS)
        self._chunks.check_limits(rank, (in_block, (channels, "channels", _MOST_CHANNELS)))
        uses = {"channel_type": "memory", "channel_ids": [*range(channels)]}
        refs = {"access_channel_type": "memory", "remote_buffer_ids": [*range(len(self._buffers[rank]))]}
        return {
            "threadblocks": [{"id": 0, "ops": operations, "channels": [uses], "remote_buffer_refs": [refs]}],
            "channels": [
                {"channel_type": "memory", "connected_to": [peer for peer in self._peers[rank] for _ in range(2)]}
            ],
            "remote_buffers": [
                {"rank": owner, "type": buffer, "access_channel_types": ["memory"]}
                for owner, buffer in self._buffers[rank]
            ],
            "semaphores": [],
        }

    def _can(self, at: _At) -> bool:
        rank, number = at
        return all((rank, earlier) in self._is_done for earlier in self._waits[rank][number])

    def _do(self, rank: int, task: Mapping[str, Any]) -> None:
        """Append a copy or a reduction."""
        ((kind, _),) = task["action"].items()
        source, target = (self._own(span) for span in spans_of(task))
        self._append(rank, _NOP)
        if kind == "combine":
            self._append(rank, {"name": "re", "src_buff": [target, source], "dst_buff": [target], "reduce_op": "sum"})
        else:
            self._append(rank, {"name": "copy", "src_buff": [source], "dst_buff": [target]})

    def _exchange(self, messages: Sequence[_Message]) -> None:
        """Append messages that are sent at the same time: ready signals, puts, data signals and waits."""
        senders, receivers = defaultdict(list), defaultdict(list)
        for message in messages:
            senders[message.send[0]].append(message)
            receivers[message.receive[0]].append(message)
        for rank in {**senders, **receivers}:
            self._append(rank, _NOP)
        for rank, received in receivers.items():
            self._signal(rank, "signal", [2 * self._peer(rank, message.send[0]) for message in received])
        for rank, sent in senders.items():
            self._signal(rank, "wait", [2 * self._peer(rank, message.receive[0]) for message in sent])
            self._append(rank, _NOP)
            for message in sent:
                self._put(message)
            self._append(rank, _NOP)
            self._signal(rank, "signal", [2 * self._peer(rank, message.receive[0]) + 1 for message in sent])
        for rank, received in receivers.items():
            self._signal(rank, "wait", [2 * self._peer(rank, message.send[0]) + 1 for message in received])
            self._append(rank, _NOP)

    def _put(self, message: _Message) -> None:
        (rank, send), (peer, receive) = message
        data = self._ranks[rank][send]["action"]["send"]["data"]
        into = self._ranks[peer][receive]["action"]["recv"]["into"]
        buffer = (peer, _LETTERS[into["buffer"]])
        if buffer not in self._buffers[rank]:
            self._buffers[rank].append(buffer)
        target = {"buffer_id": self._buffers[rank].index(buffer), "index": into["offset"] // self._chunk}
        source = self._own(data)
        operation = {"name": "put", "src_buff": [source], "dst_buff": [{**target, "size": source["size"]}]}
        self._append(rank, {**operation, "channel_type": "memory"})

    def _signal(self, rank: int, name: str, channels: Sequence[int]) -> None:
        """Append signals or waits; an operation has few channels, and none twice."""
        left = list(channels)
        while left:
            now = list(dict.fromkeys(left))[:_MOST_AT_ONCE]
            self._append(rank, {"name": name, "channel_ids": now, "channel_type": "memory"})
            for channel in now:
                left.remove(channel)

    def _peer(self, rank: int, peer: int) -> int:
        if peer not in self._peers[rank]:
            self._peers[rank].append(peer)
        return self._peers[rank].index(peer)

    def _append(self, rank: int, operation: dict[str, Any]) -> None:
        """Append an operation; threads need not wait for each other twice in a row, nor at the beginning."""
        operations = self._operations[rank]
        if operation != _NOP or (operations and operations[-1] != _NOP):
            operations.append(operation)

    def _own(self, span: Mapping[str, Any]) -> dict[str, Any]:
        first, size = span["offset"] // self._chunk, span["len"] // self._chunk
        return {"type": _LETTERS[span["buffer"]], "index": first, "size": size}
