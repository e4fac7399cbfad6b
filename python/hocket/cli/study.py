"""`hocket study`: recompute papers, with the package hocket-studies if it is installed."""

from __future__ import annotations

from importlib.metadata import entry_points

import click

from hocket._native import Error


def _refuse(**_: object) -> None:
    raise Error("study: the package hocket-studies is missing, expected `pip install ./studies` in Hocket's repository")


def _found() -> click.Command:
    """Return the command of the package, or a command that says the package is missing."""
    for each in entry_points(group="hocket.commands", name="study"):
        command: click.Command = each.load()
        return command
    words = click.Argument(["words"], nargs=-1)
    return click.Command("study", callback=_refuse, params=[words], context_settings={"ignore_unknown_options": True})


study = _found()
