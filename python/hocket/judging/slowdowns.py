"""Which slowdown explains factors of measured over expected times: of the latency, of the rate, or of a single size.

The error of a machine file is the Gaussian process of `identifying`; its spread is that of the intervals of the rows.
Its mean is shifted by each candidate: nothing is wrong, the latency or the time of bytes is some times as long, or all
of the time is. Any one size may be odd besides. The candidate with the greatest posterior probability is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from hocket.judging.assessment import Row
from hocket.judging.identifying import NINE_OF_TEN, Floats, correlations

What: TypeAlias = Literal["nothing", "latency", "rate", "all"]

_FACTORS = np.array([1.5, 1.75, 2, 2.5, 3, 4, 6, 8, 12])
_PRIORS: dict[What, float] = {"nothing": 0.78, "latency": 0.1, "rate": 0.1, "all": 0.02}
_LEAST_SPREAD = 0.25  # intervals of machine files from few calls can be too narrow
_NOISE = 0.05
_ODD = 0.01  # the probability that some size is odd, times the density of its time
_PEAK, _AT_LEAST = 1.6, 1.2  # a peak is so many times as high as its neighbours explain, and as the expected time


def slowdown_of(rows: Sequence[Row]) -> tuple[What, Row | None]:
    """Return what explains the factors of some rows, by rising sizes, best, and the row that is odd, if one is."""
    height, place = max(((height_of(rows, each), each) for each in range(1, len(rows) - 1)), default=(0.0, 0))
    odd = rows[place] if height > _PEAK and rows[place].factor > _AT_LEAST else None
    return _what([row for row in rows if row is not odd]), odd


def height_of(rows: Sequence[Row], place: int) -> float:
    """Return how many times the factor of a row is what its neighbours explain; the higher one explains more."""
    low, high = sorted((rows[place - 1].factor, rows[place + 1].factor))
    return float(rows[place].factor / (high**0.75 * low**0.25))


def _what(rows: Sequence[Row]) -> What:
    low_s, expected_s, high_s = np.array([(row.low_s, row.expected_s, row.high_s) for row in rows]).T
    spreads = np.maximum(np.log(high_s / low_s) / (2 * NINE_OF_TEN), _LEAST_SPREAD)
    covariance = np.outer(spreads, spreads) * correlations([row.size_bytes for row in rows])
    covariance += _NOISE**2 * np.eye(len(rows))
    errors = np.log([row.measured_s for row in rows]) - np.log(low_s * high_s) / 2
    latency = expected_s.min() / expected_s
    shares: dict[What, Floats] = {"latency": latency, "rate": np.sqrt(1 - latency), "all": np.ones(len(rows))}
    shifts = {what: np.log1p(np.outer(_FACTORS - 1, share)) for what, share in shares.items()}
    shifts["nothing"] = np.zeros((1, len(rows)))
    weights = {
        what: np.log(_PRIORS[what]) + np.logaddexp.reduce(_likelihoods(errors - each, covariance)) - np.log(len(each))
        for what, each in shifts.items()
    }
    return max(weights, key=lambda what: float(weights[what]))


def _likelihoods(errors: Floats, covariance: Floats) -> Floats:
    """Return the logarithm of the likelihood of each row of errors: of all sizes, or of all but one that is odd."""
    count = len(covariance)
    likelihoods = []
    for left_out in range(count + 1):
        own = np.arange(count) != left_out
        factor = np.linalg.cholesky(covariance[np.ix_(own, own)])
        rests = np.linalg.solve(factor, errors[:, own].T)
        log_density = -0.5 * (rests**2).sum(axis=0) - np.log(np.sqrt(2 * np.pi) * np.diag(factor)).sum()
        likelihoods.append(log_density + (np.log(_ODD) if left_out < count else 0.0))
    return np.asarray(np.logaddexp.reduce(likelihoods))
