"""`hocket sweep plot`: draw the table that a sweep wrote."""

from __future__ import annotations

from functools import partial

import click

from hocket.cli import options
from hocket.cli.output import answer, with_version, write_picture
from hocket.cli.printing import say
from hocket.simulating.sweeps.table import Table


@click.command()
@click.argument("table", type=click.Path())
@click.option("--output", "-o", required=True, type=options.PICTURE, help=f"The picture; {options.PICTURE_ENDS}.")
@click.option("--x", help="Column of the horizontal axis: size_bytes, ranks, or a param_NAME of numbers.")
@click.option("--color", help="Column with a line for each value; by default the algorithm with its parameters.")
@click.option("--facet", help="Column with a panel for each value; by default all other columns that vary.")
@options.as_json
def plot(table: str, output: str, x: str | None, color: str | None, facet: str | None, as_json: bool) -> None:
    """Draw time over size, ranks or a parameter from the TABLE of a sweep, a file that ends in .csv or .parquet."""
    rows = Table.load(table)
    write_picture(output, partial(rows.plot, x=x, color=color, facet=facet))
    entry = {"table": table, "rows": len(rows.rows), "refused": rows.refused, "plot": output}
    answer(with_version(entry), say, f"{table}: {rows.title}\nplot: {output}", as_json=as_json)
