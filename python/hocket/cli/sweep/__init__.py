"""`hocket sweep`: simulate a grid."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from itertools import chain

from hocket.base import files
from hocket.base.executors import ExecutorKind, open_executor
from hocket.base.units import format_bytes, format_reach, format_time
from hocket.cli.command import command
from hocket.cli.effort import announce
from hocket.cli.group import CommandGroup, commands_of
from hocket.cli.output import GrowingTable, answer, print_files, print_words, progress, with_version, write_picture
from hocket.cli.printing import note, say
from hocket.cli.values import Read
from hocket.simulating.sweeps import efforts_s, unfinished_cells
from hocket.simulating.sweeps import sweep as sweep_grid
from hocket.simulating.sweeps.grid import Grid
from hocket.simulating.sweeps.row import Row
from hocket.simulating.sweeps.table import FORMATS, Table, check_format


def _table_file(path: str) -> str:
    check_format(path)
    return files.writable(path)


@command(
    cls=CommandGroup,
    fields={"formats": " or ".join(FORMATS)},
    settings={"package": "hocket.cli.sweep", "rows": commands_of("sweep"), "subcommand_metavar": "| plot TABLE"},
    output=Read(_table_file, name="FILE"),
)
def sweep(
    spec: str, output: str | None, plot: str | None, executor: ExecutorKind, jobs: int, yes: bool, as_json: bool
) -> None:
    """Simulate the grid of algorithms, ranks, sizes, machines, noises and scenes in the file SPEC.

    `hocket sweep plot TABLE` draws the table of a sweep instead. If SPEC is a file named plot, write ./plot.
    """
    grid = Grid.load(spec)
    announce(efforts_s(unfinished_cells(grid, output=output)), jobs=jobs, yes=yes)
    count = len(grid.cells)
    try:
        with open_executor(executor, jobs=jobs, say=note) as pool, progress("simulating", count) as on_done:
            table = sweep_grid(grid, output=output, executor=pool, on_done=on_done)
    except KeyboardInterrupt:
        if finished_count := count - len(unfinished_cells(grid, output=output)):
            note(f"{finished_count} of {count} simulations are kept, run the same command again to go on")
        raise
    write_picture(plot, table.plot)
    entry = {"spec": spec, "rows": [asdict(row) for row in table.rows], "output": output, "plot": plot}
    answer(with_version(entry), _print, table, spec, output, plot, as_json=as_json)


def _print(table: Table, spec: str, output: str | None, plot: str | None) -> None:
    say(f"{spec}: {table.title}", bold=True)
    if output is None:
        _print_rows(table)
    print_files({"table": output, "plot": plot})


def _print_rows(table: Table) -> None:
    rows_by_group = defaultdict(list)
    for row in table.rows:
        rows_by_group[_above(row)].append(_cells(row))
    widest = [max(column, key=len) for column in zip(*chain(*rows_by_group.values()), strict=True)]
    columns = (*_COLUMNS, *([_BY_FORMULA] if widest[-1] else []))
    growing_table = GrowingTable(columns, widest=widest[: len(columns)], right=_COLUMNS)
    for above, rows in rows_by_group.items():
        for cells in rows:
            growing_table.print_row(cells[: len(columns)], above=above)
    refusals = dict.fromkeys(row.refusal for row in table.rows if row.refusal)
    if refusals:
        say("\nrefused (-)")
    for refusal in refusals:
        print_words(f"  {refusal}")


_COLUMNS = ("ranks", "size", "time", "trials")
_BY_FORMULA = "by formula"


def _above(row: Row) -> str:
    """Return what rows have in common: the algorithm, the machine and the noise."""
    parameters = [f"{name} = {value}" for name, value in row.values(by_formula=False).items()]
    further = filter(None, (row.noise, row.arrivals, row.cadence, row.faults))
    return ", ".join([f"{row.collective}/{row.algorithm}", *parameters, row.machine, *further])


def _cells(row: Row) -> tuple[str, ...]:
    values = ", ".join(f"{name} = {value}" for name, value in row.values(by_formula=True).items())
    call = str(row.ranks), format_bytes(row.size_bytes)
    if row.time_mean_s is None:
        return *call, "-", "-", values
    return *call, f"{format_time(row.time_mean_s)}{_spread(row)}", str(row.trials), values


def _spread(row: Row) -> str:
    """Return half the width of the confidence interval of the mean, if there are several trials."""
    if not row.time_mean_s or row.time_interval_high_s is None or row.trials == 1:
        return ""
    return f" {format_reach(row.time_interval_high_s / row.time_mean_s - 1)}"
