"""Cases that Hocket and something else both have a number for, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor, sqrt
from statistics import median
from typing import Any

_Z = 1.96  # of 95 %


@dataclass(frozen=True)
class Case:
    """One number of Hocket's beside that of something else.

    Attributes:
        name: What it is.
        hocket: Hocket's number.
        other: The other number, of the same unit.
        reach: Where the other is measured, how far its 95 % interval reaches, as a share of it.
    """

    name: str
    hocket: float
    other: float
    reach: float | None = None

    @property
    def deviation(self) -> float:
        """How far the other number is from Hocket's, as a share of that."""
        return self.other / self.hocket - 1


@dataclass(frozen=True)
class Comparison:
    """Hocket beside one source.

    Attributes:
        source: What it is compared with.
        cases: What was compared; none if it was not run.
        incomparable: What is not comparable, and why.
        versions: Names and versions of what took part.
        remark: What else was found.
        why_not: Why it was not run, if it was not.
    """

    source: str
    cases: tuple[Case, ...]
    incomparable: str
    versions: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""
    why_not: str | None = None

    @property
    def sizes(self) -> list[float]:
        """How far each case is off, without a sign, in order."""
        return sorted(abs(case.deviation) for case in self.cases)

    @property
    def median(self) -> float | None:
        """The median of how far cases are off."""
        return median(self.sizes) if self.cases else None

    @property
    def worst(self) -> Case | None:
        """The case that is farthest off."""
        return max(self.cases, key=lambda case: abs(case.deviation), default=None)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the median, by order statistics."""
        sizes = self.sizes
        if not sizes:
            return None
        half = _Z * sqrt(len(sizes)) / 2
        middle = (len(sizes) - 1) / 2
        return sizes[max(floor(middle - half), 0)], sizes[min(ceil(middle + half), len(sizes) - 1)]

    @property
    def reach(self) -> float | None:
        """The median of how far the intervals of measurements reach, where the other numbers are measured."""
        reaches = [case.reach for case in self.cases if case.reach is not None]
        return median(reaches) if reaches else None

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        worst = self.worst
        return {
            "source": self.source,
            "cases": len(self.cases),
            "median": self.median,
            "interval": self.interval,
            "worst": None if worst is None else abs(worst.deviation),
            "worst_case": None if worst is None else worst.name,
            "measurement_reach": self.reach,
            "not_comparable": self.incomparable,
            "remark": self.remark,
            "versions": dict(self.versions),
            "not_run": self.why_not,
        }


def not_run(source: str, incomparable: str, why: object, versions: Mapping[str, str] | None = None) -> Comparison:
    """Return a comparison that could not be made, with the reason."""
    return Comparison(source, (), incomparable, versions or {}, why_not=str(why))
