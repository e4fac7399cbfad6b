"""`hocket mpi build`: compile the library to preload."""

from __future__ import annotations

import shlex

import click

from hocket.cli import options
from hocket.cli.mpi.options import installation_options
from hocket.cli.output import answer, print_facts
from hocket.mpi import Installation
from hocket.mpi import build as build_library


@click.command()
@installation_options
@options.as_json
def build(installation: Installation, as_json: bool) -> None:
    """Compile the library that programs preload, for one MPI; other commands do this when they need it."""
    facts = {
        "library": str(build_library(installation)),
        "mpi": installation.library,
        "mpicc": str(installation.mpicc),
        "launcher": shlex.join(installation.launcher.words),
    }
    answer(facts, print_facts, facts.items(), as_json=as_json)
