"""Where the ratio of times has a step over the size: a hint that another algorithm or protocol runs there.

Another latency or bandwidth changes the ratio gradually: from one size to the double, by at most a fifth of its whole
change. A step is at least half of it, from one size to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import TypeAlias

from hocket.judging.change import Change
from hocket.judging.pairs import Series

_SHARE = 0.5
_MOST_FACTOR = 4  # how many times as large the next size may be


Step: TypeAlias = "tuple[Change, Change]"
"""A step of the ratio: the changes at the smaller and at the larger of two sizes."""


def steps_of(changes: Sequence[Change], tolerance: float) -> dict[Series, tuple[Step, ...]]:
    """Return the steps of each series that has some; changes are in order."""
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
