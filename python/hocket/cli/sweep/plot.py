"""`hocket sweep plot`: draw the table that a sweep wrote."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from hocket.base import files
from hocket.base.version import version
from hocket.cli.options import Read, as_json_option, picture_file
from hocket.cli.output import print_json
from hocket.drawing.plot import PICTURES, picture_of
from hocket.simulating.sweeps import Table

__all__ = ["plot"]


@click.command()
@click.argument("table", type=click.Path())
@click.option(
    "--output",
    "-o",
    required=True,
    type=Read(picture_file, name="FILE"),
    help=f"The picture; the file ends in {' or '.join(PICTURES)}.",
)
@click.option("--x", help="Column of the horizontal axis: size_bytes, ranks, or a param_NAME of numbers.")
@click.option("--color", help="Column with a line for each value; by default the algorithm with its parameters.")
@click.option("--facet", help="Column with a panel for each value; by default all other columns that vary.")
@as_json_option
def plot(table: str, output: str, x: str | None, color: str | None, facet: str | None, as_json: bool) -> None:
    """Draw time over size, ranks or a parameter from the TABLE of a sweep, a file that ends in .csv or .parquet."""
    rows = Table.load(table)
    files.write(output, picture_of(partial(rows.plot, x=x, color=color, facet=facet), Path(output).suffix))
    if as_json:
        print_json(
            {"table": table, "rows": len(rows.rows), "refused": rows.refused, "plot": output, "version": version()}
        )
    else:
        click.echo(f"{table}: {rows.title}\nplot: {output}")
