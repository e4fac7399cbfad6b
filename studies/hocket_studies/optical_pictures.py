"""The pictures of the study of optical circuits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hocket_studies.study import Rows

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _HEIGHT = 380, 320  # pixels


def _title(title: str, subtitle: str) -> alt.TitleParams:
    import altair as alt

    return alt.TitleParams(title, subtitle=[subtitle], anchor="start")


def _lines(rows: Rows, x: str, x_title: str, color: str) -> alt.LayerChart:
    import altair as alt

    base = alt.Chart({"values": [*rows]}).encode(
        x=alt.X(f"{x}:Q", title=x_title, scale=alt.Scale(type="log")),
        color=alt.Color(f"{color}:N", title=None).scale(domain=list(dict.fromkeys(row[color] for row in rows))),
    )
    drawing: alt.LayerChart = alt.LayerChart(
        layer=[
            base.mark_line(opacity=0.5).encode(y=alt.Y("time_s:Q", title="time (s)")),
            base.mark_point(filled=True).encode(y="time_s:Q", tooltip=[f"{color}:N", f"{x}:Q", "time_s:Q"]),
        ]
    )
    return drawing.properties(width=_WIDTH, height=_HEIGHT)


def lines(rows: Rows, title: str) -> alt.LayerChart:
    """Draw times over sizes: points are simulated, lines the paper's equations."""
    import altair as alt

    base = alt.Chart({"values": [*rows]}).encode(
        x=alt.X("size_bytes:Q", title="message, or block of an allgather (B)").scale(type="log"),
        color=alt.Color("curve:N", title=None).scale(domain=list(dict.fromkeys(row["curve"] for row in rows))),
    )
    drawing: alt.LayerChart = alt.LayerChart(
        layer=[
            base.mark_line().encode(y=alt.Y("model_s:Q", title="time (s)")),
            base.mark_point(filled=True).encode(
                y="time_s:Q", tooltip=["curve:N", "size_bytes:Q", "model_s:Q", "time_s:Q", "set_ups:Q"]
            ),
        ]
    )
    subtitle = "32 nodes; lines: equations (1) to (8), points: simulated; no noise, no trials"
    return drawing.properties(width=_WIDTH, height=_HEIGHT, title=_title(title, subtitle))


def table(rows: Rows, title: str) -> alt.HConcatChart:
    """Draw the times of table 4 beside the paper's, for either reading of the last release."""
    import altair as alt

    charts = []
    for release in dict.fromkeys(row["final_release"] for row in rows):
        chosen = [
            row
            for row in rows
            if (row["final_release"], row["alltoall"], row["computing"]) == (release, "blocks", "even")
        ]
        bars = [{"environment": row["environment"], "who": "hocket", "time_s": row["time_s"]} for row in chosen]
        bars += [{"environment": row["environment"], "who": "paper", "time_s": row["paper_s"]} for row in chosen]
        charts.append(
            alt.Chart({"values": bars})
            .mark_bar()
            .encode(
                x=alt.X("environment:N", title=f"last release {release}", sort=None),
                xOffset=alt.XOffset("who:N"),
                y=alt.Y("time_s:Q", title="time (s)"),
                color=alt.Color("who:N", title=None),
                tooltip=["environment:N", "who:N", "time_s:Q"],
            )
            .properties(width=_WIDTH, height=_HEIGHT)
        )
    drawing: alt.HConcatChart = alt.hconcat(*charts)
    subtitle = (
        "16 ranks, trace of an FT of class A, computing scaled so that ideal takes 1.82 s; even computing, p-1 blocks"
    )
    return drawing.properties(title=_title(title, subtitle))


def over_gamma(rows: Rows, title: str) -> alt.LayerChart:
    """Draw the times of algorithms over how long a reconfiguration takes."""
    drawing = _lines(rows, "reconfiguration_s", "reconfiguration (s)", "algorithm")
    subtitle = "32 nodes of 4 ports, connections ahead where the program tells them, else for each message; no noise"
    return drawing.properties(title=_title(title, subtitle))


def over_wavelengths(rows: Rows, title: str) -> alt.LayerChart:
    """Draw the times of algorithms over the wavelengths of a ring of fibres."""
    drawing = _lines(rows, "wavelengths", "wavelengths per fibre", "algorithm")
    subtitle = "32 nodes of 4 ports on a ring, connections ahead, first-fit wavelengths; blocks of 1000 B; no noise"
    return drawing.properties(title=_title(title, subtitle))
