"""`hocket show`: one algorithm, with its source, cost, program and picture."""

from __future__ import annotations

from typing import Any

import click

from hocket._native import Error
from hocket.cli.options import algorithm_argument, as_json_option, chosen, load_option, ranks_option
from hocket.cli.output import print_facts, print_json, print_table, width
from hocket.library import Algorithm, Parameter
from hocket.picture import picture
from hocket.units import format_value

__all__ = ["show"]

_MOST_RANKS = 64  # rows of a picture


@click.command()
@algorithm_argument
@ranks_option(default=8, help="Number of ranks of the space-time picture.")
@load_option
@as_json_option
def show(names: tuple[str, ...], ranks: int, algorithms: tuple[Algorithm, ...], as_json: bool) -> None:
    """Show an algorithm: what it is, source, needs, cost, program, and who sends to whom when.

    The algorithm is named COLLECTIVE ALGORITHM, COLLECTIVE/ALGORITHM, or ALGORITHM where that is clear.
    """
    if ranks > _MOST_RANKS:
        raise click.UsageError(f"--ranks: got {ranks}, expected at most {_MOST_RANKS} for a picture")
    algorithm = chosen(names, algorithms)
    if as_json:
        print_json(_entry(algorithm, ranks))
    else:
        _print(algorithm, ranks)


def _entry(algorithm: Algorithm, ranks: int) -> dict[str, Any]:
    return {
        "collective": algorithm.collective,
        "name": algorithm.name,
        "summary": algorithm.summary,
        "header": algorithm.header,
        "cost": algorithm.cost,
        "messages": algorithm.messages,
        "parameters": [vars(parameter) for parameter in algorithm.parameters],
        "listing": algorithm.listing,
        "picture": {"ranks": ranks, "text": _picture(algorithm, ranks)},
    }


def _print(algorithm: Algorithm, ranks: int) -> None:
    click.secho(algorithm.label, bold=True)
    click.echo("\n".join(line for line in algorithm.header.splitlines() if not line.startswith("```")))
    click.echo()
    print_facts(
        [
            ("cost", f"{algorithm.cost or 'not given'}  (s; alpha s, beta and gamma s/B, n B, P ranks)"),
            ("messages", algorithm.messages or "not given"),
        ]
    )
    if algorithm.parameters:
        click.echo()
        print_table(["parameter", "default", "least", "meaning"], [_parameter(p) for p in algorithm.parameters])
    click.echo(f"\n{algorithm.listing.rstrip()}\n")
    click.echo(f"P = {ranks}: → to, ← from, ↔ exchange with, · pause; one column per round")
    click.echo(_picture(algorithm, ranks))


def _parameter(parameter: Parameter) -> tuple[str, str, str, str]:
    default, least = (format_value(value, parameter.unit) for value in (parameter.default, parameter.least))
    return parameter.name, default, least, parameter.meaning


def _picture(algorithm: Algorithm, ranks: int) -> str:
    try:
        return picture(algorithm, ranks=ranks, width=width())
    except Error as error:
        return f"no picture: {error}"
