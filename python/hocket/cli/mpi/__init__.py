"""`hocket mpi`: the catalogue inside real MPI programs, one file per command."""

from __future__ import annotations

import click

from hocket.cli.mpi.build import build
from hocket.cli.mpi.env import env
from hocket.cli.mpi.run import run

__all__ = ["mpi"]


@click.group()
def mpi() -> None:
    """Run algorithms of the catalogue inside real MPI programs."""


for command in (build, env, run):
    mpi.add_command(command)
