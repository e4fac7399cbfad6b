"""The output of commands: tables and JSON on stdout, progress on stderr."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from hocket.base import files

if TYPE_CHECKING:
    import altair as alt
    from rich.progress import Progress
    from rich.table import Table

__all__ = [
    "Bar",
    "GrowingTable",
    "hand_out",
    "print_csv",
    "print_facts",
    "print_json",
    "print_table",
    "print_transposed",
    "print_words",
    "progress",
    "width",
]

_WIDE = 1000  # columns, where no terminal sets a limit
_READABLE = 80


def print_json(value: Any) -> None:
    """Print plain data as JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as CSV; the columns are all their names, and a row that lacks one has an empty cell there."""
    columns = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def hand_out(
    entry: Mapping[str, Any],
    *,
    plot: str | None,
    output: str | None,
    as_json: bool,
    draw: Callable[[], alt.TopLevelMixin],
    show: Callable[[list[tuple[str, str | None]]], None],
) -> None:
    """Write a picture and results where they are asked for, and print the results.

    Args:
        entry: The results; the name of the picture and the version are added.
        plot: Where the picture goes, if anywhere.
        output: Where the results go as JSON, if anywhere; behind those that go to stdout nothing is printed.
        as_json: Whether JSON is printed, too.
        draw: Returns the picture.
        show: Else prints the results for people, and where files are: what they are, and their names.
    """
    from hocket.base.version import version
    from hocket.drawing.plot import encode

    if plot is not None:
        files.write(plot, encode(draw(), Path(plot).suffix))
    entry = {**entry, "plot": plot, "version": version()}
    if output is not None:
        files.write(output, json.dumps(entry) + "\n")
        if files.is_stdout(output):
            return
    if as_json:
        print_json(entry)
    else:
        show([("plot", plot), ("results", output)])


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values, one pair per line."""
    pairs = list(facts)
    longest = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        print_words(f"{name.ljust(longest)}  {value}".rstrip(), inner=longest + 2)


