"""Changes of measured times in words."""

from __future__ import annotations

from hocket.base.table import Words
from hocket.base.units import format_bytes, format_ratio, format_time
from hocket.judging.change import Change
from hocket.judging.changes import Changes
from hocket.judging.pairs import several_fields

_MOST_POINTS = 40


def change_table(changes: Changes) -> Words:
    """Return what changed, a row for each point; of many points, those that are slower or faster."""
    points = changes.changes
    if len(points) > _MOST_POINTS:
        points = tuple(one for one in points if one.direction in ("slower", "faster"))
    several = several_fields(one.series for one in points)
    columns: tuple[str, ...] = ("size", "before", "after", "times", "95 %", "", "from")
    rows = tuple(_change(one) for one in points)
    if several:
        columns, rows = (
            ("calls", *columns),
            tuple((one.series.text(several), *row) for one, row in zip(points, rows, strict=True)),
        )
    return Words(columns, rows, ("size", "before", "after", "times"))


def _change(one: Change) -> tuple[str, ...]:
    return (
        format_bytes(one.size_bytes),
        format_time(one.before_s),
        format_time(one.after_s),
        format_ratio(one.ratio),
        "" if one.ratio_low is None or one.ratio_high is None else f"{one.ratio_low:.2f} to {one.ratio_high:.2f}",
        one.direction,
        one.basis,
    )
