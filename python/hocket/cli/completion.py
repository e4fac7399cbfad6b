"""Shell completion: names of collectives, algorithms and machines."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from hocket.definitions.library import COLLECTIVES, catalogue
from hocket.definitions.machine import presets


def collectives(_context: click.Context, beginning: str) -> list[str]:
    """Return the collectives that begin with the typed text."""
    return [name for name in COLLECTIVES if name.startswith(beginning)]


def names(context: click.Context, beginning: str) -> list[str]:
    """Return completions for the arguments `[COLLECTIVE] NAMES`: algorithms once the collective is typed."""
    before = (context.params.get("collective"), *(context.params.get("names") or ()))
    collective = next(filter(None, before), None)
    if collective is None:
        return collectives(context, beginning)
    return [one.name for one in catalogue() if one.collective == collective and one.name.startswith(beginning)]


def machines(_context: click.Context, beginning: str) -> list[CompletionItem]:
    """Return the machines that come with Hocket, and have the shell add files."""
    items = [CompletionItem(name) for name in presets() if name.startswith(beginning)]
    return [*items, CompletionItem(beginning, type="file")]
