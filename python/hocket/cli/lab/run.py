"""`hocket lab run`: a program in a lab, its collectives by rules."""

from __future__ import annotations

import sys
from fractions import Fraction

import click

from hocket.cli.lab.options import in_lab, place_options
from hocket.cli.mpi.options import installation_options, rule_options
from hocket.definitions.machine import Machine
from hocket.mpi import Installation, environment, saved_rules
from hocket.mpi.jobs import wait_for

__all__ = ["run"]


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("-n", "--ranks", type=click.IntRange(min=1), required=True, help="Number of ranks.")
@place_options
@rule_options
@installation_options
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def run(
    ranks: int,
    name: str,
    machine: Machine | None,
    scale: Fraction,
    installation: Installation,
    rules: tuple[str, ...],
    file: str | None,
    log: str | None,
    program: tuple[str, ...],
) -> None:
    """Run PROGRAM under mpiexec, a rank at each node of a lab.

    Its collectives are by the algorithms that rules choose. Put -- before the program, so that its options are not
    taken for those of this command.
    """
    variables = environment(installation, saved_rules(rules, file), log)
    with in_lab(name, machine, scale) as lab:
        status = wait_for(lab.command(installation, ranks, program, variables), {})
    sys.exit(status)
