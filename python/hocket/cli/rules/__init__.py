"""`hocket rules`: tuning files of MPI libraries and others, one file per command."""

from __future__ import annotations

import click

from hocket.cli.group import Group

_SUMMARIES = {
    "convert": "Convert the rules in the file SOURCE to another format and write them to TARGET.",
    "defaults": "Print the choices that LIBRARY makes without a tuning file, with their source.",
    "diff": "Show where the files ONE and TWO choose differently, and the cost on a machine.",
    "explain": "Show which line of FILE decides a call, and why.",
    "lint": "Report lines of FILE that its library may read in an unintended way.",
}


@click.group(cls=Group, package="hocket.cli.rules", summaries=_SUMMARIES)
def rules() -> None:
    """Read, write, explain, check and compare tuning files of MPI libraries and others."""
