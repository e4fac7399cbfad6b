"""`hocket mpi`: the catalogue inside real MPI programs, one file per command."""

from __future__ import annotations

import click

from hocket.cli.group import Group, commands_of


@click.group(cls=Group, package="hocket.cli.mpi", rows=commands_of("mpi"))
def mpi() -> None:
    """Run algorithms of the catalogue inside real MPI programs."""
