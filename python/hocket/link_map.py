"""A map of the links of a network: panels of cells, coloured by what each link carried; of one run, or of several."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from hocket._native import Error
from hocket.plot import picture_of
from hocket.topology import Link, LinkUse, Load, Topology
from hocket.units import format_bytes, format_time

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Load", "link_chart", "link_picture"]

_MOST_LINKS = 30_000  # a browser takes seconds to draw more
_PANELS_ACROSS = 6
_WIDTH = 1000  # pixels of the cells of panels beside each other
_LEAST_CELL, _MOST_CELL = 8, 22  # pixels
_MOST_LABELS = 8
_TITLES: Mapping[Load, str] = {"bytes": "bytes", "busy": "busy (s)", "waiting": "waiting (s)"}
_FORMATS: Mapping[Load, str] = {"bytes": "~s", "busy": "~e", "waiting": "~e"}


def link_picture(
    uses: Mapping[str, Iterable[LinkUse]], topology: Topology, ending: str, *, title: str, load: Load = "bytes"
) -> bytes:
    """Return the map as a file: PNG, SVG, or HTML that needs no network.

    Args:
        uses: What each link carried, as `hocket.link_uses` returns it, of each run by its name.
        topology: The network of the machine.
        ending: One of `hocket.plot.PICTURES`.
        title: What stands above it.
        load: What colours a link. In HTML one of the three is chosen below the map.

    Raises:
        Error: An unknown ending or load, no run, or too many links.
    """
    is_choosable = ending == ".html"
    return picture_of(lambda: link_chart(uses, topology, title=title, load=load, is_choosable=is_choosable), ending)


def link_chart(
    uses: Mapping[str, Iterable[LinkUse]],
    topology: Topology,
    *,
    title: str,
    load: Load = "bytes",
    is_choosable: bool = False,
) -> alt.VConcatChart:
    """Return the map as a chart, the runs below each other in the same colours; see `link_picture`.

    Raises:
        Error: An unknown load, no run, or too many links.
    """
    import altair as alt

    if load not in get_args(Load):
        raise Error(f'load: got "{load}", expected one of {", ".join(get_args(Load))}')
    if not uses:
        raise Error("nothing to draw, expected at least one run")
    count = topology.directed_links * len(uses)
    if count > _MOST_LINKS:
        raise Error(f"a map of {count} links, expected at most {_MOST_LINKS}: a smaller network, or fewer runs")
    _, links = topology.parts(topology.directed_links)
    runs = {name: {use.link: use for use in own} for name, own in uses.items()}
    rows = {
        name: [_row(link, own.get(link.id)) for link in links if _is_drawn(link, runs)] for name, own in runs.items()
    }
    shown, colour, choice = _colour(rows, load, is_choosable)
    maps = [
        _map(own, shown, colour).properties(title=alt.TitleParams(name, anchor="start", fontSize=12))
        for name, own in rows.items()
    ]
    heading = alt.TitleParams(title, subtitle=f"what each link carried in the first trial: {load}", anchor="start")
    chart = alt.VConcatChart(vconcat=maps, title=heading)
    return chart.add_params(choice) if choice else chart


def _is_drawn(link: Link, runs: Mapping[str, Mapping[int, LinkUse]]) -> bool:
    """Whether its ends differ, or something went over it all the same."""
    return link.source != link.target or any(link.id in own for own in runs.values())


def _row(link: Link, use: LinkUse | None) -> dict[str, Any]:
    carried, busy_s, waiting_s = (use.bytes, use.busy_s, use.waiting_s) if use else (0.0, 0.0, 0.0)
    spot = link.spot
    return {
        **{"link": link.name, "panel": spot.panel, "column": spot.column, "row": spot.row, "axes": spot.axes},
        **{"bytes": carried, "busy": busy_s, "waiting": waiting_s, "size": format_bytes(int(carried))},
        **{"busy for": format_time(busy_s), "waited for": format_time(waiting_s)},
    }


def _colour(
    runs: Mapping[str, Sequence[dict[str, Any]]], load: Load, is_choosable: bool
) -> tuple[str, alt.Color, alt.Parameter | None]:
    """Return the number that a cell shows, its colour, and the choice of the load where it can be chosen."""
    import altair as alt

    most = {one: max(row[one] for rows in runs.values() for row in rows) or 1.0 for one in get_args(Load)}
    if not is_choosable:
        scale, legend = alt.Scale(scheme="viridis", domain=[0, most[load]]), alt.Legend(format=_FORMATS[load])
        return f"datum.{load}", alt.Color("shown:Q", title=_TITLES[load], scale=scale, legend=legend), None
    scale, legend = alt.Scale(scheme="viridis", domain=[0, 1]), alt.Legend(format=".0%")
    choice = alt.param(
        name="load", value=load, bind=alt.binding_select(options=list(get_args(Load)), name="colour by ")
    )
    shown = f"datum[load] / ({json.dumps(most)})[load]"
    return shown, alt.Color("shown:Q", title="share of the most", scale=scale, legend=legend), choice


def _map(rows: Sequence[dict[str, Any]], shown: str, colour: alt.Color) -> alt.VConcatChart:
    import altair as alt

    panels: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        panels.setdefault(row["panel"], []).append(row)
    widest = max(row["column"] for row in rows) + 1
    across = max(1, min(_PANELS_ACROSS, len(panels), _WIDTH // (widest * _LEAST_CELL)))
    cell = max(_LEAST_CELL, min(_MOST_CELL, _WIDTH // (widest * across)))
    drawn = [_panel(name, own, shown, cell).encode(color=colour) for name, own in panels.items()]
    lines = [alt.HConcatChart(hconcat=drawn[i : i + across]) for i in range(0, len(drawn), across)]
    return alt.VConcatChart(vconcat=lines)


def _panel(name: str, rows: Sequence[dict[str, Any]], shown: str, cell: int) -> alt.Chart:
    import altair as alt

    columns, lines = (max(row[key] for row in rows) + 1 for key in ("column", "row"))
    across, down = rows[0]["axes"]

    def axis(cells: int) -> alt.Axis:
        return alt.Axis(values=list(range(0, cells, -(-cells // _MOST_LABELS))), labelAngle=0)

    drawing: alt.Chart = (
        alt.Chart(alt.InlineData(values=list(rows)))
        .transform_calculate(shown=shown)
        .mark_rect(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("column:O", title=across or None, axis=axis(columns)),
            y=alt.Y("row:O", title=down or None, axis=axis(lines)),
            tooltip=["link:N", "size:N", "busy for:N", "waited for:N"],
        )
        .properties(width=cell * columns, height=cell * lines, title=alt.TitleParams(name, fontSize=11))
    )
    return drawing
