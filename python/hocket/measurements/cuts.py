"""Rows that lack their end, because a paste or a job was cut, and lines that only look like rows.

Benchmarks print a fixed number of columns, and times with a fixed number of digits after the point. A last row with
fewer of them than the rows above it is cut: its last number is not the one that was measured.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from hocket.base.units import format_count
from hocket.measurements.measurement import Mark

_NUMBER = re.compile(r"-?[0-9.]+(?:[eE][-+]?[0-9]*)?|-")
_WITH_UNIT = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:[.,][0-9]+)?(?:[KMGT]i?B?|B|[mun]?s)?", re.IGNORECASE)
_LEAST_CELLS_WITH_WORDS = 8
_WITHOUT_SIZES = "Barrier"


def cut_rows(text: str, title: Mark, row: Mark, digits: int = 0) -> Iterator[tuple[int, str]]:
    """Give the number of the line of each cut row, which is the last of its table, and what the row lacks.

    `title` finds the first line of a table, and `row` a row that has its end. `digits` is how many digits after the
    point the last number of a row has, if no other row tells.
    """
    for _, table in _tables(text, title):
        rows = [number for number, (line, _) in table.items() if row(line) is not None]
        end = rows[-1] if rows else 0
        behind = [number for number, (_, cells) in table.items() if number > end and cells != ["0"]]
        if len(behind) > 1 or not (behind or rows):
            continue
        last = behind[0] if behind else rows.pop()
        sentence = lack(table[last][1], [table[number][1] for number in rows], digits)
        if sentence is not None:
            yield last, sentence


def lack(cells: Sequence[str], fellows: Sequence[Sequence[str]], digits: int = 0) -> str | None:
    """Return what the last row of a table lacks; None if it lacks nothing, or is no row of this table.

    Its fellows are the rows above it. Without them, `digits` tells how many digits its last number has after the point.
    """
    nearest = fellows[-1] if fellows else cells
    if cells[0].isdecimal() != nearest[0].isdecimal():
        return None
    pairs = ((cell, other) for cell, other in zip(cells, nearest, strict=False) if cell and other)
    if len(cells) > len(nearest) or any(_is_number(cell) != _is_number(other) for cell, other in pairs):
        return None
    if len(cells) < len(nearest):
        return f"it has {len(cells)} of {len(nearest)} columns"
    usual = min((digits_of(fellow[-1]) for fellow in fellows), default=digits if "." in cells[-1] else 0)
    if digits_of(cells[-1]) >= usual or cells[-1].startswith("-"):
        return None
    return f"its last number has {format_count(digits_of(cells[-1]), 'digit')} after the point, expected {usual}"


def odd_row(text: str, title: Mark, row: Mark) -> int | None:
    """Return the number of the first line that looks like a row, but does not begin with a size."""
    for name, table in _tables(text, title):
        widths = {len(cells) for line, cells in table.values() if row(line) is not None}
        if _WITHOUT_SIZES in name:
            continue
        for number, (_, cells) in table.items():
            if not cells[0].isdecimal() and (not widths or len(cells) in widths) and _looks_like_row(cells):
                return number
    return None


def first_like_row(lines: Iterable[str]) -> int | None:
    """Return the number of the first line of several numbers, which may have units; None if there is none."""
    rows = enumerate(map(str.split, lines), start=1)
    return next((number for number, cells in rows if cells and _looks_like_row(cells)), None)


def without_lines(text: str, numbers: Collection[int]) -> str:
    """Return a text in which the lines of some numbers are empty."""
    return "\n".join("" if number in numbers else line for number, line in enumerate(text.split("\n"), start=1))


def _tables(text: str, title: Mark) -> Iterator[tuple[str, dict[int, tuple[str, list[str]]]]]:
    """Give the title of each table, and by their numbers the lines that begin with a digit, with their cells."""
    table: dict[int, tuple[str, list[str]]] = {}
    name = ""
    for number, line in chain(enumerate(text.split("\n"), start=1), [(0, "")]):
        if not number or title(line) is not None:
            yield name, table
            name, table = line, {}
        elif (cells := line.split()) and cells[0][0].isdecimal():
            table[number] = line, cells


def _looks_like_row(cells: Sequence[str]) -> bool:
    numbers = sum(_WITH_UNIT.fullmatch(cell) is not None for cell in cells)
    if _WITH_UNIT.fullmatch(cells[0]) is None or numbers < 2:
        return False
    return numbers == len(cells) or (len(cells) >= _LEAST_CELLS_WITH_WORDS and 2 * numbers > len(cells))


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def digits_of(cell: str) -> int:
    """Return how many digits after the point a number has; 0 for other cells."""
    return len(cell.partition(".")[2]) if _is_number(cell) else 0
