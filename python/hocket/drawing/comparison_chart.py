"""Comparisons as pictures: time over size, with the algorithms of the answer in colour and the others in grey.

If ranks arrive late: time over lateness, or the fastest over lateness and size.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from hocket._native import Error
from hocket.base.packages import alt
from hocket.base.units import axis_unit, format_bytes, format_count, format_time
from hocket.drawing.plot import (
    COLOURS,
    MOST_LINES,
    colours,
    frame,
    left_out_words,
    nearest,
    point_of,
    points,
    size_axis,
    style,
    time_axis,
    time_ticks,
    with_dashes,
)
from hocket.drawing.winner_map import winner, winner_chart
from hocket.simulating.comparison import WITHIN
from hocket.words.comparisons import answer_words
from hocket.words.simulations import scene_lines

if TYPE_CHECKING:
    from hocket.simulating.comparison import Comparison, Use
    from hocket.simulating.simulation import Simulation

_WIDTH, _HEIGHT = 560, 400  # pixels
_LETTERS = 118  # in a line of the subtitle
_FONT_SIZE, _SMALL_FONT_SIZE = 13, 10
_LETTER_WIDTH = 7.5  # pixels, about
_ROWS_OF_SIZES = 3  # in which the sizes stand where the answer switches, as one row has no room for neighbours
_GREY, _MEASURED_COLOUR = "#b0b0b0", "#555555"
_LIBRARY_COLOURS = ("#f9cfe3", "#a8e6f5")
_LIBRARY_WIDTHS = (13, 7)  # for the libraries' own choices: each leaves the ones below visible
_LABEL_COLOURS = {_GREY: "#808080", **dict.fromkeys(_LIBRARY_COLOURS, _MEASURED_COLOUR)}  # where lines are too pale
_SAME = 1e-6  # relative difference up to which times count as the same, because of rounding


@dataclass(frozen=True)
class _Curve:
    """A line of the picture."""

    label: str  # its name, at its end
    times_s: Mapping[int, float]  # time by size, in seconds
    colour: str
    width: float = 1.5  # its width in pixels
    dash: tuple[int, int] = (1, 0)  # alternating lengths of dashes and gaps, in pixels
    # Intervals by size, for times that have one.
    intervals_s: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    is_of_answer: bool = False  # whether the answer uses it

    @property
    def is_grey(self) -> bool:
        """Whether it is beside the answer. Its label is left out where there is no room."""
        return self.colour == _GREY


def comparison_chart(
    comparison: Comparison, most: int | None = MOST_LINES, *, within: float = WITHIN
) -> alt.LayerChart:
    """Return the picture as a chart with two logarithmic axes; an Error if no size and no time is above zero.

    `most` is how many lines of algorithms to draw, as `nearest` chooses them; None draws all. A line has all algorithms
    of the same times. Those of the answer, which are slower than the fastest by the share `within` at most, those with
    measured times, libraries and the lower bound are always drawn.
    """
    uses = comparison.answer(within=within)
    algorithms = _algorithms(comparison, uses, most)
    if not algorithms:
        raise Error("nothing to draw on logarithmic axes, expected sizes and times above zero")
    curves = [*_libraries(comparison), *algorithms, *_measured(comparison, algorithms), *_bound(comparison)]
    drawing = _Drawing(curves, [size_bytes for size_bytes in sorted(comparison.sizes_bytes) if size_bytes > 0])
    layers = [*drawing.lines(), *drawing.end_labels(), *drawing.switches(uses), *drawing.of_answer(uses)]
    return frame(layers, comparison.title, _subtitle(comparison, uses), width=_WIDTH, height=_HEIGHT)


def _algorithms(comparison: Comparison, uses: Sequence[Use], most: int | None) -> list[_Curve]:
    """Return a line for all algorithms with the same times: grey ones first, then those of the answer."""
    runs: dict[str, dict[int, Simulation]] = {}
    for one in sorted(comparison.simulations, key=lambda one: one.size_bytes):
        if one.size_bytes > 0 and one.time_s.mean > 0:
            runs.setdefault(one.algorithm, {})[one.size_bytes] = one
    times_s = {name: {size: one.time_s.mean for size, one in of_name.items()} for name, of_name in runs.items()}
    colours = dict(zip(dict.fromkeys(use.algorithm for use in uses), itertools.cycle(COLOURS), strict=False))
    groups: list[list[str]] = []
    for name in sorted(times_s, key=lambda name: name not in colours):
        alike = next((group for group in groups if _is_same(times_s[group[0]], times_s[name])), None)
        if alike is None or name in colours:
            groups.append([name])
        else:
            alike.append(name)
    nearest_names = nearest({group[0]: times_s[group[0]] for group in groups}, most)
    names_measured = {one.algorithm for one in comparison.measured}
    curves = []
    for group in reversed(groups):
        name = group[0]
        if name in colours or name in nearest_names or names_measured.intersection(group):
            intervals_s = {size: one.time_s.interval for size, one in runs[name].items() if one.trials > 1}
            is_of_answer = name in colours
            label = name if is_of_answer or len(group) == 1 else f"{name} +{len(group) - 1}"
            width, colour = (1.5, colours[name]) if is_of_answer else (1, _GREY)
            curves.append(_Curve(label, times_s[name], colour, width, (1, 0), intervals_s, is_of_answer))
    return curves


def _is_same(one: Mapping[int, float], other: Mapping[int, float]) -> bool:
    return one.keys() == other.keys() and all(math.isclose(one[n], other[n], rel_tol=_SAME) for n in one)


def _measured(comparison: Comparison, simulated: Sequence[_Curve]) -> list[_Curve]:
    """Return measured times as dotted lines, in the colour of their algorithm, if it is of the answer."""
    colours = {curve.label: curve.colour for curve in simulated if not curve.is_grey}
    times_s: dict[str, dict[int, float]] = {}
    for one in comparison.measured:
        if one.size_bytes > 0:
            times_s.setdefault(one.algorithm, {})[one.size_bytes] = one.measured_s
    return [
        _Curve(f"{name}, measured", of_name, colours.get(name.split()[0], _MEASURED_COLOUR), 2, (2, 5))
        for name, of_name in times_s.items()
    ]


def _bound(comparison: Comparison) -> list[_Curve]:
    times_s = {size: one.time_s for size, one in sorted(comparison.bounds.items()) if size > 0 and one.time_s > 0}
    return [_Curve("lower bound", times_s, "black", dash=(2, 3))] if times_s else []


def _libraries(comparison: Comparison) -> list[_Curve]:
    """Return the libraries' own choices as wide pale lines below the others."""
    times_s: dict[str, dict[int, float]] = {}
    for one in comparison.defaults:
        if one.size_bytes > 0 and one.time_s is not None and one.time_s > 0:
            times_s.setdefault(one.library, {})[one.size_bytes] = one.time_s
    looks = itertools.cycle(zip(_LIBRARY_COLOURS, _LIBRARY_WIDTHS, strict=True))
    return [
        _Curve(f"{library} without tuning", of_library, colour, width)
        for (library, of_library), (colour, width) in zip(times_s.items(), looks, strict=False)
    ]


