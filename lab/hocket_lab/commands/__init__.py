"""`hocket lab`: the network of a machine file, built on this host, one file per command."""

from __future__ import annotations

import click

from hocket.base.files import read_rows
from hocket.cli.group import Group

__all__ = ["lab"]


@click.group(cls=Group, package="hocket_lab.commands", rows=read_rows(__file__, "commands.csv"))
def lab() -> None:
    """Build the network of a machine file on this host, for real MPI programs. Needs Linux and root."""
