"""Rows that contradict themselves or their table. Which of their numbers is wrong is not known, so they are left out.

The names of columns tell their order: a shortest time is at most a mean, and this at most a longest time; percentiles
rise. Sizes of a benchmark that doubles them are powers of two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import nan
from typing import TypeAlias

Table: TypeAlias = "Sequence[tuple[int, Mapping[str, str]]]"
"""The rows of a table: the number of the line, and the cells by the names of their columns."""

_PERCENTILES: Mapping[str, int] = {
    **dict.fromkeys(("min", "minimum"), 0),
    **dict.fromkeys(("median", "med"), 50),
    **dict.fromkeys(("max", "maximum"), 100),
}
_MEANS = ("avg", "average", "mean")
_ENDS = ("low_s", "median_s", "high_s")
_SIZES = ("Size", "bytes")
_SHORTEST_US, _LONGEST_US = 1e-6, 3.2e13
_LEAST_FELLOWS = 3  # whose sizes are powers of two


def contradictions(tables: Iterable[Table], *, are_doubled: bool) -> Iterator[tuple[int, str]]:
    """Give the line of each row that contradicts itself, and how.

    Sizes `are_doubled` if those of a table are powers of two, where all but one are.
    """
    for table in tables:
        for number, cells in table:
            for lower, higher in _orders(tuple(cells)):
                if _number(cells[lower]) > _number(cells[higher]):
                    yield number, f"{lower} is {cells[lower]:.20}, more than {higher}, {cells[higher]:.20}"
                    break
        rows = table if are_doubled else ()
        sizes = {number: int(size[:15]) for number, cells in rows if (size := _size(cells)).isdecimal()}
        odd = [number for number, size in sizes.items() if size & (size - 1)]
        if len(odd) == 1 and len(sizes) > _LEAST_FELLOWS:
            yield odd[0], f"the size {sizes[odd[0]]} is no power of two, as the other sizes of the table are"


def out_of_order(entry: Mapping[str, object]) -> str:
    """Return how the times of an entry of JSON contradict each other; empty if they do not."""
    times = [(name, value) for name in _ENDS if isinstance(value := entry.get(name), int | float)]
    faults = ((lower, higher) for lower, higher in pairwise(times) if lower[1] > higher[1])
    return next((f"{low} is {one:.6g}, more than {high}, {other:.6g}" for (low, one), (high, other) in faults), "")


def tables_of_lines(text: str, names_in: Callable[[str], Sequence[str]]) -> Iterator[Table]:
    """Give the tables below the lines that name their columns; `names_in` returns the names in a line, if it does."""
    table: list[tuple[int, Mapping[str, str]]] = []
    names: Sequence[str] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if head := names_in(line):
            yield table
            names, table = head, []
        elif (cells := line.split()) and len(cells) == len(names) and cells[0].isdecimal():
            table.append((number, dict(zip(names, cells, strict=True))))
    yield table


@lru_cache(maxsize=64)
def _orders(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return pairs of columns of which the first is never above the second: of the same quantity in the same unit."""
    by_quantity: dict[frozenset[str], dict[str, int | None]] = {}
    for name in names:
        words = re.findall(r"[a-z]+[0-9]*", name.lower())
        levels = {word: level for word in words if (level := _level(word)) is not None or word in _MEANS}
        if len(levels) == 1:
            by_quantity.setdefault(frozenset(words) - {*levels}, {})[name] = next(iter(levels.values()))
    pairs = list[tuple[str, str]]()
    for columns in by_quantity.values():
        percentiles = sorted((level, name) for name, level in columns.items() if level is not None)
        pairs += ((lower, higher) for (_, lower), (_, higher) in pairwise(percentiles))
        for mean in (name for name, level in columns.items() if level is None):
            pairs += ((name, mean) for level, name in percentiles if level == 0)
            pairs += ((mean, name) for level, name in percentiles if level == 100)
    return tuple(pairs)


def _size(cells: Mapping[str, str]) -> str:
    """Return the size of a row; empty if its first column has none."""
    name, cell = next(iter(cells.items()))
    return cell if name in _SIZES else ""


def _level(word: str) -> int | None:
    """Return the percentile that a word names, if it does."""
    return int(word[1:]) if re.fullmatch("p[0-9]{1,2}", word) else _PERCENTILES.get(word)


def _number(cell: str) -> float:
    """Return a time as a number; NaN, which is more than nothing, for a cell that a reader refuses anyway."""
    try:
        value = float(cell)
    except ValueError:
        return nan
    return value if value == 0 or _SHORTEST_US <= value <= _LONGEST_US else nan
