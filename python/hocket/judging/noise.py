"""How far the ratio of two times is known: its interval, and how likely noise alone makes such a ratio.

Repeated runs tell the most: Welch's test on the logarithms of the times. A few runs tell their variance badly, and 20
sizes have one that is far too small by chance. So the variance at a size is averaged with the mean variance of all
sizes of the series, which counts as much as four runs. Where only one side has repeated runs, the other side is a
further run of the same noise. What a benchmark prints of a single run (a confidence interval, or the
spread of its iterations) says nothing of differences between runs. Then the ratio at a size is known no better than
the ratios of neighbouring sizes agree, whichever is wider.

Source: B. L. Welch, Biometrika 34 (1947). Averaged variances: G. K. Smyth, Statistical Applications in Genetics and
Molecular Biology 3 (2004), here with the mean variance and a fixed weight. The scatter of neighbouring sizes is their
median absolute difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import fmean, median
from typing import Literal, NamedTuple, TypeAlias

from hocket.judging.pairs import Pair, Series, median_s
from hocket.judging.student import quantile, two_sided
from hocket.measurements.measurement import Measurement

Basis: TypeAlias = Literal["runs", "runs of one side", "intervals", "iterations", "sizes", "nothing"]
"""What an interval is from: repeated runs, the intervals or the iterations of one run, or the scatter of the ratio
between neighbouring sizes."""

_NORMAL_95 = 1.959964
_NORMAL_90 = 1.281552  # 80 % of the values are at most so many standard deviations from the mean
_MEDIAN_SPREAD = math.sqrt(math.pi / 2)  # the standard error of a median to that of a mean
_MAD = 1.482602  # the standard deviation of a normal distribution to its median absolute deviation
_LEAST_DIFFERENCES = 4
_FREEDOM_SHARE = 0.5
"""Degrees of freedom for each difference between neighbours: of less, false alarms become fewer than 5 %."""
_LEAST_POINTS = 4
_COMMON_FREEDOM = 3
"""The weight of the mean variance of a series, in degrees of freedom. With more, false alarms exceed 5 % where small
sizes are several times as noisy as large ones; with less, two runs on each side find no change of 1.3 times."""
_SAME = 1e-12  # ln of ratios that only rounding tells from 1
_MOST = 700.0  # the largest number whose exponential is finite


@dataclass(frozen=True)
class Noise:
    """How far ln(after / before) is known, and how likely noise alone makes a ratio at least so far from 1."""

    error: float  # the standard error of the middle of its 95 % confidence interval
    freedom: float  # the degrees of freedom from which the error is known
    middle: float
    p_value: float
    basis: Basis

    @property
    def reach(self) -> float:
        """From the middle to an end of the interval."""
        return quantile(self.freedom) * self.error


def exponential(value: float) -> float:
    """Return exp of a value, or the largest or smallest finite one."""
    return math.exp(max(-_MOST, min(_MOST, value)))


def log_ratio(pair: Pair) -> float:
    """Return ln(after / before), of medians."""
    return math.log(median_s(pair.after)) - math.log(median_s(pair.before))


def noises(pairs: Sequence[Pair]) -> tuple[Noise | None, ...]:
    """Return how far the ratio of each pair is known; None where nothing tells it. Pairs are in order."""
    scatters, commons = _scatters(pairs), _common_variances(pairs)
    return tuple(_of_runs(pair, commons[pair.series]) or _of_one_run(pair, scatters[pair.series]) for pair in pairs)


class _Variance(NamedTuple):
    """The variance of ln(time), and the degrees of freedom from which it is known."""

    value: float
    freedom: float


def _common_variances(pairs: Sequence[Pair]) -> dict[Series, tuple[_Variance | None, _Variance | None]]:
    """Return the mean variance before and after, by series. Series of few sizes share one."""
    sides: dict[Series, tuple[list[_Variance], list[_Variance]]] = {}
    for pair in pairs:
        for own, runs in zip(sides.setdefault(pair.series, ([], [])), (pair.before, pair.after), strict=True):
            own += _own_variance(runs)
    of_all = [_mean([one for each in sides.values() for one in each[side]]) for side in (0, 1)]
    return {series: (_mean(own[0]) or of_all[0], _mean(own[1]) or of_all[1]) for series, own in sides.items()}


def _own_variance(runs: Sequence[Measurement]) -> list[_Variance]:
    """Return the variance of repeated runs; nothing of a single run."""
    if len(runs) < 2:
        return []
    logarithms = [math.log(one.time_s) for one in runs]
    middle, freedom = fmean(logarithms), len(runs) - 1
    return [_Variance(math.fsum((each - middle) ** 2 for each in logarithms) / freedom, freedom)]


def _mean(variances: Sequence[_Variance]) -> _Variance | None:
    if len(variances) < _LEAST_POINTS:
        return None
    return _Variance(fmean(one.value for one in variances), sum(one.freedom for one in variances))


def _average(own: _Variance, common: _Variance | None) -> _Variance:
    if common is None:
        return own
    freedom = own.freedom + _COMMON_FREEDOM
    value = (own.freedom * own.value + _COMMON_FREEDOM * common.value) / freedom
    return _Variance(value, min(freedom, common.freedom))


def _of_runs(pair: Pair, commons: tuple[_Variance | None, _Variance | None]) -> Noise | None:
    sides = (pair.before, pair.after)
    variances = [
        (_average(own, common), len(side))
        for side, common in zip(sides, commons, strict=True)
        for own in _own_variance(side)
    ]
    if not variances:
        return None
    before, after = (fmean(math.log(one.time_s) for one in side) for side in sides)
    if len(variances) == 1:
        ((one, runs),) = variances
        error = math.sqrt(one.value * (1 + 1 / runs))
        return _noise(pair, after - before, error, one.freedom, "runs of one side")
    error = math.sqrt(sum(one.value / runs for one, runs in variances))
    freedom = min(one.freedom for one, _ in variances)  # certain, if few runs are all that is known
    if error > 0 and None not in commons:
        freedom = 1 / sum((one.value / runs / error**2) ** 2 / one.freedom for one, runs in variances)
    return _noise(pair, after - before, error, freedom, "runs")


def _of_one_run(pair: Pair, scatter: tuple[float, float] | None) -> Noise | None:
    """Return the wider noise: of what the spreads of two single runs tell, or of the scatter between sizes."""
    middle = log_ratio(pair)
    candidates = [] if scatter is None else [_noise(pair, middle, *scatter, "sizes")]
    runs = (*pair.before, *pair.after)
    errors = [error for one in runs if (error := _error(one)) is not None]
    if len(errors) == 2:
        is_of_iterations = any(one.spread and one.spread.what == "iterations" for one in runs)
        basis: Basis = "iterations" if is_of_iterations else "intervals"
        candidates.insert(0, _noise(pair, middle, math.hypot(*errors), math.inf, basis))
    return max(candidates, key=lambda noise: noise.reach, default=None)


def _noise(pair: Pair, middle: float, error: float, freedom: float, basis: Basis) -> Noise:
    """Return the noise of a standard error; without one, any difference is beyond it."""
    ratio = log_ratio(pair)
    if abs(middle) <= _SAME or middle * ratio < 0:
        p_value = 1.0
    else:
        p_value = two_sided(middle / error, freedom) if error > 0 else 0.0
    return Noise(error, freedom, middle, p_value, basis)


def _error(one: Measurement) -> float | None:
    """Return the standard error of ln(time) that the spread of a run tells; of iterations, as if independent."""
    spread = one.spread
    if spread is None or spread.what == "ranks" or not 0 < spread.low_s <= one.time_s <= spread.high_s:
        return None
    if spread.what == "interval":
        return math.log(spread.high_s / spread.low_s) / (2 * _NORMAL_95)
    if spread.iterations is None:
        return None
    deviation = max(math.log(spread.high_s / one.time_s), math.log(one.time_s / spread.low_s)) / _NORMAL_90
    return _MEDIAN_SPREAD * deviation / math.sqrt(spread.iterations)


def _scatters(pairs: Sequence[Pair]) -> dict[Series, tuple[float, float] | None]:
    """Return the standard error of a ratio by series, with its degrees of freedom. Short series share one."""
    differences = {
        series: [second - first for first, second in pairwise(map(log_ratio, group))]
        for series, group in groupby(pairs, key=lambda pair: pair.series)
    }
    common = _scatter([each for values in differences.values() for each in values])
    return {series: _scatter(values) or common for series, values in differences.items()}


def _scatter(differences: Iterable[float]) -> tuple[float, float] | None:
    sizes = [abs(each) if abs(each) > _SAME else 0.0 for each in differences]
    if len(sizes) < _LEAST_DIFFERENCES:
        return None
    return _MAD * median(sizes) / math.sqrt(2), _FREEDOM_SHARE * len(sizes)
