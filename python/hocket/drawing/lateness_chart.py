"""Comparisons for one size with ranks that arrive late, as a picture: time over lateness."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hocket._native import Error
from hocket.base.packages import Lazy
from hocket.base.units import format_bytes, format_time, time_unit
from hocket.drawing.plot import dashed, framed, labels_of, legend, styled, time_axis
from hocket.drawing.wording import measured, played_words
from hocket.simulating.comparison import Comparison

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")


def is_over_lateness(found: Comparison) -> bool:
    """Whether the trials of one size differ in lateness."""
    return len(found.sizes_bytes) == 1 and len(set(found.simulations[0].arriving_s)) > 1


def lateness_chart(found: Comparison) -> alt.LayerChart:
    """Return time over the time between the first and the last arrival, a point for each trial."""
    first = found.simulations[0]
    scale, unit = time_unit(max(first.arriving_s))
    timed = [one for one in found.simulations if max(one.times_s) > 0]
    if not timed:
        raise Error("nothing to draw on a logarithmic axis, expected times above zero")
    lines = dashed(
        [
            replace(line, times_s={trial: time_s for trial, time_s in enumerate(one.times_s) if time_s > 0})
            for line, one in zip(styled(one.algorithm for one in timed), timed, strict=True)
        ]
    )
    rows = [
        {
            "line": line.label,
            "dash": line.dash,
            "late": late_s / scale,
            "time_s": time_s,
            "lateness": format_time(late_s),
            "time": format_time(time_s),
        }
        for line, one in zip(lines, timed, strict=True)
        for late_s, time_s in zip(one.arriving_s, one.times_s, strict=True)
        if time_s > 0
    ]
    names, colours = labels_of(lines), [line.colour for line in lines]
    base = alt.Chart({"values": rows}).encode(
        x=alt.X("late:Q", title=f"from the first to the last arrival ({unit})"),
        y=alt.Y("time_s:Q", title="time")
        .scale(type="log")
        .axis(time_axis(time_s for line in lines for time_s in line.times_s.values())),
        color=alt.Color("line:N").scale(domain=names, range=colours).legend(legend(lines)),
    )
    shape = alt.Shape("line:N").scale(domain=names, range=[line.marker for line in lines]).legend(legend(lines))
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        shape=shape, tooltip=["line:N", "lateness:N", "time:N"]
    )
    joined = base.mark_line().encode(strokeDash=alt.StrokeDash("dash:N", scale=None))
    subtitle = [f"times {measured(first)}{played_words(first)}", found.trials]
    zeros = [one.algorithm for one in found.simulations if min(one.times_s) <= 0]
    if zeros:
        subtitle.append(f"left out: trials of {', '.join(zeros)} that end when the last rank arrives")
    return framed([joined, points], f"{found.title}, {format_bytes(first.size_bytes)}", subtitle)
