"""The pictures of the study of packet pacing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hocket_studies.study import Rows

if TYPE_CHECKING:
    import altair as alt


def _gaps(rows: Rows) -> list[str]:
    """Return the gaps in the order of the rows."""
    return list(dict.fromkeys(row["gap"] for row in rows))


def _title(title: str, *subtitle: str) -> alt.TitleParams:
    import altair as alt

    return alt.TitleParams(title, subtitle=list(subtitle), anchor="start")


def _setting_text(row: Mapping[str, Any]) -> str:
    return (
        f"{row['pairing']} pairing, {row['packets']} packets of 2 KiB a message, buffers of {row['buffer']} packets, "
        f"links of 4 GB/s and {row['latency_ns']} ns, tie {row['tie']}, {row['ports']} port, "
        "ideal barrier between steps"
    )


def lines(rows: Rows, title: str) -> alt.LayerChart:
    """Draw throughput over time, one line for each gap."""
    import altair as alt

    base = alt.Chart({"values": list(rows)}).encode(
        x=alt.X("time_us:Q", title="time (us)"),
        y=alt.Y("of_ideal:Q", title="throughput over that of busiest links that never idle"),
        color=alt.Color("gap:N", title="gap").scale(domain=_gaps(rows)),
    )
    subtitle = f"XOR pairing, 32 packets a message, buffers of 2, {len(rows) // len(_gaps(rows))} bins each"
    drawing: alt.LayerChart = alt.LayerChart(layer=[base.mark_line(interpolate="step-after")])
    return drawing.properties(width=720, height=360, title=_title(title, subtitle, "no barrier between steps"))


def bars(rows: Rows, title: str) -> alt.HConcatChart:
    """Draw times and speed-ups, one group of bars for each torus."""
    import altair as alt

    x = alt.X("gap:N", title=None, sort=_gaps(rows))
    values = [{**row, "time_ms": row["time_s"] * 1e3} for row in rows]
    base = (
        alt.Chart({"values": values})
        .mark_bar()
        .encode(
            x=x,
            color=alt.Color("gap:N", legend=None),
            tooltip=["torus:N", "gap:N", "time_ms:Q", "speed_up:Q", "of_ideal:Q"],
        )
    )
    torus = alt.Column("torus:N", title=None, sort=list(dict.fromkeys(row["torus"] for row in rows)))
    times = base.encode(y=alt.Y("time_ms:Q", title="time (ms)"), column=torus).resolve_scale(y="independent")
    speed_ups = base.encode(y=alt.Y("speed_up:Q", title="speed-up over gap 0"), column=torus)
    worst = max(row["speed_up_stderr"] / row["speed_up"] for row in rows)
    sampled = ", ".join(dict.fromkeys(f"{row['torus']}: {row['sampled_steps']} of {row['steps']}" for row in rows))
    return alt.HConcatChart(hconcat=[times, speed_ups]).properties(
        title=_title(
            title,
            _setting_text(rows[0]),
            f"steps simulated: {sampled}; seed {rows[0]['seed']}; standard errors of speed-ups within {worst:.1%}",
        )
    )


def histogram(rows: Rows, title: str) -> alt.Chart:
    """Draw how many steps have which M_i."""
    import altair as alt

    drawing: alt.Chart = (
        alt.Chart({"values": list(rows)})
        .mark_bar()
        .encode(
            x=alt.X("overlap:O", title="M_i"),
            y=alt.Y("steps:Q", title="steps"),
            row=alt.Row("torus:N", title=None, sort=list(dict.fromkeys(row["torus"] for row in rows))),
            column=alt.Column("pairing:N", title=None),
            tooltip=["torus:N", "pairing:N", "overlap:O", "steps:Q"],
        )
    )
    drawing = drawing.properties(width=360, height=90, title=_title(title))
    independent: alt.Chart = drawing.resolve_scale(x="independent", y="independent")
    return independent


def heatmap(rows: Rows, title: str) -> alt.Chart:
    """Draw how long packets waited for each link, one map for each direction and gap."""
    import altair as alt

    drawing: alt.Chart = (
        alt.Chart({"values": list(rows)})
        .mark_rect()
        .encode(
            x=alt.X("x:O", title="x"),
            y=alt.Y("y:O", title="y"),
            color=alt.Color("waiting_us:Q", title="waiting (us)").scale(scheme="inferno", reverse=True),
            column=alt.Column("direction:N", title=None),
            row=alt.Row("gap:N", title="gap", sort=_gaps(rows)),
            tooltip=["direction:N", "x:O", "y:O", "busy_us:Q", "waiting_us:Q"],
        )
    )
    subtitle = (
        "how long packets waited for the link that leaves (x, y) in a direction, added up over the whole exchange"
    )
    return drawing.properties(width=180, height=180, title=_title(title, subtitle))


def grouped(column: str, rows: Rows, title: str) -> alt.Chart:
    """Draw speed-ups, one row of bars for each value of a column, and one column for each of what is beside it."""
    import altair as alt

    values = [{**row, "case": _case(row, column)} for row in rows]
    gaps = _gaps(rows)
    drawing: alt.Chart = (
        alt.Chart({"values": values})
        .mark_bar()
        .encode(
            x=alt.X("gap:N", title=None, sort=gaps),
            y=alt.Y("speed_up:Q", title="speed-up"),
            color=alt.Color("gap:N", legend=None, sort=gaps),
            facet=alt.Facet(
                "case:N", title=None, columns=4, sort=list(dict.fromkeys(value["case"] for value in values))
            ),
            tooltip=["case:N", "gap:N", "speed_up:Q", "of_ideal:Q"],
        )
    )
    return drawing.properties(width=160, height=110, title=_title(title, "speed-up over gap 0 in the same case"))


def _case(row: Mapping[str, Any], column: str) -> str:
    return f"{row[column]}: {row['value']}" if column == "varied" else ", ".join(str(row[c]) for c in column.split())
