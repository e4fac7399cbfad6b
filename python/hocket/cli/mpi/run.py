"""`hocket mpi run`: run a program with the algorithms that rules choose."""

from __future__ import annotations

import sys

from hocket.cli.mpi.options import launcher_for, program_command
from hocket.mpi import Installation, environment, saved_rules
from hocket.mpi.jobs import wait_for
from hocket.mpi.launch import launcher_environment


@program_command()
def run(
    ranks: int,
    lab: str | None,
    rules: tuple[str, ...],
    file: str | None,
    log: str | None,
    installation: Installation,
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
