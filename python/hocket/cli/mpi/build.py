"""`hocket mpi build`: compile the library to preload."""

from __future__ import annotations

import shlex

from hocket.cli.mpi.options import command
from hocket.cli.output import answer, print_facts
from hocket.mpi import Installation
from hocket.mpi import build as build_library


@command()
def build(installation: Installation, as_json: bool) -> None:
    """Compile the library that programs preload, for one MPI; other commands do this when they need it."""
    facts = {
        "library": str(build_library(installation)),
        "mpi": installation.library,
        "mpicc": str(installation.mpicc),
        "launcher": shlex.join(installation.launcher.words),
    }
    answer(facts, print_facts, facts.items(), as_json=as_json)
