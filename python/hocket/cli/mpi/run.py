"""`hocket mpi run`: run a program with the algorithms that rules choose."""

from __future__ import annotations

import sys

import click

from hocket.cli import options
from hocket.cli.mpi.options import installation_options, lab_option, launcher_for, rule_options
from hocket.mpi import Installation, environment, saved_rules
from hocket.mpi.jobs import wait_for
from hocket.mpi.launch import launcher_environment


@click.command(context_settings={"allow_interspersed_args": False})
@options.ranks(required=True)
@lab_option
@rule_options
@installation_options
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def run(
    ranks: int,
    lab: str | None,
    installation: Installation,
    rules: tuple[str, ...],
    file: str | None,
    log: str | None,
    program: tuple[str, ...],
) -> None:
    """Run PROGRAM under MPI, with the algorithms that rules choose for its collectives.

    In a lab, each rank runs on its node. Options after PROGRAM are the program's.
    """
    variables = environment(installation, saved_rules(rules, file), log)
    launcher, _ = launcher_for(installation, None, lab)
    line = launcher(installation, ranks, program, variables)
    sys.stdout.flush()
    sys.exit(wait_for(line, launcher_environment(installation, launcher, ranks)))
