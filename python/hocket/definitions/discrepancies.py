"""How far measured times were from those that a machine simulates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Discrepancy:
    """A kind of calls, and two factors of the simulated time: nine of ten measured calls took a time between them."""

    collective: str | None  # the collective of the calls; None for any
    algorithm: str | None  # their algorithm; None for any
    from_bytes: int  # their least size
    below_bytes: int | None  # their sizes are below it; None if there is no limit
    low: float  # the smaller factor
    high: float  # the larger factor
    # The ratio of the measured times of two algorithms in such a call was within this factor of the ratio of the
    # simulated times, nine of ten times; without such measurements it is `high / low`.
    ratio: float
    # How many calls of this kind were measured. The machine was not fitted to them.
    calls: int
    ranks: int  # on how many ranks at most they were measured

    def holds(self, collective: str, algorithm: str, size_bytes: int) -> bool:
        """Return whether a call is of this kind."""
        return (
            self.collective in (None, collective)
            and self.algorithm in (None, algorithm)
            and self.from_bytes <= size_bytes
            and (self.below_bytes is None or size_bytes < self.below_bytes)
        )


def discrepancy_of(
    kinds: Iterable[Discrepancy], collective: str, algorithm: str, size_bytes: int, *, ranks: int
) -> Discrepancy | None:
    """Return the first kind that a call is of; None if it is of none.

    Kinds that were measured on the fewest ranks that are enough for the call go first, then those on the most ranks.
    """
    return _nearest((one for one in kinds if one.holds(collective, algorithm, size_bytes)), ranks)


def ratio_of(kinds: Iterable[Discrepancy], collective: str, size_bytes: int, *, ranks: int) -> float:
    """Return by which factor the ratio of the measured times of two algorithms may differ from the simulated one.

    It is that of the first kind for any algorithm; 1 if the call is of none.
    """
    kind = _nearest((one for one in kinds if not one.algorithm and one.holds(collective, "", size_bytes)), ranks)
    return kind.ratio if kind else 1.0


def _nearest(kinds: Iterable[Discrepancy], ranks: int) -> Discrepancy | None:
    own = list(kinds)
    return min(own, key=lambda one: (one.ranks < ranks, one.ranks if one.ranks >= ranks else -one.ranks), default=None)
