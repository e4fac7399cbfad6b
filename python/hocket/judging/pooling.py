"""Ratios of neighbouring sizes, pooled: ranges of sizes that changed together.

A range is tested by the mean of ln(after / before) over its sizes, and all ranges of a series are candidates; the
level of the tests is divided by their number (Bonferroni). The most significant range is taken, then the sizes beside
it and inside it are searched in the same way. Sizes of one run share a part of what disturbs it: the correlation of
neighbouring sizes, learnt from repeated runs, widens the error of a mean, as in an autoregressive process.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from statistics import fmean, stdev
from typing import NamedTuple

from hocket.judging.noise import Noise
from hocket.judging.pairs import Pair
from hocket.judging.student import quantile, two_sided

_WRONG = 0.01  # the probability of a false alarm over all ranges; the tests of single sizes have their own
_MOST_SIZES = 128
_MANY = 8
_MOST_CORRELATION = 0.9


class Mean(NamedTuple):
    """The mean of ln(after / before) over neighbouring sizes, and the reach of its 95 % confidence interval."""

    value: float
    reach: float
    p_value: float  # how likely noise makes it so far from a level


class Pool:
    """The pairs of a series, by size, with their noise; all have some."""

    def __init__(self, pairs: Sequence[Pair], noises: Sequence[Noise]) -> None:
        """Prepare sums over ranges."""
        self._ratios = [noise.middle for noise in noises]
        self._variances = [noise.error**2 for noise in noises]
        own = [noise.freedom for noise in noises]
        self._is_of_sizes = all(noise.basis == "sizes" for noise in noises)
        self._freedom = sum(own) if all(noise.basis == "runs" for noise in noises) else min(own)
        self._correlation = _correlation(pairs)

    def mean_of(self, first: int, end: int, level: float = 0.0) -> Mean:
        """Return the mean from the size `first` to before `end`."""
        count = end - first
        mean = fmean(self._ratios[first:end])
        widening = 1 + 2 * sum((1 - lag / count) * self._correlation**lag for lag in range(1, count))
        error = math.sqrt(sum(self._variances[first:end]) * widening) / count
        p_value = two_sided((mean - level) / error, self._freedom) if error > 0 else 1.0
        reach = quantile(self._freedom) * error
        if self._is_of_sizes and count >= _MANY:  # their own scatter is known better than that of neighbours
            own_error = stdev(self._ratios[first:end]) / math.sqrt(count)
            reach = min(reach, quantile(count - 1) * own_error)
        return Mean(mean, reach, p_value)

    def ranges(self, count: int) -> Iterator[tuple[int, int]]:
        """Give the ranges of several sizes that changed, as first and end; `count` is how many all series have."""
        if len(self._ratios) <= _MOST_SIZES:
            yield from self._search(0, len(self._ratios), 0.0, _WRONG / max(count, 1))

    def _search(self, first: int, end: int, level: float, wrong: float) -> Iterator[tuple[int, int]]:
        places = combinations(range(first, end + 1), 2)
        means = [(self.mean_of(low, high, level), low, high) for low, high in places]
        mean, low, high = min(means, key=lambda one: (one[0].p_value, *one[1:]), default=(Mean(0.0, 0.0, 1.0), 0, 0))
        if mean.p_value > wrong:
            if level and end - first > 1:  # of single sizes, their own tests tell
                yield first, end
            return
        yield from self._search(first, low, level, wrong)
        yield from self._search(low, high, mean.value, wrong)
        yield from self._search(high, end, level, wrong)


def _correlation(pairs: Sequence[Pair]) -> float:
    """Return the correlation of neighbouring sizes of a run; 0 where files and lines do not tell the runs."""
    products, squares = 0.0, 0.0
    for side in ("before", "after"):
        rows = [getattr(pair, side) for pair in pairs]
        counts = {len(own) for own in rows} | {len({one.source for one in own}) for own in rows}
        if len(counts) != 1 or counts == {1}:
            continue
        runs = [[math.log(one.time_s) for one in own] for own in rows]
        rests = [[value - fmean(own) for value in own] for own in runs]
        for one, other in pairwise(rests):
            products += sum(a * b for a, b in zip(one, other, strict=True))
            squares += sum(a * a + b * b for a, b in zip(one, other, strict=True)) / 2
    return min(max(products / squares, 0.0), _MOST_CORRELATION) if squares else 0.0
