"""Comparisons with ranks that arrive late, as a picture: time over lateness, or the fastest over lateness and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from hocket._native import Error
from hocket.base.packages import alt
from hocket.base.units import format_bytes, format_count, format_time, time_unit
from hocket.drawing.plot import (
    MOST_LINES,
    colours,
    frame,
    left_out_words,
    nearest,
    points,
    style,
    time_axis,
    with_dashes,
)
from hocket.drawing.winner_map import winner, winner_chart
from hocket.simulating.comparison import Comparison
from hocket.words.simulations import scene_lines

_GROUPS = 8  # the rows of a map


def is_over_lateness(comparison: Comparison) -> bool:
    """Whether trials differ in lateness."""
    return any(len(set(one.arriving_s)) > 1 for one in comparison.simulations)


def lateness_chart(comparison: Comparison, most: int | None = MOST_LINES) -> alt.LayerChart:
    """Return time over the time between the first and the last arrival, a point for each trial."""
    first = comparison.simulations[0]
    scale, unit = time_unit(max(first.arriving_s))
    simulations = [one for one in comparison.simulations if max(one.times_s) > 0]
    if not simulations:
        raise Error("nothing to draw on a logarithmic axis, expected times above zero")
    curves = {
        one.algorithm: {trial: time_s for trial, time_s in enumerate(one.times_s) if time_s > 0} for one in simulations
    }
    nearest_curves = nearest(curves, most)
    left_out = [[one.algorithm] for one in simulations if one.algorithm not in nearest_curves]
    simulations = [one for one in simulations if one.algorithm in nearest_curves]
    lines = with_dashes([replace(line, times_s=curves[line.label]) for line in style(nearest_curves)])
    rows = [
        {
            "line": line.label,
            "dash": line.dash,
            "late": late_s / scale,
            "time_s": time_s,
            "lateness": format_time(late_s),
            "time": format_time(time_s),
        }
        for line, one in zip(lines, simulations, strict=True)
        for late_s, time_s in zip(one.arriving_s, one.times_s, strict=True)
        if time_s > 0
    ]
    base = alt.Chart({"values": rows}).encode(
        x=alt.X("late:Q", title=f"from the first to the last arrival ({unit})"),
        y=time_axis(time_s for line in lines for time_s in line.times_s.values()),
        color=colours(lines),
    )
    line_marks = base.mark_line().encode(strokeDash=alt.StrokeDash("dash:N", scale=None))
    subtitle = [*scene_lines(first), comparison.trials, *left_out_words(left_out)]
    zeros = [one.algorithm for one in comparison.simulations if min(one.times_s) <= 0]
    if zeros:
        subtitle.append(f"left out: trials of {', '.join(zeros)} that end when the last rank arrives")
    marks = [line_marks, points(base, lines, ["line:N", "lateness:N", "time:N"])]
    return frame(marks, f"{comparison.title}, {format_bytes(first.size_bytes)}", subtitle)


def lateness_map(comparison: Comparison) -> alt.LayerChart:
    """Return a map of the fastest algorithms over lateness and size.

    The trials that all algorithms ran are put into groups by their lateness. A cell has the mean times of a group, or
    of several groups whose lateness is the same in the digits shown.
    """
    if not comparison.finished_bytes:
        raise Error("nothing to draw, expected a size that is compared to the end")
    first, trials = comparison.simulations[0], min(one.trials for one in comparison.simulations)
    scale, unit = time_unit(max(first.arriving_s[:trials]))
    ordered = sorted(range(trials), key=lambda trial: first.arriving_s[trial])
    groups = [ordered[trials * part // _GROUPS : trials * (part + 1) // _GROUPS] for part in range(_GROUPS)]
    ranges: dict[str, list[int]] = {}
    for group in filter(None, groups):
        low, high = (first.arriving_s[trial] / scale for trial in (group[0], group[-1]))
        ranges.setdefault(f"{low:.4g} to {high:.4g} {unit}", []).extend(group)
    rows = [
        {"lateness": late, **_winner(comparison, size_bytes, group)}
        for late, group in ranges.items()
        for size_bytes in comparison.finished_bytes
    ]
    subtitle = [
        *scene_lines(first),
        f"lateness: from the first to the last arrival, in {format_count(trials, 'trial')}",
        "the fastest: the smallest mean, also where intervals overlap; numbers: the second mean over the first",
    ]
    title = f"The fastest {comparison.title}"
    return winner_chart(rows, title=title, subtitle=subtitle, row_key="lateness", descending=[*reversed(ranges)])


def _winner(comparison: Comparison, size_bytes: int, trials: Sequence[int]) -> dict[str, str]:
    """Return a cell of the map."""
    times_s = {
        one.algorithm: fmean(one.times_s[trial] for trial in trials)
        for one in comparison.simulations
        if one.size_bytes == size_bytes
    }
    first_s, *others_s = sorted(set(times_s.values()))
    fastest = [name for name, time_s in times_s.items() if time_s == first_s]
    factor = f"{others_s[0] / first_s:.2f}" if others_s and first_s > 0 else ""
    return {**winner(size_bytes, times_s, fastest), "factor": factor}
