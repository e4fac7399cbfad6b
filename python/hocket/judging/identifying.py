"""Which program took some measured times: probabilities of programs whose times on a machine are known.

The logarithm of measured over simulated time is the error of the machine. It has a part that all sizes share, a part
that neighbouring sizes share, and a part of each size: a Gaussian process over the logarithm of the size. A library may
change its program from one size to the next, so that a curve is a row of segments, of a program each. The sum over all
such rows gives the probability of each program at each size (a hidden semi-Markov model: Yu, Artificial Intelligence
174, 2010). Errors of programs on one machine are alike, and no model of them is right: the likelihood counts by half.
Times may also be a constant factor off, as on a machine that is busy: each program has a second form for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NINE_OF_TEN = 1.645
"""So many standard deviations on each side of the mean have nine of ten values of a normal distribution."""
_COMMON, _SMOOTH, _OWN = 0.3, 0.6, 0.1
"""Shares of the variance of errors: of all sizes, of sizes near each other, and of each size."""
_DOUBLINGS = 2.0  # sizes this many doublings apart share much of their error
_WEIGHT = 0.5  # the share of the likelihood that counts
_SWITCH = 0.02  # the probability that the program changes from one size to the next
_OTHER_PRIOR, _OTHER_FACTOR, _OTHER_SPREAD = 0.05, 2.0, 1.2
"""A program that is none of these: its probability before, its times over the fastest, and their spread."""
_LEVEL_PRIOR, _LEVEL_SPREAD = 0.1, 0.6
"""A constant factor between measured and simulated times: its probability before, and the spread of its logarithm."""
LEAST_PROBABILITY = 0.8  # the probability from which on a program counts as identified


@dataclass(frozen=True)
class Guess:
    """Programs alike at these sizes that may have run, the likeliest first, and how likely one of them did."""

    programs: tuple[str, ...]
    probability: float

    @property
    def is_told(self) -> bool:
        """Whether it is likely enough to be named as the program that ran."""
        return self.probability >= LEAST_PROBABILITY and bool(self.programs)


def probabilities(
    sizes_bytes: Sequence[int], times_s: Sequence[float], simulated_s: Floats, spread: float, priors: Sequence[float]
) -> Floats:
    """Return the probability of each program at each size, which rise; the last column is of none of them.

    Simulated times have a row for each program; not a number where it does not take the call. The spread is the
    standard deviation of the logarithm of measured over simulated times. The priors are up to a factor.
    """
    own_correlations = correlations(sizes_bytes)
    fastest = np.log(np.nanmin(simulated_s, axis=0)) + np.log(_OTHER_FACTOR)
    errors = np.log(times_s) - np.vstack([np.log(simulated_s), fastest])
    own = (1 - _OTHER_PRIOR) * np.asarray(priors) / np.sum(priors)
    likelihoods = [
        *(_segments(own_correlations, each, spread) for each in errors[:-1]),
        _segments(own_correlations, errors[-1], float(np.hypot(_OTHER_SPREAD, spread))),
        *(_segments(own_correlations, each, spread, _LEVEL_SPREAD) for each in errors[:-1]),
    ]
    all_priors = np.concatenate([(1 - _LEVEL_PRIOR) * own, [_OTHER_PRIOR], _LEVEL_PRIOR * own])
    shares = _posterior(np.stack(likelihoods), all_priors)
    return np.column_stack([shares[:, : len(own)] + shares[:, len(own) + 1 :], shares[:, len(own)]])


def correlations(sizes_bytes: Sequence[int]) -> Floats:
    """Return the correlations of the errors of some sizes on a machine."""
    doublings = np.log2(np.maximum(np.asarray(sizes_bytes, dtype=float), 1.0))
    nearness = np.exp(-((doublings[:, None] - doublings) ** 2) / (2 * _DOUBLINGS**2))
    return np.asarray(_COMMON + _SMOOTH * nearness + _OWN * np.eye(len(doublings)))


def _segments(own_correlations: Floats, errors: Floats, spread: float, level_spread: float = 0.0) -> Floats:
    """Return the logarithm of the likelihood of the sizes from i to j, of one program."""
    count = len(errors)
    likelihoods = np.full((count, count), -np.inf)
    covariance = spread**2 * own_correlations + level_spread**2
    for first in range(count):
        refused = np.flatnonzero(~np.isfinite(errors[first:]))
        end = first + int(refused[0]) if len(refused) else count
        if end > first:
            factor = np.linalg.cholesky(covariance[first:end, first:end])
            residuals = np.linalg.solve(factor, errors[first:end])
            terms = -0.5 * residuals**2 - np.log(np.diag(factor)) - 0.5 * np.log(2 * np.pi)
            likelihoods[first, first:end] = _WEIGHT * np.cumsum(terms)
    return likelihoods


def _posterior(likelihoods: Floats, priors: Floats) -> Floats:
    """Return the probability of each program at each size, given the likelihoods of segments."""
    count = likelihoods.shape[1]
    first, last = np.arange(count)[:, None], np.arange(count)[None]
    begins = np.where(np.arange(count) > 0, np.log(_SWITCH), 0.0)
    stays = np.where(last >= first, (last - first) * np.log1p(-_SWITCH), -np.inf)
    with np.errstate(divide="ignore"):
        segments = likelihoods + np.log(priors)[:, None, None] + stays + begins[:, None]
    of_any = np.logaddexp.reduce(segments, axis=0)
    before, after = np.full(count + 1, -np.inf), np.full(count + 1, -np.inf)
    before[0] = after[count] = 0.0
    for size in range(count):
        before[size + 1] = np.logaddexp.reduce(before[: size + 1] + of_any[: size + 1, size])
    for size in reversed(range(count)):
        after[size] = np.logaddexp.reduce(of_any[size, size:] + after[size + 1 :])
    shares = np.exp(segments + before[:count, None] + after[1:] - before[count])
    return np.stack([shares[:, : size + 1, size:].sum(axis=(1, 2)) for size in range(count)])


def guess(labels: Sequence[str], shares: Floats, simulated_s: Floats, spread: float) -> Guess:
    """Return the likeliest programs at some sizes, by the probability of each, and of none, at each of the sizes.

    Programs cannot be told apart whose times differ by less than the error of a single size, in root mean square.
    """
    likely = shares.mean(axis=0)
    best = int(np.argmax(likely))
    if best == len(labels):
        return Guess((), float(likely[best]))
    with np.errstate(invalid="ignore"):
        variances = ((np.log(simulated_s) - np.log(simulated_s[best])) ** 2).mean(axis=1)
    alike = [program for program in range(len(labels)) if program == best or variances[program] < _OWN * spread**2]
    alike.sort(key=lambda program: -likely[program])
    return Guess(tuple(labels[program] for program in alike), min(1.0, float(likely[alike].sum())))
