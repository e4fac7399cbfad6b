"""Fitting lines to measured times, with confidence intervals.

Disturbances only make measurements longer. The time of a size is therefore the first quartile of its samples, which is
the median of the faster half. Intervals are 95 % bootstrap intervals: the samples of each size are resampled, with a
fixed seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_QUANTILE = 0.25
_RESAMPLES = 400
_SEED = 20260101
_LEAST_SIZES = 2  # sizes of a range
_MOST_RANGES = 10
_GOOD = 0.02  # a relative deviation so small that more ranges are not worthwhile
_LEAST_GAIN = 6.0  # in BIC: "strong" evidence, R. E. Kass, A. E. Raftery, "Bayes factors", JASA 90 (1995)


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @staticmethod
    def of(values: Floats) -> Estimate:
        """Return an estimate: the first value, with the interval of the other, resampled values."""
        low, high = np.quantile(values[1:], (0.025, 0.975))
        return Estimate(float(values[0]), float(min(low, values[0])), float(max(high, values[0])))


@dataclass(frozen=True)
class Resamples:
    """Times by size, a column for each: measured in row 0, resampled in the other rows."""

    sizes_bytes: Floats
    times_s: Floats

    def part(self, columns: slice) -> Resamples:
        """Return a part of the sizes."""
        return Resamples(self.sizes_bytes[columns], self.times_s[:, columns])


@dataclass(frozen=True)
class Line:
    """time = start + slope size, for each resampling."""

    start_s: Floats  # the time of size 0, in seconds
    slope_s: Floats  # seconds per byte
    deviation: float  # deviation of the times from the line, as a share of the times: root mean square


def resample(samples_s: Mapping[int, Sequence[float]]) -> Resamples:
    """Return the times by size, and resampled times."""
    sizes = sorted(samples_s)
    random = np.random.default_rng(_SEED)
    columns = []
    for size in sizes:
        samples = np.asarray(samples_s[size])
        resamples = samples[random.integers(0, len(samples), (_RESAMPLES, len(samples)))]
        columns.append(np.quantile(np.vstack([samples, resamples]), _QUANTILE, axis=1))
    return Resamples(np.asarray(sizes, dtype=float), np.column_stack(columns))


def line(times: Resamples, usual_s_per_byte: Floats | None = None) -> Line:
    """Fit a line by least squares of relative deviations; start and slope are at least zero.

    Where the times rise by less than a tenth of the usual slope, it counts: their noise, or a single size, hides what a
    byte takes.
    """
    x, t = times.sizes_bytes, times.times_s
    w = 1.0 / np.maximum(t, 1e-12) ** 2
    s0, sx, sxx = w.sum(axis=1), (w * x).sum(axis=1), (w * x * x).sum(axis=1)
    st, sxt = (w * t).sum(axis=1), (w * x * t).sum(axis=1)
    only_slope = sxt / np.where(sxx > 0, sxx, 1.0)
    determinant = s0 * sxx - sx * sx
    safe = np.where(determinant > 0, determinant, 1.0)
    slope = np.where(determinant > 0, (s0 * sxt - sx * st) / safe, 0.0)
    start = (st - slope * sx) / s0
    start, slope = np.where(start < 0, 0.0, start), np.where(start < 0, only_slope, slope)
    start, slope = np.where(slope < 0, st / s0, start), np.maximum(slope, 0.0)
    if usual_s_per_byte is not None:
        is_hidden = slope < usual_s_per_byte / 10
        start = np.where(is_hidden, np.maximum((st - usual_s_per_byte * sx) / s0, 0.0), start)
        slope = np.where(is_hidden, usual_s_per_byte, slope)
    deviation = float(np.sqrt(np.mean(((start[0] + slope[0] * x - t[0]) / t[0]) ** 2)))
    return Line(start, slope, deviation)


def parts_of(series: Sequence[Resamples], border_bytes: float | None = None) -> list[slice]:
    """Split the sizes into ranges of columns, so that a line explains each series of times in each range.

    The Bayesian information criterion of the relative deviations determines the number of ranges. Another range has to
    improve it by `_LEAST_GAIN`. No range contains sizes on both sides of the border.
    """
    sizes, count = series[0].sizes_bytes, len(series[0].sizes_bytes)
    border = count if border_bytes is None else int(np.searchsorted(sizes, border_bytes, side="right"))
    firsts = [Resamples(times.sizes_bytes, times.times_s[:1]) for times in series]
    squares: dict[tuple[int, int], float] = {}
    for start in range(count):
        limit = border if start < border else count
        for end in range(start + 1, limit + 1):
            if end - start >= _LEAST_SIZES or (start, end) in ((0, border), (border, count)):
                deviations = (line(first.part(slice(start, end))).deviation for first in firsts)
                squares[start, end] = (end - start) * sum(deviation**2 for deviation in deviations)
    best: list[dict[int, tuple[float, tuple[int, ...]]]] = [{0: (0.0, (0,))}]
    for _ in range(_MOST_RANGES):
        reached: dict[int, tuple[float, tuple[int, ...]]] = {}
        for (start, end), square in squares.items():
            if start in best[-1]:
                sum_of_squares, ends = best[-1][start]
                if end not in reached or sum_of_squares + square < reached[end][0]:
                    reached[end] = (sum_of_squares + square, (*ends, end))
        best.append(reached)
    points = count * len(series)
    best_parts: tuple[float, tuple[int, ...]] | None = None
    for ranges, reached in enumerate(best):
        if count in reached:
            sum_of_squares, ends = reached[count]
            parameters = ranges * (2 * len(series) + 1)
            criterion = points * np.log(sum_of_squares / points + _GOOD**2) + parameters * np.log(points)
            if best_parts is None or criterion < best_parts[0] - _LEAST_GAIN:
                best_parts = (float(criterion), ends)
    assert best_parts is not None, "all sizes up to the border are one range, and all beyond another"
    return [slice(start, end) for start, end in pairwise(best_parts[1])]
