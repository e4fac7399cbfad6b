"""The time of an execution plan of MSCCL++: its operations as tasks and messages of a schedule.

The schedule has the sizes of all messages and the order of all tasks, but not which data they carry.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from hocket._native import Error
from hocket.base import checks
from hocket.schedules.mscclpp import FORMS, Channel, Plan
from hocket.schedules.mscclpp_walk import Block, Execution, Layout, Region, Walk
from hocket.schedules.schedule import Schedule

_MOST_EXECUTIONS = 1 << 20


def schedule_of(plan: Plan, size_bytes: int | str) -> Schedule:
    """Return the schedule of a call of a plan.

    What a block puts to a GPU travels with its next signal there. Packets are messages of twice their data. A read from
    another GPU is a request without data and an answer. A block goes on as soon as a message is on its way.

    The size is that of the larger of a GPU's input and output, a multiple of the chunks and of their alignment. A plan
    is refused if the size does not fit, in a deadlock, if no signal follows a put, or with too many operations.
    """
    size_bytes = checks.size_bytes("size_bytes", size_bytes)
    least = plan.chunks * plan.alignment_bytes
    if size_bytes < least or size_bytes % least:
        what = f"{plan.chunks} chunks, each a multiple of {plan.alignment_bytes} B"
        raise Error(f"size: got {size_bytes} B, expected a multiple of {least} B: the plan has {what}")
    layout = Layout.in_bytes(plan, size_bytes // plan.chunks)
    blocks = ((gpu, number) for gpu, of in enumerate(plan.gpus) for number in range(len(of.blocks)))
    executions = sum(map(layout.count, blocks))
    if executions > _MOST_EXECUTIONS:
        raise Error(f"{plan.name}: {executions} operations, expected at most {_MOST_EXECUTIONS}, with a smaller size")
    tasks = _Tasks(layout)
    content = {"format": 1, "element_bytes": 1, "scratch": tasks.scratch_bytes, "ranks": tasks.ranks}
    return Schedule.of(plan.name, content, collective=plan.collective)


class _Tasks(Walk[int]):
    """The tasks of all GPUs. A mark is the task that receives a signal, or that ends before a release."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self.ranks: list[list[dict[str, Any]]] = [[] for _ in layout.plan.gpus]
        self.scratch_bytes = [0] * layout.plan.ranks
        self._tags: Counter[tuple[int, int]] = Counter()
        self._last: dict[Block, list[int]] = defaultdict(list)
        self._put_bytes: Counter[tuple[int, int | None, int]] = Counter()
        self._sends: dict[tuple[Block, Channel], list[int]] = defaultdict(list)
        self._ends: set[tuple[int, int]] = set()
        self._packets: list[list[tuple[int, int, int]]] = [[] for _ in layout.plan.gpus]
        self.run()
        if self.next:
            execution = next(iter(self.next.values()))
            raise Error(f"{self.plan.name}: deadlock: {execution} waits for {self.reason(execution)}")
        if left := +self._put_bytes:
            gpu, _, peer = next(iter(left))
            what = f"gpu {gpu} puts data to gpu {peer} without a signal afterwards"
            raise Error(f"{self.plan.name}: {what}, expected a signal")

    def has_packets(self, region: Region) -> bool:
        return bool(self._writers(region))

    def transfer(self, execution: Execution) -> None:
        operation, block, gpu = execution.operation, execution.block, execution.block[0]
        form = FORMS[operation.name]
        first = operation.sources[0]
        size_bytes = self.layout.region(execution, first).length // (2 if first.has_packets else 1)
        ready = list(self._last[block])
        for source in operation.sources if not operation.is_sent_whole else ():
            region = self.layout.region(execution, source)
            if source.gpu != gpu:
                _, request = self._message(gpu, source.gpu, 0, ready)  # the memory there answers it
                self._last[block].append(self._message(source.gpu, gpu, region.length, [request])[1])
            elif source.has_packets:
                self._last[block] += self._writers(region)
        for _ in operation.sources[1:] if form.is_reduction else ():
            spans = {key: self._span(gpu, size_bytes) for key in ("source", "target")}
            self._add(block, {"combine": {**spans, "is_source_left": False}})
        if not form.is_reduction and any(target.gpu == gpu for target in operation.targets) and form.sources != "r*":
            self._add(block, {"copy": {key: self._span(gpu, size_bytes) for key in ("source", "target")}})
        for thread, target in enumerate(operation.targets):
            region = self.layout.region(execution, target)
            if target.has_packets:
                task = self._last_task(block) if target.gpu == gpu else self._send(block, target.gpu, region.length)[1]
                self._packets[target.gpu].append((region.begin, region.begin + region.length, task))
            elif target.gpu != gpu:
                self._put_bytes[gpu, block[1], target.gpu] += region.length
            if form.has_signal:
                self.signal(execution, thread, operation.channels[thread])
            if form.has_flush:
                self.flush(execution, thread, operation.channels[thread])

    def meet(self, blocks: Sequence[Block]) -> None:
        together = [number for block in blocks for number in self._last[block]]
        for block in blocks:
            self._last[block] = list(together)
            self._share(block)

    def flush(self, execution: Execution, thread: int, channel: Channel) -> None:
        sends = self._sends.pop((execution.block, channel), [])
        gpu = execution.block[0]
        self._last[execution.block] += [self._append(gpu, _NOTHING, sends, are_ends=True)] if sends else []

    def mark(self, execution: Execution, thread: int, channel: Channel | None) -> int:
        block = execution.block
        if channel is None:
            self._share(block)
            return self._last_task(block)
        own, of_all = ((block[0], number, channel.peer) for number in (block[1], None))
        send, receive = self._send(block, channel.peer, self._put_bytes.pop(own, 0) + self._put_bytes.pop(of_all, 0))
        self._sends[block, channel].append(send)
        return receive

    def obtain(self, execution: Execution, thread: int, marks: Sequence[int], count: int) -> None:
        self._last[execution.block].append(marks[count - 1])

    def _share(self, block: Block) -> None:
        """Let the next signal of any block tell of what a block has put."""
        gpu, number = block
        for peer in range(self.plan.ranks):
            self._put_bytes[gpu, None, peer] += self._put_bytes.pop((gpu, number, peer), 0)

    def _writers(self, region: Region) -> list[int]:
        """Return the tasks that bring the packets of a region; none if packets are missing."""
        end = region.begin
        tasks = []
        for begin, last, task in sorted(self._packets[region.gpu]):
            if last > region.begin and begin < region.begin + region.length:
                if begin > end:
                    return []
                end = max(end, last)
                tasks.append(task)
        return tasks if end >= region.begin + region.length else []

    def _send(self, block: Block, peer: int, size_bytes: int) -> tuple[int, int]:
        """Append a message of a block, and return its tasks at both ends."""
        send, receive = self._message(block[0], peer, size_bytes, self._last[block])
        self._last[block] = [send]
        return send, receive

    def _message(self, gpu: int, peer: int, size_bytes: int, after: Sequence[int]) -> tuple[int, int]:
        tag = self._tags[gpu, peer]
        self._tags[gpu, peer] += 1
        send = {"send": {"to": peer, "tag": tag, "data": self._span(gpu, size_bytes)}}
        receive = {"recv": {"from": gpu, "tag": tag, "into": self._span(peer, size_bytes)}}
        return self._append(gpu, send, after), self._append(peer, receive, [])

    def _add(self, block: Block, action: dict[str, Any]) -> None:
        self._last[block] = [self._append(block[0], action, self._last[block])]

    def _last_task(self, block: Block) -> int:
        """Return the last task of a block; one that does nothing, if it has none or has several to wait for."""
        if len(self._last[block]) != 1:
            self._add(block, _NOTHING)
        return self._last[block][0]

    def _append(self, gpu: int, action: dict[str, Any], after: Sequence[int], *, are_ends: bool = False) -> int:
        """Append a task; it waits for the ends of tasks, but only for the starts of sends unless told otherwise."""
        tasks = self.ranks[gpu]
        task: dict[str, Any] = {"action": action}
        for key, is_start in (("after", False), ("after_start", True)):
            waits = {number for number in after if (not are_ends and "send" in tasks[number]["action"]) == is_start}
            if waits:
                task[key] = sorted(waits)
        tasks.append(task)
        return len(tasks) - 1

    def _span(self, gpu: int, size_bytes: int) -> dict[str, Any]:
        """Return memory of a GPU that no other task uses."""
        begin = self.scratch_bytes[gpu]
        self.scratch_bytes[gpu] += size_bytes
        return {"buffer": "scratch", "offset": begin, "len": size_bytes}


_NOTHING: dict[str, Any] = {"compute": {"time_s": 0.0}}
