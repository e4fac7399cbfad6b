"""How times of points changed, and neighbouring sizes that changed in the same direction."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import fmean
from typing import Any, Literal, TypeAlias

from hocket.judging.noise import Basis, exponential
from hocket.judging.pairs import Series

Direction: TypeAlias = Literal["slower", "faster", "same", "cannot tell"]
"""What became of a time. It is the same if its interval is within the tolerance."""


@dataclass(frozen=True)
class Change:
    """How the time of a point changed.

    Attributes:
        series: All of the point but its size.
        size_bytes: The size of the call.
        before_s: The time before, the median of repeated runs.
        after_s: The time after.
        before_runs: How many runs there are before.
        after_runs: How many runs there are after.
        ratio: How many times as long the call takes after as before.
        ratio_low: Lower end of its 95 % confidence interval; None if nothing tells it.
        ratio_high: Upper end.
        basis: What the interval is from.
        p_value: How likely noise alone makes the ratio so far from 1, corrected for the number of points; None without
            an interval.
        direction: What became of the time.
        source: The file and the line of the first run after.
    """

    series: Series
    size_bytes: int
    before_s: float
    after_s: float
    before_runs: int
    after_runs: int
    ratio: float
    ratio_low: float | None
    ratio_high: float | None
    basis: Basis
    p_value: float | None
    direction: Direction
    source: str = ""

    def record(self) -> dict[str, Any]:
        """Return it as a row by column."""
        own = {name: value for name, value in vars(self).items() if name != "series"}
        return {**vars(self.series), **own}


@dataclass(frozen=True)
class Range:
    """Neighbouring sizes of a series that changed in the same direction.

    Attributes:
        changes: The changes, by size.
        ratio: How many times as long calls take: the geometric mean over the sizes.
        ratio_low: Lower end of its interval, which is as wide as the intervals of the sizes are on average, because the
            sizes of a run share what disturbs it. None if a size has no interval.
        ratio_high: Upper end.
    """

    changes: tuple[Change, ...]
    ratio: float
    ratio_low: float | None
    ratio_high: float | None

    @property
    def series(self) -> Series:
        """All but the size."""
        return self.changes[0].series

    @property
    def direction(self) -> Direction:
        """What became of the times."""
        return self.changes[0].direction

    @property
    def extreme(self) -> Change:
        """The change whose ratio is the farthest from 1."""
        return max(self.changes, key=lambda one: abs(math.log(one.ratio)))

    def record(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            **vars(self.series),
            "first_bytes": self.changes[0].size_bytes,
            "last_bytes": self.changes[-1].size_bytes,
            "sizes": len(self.changes),
            **{name: getattr(self, name) for name in ("direction", "ratio", "ratio_low", "ratio_high")},
        }


def ranges_of(changes: Sequence[Change]) -> tuple[Range, ...]:
    """Return neighbouring sizes of each series that changed in the same direction; changes are in order."""
    return tuple(_range(tuple(group)) for _, group in groupby(changes, lambda one: (one.series, one.direction)))


def _range(group: tuple[Change, ...]) -> Range:
    low, high = _mean([one.ratio_low for one in group]), _mean([one.ratio_high for one in group])
    return Range(group, _mean([one.ratio for one in group]) or 1.0, low, high)


def _mean(ratios: Sequence[float | None]) -> float | None:
    """Return the geometric mean; None if a ratio is missing."""
    logarithms = [math.log(ratio) for ratio in ratios if ratio is not None]
    return exponential(fmean(logarithms)) if len(logarithms) == len(ratios) else None


_SHARE = 0.5
_MOST_FACTOR = 4  # how many times as large the next size may be

Step: TypeAlias = "tuple[Change, Change]"
"""A step of the ratio: the changes at the smaller and at the larger of two sizes."""


def steps_of(changes: Sequence[Change], tolerance: float) -> dict[Series, tuple[Step, ...]]:
    """Return the steps of each series that has some; changes are in order.

    Another latency or bandwidth changes the ratio gradually: from one size to the double, by at most a fifth of its
    whole change. A step is at least half of it, from one size to the next: another algorithm or protocol runs there.
    """
    by_series = {
        series: tuple(_steps([*group], tolerance)) for series, group in groupby(changes, lambda one: one.series)
    }
    return {series: steps for series, steps in by_series.items() if steps}


def _steps(changes: Sequence[Change], tolerance: float) -> Iterator[Step]:
    ratios = [math.log(one.ratio) for one in changes]
    least = max(_SHARE * (max(ratios) - min(ratios)), math.log1p(tolerance))
    for below, at in pairwise(changes):
        is_beyond = abs(math.log(at.ratio) - math.log(below.ratio)) > least
        if is_beyond and 0 < below.size_bytes >= at.size_bytes / _MOST_FACTOR and _are_apart(below, at):
            yield below, at


def _are_apart(one: Change, other: Change) -> bool:
    """Return whether two ratios differ beyond noise, and one of them is a change."""
    if one.direction == other.direction or not {one.direction, other.direction} & {"slower", "faster"}:
        return False
    lows, highs = [one.ratio_low, other.ratio_low], [one.ratio_high, other.ratio_high]
    return max(low for low in lows if low is not None) > min(high for high in highs if high is not None)
