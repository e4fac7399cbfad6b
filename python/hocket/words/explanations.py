"""Explanations of the time of a call in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from hocket.base.results import TextTable
from hocket.base.units import format_bytes, format_duration, format_time
from hocket.words.simulations import late, measured

if TYPE_CHECKING:
    from hocket.simulating.collisions import Collisions
    from hocket.simulating.explanation import Explanation, Remedy
    from hocket.simulating.operations import Step

T = TypeVar("T")

_MOST_STEPS = 16  # shown
_LEAST_GAIN = 1.05  # a routing that is faster by less is not named


def explanation_facts(explanation: Explanation) -> list[tuple[str, str]]:
    """Return the time of the call, its scene, and its lower bound."""
    simulation = explanation.simulation
    facts = [("time", f"{format_time(explanation.time_s)} {measured(simulation)}"), *late(simulation)]
    facts += [("fault", fault) for fault in simulation.faults]
    if simulation.arrivals and explanation.steps:
        first = explanation.steps[0]
        begin = f"rank {first.from_rank} begins the call, {format_time(first.start_s)} after the first arrival"
        facts.append(("critical path", f"{format_time(explanation.path_s)} from when {begin}"))
    bound = explanation.bound
    if bound and bound.time_s > 0:
        times = f", {explanation.time_s / bound.time_s:.2f} times as long" if explanation.time_s else ""
        # The bound is the greatest of three times; each includes all that its demand costs.
        times_s = {"a row of messages": bound.latency_s, "bytes": bound.bandwidth_s, "combining": bound.computation_s}
        demands = ", ".join(f"{demand} {format_time(time_s)}" for demand, time_s in times_s.items() if time_s)
        facts.append(("lower bound", f"{format_time(bound.time_s)}{times}; {demands}"))
    if explanation.collisions:
        facts += _collisions(explanation.collisions, explanation.time_s)
    if explanation.left_out_s:
        changes = (f"{change} about {format_duration(each_s)}" for change, each_s in explanation.left_out_s.items())
        facts.append(("left out", f"{', '.join(changes)}: too long to simulate beside this call"))
    return facts


def _collisions(collisions: Collisions, time_s: float) -> list[tuple[str, str]]:
    """Return where flows collide, and which routings would be faster, the fastest first."""
    flows = f"{collisions.link} carries {collisions.flows} flows at once, {collisions.even} if spread evenly"
    links = f"{collisions.links} of {collisions.parallel_links} links between switches carry more than their share"
    faster = [
        f'with routing = "{routing}": {time_s / other_s:.1f} times faster'
        for routing, other_s in sorted(collisions.times_s.items(), key=lambda item: item[1])
        if time_s >= _LEAST_GAIN * other_s
    ]
    return [("collisions", f"{flows}; {links}"), ("", "; ".join(faster[:2]) or "no other routing is faster")]


def ranks_of_path(steps: Sequence[Step]) -> str:
    """Return the ranks on the critical path."""
    ranks = [step.from_rank for step in steps[:1]] + [step.event.rank for step in steps]
    return " > ".join(_shorten([str(rank) for rank, _ in groupby(ranks)], ".."))


def explanation_tables(explanation: Explanation) -> tuple[TextTable, TextTable, TextTable, TextTable | None]:
    """Return the parts of the critical path, its steps, remedies, and faster algorithms if there are any."""
    columns = ("time", "share")
    parts = (
        (part, format_time(part_s), f"{part_s / explanation.path_s:.1%}")
        for part, part_s in explanation.parts_s.items()
        if part_s > 0
    )
    steps = (
        (format_time(step.start_s), _what(step), format_bytes(int(step.event.bytes)), parts_of(step))
        for step in explanation.steps
    )
    return (
        TextTable(("on the critical path", *columns), tuple(parts), columns),
        TextTable(
            ("start", "critical path", "bytes", "consists of"),
            tuple(_shorten(list(steps), ("..", "", "", ""))),
            ("start",),
        ),
        _remedies("what would help", explanation.remedies, explanation.time_s),
        _remedies("faster algorithm", explanation.faster, explanation.time_s) if explanation.faster else None,
    )


def _shorten(values: Sequence[T], gap: T) -> list[T]:
    """Return the first and the last of many rows, with a gap between them."""
    half = _MOST_STEPS // 2
    return [*values] if len(values) <= _MOST_STEPS else [*values[:half], gap, *values[-half:]]


def _what(step: Step) -> str:
    event = step.event
    if event.kind == "recv":
        return f"message {event.peer} > {event.rank}"
    if event.kind == "send":
        return f"message {event.rank} > {event.peer}"
    return f"{event.kind} on {event.rank}"


def parts_of(step: Step) -> str:
    """Return the parts of a step of a critical path, each with its time."""
    return ", ".join(f"{part} {format_time(part_s)}" for part, part_s in step.parts_s.items() if part_s > 0)


def _remedies(what: str, remedies: Iterable[Remedy], time_s: float) -> TextTable:
    rows = ((one.label, format_time(one.time_s), f"{one.time_s / time_s - 1:+.1%}") for one in remedies)
    return TextTable((what, "time then", "change"), tuple(rows), ("time then", "change"))
