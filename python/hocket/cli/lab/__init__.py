"""`hocket lab`: the network of a machine file, built on this host, one file per command."""

from __future__ import annotations

import click

from hocket.cli.group import Group

__all__ = ["lab"]

_SUMMARIES = {
    "bench": "Time algorithms for a COLLECTIVE in a lab, in turn, against the MPI's own.",
    "calibrate": "Measure what messages cost in a lab, and write a machine file, as `hocket mpi calibrate` does.",
    "compare": "Time algorithms for a COLLECTIVE in a lab, and simulate them: times, and bytes on each link.",
    "down": "Remove labs, and end what runs there: those named, or all that no command uses.",
    "run": "Run PROGRAM under mpiexec, a rank at each node of a lab.",
    "status": "List the labs of this host.",
    "tune": "Tune each COLLECTIVE by simulation, by measurement and by both: regret and cost of each.",
    "up": "Build the network of MACHINE, a file or a preset, from namespaces and shaped cables.",
}


@click.group(cls=Group, package="hocket.cli.lab", summaries=_SUMMARIES)
def lab() -> None:
    """Build the network of a machine file on this host, for real MPI programs. Needs Linux and root."""
