"""Output of commands: tables, also of times by size, and JSON on stdout; progress on stderr."""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hocket.base import files
from hocket.base.error import printable
from hocket.base.packages import alt
from hocket.base.results import Place
from hocket.base.units import format_bytes, format_ratio, format_reach, format_time
from hocket.base.version import VERSION
from hocket.cli.printing import StyledText, note, put, say
from hocket.drawing.encoding import picture_of

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

    from hocket.definitions.library import Algorithm

_HOW_TO_OPEN = {"timeline": " (open it at ui.perfetto.dev or chrome://tracing)"}
_WIDE = 1000  # columns, if no terminal sets a limit
_READABLE = 80


def print_json(value: Any) -> None:
    """Print plain data as JSON."""
    say(json.dumps(value, indent=2, ensure_ascii=False))


def answer(value: Any, show: Callable[..., object], *arguments: Any, as_json: bool) -> None:
    """Print a result as JSON, or show it to people with these arguments."""
    if as_json:
        print_json(value)
    else:
        show(*arguments)


def with_version(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with the version of Hocket."""
    return {**entry, "version": VERSION}


def print_result(entry: Mapping[str, Any]) -> None:
    """Print a result as JSON, with the version of Hocket."""
    print_json(with_version(entry))


def algorithm_entry(algorithm: Algorithm, *more: str) -> dict[str, Any]:
    """Return what lists of algorithms say of one, and more of its attributes, as plain data."""
    names = ("collective", "name", "summary", *more, "cost", "messages", "order")
    parameters = [vars(parameter) for parameter in algorithm.parameters]
    return {**{name: getattr(algorithm, name) for name in names}, "parameters": parameters}


def print_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as CSV; the columns are all names in the rows."""
    columns = dict.fromkeys(name for row in rows for name in row)
    files.write(files.STDOUT, files.csv_text(columns, rows))


def hand_out(
    entry: Mapping[str, Any],
    *,
    plot: str | None,
    output: str | None,
    as_json: bool,
    draw: Callable[[], alt.TopLevelMixin],
    show: Callable[[Mapping[str, str | None]], None],
) -> None:
    """Write a picture and results to the requested files, and print the results.

    `draw` draws the picture for the file `plot`. The results get its name and the version; where their file, `output`,
    is stdout, nothing else is printed. `show` prints them for people unless `as_json` is on: it gets what each written
    file is, and its name.
    """
    entry = {**entry, "plot": plot, "version": VERSION}
    if not write_all([(plot, partial(picture_of, draw)), (output, lambda _: json.dumps(entry) + "\n")]):
        answer(entry, show, {"plot": plot, "results": output}, as_json=as_json)


def write_picture(path: str | None, draw: Callable[[], alt.TopLevelMixin]) -> None:
    """Draw a picture and write it to a file, if there is one."""
    if path is not None:
        files.write(path, picture_of(draw, Path(path).suffix))


def write_all(makers: Iterable[tuple[str | None, Callable[[str], str | bytes]]]) -> bool:
    """Write the requested files, when all are made: a function makes each, given the ending of its name.

    Return whether one of them is stdout, so that nothing else must be printed.
    """
    contents = {path: make(Path(path).suffix) for path, make in makers if path is not None}
    for path, content in contents.items():
        files.write(path, content)
    return any(map(files.is_stdout, contents))


def print_files(files: Mapping[str, str | None]) -> None:
    """Print what each written file is, and its name; None if it was not requested."""
    for what, path in files.items():
        if path is not None:
            say(f"{what}: {path}{_HOW_TO_OPEN.get(what, '')}")


NO_BREAK = "\N{NO-BREAK SPACE}"
"""A space at which lines are not wrapped; printed as an ordinary one."""


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values, one pair per line; long lines as `print_words` does."""
    pairs = list(facts)
    longest = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        print_words(f"{name.ljust(longest)}  {value}".rstrip(), inner=longest + 2)


def print_words(line: str, *, inner: int | None = None, bold: bool = False) -> None:
    """Print a line of words; wrap it between words and indent the continuation.

    By default, continuation lines are indented by two columns more than the line.
    """
    indent = " " * (len(line) - len(line.lstrip()) + 2 if inner is None else inner)
    for each in wrap(line, inner=indent):
        say(each.replace(NO_BREAK, " "), bold=bold)


def wrap(line: str, *, inner: str) -> list[str]:
    """Return a line between whose words the terminal breaks, as lines; all but the first one begin with `inner`."""
    if _cells(line) <= width():
        return [line]
    return textwrap.wrap(line, width(), subsequent_indent=inner, break_long_words=False, break_on_hyphens=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a table; the columns named in `right` are right-aligned. Cells may be `StyledText`.

    Words and numbers are never cut. If a terminal, or the 80 columns of a pipe, are too narrow for all columns, the
    first words are printed above the rows.
    """
    rows = [*rows]
    heading, gap = _fitting(columns, rows, right)
    if not heading:
        _put_lines(_table_lines(columns, rows, right, gap))
        return
    columns_left = [number for number in range(len(columns)) if number not in heading]
    widest = [max((row[number] for row in rows), key=_cells) for number in columns_left]
    table = GrowingTable([columns[number] for number in columns_left], widest=widest, right=right)
    print_words(f" {', '.join(columns[number] for number in heading)}")
    for row in rows:
        table.print_row([row[number] for number in columns_left], above=", ".join(row[number] for number in heading))


def _fitting(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str]) -> tuple[list[int], int]:
    """Return which columns go above the rows so that the others fit, and the gap between the others."""
    words = [number for number, column in enumerate(columns) if column not in right]
    for heading in (words[:count] for count in range(len(words))):
        columns_left = [number for number in range(len(columns)) if number not in heading]
        titles = [columns[number] for number in columns_left]
        cells = [[row[number] for number in columns_left] for row in rows]
        for gap in (_GAP, _NARROW_GAP):
            if _least_width(_table(titles, cells, right, gap)) <= width():
                return heading, gap
    return words, _NARROW_GAP


