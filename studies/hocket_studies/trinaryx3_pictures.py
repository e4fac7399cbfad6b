"""The pictures of the study of Trinaryx3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from hocket_studies.study import Rows

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _HEIGHT = 600, 360  # pixels


def _title(title: str, rows: Rows) -> alt.TitleParams:
    import altair as alt

    tori = ", ".join(dict.fromkeys(row["torus"] for row in rows))
    found = ", ".join(dict.fromkeys(str(row["how"]).partition(" from")[0] for row in rows))
    return alt.TitleParams(title, subtitle=[f"torus {tori}; {found}; no noise, no trials"], anchor="start")


def _curves(
    rows: Rows, title: str, x: str, y: str, y_scale: Literal["linear", "log"], color: str, **columns: Any
) -> alt.LayerChart:
    """Draw y over x, on a logarithmic axis of powers of two, one line for each value of a column."""
    import altair as alt

    base = alt.Chart({"values": list(rows)}).encode(
        x=alt.X(f"{x}:Q", title=columns["x_title"]).scale(type="log", base=2),
        y=alt.Y(f"{y}:Q", title=columns["y_title"]).scale(type=y_scale, zero=False),
        color=alt.Color(f"{color}:N", title=None).scale(domain=list(dict.fromkeys(row[color] for row in rows))),
        tooltip=[f"{color}:N", f"{x}:Q", f"{y}:Q", "how:N"],
    )
    drawing: alt.LayerChart = alt.LayerChart(layer=[base.mark_line(), base.mark_point(filled=True)])
    return drawing.properties(width=_WIDTH, height=_HEIGHT, title=_title(title, rows))


def bandwidths(most_bytes: int) -> Callable[[Rows, str], alt.LayerChart]:
    """Draw bandwidth over the message's size, up to this one."""

    def draw(rows: Rows, title: str) -> alt.LayerChart:
        values = [{**row, "gb_per_s": row["bandwidth_bytes_per_s"] / 1e9} for row in rows]
        shown = [value for value in values if value["size_bytes"] <= most_bytes]
        titles = {"x_title": "message (B)", "y_title": "2 N / T (GB/s)"}
        return _curves(shown, title, "size_bytes", "gb_per_s", "linear", "algorithm", **titles)

    return draw


def times(most_bytes: int) -> Callable[[Rows, str], alt.LayerChart]:
    """Draw time over the message's size, up to this one."""

    def draw(rows: Rows, title: str) -> alt.LayerChart:
        values = [{**row, "time_us": row["time_s"] * 1e6} for row in rows if row["size_bytes"] <= most_bytes]
        titles = {"x_title": "message (B)", "y_title": "time (us)"}
        return _curves(values, title, "size_bytes", "time_us", "log", "algorithm", **titles)

    return draw


def best(rows: Rows) -> list[Mapping[str, Any]]:
    """Return, of rows with the same collective and size, those with the least time."""
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["collective"], row["size_bytes"]), []).append(row)
    return [min(group, key=lambda row: float(row["time_s"])) for group in groups.values()]


def best_segments(rows: Rows, title: str) -> alt.LayerChart:
    """Draw the best segment over the message's size, a line for each half of an allreduce."""
    titles = {"x_title": "message (B)", "y_title": "best segment (B)"}
    return _curves(best(rows), title, "size_bytes", "segment_bytes", "log", "collective", **titles)


def over_model(rows: Rows, title: str) -> alt.LayerChart:
    """Draw simulated times over the closed forms."""
    titles = {"x_title": "message (B)", "y_title": "simulated / closed form"}
    return _curves(rows, title, "size_bytes", "over_model", "linear", "collective", **titles)


def breakdown(rows: Rows, title: str) -> alt.Chart:
    """Draw the times of both halves, one bar for each kind of reduction."""
    import altair as alt

    halves = ("broadcast", "reduce")
    values = [
        {"kind": row["kind"], "half": half, "order": order, "time_ms": row[f"{half}_s"] * 1e3}
        for row in rows
        for order, half in enumerate(halves)
    ]
    drawing: alt.Chart = (
        alt.Chart({"values": values})
        .mark_bar()
        .encode(
            x=alt.X("time_ms:Q", title="time (ms)"),
            y=alt.Y("kind:N", title=None, sort=[row["kind"] for row in rows]),
            color=alt.Color("half:N", title=None).scale(domain=list(halves)),
            order="order:Q",
            tooltip=["kind:N", "half:N", "time_ms:Q"],
        )
    )
    return drawing.properties(width=_WIDTH, height=_HEIGHT // 3, title=_title(title, rows))


def _bars(rows: Rows, title: str, value: str, value_title: str, label: Callable[[Mapping[str, Any]], str]) -> alt.Chart:
    """Draw one bar for each row."""
    import altair as alt

    values = [{"case": label(row), "value": row[value], "how": row["how"]} for row in rows]
    drawing: alt.Chart = (
        alt.Chart({"values": values})
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title=value_title),
            y=alt.Y("case:N", title=None, sort=[value["case"] for value in values]).axis(labelLimit=_WIDTH),
            tooltip=["case:N", "value:Q", "how:N"],
        )
    )
    return drawing.properties(width=_WIDTH, title=_title(title, rows))


def waiting(rows: Rows, title: str) -> alt.Chart:
    """Draw the share of links that something waited for."""

    def label(row: Mapping[str, Any]) -> str:
        return f"{row['algorithm']}, {row['protocol']}"

    return _bars(rows, title, "waited_share", "share of all links", label)


def waited(rows: Rows, title: str) -> alt.Chart:
    """Draw the share of links that something waited for in each case."""
    return _bars(rows, title, "of_all", "share of all links", lambda row: f"{row['varied']}: {row['value']}")


def beyond(rows: Rows, title: str) -> alt.Chart:
    """Draw how near each comes to the bound."""

    def label(row: Mapping[str, Any]) -> str:
        return f"{row['torus']}, reduction x{row['reduction']}, {row['ports']} ports: {row['algorithm']}"

    return _bars(rows, title, "of_bound", "time of the bound / time", label)


def rings(rows: Rows, title: str) -> alt.Chart:
    """Draw the bandwidth of rings."""
    return _bars(rows, title, "bandwidth_bytes_per_s", "2 N / T (B/s)", lambda row: f"{row['torus']}, {row['case']}")


def errors(rows: Rows, title: str) -> alt.Chart:
    """Draw how far an extrapolated time is from the simulated one."""
    return _bars(rows, title, "error", "extrapolated / simulated - 1", lambda row: str(row["algorithm"]))
