"""A comparison as a picture: time over size, one line for each algorithm."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

from hocket._native import Error
from hocket.comparison import Comparison
from hocket.units import format_bytes, format_time

if TYPE_CHECKING:
    import altair as alt

__all__ = ["FORMATS", "chart", "encode", "render"]

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
    algorithms = list(comparison.algorithms)
    base = alt.Chart({"values": rows}).encode(
        x=alt.X("size_bytes:Q", title="size of the message")
        .scale(type="log", base=2, nice=False)
        .axis(values=_size_ticks(rows), labelExpr=_SIZE_LABEL),
        y=alt.Y("time_s:Q", title="time").scale(type="log").axis(values=_time_ticks(rows), labelExpr=_TIME_LABEL),
        color=alt.Color("algorithm:N").scale(domain=algorithms),
    )
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        shape=alt.Shape("algorithm:N").scale(domain=algorithms), tooltip=["algorithm:N", "size:N", "time:N"]
    )
    return alt.LayerChart(layer=[base.mark_line(), points]).properties(
        width=_WIDTH, height=_HEIGHT, title=_title(comparison)
    )


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
