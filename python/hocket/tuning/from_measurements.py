"""Rules from measured times, such as the output of benchmarks: nothing is measured again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Literal

from hocket._native import Error
from hocket.base.checks import among, number, several
from hocket.definitions.library import find
from hocket.measurements.measurement import DEFAULT as OF_LIBRARY
from hocket.measurements.measurement import Measurement
from hocket.tuning.candidates import order_of
from hocket.tuning.choice import DEFAULT, Choice, Estimate, Point
from hocket.tuning.deciding import Times, decide, in_one_order
from hocket.tuning.planning import tuned_collectives
from hocket.tuning.records import PointRecord
from hocket.tuning.report import Tuning

_CONDITIONS = ("measured_as", "ranks_per_node", "dims", "layout", "in_place", "system", "library", "buffers")
"""What all times that are compared must have in common."""


def tune_measured(
    measurements: Iterable[Measurement], *, tolerance: float = 0.03, order: Literal["any", "fixed"] = "any"
) -> Tuning:
    """Choose an algorithm for each collective from measured times of at least two algorithms.

    A call counts if it was measured with at least two algorithms, of which one may be "default". A time that was
    measured several times counts as its median, between the smallest and the largest. No call is held out to judge the
    decisions.

    Args:
        measurements: The times, such as `hocket.read_measurements` returns.
        tolerance: The share by which a choice may be slower than the fastest.
        order: With "fixed", results of reductions must not depend on the size, to the last bit.

    Raises:
        Error: No call has times of two algorithms, times were measured under different conditions, a collective cannot
            be tuned, or no algorithm with one order has a time at every size.
    """
    share = number("tolerance", tolerance, "a share from 0 to below 1", is_right=lambda share: 0 <= share < 1)
    is_fixed = among("order", order, ("any", "fixed")) == "fixed"
    measurements = several("measurements", measurements, Measurement, "hocket.Measurement")
    for name in _CONDITIONS:
        values = list(dict.fromkeys(str(getattr(one, name)) for one in measurements))
        if len(values) > 1:
            raise Error(f"measurements: got times with {name} {values[0]} and {values[1]}, expected one of them")
    tuned_collectives(one.collective for one in measurements)
    times = {point: of_point for point, of_point in _times(measurements).items() if len(of_point) > 1}
    if not times:
        raise Error("measurements: got no call with times of two algorithms, expected at least one")
    deciding = in_one_order(times, order_of) if is_fixed else times
    if not deciding:
        raise Error("order: got fixed, but no algorithm with one order has a time at every size")
    return Tuning(
        about={"measured": ", ".join(dict.fromkeys(one.source.rpartition(":")[0] for one in measurements))},
        tolerance=share,
        decisions=tuple(decide(deciding, share)),
        records=tuple(PointRecord(point, of_point) for point, of_point in sorted(times.items())),
        order_is_fixed=is_fixed,
    )


def _times(measurements: Iterable[Measurement]) -> Mapping[Point, Times]:
    """Return the time of each choice at each point."""
    samples_s: dict[Point, dict[Choice, list[float]]] = {}
    for one in measurements:
        point = Point(one.collective, one.ranks, one.size_bytes)
        samples_s.setdefault(point, {}).setdefault(_choice(one), []).append(one.time_s)
    return {
        point: {choice: Estimate(median(some), min(some), max(some)) for choice, some in choices.items()}
        for point, choices in samples_s.items()
    }


def _choice(one: Measurement) -> Choice:
    if one.algorithm == OF_LIBRARY:
        return DEFAULT
    values = ((name, value if isinstance(value, str) else int(value)) for name, value in one.parameters.items())
    return Choice("catalogue", find(f"{one.collective}/{one.algorithm}").name, tuple(sorted(values)))
