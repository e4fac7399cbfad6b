"""`hocket mpi`: the catalogue inside real MPI programs, one file per command."""

from __future__ import annotations

import click

from hocket.cli.mpi.bench import bench
from hocket.cli.mpi.build import build
from hocket.cli.mpi.calibrate import calibrate
from hocket.cli.mpi.env import env
from hocket.cli.mpi.noise import noise
from hocket.cli.mpi.run import run
from hocket.cli.mpi.trace import trace

__all__ = ["mpi"]


@click.group()
def mpi() -> None:
    """Run algorithms of the catalogue inside real MPI programs."""


for command in (bench, build, calibrate, env, noise, run, trace):
    mpi.add_command(command)
