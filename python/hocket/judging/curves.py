"""Measured times in curves: a time for each size, of calls that are alike otherwise; and what their shape implies.

Bandwidths are counted as NCCL counts them: the bandwidth of the algorithm is the size by the time, and the bandwidth of
the bus is a share of it that depends on the collective and the number of ranks. The size is that of the whole vector,
also of an allgather, whose calls have the size of a block.

Source: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, groupby, pairwise
from math import inf, log
from operator import attrgetter
from statistics import median

from hocket.base.call import Call
from hocket.base.units import format_count
from hocket.definitions.library import COLLECTIVES
from hocket.measurements.measurement import DEFAULT, Measurement, bus_share

_COMMON = attrgetter("system", "library", "buffers", "collective", "label", "ranks", "dims", "layout", "ranks_per_node",
                     "element_bytes", "measured_as")  # fmt: skip
"""What calls of a curve have in common."""
_SAME = 0.1  # times in place that differ by less than this share, in the median over sizes, are those out of place
_KINK_FACTOR, _FALL_FACTOR = 1.6, 0.75
"""A time is a kink if it is as many times longer than its neighbours explain, or as many times that of a smaller size.
"""
_TOP_SPAN = 8  # the slope is fitted to the sizes above the largest one divided by this
_TOP_ROWS = 6
_MOST_GROWTH = 16.0  # two sizes that differ by more have no trend between them: rows are missing
_MOST_GROWTH_AT_END = 2.5
"""The first and the last step have one neighbour. It tells their trend only if the sizes are beside each other."""
_MOST_EXTRAPOLATION = 2.0  # the slope is at most so many times the bandwidth of the largest size


@dataclass(frozen=True)
class Curve:
    """Times of a collective over sizes: all runs, and one measurement of each size."""

    measurements: tuple[Measurement, ...]  # by rising sizes; a size that was measured several times has its median
    runs: tuple[Measurement, ...]

    @property
    def first(self) -> Measurement:
        """The smallest call, which has in common with the others all but its size."""
        return self.measurements[0]

    @property
    def calls(self) -> dict[int, Call]:
        """The calls by size, without values of parameters."""
        return {one.size_bytes: replace(one.call, parameters={}) for one in self.measurements}

    @property
    def title(self) -> str:
        """What was measured: "allreduce on 128 ranks"."""
        one = self.first
        parts = [one.system, one.collective, "" if one.algorithm == DEFAULT else one.label]
        parts += [f"on {format_count(one.ranks, 'rank')}", "in place" if one.in_place else ""]
        return " ".join(part for part in parts if part)

    @property
    def call(self) -> str:
        """The title at the beginning of a sentence."""
        return f"{self.title[0].upper()}{self.title[1:]}"


def curves_of(measurements: Iterable[Measurement]) -> tuple[Curve, ...]:
    """Return the curves of some measurements, in their order. Times in place are left out if they are the same."""
    groups: dict[tuple[object, ...], dict[int, list[Measurement]]] = {}
    for one in measurements:
        groups.setdefault((*_COMMON(one), one.in_place), {}).setdefault(one.size_bytes, []).append(one)
    curves = {key: _curve(sizes) for key, sizes in groups.items()}
    return tuple(
        curve
        for (*key, is_in_place), curve in curves.items()
        if not (is_in_place and _alike(curve, curves.get((*key, False))))
    )


def _curve(by_size: dict[int, list[Measurement]]) -> Curve:
    measurements = tuple(
        runs[0] if len(runs) == 1 else replace(runs[0], time_s=median(one.time_s for one in runs))
        for _, runs in sorted(by_size.items())
    )
    return Curve(measurements, tuple(one for runs in by_size.values() for one in runs))


def _alike(in_place: Curve, other: Curve | None) -> bool:
    """Return whether times in place are those out of place."""
    others_s = {} if other is None else {one.size_bytes: one.time_s for one in other.measurements}
    if any(one.size_bytes not in others_s for one in in_place.measurements):
        return False
    return median(abs(log(one.time_s / others_s[one.size_bytes])) for one in in_place.measurements) < _SAME


@dataclass(frozen=True)
class Kink:
    """A size at which the time leaves its trend, and the size before it."""

    before_bytes: int
    size_bytes: int
    factor: float  # how many times longer than its neighbours explain; below 1 where the time falls
    is_spike: bool = False  # the next size is back on the trend


@dataclass(frozen=True)
class Shape:
    """The shape of a curve: rising sizes of the whole vector, with their times."""

    collective: str
    ranks: int | None
    ranks_per_node: int | None
    bus_share: float | None  # its bandwidth, divided by that of the algorithm; None if unknown or not defined
    sizes_bytes: tuple[int, ...]
    times_s: tuple[float, ...]

    @cached_property
    def points(self) -> list[tuple[int, float]]:
        """The sizes with their times."""
        return [*zip(self.sizes_bytes, self.times_s, strict=True)]

    @property
    def rates(self) -> list[float]:
        """The bandwidth of the algorithm at each size, in bytes per second."""
        return [size / time for size, time in self.points]

    @property
    def best(self) -> tuple[int, float]:
        """The size with the greatest bandwidth of the algorithm, and this bandwidth in bytes per second."""
        rates = self.rates
        return self.sizes_bytes[rates.index(max(rates))], max(rates)

    @cached_property
    def bytes_per_s(self) -> float | None:
        """The algorithm's bandwidth by the median slope of the largest sizes; None if time does not depend on size."""
        last_size, last_time = self.points[-1]
        top = [point for point in self.points if point[0] * _TOP_SPAN >= last_size][-_TOP_ROWS:]
        slopes = [(time - less_time) / (size - less) for (less, less_time), (size, time) in combinations(top, 2)]
        reached = last_time / last_size
        time_per_byte = median(slopes or [reached])
        if time_per_byte <= reached / _MOST_EXTRAPOLATION:
            is_flat = len(self.points) > 1 and last_time < _KINK_FACTOR * self.times_s[0]
            return None if is_flat else 1 / reached
        return 1 / time_per_byte

    @property
    def bus_bytes_per_s(self) -> float | None:
        """The bandwidth of the bus that the slope gives; None if it or the number of ranks is unknown."""
        return None if self.bytes_per_s is None or self.bus_share is None else self.bytes_per_s * self.bus_share

    @cached_property
    def floor_s(self) -> float | None:
        """The time of small calls without the time of their bytes; None if no call is small."""
        rate = self.bytes_per_s or inf
        rests = [time - size / rate for size, time in self.points if size / rate < time / 8]
        return median(rests[:_TOP_ROWS]) if rests else None

    @property
    def half_bytes(self) -> float | None:
        """The size at which half of the bandwidth is reached."""
        return None if self.floor_s is None or self.bytes_per_s is None else self.floor_s * self.bytes_per_s

    @cached_property
    def kinks(self) -> tuple[Kink, ...]:
        """Sizes at which the time leaves its trend."""
        pairs = pairwise(self.points)
        steps = [(less, size, size / less, time / less_time) for (less, less_time), (size, time) in pairs]
        kinks: list[Kink] = []
        for number, (less, size, growth, ratio) in enumerate(steps):
            if growth > _MOST_GROWTH or _FALL_FACTOR <= ratio <= _KINK_FACTOR:
                continue
            neighbours = [steps[other] for other in (number - 1, number + 1) if 0 <= other < len(steps)]
            trends = [
                min(max(other_ratio, 1.0), other_growth)
                for _, _, other_growth, other_ratio in neighbours
                if other_growth**2 >= growth  # sizes that lie much closer tell little
            ]
            is_last = len(trends) < 2 and growth > _MOST_GROWTH_AT_END
            expected = growth if is_last else min(max(trends, default=growth), growth)
            is_spike = number + 1 < len(steps) and steps[number + 1][3] < _FALL_FACTOR
            if ratio > _KINK_FACTOR * expected:
                kinks.append(Kink(less, size, ratio / expected, is_spike))
            elif ratio < _FALL_FACTOR and not (kinks and kinks[-1].is_spike and kinks[-1].size_bytes == less):
                kinks.append(Kink(less, size, ratio))
        return tuple(kinks)


def shape_of(curve: Sequence[Measurement]) -> Shape | None:
    """Return the shape of a curve; None if it has no sizes. Of equal sizes, the median time counts."""
    rows = sorted((one.size_bytes, one.time_s) for one in curve if one.size_bytes)
    if not rows:
        return None
    points = [(size, median(time for _, time in group)) for size, group in groupby(rows, key=lambda row: row[0])]
    return shape_of_points(points, curve[0].collective, curve[0].ranks, curve[0].ranks_per_node)


def shape_of_points(
    points: Iterable[tuple[int, float]],
    collective: str,
    ranks: int | None,
    ranks_per_node: int | None,
    share_of_rows: float | None = None,
) -> Shape:
    """Return the shape of rising sizes in bytes and times in seconds; rows with a bus share have whole vectors."""
    is_of_blocks = collective in COLLECTIVES and COLLECTIVES[collective].size_is_one_block and share_of_rows is None
    blocks = ranks if is_of_blocks and ranks else 1
    share = bus_share(collective, ranks) if ranks and collective else share_of_rows
    sizes, times_s = zip(*points, strict=True)
    return Shape(collective, ranks, ranks_per_node, share, tuple(size * blocks for size in sizes), times_s)
