"""A comparison, simulated or measured, as a picture: time over size, one line for each algorithm."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hocket._native import Error
from hocket.comparison import Comparison
from hocket.mpi.benchmark import Bench, Prediction
from hocket.units import format_bytes, format_time

if TYPE_CHECKING:
    import altair as alt

__all__ = ["FORMATS", "bench_chart", "chart", "encode", "render"]

FORMATS = (".png", ".html")
"""The endings of picture files."""

_WIDTH, _HEIGHT = 720, 440  # pixels
_PNG_SCALE = 2
_TICKS = 12
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


def render(comparison: Comparison, ending: str) -> bytes:
    """Return the picture as a file: PNG, or HTML that needs no network.

    Raises:
        Error: The ending is not one of `FORMATS`, or there is nothing to draw.
    """
    if ending not in FORMATS:
        raise Error(f'got a picture that ends in "{ending}", expected one of {", ".join(FORMATS)}')
    return encode(chart(comparison), ending)


def encode(drawing: alt.TopLevelMixin, ending: str) -> bytes:
    """Return a chart as a file of one of the endings of `FORMATS`."""
    if ending == ".png":
        picture = io.BytesIO()
        drawing.save(picture, format="png", scale_factor=_PNG_SCALE)
        return picture.getvalue()
    page = io.StringIO()
    drawing.save(page, format="html", inline=True)
    return page.getvalue().encode()


def chart(comparison: Comparison) -> alt.LayerChart:
    """Return the picture as a chart of both axes logarithmic.

    Raises:
        Error: No simulation has a size and a time above zero.
    """
    import altair as alt

    rows = _rows(comparison)
    if not rows:
        raise Error("nothing to draw on logarithmic axes, expected sizes and times above zero")
    base = _over_size(rows, list(comparison.algorithms))
    return alt.LayerChart(layer=[base.mark_line(), _points(base, list(comparison.algorithms))]).properties(
        width=_WIDTH, height=_HEIGHT, title=_title(comparison)
    )


def bench_chart(bench: Bench, predictions: Sequence[Prediction], machine: str | None) -> alt.LayerChart:
    """Return measured medians with their intervals, and dashed what a machine says of them.

    Raises:
        Error: Nothing has a size above zero.
    """
    import altair as alt

    rows = [
        {
            "algorithm": one.algorithm,
            "size_bytes": one.size_bytes,
            "time_s": one.median_s,
            "low_s": one.low_s,
            "high_s": one.high_s,
            "size": format_bytes(one.size_bytes),
            "time": f"{format_time(one.median_s)} ({format_time(one.low_s)} to {format_time(one.high_s)})",
        }
        for one in bench.measurements
        if one.size_bytes > 0 and one.low_s > 0
    ]
    said = [
        {
            "algorithm": one.algorithm,
            "size_bytes": one.size_bytes,
            "time_s": one.time_s,
            "size": format_bytes(one.size_bytes),
            "time": f"{format_time(one.time_s)} simulated",
        }
        for one in predictions
        if one.size_bytes > 0 and one.time_s > 0
    ]
    if not rows:
        raise Error("nothing to draw on logarithmic axes, expected sizes and times above zero")
    names = list(bench.algorithms)
    base = _over_size(rows, names, [*rows, *said])
    layers = [
        base.mark_area(fillOpacity=0.2).encode(y=alt.Y("low_s:Q").scale(type="log"), y2="high_s:Q"),
        base.mark_line(),
        _points(base, names),
    ]
    if said:
        layers.append(_over_size(said, names, [*rows, *said]).mark_line(strokeDash=[4, 4], opacity=0.7))
    subtitle = ["medians of measured times with their 95 % intervals"]
    if said:
        subtitle.append(f"dashed: simulated on {machine}")
    return alt.LayerChart(layer=layers).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(
            f"{bench.collective} on {bench.ranks} ranks, {' '.join(bench.mpi.partition(',')[0].split())}",
            subtitle=subtitle,
            anchor="start",
        ),
    )


def _over_size(rows: list[dict[str, Any]], names: list[str], all_rows: list[dict[str, Any]] | None = None) -> alt.Chart:
    """Return time over size, both logarithmic; ticks fit all rows."""
    import altair as alt

    ticked = all_rows or rows
    return alt.Chart({"values": rows}).encode(
        x=alt.X("size_bytes:Q", title="size of the message")
        .scale(type="log", base=2, nice=False)
        .axis(values=_size_ticks(ticked), labelExpr=_SIZE_LABEL),
        y=alt.Y("time_s:Q", title="time").scale(type="log").axis(values=_time_ticks(ticked), labelExpr=_TIME_LABEL),
        color=alt.Color("algorithm:N").scale(domain=names),
    )


def _points(base: alt.Chart, names: list[str]) -> alt.Chart:
    import altair as alt

    points: alt.Chart = base.mark_point(filled=True, size=45, opacity=1).encode(
        shape=alt.Shape("algorithm:N").scale(domain=names), tooltip=["algorithm:N", "size:N", "time:N"]
    )
    return points


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "algorithm": found.algorithm,
            "size_bytes": found.size_bytes,
            "time_s": found.time_s.mean,
            "size": format_bytes(found.size_bytes),
            "time": format_time(found.time_s.mean),
        }
        for found in comparison.simulations
        if found.size_bytes > 0 and found.time_s.mean > 0
    ]


def _size_ticks(rows: list[dict[str, Any]]) -> list[int]:
    """Return the sizes, thinned out evenly so that their labels do not touch."""
    sizes = sorted({row["size_bytes"] for row in rows})
    return sizes[:: -(-len(sizes) // _TICKS)]


def _time_ticks(rows: list[dict[str, Any]]) -> list[float]:
    """Return 1, 2 and 5 of each power of ten, or the powers only where there are many."""
    exponents = [math.floor(math.log10(row["time_s"])) for row in rows]
    steps = (1, 2, 5) if max(exponents) - min(exponents) < _TICKS // 3 else (1,)
    return [step * 10.0**exponent for exponent in range(min(exponents), max(exponents) + 2) for step in steps]


def _title(comparison: Comparison) -> alt.TitleParams:
    import altair as alt

    machine, any_found = comparison.machine, comparison.simulations[0]
    named = [f"{name}: {values}" for name, values in comparison.parameters.items()]
    return alt.TitleParams(
        f"{comparison.collective} on {comparison.ranks} ranks, machine {machine.name}",
        subtitle=[
            machine.parameters,
            f"seed {any_found.seed}, {_trials(any_found.trials)}",
            *(["parameters: " + "; ".join(named)] if named else []),
        ],
        anchor="start",
    )


def _trials(trials: int) -> str:
    return "1 trial" if trials == 1 else f"{trials} trials"
