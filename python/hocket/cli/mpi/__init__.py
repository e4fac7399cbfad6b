"""`hocket mpi`: the catalogue inside real MPI programs, one file per command."""

from __future__ import annotations

import click

from hocket.cli.group import Group

__all__ = ["mpi"]

_SUMMARIES = {
    "bench": "Time algorithms for a COLLECTIVE under a real MPI, in turn, against the MPI's own.",
    "build": "Compile the library that programs preload, for one MPI; other commands do so by themselves.",
    "calibrate": "Measure what messages and computing cost, and write a machine file that `hocket simulate` takes.",
    "env": "Print the variables under which programs run by the rules, for launchers of one's own.",
    "install": "Install the library for one MPI, rules and a module file for all users of a machine.",
    "noise": "Record what interrupts programs on every processor of this machine.",
    "report": "Add up the logs of jobs that programs wrote under HOCKET_JOB_LOG: files, or folders of them.",
    "run": "Run PROGRAM under mpiexec, its collectives by the algorithms that rules choose.",
    "trace": "Run PROGRAM under mpiexec, and write a trace of its MPI calls.",
}


@click.group(cls=Group, package="hocket.cli.mpi", summaries=_SUMMARIES)
def mpi() -> None:
    """Run algorithms of the catalogue inside real MPI programs."""
