"""Which points are tuned for, which are held out to judge the decisions, and the conclusion from both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from hocket.tuning.candidates import unit_of, whole_sizes
from hocket.tuning.choice import Owner, Point
from hocket.tuning.deciding import Times, decide, held_out, merge, regrets
from hocket.tuning.records import Found, Records
from hocket.tuning.report import Tuning

__all__ = ["Plan", "concluded", "plan_of", "refined"]

_BY_RULES: tuple[Owner, ...] = ("default", "catalogue")
_NEAR = 1.25
"""Neighbours that differ in choice are near if the larger size is no more than this factor above the smaller."""
_OWN: tuple[Owner, ...] = ("default", "mpi")


@dataclass(frozen=True)
class Plan:
    """The points of a tuning.

    Attributes:
        training: Those that are decided from.
        held_out: Those that judge the decisions, between the others.
    """

    training: tuple[Point, ...]
    held_out: tuple[Point, ...]

    def with_points(self, more: Iterable[Point]) -> Plan:
        """Return the plan with more points for training, and others held out between them."""
        training = tuple(sorted({*self.training, *more}))
        return Plan(training, tuple(_between(training)))


def plan_of(collectives: Iterable[str], ranks: Iterable[int], sizes_bytes: Sequence[int]) -> Plan:
    """Return the points for collectives at ranks and sizes; sizes are rounded up to what each collective can have."""
    counts = sorted(set(ranks))
    return Plan((), ()).with_points(
        Point(collective, count, size)
        for collective in dict.fromkeys(collectives)
        for count in counts
        for size in whole_sizes(collective, count, sizes_bytes)
    )


def refined(plan: Plan, records: Records, tolerance: float) -> tuple[Point, ...]:
    """Return points between neighbours that differ in choice, and are not near in size."""
    more: list[Point] = []
    for _, row in groupby(plan.training, key=_row_of):
        points = list(row)
        times = _times((records.found[point] for point in points), _BY_RULES)
        choices = merge([times[point] for point in points], tolerance)
        for (a, b), (low, high) in zip(pairwise(choices), pairwise(points), strict=True):
            if a != b and high.size_bytes > _NEAR * max(low.size_bytes, 1):
                more += _between((low, high))
    return tuple(more)


def _row_of(point: Point) -> tuple[str, int]:
    return point.collective, point.ranks


def _between(points: Iterable[Point]) -> Iterator[Point]:
    """Give points between neighbours of the same collective and ranks."""
    for (collective, ranks), row in groupby(points, key=_row_of):
        for size in held_out((point.size_bytes for point in row), unit_of(collective, ranks)):
            yield Point(collective, ranks, size)


def concluded(plan: Plan, records: Records, about: Mapping[str, Any], tolerance: float) -> Tuning:
    """Return what follows from the points that are done."""
    training = [records.found[point] for point in plan.training if point in records.found]
    judging = [records.found[point] for point in plan.held_out if point in records.found]
    decisions = decide(_times(training, _BY_RULES), tolerance)
    has_own = any(choice.owner == "mpi" for one in training for choice in one.times)
    return Tuning(
        about=about,
        tolerance=tolerance,
        decisions=tuple(decisions),
        own=tuple(decide(_times(training, _OWN), tolerance)) if has_own else (),
        found=tuple(training),
        regrets=tuple(regrets(decisions, _times(judging, _BY_RULES))),
    )


def _times(found: Iterable[Found], owners: Sequence[Owner]) -> dict[Point, Times]:
    is_wanted: Callable[[Owner], bool] = owners.__contains__
    return {one.point: {c: times for c, times in one.times.items() if is_wanted(c.owner)} for one in found}
