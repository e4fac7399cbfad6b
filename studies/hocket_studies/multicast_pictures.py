"""The pictures of the study of dynamic multicast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hocket_studies.study import Rows

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _HEIGHT = 380, 320  # pixels


def _title(title: str) -> alt.TitleParams:
    import altair as alt

    return alt.TitleParams(
        title, subtitle=["256 ranks, dragonfly of 10 GB/s links; no noise, no trials"], anchor="start"
    )


def _lines(rows: Rows, x: str, x_title: str, color: str) -> alt.LayerChart:
    import altair as alt

    base = alt.Chart({"values": [{**row, "time_ms": row["time_s"] * 1e3} for row in rows]}).encode(
        x=alt.X(f"{x}:Q", title=x_title).scale(type="log", base=2),
        y=alt.Y("time_ms:Q", title="time (ms)").scale(type="log"),
        color=alt.Color(f"{color}:N", title=None).scale(domain=list(dict.fromkeys(row[color] for row in rows))),
        tooltip=[f"{color}:N", f"{x}:Q", "time_ms:Q"],
    )
    drawing: alt.LayerChart = alt.LayerChart(layer=[base.mark_line(), base.mark_point(filled=True)])
    return drawing.properties(width=_WIDTH, height=_HEIGHT)


def times(rows: Rows, title: str) -> alt.HConcatChart:
    """Draw times over members, with fast processors on the left and calibrated ones on the right."""
    import altair as alt

    named = [{**row, "what": f"{row['way']} {row['algorithm']}"} for row in rows]
    softwares = list(dict.fromkeys(row["software"] for row in rows))
    charts = [
        _lines([row for row in named if row["software"] == one], "members", f"members ({one} processors)", "what")
        for one in softwares
    ]
    drawing: alt.HConcatChart = alt.hconcat(*charts)
    return drawing.properties(title=_title(title))


def fastest(rows: Rows) -> list[Mapping[str, Any]]:
    """Return the fastest row for each size and number of members."""
    found: dict[tuple[int, int], Mapping[str, Any]] = {}
    for row in rows:
        key = (row["members"], row["size_bytes"])
        if key not in found or row["time_s"] < found[key]["time_s"]:
            found[key] = row
    return list(found.values())


def best(rows: Rows, title: str) -> alt.Chart:
    """Draw the best algorithm over size and members."""
    import altair as alt

    chart: alt.Chart = (
        alt.Chart({"values": fastest(rows)})
        .mark_rect()
        .encode(
            x=alt.X("size_bytes:O", title="message (B)"),
            y=alt.Y("members:O", title="members", sort="descending"),
            color=alt.Color("algorithm:N", title=None),
            tooltip=["algorithm:N", "time_s:Q"],
        )
        .properties(width=2 * _WIDTH, height=_HEIGHT, title=_title(title))
    )
    return chart


def in_flight(rows: Rows, title: str) -> alt.LayerChart:
    """Draw the time until all multicasts are complete over how many there are."""
    drawing: alt.LayerChart = _lines(rows, "multicasts", "multicasts begun at once", "algorithm")
    return drawing.properties(title=_title(title))
