"""`hocket list`: list the algorithms."""

from __future__ import annotations

from hocket.cli import options
from hocket.cli.command import command
from hocket.cli.output import algorithm_entry, answer, print_table
from hocket.definitions.library import Algorithm, find_collective


@command("list", algorithms=options.algorithms)
def list_algorithms(
    collective: str | None, reproducible: bool, algorithms: tuple[Algorithm, ...], as_json: bool
) -> None:
    """List the algorithms, of one COLLECTIVE or of all."""
    name = find_collective(collective) if collective is not None else None
    matches = [a for a in algorithms if name in (None, a.collective) and (a.order or not reproducible)]
    columns = ["collective", "algorithm", "order" if reproducible else "what it is"]
    rows = [(a.collective, a.name, (a.order or "") if reproducible else a.summary) for a in matches]
    answer([*map(algorithm_entry, matches)], print_table, columns, rows, as_json=as_json)
