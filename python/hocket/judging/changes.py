"""What changed between two sets of measured times, beyond a tolerance and beyond noise.

All points are tested at once, so false alarms are limited over all of them, by Benjamini's and Hochberg's procedure: if
nothing has changed, the probability of any false alarm is at most 5 %.

Source: Y. Benjamini, Y. Hochberg, Journal of the Royal Statistical Society B 57 (1995).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hocket.base import checks
from hocket.base.results import Result
from hocket.base.units import format_count
from hocket.judging.change import Change, Direction, Range, ranges_of, steps_of
from hocket.judging.change_words import findings_of
from hocket.judging.finding import Finding
from hocket.judging.noise import Noise, exponential, log_ratio, noises
from hocket.judging.pairs import Pair, median_s, pairs_of
from hocket.measurements.measurement import Measurement

_WRONG = 0.05
_EXPECTED = "measurements, as hocket.read_measurements returns them"


@dataclass(frozen=True)
class Changes(Result):
    """What changed between two sets of measured times; `plot` draws ratios over the size, with their intervals.

    Attributes:
        changes: The common points, by series and size.
        ranges: Neighbouring sizes of a series that changed in the same direction.
        only_before: Points that are only in the first set, a line for each series.
        only_after: Points that are only in the second set, a line for each series.
        tolerance: The change that does not matter, as a share of the time.
        findings: The conclusions: slower ranges first, then faster ones, then the others.
    """

    changes: tuple[Change, ...]
    ranges: tuple[Range, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    tolerance: float
    findings: tuple[Finding, ...]

    @property
    def is_slower(self) -> bool:
        """Whether a time became longer, beyond the tolerance and beyond noise."""
        return any(one.direction == "slower" for one in self.changes)

    @property
    def title(self) -> str:
        """What is compared, in one line."""
        collectives = ", ".join(dict.fromkeys(one.series.collective for one in self.changes))
        return f"{collectives:.100}, {format_count(len(self.changes), 'point')}: time after over time before"

    @property
    def sentence(self) -> str:
        """The main conclusion in words, without a full stop."""
        return self.findings[0].sentence

    def of(self, direction: Direction) -> tuple[Change, ...]:
        """Return the points that changed in a direction."""
        return tuple(one for one in self.changes if one.direction == direction)

    def records(self) -> list[dict[str, Any]]:
        """Return the points as rows by column."""
        return [one.record() for one in self.changes]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "sentence": self.sentence,
            "is_slower": self.is_slower,
            "tolerance": self.tolerance,
            "findings": [asdict(one) for one in self.findings],
            "ranges": [one.record() for one in self.ranges],
            "only_before": list(self.only_before),
            "only_after": list(self.only_after),
            "changes": self.records(),
        }


def changes(before: Sequence[Measurement], after: Sequence[Measurement], *, tolerance: float = 0.1) -> Changes:
    """Return what changed between two sets of measured times.

    A point is a call by an algorithm. Several times of a point in a set are repeated runs.

    Args:
        before: The times before.
        after: The times after.
        tolerance: The change that does not matter, as a share of the time: with 0.1, times that become up to 1.1 times
            as long, or as short. At least 0.

    Raises:
        Error: The sets share no point, or an argument is invalid.
    """
    sets = [checks.several(name, each, Measurement, _EXPECTED) for name, each in (("before", before), ("after", after))]
    checks.number("tolerance", tolerance, "a share of at least 0", is_right=lambda share: 0 <= share < math.inf)
    pairs, only_before, only_after = pairs_of(*sets)
    noise_by_point = noises(pairs)
    p_values = _over_all_points([None if noise is None else noise.p_value for noise in noise_by_point])
    rows = tuple(
        _change(pair, noise, p_value, math.log1p(tolerance))
        for pair, noise, p_value in zip(pairs, noise_by_point, p_values, strict=True)
    )
    ranges = ranges_of(rows)
    only = {"before": only_before, "after": only_after}
    findings = findings_of(ranges, steps_of(rows, tolerance), only, tolerance)
    return Changes(rows, ranges, only_before, only_after, float(tolerance), findings)


def _over_all_points(p_values: Sequence[float | None]) -> list[float | None]:
    """Return probabilities corrected for how many there are: the smallest level at which each is a discovery."""
    ranking = sorted((p_value, place) for place, p_value in enumerate(p_values) if p_value is not None)
    result: list[float | None] = [None] * len(p_values)
    least = 1.0
    for rank, (p_value, place) in reversed([*enumerate(ranking, start=1)]):
        least = min(least, p_value * len(ranking) / rank)
        result[place] = least
    return result


def _change(pair: Pair, noise: Noise | None, p_value: float | None, most: float) -> Change:
    """Return the change of a point; `most` is ln of the largest ratio that does not matter."""
    ratio = log_ratio(pair)
    low = high = None
    if noise is not None:  # the interval of the means of ln(time), stretched to the ratio of medians if that is outside
        low, high = min(noise.middle - noise.reach, ratio), max(noise.middle + noise.reach, ratio)
    return Change(
        pair.series,
        pair.size_bytes,
        median_s(pair.before),
        median_s(pair.after),
        len(pair.before),
        len(pair.after),
        exponential(ratio),
        None if low is None else exponential(low),
        None if high is None else exponential(high),
        "nothing" if noise is None else noise.basis,
        p_value,
        _direction(ratio, low, high, p_value, most),
        pair.after[0].source,
    )


def _direction(ratio: float, low: float | None, high: float | None, p_value: float | None, most: float) -> Direction:
    if low is None or high is None or p_value is None:
        return "cannot tell"
    if abs(ratio) > most and p_value <= _WRONG:
        return "slower" if ratio > 0 else "faster"
    return "same" if -most <= low and high <= most else "cannot tell"
