"""The points that two sets of measurements share: the same call by the same algorithm, measured in the same way.

The systems, libraries, buffers and shapes of jobs are compared only where a set has several of them. So a set of one
version of a library can be compared with a set of another version.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from hocket._native import Error
from hocket.base.units import format_count, from_to
from hocket.definitions.library import find_collective, is_collective
from hocket.measurements.measurement import DEFAULT, Measurement

_ONLY_IF_SEVERAL = ("system", "library", "buffers", "layout", "dims")
_WORDS: Mapping[str, str] = {
    "collective": "collective",
    "algorithm": "algorithm",
    "ranks": "number of ranks",
    "in_place": "buffers in place or not",
    "measured_as": "way of measuring",
    "ranks_per_node": "ranks on a node",
    "element_bytes": "size of an element",
}


@dataclass(frozen=True)
class Series:
    """What all points of a series have in common: what a `Measurement` has but the size and the time."""

    collective: str
    algorithm: str  # with the values of its parameters
    ranks: int | None
    in_place: bool
    measured_as: str
    ranks_per_node: int | None
    element_bytes: int
    system: str = ""  # empty unless a set has several, as what follows
    library: str = ""
    buffers: str = ""
    layout: str = ""
    dims: str = ""  # the shape of the job on a torus, as a text

    def text(self, several: Iterable[str]) -> str:
        """Return it in words: collective, algorithm, ranks, and the fields of which there are several."""
        names = {*several}
        parts = {
            "ranks_per_node": f"{self.ranks_per_node} on a node" if self.ranks_per_node else "",
            "in_place": "in place" if self.in_place else "out of place",
            "measured_as": f"measured as {self.measured_as}",
            "element_bytes": f"elements of {self.element_bytes} B",
            **{name: str(getattr(self, name)) for name in _ONLY_IF_SEVERAL},
        }
        more = [part for name, part in parts.items() if name in names and part]
        algorithm = "" if self.algorithm == DEFAULT else f" {self.algorithm}"
        ranks = "" if self.ranks is None else f" on {format_count(self.ranks, 'rank')}"
        return ", ".join([f"{self.collective}{algorithm}{ranks}", *more])


@dataclass(frozen=True)
class Pair:
    """The measurements of a point in both sets, by file and line."""

    series: Series
    size_bytes: int
    before: tuple[Measurement, ...]
    after: tuple[Measurement, ...]


def median_s(measurements: Iterable[Measurement]) -> float:
    """Return the median time of repeated runs, in seconds; of an even number, the geometric mean of the middle two."""
    times_s = sorted(one.time_s for one in measurements)
    low_s, high_s = times_s[(len(times_s) - 1) // 2], times_s[len(times_s) // 2]
    return low_s if low_s == high_s else math.sqrt(low_s) * math.sqrt(high_s)


def pairs_of(
    before: Sequence[Measurement], after: Sequence[Measurement], *, knows_ranks: bool
) -> tuple[tuple[Pair, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the points that two sets share, by series and size, and a line for each series that only one set has."""
    several = [
        name
        for name in _ONLY_IF_SEVERAL
        if any(len({getattr(one, name) for one in measurements}) > 1 for measurements in (before, after))
    ]
    first, second = (_points(each, several, knows_ranks=knows_ranks) for each in (before, after))
    common = sorted(first.keys() & second.keys(), key=_order)
    if not common:
        raise Error(f"nothing to compare: {_difference(first, second)}")
    pairs = tuple(Pair(*point, tuple(first[point]), tuple(second[point])) for point in common)
    return pairs, _lines(first.keys() - second.keys()), _lines(second.keys() - first.keys())


def several_fields(series: Iterable[Series]) -> tuple[str, ...]:
    """Return the fields in which series differ."""
    all_series = [*series]
    return tuple(each.name for each in fields(Series) if len({getattr(one, each.name) for one in all_series}) > 1)


def _lines(points: Iterable[tuple[Series, int]]) -> tuple[str, ...]:
    sizes_by_series: dict[Series, list[int]] = {}
    for series, size_bytes in sorted(points, key=_order):
        sizes_by_series.setdefault(series, []).append(size_bytes)
    several = several_fields(sizes_by_series)
    return tuple(
        f"{series.text(several)}: {format_count(len(sizes), 'size')}, {from_to(sizes[0], sizes[-1])}"
        for series, sizes in sizes_by_series.items()
    )


def _points(
    measurements: Iterable[Measurement], several: Sequence[str], *, knows_ranks: bool
) -> dict[tuple[Series, int], list[Measurement]]:
    points: dict[tuple[Series, int], list[Measurement]] = {}
    for one in measurements:
        values = {name: getattr(one, name) for name in (*_WORDS, *several)}
        if not knows_ranks:
            values["ranks"] = None
        if "dims" in values:
            values["dims"] = "x".join(map(str, one.dims or ()))
        collective = find_collective(one.collective) if is_collective(one.collective) else one.collective
        series = Series(**{**values, "collective": collective, "algorithm": one.label})
        points.setdefault((series, one.size_bytes), []).append(one)
    return {point: sorted(own, key=_place) for point, own in points.items()}


def _place(measurement: Measurement) -> tuple[str, int]:
    file, _, line = measurement.source.rpartition(":")
    return file, int(line) if line.isdecimal() else 0


def _order(point: tuple[Series, int]) -> tuple[list[str], int]:
    series, size_bytes = point
    return [f"{each:012}" if isinstance(each, int) else str(each) for each in vars(series).values()], size_bytes


def _difference(first: Iterable[tuple[Series, int]], second: Iterable[tuple[Series, int]]) -> str:
    """Return why two sets share no point: the first field that has no value in common."""
    values = [{series for series, _ in points} for points in (first, second)]
    for name, words in _WORDS.items():
        before, after = ({str(getattr(series, name)) for series in each} for each in values)
        if not before & after:
            return f"the {words} is {_few(before)} before and {_few(after)} after, expected the same"
    return "no call is in both sets, expected the same sizes of the same algorithms on as many ranks"


def _few(values: Iterable[str], most: int = 3) -> str:
    names = sorted(values)
    return ", ".join(f"{name:.40}" for name in names[:most]) + (", .." if len(names) > most else "")
