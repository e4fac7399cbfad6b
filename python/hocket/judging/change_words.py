"""Changes in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hocket.base.units import format_bytes, format_count, from_to
from hocket.definitions.libraries import library_named
from hocket.judging.change import Change, Range, Step
from hocket.judging.finding import Finding, Kind
from hocket.judging.noise import Basis
from hocket.judging.pairs import Series, several_fields
from hocket.measurements.measurement import DEFAULT

_MANY = 1000
_ONE_RUN: Mapping[Basis, str] = {
    "sizes": "the scatter between neighbouring sizes",
    "intervals": "the benchmark's intervals",
    "iterations": "the spread of the iterations of a run",
}


def findings_of(
    ranges: Sequence[Range], steps: Mapping[Series, Sequence[Step]], only: Mapping[str, Sequence[str]], tolerance: float
) -> tuple[Finding, ...]:
    """Return the conclusions: slower ranges first, then faster ones, then the others.

    Args:
        ranges: Neighbouring sizes that changed in the same direction.
        steps: The steps of the ratio by series.
        only: Lines of points that are only "before" or only "after".
        tolerance: The change that does not matter, as a share of the time.
    """
    several = several_fields(one.series for one in ranges)
    return (
        *_range_findings(ranges, several),
        *_others([change for one in ranges for change in one.changes], tolerance),
        *(_of_steps(series, each, several) for series, each in steps.items()),
        *_of_one_run([change for one in ranges for change in one.changes]),
        *(Finding("unknown", f"only {side}: {_list(lines)}", "points") for side, lines in only.items() if lines),
    )


def _list(lines: Sequence[str], most: int = 3) -> str:
    more = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return "; ".join([*lines[:most], *more])


def _range_findings(ranges: Sequence[Range], several: Sequence[str]) -> Iterator[Finding]:
    for one in sorted(ranges, key=lambda one: (one.direction == "faster", -abs(math.log(one.ratio)))):
        if one.direction in ("slower", "faster"):
            kind: Kind = "slow" if one.direction == "slower" else "fast"
            yield Finding(kind, _range_in_words(one, several), one.series.collective, one.changes[0].source)


def _range_in_words(one: Range, several: Sequence[str]) -> str:
    """Return "allreduce ring on 8 ranks: 1.31 times slower from 16 KiB to 256 KiB (95 %: 1.24 to 1.38)"."""
    details = [f"95 %: {_interval(one.ratio_low, one.ratio_high, is_faster=one.direction == 'faster')}"]
    low, extreme, high = one.ratio_low, one.extreme, one.ratio_high
    if low is not None and high is not None and not low <= extreme.ratio <= high:
        details.append(f"most at {format_bytes(extreme.size_bytes)}: {_number(_factor(extreme.ratio))}")
    change = f"{_number(_factor(one.ratio))} times {one.direction} {_sizes(one.changes)}".rstrip()
    return f"{one.series.text(several)}: {change} ({'; '.join(details)})"


def _factor(ratio: float) -> float:
    return max(ratio, 1 / ratio)


def _number(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < _MANY else f"{ratio:.1e}"


def _interval(low: float | None, high: float | None, *, is_faster: bool = False) -> str:
    if low is None or high is None:
        return "unknown"
    ends = (1 / high, 1 / low) if is_faster else (low, high)
    return f"{_number(ends[0])} to {_number(ends[1])}"


def _sizes(changes: Sequence[Change]) -> str:
    first, last = changes[0].size_bytes, changes[-1].size_bytes
    return f"{'at' if first == last else 'from'} {from_to(first, last)}" if last else ""


def _others(changes: Sequence[Change], tolerance: float) -> Iterator[Finding]:
    """Give how many points are the same, and of how many nothing can be told."""
    whole = format_count(len(changes), "point")
    if same := sum(one.direction == "same" for one in changes):
        words = f"{same} of {whole}" if same < len(changes) else f"all {whole}"
        yield Finding("fine", f"no change beyond {_percent(tolerance)} at {words}", "same")
    unclear = [one for one in changes if one.direction == "cannot tell"]
    if not unclear:
        return
    reaches = sorted(
        max(_factor(one.ratio_low), _factor(one.ratio_high))
        for one in unclear
        if one.ratio_low is not None and one.ratio_high is not None
    )
    sentence = f"cannot tell at {len(unclear)} of {whole} whether times changed by more than {_percent(tolerance)}"
    if reaches:
        sentence += f": their intervals reach a factor of {_number(reaches[len(reaches) // 2])} (median)"
    if without := len(unclear) - len(reaches):
        sentence += f"; {format_count(without, 'point')} without spread, repeated runs, or enough neighbouring sizes"
    yield Finding("unknown", sentence, "noise")


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _of_steps(series: Series, steps: Sequence[Step], several: Sequence[str]) -> Finding:
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
    return Finding("hint", sentence, "algorithm" if is_chosen else "protocol", steps[0][1].source)


def _of_one_run(changes: Sequence[Change]) -> Iterator[Finding]:
    """Give what single runs do not tell."""
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
