"""What changed between two sets of measured times, beyond a tolerance and beyond noise.

All points are tested at once, so false alarms are limited over all of them, by Benjamini's and Hochberg's procedure: if
nothing has changed, the probability of any false alarm is at most 5 %.

Source: Y. Benjamini, Y. Hochberg, Journal of the Royal Statistical Society B 57 (1995).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from statistics import fmean
from typing import Any, Literal, TypeAlias

from hocket.base import checks
from hocket.base.results import Result
from hocket.base.units import format_bytes, format_count, from_to
from hocket.definitions.libraries import library_named
from hocket.judging.finding import Finding, Kind
from hocket.judging.noise import Basis, Noise, exponential, log_ratio, noises
from hocket.judging.pairs import Pair, Series, median_s, pairs_of, several_fields
from hocket.judging.pooling import Pool
from hocket.judging.student import WRONG
from hocket.measurements.measurement import DEFAULT, Measurement

_EXPECTED = "measurements, as hocket.read_measurements returns them"
_SHARE = 0.5
_MOST_RANGES = 4
_MOST_FACTOR = 4  # how many times as large the next size may be
_ONE_RUN: Mapping[Basis, str] = {
    "sizes": "the scatter between neighbouring sizes",
    "intervals": "the benchmark's intervals",
    "iterations": "the spread of the iterations of a run",
}

Direction: TypeAlias = Literal["slower", "faster", "same", "cannot tell"]
"""What became of a time. It is the same if its interval is within the tolerance."""


@dataclass(frozen=True)
class Change:
    """How the time of a point changed: the medians of repeated runs before and after, and their ratio."""

    series: Series
    size_bytes: int
    before_s: float
    after_s: float
    before_runs: int
    after_runs: int
    ratio: float  # how many times as long the call takes after as before
    ratio_low: float | None  # of its 95 % confidence interval; None if nothing tells it
    ratio_high: float | None
    basis: Basis
    p_value: float | None  # how likely noise alone makes the ratio so far from 1, corrected for the number of points
    direction: Direction
    source: str = ""  # the file and the line of the first run after

    def record(self) -> dict[str, Any]:
        """Return it as a row by column."""
        own = {name: value for name, value in vars(self).items() if name != "series"}
        return {**vars(self.series), **own}


@dataclass(frozen=True)
class Range:
    """Neighbouring sizes of a series that changed in the same direction: how many times as long calls take."""

    changes: tuple[Change, ...]
    ratio: float  # the geometric mean over the sizes
    ratio_low: float | None  # pooled over the sizes; None if a size has no interval
    ratio_high: float | None

    @property
    def series(self) -> Series:
        """All but the size."""
        return self.changes[0].series

    @property
    def direction(self) -> Direction:
        """What became of the times. Single sizes may not tell it."""
        own = (one.direction for one in self.changes)
        return next((each for each in own if each in ("slower", "faster")), self.changes[0].direction)

    def record(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            **vars(self.series),
            "first_bytes": self.changes[0].size_bytes,
            "last_bytes": self.changes[-1].size_bytes,
            "sizes": len(self.changes),
            **{name: getattr(self, name) for name in ("direction", "ratio", "ratio_low", "ratio_high")},
        }


def _pools(pairs: Sequence[Pair], noises_by_point: Sequence[Noise | None]) -> Iterator[tuple[int, int, Pool]]:
    """Give from which place to before which one the pairs of a series are, and their pool; of series with noise."""
    for _, group in groupby(enumerate(pairs), lambda each: each[1].series):
        places, own = zip(*group, strict=True)
        own_noises = [noise for noise in noises_by_point[places[0] : places[-1] + 1] if noise is not None]
        if len(own_noises) == len(own):
            yield places[0], places[-1] + 1, Pool(own, own_noises)


def _ranges(
    changes: Sequence[Change], directions: Sequence[Direction], pools: Sequence[tuple[int, int, Pool]]
) -> Iterator[Range]:
    """Give neighbouring sizes of each series of the same direction, own or pooled; changes are in order."""
    for _, group in groupby(enumerate(changes), lambda each: (each[1].series, directions[each[0]])):
        places, own = zip(*group, strict=True)
        ratio, low, high = (_mean([getattr(one, name) for one in own]) for name in ("ratio", "ratio_low", "ratio_high"))
        pool = next(((start, pool) for start, end, pool in pools if start <= places[0] < end), None)
        if pool is not None and len(own) > 1:
            mean = pool[1].mean_of(places[0] - pool[0], places[-1] + 1 - pool[0])
            middle = math.log(ratio or 1.0)
            low = exponential(min(mean.value - mean.reach, middle))
            high = exponential(max(mean.value + mean.reach, middle))
        yield Range(own, ratio or 1.0, low, high)


def _mean(ratios: Sequence[float | None]) -> float | None:
    """Return the geometric mean; None if a ratio is missing."""
    logarithms = [math.log(ratio) for ratio in ratios if ratio is not None]
    return exponential(fmean(logarithms)) if len(logarithms) == len(ratios) else None


def _range_findings(ranges: Sequence[Range], several: Sequence[str]) -> Iterator[Finding]:
    """Give slower ranges, then faster ones: "allreduce ring on 8 ranks: 1.31 times slower from 16 KiB to 256 KiB"."""
    for one in sorted(ranges, key=lambda one: (one.direction == "faster", -abs(math.log(one.ratio)))):
        if one.direction not in ("slower", "faster"):
            continue
        low, high, interval = one.ratio_low, one.ratio_high, "unknown"
        if low is not None and high is not None:
            ends = (1 / high, 1 / low) if one.direction == "faster" else (low, high)
            interval = f"{_number(ends[0])} to {_number(ends[1])}"
            extreme = max(one.changes, key=lambda each: abs(math.log(each.ratio)))
            if (extreme.ratio_low or 0) > high or (extreme.ratio_high or math.inf) < low:
                interval += f"; most at {format_bytes(extreme.size_bytes)}: {_number(_factor(extreme.ratio))}"
        first, last = one.changes[0].size_bytes, one.changes[-1].size_bytes
        is_whole = len(one.changes) > 1 and sum(
            len(each.changes) for each in ranges if each.series == one.series
        ) == len(one.changes)
        where = f" {'at' if first == last else 'from'} {from_to(first, last)}" if last else ""
        where = f" at all sizes,{where.removeprefix(' from')}" if is_whole else where
        change = f"{_number(_factor(one.ratio))} times {one.direction}{where} (95 %: {interval})"
        kind: Kind = "slow" if one.direction == "slower" else "fast"
        sentence = f"{one.series.text(several)}: {change}"
        yield Finding(kind, sentence, one.series.collective, one.changes[0].source)


def _factor(ratio: float) -> float:
    return max(ratio, 1 / ratio)


def _number(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 1000 else f"{ratio:.1e}"


def _others(changes: Sequence[Change], tolerance: str) -> Iterator[Finding]:
    """Give how many points are the same, and of how many nothing can be told."""
    whole = format_count(len(changes), "point")
    if same := sum(one.direction == "same" for one in changes):
        words = f"{same} of {whole}" if same < len(changes) else f"all {whole}"
        yield Finding("fine", f"no change beyond {tolerance} at {words}", "same")
    unclear = [one for one in changes if one.direction == "cannot tell"]
    if not unclear:
        return
    reaches = sorted(
        max(_factor(one.ratio_low), _factor(one.ratio_high))
        for one in unclear
        if one.ratio_low is not None and one.ratio_high is not None
    )
    sentence = f"cannot tell at {len(unclear)} of {whole} whether times changed by more than {tolerance}"
    if reaches:
        sentence += f": their intervals reach a factor of {_number(reaches[len(reaches) // 2])} (median)"
    if without := len(unclear) - len(reaches):
        sentence += f"; {format_count(without, 'point')} without spread, repeated runs, or enough neighbouring sizes"
    yield Finding("unknown", sentence, "noise")


def _of_steps(changes: Iterable[Change], several: Sequence[str], tolerance: float) -> Iterator[Finding]:
    """Give the steps of the ratio in each series that has some; changes are in order.

    Another latency or bandwidth changes the ratio gradually: from one size to the double, by at most a fifth of its
    whole change. A step is at least half of it, from one size to the next: another algorithm or protocol runs there.
    """
    for series, group in groupby(changes, lambda one: one.series):
        own = [*group]
        ratios = [math.log(one.ratio) for one in own]
        least = max(_SHARE * (max(ratios) - min(ratios)), math.log1p(tolerance))
        steps = [(below, at) for below, at in pairwise(own) if _is_step(below, at, least)]
        if not steps:
            continue
        jumps = " and ".join(
            f"from {_number(below.ratio)} at {format_bytes(below.size_bytes)} to {_number(at.ratio)} at "
            f"{format_bytes(at.size_bytes)}"
            for below, at in steps[:2]
        )
        first, last = format_bytes(steps[0][1].size_bytes), format_bytes(steps[-1][0].size_bytes)
        is_chosen = series.algorithm == DEFAULT or library_named(series.algorithm) is not None
        what = "chose another algorithm" if is_chosen else "uses another protocol or setting"
        where = f"between {first} and {last}" if len(steps) > 1 else f"on one side of {first}"
        why = f"links change it gradually, so the library probably {what} {where}"
        sentence = f"{series.text(several)}: the ratio of times steps {jumps}; {why}"
        yield Finding("hint", sentence, "algorithm" if is_chosen else "protocol", steps[0][1].source)


def _is_step(below: Change, at: Change, least: float) -> bool:
    """Return whether ln of the ratio of two neighbours differs by more, beyond noise, and one of them is a change."""
    if below.direction == at.direction or not {below.direction, at.direction} & {"slower", "faster"}:
        return False
    lows = [low for low in (below.ratio_low, at.ratio_low) if low is not None]
    highs = [high for high in (below.ratio_high, at.ratio_high) if high is not None]
    are_near = 0 < below.size_bytes >= at.size_bytes / _MOST_FACTOR
    return are_near and max(lows) > min(highs) and abs(math.log(at.ratio) - math.log(below.ratio)) > least


def _of_one_run(changes: Sequence[Change]) -> Iterator[Finding]:
    counts = Counter(one.basis for one in changes if one.basis in _ONE_RUN)
    if counts:
        sources = " and ".join(words for basis, words in _ONE_RUN.items() if counts[basis])
        points = f"{format_count(sum(counts.values()), 'point')} with one run on each side"
        noise = f"noise is known from {sources} only, not from differences between days and nodes"
        yield Finding("unknown", f"{points}: {noise}; repeated runs tell them", "runs")
    slower_points = sum(one.after_runs == 1 and one.direction == "slower" for one in changes)
    if slower_points == 1 and len(changes) > 1:
        yield Finding("hint", "a single run is slower at one point only: measure it again before you act", "runs")
    if sides := sum(one.basis == "runs of one side" for one in changes):
        points = f"{format_count(sides, 'point')} with repeated runs on one side only"
        yield Finding("unknown", f"{points}: the single run is taken to be as noisy as the others", "runs")


def _only(side: str, lines: Sequence[str], most: int = 3) -> Iterator[Finding]:
    if lines:
        more = [f"and {len(lines) - most} more"] if len(lines) > most else []
        yield Finding("unknown", f"only {side}: {'; '.join([*lines[:most], *more])}", "points")


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
        """What changed, the largest change first, or that nothing did; without a full stop."""
        sentences = [one.sentence for one in self.findings if one.kind in ("slow", "fast")]
        more = [f"and {len(sentences) - _MOST_RANGES} more ranges"] if len(sentences) > _MOST_RANGES else []
        return "; ".join([*sentences[:_MOST_RANGES], *more]) or self.findings[0].sentence

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


def changes(
    before: Sequence[Measurement], after: Sequence[Measurement], *, tolerance: float = 0.1, knows_ranks: bool = True
) -> Changes:
    """Return what changed between two sets of measured times.

    A point is a call by an algorithm. Several times of a point in a set are repeated runs.

    Args:
        before: The times before.
        after: The times after.
        tolerance: The change that does not matter, as a share of the time: with 0.1, times that become up to 1.1 times
            as long, or as short. At least 0.
        knows_ranks: Whether the numbers of ranks of the measurements mean anything; otherwise they are left out.

    Raises:
        Error: The sets share no point, or an argument is invalid.
    """
    sets = [checks.several(name, each, Measurement, _EXPECTED) for name, each in (("before", before), ("after", after))]
    checks.number("tolerance", tolerance, "a share of at least 0", is_right=lambda share: 0 <= share < math.inf)
    pairs, only_before, only_after = pairs_of(*sets, knows_ranks=knows_ranks)
    noise_by_point = noises(pairs)
    p_values = _over_all_points([None if noise is None else noise.p_value for noise in noise_by_point])
    most = math.log1p(tolerance)
    rows = [_change(*each, most) for each in zip(pairs, noise_by_point, p_values, strict=True)]
    directions = [row.direction for row in rows]
    pools = [*_pools(pairs, noise_by_point)]
    whole = sum(math.comb(end - first + 1, 2) for first, end, _ in pools)  # ranges of sizes
    for start, _, pool in pools:
        for first, end in pool.ranges(whole):
            mean = pool.mean_of(first, end)
            if abs(mean.value) > most:
                direction: Direction = "slower" if mean.value > 0 else "faster"
                for place in range(start + first, start + end):
                    if rows[place].direction in ("cannot tell", "same"):
                        directions[place] = direction
                        if (rows[place].ratio > 1) == (mean.value > 0):
                            rows[place] = replace(rows[place], direction=direction)
    ranges = tuple(_ranges(rows, directions, pools))
    several = several_fields(one.series for one in ranges)
    findings = (
        *_range_findings(ranges, several),
        *_others(rows, f"{100 * tolerance:.3g} %"),
        *_of_steps(rows, several, tolerance),
        *_of_one_run(rows),
        *_only("before", only_before),
        *_only("after", only_after),
    )
    return Changes(tuple(rows), ranges, only_before, only_after, float(tolerance), findings)


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
    direction: Direction = "cannot tell"
    if noise is not None:  # the interval of the means of ln(time), stretched to the ratio of medians if that is outside
        low, high = min(noise.middle - noise.reach, ratio), max(noise.middle + noise.reach, ratio)
        if abs(ratio) > most and p_value is not None and p_value <= WRONG:
            direction = "slower" if ratio > 0 else "faster"
        elif -most <= low and high <= most:
            direction = "same"
    runs = (median_s(pair.before), median_s(pair.after), len(pair.before), len(pair.after))
    interval = (None if low is None else exponential(low), None if high is None else exponential(high))
    basis: Basis = "nothing" if noise is None else noise.basis
    of_pair = partial(Change, pair.series, pair.size_bytes, *runs, exponential(ratio), *interval)
    return of_pair(basis=basis, p_value=p_value, direction=direction, source=pair.after[0].source)
