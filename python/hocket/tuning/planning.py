"""Which points are tuned, which are held out to judge the decisions, and the conclusions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Any

from hocket._native import Error
from hocket.definitions.library import COLLECTIVES_OF_KNOWN_SIZE, find_collective, unit_bytes
from hocket.tuning.candidates import order_of, whole_sizes
from hocket.tuning.choice import Decision, Owner, Point, needs_one_order
from hocket.tuning.deciding import Regret, Times, decide, in_one_order, merge, middle_sizes, regrets
from hocket.tuning.exporting import Exporter
from hocket.tuning.pairing import BY_RULES, OWN, compared_times, confirmed_times, noise_of, times_of
from hocket.tuning.records import PointRecord, Records
from hocket.tuning.report import Tuning

_NEAR_RATIO = 1.25
"""Neighbours with different choices are near if the larger size is at most this factor above the smaller one."""


def tuned_collectives(names: Iterable[str]) -> tuple[str, ...]:
    """Return the requested collectives, each once, or all that can be tuned; refuse those that cannot."""
    collectives = tuple(dict.fromkeys(map(find_collective, names))) or COLLECTIVES_OF_KNOWN_SIZE
    for name in collectives:
        if name not in COLLECTIVES_OF_KNOWN_SIZE:
            raise Error(f"{name} cannot be tuned, expected some of {', '.join(COLLECTIVES_OF_KNOWN_SIZE)}")
    return collectives


@dataclass(frozen=True)
class Plan:
    """The points of a tuning."""

    training: tuple[Point, ...]  # the points for deciding
    judging: tuple[Point, ...]  # the points for judging the decisions, between the others
    # Whether decisions are confirmed, also in the middle between neighbours; other points are then held out.
    confirms: bool = False
    order_is_fixed: bool = False  # whether results of reductions must not depend on the size

    @property
    def confirming(self) -> tuple[Point, ...]:
        """The points from which the final decisions are made."""
        return tuple(sorted({*self.training, *_between(self.training)})) if self.confirms else self.training

    def with_points(self, more: Iterable[Point]) -> Plan:
        """Return the plan with more points for deciding, and held-out points between them."""
        training = tuple(sorted({*self.training, *more}))
        between = _beside_middles if self.confirms else _between
        return replace(self, training=training, judging=tuple(between(training)))


def plan_of(
    collectives: Iterable[str],
    ranks: Iterable[int],
    sizes_bytes: Sequence[int],
    *,
    confirms: bool = False,
    order_is_fixed: bool = False,
) -> Plan:
    """Return the plan for collectives, ranks and sizes; sizes are rounded up to what each collective allows."""
    counts = sorted(set(ranks))
    return Plan((), (), confirms, order_is_fixed).with_points(
        Point(collective, count, size)
        for collective in dict.fromkeys(collectives)
        for count in counts
        for size in whole_sizes(collective, count, sizes_bytes)
    )


def points_to_refine(plan: Plan, records: Records, tolerance: float) -> tuple[Point, ...]:
    """Return points between neighbours whose choices differ and whose sizes are not near."""
    times = _times_allowed(plan, {point: times_of(records.by_point[point], BY_RULES) for point in plan.training})
    return tuple(point for ends in _changes(times, tolerance) for point in _between(ends))


def points_unsettled(plan: Plan, records: Records, tolerance: float) -> tuple[Point, ...]:
    """Return confirmed points between raced ones that had no race and whose neighbour has another choice."""
    point_records = records.select(plan.confirming)
    noise = noise_of(point_records)
    changes = _changes(_deciding(plan, point_records, BY_RULES, noise), max(tolerance, noise))
    return tuple(sorted({point for ends in changes for point in ends} - {*plan.training}))


def _changes(times: Mapping[Point, Times], tolerance: float) -> Iterator[tuple[Point, Point]]:
    """Give pairs of neighbours whose choices differ and whose sizes are not near."""
    for _, row in groupby(sorted(times), key=attrgetter("row")):
        points = list(row)
        choices = merge(points[0].collective, [times[point] for point in points], tolerance)
        for (a, b), (low, high) in zip(pairwise(choices), pairwise(points), strict=True):
            if a != b and high.size_bytes > _NEAR_RATIO * max(low.size_bytes, 1):
                yield low, high


def _deciding(
    plan: Plan, records: Iterable[PointRecord], owners: Collection[Owner], noise: float
) -> Mapping[Point, Times]:
    """Return the times from which decisions are made: confirmed ones, or those of races if the default is no choice."""
    times = {
        one.point: times_of(one, owners) if in_one_order else confirmed_times(one, owners, noise)
        for one in records
        for in_one_order in (needs_one_order(one.point.collective, plan.order_is_fixed),)
    }
    return _times_allowed(plan, times)


def _times_allowed(plan: Plan, times: Mapping[Point, Times]) -> Mapping[Point, Times]:
    """Return the times of the choices among which the plan decides."""
    return in_one_order(times, order_of) if plan.order_is_fixed else times


def _between(points: Iterable[Point]) -> Iterator[Point]:
    """Give points between neighbours of the same collective and ranks."""
    for (collective, ranks), row in groupby(points, key=attrgetter("row")):
        for size in middle_sizes((point.size_bytes for point in row), unit_bytes(collective, ranks)):
            yield Point(collective, ranks, size)


def _beside_middles(points: Iterable[Point]) -> Iterator[Point]:
    """Give held-out points: below or above the middle of two neighbours, by turns."""
    for (collective, ranks), row in groupby(points, key=attrgetter("row")):
        unit = unit_bytes(collective, ranks)
        for number, (low, high) in enumerate(pairwise(point.size_bytes for point in row)):
            for middle in middle_sizes((low, high), unit):
                for size in middle_sizes((middle, high) if number % 2 else (low, middle), unit):
                    yield Point(collective, ranks, size)


def decide_all(plan: Plan, records: Records, tolerance: float) -> dict[tuple[Owner, ...], tuple[Decision, ...]]:
    """Return decisions among choices that rules can express, and among the MPI's own, from confirmed times."""
    point_records = records.select(plan.confirming)
    noise = noise_of(point_records)
    return {
        owners: tuple(decide(_deciding(plan, point_records, owners, noise), max(tolerance, noise)))
        for owners in (BY_RULES, OWN)
    }


def conclude(
    plan: Plan,
    records: Records,
    about: Mapping[str, Any],
    tolerance: float,
    *,
    exporter: Exporter | None = None,
    left_out: int = 0,
) -> Tuning:
    """Return the conclusions from the finished points; other points may have been left out."""
    judging = records.select(plan.judging)
    decisions = decide_all(plan, records, tolerance)
    noise = noise_of(judging)
    has_own = any(choice.owner == "mpi" for one in records.by_point.values() for choice in one.times)

    def regrets_of(owners: tuple[Owner, ...]) -> tuple[Regret, ...]:
        is_fixed = plan.order_is_fixed and owners != BY_RULES
        some = [one for one in judging if not needs_one_order(one.point.collective, is_fixed)]
        return tuple(regrets(decisions[owners], {one.point: compared_times(one, owners, noise) for one in some}))

    return Tuning(
        about=about,
        tolerance=tolerance,
        decisions=decisions[BY_RULES],
        own=decisions[OWN] if has_own else (),
        records=tuple(records.select(plan.training)),
        confirming=tuple(records.select(plan.confirming)),
        regrets=regrets_of(BY_RULES),
        own_regrets=regrets_of(OWN) if has_own else (),
        judging_noise=noise,
        left_out=left_out,
        order_is_fixed=plan.order_is_fixed,
        exporter=exporter,
    )
