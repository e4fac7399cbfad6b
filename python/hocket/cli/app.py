"""The commands, and their common options."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from hocket.base.version import commit, version
from hocket.cli.group import Group

__all__ = ["ClosedPipeError", "InterruptedByUserError", "hocket"]


class InterruptedByUserError(Exception):
    """The user pressed Ctrl-C."""


class ClosedPipeError(Exception):
    """Whoever read the output has gone."""


@contextmanager
def _named() -> Iterator[None]:
    """What is neither the result of a command nor its error gets a name before click prints anything."""
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedByUserError from None
    except BrokenPipeError:
        raise ClosedPipeError from None


def _color() -> bool | None:
    """Return False where the user wants no colours, or the terminal has none; else None: terminals get them."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


class _Commands(Group):
    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        """Read the command line; --help and --version print already here."""
        with _named():
            return super().make_context(*arguments, color=_color(), **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _named():
            return super().invoke(ctx)


_SUMMARIES = {
    "compare": "Simulate algorithms for a COLLECTIVE and say which is fastest for which size: those named, or all.",
    "convert": "Write the schedule of the file SOURCE as the file TARGET, in another format; - is stdout.",
    "explain": "Say why a call of an algorithm takes as long as it does, and what would help.",
    "fit": "Fit a machine file to measured times of collectives, or judge it by them.",
    "lab": "Build the network of a machine file on this host, for real MPI programs. Needs Linux and root.",
    "list": "List the algorithms, of one COLLECTIVE or of all.",
    "machines": "List the machines that come with Hocket, or print the file of one, to be copied and changed.",
    "mpi": "Run algorithms of the catalogue inside real MPI programs.",
    "record": "Record what every rank does in a call: a schedule, in a format of `hocket convert`.",
    "replay": "Replay the TRACE of an MPI program on a machine: when is the last rank done?",
    "report": "Save what the explorer shows of algorithms for a COLLECTIVE, as one HTML FILE that needs nothing else.",
    "rules": "Read, write, explain, check and compare tuning files of MPI libraries and others.",
    "serve": "Explore algorithms and machines in the browser: a server for this computer only, until Ctrl-C.",
    "show": "Show an algorithm: what it is, source, needs, cost, program, and who sends to whom when.",
    "simulate": "Simulate a call of an algorithm on a machine: when does the last rank end?",
    "study": "Compute the figures of a paper: data (CSV), pictures (PNG and HTML) and a table of its claims.",
    "sweep": "Simulate the grid of algorithms, ranks, sizes, machines and noises that the file SPEC describes.",
    "tune": "Decide which algorithm each COLLECTIVE gets, by measuring and by simulation, and write it as rules.",
    "verify": "Check an algorithm, or all of a collective, at every root, count and operator for each rank count.",
}


_SECTIONS = {
    "Ask what a machine would do": ("compare", "simulate", "explain", "sweep", "replay", "machines", "fit"),
    "Write and check algorithms": ("list", "show", "verify", "record", "convert"),
    "Run them": ("mpi", "lab"),
    "Decide": ("tune", "rules"),
    "Look": ("serve", "report", "study"),
}


@click.group(
    cls=_Commands,
    package="hocket.cli",
    summaries=_SUMMARIES,
    sections=_SECTIONS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(f"{version()} (commit {commit()})", message="%(prog)s %(version)s")
@click.pass_context
def hocket(ctx: click.Context) -> None:
    """Collective-communication algorithms: written once, then verified, priced, simulated and run."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
