"""The commands, and their common options."""

from __future__ import annotations

import click

from hocket.base.version import VERSION, commit
from hocket.cli.group import Group


class _Commands(Group):
    def load(self, name: str) -> click.Command:
        """Load and return a command, of Hocket or of a package beside it."""
        from hocket.cli.packages import COMMANDS, load_command

        return load_command(name) if name in COMMANDS else super().load(name)


_SUMMARIES = {
    "compare": "Simulate algorithms for a COLLECTIVE, all or the named ones, and find the fastest at each size.",
    "convert": "Convert the schedule in the file SOURCE to another format and write it to TARGET; - is stdout.",
    "explain": "Explain the time of a call of an algorithm: what it is spent on, and what would shorten it.",
    "fit": "Fit a machine file to measured times of collectives, or judge how well it predicts them.",
    "judge": "Judge measured times of collectives: whether they are good, what limits them, and which algorithm ran.",
    "lab": "Build the network of a machine file on this host, for real MPI programs. Needs Linux and root.",
    "list": "List the algorithms, of one COLLECTIVE or of all.",
    "machines": "List the machines that come with Hocket, or print a machine file to copy and change.",
    "mpi": "Run algorithms of the catalogue inside real MPI programs.",
    "record": "Record what every rank does in a call: a schedule, in a format of `hocket convert`.",
    "replay": "Replay the TRACE of an MPI program on a machine and report when the last rank is done.",
    "report": "Save the explorer's views of algorithms for a COLLECTIVE as one self-contained HTML FILE.",
    "rules": "Read, write, explain, check and compare tuning files of MPI libraries and others.",
    "serve": "Explore algorithms and machines in the browser; the server is for this computer only, until Ctrl-C.",
    "show": "Show an algorithm: description, source, requirements, cost, program, and its messages over time.",
    "simulate": "Simulate a call of an algorithm on a machine and report when the last rank ends.",
    "study": "Compute the figures of a paper: data (CSV), pictures (PNG and HTML) and a table of its claims.",
    "sweep": "Simulate the grid of algorithms, ranks, sizes, machines, noises and scenes in the file SPEC.",
    "together": "Simulate several jobs at once, and report how much longer each of them takes than alone.",
    "tune": "Choose algorithms for each COLLECTIVE, by measurement or simulation or both, and write them as rules.",
    "verify": "Check an algorithm, or all of a collective, with every root, count and operator for each rank count.",
}


_SECTIONS = {
    "My cluster, my job": ("judge", "compare", "tune", "fit", "mpi", "rules", "explain", "replay", "together"),
    "My algorithm, my network": ("verify", "simulate", "record", "study", "lab", "show", "list", "convert", "sweep"),
    "For both": ("machines", "serve", "report"),
}


@click.group(
    cls=_Commands,
    package="hocket.cli",
    summaries=_SUMMARIES,
    sections=_SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(f"{VERSION} (commit {commit()})", message="%(prog)s %(version)s")
def hocket() -> None:
    """Collective-communication algorithms: written once, then verified, priced, simulated and run."""
