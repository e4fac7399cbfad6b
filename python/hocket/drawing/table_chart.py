"""The table of a sweep as a picture: mean time over another column, with confidence intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hocket._native import Error
from hocket.base.checks import among
from hocket.base.packages import alt
from hocket.base.units import format_bytes, format_count, format_time
from hocket.drawing.plot import HEIGHT, WIDTH, Line, colours, points, size_axis, style, thin, time_axis, with_dashes
from hocket.simulating.sweeps.row import CONDITIONS
from hocket.simulating.sweeps.table import Table

_MOST_ROWS = 20_000  # more rows take a browser seconds to draw
_MOST_PANELS = 24
_PANELS_ACROSS = 2
_PANEL_WIDTH, _PANEL_HEIGHT = 400, 260  # pixels
_NUMBERS = ("size_bytes", "ranks")
_WHERE = ("ranks", "size_bytes", "machine", *CONDITIONS)
_PARAMETER = "param_"

_Row = Mapping[str, Any]


def table_chart(
    table: Table, *, x: str | None = None, color: str | None = None, facet: str | None = None
) -> alt.LayerChart | alt.FacetChart:
    """Return the picture as a chart; see `Table.plot`."""
    # Values of parameters that a formula chose tell no lines apart.
    records = [
        {**record, **{f"{_PARAMETER}{name}": None for name in record["by_formula"].split()}}
        for record in table.records()
    ]
    names = [name for name in table.columns if name.startswith(_PARAMETER)]
    parameters = tuple(name for name in names if any(record[name] is not None for record in records))
    numbers = (*_NUMBERS, *(name for name in parameters if all(isinstance(row[name], int | None) for row in records)))
    columns = ("collective", "algorithm", *parameters, *_WHERE)
    for what, name, fields in (("x", x, numbers), ("color", color, columns), ("facet", facet, columns)):
        if name is not None:
            among(what, name, fields)
    simulated = [record for record in records if record["refusal"] is None]
    x = x or next((name for name in numbers if _varies(simulated, name)), "ranks")
    drawable = [row for row in simulated if row[x] is not None and (row[x] > 0 or x not in _NUMBERS)]
    rows = [row for row in drawable if row["time_mean_s"] > 0]
    if not rows:
        raise Error(f"nothing to draw, expected simulations with a time and {x} above zero")
    if len(rows) > _MOST_ROWS:
        raise Error(f"a picture of {len(rows)} simulations, expected at most {_MOST_ROWS}")
    varying_columns = [name for name in columns if name != x and _varies(rows, name)]
    others = [name for name in varying_columns if name != facet]
    line = [color] if color else [name for name in others if facet or name not in _WHERE]
    line = line or [name for name in others if name in CONDITIONS] or ["algorithm"]
    panel = [facet] if facet else [name for name in others if name not in line]
    columns_by_role = {"line": line, "panel": panel, "call": varying_columns or ["algorithm"]}
    points = [{**_point(row, x), **{key: _label(row, names) for key, names in columns_by_role.items()}} for row in rows]
    same = [name for name in ("collective", "algorithm", *_WHERE) if name not in (x, *varying_columns, *line)]
    return _chart(points, x, _label(rows[0], same), [*_notes(table, rows, len(simulated), x)])


def _varies(rows: Iterable[_Row], name: str) -> bool:
    return len({row[name] for row in rows} - {None}) > 1


def _point(row: _Row, x: str) -> dict[str, Any]:
    low_s, mean_s, high_s = (row[f"time_{name}_s"] for name in ("interval_low", "mean", "interval_high"))
    low_s = low_s if low_s is not None and low_s > 0 else row["time_min_s"] or mean_s
    ends = f" ({format_time(low_s)} to {format_time(high_s)})" if row["trials"] > 1 else ""
    return {
        **{"x": row[x], "time_s": mean_s, "low_s": low_s, "high_s": high_s, "trials": row["trials"]},
        **{x.removeprefix(_PARAMETER): _text(x, row[x]), "time": format_time(mean_s) + ends},
    }


def _label(row: _Row, names: Iterable[str]) -> str:
    return ", ".join(_text(name, row[name]) for name in names if row[name] not in (None, ""))


def _text(name: str, value: Any) -> str:
    if name == "size_bytes":
        return format_bytes(value)
    if name == "ranks":
        return format_count(value, "rank")
    if name in ("machine", "noise"):
        return f"{name} {value}"
    return f"{name.removeprefix(_PARAMETER)} = {value}" if name.startswith(_PARAMETER) else str(value)


def _notes(table: Table, rows: Sequence[_Row], simulated: int, x: str) -> Iterator[str]:
    """Give what intervals are, and what is left out."""
    trials = {row["trials"] for row in rows}
    if max(trials) > 1:
        count = " to ".join(map(str, sorted({min(trials), max(trials)})))
        yield f"means of {count} trials, and their 95 % confidence intervals"
    if table.refused:
        yield f"left out: {table.refused} of {len(table.rows)} calls, which were refused"
    if left_out := simulated - len(rows):
        name = x.removeprefix(_PARAMETER)
        why = f"whose time or {x} is 0" if x in _NUMBERS else f"which have no {name}, or take no time"
        yield f"left out: {left_out} of {simulated} simulations, {why}"


def _chart(
    points: Sequence[dict[str, Any]], x: str, title: str, subtitle: Sequence[str]
) -> alt.LayerChart | alt.FacetChart:
    panels = list(dict.fromkeys(point["panel"] for point in points))
    if len(panels) > _MOST_PANELS:
        raise Error(f"a picture of {len(panels)} panels, expected at most {_MOST_PANELS}: choose x, color and facet")
    lines = {line.label: line for line in _lines(points)}
    rows = [{**point, "dash": lines[point["line"]].dash} for point in points]
    rows.sort(key=lambda point: -lines[point["line"]].drawn_share)  # solid lines are below dashed ones
    layers = alt.LayerChart(layer=_layers(rows, list(lines.values()), x), data=alt.InlineData(values=rows))
    heading = alt.TitleParams(title, subtitle=list(subtitle), anchor="start")
    if len(panels) == 1:
        return layers.properties(width=WIDTH, height=HEIGHT, title=heading)
    facet = alt.Facet("panel:N", title=None, sort=panels)
    small = layers.properties(width=_PANEL_WIDTH, height=_PANEL_HEIGHT)
    return small.facet(facet, columns=_PANELS_ACROSS).properties(title=heading)


def _layers(rows: Sequence[Mapping[str, Any]], lines: Sequence[Line], x: str) -> list[alt.Chart]:
    """Return the intervals, the lines above them, and the means on top."""
    base = alt.Chart().encode(
        x=_x([row["x"] for row in rows], x),
        y=time_axis(time_s for row in rows for time_s in (row["time_s"], row["low_s"])),
        color=colours(lines),
        detail="call:N",
    )
    intervals = base.transform_filter("datum.trials > 1").mark_rule(strokeWidth=3, strokeOpacity=0.45)
    return [
        intervals.encode(y=alt.Y("low_s:Q").scale(type="log"), y2="high_s:Q"),
        base.mark_line().encode(strokeDash=alt.StrokeDash("dash:N", scale=None)),
        points(base, lines, ["call:N", f"{x.removeprefix(_PARAMETER)}:N", "time:N"]),
    ]


def _lines(points: Sequence[dict[str, Any]]) -> list[Line]:
    """Return the lines; lines that overlap in a panel are dashed."""
    places = {place: number for number, place in enumerate(dict.fromkeys((one["panel"], one["x"]) for one in points))}
    times_s: dict[str, dict[int, float]] = {}
    for one in points:
        times_s.setdefault(one["line"], {})[places[one["panel"], one["x"]]] = one["time_s"]
    return with_dashes([replace(line, times_s=times_s[line.label]) for line in style(times_s)])


def _x(values: Sequence[int], x: str) -> alt.X:
    """Return the horizontal axis: logarithmic, unless a parameter has the value 0."""
    if x == "size_bytes":
        return size_axis(values, "x")
    axis = alt.Axis(values=thin(values), format="d")
    scale = alt.Scale(type="log", base=2, nice=False) if min(values) > 0 else alt.Scale(zero=False)
    return alt.X("x:Q", title=x.removeprefix(_PARAMETER), scale=scale, axis=axis)
