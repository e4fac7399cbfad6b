"""How a fitted machine is drawn: simulated over measured times, a point for each call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hocket.base.packages import alt
from hocket.base.units import format_bytes, format_count, format_time
from hocket.drawing.plot import by_kind, colours, frame, style, time_ticks
from hocket.fitting.result import Judgement, deviations

_BAND = 1.25
_SHAPES = {"fitted": "circle", "not used": "square", "held out": "triangle-up"}


def judged_chart(cells: Sequence[Judgement], title: str) -> alt.LayerChart:
    """Return simulated over measured times of some calls."""
    rows = [
        {
            "collective": one.collective,
            "use": one.use,
            "measured_s": one.measured_s,
            "simulated_s": one.simulated_s,
            "call": f"{one.collective} {one.algorithm} {one.parameters}, {format_count(one.ranks, 'rank')}, "
            f"{format_bytes(one.size_bytes)}",
            "measured": format_time(one.measured_s),
            "simulated": format_time(one.simulated_s),
        }
        for one in cells
    ]
    times_s = [time_s for one in cells for time_s in (one.measured_s, one.simulated_s)]
    ends_s = [min(times_s) / _BAND, max(times_s) * _BAND]
    lines = style(sorted({one.collective for one in cells}))
    deviation_by_use = deviations(cells)
    points = (
        alt.Chart({"values": rows})
        .mark_point(filled=True, size=45, opacity=0.75)
        .encode(
            x=_axis("measured_s", "measured", ends_s),
            y=_axis("simulated_s", "simulated", ends_s),
            color=colours(lines, "collective"),
            shape=alt.Shape("use:N", scale=by_kind(_SHAPES, deviation_by_use), legend=alt.Legend(title=None)),
            tooltip=["call:N", "use:N", "measured:N", "simulated:N"],
        )
    )
    guide_lines = [_line(1.0, ends_s, [1, 0]), *(_line(factor, ends_s, [4, 4]) for factor in (_BAND, 1 / _BAND))]
    subtitle = [
        f"{use}: {format_count(one.cells, 'call')}, median of |ln(simulated / measured)| {one.median:.3f}"
        for use, one in deviation_by_use.items()
    ]
    return frame([*guide_lines, points], title, [*subtitle, f"dashed: a factor of {_BAND} apart"])


def _axis(name: str, title: str, ends_s: list[float]) -> Any:
    kind = alt.X if name == "measured_s" else alt.Y
    return kind(f"{name}:Q", title=title).scale(type="log", domain=ends_s, nice=False).axis(time_ticks(ends_s))


def _line(factor: float, ends_s: list[float], dash: list[int]) -> alt.Chart:
    """Return the line where simulated times are `factor` times the measured ones, within the picture."""
    low_s, high_s = ends_s
    measured_s = [max(low_s, low_s / factor), min(high_s, high_s / factor)]
    rows = [{"measured_s": each, "simulated_s": each * factor} for each in measured_s]
    chart: alt.Chart = (
        alt.Chart({"values": rows})
        .mark_line(strokeDash=dash, color="gray", strokeWidth=1)
        .encode(x="measured_s:Q", y="simulated_s:Q")
    )
    return chart
