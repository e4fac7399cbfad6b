"""How judged times are drawn: measured and expected times over the size, a panel for each curve."""

from __future__ import annotations

from typing import Any

from hocket._native import Error
from hocket.base.packages import alt
from hocket.drawing.plot import by_kind, frame, point_of, size_axis, time_axis
from hocket.judging.assessment import Assessment, CurveAssessment

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