def print_words(line: str, *, inner: int | None = None, bold: bool = False, is_piped_whole: bool = True) -> None:
    """Print a line of words; what does not fit a terminal goes below it, farther in, and no word is cut.

    Args:
        line: The line.
        inner: How far in; without it, two columns farther than the line.
        bold: Whether it is printed bold.
        is_piped_whole: Whether it stays one line, however long, where it does not go to a terminal.
    """
    indent = " " * (len(line) - len(line.lstrip()) + 2 if inner is None else inner)
    wrapped = [line]
    if (sys.stdout.isatty() or not is_piped_whole) and _cells(line) > width():
        wrapped = textwrap.wrap(line, width(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    for each in wrapped:
        click.secho(each, bold=bold)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a table; the columns named in `right` are aligned to the right. Cells may be styled by click.

    No word and no number is cut. Where a terminal has no place for all columns, the first words stand above the rows.
    """
    rows = [*rows]
    lifted, gap = _fitting(columns, rows, right)
    if not lifted:
        click.echo("\n".join(_table_lines(columns, rows, right, gap)))
        return
    kept = [number for number in range(len(columns)) if number not in lifted]
    widest = [max((row[number] for row in rows), key=_cells) for number in kept]
    table = GrowingTable([columns[number] for number in kept], widest=widest, right=right)
    print_words(f" {', '.join(columns[number] for number in lifted)}")
    for row in rows:
        table.print_row([row[number] for number in kept], above=", ".join(row[number] for number in lifted))


def _fitting(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str]) -> tuple[list[int], int]:
    """Return the numbers of the columns that stand above the rows for the others to fit, and the gap between these."""
    words = [number for number, column in enumerate(columns) if column not in right]
    for lifted in (words[:count] for count in range(len(words))):
        kept = [number for number in range(len(columns)) if number not in lifted]
        titles, cells = [columns[number] for number in kept], [[row[number] for number in kept] for row in rows]
        for gap in (_GAP, _NARROW_GAP):
            if not sys.stdout.isatty() or _least_width(_table(titles, cells, right, gap)) <= width():
                return lifted, gap
    return words, _NARROW_GAP


def print_transposed(names: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Print a row for each name in blocks of columns, as many in each as fit.

    Args:
        names: The rows.
        columns: What the columns are.
        cells: What stands in each row.
    """
    widths = [max(len(title), *(_cells(row[column]) for row in cells)) for column, title in enumerate(columns)]
    first, most = 0, width() - 1 - max(map(len, names))
    while first < len(columns):
        beyond = first + 1
        while beyond < len(columns) and sum(each + _GAP for each in widths[first : beyond + 1]) <= most:
            beyond += 1
        if first:
            click.echo()
        shown = columns[first:beyond]
        rows = [[name, *row[first:beyond]] for name, row in zip(names, cells, strict=True)]
        print_table(["", *shown], rows, right=shown)
        first = beyond


class GrowingTable:
    """A table that is printed row by row, its columns as wide as a row asks that is given ahead and not printed.

    Names that would be wider than numbers stand above the rows that they belong to.

    Args:
        columns: Their names.
        widest: A row whose cells are as wide as any.
        right: The columns that are aligned to the right.
    """

    def __init__(self, columns: Sequence[str], *, widest: Sequence[str], right: Sequence[str] = ()) -> None:
        self._columns, self._widest, self._right = columns, widest, right
        alone = self._lines()
        self._ahead = len(alone)
        self._header: Sequence[str] = alone[: 2 * len(alone) - len(self._lines(widest))]
        self._above = ""

    def print_row(self, row: Sequence[str], *, above: str = "") -> None:
        """Print one row, under the header if it is the first, and under a line of words if these are new."""
        for line in self._header:
            click.echo(line)
        if above != self._above:
            print_words(f" {above}", bold=True)
        click.echo("\n".join(self._lines(row)[self._ahead :]))
        self._header, self._above = (), above

    def _lines(self, *rows: Sequence[str]) -> list[str]:
        return _table_lines(self._columns, [self._widest, *rows], self._right, _NARROW_GAP)


_GAP = 3
_NARROW_GAP = 2


def _table_lines(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str], gap: int) -> list[str]:
    from rich.console import Console

    text = io.StringIO()
    table = _table(columns, rows, right, gap)
    is_terminal = sys.stdout.isatty()
    columns_wide = max(width(), _least_width(table)) if is_terminal else _WIDE
    Console(file=text, force_terminal=is_terminal, width=columns_wide).print(table)
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    return [line for line in lines if line]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str], gap: int) -> Table:
    """Return a table in which sentences may be wrapped between words, and nothing else."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    cells = [[*map(Text.from_ansi, row)] for row in rows]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, gap - 2))
    for number, column in enumerate(columns):
        is_prose = column not in right and any(" " in row[number].plain for row in cells)
        justify: Literal["left", "right"] = "right" if column in right else "left"
        table.add_column(Text(column), justify=justify, overflow="fold", no_wrap=not is_prose)
    for row in cells:
        table.add_row(*row)
    return table


def _least_width(table: Table) -> int:
    """Return the width below which something would be cut."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(file=io.StringIO(), width=_WIDE)
    return Measurement.get(console, console.options, table).minimum


def _cells(text: str) -> int:
    """Return how many cells of a terminal a styled text takes."""
    from rich.cells import cell_len

    return cell_len(click.unstyle(text))


def width() -> int:
    """Return the width of the terminal, or a readable one where there is none."""
    return shutil.get_terminal_size((_READABLE, 0)).columns if sys.stdout.isatty() else _READABLE


class Bar:
    """A progress bar on stderr, or none where that is no terminal. To call it is to say that one more piece is done."""

    def __init__(self, shown: Progress | None) -> None:
        self._shown = shown

    def __call__(self) -> None:
        """Advance by one piece."""
        if self._shown is not None:
            self._shown.advance(self._shown.task_ids[0])

    def reach(self, done: float) -> None:
        """Advance to so much of the work."""
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], completed=done)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Clear the bar from the terminal while something else is printed."""
        if self._shown is None:
            yield
            return
        self._shown.stop()
        yield
        self._shown.start()


@contextmanager
def progress(label: str, total: float | None) -> Iterator[Bar]:
    """Show a bar with the remaining time on stderr while work goes on, if that is a terminal.

    Where nobody knows how much work there is, it moves to and fro, with the time so far.
    """
    if not sys.stderr.isatty():
        yield Bar(None)
        return
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    # All pieces so far say how long the others take: neighbouring ones may differ a lot.
    columns = (*Progress.get_default_columns()[:2], TimeElapsedColumn()) if total is None else ()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, speed_estimate_period=math.inf) as shown:
        shown.advance(shown.add_task(label, total=total), 0)  # the time of the first piece counts from here
        yield Bar(shown)
