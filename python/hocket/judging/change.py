"""How times of points changed, and neighbouring sizes that changed in the same direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
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
            "direction": self.direction,
            "ratio": self.ratio,
            "ratio_low": self.ratio_low,
            "ratio_high": self.ratio_high,
        }


def ranges_of(changes: Sequence[Change]) -> tuple[Range, ...]:
    """Return neighbouring sizes of each series that changed in the same direction; changes are in order."""
    return tuple(_range(tuple(group)) for _, group in groupby(changes, lambda one: (one.series, one.direction)))


def _range(changes: tuple[Change, ...]) -> Range:
    return Range(
        changes,
        _mean([one.ratio for one in changes]) or 1.0,
        _mean([one.ratio_low for one in changes]),
        _mean([one.ratio_high for one in changes]),
    )


def _mean(ratios: Sequence[float | None]) -> float | None:
    """Return the geometric mean; None if a ratio is missing."""
    logarithms = [math.log(ratio) for ratio in ratios if ratio is not None]
    return exponential(fmean(logarithms)) if len(logarithms) == len(ratios) else None
