"""A picture of a network: nodes, switches, links, and a route."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from hocket._native import Error
from hocket.base.packages import alt
from hocket.base.units import format_count, format_ranks
from hocket.definitions.topology import Hop, Link, Topology, Vertex

_MOST_LINKS = 6000  # more links become a grey area
_WIDTH, _HEIGHT = 1000, 800  # pixels, at most
_SPACING_PIXELS = 60  # pixels between neighbours, at most
_LEAST_SIZE, _MOST_SIZE = 12.0, 480.0  # square pixels of a vertex
_MARGIN = 0.5  # margin, in units of the distance of neighbours
_LEAST_LABELLED, _LONGEST_LABEL = 30, 4  # least pixels between neighbours with labels, and the most letters of a label
_TOLERANCE = 0.02  # a vertex this near to a straight line counts as on it, in units of the distance of neighbours
_BOW, _PIECES = 0.5, 12  # how far a line bows out, in units of the distance of neighbours, and its number of pieces
_LINK, _ROUTE = "#b0b0b0", "#d62728"
_COLOURS = {"node": "#4c78a8", "switch": "#9d755d"}
_SHAPES = {"node": "circle", "switch": "square"}


def network_chart(topology: Topology, *, route: tuple[int, int] | None = None) -> alt.LayerChart:
    """Return the picture as a chart; as HTML it zooms with the mouse wheel.

    The route between two ranks is marked, if they are given. Too many links are refused, and ranks that have no room.
    """
    if topology.directed_links > _MOST_LINKS:
        raise Error(f"a picture of {topology.directed_links} links, expected at most {_MOST_LINKS}: a smaller network")
    vertices, links = topology.parts(max(topology.directed_links, topology.nodes + topology.switches))
    hops = topology.route(*route) if route else ()
    edges = _edges(links)
    curves = dict(zip(edges, _curves(edges, vertices), strict=True))
    columns, rows = zip(*(vertex.position for vertex in vertices), *chain(*curves.values()), strict=True)
    left, right = min(columns) - _MARGIN, max(columns) + _MARGIN
    top, bottom = min(rows) - _MARGIN, max(rows) + _MARGIN
    scale = min(_SPACING_PIXELS, _WIDTH / (right - left), _HEIGHT / (bottom - top))
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[left, right], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[top, bottom], nice=False, reverse=True))

    def layer(rows: Iterable[Mapping[str, Any]], *tooltip: str) -> alt.Chart:
        return alt.Chart(alt.InlineData(values=list(rows))).encode(x=x, y=y, tooltip=list(tooltip))

    def lines(edges_to_draw: Mapping[tuple[int, int], Sequence[Link]], colour: str, width: float) -> alt.Chart:
        chart: alt.Chart = layer(_points(edges_to_draw, curves), "links:N").mark_line(stroke=colour, strokeWidth=width)
        return chart.encode(detail="line:N", order="place:Q")

    links_used = {hop.link for hop in hops}
    edges_used = {ends: between for ends, between in edges.items() if any(link.id in links_used for link in between)}
    spots = [_spot(vertex, topology.nodes) for vertex in vertices]
    layers = [
        lines(edges, _LINK, 1.2),
        lines(edges_used, _ROUTE, 3),
        _marks(layer(spots, "name:N", "ranks:N"), spots, scale),
    ]
    is_labelled = scale >= _LEAST_LABELLED and max(len(spot["ranks"]) for spot in spots) <= _LONGEST_LABEL
    if is_labelled:
        layers.append(layer(spots).mark_text(fontSize=9, color="white").encode(text="ranks:N"))
    heading = alt.TitleParams(topology.machine, subtitle=_subtitle(topology, route, hops, is_labelled), anchor="start")
    chart = alt.LayerChart(layer=layers, width=scale * (right - left), height=scale * (bottom - top), title=heading)
    drawing: alt.LayerChart = chart.configure_view(stroke=None).interactive()
    return drawing


def _marks(base: alt.Chart, spots: Sequence[Mapping[str, Any]], scale: float) -> alt.Chart:
    """Return the nodes and switches, with a legend if there are both."""
    kinds = [kind for kind in _COLOURS if any(spot["kind"] == kind for spot in spots)]
    legend = alt.Legend() if len(kinds) > 1 else None
    size = max(_LEAST_SIZE, min(_MOST_SIZE, (scale * 0.5) ** 2))
    marks: alt.Chart = base.mark_point(filled=True, size=size, opacity=1).encode(
        color=alt.Color("kind:N", title=None, legend=legend).scale(domain=kinds, range=[_COLOURS[k] for k in kinds]),
        shape=alt.Shape("kind:N", title=None, legend=legend).scale(domain=kinds, range=[_SHAPES[k] for k in kinds]),
    )
    return marks


def _subtitle(topology: Topology, route: tuple[int, int] | None, hops: Sequence[Hop], is_labelled: bool) -> list[str]:
    parts = [format_count(topology.nodes, "node"), format_count(topology.directed_links, "directed link")]
    if topology.switches:
        parts.insert(1, format_count(topology.switches, "switch"))
    lines = [f"{topology.name} of {', '.join(parts)}{'; numbers are ranks' * is_labelled}"]
    if route:
        lines.append(f"red: the route from rank {route[0]} to rank {route[1]}, {format_count(len(hops), 'link')}")
    return lines


def _edges(links: Iterable[Link]) -> dict[tuple[int, int], list[Link]]:
    """Return the links between each pair of vertices, both directions together."""
    edges: dict[tuple[int, int], list[Link]] = {}
    for link in links:
        if link.source != link.target:
            ends = (min(link.source, link.target), max(link.source, link.target))
            edges.setdefault(ends, []).append(link)
    return edges


def _curves(edges: Iterable[tuple[int, int]], vertices: Sequence[Vertex]) -> Iterator[list[tuple[float, float]]]:
    """Give the points of the line between each pair of vertices; the line bows around vertices in its way."""
    import numpy as np

    positions = np.array([vertex.position for vertex in vertices])
    shares = np.linspace(0, 1, _PIECES + 1)[:, np.newaxis]
    for start, end in edges:
        way = positions[end] - positions[start]
        length = np.hypot(*way)
        normal = np.array([-way[1], way[0]]) / length
        distances = (positions - positions[start]) @ way / length
        is_on_line = np.abs((positions - positions[start]) @ normal) < _TOLERANCE
        is_straight = not (is_on_line & (distances > _TOLERANCE) & (distances < length - _TOLERANCE)).any()
        bow = positions[start] + shares * way + 4 * _BOW * shares * (1 - shares) * normal
        points = positions[[start, end]] if is_straight else bow
        yield [(float(x), float(y)) for x, y in points]


def _points(
    edges: Mapping[tuple[int, int], Sequence[Link]], curves: Mapping[tuple[int, int], Sequence[tuple[float, float]]]
) -> Iterator[dict[str, Any]]:
    for line, (ends, links) in enumerate(edges.items()):
        names = ", ".join(link.name for link in links)
        for place, (x, y) in enumerate(curves[ends]):
            yield {"line": line, "place": place, "x": x, "y": y, "links": names}


def _spot(vertex: Vertex, nodes: int) -> dict[str, Any]:
    x, y = vertex.position
    kind = "node" if vertex.id < nodes else "switch"
    return {"x": x, "y": y, "name": vertex.name, "ranks": format_ranks(vertex.ranks), "kind": kind}
