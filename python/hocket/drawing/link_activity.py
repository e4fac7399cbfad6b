"""The load of links over time, in equal parts of the time of a call: a map with a slider, or several maps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from hocket._native import Error
from hocket.base.packages import alt
from hocket.base.units import RATES, format_time
from hocket.definitions.topology import Topology
from hocket.drawing.link_map import Colour, drawn_links, map_of, scale_labels

if TYPE_CHECKING:
    from hocket.simulating.simulation import Passage

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
    """Return the load of links over time as a chart.

    Args:
        passages: The load of links over time, as `hocket.link_passages` returns it.
        topology: The network of the machine.
        title: The title of the picture.
        end_s: End of the call, in seconds.
        faults: The faults of links, as texts; their links are framed in red.
        has_slider: Whether the map has a slider over the time; else there are a few maps.

    Raises:
        Error: The call takes no time, there are no links, or there are too many.
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
    factor, unit = _rate_unit(most_bytes_per_s)
    expressions = {
        "shown": "datum.moments[moment]",
        "rate": f"format(datum.shown * {most_bytes_per_s / factor}, '.3~r') + ' {unit}'",
    }
    return Colour(expressions, labels, _TITLE, ("link", "rate"), (moment,))


def _rate(bytes_per_s: float) -> str:
    factor, unit = _rate_unit(bytes_per_s)
    return f"{bytes_per_s / factor:.4g} {unit}"


def _rate_unit(bytes_per_s: float) -> tuple[float, str]:
    return next((pair for pair in RATES if bytes_per_s >= pair[0]), RATES[-1])
