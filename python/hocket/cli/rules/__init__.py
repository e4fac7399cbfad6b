"""`hocket rules`: tuning files of MPI libraries and others, one file per command."""

from __future__ import annotations

import click

from hocket.cli.group import Group, commands_of


@click.group(cls=Group, package="hocket.cli.rules", rows=commands_of("rules"))
def rules() -> None:
    """Read, write, explain, check and compare tuning files of MPI libraries and others."""
