"""The output of commands: tables and JSON on stdout, progress on stderr."""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hocket import files

if TYPE_CHECKING:
    import altair as alt
    from rich.progress import Progress

__all__ = ["Bar", "GrowingTable", "hand_out", "print_facts", "print_json", "print_table", "progress", "width"]

_WIDE = 1000  # columns, where no terminal sets a limit
_READABLE = 100


def print_json(value: Any) -> None:
    """Print plain data as JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


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
    from hocket.plot import encode
    from hocket.version import version

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
        click.echo(f"{name.ljust(longest)}  {value}".rstrip())


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a table; the columns named in `right` are aligned to the right. Cells may be styled by click."""
    click.echo("\n".join(_table_lines(columns, rows, right)))


class GrowingTable:
    """A table that is printed row by row, its columns as wide as a row asks that is given ahead and not printed.

    Args:
        columns: Their names.
        widest: A row whose cells are as wide as any.
        right: The columns that are aligned to the right.
    """

    def __init__(self, columns: Sequence[str], *, widest: Sequence[str], right: Sequence[str] = ()) -> None:
        self._columns, self._widest, self._right = columns, widest, right
        alone = self._lines()
        self._ahead = len(alone)
        self._header = alone[: 2 * len(alone) - len(self._lines(widest))]

    def print_header(self) -> None:
        """Print the names of the columns."""
        click.echo("\n".join(self._header))

    def print_row(self, row: Sequence[str]) -> None:
        """Print one row."""
        click.echo("\n".join(self._lines(row)[self._ahead :]))

    def _lines(self, *rows: Sequence[str]) -> list[str]:
        return _table_lines(self._columns, [self._widest, *rows], self._right)


def _table_lines(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str]) -> list[str]:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(Text(column), justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text.from_ansi, row))
    text = io.StringIO()
    is_terminal = sys.stdout.isatty()
    console = Console(file=text, force_terminal=is_terminal, width=width() if is_terminal else _WIDE)
    console.print(table)
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    return [line for line in lines if line]


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

    def reach(self, done: int) -> None:
        """Advance to so many pieces."""
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
def progress(label: str, total: int) -> Iterator[Bar]:
    """Show a bar with the remaining time on stderr while work goes on, if that is a terminal."""
    if not sys.stderr.isatty():
        yield Bar(None)
        return
    from rich.console import Console
    from rich.progress import Progress

    # All pieces so far say how long the others take: neighbouring ones may differ a lot.
    with Progress(console=Console(stderr=True), transient=True, speed_estimate_period=math.inf) as shown:
        shown.advance(shown.add_task(label, total=total), 0)  # the time of the first piece counts from here
        yield Bar(shown)
