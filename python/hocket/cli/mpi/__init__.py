"""`hocket mpi`: the catalogue inside real MPI programs, one file per command."""

from __future__ import annotations

import click

from hocket.cli.group import Group

_SUMMARIES = {
    "bench": "Time algorithms for a COLLECTIVE under a real MPI, in turns with the MPI's own algorithm.",
    "build": "Compile the library that programs preload, for one MPI; other commands do this when they need it.",
    "calibrate": "Measure the cost of messages and computation, and write a machine file for `hocket simulate`.",
    "env": "Print the environment variables that make a program follow the rules, for your own launcher.",
    "install": "Install the library for one MPI, rules and a module file for all users of a machine.",
    "noise": "Record interruptions of programs on every processor of this machine.",
    "report": "Add up job logs that programs wrote under HOCKET_JOB_LOG, given as files or folders.",
    "run": "Run PROGRAM under MPI, with the algorithms that rules choose for its collectives.",
    "trace": "Run PROGRAM under MPI, and write a trace of its MPI calls.",
}


@click.group(cls=Group, package="hocket.cli.mpi", summaries=_SUMMARIES)
def mpi() -> None:
    """Run algorithms of the catalogue inside real MPI programs."""
