"""`hocket list`: list the algorithms."""

from __future__ import annotations

import click

from hocket.cli import completion, options
from hocket.cli.output import algorithm_entry, print_json, print_table
from hocket.definitions.library import Algorithm, find_collective


@click.command("list")
@click.argument("collective", required=False, shell_complete=completion.collectives)
@click.option(
    "--reproducible",
    is_flag=True,
    help="Only reductions that combine all elements in the same order, whatever the size; also show the order.",
)
@options.load
@options.as_json
def list_algorithms(
    collective: str | None, reproducible: bool, algorithms: tuple[Algorithm, ...], as_json: bool
) -> None:
    """List the algorithms, of one COLLECTIVE or of all."""
    name = find_collective(collective) if collective is not None else None
    matches = [a for a in algorithms if name in (None, a.collective) and (a.order or not reproducible)]
    if as_json:
        print_json([algorithm_entry(algorithm) for algorithm in matches])
    elif reproducible:
        print_table(["collective", "algorithm", "order"], [(a.collective, a.name, a.order or "") for a in matches])
    else:
        print_table(["collective", "algorithm", "what it is"], [(a.collective, a.name, a.summary) for a in matches])
