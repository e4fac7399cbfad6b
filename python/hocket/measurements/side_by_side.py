"""Tables with several columns of times, each with a name: two libraries side by side, or before and after."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from hocket._native import Error
from hocket.measurements.columns import Columns, rows_of
from hocket.measurements.table import column_of, units_of_times

_SIZE_WORD = re.compile("size|byte|length")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_OF_BENCHMARKS = re.compile(r"# Benchmarking|algbw|repetitions|Iterations")
"""Words of benchmarks whose columns are not times of several runs."""
_LEAST_ROWS = 3
_MOST_COLUMNS = 8


def _suits(names: Sequence[str]) -> bool:
    roles = [None if (column := column_of(name)) is None else column.role for name in names]
    return roles[0] == "size" and {*roles[1:]} == {None} and 3 <= len({*names}) == len(names) <= _MOST_COLUMNS


_COLUMNS = Columns(_suits, lambda name: column_of(name) is not None, _SIZE_WORD)


def columns_apart(text: str, file: str) -> dict[str, str]:
    """Return a text for each column of times of the first table that has several, by its name; or none.

    Lines keep their numbers, and other lines are left out. Times without a unit are in us, as benchmarks print them.
    """
    if _OF_BENCHMARKS.search(text):
        return {}
    bare = "\n".join(line.lstrip("# ") if _SIZE_WORD.search(line.lower()) else line for line in text.split("\n"))
    try:
        head, rows = next(
            ((head, [*rows]) for head, rows in groupby(rows_of(bare, file, _COLUMNS), lambda row: row[0]))
        )
    except (StopIteration, Error):
        return {}
    numbers = [cells for _, cells, _ in rows if all(map(_NUMBER.fullmatch, cells[: len(head.names)]))]
    if len(numbers) < max(_LEAST_ROWS, len(rows)):
        return {}
    units = units_of_times()
    texts = {}
    for place, name in enumerate(head.names[1:], start=1):
        unit = next((word for word in re.findall("[a-zµμ]+", name.lower())[::-1] if word in units), "us")
        lines = [""] * text.count("\n") + [""]
        lines[rows[0][2][1] - 2] = f"size,time_{unit}"
        for _, cells, (_, number) in rows:
            lines[number - 1] = f"{cells[0]},{cells[place]}"
        texts[name] = "\n".join(lines)
    return texts
