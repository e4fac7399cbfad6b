"""Student's distribution.

Source: M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions", 26.5.8 (the continued fraction of the
incomplete beta function) and 26.7.1.
"""

from __future__ import annotations

import math
from functools import lru_cache

WRONG = 0.05  # the share of numbers that are beyond a quantile
_STEPS = 300
_TINY = 1e-300
_EXACT = 1e-15
_INFINITE = 1e9  # a quantile is as good as that


def two_sided(t: float, freedom: float) -> float:
    """Return the probability that a number of Student's distribution is at least as far from 0 as `t`.

    There is at least one degree of freedom; infinity is the normal distribution.
    """
    if math.isinf(freedom):
        return math.erfc(abs(t) / math.sqrt(2))
    return _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


@lru_cache(maxsize=4096)
def quantile(freedom: float) -> float:
    """Return how far from 0 only 5 % of the numbers are."""
    low, high = 0.0, 1.0
    while two_sided(high, freedom) > WRONG and high < _INFINITE:
        low, high = high, 2 * high
    while high - low > _EXACT * high and (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if two_sided(middle, freedom) > WRONG else (low, middle)
    return high


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function of x, with the parameters a and b."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(scale) / (a * _fraction(x, a, b))


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction 1 + d1/(1 + d2/(1 + ...)), by Lentz's method."""
    value, upper, lower = 1.0, 1.0, 0.0
    for step in range(1, _STEPS):
        m = step // 2
        if step % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        lower = 1 / (1 + d * lower or _TINY)
        upper = 1 + d / upper or _TINY
        value *= upper * lower
        if abs(upper * lower - 1) < _EXACT:
            break
    return value
