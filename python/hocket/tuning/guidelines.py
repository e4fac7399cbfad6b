"""Guidelines for an MPI's defaults: no slower than other collectives with the same effect, or than more work.

Sources: J. L. Träff, W. D. Gropp, R. Thakur, "Self-consistent MPI performance guidelines", IEEE TPDS 21 (2010);
S. Hunold, A. Carpen-Amarie, "Autotuning MPI collectives using performance guidelines", HPC Asia 2018.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from hocket.base.files import read_rows
from hocket.base.units import format_bytes, format_count, format_time
from hocket.tuning.choice import DEFAULT, Choice, Estimate, Point
from hocket.tuning.records import PointRecord

_COMPOSITIONS: Mapping[str, list[str]] = {
    row["collective"]: row["compositions"].split("; ") for row in read_rows(__file__, "guidelines.csv")
}


def compositions(collective: str) -> list[Choice]:
    """Return the compositions of other collectives with the same effect as a collective."""
    return [Choice("composition", name) for name in _COMPOSITIONS.get(collective, ())]


@dataclass(frozen=True)
class Violation:
    """A default that is slower than a reference beyond the noise: the intervals of their times do not overlap."""

    point: Point
    guideline: str
    default: Estimate
    other: Estimate

    @property
    def factor(self) -> tuple[float, float, float]:
        """The ratio of the default's time to the reference's: of medians, and the least and the most possible one."""
        default, other = self.default, self.other
        return default.median_s / other.median_s, default.low_s / other.high_s, default.high_s / other.low_s

    def __str__(self) -> str:
        middle, least, most = self.factor
        times = f"{format_time(self.default.median_s)} against {format_time(self.other.median_s)}"
        return f"{self.point}: {middle:.2f} times ({least:.2f} to {most:.2f}) {self.guideline}: {times}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        middle, least, most = self.factor
        return {
            **vars(self.point),
            "guideline": self.guideline,
            "default": vars(self.default),
            "other": vars(self.other),
            "factor": middle,
            "least_factor": least,
            "most_factor": most if most < float("inf") else None,
        }


def violations(records: Iterable[PointRecord]) -> list[Violation]:
    """Return violations by point: by other collectives, by other algorithms of the MPI, and by calls with more work."""
    records_in_order = sorted(records, key=lambda one: one.point)
    beaten = [
        Violation(record.point, str(choice), record.times[DEFAULT], other)
        for record in records_in_order
        for choice, other in record.times.items()
        if DEFAULT in record.times and choice != DEFAULT and record.times[DEFAULT].low_s > other.high_s
    ]
    return sorted([*beaten, *_not_monotone(records_in_order)], key=lambda one: one.point)


def _not_monotone(records: Sequence[PointRecord]) -> Iterable[Violation]:
    """Give the defaults that take longer than with more bytes or on more ranks."""
    records_with_default = [one for one in records if DEFAULT in one.times]
    for less, more in combinations(records_with_default, 2):
        a, b = less.point, more.point
        if a.collective != b.collective or (a.ranks != b.ranks and a.size_bytes != b.size_bytes):
            continue
        default, other = less.times[DEFAULT], more.times[DEFAULT]
        if default.low_s > other.high_s:
            what = format_bytes(b.size_bytes) if a.ranks == b.ranks else format_count(b.ranks, "rank")
            yield Violation(a, f"that of {what}", default, other)
