"""The picture of the validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hocket_studies.validation.comparison import Comparison

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _STEP = 420, 26  # pixels
_LEAST = 1e-16
"""Where deviations of zero are drawn, on a logarithmic axis."""


def deviations(comparisons: Sequence[Comparison]) -> alt.LayerChart:
    """Draw the median and the worst deviation of each comparison that was run."""
    import altair as alt

    values = [
        {"source": one.source, "what": what, "deviation": max(size, _LEAST), "cases": len(one.cases)}
        for one in comparisons
        if one.median is not None
        for what, size in (("median", one.median), ("worst", one.sizes[-1]))
    ]
    base = alt.Chart({"values": values}).encode(
        y=alt.Y("source:N", title=None, sort=None).axis(labelLimit=260),
        x=alt.X("deviation:Q", title="deviation, as a share; at most 1e-16: none").scale(
            type="log", domain=[_LEAST, 10]
        ),
    )
    drawing: alt.LayerChart = alt.LayerChart(
        layer=[
            base.mark_line(color="lightgray").encode(detail="source:N"),
            base.mark_point(filled=True, size=60).encode(
                color=alt.Color("what:N", title=None).scale(domain=["median", "worst"]),
                tooltip=["source:N", "what:N", "deviation:Q", "cases:Q"],
            ),
        ]
    )
    title = alt.TitleParams(
        "Hocket beside others", subtitle=["median and worst case of each comparison"], anchor="start"
    )
    return drawing.properties(width=_WIDTH, height=alt.Step(_STEP), title=title)
