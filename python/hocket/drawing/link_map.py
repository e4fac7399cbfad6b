"""Maps of the links of a network: panels of cells, coloured by load, for one run or several, or over time.

Over time, the load is that of equal parts of the time of a call: a map with a slider, or several maps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from hocket._native import Error
from hocket.base.checks import among
from hocket.base.packages import alt
from hocket.base.units import RATES, axis_unit, format_bytes, format_time
from hocket.definitions.topology import Link, LinkUse, Load, Topology
from hocket.simulating.faults import changes_of_links

if TYPE_CHECKING:
    from hocket.simulating.simulation import Passage

Cells: TypeAlias = Sequence[tuple[Link, Mapping[str, Any]]]
"""A cell for each link: the link, and the fields that determine its colour."""

_MOST_LINKS = 30_000  # more links take a browser seconds to draw
_WIDTH, _HEIGHT = 1000, 700  # approximate pixels of all panels side by side, and of one panel
_AXIS = 50  # pixels between panels, for axes
_LEAST_SIDE, _MOST_SIDE = 8, 22  # pixels of a cell
_LEAST_FRAMED = 5  # pixels from which a cell has a white frame
_FAULT_COLOUR, _FAULT_WIDTH = "#d62728", 2
_MOST_LABELS = 8
_VERBS: Mapping[Load, str] = {"bytes": "size", "busy": "busy for", "waiting": "waited for"}
_STEPS = 4  # intervals between the labels of a legend


@dataclass(frozen=True)
class Colour:
    """The colours of cells; all panels share them."""

    # Vega expressions for additional fields: "shown", the load as a share of the largest one, and others.
    expressions: Mapping[str, str]
    labels: str  # the texts of the legend, from `scale_labels`, as a Vega expression
    title: str  # the title of the legend
    tooltip: tuple[str, ...]  # the fields in the tooltip of a cell
    parameters: tuple[alt.Parameter, ...] = ()  # the controls for the reader of a page


def link_chart(
    uses: Mapping[str, Iterable[LinkUse]],
    topology: Topology,
    *,
    title: str,
    load: Load = "bytes",
    faults: Sequence[str] = (),
    is_choosable: bool = False,
) -> alt.VConcatChart:
    """Return the map as a chart, with the runs below each other in the same colours.

    `uses` has the load of each link by name of the run, as `hocket.link_uses` returns it. Colours show one `load`, or
    show it first, if the reader can choose it below the map (`is_choosable`). Links of faults, which are texts, are
    framed in red. An unknown load is refused, and no runs, no links, and too many.
    """
    among("load", load, get_args(Load))
    links = drawn_links(topology, len(uses))
    runs: dict[str, dict[int, dict[Load, float]]] = {
        name: {use.link: {"bytes": use.bytes, "busy": use.busy_s, "waiting": use.waiting_s} for use in own}
        for name, own in uses.items()
    }
    most = {
        one: max((own[one] for run in runs.values() for own in run.values()), default=0.0) for one in get_args(Load)
    }
    maps = [(name, [(link, _fields(run.get(link.id), most)) for link in links]) for name, run in runs.items()]
    colour = _colour(load, most, is_choosable)
    return map_of(maps, colour, faults, topology, title=title, subtitle="what each link carried")


def drawn_links(topology: Topology, maps: int) -> tuple[Link, ...]:
    """Return the links that `maps` maps draw, all but those from a vertex to itself; refuse none, or too many."""
    count = topology.directed_links * maps
    if count > _MOST_LINKS:
        raise Error(f"a map of {count} links, expected at most {_MOST_LINKS}: a smaller network, or fewer runs")
    _, links = topology.parts(topology.directed_links)
    visible_links = tuple(link for link in links if link.source != link.target)
    if not maps or not visible_links:
        raise Error("nothing to draw, expected at least one run, and a network of several nodes")
    return visible_links


def scale_labels(most: float, text: Callable[[float], str]) -> list[str]:
    """Return the texts of a legend, for equal steps from zero to the largest load."""
    return [text(most * step / _STEPS) if most or not step else "" for step in range(_STEPS + 1)]


def map_of(
    runs: Iterable[tuple[str | alt.ExprRef, Cells]],
    colour: Colour,
    faults: Sequence[str],
    topology: Topology,
    *,
    title: str,
    subtitle: str,
) -> alt.VConcatChart:
    """Return the maps of several runs, each a name and cells, below each other in the same colours.

    Links with faults are framed in red; what frames mean follows the subtitle.
    """
    faulty = {link for _, link, share in changes_of_links(faults, topology) if share < 1}
    words = [f"red frame: {fault}" for fault in faults]
    encoding = alt.Color(
        "shown:Q",
        title=colour.title,
        scale=alt.Scale(scheme="viridis", domain=[0, 1]),
        legend=alt.Legend(
            values=[step / _STEPS for step in range(_STEPS + 1)],
            labelExpr=f"({colour.labels})[round(datum.value * {_STEPS})]",
            gradientLength=200,
            orient="top",
        ),
    )
    maps = [
        alt.VConcatChart(
            vconcat=list(_lines(cells, colour, faulty, encoding)),
            title=alt.TitleParams(name, anchor="start", fontSize=12),
        )
        for name, cells in runs
    ]
    parameters: list[Any] = [one.param for one in colour.parameters]
    heading = alt.TitleParams(title, subtitle=[subtitle, *words], anchor="start", fontSize=14, offset=12)
    return alt.VConcatChart(vconcat=maps, title=heading, params=parameters)


def _fields(loads: Mapping[Load, float] | None, most: Mapping[Load, float]) -> dict[str, Any]:
    loads_by_kind = loads or dict.fromkeys(most, 0.0)
    texts = {_VERBS[load]: _text(load)(value) for load, value in loads_by_kind.items()}
    return {**{load: value / (most[load] or 1.0) for load, value in loads_by_kind.items()}, **texts}


def _text(load: Load) -> Callable[[float], str]:
    return (lambda value: format_bytes(round(value))) if load == "bytes" else format_time


def _colour(load: Load, most: Mapping[Load, float], is_choosable: bool) -> Colour:
    labels = {one: scale_labels(value, _text(one)) for one, value in most.items()}
    if not is_choosable:
        return Colour({"shown": f"datum.{load}"}, json.dumps(labels[load]), load, ("link", _VERBS[load]))
    choice = alt.param(name="load", value=load, bind=alt.binding_select(options=list(most), name="colour by "))
    return Colour({"shown": "datum[load]"}, f"({json.dumps(labels)})[load]", "", ("link", *_VERBS.values()), (choice,))


def _lines(cells: Cells, colour: Colour, faulty: Collection[int], encoding: alt.Color) -> Iterator[alt.HConcatChart]:
    """Give lines of panels; panels of one place are in the same line as far as they fit."""
    for panels in _places(cells):
        columns = [_size(panel)[0] for panel in panels]
        side = (_WIDTH - _AXIS * len(panels)) // sum(columns)
        side = max(_LEAST_SIDE, min(_MOST_SIDE, side))
        line: list[alt.Chart] = []
        left = _WIDTH
        for panel, row in zip(panels, columns, strict=True):
            width = min(side * row, _WIDTH) + _AXIS
            if line and width > left:
                yield alt.HConcatChart(hconcat=line)
                line, left = [], _WIDTH
            line.append(_panel(panel, colour, faulty, encoding, side))
            left -= width
        yield alt.HConcatChart(hconcat=line)


def _places(cells: Cells) -> list[list[Cells]]:
    """Return the panels of each place."""
    places: dict[str, dict[str, list[tuple[Link, Mapping[str, Any]]]]] = {}
    for link, fields in cells:
        places.setdefault(link.spot.place, {}).setdefault(link.spot.panel, []).append((link, fields))
    return [list(panels.values()) for panels in places.values()]


def _size(panel: Cells) -> tuple[int, int]:
    """Return how many columns and rows a panel has."""
    return 1 + max(link.spot.column for link, _ in panel), 1 + max(link.spot.row for link, _ in panel)


def _panel(panel: Cells, colour: Colour, faulty: Collection[int], encoding: alt.Color, side: int) -> alt.Chart:
    columns, lines = _size(panel)
    width, height = min(side, _WIDTH / columns), min(side if lines > 1 else _MOST_SIDE, _HEIGHT / lines)
    cells = sorted(panel, key=lambda cell: cell[0].id in faulty)  # later cells cover earlier ones
    rows = [{"link": link.name, "column": link.spot.column, "row": link.spot.row, **own} for link, own in cells]
    spot = panel[0][0].spot
    line = 0.5 if min(width, height) >= _LEAST_FRAMED else 0.0
    names = [link.name for link, _ in panel if link.id in faulty]
    has_frame = f"indexof({json.dumps(names)}, datum.link) >= 0"

    def axis(name: str, title: str, count: int) -> dict[str, Any]:
        labels = alt.Axis(values=list(range(0, count, -(-count // _MOST_LABELS))), labelAngle=0) if count > 1 else None
        return {"shorthand": f"{name}:O", "title": title, "axis": labels, "scale": alt.Scale(domain=list(range(count)))}

    # The rows are one text and the chart is made in one call, because charts copy and check their parts.
    return alt.Chart(
        data=alt.InlineData(values=json.dumps(rows), format=alt.JsonDataFormat(type="json")),
        transform=[
            alt.CalculateTransform(**{"as": name, "calculate": expression})
            for name, expression in colour.expressions.items()
        ],
        mark=alt.MarkDef("rect"),
        encoding=alt.FacetedEncoding(
            x=alt.X(**axis("column", spot.axes[0], columns)),
            y=alt.Y(**axis("row", spot.axes[1], lines)),
            color=encoding,
            tooltip=[alt.Tooltip(f"{name}:N") for name in colour.tooltip],
            stroke=alt.condition(has_frame, alt.value(_FAULT_COLOUR), alt.value("white")),
            strokeWidth=alt.condition(has_frame, alt.value(_FAULT_WIDTH), alt.value(line)),
        ),
        width=width * columns,
        height=height * lines,
        title=alt.TitleParams(", ".join(filter(None, (spot.panel, spot.place))), fontSize=11),
    )


_TITLE = "load"
_DIGITS = 4  # digits of a share: more make the page larger, but change no colours
_MOMENTS, _MAPS = 40, 6  # number of time steps on a slider, and of maps below each other


def activity_chart(
    passages: Iterable[Passage],
    topology: Topology,
    *,
    title: str,
    end_s: float,
    faults: Sequence[str] = (),
    has_slider: bool = False,
) -> alt.VConcatChart:
    """Return the load of links over time as a chart: a map with a slider over the time (`has_slider`), or a few maps.

    The passages are as `hocket.link_passages` returns them, up to the end of the call. Links of faults, which are
    texts, are framed in red. A call that takes no time is refused, and no links, and too many.
    """
    if not end_s > 0:
        raise Error("nothing to draw, expected a call that takes time")
    parts = _MOMENTS if has_slider else _MAPS
    links = drawn_links(topology, 1 if has_slider else parts)
    loads = bytes_over_time(passages, parts, end_s)
    most = max((load for of_link in loads.values() for load in of_link), default=0.0)
    step_s = end_s / parts
    shares = [(link, [load / (most or 1.0) for load in loads.get(link.id, [0.0] * parts)]) for link in links]
    names = [f"{format_time(part * step_s)} to {format_time((part + 1) * step_s)}" for part in range(parts)]
    labels = json.dumps(scale_labels(most / step_s, _rate))
    subtitle = f"bytes per second over each link, in {parts} equal parts of the time"
    if has_slider:
        cells = [(link, {"moments": [round(share, _DIGITS) for share in own]}) for link, own in shares]
        heading = alt.ExprRef(f"{json.dumps(names)}[moment]")
        colour = _sliding(labels, most / step_s)
        return map_of([(heading, cells)], colour, faults, topology, title=title, subtitle=subtitle)
    maps = [(name, [(link, {"share": own[part]}) for link, own in shares]) for part, name in enumerate(names)]
    colour = Colour({"shown": "datum.share"}, labels, _TITLE, ("link",))
    return map_of(maps, colour, faults, topology, title=title, subtitle=subtitle)


def bytes_over_time(passages: Iterable[Passage], parts: int, end_s: float) -> dict[int, list[float]]:
    """Return the bytes that each used link carried in each of `parts` equal parts of the time up to `end_s`.

    They are spread evenly over the time of a passage.
    """
    bytes_by_link: dict[int, list[float]] = {}
    for passage in passages:
        of_link = bytes_by_link.setdefault(passage.link, [0.0] * parts)
        for part, share in _shares(passage.start_s * parts / end_s, passage.end_s * parts / end_s, parts):
            of_link[part] += share * passage.bytes
    return bytes_by_link


def _shares(start: float, end: float, parts: int) -> Iterator[tuple[int, float]]:
    """Give the parts that an interval overlaps, and the share of it in each; the last part takes everything later."""
    first = min(int(start), parts - 1)
    last = min(int(end), parts - 1)
    for part in range(first, last + 1):
        begin = max(start, part)
        stop = end if part == parts - 1 else min(end, part + 1)
        if begin < stop:
            yield part, (stop - begin) / (end - start)


def _sliding(labels: str, most_bytes_per_s: float) -> Colour:
    moment = alt.param(name="moment", value=0, bind=alt.binding_range(min=0, max=_MOMENTS - 1, step=1, name="moment "))
    factor, unit = axis_unit(most_bytes_per_s, RATES)
    expressions = {
        "shown": "datum.moments[moment]",
        "rate": f"format(datum.shown * {most_bytes_per_s / factor}, '.3~r') + ' {unit}'",
    }
    return Colour(expressions, labels, _TITLE, ("link", "rate"), (moment,))


def _rate(bytes_per_s: float) -> str:
    factor, unit = axis_unit(bytes_per_s, RATES)
    return f"{bytes_per_s / factor:.4g} {unit}"
