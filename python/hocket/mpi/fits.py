"""Lines through measured times, with confidence intervals.

Disturbances make measurements longer. So the time of a size is the first quartile of its samples, the median of
the quieter half. Intervals are of 95 %, by the bootstrap: samples are drawn anew from each size's, with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimate", "Line", "Resampled", "break_after", "line", "resampled"]

Floats = NDArray[np.float64]

_QUANTILE = 0.25
_RESAMPLES = 400
_SEED = 20260101
_LEAST_SIZES = 4  # of a range
_LEAST_GAIN = 10.0  # in BIC: "very strong" evidence, R. E. Kass, A. E. Raftery, "Bayes factors", JASA 90 (1995)


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @staticmethod
    def of(values: Floats) -> Estimate:
        """Return the first of the values, and the interval of the others, which are resampled."""
        low, high = np.quantile(values[1:], (0.025, 0.975))
        return Estimate(float(values[0]), float(min(low, values[0])), float(max(high, values[0])))


@dataclass(frozen=True)
class Resampled:
    """The times of sizes: as measured in row 0, resampled in the others.

    Attributes:
        sizes_bytes: The sizes.
        times_s: A row for each resampling, a column for each size.
    """

    sizes_bytes: Floats
    times_s: Floats

    def part(self, columns: slice) -> Resampled:
        """Return some of the sizes."""
        return Resampled(self.sizes_bytes[columns], self.times_s[:, columns])

    def up_to(self, size_bytes: float) -> Resampled:
        """Return the sizes that are not larger."""
        return self.part(slice(0, int(np.searchsorted(self.sizes_bytes, size_bytes, side="right"))))


@dataclass(frozen=True)
class Line:
    """time = start + slope size, for each resampling.

    Attributes:
        start_s: The time of size 0, in seconds.
        slope_s: Seconds per byte.
        deviation: How far times are from the line, as a share of them: root of the mean square.
    """

    start_s: Floats
    slope_s: Floats
    deviation: float


def resampled(samples_s: Mapping[int, Sequence[float]]) -> Resampled:
    """Return the times of sizes, and resamplings of them."""
    sizes = sorted(samples_s)
    random = np.random.default_rng(_SEED)
    columns = []
    for size in sizes:
        samples = np.asarray(samples_s[size])
        drawn = samples[random.integers(0, len(samples), (_RESAMPLES, len(samples)))]
        columns.append(np.quantile(np.vstack([samples, drawn]), _QUANTILE, axis=1))
    return Resampled(np.asarray(sizes, dtype=float), np.column_stack(columns))


def line(times: Resampled, *, through_zero: bool = False) -> Line:
    """Fit a line with the least squares of relative deviations; neither start nor slope is below zero."""
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
    if through_zero:
        start, slope = np.zeros_like(start), only_slope
    deviation = float(np.sqrt(np.mean(((start[0] + slope[0] * x - t[0]) / t[0]) ** 2)))
    return Line(start, slope, deviation)


def break_after(times: Resampled) -> int | None:
    """Return the last size before one line becomes another, if two lines explain the times much better than one.

    The measure is the Bayesian information criterion, of relative deviations.
    """
    count = len(times.sizes_bytes)
    first = Resampled(times.sizes_bytes, times.times_s[:1])
    best, found = _criterion(line(first).deviation, count, 2) - _LEAST_GAIN, None
    for at in range(_LEAST_SIZES, count - _LEAST_SIZES + 1):
        before, after = line(first.part(slice(0, at))), line(first.part(slice(at, None)))
        squares = at * before.deviation**2 + (count - at) * after.deviation**2
        criterion = _criterion(float(np.sqrt(squares / count)), count, 5)
        if criterion < best:
            best, found = criterion, int(times.sizes_bytes[at - 1])
    return found


def _criterion(deviation: float, count: int, parameters: int) -> float:
    return count * float(np.log(max(deviation, 1e-9) ** 2)) + parameters * float(np.log(count))
