"""Tables of named columns: CSV, also with semicolons, tabs or bars, and columns that blanks separate."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from hocket.measurements.consistency import Table
from hocket.measurements.cuts import digits_of, lack
from hocket.measurements.measurement import MOST_MARGIN_LETTERS, at

DELIMITERS = (",", ";", "\t", "|", "  ", " ")
"""What separates cells. A blank stands for several, too; two of them separate names that contain blanks."""

_MOST_LETTERS = 300
_MOST_HEAD_LETTERS = 2000
_RULE = re.compile(r":?-+:?|=+|-*\+[-+]*")
_COMMENT = "#"
_LEAST_FELLOWS = 3


class Columns(NamedTuple):
    """The columns of a kind of table."""

    suits: Callable[[Sequence[str]], bool]  # whether names are those of all columns that are needed
    knows: Callable[[str], bool]  # whether a name is that of a column that is read
    word: re.Pattern[str]  # in every line that names the columns, in small letters

    def title(self, line: str) -> int | None:
        """Return where the names of the columns begin in a line; None if it has none."""
        head = head_of(line, self)
        return None if head is None else head.begin


class Head(NamedTuple):
    """The line that names the columns: where it begins, what separates its cells, and the names."""

    begin: int
    delimiter: str
    names: tuple[str, ...]


def head_of(line: str, columns: Columns) -> Head | None:
    """Return the names of the columns that are in a line, if they are."""
    if len(line) > _MOST_HEAD_LETTERS or columns.word.search(line.lower()) is None:
        return None
    heads = (_head(line, each, columns) for each in DELIMITERS if each in line)
    return next((head for head in heads if head is not None), None)


def _head(line: str, delimiter: str, columns: Columns) -> Head | None:
    heads = [
        Head(begin, delimiter, names)
        for begin in _begins(line, delimiter)
        if len(names := tuple(_names(line[begin:], delimiter))) > 1 and columns.suits(names)
    ]
    heads_by_name = (head for head in heads if head.names[0][:1].isalnum() and columns.knows(head.names[0]))
    return next(heads_by_name, next(iter(heads), None))


def _begins(line: str, delimiter: str) -> Iterator[int]:
    """Give where the head may begin: at its first cell, or at a word of a cell behind a number or a symbol."""
    indent = len(line) - len(line.lstrip(" "))
    yield indent
    if delimiter == "|" and line[indent] == "|":
        return
    for word in re.finditer(r"(?<![\w(\[/])\"?[^\W\d]|\|", line[: MOST_MARGIN_LETTERS + 1]):
        if re.search(r"[^A-Za-z_\s]", line[: word.start()].rpartition(delimiter)[2]):
            yield word.start()


def _names(text: str, delimiter: str) -> Iterator[str]:
    if not delimiter.strip(" "):
        names = re.sub(r"\s+(?=[(\[])", "", text.strip())
        yield from names.split() if delimiter == " " else re.split(r"\s{2,}|\t", names)
    else:
        for name in cells_of(text, delimiter):
            yield name.strip(' \t`"').removeprefix("**").removesuffix("**")


def cells_of(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line, without blanks around them; a csv.Error if the line cannot be one of a CSV."""
    if not delimiter.strip(" "):
        return line.split()
    if delimiter == "|":
        return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    return [cell.strip() for row in csv.reader([line], delimiter=delimiter, skipinitialspace=True) for cell in row]


def rows_of(text: str, file: str, columns: Columns) -> Iterator[tuple[Head, list[str], tuple[str, int]]]:
    """Give the rows of tables, each with its head and where it is; a row with another number of cells is refused."""
    for head, number, cells in _all_rows(text, columns):
        if isinstance(cells, csv.Error):
            raise at(file, number, f"not CSV: {cells}")
        width = len(head.names)
        if len(cells) < width or any(cells[width:]):
            raise at(file, number, f"got {len(cells)} cells, expected {width}: {', '.join(head.names):.200}")
        for name, cell in zip(head.names, cells, strict=False):
            if len(cell) > _MOST_LETTERS:
                raise at(file, number, f"{name:.60}: got {len(cell)} letters, expected at most {_MOST_LETTERS}")
        yield head, cells, (file, number)


def cut_rows_of(text: str, columns: Columns) -> Iterator[tuple[int, str]]:
    """Give the number of the line of each row that lacks its end, and what it lacks. It is the last row of its table.

    Programs write times in a table with any number of digits. A last number with fewer of them is cut only if all rows
    above it have as many, and no line follows.
    """
    for _, group in groupby(_all_rows(text, columns), key=lambda row: row[0]):
        rows = [(number, cells) for _, number, cells in group if not isinstance(cells, csv.Error)]
        if not rows:
            continue
        (number, cells), fellows = rows[-1], [cells for _, cells in rows[:-1]]
        has_end = number <= text.count("\n") or len({digits_of(row[-1]) for row in fellows}) != 1
        is_short = bool(fellows) and len(cells) < len(fellows[-1])
        if is_short or (not has_end and len(fellows) >= _LEAST_FELLOWS):
            sentence = lack(cells, fellows)
            if sentence is not None:
                yield number, sentence


def tables_in(text: str, columns: Columns) -> Iterator[Table]:
    """Give the tables of a text."""
    for head, rows in groupby(_all_rows(text, columns), key=lambda row: row[0]):
        yield [(number, dict(zip(head.names, cells, strict=False)))
               for _, number, cells in rows if not isinstance(cells, csv.Error)]  # fmt: skip


@lru_cache(maxsize=2)
def _all_rows(text: str, columns: Columns) -> Sequence[tuple[Head, int, list[str] | csv.Error]]:
    """Return the head, the line and the cells of each row, or why it has none."""
    rows: list[tuple[Head, int, list[str] | csv.Error]] = []
    head: Head | None = None
    is_apart = False
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            is_apart = True
        elif (other := head_of(line, columns)) is not None:
            head, is_apart = other, False
        elif head is not None and not line.lstrip().startswith(_COMMENT):
            try:
                cells = _row(line, head, is_apart=is_apart)
            except csv.Error as error:
                rows.append((head, number, error))
                continue
            if cells is not None:
                rows.append((head, number, cells))
    return rows


def _row(line: str, head: Head, *, is_apart: bool) -> list[str] | None:
    """Return the cells of a row; None for a line that is none."""
    cells = cells_of(line, head.delimiter)
    if all(_RULE.fullmatch(cell) for cell in cells) or (len(cells) == 1 and (is_apart or " " in line.strip())):
        return None
    return cells if head.delimiter.strip(" ") or cells[0][:1].isdigit() else None
