"""Successive elimination: measure possible winners until one is known well enough, and drop those that cannot win.

All intervals of all checks hold together with probability `CONFIDENCE`: check k of n choices gets a share of 6 / (pi
k)^2 / n of the remaining probability. So the fastest choice is dropped at most with this remaining probability, and the
leader of a decided race is within the tolerance of the fastest.

Sources: E. Even-Dar, S. Mannor, Y. Mansour, "Action elimination and stopping conditions for the multi-armed bandit and
reinforcement learning problems", JMLR 7 (2006); intervals between order statistics: H. A. David, H. N. Nagaraja, "Order
statistics", 2003, section 7.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from math import exp, inf, lgamma, log, pi
from statistics import median

from hocket.tuning.choice import Choice, Estimate

CONFIDENCE = 0.95  # the probability that all intervals of a race hold


def share_of_check(check: int, choices: int) -> float:
    """Return the allowed error probability of one choice's interval at check 1, 2, ..."""
    return (1 - CONFIDENCE) * 6 / (pi * check) ** 2 / choices


@lru_cache(maxsize=4096)
def rank_of_bound(count: int, wrong: float) -> int:
    """Return k such that the k-th smallest and the k-th largest of `count` samples enclose the median.

    They fail with a probability of at most `wrong`, whatever the distribution, because the number of samples below the
    median is binomial. The result is 0 if there are too few samples.
    """
    below, k = 0.0, 0
    while k < count // 2:
        below += exp(lgamma(count + 1) - lgamma(k + 1) - lgamma(count - k + 1) - count * log(2))
        if 2 * below > wrong:
            break
        k += 1
    return k


def estimate(samples_s: Sequence[float], wrong: float) -> Estimate:
    """Return the median of samples, and an interval that is wrong with a probability of at most `wrong`."""
    if not samples_s:
        return Estimate(inf, 0.0, inf)
    ordered, k = sorted(samples_s), rank_of_bound(len(samples_s), wrong)
    low_s, high_s = (ordered[k - 1], ordered[-k]) if k else (0.0, inf)
    return Estimate(median(ordered), low_s, high_s)


class Race:
    """A race of choices at one point; some are still measured, the others are dropped.

    It looks for the best of each family, a set of choices, which may be in several. The leader of a decided family may
    be slower than the fastest by the tolerance, a share.
    """

    def __init__(self, families: Iterable[Collection[Choice]], *, tolerance: float) -> None:
        self._families = [tuple(dict.fromkeys(family)) for family in families]
        self._tolerance = tolerance
        self._checks = 0
        choices = dict.fromkeys(choice for family in self._families for choice in family)
        self.samples_s: dict[Choice, list[float]] = {choice: [] for choice in choices}
        self.estimates: dict[Choice, Estimate] = {}  # from the last check of each choice
        self.running: tuple[Choice, ...] = tuple(choices)  # those that are still measured

    def add(self, samples_s: Mapping[Choice, Iterable[float]]) -> None:
        """Add the samples of another batch, and drop choices that cannot be the fastest of any of their families."""
        for choice, more in samples_s.items():
            self.samples_s[choice].extend(more)
        self._checks += 1
        wrong = share_of_check(self._checks, len(self.samples_s))
        for choice in self.running:
            self.estimates[choice] = estimate(self.samples_s[choice], wrong)
        open_families = [family for family in map(self._running_of, self._families) if not self._is_decided(family)]
        self.running = tuple(c for c in self.running if any(c in family for family in open_families))

    @property
    def is_decided(self) -> bool:
        """Whether the leader of each family is within the tolerance of the fastest."""
        return not self.running

    def drop(self, choice: Choice) -> None:
        """Take out a choice that cannot be measured."""
        self._families = [tuple(c for c in family if c != choice) for family in self._families]
        self.running = tuple(c for c in self.running if c != choice)
        del self.samples_s[choice]

    def _running_of(self, family: Collection[Choice]) -> tuple[Choice, ...]:
        """Return the choices of a family that may be its fastest."""
        running = [choice for choice in family if choice in self.running]
        least_high_s = min((self.estimates[choice].high_s for choice in running), default=inf)
        return tuple(choice for choice in running if self.estimates[choice].low_s <= least_high_s)

    def _is_decided(self, family: Collection[Choice]) -> bool:
        if not family:
            return True
        leader = min(family, key=lambda choice: (self.estimates[choice].median_s, choice))
        others = [self.estimates[choice].low_s for choice in family if choice != leader]
        return not others or self.estimates[leader].high_s <= (1 + self._tolerance) * min(others)
