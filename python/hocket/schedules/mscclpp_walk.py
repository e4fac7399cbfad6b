"""A walk through an execution plan of MSCCL++: its operations in an order in which GPUs may do them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from hocket.schedules.mscclpp import BUFFERS, Channel, Operand, Operation, Plan

T = TypeVar("T")

_SCRATCH_BYTES = 1 << 26  # the size of the scratch buffer that all plans share, if they reuse it

Block = tuple[int, int]
"""A GPU, and a thread block of it."""
Semaphore = tuple[int, int]
"""A GPU, and a semaphore of it."""
Synchronizer = Channel | Semaphore
"""Where a block signals or releases, and another one waits or acquires."""


@dataclass(frozen=True)
class Execution:
    """One execution of an operation: of this number in its thread block, or in a pipeline there, in an iteration."""

    block: Block
    at: int
    operation: Operation
    inner: int | None = None
    turn: int = 0
    unit: int = 0

    def __str__(self) -> str:
        gpu, number = self.block
        place = f"gpu {gpu}, threadblock {number}, op {self.at}"
        if self.inner is None:
            return f"{place} ({self.operation.name})"
        return f"{place}.{self.inner} ({self.operation.name}, iteration {self.turn})"

    @property
    def place(self) -> tuple[int, int, int, int]:
        """Where the operation is in the plan; the same in all iterations."""
        return (*self.block, self.at, -1 if self.inner is None else self.inner)


@dataclass(frozen=True)
class Region:
    """A part of the memory of a GPU, in the units of a layout."""

    gpu: int
    buffer: str
    begin: int
    length: int


@dataclass(frozen=True)
class Layout:
    """The sizes of a call, in bytes or in other units."""

    plan: Plan
    chunk: int  # the length of a chunk
    grain: int  # what parts of chunks are multiples of
    scale: Fraction  # how many units a byte of a pipeline's `unit_bytes` is
    # For each GPU, the length of a chunk of scratch memory that longer chunks go through; 0 without.
    ring: tuple[int, ...]

    @classmethod
    def in_bytes(cls, plan: Plan, chunk_bytes: int) -> Layout:
        """Return the layout of a call whose chunks have this size."""
        rings = [_ring_bytes(plan, gpu.scratch_chunks) for gpu in plan.gpus]
        ring = tuple(length if length < chunk_bytes else 0 for length in rings)
        return cls(plan, chunk_bytes, plan.alignment_bytes, Fraction(1), ring)

    def executions(self, block: Block) -> Iterator[Execution]:
        """Give what a thread block does, with the iterations of its pipelines."""
        gpu, number = block
        for at, operation in enumerate(self.plan.gpus[gpu].blocks[number]):
            if operation.name != "pipeline":
                yield Execution(block, at, operation)
                continue
            turns, unit = self._turns(operation)
            for turn in range(turns):
                for inner, one in enumerate(operation.operations):
                    yield Execution(block, at, one, inner, turn, unit)

    def count(self, block: Block) -> int:
        """Return how many executions there are in a thread block."""
        gpu, number = block
        operations = self.plan.gpus[gpu].blocks[number]
        return sum(self._turns(one)[0] * len(one.operations) if one.unit_bytes else 1 for one in operations)

    def region(self, execution: Execution, operand: Operand) -> Region:
        """Return the memory that an execution uses of an operand. Packets take twice the room of their data."""
        buffer, first = self.plan.resolve(operand.gpu, operand.buffer)
        ring = self.ring[operand.gpu] if buffer == "s" else 0
        number, parts = execution.operation.part
        begin, end = (self._part(operand, one, parts) for one in (number, number + 1))
        offset = execution.turn * execution.unit
        length = min(end - begin - offset, execution.unit) if execution.unit else end - begin
        begin += (first + operand.index) * (ring or self.chunk) + (offset % ring if ring else offset)
        room = 2 if operand.has_packets else 1
        return Region(operand.gpu, buffer, begin * room, max(length, 0) * room)

    def name_of(self, region: Region) -> str:
        """Return a region in chunks, as in `input[0..1.5] of gpu 2`."""
        chunk = self.ring[region.gpu] or self.chunk if region.buffer == "s" else self.chunk
        first, last = region.begin / chunk, (region.begin + region.length) / chunk
        return f"{BUFFERS[region.buffer]}[{first:g}..{last:g}] of gpu {region.gpu}"

    def _turns(self, pipeline: Operation) -> tuple[int, int]:
        """Return the number of iterations of a pipeline, and what each handles of an operand."""
        unit = max(int(pipeline.unit_bytes * self.scale), 1)
        return -(-pipeline.chunks * self.chunk // unit), unit

    def _part(self, operand: Operand, number: int, parts: int) -> int:
        """Return the begin of a part of an operand."""
        less, more = divmod(operand.size * self.chunk // self.grain, parts)
        return (number * less + min(number, more)) * self.grain


def _ring_bytes(plan: Plan, chunks: int) -> int:
    """Return the bytes of a chunk of the scratch buffer that all plans share."""
    if not plan.is_scratch_reused or not chunks:
        return 1 << 63
    room = _SCRATCH_BYTES // (2 if plan.has_two_scratches else 1)
    return -(-room // chunks // plan.alignment_bytes) * plan.alignment_bytes


class Walk(Generic[T]):
    """Executes the operations of a plan one after another; what they do is up to the subclass.

    A signal, and a release of a semaphore, leaves a mark (T), which the wait for it gets.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout, self.plan = layout, layout.plan
        self.blocks: list[Block] = [(gpu, n) for gpu, of in enumerate(self.plan.gpus) for n in range(len(of.blocks))]
        self._marks: dict[Synchronizer, list[T]] = defaultdict(list)
        self._waits: Counter[Synchronizer] = Counter()
        self._waits_of: Counter[tuple[Block, Synchronizer]] = Counter()
        self._open = self._signalled_by_several()
        self._arrivals: dict[tuple[int, int], list[Block]] = defaultdict(list)
        self._left: dict[Block, Iterator[Execution]] = {}
        self.next: dict[Block, Execution] = {}

    def run(self) -> None:
        """Execute all operations once; those of which a wait is never met stay in `next`."""
        self._left = {block: self.layout.executions(block) for block in self.blocks}
        for block in self.blocks:
            self._go_on(block)
        is_going = True
        while is_going:
            is_going = False
            for block in self.blocks:
                while block in self.next and self._step(self.next[block], can_share=False):
                    is_going = True
            if not is_going:
                is_going = any(self._step(execution, can_share=True) for execution in list(self.next.values()))

    def operations(self, block: Block) -> Iterator[Operation]:
        """Give the operations of a thread block, with those in its pipelines."""
        for operation in self.plan.gpus[block[0]].blocks[block[1]]:
            yield from operation.operations or (operation,)

    def reason(self, execution: Execution) -> str:
        """Return what an operation in `next` waits for."""
        operation = execution.operation
        for channel in operation.channels if operation.name in ("wait", "rlxwait") else ():
            if self.value(channel) <= 0:
                sent = len(self._marks[channel])
                return f"signal {self._waits[channel]} on {channel}, of which gpu {channel.peer} sends {sent}"
        for number in operation.semaphores:
            semaphore = (execution.block[0], number)
            if self.value(semaphore) <= 0:
                return f"semaphore {number}, which is released {len(self._marks[semaphore])} times"
        if operation.name == "barrier":
            number, blocks = operation.barrier
            arrived = len(self._arrivals[execution.block[0], number])
            return f"{blocks} thread blocks at barrier {number}, where {arrived} arrive"
        return "packets that nobody writes"

    def packets(self, execution: Execution) -> list[Region]:
        """Return the memory whose packets an operation waits for."""
        operation = execution.operation
        sources = (one for one in operation.sources if one.has_packets and not operation.is_sent_whole)
        return [self.layout.region(execution, one) for one in sources]

    def has_packets(self, region: Region) -> bool:
        """Return whether the packets of a region are there."""
        raise NotImplementedError

    def transfer(self, execution: Execution) -> None:
        """Do what an operation does with data."""
        raise NotImplementedError

    def synchronize(self, block: Block) -> None:
        """Let the threads of a block wait for each other: nothing to do where a block is one task after another."""

    def meet(self, blocks: Sequence[Block]) -> None:
        """Let the thread blocks of a GPU wait for each other."""
        raise NotImplementedError

    def flush(self, execution: Execution, thread: int, channel: Channel) -> None:
        """Let a thread wait until a channel has read all that it sends."""
        raise NotImplementedError

    def mark(self, execution: Execution, thread: int, channel: Channel | None) -> T:
        """Return the mark of a signal by a thread, or of its release of a semaphore."""
        raise NotImplementedError

    def obtain(self, execution: Execution, thread: int, marks: Sequence[T], count: int) -> None:
        """Let a thread continue after so many of these signals or releases."""
        raise NotImplementedError

    def _go_on(self, block: Block) -> None:
        self.next.pop(block, None)
        if (execution := next(self._left[block], None)) is not None:
            self.next[block] = execution

    def _step(self, execution: Execution, *, can_share: bool) -> bool:
        """Execute an operation, and return whether it could go on."""
        name = execution.operation.name
        if execution.operation.form is not None:
            if not all(map(self.has_packets, self.packets(execution))):
                return False
            self.transfer(execution)
        elif name == "nop":
            self.synchronize(execution.block)
        elif name == "barrier":
            return self._arrive(execution)
        elif name in ("wait", "rlxwait", "sem_acquire"):
            if not self._wait(execution, can_share=can_share):
                return False
        else:
            self._act(execution)
        self._go_on(execution.block)
        return True

    def _act(self, execution: Execution) -> None:
        """Signal, flush, or release semaphores."""
        operation = execution.operation
        act = self.flush if operation.name == "flush" else self.signal
        for thread, channel in enumerate(operation.channels):
            act(execution, thread, channel)
        for thread, number in enumerate(operation.semaphores):
            self._marks[execution.block[0], number].append(self.mark(execution, thread, None))

    def signal(self, execution: Execution, thread: int, channel: Channel) -> None:
        """Leave the mark of a thread's signal at the other end of a channel."""
        self._marks[channel.other_end()].append(self.mark(execution, thread, channel))

    def _wait(self, execution: Execution, *, can_share: bool) -> bool:
        """Let threads wait for signals or acquire semaphores, and return whether all could."""
        operation = execution.operation
        gpu, _ = execution.block
        synchronizers: list[Synchronizer] = [*operation.channels, *((gpu, one) for one in operation.semaphores)]
        for synchronizer, times in Counter(synchronizers).items():
            if self.value(synchronizer) < times or (synchronizer in self._open and not can_share):
                return False
        for thread, synchronizer in enumerate(synchronizers):
            self._waits[synchronizer] += 1
            self._waits_of[execution.block, synchronizer] += 1
            count = self._waits_of[execution.block, synchronizer] - self._initial(synchronizer)
            if count > 0:
                self.obtain(execution, thread, self._marks[synchronizer], count)
        return True

    def _arrive(self, execution: Execution) -> bool:
        """Bring a block to a barrier; all blocks go on once the last has arrived."""
        number, blocks = execution.operation.barrier
        blocks_there = self._arrivals[execution.block[0], number]
        if execution.block in blocks_there:
            return False
        blocks_there.append(execution.block)
        if len(blocks_there) == blocks:
            self.meet(tuple(blocks_there))
            for block in blocks_there:
                self._go_on(block)
            blocks_there.clear()
        return True

    def value(self, synchronizer: Synchronizer) -> int:
        """Return the value of a semaphore, or how many signals of a channel no wait has met."""
        return self._initial(synchronizer) + len(self._marks[synchronizer]) - self._waits[synchronizer]

    def _initial(self, synchronizer: Synchronizer) -> int:
        return 0 if isinstance(synchronizer, Channel) else self.plan.gpus[synchronizer[0]].semaphores[synchronizer[1]]

    def _signalled_by_several(self) -> set[Synchronizer]:
        """Return the channels and semaphores that several blocks signal or release, in an order that is open."""
        blocks: dict[Synchronizer, set[Block]] = defaultdict(set)
        for gpu, number in self.blocks:
            for operation in self.operations((gpu, number)):
                has_signal = operation.form.has_signal if operation.form else operation.name in ("signal", "rlxsignal")
                for channel in operation.channels if has_signal else ():
                    blocks[channel.other_end()].add((gpu, number))
                for semaphore in operation.semaphores if operation.name == "sem_release" else ():
                    blocks[gpu, semaphore].add((gpu, number))
        return {what for what, of in blocks.items() if len(of) > 1}