class _Drawing:
    """The layers of the picture, on common axes."""

    def __init__(self, curves: Sequence[_Curve], sizes_bytes: Sequence[int]) -> None:
        self._curves, self._sizes = curves, sizes_bytes
        all_s = [time_s for curve in curves for time_s in curve.times_s.values()]
        self._low, self._high = math.floor(math.log10(min(all_s))), math.ceil(math.log10(max(all_s)))
        self._high = max(self._high, self._low + 1)
        self._ticks = time_ticks(all_s)

    def _chart(self, rows: list[dict[str, Any]]) -> alt.Chart:
        scale = alt.Scale(type="log", domain=[10.0**self._low, 10.0**self._high])
        time = alt.Y("time_s:Q", title="time", scale=scale, axis=self._ticks)
        colour = alt.Color("colour:N", scale=None)
        return alt.Chart({"values": rows}).encode(x=size_axis(self._sizes), y=time, color=colour)

    def lines(self) -> list[alt.Chart]:
        """Return the lines of all curves with their intervals; they have gaps at sizes without a time."""
        rows = [row for curve in self._curves for row in self._rows(curve)]
        chart = self._chart(rows)
        width, dash = alt.StrokeWidth("width:Q", scale=None), alt.StrokeDash("dash:N", scale=None)
        line = chart.mark_line(strokeCap="round").encode(
            detail=["line:N", "part:N"], strokeWidth=width, strokeDash=dash
        )
        points = chart.mark_point(opacity=0, size=80).encode(tooltip=["line:N", "size:N", "time:N"])
        ends = [row for row in rows if "low_s" in row]
        intervals = self._chart(ends).mark_rule(strokeWidth=3).encode(y="low_s:Q", y2="high_s:Q")
        return [line, *([intervals] if ends else []), points]

    def _rows(self, curve: _Curve) -> list[dict[str, Any]]:
        rows = []
        for number, size_bytes in enumerate(size for size in self._sizes if size in curve.times_s):
            part = self._sizes.index(size_bytes) - number  # rises at each gap
            row = {"line": curve.label, "part": part, "colour": curve.colour, "width": curve.width, "dash": curve.dash}
            if size_bytes in curve.intervals_s:
                low_s, high_s = curve.intervals_s[size_bytes]
                row |= {"low_s": max(low_s, 10.0**self._low), "high_s": high_s}
            rows.append({**row, **point_of(size_bytes, curve.times_s[size_bytes])})
        return rows

    def of_answer(self, uses: Sequence[Use]) -> list[alt.Chart]:
        """Return the parts of lines that the answer uses, wide, with a point at each size, then their labels."""
        all_rows: list[dict[str, Any]] = []
        labels: dict[str, list[dict[str, Any]]] = {"left": [], "right": []}
        boxes: list[tuple[float, float, float]] = []  # of labels: left, right and lower end, in pixels
        curves = {curve.label: curve for curve in self._curves if curve.is_of_answer}
        for use in (use for use in uses if use.algorithm in curves and use.last_bytes > 0):
            curve = curves[use.algorithm]
            rows = [row for row in self._rows(curve) if use.first_bytes <= row["size_bytes"] <= use.last_bytes]
            all_rows += [{**row, "use": use.first_bytes} for row in rows]
            size_bytes, time_s = (rows[(len(rows) - 1) // 2][name] for name in ("size_bytes", "time_s"))
            x, y = self._x_pixel(size_bytes), self._y_pixel(time_s) - _FONT_SIZE
            width = len(curve.label) * _LETTER_WIDTH
            left, right = max(x - width, 0.0), max(x, width)
            while any(left < other[1] and other[0] < right and abs(y - other[2]) < _FONT_SIZE + 2 for other in boxes):
                y -= 1
            boxes.append((left, right, y))
            labels["right" if left else "left"].append(self._label(curve, size_bytes if left else self._sizes[0], y))
        chart = self._chart(all_rows)
        wide = chart.mark_line(strokeWidth=4).encode(detail="use:Q")
        layers = [wide, chart.mark_point(filled=True, opacity=1, size=60)] if all_rows else []
        for align, texts in labels.items():
            look = {"align": align, "fontSize": _FONT_SIZE, "fontWeight": 600}
            border = {"stroke": "white", "strokeWidth": 4}  # as lines lie below
            layers += [*self._texts(texts, **look, **border), *self._texts(texts, **look)]
        return layers

    def end_labels(self) -> list[alt.Chart]:
        """Return the labels at the ends of other lines; those of grey lines are left out where there is no room."""
        places = dict[int, list[float]]()
        labels: dict[int, list[dict[str, Any]]] = {_FONT_SIZE: [], _SMALL_FONT_SIZE: []}
        for curve in sorted((one for one in self._curves if not one.is_of_answer), key=lambda one: one.is_grey):
            size_bytes, font_size = max(curve.times_s), _SMALL_FONT_SIZE if curve.is_grey else _FONT_SIZE
            y = self._y_pixel(curve.times_s[size_bytes])
            pixels = places.setdefault(size_bytes, [])
            while not curve.is_grey and any(abs(y - pixel) < font_size + 2 for pixel in pixels):
                y += 1
            if all(abs(y - pixel) >= font_size + 2 for pixel in pixels):
                pixels.append(y)
                labels[font_size].append(self._label(curve, size_bytes, y))
        look = {"align": "left", "dx": 8}
        return [chart for size, texts in labels.items() for chart in self._texts(texts, fontSize=size, **look)]

    def _label(self, curve: _Curve, size_bytes: int, y: float) -> dict[str, Any]:
        colour = _LABEL_COLOURS.get(curve.colour, curve.colour)
        time_s = 10.0 ** (self._high - y / _HEIGHT * (self._high - self._low))
        return {"size_bytes": size_bytes, "time_s": time_s, "text": curve.label, "colour": colour}

    def _texts(self, labels: list[dict[str, Any]], **look: Any) -> list[alt.Chart]:
        """Return a layer of labels, or none: axes have no extent where a layer is empty."""
        return [self._chart(labels).mark_text(baseline="middle", **look).encode(text="text:N")] if labels else []

    def _x_pixel(self, size_bytes: int) -> float:
        first, last = self._sizes[0], self._sizes[-1]
        return _WIDTH * math.log(size_bytes / first) / math.log(last / first) if first < last else _WIDTH / 2

    def _y_pixel(self, time_s: float) -> float:
        return _HEIGHT * (self._high - math.log10(time_s)) / (self._high - self._low)

    def switches(self, uses: Sequence[Use]) -> list[alt.Chart]:
        """Return a line where the answer goes from one algorithm to the next, with the last size of the former."""
        rows = [
            {
                "size_bytes": math.sqrt(one.last_bytes * other.first_bytes),
                "to": f"to {format_bytes(one.last_bytes)}",
                "y": 8 + number % _ROWS_OF_SIZES * _FONT_SIZE,
            }
            for number, (one, other) in enumerate(itertools.pairwise(use for use in uses if use.last_bytes > 0))
        ]
        chart = alt.Chart({"values": rows}).encode(x=size_axis(self._sizes))
        text = chart.mark_text(align="right", dx=-4, fontSize=11, color=_MEASURED_COLOUR)
        rule = chart.mark_rule(color=_MEASURED_COLOUR, strokeDash=[3, 3])
        return [rule, text.encode(text="to:N", y=alt.Y("y:Q", scale=None))] if rows else []


def _subtitle(comparison: Comparison, uses: Sequence[Use]) -> list[str]:
    """Return the answer, and the machine in one line with the trials, and the scene."""
    answer = f"use {answer_words(comparison.collective, uses)}" if uses else ""
    machine = textwrap.shorten(comparison.machine.parameters, _LETTERS - len(comparison.trials) - 2, placeholder=" ...")
    lines = [answer, f"{machine}; {comparison.trials}", *scene_lines(comparison.simulations[0])]
    return [part for line in lines for part in textwrap.wrap(line, _LETTERS)]


_GROUPS = 8  # the rows of a map


def is_over_lateness(comparison: Comparison) -> bool:
    """Whether trials differ in lateness."""
    return any(len(set(one.arriving_s)) > 1 for one in comparison.simulations)


def lateness_chart(comparison: Comparison, most: int | None = MOST_LINES) -> alt.LayerChart:
    """Return time over the time between the first and the last arrival, a point for each trial."""
    first = comparison.simulations[0]
    scale, unit = axis_unit(max(first.arriving_s))
    simulations = [one for one in comparison.simulations if max(one.times_s) > 0]
    if not simulations:
        raise Error("nothing to draw on a logarithmic axis, expected times above zero")
    curves = {
        one.algorithm: {trial: time_s for trial, time_s in enumerate(one.times_s) if time_s > 0} for one in simulations
    }
    nearest_curves = nearest(curves, most)
    left_out = [[one.algorithm] for one in simulations if one.algorithm not in nearest_curves]
    simulations = [one for one in simulations if one.algorithm in nearest_curves]
    lines = with_dashes([replace(line, times_s=curves[line.label]) for line in style(nearest_curves)])
    rows = [
        {
            "line": line.label,
            "dash": line.dash,
            "late": late_s / scale,
            "time_s": time_s,
            "lateness": format_time(late_s),
            "time": format_time(time_s),
        }
        for line, one in zip(lines, simulations, strict=True)
        for late_s, time_s in zip(one.arriving_s, one.times_s, strict=True)
        if time_s > 0
    ]
    base = alt.Chart({"values": rows}).encode(
        x=alt.X("late:Q", title=f"from the first to the last arrival ({unit})"),
        y=time_axis(time_s for line in lines for time_s in line.times_s.values()),
        color=colours(lines),
    )
    line_marks = base.mark_line().encode(strokeDash=alt.StrokeDash("dash:N", scale=None))
    subtitle = [*scene_lines(first), comparison.trials, *left_out_words(left_out)]
    zeros = [one.algorithm for one in comparison.simulations if min(one.times_s) <= 0]
    if zeros:
        subtitle.append(f"left out: trials of {', '.join(zeros)} that end when the last rank arrives")
    marks = [line_marks, points(base, lines, ["line:N", "lateness:N", "time:N"])]
    return frame(marks, f"{comparison.title}, {format_bytes(first.size_bytes)}", subtitle)


def lateness_map(comparison: Comparison) -> alt.LayerChart:
    """Return a map of the fastest algorithms over lateness and size.

    The trials that all algorithms ran are put into groups by their lateness. A cell has the mean times of a group, or
    of several groups whose lateness is the same in the digits shown.
    """
    if not comparison.finished_bytes:
        raise Error("nothing to draw, expected a size that is compared to the end")
    first, trials = comparison.simulations[0], min(one.trials for one in comparison.simulations)
    scale, unit = axis_unit(max(first.arriving_s[:trials]))
    ordered = sorted(range(trials), key=lambda trial: first.arriving_s[trial])
    groups = [ordered[trials * part // _GROUPS : trials * (part + 1) // _GROUPS] for part in range(_GROUPS)]
    ranges: dict[str, list[int]] = {}
    for group in filter(None, groups):
        low, high = (first.arriving_s[trial] / scale for trial in (group[0], group[-1]))
        ranges.setdefault(f"{low:.4g} to {high:.4g} {unit}", []).extend(group)
    rows = [
        {"lateness": late, **_winner(comparison, size_bytes, group)}
        for late, group in ranges.items()
        for size_bytes in comparison.finished_bytes
    ]
    subtitle = [
        *scene_lines(first),
        f"lateness: from the first to the last arrival, in {format_count(trials, 'trial')}",
        "the fastest: the smallest mean, also where intervals overlap; numbers: the second mean over the first",
    ]
    title = f"The fastest {comparison.title}"
    return winner_chart(rows, title=title, subtitle=subtitle, row_key="lateness", descending=[*reversed(ranges)])


def _winner(comparison: Comparison, size_bytes: int, trials: Sequence[int]) -> dict[str, str]:
    """Return a cell of the map."""
    times_s = {
        one.algorithm: fmean(one.times_s[trial] for trial in trials)
        for one in comparison.simulations
        if one.size_bytes == size_bytes
    }
    first_s, *others_s = sorted(set(times_s.values()))
    fastest = [name for name, time_s in times_s.items() if time_s == first_s]
    factor = f"{others_s[0] / first_s:.2f}" if others_s and first_s > 0 else ""
    return {**winner(size_bytes, times_s, fastest), "factor": factor}
