"""Measured times in curves: a time for each size, of calls that are alike otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median

from hocket.base.call import Call
from hocket.base.units import format_count
from hocket.measurements.measurement import DEFAULT, Measurement

_COMMON = ("system", "library", "buffers", "collective", "label", "ranks", "dims", "layout", "ranks_per_node",
           "element_bytes", "measured_as")  # fmt: skip
"""What calls of a curve have in common."""
_SAME = 0.1
"""Times in place that differ by less than this share, in the median over sizes, are those out of place."""


@dataclass(frozen=True)
class Curve:
    """Times of a collective over sizes.

    Attributes:
        measurements: One of each size, by rising sizes. A size that was measured several times has its median.
        runs: All measurements.
    """

    measurements: tuple[Measurement, ...]
    runs: tuple[Measurement, ...]

    @property
    def first(self) -> Measurement:
        """The smallest call, which has in common with the others all but its size."""
        return self.measurements[0]

    @property
    def calls(self) -> list[Call]:
        """The calls."""
        return [one.call for one in self.measurements]

    def thin(self, most: int) -> Curve:
        """Return the curve with at most so many of its sizes, spread evenly."""
        step = -(-len(self.measurements) // most)
        return replace(self, measurements=self.measurements[::step])

    @property
    def title(self) -> str:
        """What was measured: "allreduce on 128 ranks"."""
        one = self.first
        parts = [one.system, one.collective, "" if one.algorithm == DEFAULT else one.label]
        parts += [f"on {format_count(one.ranks, 'rank')}", "in place" if one.in_place else ""]
        return " ".join(part for part in parts if part)


def curves_of(measurements: Iterable[Measurement]) -> tuple[Curve, ...]:
    """Return the curves of some measurements, in their order. Times in place are left out if they are the same."""
    groups: dict[tuple[object, ...], dict[int, list[Measurement]]] = {}
    for one in measurements:
        key = tuple(getattr(one, name) for name in _COMMON)
        groups.setdefault((*key, one.in_place), {}).setdefault(one.size_bytes, []).append(one)
    curves = {key: _curve(sizes) for key, sizes in groups.items()}
    pairs = ((curve, curves.get((*key[:-1], False)), key[-1]) for key, curve in curves.items())
    return tuple(curve for curve, other, is_in_place in pairs if not (is_in_place and _alike(curve, other)))


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
    return median(abs(math.log(one.time_s / others_s[one.size_bytes])) for one in in_place.measurements) < _SAME
