"""`hocket rules`: tuning files of MPI libraries and others, one file per command."""

from __future__ import annotations

import click

from hocket.cli.group import Group

__all__ = ["rules"]

_SUMMARIES = {
    "convert": "Write the rules of the file SOURCE as the file TARGET, in another format.",
    "defaults": "Print what LIBRARY decides where no file says anything, with its source.",
    "diff": "Say where the files ONE and TWO choose differently, and what it costs on a machine.",
    "explain": "Say which line of FILE decides a call, and why.",
    "lint": "Say what in FILE its library takes in a way that may not be meant.",
}


@click.group(cls=Group, package="hocket.cli.rules", summaries=_SUMMARIES)
def rules() -> None:
    """Read, write, explain, check and compare tuning files of MPI libraries and others."""
