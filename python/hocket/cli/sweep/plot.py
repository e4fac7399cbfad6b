"""`hocket sweep plot`: draw the table that a sweep wrote."""

from __future__ import annotations

from functools import partial

from hocket.cli.command import command
from hocket.cli.output import answer, with_version, write_picture
from hocket.cli.printing import say
from hocket.simulating.sweeps.table import Table


@command()
def plot(table: str, output: str, x: str | None, color: str | None, facet: str | None, as_json: bool) -> None:
    """Draw time over size, ranks or a parameter from the TABLE of a sweep, a file that ends in .csv or .parquet."""
    rows = Table.load(table)
    write_picture(output, partial(rows.plot, x=x, color=color, facet=facet))
    entry = {"table": table, "rows": len(rows.rows), "refused": rows.refused, "plot": output}
    answer(with_version(entry), say, f"{table}: {rows.title}\nplot: {output}", as_json=as_json)
