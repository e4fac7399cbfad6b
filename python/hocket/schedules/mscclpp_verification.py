"""Verification of execution plans of MSCCL++: deadlocks, races for bytes, left-over signals, and the result.

Vector clocks order the operations. The threads of a block go on by themselves, as in the kernel: only `nop` and
`barrier` let them wait for each other. So a signal covers what its block did before the last `nop`, and what a wait has
seen holds for its block after the next one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from itertools import chain
from math import gcd, lcm
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket._native import Error
from hocket.base import checks
from hocket.base.units import format_bytes, format_count, format_ranks, runs
from hocket.definitions.verification import Finding, Verdict
from hocket.schedules.mscclpp import BUFFERS, FORMS, Channel, Operand, Plan
from hocket.schedules.mscclpp_walk import Block, Execution, Layout, Region, Walk

_Clock = NDArray[np.int32]
"""For each agent, how many of its stretches are over: those whose writes can be seen, and those that are only over."""
_SEEN, _ENDS = 0, 1

_MOST_CELLS = 1 << 20  # of all buffers
_MOST_WORK = 1 << 22  # operations, and cells that they read and write
_MOST_CLOCK_BYTES = 1 << 31
_MOST_RING = 64  # pieces of a chunk that go through scratch memory
_MOST_RACES = 20
_MOST_LINES = 8
_NO_ORDER = "signals, packets or barriers that order its uses", "two uses that may happen at the same time"
_INVISIBLE = "a signal that shows what was written", "relaxed signals or packets between its uses only"
"""What is expected between two uses of memory, and what is there instead."""
_NOTHING = 0  # the value of memory that was never written


def verify_plan(content: Plan) -> Verdict:
    """Check a plan: deadlocks, races, signals that nobody waits for, and the result.

    The plan runs two or three times, one call after another, because calls share the scratch memory and the channels. A
    plan that is too long to check is refused.
    """
    checks.instance("verify_plan", content, Plan, "hocket.schedules.mscclpp.Plan")
    attempts = (([*_Run(layout).faults()], where) for layout, where in _layouts(content))
    faults, where = next((attempt for attempt in attempts if attempt[0]), ([], ""))
    of_plan = {"algorithm": content.name, "collective": "schedule", "ranks": content.ranks}
    of_plan |= dict.fromkeys(("call", "protocol", "step"))
    wrong = [replace(one, got=one.got + where) for one in faults]
    counterexamples = tuple(dict(sorted({**of_plan, **vars(one), "message": one.message}.items())) for one in wrong)
    return Verdict((Finding("schedule", content.name, content.ranks, 1, "deterministic", 1, 0, counterexamples, None),))


@dataclass(frozen=True)
class _Fault:
    kind: str
    at_ranks: tuple[int, ...]
    span: str | None
    expected: str
    got: str
    details: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        where = f"gpu {self.at_ranks[0]}" if self.span is None else self.span
        lines = (f"{self.kind}: {where}", f"expected {self.expected}", f"got      {self.got}", *self.details)
        return "\n  ".join(lines)


class _Access(NamedTuple):
    """A read or a write: by which thread in which stretch of an agent, its place in their order, and what did it."""

    agent: int
    stretch: int
    thread: tuple[int, int]
    order: int
    execution: Execution | None
    call: int
    is_write: bool
    has_packets: bool = False

    def describe(self, gpu: int, when: str) -> str:
        if self.execution is None:
            return f"gpu {gpu}, what comes {when} the call"
        return f"{self.execution} {'writes' if self.is_write else 'reads'}"


@dataclass(frozen=True)
class _Race:
    """Two accesses to cells of a buffer that nothing orders; or only nothing that makes a write visible."""

    earlier: _Access
    access: _Access
    gpu: int
    buffer: str
    is_over: bool
    cells: list[int]


_Steps = dict[tuple[int, int, tuple[int, int]], int]
"""For a stretch of an agent and one of its threads, how far it has come."""


@dataclass(frozen=True)
class _Knowledge:
    """What is known to be over: stretches of agents, and the steps of single threads in stretches that go on."""

    clock: _Clock
    steps: _Steps = field(default_factory=dict)

    def __or__(self, other: _Knowledge) -> _Knowledge:
        return _Knowledge(np.maximum(self.clock, other.clock), _later(self.steps, other.steps))

    def without_writes(self) -> _Knowledge:
        """Return what is known to be over, without the knowledge that writes can be seen."""
        return _Knowledge(np.stack((np.zeros_like(self.clock[_SEEN]), self.clock[_ENDS])), self.steps)

    def orders(self, earlier: _Access, access: _Access) -> bool:
        """Return whether an access is of the same thread, or over, and a write can be seen; packets can be at once."""
        if (earlier.agent, earlier.stretch, earlier.thread) == (access.agent, access.stretch, access.thread):
            return True
        if earlier.is_write and not earlier.has_packets and earlier.execution is not None:
            return bool(self.clock[_SEEN, earlier.agent] >= earlier.stretch)
        return self.has_end_of(earlier)

    def has_end_of(self, access: _Access) -> bool:
        """Return whether an access is over."""
        step = self.steps.get((access.agent, access.stretch, access.thread), -1)
        return bool(self.clock[_ENDS, access.agent] >= access.stretch) or step >= access.order


def _later(left: _Steps, right: _Steps) -> _Steps:
    fewer, more = sorted((left, right), key=len)
    latest = {key: step for key, step in fewer.items() if step > more.get(key, -1)}
    return {**more, **latest} if latest else more


class _Memory:
    """A buffer of a GPU: for each cell its value, the call whose packets it holds, and its last accesses."""

    def __init__(self, cells: int) -> None:
        self.values = [_NOTHING] * cells
        self.flags = [0] * cells
        self.packets: list[_Knowledge | None] = [None] * cells
        self.writes: list[_Access | None] = [None] * cells
        self.reads: list[dict[tuple[int, tuple[int, int]], _Access]] = [{} for _ in range(cells)]


class _Agent:
    """What works by itself: a thread block, a channel on behalf of a block, or what comes before and after calls."""

    def __init__(self, number: int, agents: int) -> None:
        self.number = number
        self.knowledge = _Knowledge(np.zeros((2, agents), np.int32))  # what all its threads know
        self.stretch = 1  # the number of its stretch between two waits of its threads for each other
        self.threads: dict[int, _Knowledge] = {}  # what single threads know besides: those that signal and wait
        # What threads know from packets that they read, by their width in bytes and their place in the data.
        self.lanes: dict[tuple[int, int], _Knowledge] = {}

    def known_to(self, thread: int) -> _Knowledge:
        return self.threads.get(thread, self.knowledge)

    def synchronize(self) -> None:
        """End the stretch: all threads know what each knows."""
        for knowledge in (*self.threads.values(), *self.lanes.values()):
            self.knowledge |= knowledge
        self.threads.clear()
        self.lanes.clear()
        clock = self.knowledge.clock.copy()
        clock[:, self.number] = self.stretch
        steps = {key: step for key, step in self.knowledge.steps.items() if clock[_ENDS, key[0]] < key[1]}
        self.knowledge = _Knowledge(clock, steps)
        self.stretch += 1


class _Values:
    """Symbolic values: sums of cells of inputs, by number."""

    def __init__(self) -> None:
        self.terms: list[tuple[tuple[int, int], ...]] = [((-1, -1),)]
        self._numbers = {self.terms[_NOTHING]: _NOTHING}
        self._sums: dict[tuple[int, int], int] = {}

    def number(self, terms: tuple[tuple[int, int], ...]) -> int:
        number = self._numbers.setdefault(terms, len(self.terms))
        if number == len(self.terms):
            self.terms.append(terms)
        return number

    def add(self, left: int, right: int) -> int:
        key = (left, right) if left < right else (right, left)
        if key not in self._sums:
            self._sums[key] = self.number(tuple(sorted(self.terms[left] + self.terms[right])))
        return self._sums[key]


class _Run(Walk[tuple[int, _Knowledge]]):
    """Runs calls of a plan on symbolic values. A mark is its agent and what the agent knew."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        plan = layout.plan
        names = [*range(plan.ranks), *self.blocks, *self._senders()]
        self._check_size(len(names))
        self._values = _Values()
        self._call = 0
        self._agents: dict[Any, _Agent] = {name: _Agent(number, len(names)) for number, name in enumerate(names)}
        self._memories = {
            (gpu, buffer, half): _Memory(cells)
            for gpu in range(plan.ranks)
            for buffer, cells in self._rooms(gpu).items()
            for half in ((0, 1) if buffer == "s" and plan.has_two_scratches else (0,))
        }
        self._steps = 0
        self._races: dict[Any, _Race] = {}

    def faults(self) -> Iterator[_Fault]:
        """Give what is wrong."""
        wrong: list[_Fault] = []
        has_halves = self.plan.has_two_scratches and any(gpu.scratch_chunks for gpu in self.plan.gpus)
        for _ in range(3 if has_halves else 2):  # calls use all of the scratch memory twice
            self._start()
            self.run()
            if self.next:
                yield self._deadlock()
                break
            for block in self.blocks:
                self._agents[block].synchronize()
            wrong = wrong or [*self._wrong_results()]
            if left := [*self._leftovers()]:
                wrong += left
                break
        if not self.next:
            self._start()
        yield from self._races_found()
        yield from wrong

    def has_packets(self, region: Region) -> bool:
        flags = self._memory(region).flags[region.begin : region.begin + region.length]
        return all(flag == self._call for flag in flags)

    def transfer(self, execution: Execution) -> None:
        operation = execution.operation
        block = self._agents[execution.block]
        if operation.kind == "port" and operation.channels:
            if operation.name == "rppkt":
                self._apply(execution, block, operation.sources, ())
                block.synchronize()
            for thread, channel in enumerate(operation.channels):
                self._send(execution, thread, channel)
            return
        self._apply(execution, block, operation.sources, operation.targets)

    def synchronize(self, block: Block) -> None:
        self._agents[block].synchronize()

    def meet(self, blocks: Sequence[Block]) -> None:
        agents = [self._agents[block] for block in blocks]
        for agent in agents:
            agent.synchronize()
        together = reduce(or_, (agent.knowledge for agent in agents))
        for agent in agents:
            agent.knowledge = together

    def flush(self, execution: Execution, thread: int, channel: Channel) -> None:
        self._learn(execution.block, thread, self._agents[execution.block, channel].knowledge)

    def mark(self, execution: Execution, thread: int, channel: Channel | None) -> tuple[int, _Knowledge]:
        agent = self._agents[execution.block]
        knowledge = agent.known_to(thread)
        if channel is not None and channel.kind == "port":
            agent = self._agents[execution.block, channel]
            agent.knowledge |= knowledge
            knowledge = agent.knowledge
        return agent.number, knowledge.without_writes() if execution.operation.name == "rlxsignal" else knowledge

    def obtain(self, execution: Execution, thread: int, marks: Sequence[tuple[int, _Knowledge]], count: int) -> None:
        if len({agent for agent, _ in marks}) == 1:
            knowledge = marks[count - 1][1]
        else:  # any of them may be the first: what holds after so many of them, whichever these are
            knowledge = _Knowledge(np.sort(np.stack([one.clock for _, one in marks]), axis=0)[count - 1])
        if execution.operation.name == "rlxwait":
            knowledge = knowledge.without_writes()
        self._learn(execution.block, thread, knowledge)

    def _learn(self, block: Block, thread: int, knowledge: _Knowledge) -> None:
        agent = self._agents[block]
        agent.threads[thread] = agent.known_to(thread) | knowledge

    def _send(self, execution: Execution, thread: int, channel: Channel) -> None:
        """Let a channel do what a thread orders: it reads and writes by itself, in the order of its orders."""
        operation = execution.operation
        form = FORMS[operation.name]
        sender = self._agents[execution.block, channel]
        sender.knowledge |= self._agents[execution.block].known_to(thread)
        source = operation.sources[0 if operation.name == "rppkt" else thread]
        self._apply(execution, sender, (source,), (operation.targets[thread],))
        sender.synchronize()
        if form.has_signal:
            self.signal(execution, thread, channel)
        if form.has_flush:
            self.flush(execution, thread, channel)

    def _apply(
        self, execution: Execution, agent: _Agent, sources: Sequence[Operand], targets: Sequence[Operand]
    ) -> None:
        """Read the sources and write the targets, part by part."""
        form = FORMS[execution.operation.name]
        self._steps += 1
        operands = (*execution.operation.sources, *execution.operation.targets)
        width = 8 if any(operand.has_packets for operand in operands) else 16
        is_block = agent is self._agents[execution.block]
        inputs = [(self.layout.region(execution, one), 1 + one.has_packets) for one in sources]
        outputs = [(self.layout.region(execution, one), 1 + one.has_packets) for one in targets]
        for at in range(inputs[0][0].length // inputs[0][1]):
            lane = (width, at) if is_block else (0, 0)
            knowledge = agent.knowledge | agent.lanes[lane] if lane in agent.lanes else agent.knowledge
            access = _Access(agent.number, agent.stretch, lane, self._steps, execution, self._call, is_write=False)
            values = []
            flag = self._call
            for region, room in inputs:
                memory = self._memory(region)
                begin = region.begin + at * room
                packets = memory.packets[begin] if is_block and room == 2 else None
                if packets is not None:
                    knowledge |= packets
                    agent.lanes[lane] = knowledge
                for cell in range(begin, begin + room):
                    self._check(memory, region, cell, access, knowledge)
                    memory.reads[cell][access.agent, access.thread] = access
                values.append(memory.values[begin])
                flag = flag if is_block else memory.flags[begin]
            total = reduce(self._values.add, values) if form.is_reduction else values[0]
            for number, (region, room) in enumerate(outputs):
                value = total if form.is_reduction or len(values) == 1 else values[number]
                self._write(region, at, room, access, knowledge, (value, flag))

    def _write(
        self, region: Region, at: int, room: int, access: _Access, knowledge: _Knowledge, content: tuple[int, int]
    ) -> None:
        """Write a value and, for packets, their flag. Who reads the first packets there knows what the writer knew."""
        memory = self._memory(region)
        access = access._replace(is_write=True, has_packets=room == 2)
        packets = None
        begin = region.begin + at * room
        if room == 2 and memory.flags[begin] != self._call:
            step = {(access.agent, access.stretch, access.thread): access.order}
            packets = _Knowledge(knowledge.clock, _later(knowledge.steps, step))
        for cell in range(begin, begin + room):
            self._check(memory, region, cell, access, knowledge)
            memory.writes[cell], memory.reads[cell] = access, {}
            memory.values[cell] = content[0]
            memory.flags[cell] = content[1] if room == 2 else 0
            memory.packets[cell] = packets

    def _check(self, memory: _Memory, region: Region, cell: int, access: _Access, knowledge: _Knowledge) -> None:
        """Note the accesses that may happen at the same time as this one, if one of the two writes."""
        write = memory.writes[cell]
        if write is not None and not knowledge.orders(write, access):
            self._note(write, access, region, cell, is_over=knowledge.has_end_of(write))
        if access.is_write:
            for read in memory.reads[cell].values():
                if not knowledge.orders(read, access):
                    self._note(read, access, region, cell, is_over=False)

    def _note(self, earlier: _Access, access: _Access, region: Region, cell: int, *, is_over: bool) -> None:
        places = tuple(one.execution.place if one.execution else (region.gpu,) for one in (earlier, access))
        key = (frozenset(places), region.gpu, region.buffer, earlier.is_write, access.is_write)
        race = self._races.setdefault(key, _Race(earlier, access, region.gpu, region.buffer, is_over, []))
        race.cells.append(cell)

    def _start(self) -> None:
        """Begin a call: what comes before writes inputs, and reads and writes outputs."""
        self._call += 1
        for gpu in range(self.plan.ranks):
            agent = self._agents[gpu]
            blocks = [self._agents[block] for block in self.blocks if block[0] == gpu]
            for block in blocks:
                agent.knowledge |= block.knowledge
            agent.stretch = self._call
            access = _Access(agent.number, self._call, (0, 0), 0, None, self._call, is_write=True)
            for buffer in self._rooms(gpu):
                memory = self._memory(Region(gpu, buffer, 0, 0))
                for cell in range(len(memory.values)) if buffer != "s" else ():
                    self._check(memory, Region(gpu, buffer, cell, 1), cell, access, agent.knowledge)
                    memory.writes[cell], memory.reads[cell], memory.values[cell] = access, {}, _NOTHING
            agent.synchronize()
            for block in blocks:
                block.knowledge |= agent.knowledge
            buffer, first = self.plan.resolve(gpu, "i")
            values = self._memory(Region(gpu, buffer, 0, 0)).values
            for cell in range(self.plan.input_chunks * self.layout.chunk):
                values[first * self.layout.chunk + cell] = self._values.number(((gpu, cell),))

    def _memory(self, region: Region) -> _Memory:
        half = self._call % 2 if region.buffer == "s" and self.plan.has_two_scratches else 0
        return self._memories[region.gpu, region.buffer, half]

    def _rooms(self, gpu: int) -> dict[str, int]:
        """Return the number of cells of each buffer of a GPU; scratch memory has room for packets."""
        chunks = {"i": self.plan.input_chunks, "o": self.plan.output_chunks}
        rooms: dict[str, int] = defaultdict(int)
        for buffer, count in chunks.items():
            memory, first = self.plan.resolve(gpu, buffer)
            rooms[memory] = max(rooms[memory], (first + count) * self.layout.chunk)
        rooms["s"] = 2 * self.plan.gpus[gpu].scratch_chunks * (self.layout.ring[gpu] or self.layout.chunk)
        return rooms

    def _senders(self) -> list[tuple[Block, Channel]]:
        """Return the port channels of every block."""
        channels = ((block, one) for block in self.blocks for each in self.operations(block) for one in each.channels)
        return list(dict.fromkeys((block, channel) for block, channel in channels if channel.kind == "port"))

    def _check_size(self, agents: int) -> None:
        """Refuse a plan that is too long to check."""
        cells = sum(sum(self._rooms(gpu).values()) for gpu in range(self.plan.ranks))
        work, marks = sum(map(self.layout.count, self.blocks)), 2 * agents
        if cells <= _MOST_CELLS and work <= _MOST_WORK:
            for execution in chain.from_iterable(map(self.layout.executions, self.blocks)):
                operation = execution.operation
                operands = (*operation.sources, *operation.targets)
                work += sum(self.layout.region(execution, operand).length for operand in operands)
                marks += len(operation.channels) + len(operation.semaphores)
        if cells > _MOST_CELLS or work > _MOST_WORK or 8 * agents * marks > _MOST_CLOCK_BYTES:
            what = "parts of chunks, operations or thread blocks"
            raise Error(f"{self.plan.name}: too many {what} to check, expected a smaller plan")

    def _deadlock(self) -> _Fault:
        lines = [f"{execution} waits for {self.reason(execution)}" for execution in self.next.values()]
        more = [f"and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
        call = "" if self._call == 1 else f" in call {self._call}, one after another"
        gpus = tuple(dict.fromkeys(gpu for gpu, _ in self.next))
        got = f"{len(lines)} of {format_count(len(self.blocks), 'thread block')} waiting for ever{call}"
        expected = "every thread block to reach its end"
        return _Fault("deadlock", gpus, None, expected, got, (*lines[:_MOST_LINES], *more))

    def _leftovers(self) -> Iterator[_Fault]:
        kind = "left-over signal"
        for channel in self._marks:
            if isinstance(channel, Channel) and (left := self.value(channel)) > 0:
                expected = f"gpu {channel.gpu} to wait for every signal of gpu {channel.peer} on {channel}"
                got = f"{format_count(left, 'signal')} left over, which the next call takes for its own"
                yield _Fault(kind, (channel.gpu,), None, expected, got)
        for gpu, of in enumerate(self.plan.gpus):
            for number, value in enumerate(of.semaphores):
                if (now := self.value((gpu, number))) != value:
                    expected = f"semaphore {number} of gpu {gpu} to end with its initial value, {value}"
                    yield _Fault(kind, (gpu,), None, expected, f"{now}, with which the next call starts")

    def _races_found(self) -> Iterator[_Fault]:
        for race in list(self._races.values())[:_MOST_RACES]:
            accesses, gpu = (race.earlier, race.access), race.gpu
            regions = (Region(gpu, race.buffer, first, last + 1 - first) for first, last in runs(race.cells))
            spans = [*map(self.layout.name_of, regions)]
            is_later = all(one.execution for one in accesses) and race.earlier.call != race.access.call
            calls = ", in one call and in a later one" if is_later else ""
            expected, got = _INVISIBLE if race.is_over else _NO_ORDER
            gpus = tuple(dict.fromkeys((gpu, *(one.execution.block[0] for one in accesses if one.execution))))
            uses = (race.earlier.describe(gpu, "before"), race.access.describe(gpu, "after"))
            yield _Fault("race", gpus, ", ".join(spans[:_MOST_LINES]), expected, f"{got}{calls}", uses)
        if len(self._races) > _MOST_RACES:
            more = format_count(len(self._races) - _MOST_RACES, "more pair")
            yield _Fault("race", (0,), None, "uses in an order", f"{more} of operations that race")

    def _wrong_results(self) -> Iterator[_Fault]:
        """Give the parts of results that are wrong: for each GPU the first."""
        for gpu in range(self.plan.ranks):
            for cell, got in enumerate(self._result(gpu)):
                expected = self._expected(gpu, cell)
                if got != expected:
                    span = self.layout.name_of(Region(gpu, "o", cell, 1))
                    yield _Fault("wrong result", (gpu,), span, self._describe_sum(expected), self._describe_sum(got))
                    break

    def _result(self, gpu: int) -> Iterator[tuple[tuple[int, int], ...]]:
        """Give the values of a GPU's output."""
        buffer, first = self.plan.resolve(gpu, "o")
        values = self._memory(Region(gpu, buffer, 0, 0)).values[first * self.layout.chunk :]
        return (self._values.terms[value] for value in values[: self.plan.output_chunks * self.layout.chunk])

    def _expected(self, gpu: int, cell: int) -> tuple[tuple[int, int], ...]:
        """Return what a cell of a GPU's output should be."""
        ranks, collective = self.plan.ranks, self.plan.collective
        size = self.plan.output_chunks * self.layout.chunk
        block = size if collective == "reduce_scatter" else size // ranks
        if collective in ("allreduce", "reduce_scatter"):
            at = cell + (gpu * block if collective == "reduce_scatter" else 0)
            return tuple((other, at) for other in range(ranks))
        if collective == "allgather":
            return ((cell // block, cell % block),)
        if collective == "alltoall":
            return ((cell // block, gpu * block + cell % block),)
        return ((self._source(gpu), cell),)

    def _source(self, gpu: int) -> int:
        """Return the GPU whose input another should have: the root of a broadcast, or the sender to the GPU.

        Files do not name them: the first parts of the results tell them.
        """
        ranks = range(self.plan.ranks)
        if self.plan.collective == "sendrecv":
            return next((source for source in self._sources(gpu) if source != gpu), (gpu + 1) % len(ranks))
        return Counter(source for other in ranks for source in self._sources(other)).most_common(1)[0][0]

    def _sources(self, gpu: int) -> list[int]:
        """Return the GPU whose input a GPU's output begins with; its own if there is none."""
        return [source if source >= 0 else gpu for source, _ in next(self._result(gpu))[:1]]

    def _describe_sum(self, terms: tuple[tuple[int, int], ...]) -> str:
        """Return a value in words."""
        cells: dict[int, Counter[int]] = defaultdict(Counter)
        for gpu, cell in terms:
            cells[cell][gpu] += 1
        parts = []
        for cell, gpus in cells.items():
            if cell < 0:
                parts.append("memory that was never written")
                continue
            for times in sorted(set(gpus.values())):
                those = [gpu for gpu, count in gpus.items() if count == times]
                name = f"gpu {those[0]}" if len(those) == 1 else f"gpus {format_ranks(those)}"
                often = "" if times == 1 else f", {times} times"
                parts.append(f"{BUFFERS['i']}[{cell / self.layout.chunk:g}] of {name}{often}")
        return " + ".join(parts[:_MOST_LINES]) + (" + .." if len(parts) > _MOST_LINES else "")


def _layouts(plan: Plan) -> Iterator[tuple[Layout, str]]:
    """Give layouts of few cells, and in which calls they are.

    A chunk has cells for every part of an operation, and two pieces for every iteration of a pipeline. Without
    pipelines, the next layout has a cell more, so that parts differ. If long chunks go through a scratch buffer of
    fixed size, the next has chunks of one piece more than fit.
    """
    operations = [one for gpu in plan.gpus for block in gpu.blocks for one in block]
    inner = [one for operation in operations for one in (operation.operations or (operation,))]
    parts = lcm(*{operation.part[1] for operation in inner})
    units = {operation.unit_bytes for operation in operations if operation.unit_bytes}
    whole = (0,) * plan.ranks
    if not units:
        yield Layout(plan, parts, 1, Fraction(0), whole), ""
        if parts > 1:
            where = ", in calls whose chunks have parts of different lengths"
            yield Layout(plan, parts + 1, 1, Fraction(0), whole), where
        return
    unit, longest = gcd(*units), max(units)
    cells, scale = parts * longest // unit, Fraction(parts, unit)
    yield Layout(plan, 2 * cells, 1, scale, whole), ""
    lengths = [length for length in Layout.in_bytes(plan, plan.most_chunk_bytes).ring if length]
    if lengths and max(lengths) // longest <= _MOST_RING:
        ring = tuple(one // longest * cells for one in Layout.in_bytes(plan, plan.most_chunk_bytes).ring)
        where = f", in calls whose chunks are longer than {format_bytes(min(lengths))}"
        yield Layout(plan, max(ring) + cells, 1, scale, ring), where
