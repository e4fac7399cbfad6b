"""What commands print: tables and JSON on stdout, progress on stderr."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import click

from hocket.parallel import ignore

__all__ = ["print_facts", "print_json", "print_table", "progress", "progress_to", "width"]

_WIDE = 1000  # columns, where no terminal sets a limit
_READABLE = 100


def print_json(value: Any) -> None:
    """Print plain data as JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values, one pair per line."""
    pairs = list(facts)
    longest = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        click.echo(f"{name.ljust(longest)}  {value}".rstrip())


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a table; the columns named in `right` are aligned to the right. Cells may be styled by click."""
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
    click.echo("\n".join(line for line in lines if line))


def width() -> int:
    """Return the width of the terminal, or a readable one where there is none."""
    return shutil.get_terminal_size((_READABLE, 0)).columns if sys.stdout.isatty() else _READABLE


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[], object]]:
    """Show a bar on stderr while work goes on, if that is a terminal; gives what to call after each piece."""
    done = count(1)
    with progress_to(label, total) as reach:
        yield lambda: reach(next(done))


@contextmanager
def progress_to(label: str, total: int) -> Iterator[Callable[[int], object]]:
    """Show a bar on stderr while work goes on, if that is a terminal; gives what to call with how much is done."""
    if not sys.stderr.isatty():
        yield ignore
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)