def print_transposed(names: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Print a row of cells for each name, in blocks with as many columns as fit."""
    widths = [max(len(title), *(_cells(row[column]) for row in cells)) for column, title in enumerate(columns)]
    first, most = 0, width() - 1 - max(map(len, names))
    while first < len(columns):
        end = first + 1
        while end < len(columns) and sum(each + _GAP for each in widths[first : end + 1]) <= most:
            end += 1
        if first:
            say()
        part = columns[first:end]
        rows = [[name, *row[first:end]] for name, row in zip(names, cells, strict=True)]
        print_table(["", *part], rows, right=part)
        first = end


class GrowingTable:
    """A table printed row by row; a sample row, which is not printed, sets the widths of its columns in advance.

    No cell is wider than that of the sample. Names that are too wide for the columns are printed above their rows.
    """

    def __init__(self, columns: Sequence[str], *, widest: Sequence[str], right: Sequence[str] = ()) -> None:
        self._columns, self._widest, self._right = columns, widest, right
        self._cells_wide = _least_width(_table(columns, [widest], right, _NARROW_GAP))
        own_lines = self._lines()
        self._ahead = len(own_lines)
        self._header: Sequence[str] = own_lines[: 2 * len(own_lines) - len(self._lines(widest))]
        self._above = ""

    def print_row(self, row: Sequence[str], *, above: str = "") -> None:
        """Print one row. The header precedes the first row, and `above` precedes the row if it has changed."""
        _put_lines(self._header)
        if above != self._above:
            print_words(f" {above}", bold=True)
        _put_lines(self._lines(row)[self._ahead :])
        self._header, self._above = (), above

    def _lines(self, *rows: Sequence[str]) -> list[str]:
        return _table_lines(self._columns, [self._widest, *rows], self._right, _NARROW_GAP, self._cells_wide)


_GAP = 3
_NARROW_GAP = 2


def _put_lines(lines: Sequence[str]) -> None:
    """Print lines of a table, whose cells are clean."""
    put("".join(f"{line}\n" for line in lines))


def _table_lines(
    columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str], gap: int, cells: int | None = None
) -> list[str]:
    from rich.console import Console

    text = io.StringIO()
    table = _table(columns, rows, right, gap)
    columns_wide = max(width(), cells or _least_width(table))
    Console(file=text, force_terminal=sys.stdout.isatty(), width=columns_wide).print(table)
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    return [line for line in lines if line]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str], gap: int) -> Table:
    """Return a table in which only sentences may be wrap, between words."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    cells = [[*map(_cell, row)] for row in rows]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, gap - 2))
    for number, column in enumerate(columns):
        is_prose = column not in right and any(" " in row[number].plain for row in cells)
        justify: Literal["left", "right"] = "right" if column in right else "left"
        widest = max([_cells(column), *(row[number].cell_len for row in cells)])
        table.add_column(
            _cell(column),
            justify=justify,
            overflow="fold",
            no_wrap=not is_prose,
            min_width=None if is_prose else widest,
        )
    for row in cells:
        table.add_row(*row)
    return table


def _cell(text: str) -> Text:
    from rich.style import Style
    from rich.text import Text

    style = Style(color=text.fg, bold=text.is_bold or None) if isinstance(text, StyledText) else ""
    return Text(printable(text), style=style)


def _least_width(table: Table) -> int:
    """Return the least width that cuts nothing."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(file=io.StringIO(), width=_WIDE)
    return Measurement.get(console, console.options, table).minimum


def _cells(text: str) -> int:
    """Return how many cells of a terminal a text occupies."""
    if text.isascii() and text.isprintable():
        return len(text)
    from rich.cells import cell_len

    return cell_len(printable(text))


def width() -> int:
    """Return the width of the terminal, or a readable width if there is no terminal."""
    return shutil.get_terminal_size((_READABLE, 0)).columns if sys.stdout.isatty() else _READABLE


def tell_people(words: str) -> None:
    """Say what is being done, on stderr, if it is a terminal."""
    if sys.stderr.isatty():
        note(words)


class Bar:
    """A progress bar on stderr; nothing if stderr is no terminal. A call advances it by one piece."""

    def __init__(self, progress: Progress | None) -> None:
        self._display = progress

    def __call__(self) -> None:
        """Advance the bar by one piece."""
        if self._display is not None:
            self._display.advance(self._display.task_ids[0])

    def reach(self, progress: float) -> None:
        """Set the amount of finished work."""
        if self._display is not None:
            self._display.update(self._display.task_ids[0], completed=progress)

    def describe(self, label: str) -> None:
        """Set the label."""
        if self._display is not None:
            self._display.update(self._display.task_ids[0], description=label)

    @contextmanager
    def hide(self) -> Iterator[None]:
        """Clear the bar from the terminal while something else is printed."""
        if self._display is None:
            yield
            return
        self._display.stop()
        yield
        self._display.start()


@contextmanager
def progress(label: str, total: float | None) -> Iterator[Bar]:
    """Show a progress bar on stderr with the remaining time, if stderr is a terminal.

    If the total is unknown, the bar moves to and fro and shows the elapsed time.
    """
    if not sys.stderr.isatty():
        yield Bar(None)
        return
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    # Estimate the remaining time from all finished pieces: neighbouring ones may differ a lot.
    columns = (*Progress.get_default_columns()[:2], TimeElapsedColumn()) if total is None else ()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, speed_estimate_period=math.inf) as progress_bar:
        progress_bar.advance(progress_bar.add_task(label, total=total), 0)  # start the clock before the first piece
        yield Bar(progress_bar)


_NEXT = ("second", "third")
MOST_PLACES = 1 + len(_NEXT)
"""The places in a row."""

_WIDEST = "999.9 us"
_WIDEST_REACH = " ±99%"
_WIDEST_FACTOR = "99.9x"


class SizeTable:
    """A table with the times of the fastest, and the ratios of the second and third to them.

    The width does not depend on the number of contestants or on their names. Each further column has its widest cell.
    """

    def __init__(
        self, sizes_bytes: Sequence[int], contestants: int, further: Mapping[str, str], *, with_reach: bool
    ) -> None:
        self._next = _NEXT[: contestants - 1]
        numbers = ["fastest", *self._next, *further]
        widest = [
            max(map(format_bytes, sizes_bytes), key=len),
            _WIDEST + (_WIDEST_REACH if with_reach else ""),
            *[_WIDEST_FACTOR] * len(self._next),
            *further.values(),
        ]
        self._table = GrowingTable(["size", *numbers], widest=widest, right=numbers)

    def print_row(
        self,
        size_bytes: int,
        places: Sequence[Place],
        further: Sequence[str],
        *,
        reach: float | None,
        note: str = "",
        alike: Collection[str] = (),
    ) -> None:
        """Print one size; the names of the first places, and a note on them, precede it if they have changed.

        The reach is half the width of the interval of the fastest time, as a share of this time. Names of further
        places that are alike the first one are joined to it.
        """
        first, *others = places[: len(self._next) + 1]
        time = format_time(first.time_s) + ("" if reach is None else f" {format_reach(reach)}")
        factors = [factor(each.time_s, first.time_s) for each in others]
        missing = ["-"] * (len(self._next) - len(others))
        row = [format_bytes(size_bytes), StyledText(time, fg="green", bold=True), *factors, *missing, *further]
        self._table.print_row(row, above=_above((first, *others), alike) + note)


def _above(places: Sequence[Place], alike: Collection[str]) -> str:
    """Return the names of the first places: "ring, then bine", or "ring = bine +4" if four more are alike."""
    are_alike = [place.names[0] in alike for place in places[1:]]
    count = 1 + sum(are_alike)
    more = len(alike) - sum(len(place.names) for place in places[:count])
    first = " = ".join(map(_names, places[:count])) + (f" +{more}" if more > 0 else "")
    return ", then ".join([first, *map(_names, places[count:])])


def _names(place: Place) -> str:
    """Return one name of a place, and how many more share it: "ring", "bine +2"."""
    name, *more = place.names
    return f"{name} +{len(more)}" if more else name


def factor(time_s: float, base_s: float) -> str:
    """Return a time as a multiple of another; "-" if the other is zero."""
    return format_ratio(time_s / base_s) if base_s > 0 else "-"
