"""Judged times and changes over the size, in panels and as ratios, and a fit: simulated over measured times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hocket._native import Error
from hocket.base.packages import alt
from hocket.base.units import format_bytes, format_count, format_time
from hocket.drawing.plot import MOST_LINES, by_kind, colours, frame, point_of, size_axis, style, time_axis, time_ticks
from hocket.fitting.result import Judgement, deviations
from hocket.judging.assessment import Assessment, CurveAssessment
from hocket.judging.changes import Change, Changes
from hocket.judging.pairs import Series, several_fields

_MOST_PANELS = 6
_COLOURS = {"measured": "#e45756", "expected": "#4c78a8", "runs like": "#54a24b", "lower bound": "#9d9d9d"}
_DASHES = {"measured": [1, 0], "expected": [1, 0], "runs like": [5, 3], "lower bound": [2, 2]}


def assessment_chart(assessment: Assessment) -> alt.VConcatChart:
    """Return a panel for each of the first curves of several sizes, or refuse an assessment without any."""
    curves = [one for one in assessment.curves if len(one.curve.measurements) > 1 and one.curve.first.size_bytes]
    if not curves:
        raise Error("plot: nothing is over the size, expected measured times of several sizes")
    return alt.vconcat(*map(_panel, curves[:_MOST_PANELS]))


def _panel(one: CurveAssessment) -> alt.LayerChart:
    points = _points(one)
    kinds = {point["kind"] for point in points}
    lines = (
        alt.Chart({"values": points})
        .mark_line(point=True)
        .encode(
            x=size_axis((point["size_bytes"] for point in points), title="size"),
            y=time_axis(point["time_s"] for point in points).scale(type="log", nice=False),
            color=alt.Color("kind:N", title=None, scale=by_kind(_COLOURS, kinds)),
            strokeDash=alt.StrokeDash("kind:N", title=None, scale=by_kind(_DASHES, kinds)),
            tooltip=["kind:N", "size:N", "time:N", "algorithm:N"],
        )
    )
    band = [{"size_bytes": row.size_bytes, "low_s": row.low_s, "high_s": row.high_s} for row in one.rows]
    area = (
        alt.Chart({"values": band})
        .mark_area(opacity=0.2, color=_COLOURS["expected"])
        .encode(x="size_bytes:Q", y=alt.Y("low_s:Q", title="time"), y2="high_s:Q")
    )
    words = one.verdict.sentence.split("; ")
    layers = [area, lines] if band else [lines]
    return frame(layers, one.curve.title, [*words, *(["band: nine of ten measured calls"] if band else [])])


def _points(one: CurveAssessment) -> list[dict[str, Any]]:
    points = [_point("measured", each.size_bytes, each.time_s, each.label) for each in one.curve.measurements]
    for row in one.rows:
        points.append(_point("expected", row.size_bytes, row.expected_s, row.fastest))
        if row.guess_s is not None and row.guess.is_told:
            points.append(_point("runs like", row.size_bytes, row.guess_s, row.guess.programs[0]))
        if row.bound_s:
            points.append(_point("lower bound", row.size_bytes, row.bound_s, ""))
    return points


def _point(kind: str, size_bytes: int, time_s: float, algorithm: str) -> dict[str, Any]:
    return {"kind": kind, "algorithm": algorithm, **point_of(size_bytes, time_s)}


_SHAPES = {"slower": "triangle-up", "faster": "triangle-down", "same": "circle", "cannot tell": "cross"}
_TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0)
_MOST_WIDENING = 3.0  # how far an interval is drawn, times the farthest ratio: a wide one would press all others flat


def changes_chart(result: Changes) -> alt.LayerChart:
    """Return the ratio of times over sizes above zero, a line for each of the series that changed most."""
    several = several_fields(one.series for one in result.changes)
    series = _most_changed(result)
    changes = [one for one in result.changes if one.size_bytes > 0 and one.series in series]
    ends = _ends(changes, result.tolerance)
    rows = [_row(one, one.series.text(several), ends) for one in changes]
    if not rows:
        raise Error("plot: no point has a size above zero, expected a collective with sizes")
    lines = style(dict.fromkeys(str(row["series"]) for row in rows))
    base = alt.Chart({"values": rows}).encode(
        x=size_axis(row["size_bytes"] for row in rows),
        y=alt.Y("ratio:Q", title="time after / time before")
        .scale(type="log", domain=ends, nice=False, clamp=True)
        .axis(alt.Axis(values=[tick for tick in _TICKS if ends[0] <= tick <= ends[1]], format="~r")),
        color=colours(lines, "series"),
    )
    points = base.mark_point(filled=True, size=55).encode(
        shape=alt.Shape("direction:N", scale=by_kind(_SHAPES, _SHAPES), legend=alt.Legend(title=None)),
        tooltip=["series:N", "size:N", "direction:N", "before:N", "after:N", "ratio:Q", "interval:N", "basis:N"],
    )
    intervals = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y="low:Q", y2="high:Q")
    subtitle = [result.sentence, f"band: a change of {100 * result.tolerance:.3g} %, which does not matter"]
    if left_out := len({one.series for one in result.changes if one.size_bytes > 0}) - len(series):
        subtitle.append(f"not drawn: {left_out} series that changed less")
    tolerance_band = {"low": 1 / (1 + result.tolerance), "high": 1 + result.tolerance}
    band = alt.Chart({"values": [tolerance_band]}).mark_rect(color="gray", opacity=0.15).encode(y="low:Q", y2="high:Q")
    return frame([band, intervals, base.mark_line(strokeWidth=1), points], result.title, subtitle)


def _most_changed(result: Changes) -> frozenset[Series]:
    """Return the series with the largest changes, slower or faster ones first: as many as can be told apart."""
    weights: dict[Series, tuple[bool, float]] = {}
    for one in result.changes:
        if one.size_bytes > 0:
            weight = one.direction in ("slower", "faster"), abs(math.log(one.ratio))
            weights[one.series] = max(weight, weights.get(one.series, weight))
    return frozenset(sorted(weights, key=lambda series: weights[series], reverse=True)[:MOST_LINES])


def _ends(changes: Sequence[Change], tolerance: float) -> list[float]:
    """Return the ends of the axis: all ratios and the tolerance, and intervals as far as they are drawn."""
    farthest = max([1 + 2 * tolerance, *(max(one.ratio, 1 / one.ratio) for one in changes)])
    reaches = [max(one.ratio_high or 1.0, 1 / (one.ratio_low or 1.0)) for one in changes]
    most = max([farthest, *(min(reach, farthest * _MOST_WIDENING) for reach in reaches)])
    return [1 / (1.05 * most), 1.05 * most]


def _row(one: Change, series: str, ends: list[float]) -> dict[str, Any]:
    has_interval = one.ratio_low is not None and one.ratio_high is not None
    return {
        "series": series,
        "size_bytes": one.size_bytes,
        "size": format_bytes(one.size_bytes),
        "ratio": one.ratio,
        "low": max(one.ratio_low or one.ratio, ends[0]),
        "high": min(one.ratio_high or one.ratio, ends[1]),
        "interval": f"{one.ratio_low:.3f} to {one.ratio_high:.3f}" if has_interval else "",
        "basis": one.basis,
        "direction": one.direction,
        "before": format_time(one.before_s),
        "after": format_time(one.after_s),
    }


_BAND = 1.25
_USE_SHAPES = {"fitted": "circle", "not used": "square", "held out": "triangle-up"}


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
            shape=alt.Shape("use:N", scale=by_kind(_USE_SHAPES, deviation_by_use), legend=alt.Legend(title=None)),
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
