"""The critical path of a simulation: the chain of operations and messages that determines its time, and its parts.

The path is followed backwards from the end of the last rank. An operation begins when the previous one on its rank is
done; a message may have waited for its other end. The network model itself tells for which end a message waited and
what its time consists of. For this, the same message is simulated alone, once with each end late: on the machine, and
on variants of the machine with one kind of cost halved. This works because the time of a message alone is linear in the
costs. A reduction or copy waits for its processor as long as it takes longer than alone.

With late ranks, the path starts where a rank begins the call. A message that a slow link delays is also simulated alone
with the faults; what it takes longer then is the fault's.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from hocket._native import Error
from hocket.base.checks import quote
from hocket.definitions.machine import Machine
from hocket.definitions.variants import halve, quiet, with_peers_known
from hocket.schedules.dependencies import pair_ends
from hocket.schedules.schedule import Schedule
from hocket.simulating.faults import Faults
from hocket.simulating.simulation import Event, Simulation, simulate

PARTS = ("latency", "bandwidth", "overhead", "computation", "waiting", "fault", "noise")
"""The parts of the time on a critical path."""

_WORK = {"reduce": "combine", "copy": "copy"}  # kinds of work on bytes, and their actions in schedules
_MESSAGES = ("send", "recv")
_SAME = 1e-9  # relative to the end of an operation: smaller differences are rounding


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


def critical_path(result: Simulation, *, machine: Machine, quiet_result: Simulation | None = None) -> tuple[Step, ...]:
    """Return the steps of the critical path of a simulation, in order of time, from a rank's arrival to the last end.

    If several paths are equally long, the function returns one of them and prefers messages.

    Args:
        result: A simulation with its events of the first trial.
        machine: The machine of the simulation.
        quiet_result: The same simulation without noise, if the machine has noise. The additional time of an operation
            then counts as noise; without this argument it counts as computation or waiting.

    Raises:
        Error: The machine has circuits: a message alone would have no circuit. Or there are several calls.
    """
    if result.cadence is not None:
        raise Error(f"cadence: got {quote(result.cadence)}, expected none, as a critical path is of one call")
    if machine.model == "circuits":
        models = "hockney, loggp, links or packets"
        raise Error(f"machine {machine.name}: got the network model circuits, expected {models}")
    runs = (result, quiet_result) if quiet_result else (result,)
    messages = _messages(runs, quiet(machine) or machine)
    steps = [*_backwards(result, messages)][::-1]
    if quiet_result is None:
        return tuple(steps)
    others, on_path = match_events(quiet_result.events), {step.event for step in steps}
    counterparts = {number: event for event, number in _numbers(quiet_result.events).items()}
    without_noise = {
        event: _step(counterparts[number], others.get(counterparts[number]), messages)
        for event, number in _numbers(result.events).items()
        if event in on_path and number in counterparts
    }
    return tuple(_with_noise(step, without_noise.get(step.event)) for step in steps)


def _messages(runs: Sequence[Simulation], machine: Machine) -> _Messages:
    """Return the messages of several simulations of a call, each message alone on a quiet machine."""
    without = with_peers_known(machine)
    ranks, faults = runs[0].ranks, runs[0].faults
    if without is None:
        return _Messages(ranks, machine, faults)
    firsts: set[Event] = set()
    for run in runs:
        sends = sorted((event for event in run.events if event.kind == "send"), key=lambda event: event.start_s)
        firsts.update({(send.rank, send.peer): send for send in reversed(sends)}.values())
    return _Messages(ranks, machine, faults, firsts=frozenset(firsts), later=_Messages(ranks, without, faults))


def _with_noise(step: Step, quiet: Step | None) -> Step:
    """Return a step where computation and waiting beyond the undisturbed step count as noise."""
    now = {part: step.parts_s.get(part, 0.0) for part in ("computation", "waiting")}
    parts_s = {part: min(now_s, quiet.parts_s.get(part, 0.0)) for part, now_s in now.items()} if quiet else now
    noise_s = sum(now.values()) - sum(parts_s.values())
    return replace(step, parts_s={**step.parts_s, **parts_s, "noise": noise_s})


def _numbers(events: Iterable[Event]) -> dict[Event, tuple[Any, ...]]:
    """Return an identity of each operation, without its time: rank, kind, peer, tag, and a running number."""
    counts: dict[tuple[Any, ...], int] = defaultdict(int)
    numbers = {}
    for event in events:
        what = (event.rank, event.kind, event.peer, event.tag)
        numbers[event] = (*what, counts[what])
        counts[what] += 1
    return numbers


def total(steps: Iterable[Step]) -> dict[str, float]:
    """Return the parts of a path in seconds, added up over its steps."""
    parts_of_steps = [step.parts_s for step in steps]
    return {part: math.fsum(parts_s.get(part, 0.0) for parts_s in parts_of_steps) for part in PARTS}


def match_events(events: Iterable[Event]) -> dict[Event, Event]:
    """Return the other end of each send and receive.

    The k-th send from a source to a destination with a tag belongs to the k-th receive there.
    """
    ends = ((event.kind, event.rank, event.peer, event.tag, event) for event in events)
    return {one: other for send, recv in pair_ends(ends) for one, other in ((send, recv), (recv, send))}


def _backwards(result: Simulation, messages: _Messages) -> Iterator[Step]:
    """Follow the path from the end of the simulation to a rank's arrival; there is none if the last arrival ends it."""
    ended: dict[tuple[int, float], list[Event]] = defaultdict(list)
    for event in result.events:
        if event.end_s > event.start_s:
            ended[event.rank, event.end_s].append(event)
    others = match_events(result.events)
    end_s = result.times_s[0] + sum(result.arriving_s[:1])
    if result.times_s[0] <= _SAME * end_s:  # the last arrival ends the call
        return
    until_s = end_s * (1 + _SAME)  # ignore work after the results are complete
    rank, time_s = max(
        (place for place in ended if place[1] <= until_s),
        key=lambda place: (place[1], any(event.kind == "recv" for event in ended[place]), place[0]),
        default=(0, 0.0),
    )
    while candidates := ended.get((rank, time_s)):
        event = max(candidates, key=lambda event: (event.kind == "recv", -event.start_s))
        candidates.remove(event)
        step = _step(event, others.get(event), messages)
        yield step
        rank, time_s = step.from_rank, step.start_s


