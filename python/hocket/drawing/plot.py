"""Comparisons, simulated or measured, as pictures: time over size, with a line for each algorithm."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hocket._native import Error
from hocket.base.packages import alt
from hocket.base.units import format_bytes, format_count, format_time
from hocket.definitions.library import NATIVE_NAME
from hocket.words.simulations import played_on_clocks

if TYPE_CHECKING:
    from hocket.mpi.benchmark import Bench, Prediction
    from hocket.mpi.calibration import Calibration

WIDTH, HEIGHT = 720, 440  # pixels
MOST_LINES = 10
"""Of algorithms in a picture, unless all are asked for: more cannot be told apart."""
_TICKS = 12
_TITLE_WIDTH = 130  # characters in a line of the subtitle
COLOURS = (
    *("#4c78a8", "#f58518", "#e45756", "#72b7b2", "#54a24b", "#eeca3b", "#b279a2", "#9d755d"),
    *("#1f3a5f", "#ff9da6", "#7f0000", "#00695c", "#9ccc65", "#6a1b9a", "#00b0ff", "#8d8d00"),
)
_MARKERS = ("circle", "square", "triangle-up", "cross", "diamond", "triangle-right", "triangle-down")
"""The number of markers has no factor in common with the number of colours."""
_SOLID = (1, 0)
_DASHES = (_SOLID, (8, 8), (4, 8), (2, 10))
"""For lines that overlap, the lowest first: each leaves the ones below visible."""
_LINE_WIDTH = 2  # pixels
_SIZE_LABEL = """
datum.value >= 1073741824 ? datum.value / 1073741824 + ' GiB'
: datum.value >= 1048576 ? datum.value / 1048576 + ' MiB'
: datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'
"""
_TIME_LABEL = """
datum.value > 0.99 ? format(datum.value, '.3~r') + ' s'
: datum.value > 0.99e-3 ? format(datum.value * 1e3, '.3~r') + ' ms'
: datum.value > 0.99e-6 ? format(datum.value * 1e6, '.3~r') + ' us' : format(datum.value * 1e9, '.3~r') + ' ns'
"""


@dataclass(frozen=True)
class Line:
    """A line of a picture."""

    label: str  # its name in the legend
    colour: str  # the colour of the line and its markers
    marker: str  # the shape of its markers; "stroke" for no markers
    dash: tuple[int, ...] = _SOLID  # alternating lengths of dashes and gaps, in pixels
    times_s: Mapping[int, float] = field(default_factory=dict)  # time by size, in seconds

    @property
    def drawn_share(self) -> float:
        """The share of the line that its dashes draw."""
        return sum(self.dash[::2]) / sum(self.dash)


def nearest(curves: Mapping[str, Mapping[int, float]], most: int | None) -> list[str]:
    """Return the names of the curves that come nearest to the fastest one somewhere, in their order."""
    least: dict[int, float] = {}
    for curve in curves.values():
        for place, time_s in curve.items():
            least[place] = min(time_s, least.get(place, time_s))

    def distance(name: str) -> tuple[float, float]:
        factors = [time_s / least[place] for place, time_s in curves[name].items()]
        return min(factors), sum(map(math.log, factors)) / len(factors)

    first = set(sorted(curves, key=distance)[:most])
    return [name for name in curves if name in first]


def left_out_words(left_out: Sequence[Sequence[str]]) -> list[str]:
    """Return lines for the subtitle that name the algorithms of the lines that are not drawn."""
    names = "; ".join(" = ".join(group) for group in left_out)
    return textwrap.wrap(f"not drawn, as others come nearer to the fastest: {names}", _TITLE_WIDTH) if names else []


def by_kind(looks: Mapping[str, Any], kinds: Collection[str]) -> alt.Scale:
    """Return the look of each kind, in the order of the looks; kinds that do not occur are not in the legend."""
    domain = [kind for kind in looks if kind in kinds]
    return alt.Scale(domain=domain, range=[looks[kind] for kind in domain])


def style(labels: Iterable[str]) -> list[Line]:
    """Return lines with different colours, or at least different markers."""
    return [
        Line(label, colour=COLOURS[i % len(COLOURS)], marker=_MARKERS[i % len(_MARKERS)])
        for i, label in enumerate(labels)
    ]


def with_dashes(lines: Sequence[Line]) -> list[Line]:
    """Return the lines, each with the first dashes that no overlapping line has, or the last ones."""
    all_s = [time_s for line in lines for time_s in line.times_s.values()]
    tolerance = (max(all_s) / min(all_s)) ** (_LINE_WIDTH / HEIGHT) if all_s else 1.0
    lines_done: list[Line] = []
    for line in lines:
        dashes = {other.dash for other in lines_done if _lie_on_each_other(line, other, tolerance)}
        lines_done.append(replace(line, dash=next((dash for dash in _DASHES if dash not in dashes), _DASHES[-1])))
    return lines_done


def _lie_on_each_other(one: Line, other: Line, tolerance: float) -> bool:
    """Return whether times differ by less than the factor `tolerance` at two sizes, or at the only common size."""
    common = one.times_s.keys() & other.times_s.keys()
    close = [n for n in common if 1 / tolerance < one.times_s[n] / other.times_s[n] < tolerance]
    return bool(common) and len(close) >= min(2, len(common))


def bench_chart(
    bench: Bench, predictions: Sequence[Prediction], machine: str | None, most: int | None = MOST_LINES
) -> alt.LayerChart:
    """Return measured medians with their intervals, tails, and the predictions of a machine as dashed lines.

    Besides the MPI's own there are at most so many lines, as `nearest` chooses them; all for None.
    """
    measurements = [one for one in bench.measurements if one.size_bytes > 0 and one.low_s > 0]
    curves: dict[str, dict[int, float]] = {}
    for one in measurements:
        curves.setdefault(one.algorithm, {})[one.size_bytes] = one.median_s
    names = {*nearest({name: curve for name, curve in curves.items() if name != NATIVE_NAME}, most), NATIVE_NAME}
    rows = [
        {
            **_row(one.algorithm, one.size_bytes, one.median_s),
            "low_s": one.low_s,
            "high_s": one.high_s,
            "p90_s": one.p90_s,
            "p99_s": one.p99_s,
            "tail": f"{format_time(one.p90_s)}, {format_time(one.p99_s)}",
            "time": f"{format_time(one.median_s)} ({format_time(one.low_s)} to {format_time(one.high_s)})",
        }
        for one in measurements
        if one.algorithm in names
    ]
    predicted_rows = [
        {**_row(one.algorithm, one.size_bytes, one.time_s), "time": f"{format_time(one.time_s)} simulated"}
        for one in predictions
        if one.algorithm in names and one.size_bytes > 0 and one.time_s > 0
    ]
    if not rows:
        raise Error("nothing to draw on logarithmic axes, expected sizes and times above zero")
    lines = style(name for name in bench.algorithms if name in names)
    base = _over_size(rows, lines, [*rows, *predicted_rows])
    tail = base.encode(tooltip=["line:N", "size:N", alt.Tooltip("tail:N", title="90 %, 99 %")])
    layers = [
        tail.mark_rule(opacity=0.4).encode(y="time_s:Q", y2="p99_s:Q"),
        tail.mark_tick(opacity=0.6).encode(y="p90_s:Q"),
        base.mark_area(fillOpacity=0.2).encode(y=alt.Y("low_s:Q").scale(type="log"), y2="high_s:Q"),
        base.mark_line(),
        points(base, lines),
    ]
    subtitle = [
        "medians of measured times with their 95 % intervals; thin lines up to the 99th percentile, ticks at the 90th",
        *played_on_clocks(bench),
    ]
    if predicted_rows:
        predicted_base = _over_size(predicted_rows, lines, [*rows, *predicted_rows])
        layers.append(predicted_base.mark_line(strokeDash=[4, 4], opacity=0.7))
        subtitle.append(f"dashed: simulated on {machine}")
    subtitle += left_out_words([[name] for name in curves if name not in names])
    return frame(layers, f"{bench.collective} on {format_count(bench.ranks, 'rank')}, {_library(bench.mpi)}", subtitle)


def calibration_chart(result: Calibration) -> alt.LayerChart:
    """Return measured times of messages between hosts, or within one, and the times of the model as dashed lines."""
    level = result.between
    sizes = [size for size in level.sizes_bytes if size > 0]
    skipped_sizes = len(level.sizes_bytes) - len(sizes)
    trips_s = {"one way": level.trips_s, "both ways at once": level.exchanges_s}
    lines = [
        replace(line, times_s=dict(zip(sizes, trips_s[line.label][skipped_sizes:], strict=True)))
        for line in style(trips_s)
    ]
    measured = [row for line in lines for row in _rows(line)]
    model_rows = [
        {"line": line.label, "range": one.from_bytes, "size_bytes": size, "time_s": factor * one.time_s(size)}
        for line, factor in zip(lines, (1.0, level.both_ways.value), strict=True)
        for one in level.ranges
        for size in sizes
        if one.from_bytes <= size <= one.last_bytes
    ]
    model_lines = _over_size(model_rows, lines, measured).mark_line(strokeDash=[4, 4]).encode(detail="range:N")
    subtitle = [f"first quartiles of {format_count(result.samples, 'sample')}, {result.date}", "dashed: the model"]
    measured_points = points(_over_size(measured, lines, measured), lines)
    return frame([measured_points, model_lines], f"messages, {_library(result.mpi)}", subtitle)


def _library(mpi: str) -> str:
    """Return the name and the version of an MPI, without further text."""
    return " ".join(mpi.partition(",")[0].split())


def frame(
    layers: Sequence[alt.Chart],
    title: str,
    subtitle: Sequence[str],
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> alt.LayerChart:
    """Return layers as a picture of this size in pixels, with a title above it."""
    heading = alt.TitleParams(title, subtitle=list(subtitle), anchor="start")
    return alt.LayerChart(layer=list(layers)).properties(width=width, height=height, title=heading)


def _over_size(rows: list[dict[str, Any]], lines: list[Line], all_rows: list[dict[str, Any]]) -> alt.Chart:
    """Return time over size, with both axes logarithmic; ticks fit all rows."""
    return alt.Chart({"values": rows}).encode(
        x=size_axis(row["size_bytes"] for row in all_rows),
        y=time_axis(row["time_s"] for row in all_rows),
        color=colours(lines),
    )


def points(
    base: alt.Chart, lines: Sequence[Line], tooltip: Sequence[str] = ("line:N", "size:N", "time:N")
) -> alt.Chart:
    """Return a point for each row of a chart, with the marker of its line."""
    labels, markers = [line.label for line in lines], [line.marker for line in lines]
    shape = alt.Shape("line:N").scale(domain=labels, range=markers).legend(_legend(lines))
    chart: alt.Chart = base.mark_point(filled=True, size=45, opacity=1).encode(shape=shape, tooltip=list(tooltip))
    return chart


def colours(lines: Sequence[Line], name: str = "line") -> alt.Color:
    """Return the colours of lines by a field with their labels, and a legend with their full names."""
    labels = [line.label for line in lines]
    return alt.Color(f"{name}:N").scale(domain=labels, range=[line.colour for line in lines]).legend(_legend(lines))


def _legend(lines: Sequence[Line]) -> alt.Legend:
    return alt.Legend(title=None, labelLimit=0, symbolLimit=len(lines))


def _rows(line: Line) -> list[dict[str, Any]]:
    return [{**_row(line.label, size_bytes, time_s), "dash": line.dash} for size_bytes, time_s in line.times_s.items()]


def _row(line: str, size_bytes: int, time_s: float) -> dict[str, Any]:
    return {"line": line, **point_of(size_bytes, time_s)}


def point_of(size_bytes: int, time_s: float) -> dict[str, Any]:
    """Return a size and a time, also in words."""
    words = {"size": format_bytes(size_bytes), "time": format_time(time_s)}
    return {"size_bytes": size_bytes, "time_s": time_s, **words}


def size_axis(sizes_bytes: Iterable[int], field: str = "size_bytes", title: str = "size of the message") -> alt.X:
    """Return a logarithmic axis of a field with the sizes, thinned out evenly so that labels do not overlap."""
    axis = alt.Axis(values=thin(sizes_bytes), labelExpr=_SIZE_LABEL)
    return alt.X(f"{field}:Q", title=title, scale=alt.Scale(type="log", base=2, nice=False), axis=axis)


def thin(values: Iterable[int]) -> list[int]:
    """Return the different values in order, at most as many as fit an axis."""
    ordered = sorted(set(values))
    return ordered[:: -(-len(ordered) // _TICKS)]


def time_axis(times_s: Iterable[float]) -> alt.Y:
    """Return a logarithmic axis of the field `time_s`."""
    return alt.Y("time_s:Q", title="time", scale=alt.Scale(type="log"), axis=time_ticks(times_s))


def time_ticks(times_s: Iterable[float]) -> alt.Axis:
    """Return ticks at 1, 2 and 5 times powers of ten, or only at the powers if there are many."""
    exponents = [math.floor(math.log10(time_s)) for time_s in times_s]
    steps = (1, 2, 5) if max(exponents) - min(exponents) < _TICKS // 3 else (1,)
    values = [step * 10.0**exponent for exponent in range(min(exponents), max(exponents) + 2) for step in steps]
    return alt.Axis(values=values, labelExpr=_TIME_LABEL)
