"""How far measured times were from those that a machine simulates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Discrepancy:
    """A kind of calls, and two factors of the simulated time: nine of ten measured calls took a time between them.

    Attributes:
        collective: The collective of the calls; None for any.
        algorithm: Their algorithm; None for any.
        from_bytes: Their least size.
        below_bytes: Their sizes are below it; None if there is no limit.
        from_ranks: Their least number of ranks.
        low: The smaller factor.
        high: The larger factor.
        calls: How many calls of this kind were measured. The machine was not fitted to them.
    """

    collective: str | None
    algorithm: str | None
    from_bytes: int
    below_bytes: int | None
    from_ranks: int
    low: float
    high: float
    calls: int

    def holds(self, collective: str, algorithm: str, ranks: int, size_bytes: int) -> bool:
        """Return whether a call is of this kind."""
        return (
            self.collective in (None, collective)
            and self.algorithm in (None, algorithm)
            and self.from_bytes <= size_bytes
            and (self.below_bytes is None or size_bytes < self.below_bytes)
            and self.from_ranks <= ranks
        )
