"""A map of the fastest algorithms over ranks and sizes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hocket.base.packages import alt
from hocket.base.units import format_bytes, format_time
from hocket.simulating.comparison import Comparison

_CELL_WIDTH, _CELL_HEIGHT = 38, 26  # pixels
_EQUAL = " = "
_LEGEND_CHARACTERS = 100  # in a row
_DARK = 0.18  # relative luminance below which white text has more contrast than black text


def winners(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Give for each size the fastest algorithms, their time, its ratio to the lower bound, and the second place."""
    for size_bytes in comparison.sizes_bytes:
        fastest, times_bound = comparison.fastest(size_bytes), comparison.times_the_bound(size_bytes)
        if comparison.machine.discrepancies:
            fastest = fastest[:1]  # many share the first place
        times_s = {name: time_s for (size, name), time_s in comparison.times_s.items() if size == size_bytes}
        factor = "" if times_bound is None else f"{times_bound:.1f}"
        yield {"ranks": comparison.ranks, **winner(size_bytes, times_s, fastest), "factor": factor}


def winner(size_bytes: int, times_s: Mapping[str, float], fastest: Sequence[str]) -> dict[str, str]:
    """Return the fastest algorithms at a size, their time, and the second place."""
    others = sorted((time_s, name) for name, time_s in times_s.items() if name not in fastest)
    return {
        "size": format_bytes(size_bytes),
        "fastest": _EQUAL.join(fastest),
        "time": format_time(times_s[fastest[0]]),
        "second": f"{others[0][1]}, {format_time(others[0][0])}" if others else "",
    }


def winner_chart(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str,
    subtitle: Sequence[str],
    row_key: str = "ranks",
    descending: Sequence[str] | None = None,
) -> alt.LayerChart:
    """Return the map of results such as those of `winners`, with the arguments of `cells`.

    A cell in which several algorithms are the fastest has the colour of the one that is the fastest in most cells.
    """
    order = list(dict.fromkeys(row["size"] for row in rows))
    cells_won = Counter(name for row in rows for name in row["fastest"].split(_EQUAL))
    rows = [{**row, "algorithm": max(row["fastest"].split(_EQUAL), key=lambda name: cells_won[name])} for row in rows]
    algorithms = [name for name in cells_won if any(row["algorithm"] == name for row in rows)]
    columns = max(1, _LEGEND_CHARACTERS // max(map(len, algorithms)))
    legend = alt.Legend(title=None, labelLimit=0, symbolLimit=0, orient="bottom", columns=columns)
    names = alt.Color("algorithm:N", scale=alt.Scale(domain=algorithms, scheme="tableau20"), legend=legend)
    tooltip = [f"{row_key}:O", "size:N", "fastest:N", "time:N", "second:N", "factor:N"]
    drawing: alt.LayerChart = cells(
        rows, order, color=names, tooltip=tooltip, row_key=row_key, descending=descending
    ).properties(
        width=alt.Step(_CELL_WIDTH),
        height=alt.Step(_CELL_HEIGHT),
        title=alt.TitleParams(title, subtitle=list(subtitle), anchor="start"),
    )
    return drawing


def cells(
    rows: Sequence[Mapping[str, Any]],
    order: Sequence[str],
    *,
    color: alt.Color,
    tooltip: Sequence[str],
    row_key: str = "ranks",
    descending: Sequence[str] | None = None,
) -> alt.LayerChart:
    """Return coloured cells over sizes and a key of the rows, whose text is each row's "factor".

    `order` has the sizes, and `descending` the values of the key from top to bottom; by default these are numbers, the
    largest first.
    """
    base = alt.Chart(alt.InlineData(values=[dict(row) for row in rows])).encode(
        x=alt.X("size:O", sort=list(order), title="size"),
        y=alt.Y(f"{row_key}:O", sort="descending" if descending is None else list(descending), title=row_key),
    )
    # The colour of a cell decides whether its text is black or white.
    encoding: Any = color.to_dict()
    ink = alt.expr(f"luminance(scale('color', datum[{json.dumps(encoding['field'])}])) < {_DARK} ? 'white' : 'black'")
    rectangles = base.mark_rect().encode(color=color, tooltip=list(tooltip))
    return alt.LayerChart(layer=[rectangles, base.mark_text(fontSize=11, color=ink).encode(text="factor:N")])