def _step(event: Event, other: Event | None, messages: _Messages) -> Step:
    """Return the step that ends with an operation; a message step starts at the end that came later."""
    if event.kind == "compute" or event.kind in _WORK:
        taken_s = event.end_s - event.start_s
        waiting_s = taken_s - messages.work_s(event) if event.kind in _WORK else 0.0
        if waiting_s <= _SAME * event.end_s:
            waiting_s = 0.0
        parts_s = {"computation": taken_s - waiting_s, "waiting": waiting_s}
        return Step(event, event.rank, event.start_s, parts_s)
    if event.kind not in _MESSAGES or other is None:
        return Step(event, event.rank, event.start_s, {"waiting": event.end_s - event.start_s})
    send, recv = (event, other) if event.kind == "send" else (other, event)
    group = messages.group_of(send)
    late = group.late(send.rank, recv.rank, int(send.bytes))
    # For each end, when the operation would be done if this end were late and nothing else were under way.
    ready = {
        end.kind: end.start_s + late[end.kind][event.kind]["all"]
        for end in (other, event)
        if event.kind in late[end.kind]
    }
    slack_s = _SAME * event.end_s
    possible = [kind for kind, ready_s in ready.items() if ready_s <= event.end_s + slack_s]
    if not possible:  # posted: the rank continues before the message has left
        return Step(event, event.rank, event.start_s, {"overhead": event.end_s - event.start_s})
    kind = max(possible, key=lambda kind: (ready[kind], kind == "send"))
    first = send if kind == "send" else recv
    lateness = late[kind][event.kind]
    parts_s = {part: lateness[part] for part in ("latency", "overhead")}
    waiting_s = event.end_s - ready[kind]
    if waiting_s > slack_s:
        delay_s = group.delay_s(send, recv)[event.kind]
        parts_s["fault"] = delay_s if delay_s < waiting_s - slack_s else waiting_s
        parts_s["waiting"] = waiting_s - parts_s["fault"]
    rest_s = event.end_s - first.start_s - math.fsum(parts_s.values())
    # The rest of a message without bytes is rounding.
    part = "bandwidth" if send.bytes > 0 else max(parts_s, key=lambda part: parts_s[part])
    parts_s[part] = parts_s.get(part, 0.0) + rest_s
    return Step(event, first.rank, first.start_s, parts_s)


_Late: TypeAlias = "dict[str, dict[str, dict[str, float]]]"
"""A message alone: for each late end, the times until its send and receive are done, by part and as "all".

An end that is done before the late end starts has no entry.
"""


