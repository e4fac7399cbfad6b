"""Sweeps: grids of simulations, read from a file, run by any executor, resumable, and saved as one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict
from os import PathLike, fspath

from hocket.base.checks import function
from hocket.base.files import writable
from hocket.base.parallel import do_all, ignore
from hocket.simulating.question import Answer
from hocket.simulating.sweeps.cell import Cell, question_of, row_of, simulate_cell
from hocket.simulating.sweeps.grid import Grid
from hocket.simulating.sweeps.journal import Journal
from hocket.simulating.sweeps.row import Row
from hocket.simulating.sweeps.table import Table, check_format

_MOST_AT_ONCE = 1000


def sweep(
    grid: Grid | str | PathLike[str],
    *,
    output: str | PathLike[str] | None = None,
    executor: Executor | None = None,
    on_done: Callable[[], object] = ignore,
) -> Table:
    """Simulate every cell of a grid, and return one row for each, in the order of the grid.

    With `output`, each finished cell is kept in `OUTPUT.partial.jsonl`, and an interrupted sweep resumes from this
    file. The file is removed once the table is written. Cells in it that are not in this grid are ignored.

    Args:
        grid: The grid, or the path of the file that describes it.
        output: The file to write the table to, `.csv` or `.parquet`.
        executor: Any executor of `concurrent.futures`; by default threads, one per processor.
        on_done: Called after each cell, also after cells that were already done.

    Raises:
        Error: The grid is invalid, or a file cannot be read or written. A call that an algorithm refuses is not an
            error: its row has the reason.
    """
    grid = grid if isinstance(grid, Grid) else Grid.load(grid)
    function("on_done", on_done)
    if output is not None:
        check_format(output)
        writable(output)
    with nullcontext() if output is None else Journal(_kept_path(output)) as journal:
        table = Table(_rows(grid.cells, journal, executor=executor, on_done=on_done))
        if journal is not None and output is not None:
            table.write(output)
            journal.remove()
    return table


def unfinished_cells(grid: Grid, *, output: str | PathLike[str] | None = None) -> tuple[Cell, ...]:
    """Return the cells that a sweep with this output still has to simulate, by the file of its kept cells."""
    if output is None or not os.path.exists(_kept_path(output)):
        return grid.cells
    with Journal(_kept_path(output)) as journal:
        return tuple(cell for cell in grid.cells if cell.key not in journal.rows)


def _kept_path(output: str | PathLike[str]) -> str:
    return f"{fspath(output)}.partial.jsonl"


def _rows(
    cells: tuple[Cell, ...], journal: Journal | None, *, executor: Executor | None, on_done: Callable[[], object]
) -> tuple[Row, ...]:
    journal_rows = {} if journal is None else journal.rows
    rows = {cell.key: journal_rows[cell.key] for cell in cells if cell.key in journal_rows}
    for _ in rows:
        on_done()

    def keep(cell: Cell, row: Row) -> None:
        rows[cell.key] = row
        if journal is not None:
            journal.add({"key": cell.key, "row": asdict(row)})
        on_done()

    left = [cell for cell in cells if cell.key not in rows]
    if executor is None or isinstance(executor, ThreadPoolExecutor):
        for part in _parts(left):
            _simulate(part, executor, keep)
    else:
        do_all(simulate_cell, left, executor=executor, on_done=keep)
    return tuple(rows[cell.key] for cell in cells)


def _simulate(cells: Sequence[Cell], executor: Executor | None, on_done: Callable[[Cell, Row], object]) -> None:
    def note(answer: Answer) -> None:
        on_done(cells[answer.number], row_of(cells[answer.number], answer.outcome))

    question_of(cells).answer(note, executor=executor)


def efforts_s(cells: Sequence[Cell]) -> Iterator[float]:
    """Give the estimated seconds of one core for each of some cells; 0 if unknown."""
    for part in _parts(cells):
        yield from question_of(part).efforts_s()


def _parts(cells: Sequence[Cell]) -> Iterator[Sequence[Cell]]:
    """Give parts of some cells: more results at once might not fit into memory."""
    return (cells[first : first + _MOST_AT_ONCE] for first in range(0, len(cells), _MOST_AT_ONCE))
