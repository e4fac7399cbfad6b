"""`hocket lab`: the network of a machine file, built on this host, one file per command."""

from __future__ import annotations

import click

from hocket.cli.group import Group

__all__ = ["lab"]

_SUMMARIES = {
    "compare": "Time algorithms for a COLLECTIVE in a lab and simulate them: times, and bytes on each link.",
    "down": "Remove the named labs, or all that no command uses, and end the programs that run there.",
    "status": "List the labs of this host.",
    "together": "Time several jobs at once in a lab, and each alone, and simulate them.",
    "tune": "Tune by simulation, by measurement and by both in a lab, and print the regret and cost of each.",
    "up": "Build the network of MACHINE, a file or a preset, from namespaces and shaped cables.",
}


@click.group(cls=Group, package="hocket_lab.commands", summaries=_SUMMARIES)
def lab() -> None:
    """Build the network of a machine file on this host, for real MPI programs. Needs Linux and root."""