@dataclass(frozen=True)
class _Messages:
    """Messages alone on a quiet machine. If first messages to peers cost more, `later` holds the other messages."""

    ranks: int
    machine: Machine
    faults: tuple[str, ...]
    late_times_s: dict[Any, _Late] = field(default_factory=dict)
    works_s: dict[tuple[str, float], float] = field(default_factory=dict)
    firsts: frozenset[Event] = frozenset()
    later: _Messages | None = None

    def group_of(self, send: Event) -> _Messages:
        """Return the group of messages with the same costs as this one."""
        return self if self.later is None or send in self.firsts else self.later

    @cached_property
    def variants(self) -> dict[str, Machine | None]:
        """The machine with one kind of cost halved, by kind."""
        return {part: halve(self.machine, part) for part in ("latency", "overhead")}

    def late(self, source: int, destination: int, size_bytes: int) -> _Late:
        """Return the times of a message alone between two ranks; pairs at the same distance share one simulation."""
        key = (*self._distance(source, destination), size_bytes)
        if key not in self.late_times_s:
            message = (source, destination, size_bytes)
            wait_s = 2 * max(self._ends(self.machine, self._lone_message(*message, {})).values())
            self.late_times_s[key] = {
                kind: self._after(wait_s, self._lone_message(*message, {kind: wait_s})) for kind in _MESSAGES
            }
        return self.late_times_s[key]

    def work_s(self, event: Event) -> float:
        """Return the time of a reduction or copy alone."""
        key = event.kind, event.bytes
        if key not in self.works_s:
            span = {"offset": 0, "len": int(event.bytes)}
            ends = {"source": {"buffer": "input", **span}, "target": {"buffer": "result", **span}}
            side = {"is_source_left": False} if event.kind == "reduce" else {}
            task = {"action": {_WORK[event.kind]: {**ends, **side}}}
            result = simulate(self._schedule({0: [task]}), machine=self.machine, keep=["events"])
            self.works_s[key] = sum(one.end_s - one.start_s for one in result.events)
        return self.works_s[key]

    def delay_s(self, send: Event, recv: Event) -> dict[str, float]:
        """Return how much later the ends of a message are with the faults, if it is alone."""
        none = dict.fromkeys(_MESSAGES, 0.0)
        if not self.faults:
            return none
        starts_s = {"send": send.start_s, "recv": recv.start_s}
        lone_message = self._lone_message(send.rank, recv.rank, int(send.bytes), starts_s)
        try:
            ends = self._ends(self.machine, lone_message, self.faults)
        except Error:  # alone, it would be on a link that goes down for good
            return none
        without = self._ends(self.machine, lone_message)
        return {kind: max(ends[kind] - without[kind], 0.0) for kind in _MESSAGES}

    def _distance(self, source: int, destination: int) -> tuple[Any, ...]:
        if self.machine.model not in ("hockney", "loggp"):
            return source, destination
        return self.machine.handle.level_of(source, destination, self.ranks), source == destination

    def _after(self, wait_s: float, lone_message: Schedule) -> dict[str, dict[str, float]]:
        """Return the times of a message alone if the send or the receive waits for so long."""
        ends_s = self._ends(self.machine, lone_message)
        lateness_s = {kind: {"all": end_s - wait_s} for kind, end_s in ends_s.items() if end_s >= wait_s}
        for part, variant in self.variants.items():
            less = ends_s if variant is None else self._ends(variant, lone_message)
            for kind, parts in lateness_s.items():
                parts[part] = 2 * (ends_s[kind] - less[kind])
        return lateness_s

    def _lone_message(self, source: int, destination: int, size_bytes: int, starts_s: Mapping[str, float]) -> Schedule:
        """Return a message whose send and receive start at these times, or else at 0 s."""
        span = {"buffer": "result", "offset": 0, "len": size_bytes}
        actions = {
            source: {"send": {"to": destination, "tag": 0, "data": span}},
            destination: {"recv": {"from": source, "tag": 0, "into": span}},
        }
        tasks: dict[int, list[dict[str, Any]]] = {}
        for rank, action in actions.items():
            wait_s = next((starts_s[kind] for kind in action if kind in starts_s), None)
            waits = [] if wait_s is None else [{"action": {"compute": {"time_s": wait_s}}}]
            tasks[rank] = [*waits, {"action": action, **({"after": [0]} if waits else {})}]
        return self._schedule(tasks)

    def _schedule(self, tasks: Mapping[int, list[dict[str, Any]]]) -> Schedule:
        """Return a schedule in which these ranks have tasks."""
        ranks = [tasks.get(rank, []) for rank in range(self.ranks)]
        data = {"format": 1, "element_bytes": 1, "scratch": [0] * self.ranks, "ranks": ranks}
        return Schedule.of("an operation alone", data)

    def _ends(self, machine: Machine, lone_message: Schedule, faults: Faults = ()) -> dict[str, float]:
        """Return the ends of the send and the receive of a message."""
        result = simulate(lone_message, machine=machine, faults=faults, keep=["events"])
        return {event.kind: event.end_s for event in result.events if event.kind in _MESSAGES}
