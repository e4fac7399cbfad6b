"""Shell completion: names of collectives, algorithms and machines."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from hocket.definitions.library import COLLECTIVES, catalogue
from hocket.definitions.machine import presets


def collectives(_context: click.Context, _parameter: click.Parameter, beginning: str) -> list[str]:
    """Return the collectives that begin with the typed text."""
    return _beginning(beginning, COLLECTIVES)


def names(context: click.Context, parameter: click.Parameter, beginning: str) -> list[str]:
    """Return completions for the arguments `[COLLECTIVE] NAMES`: algorithms once the collective is typed."""
    before = (context.params.get("collective"), *(context.params.get("names") or ()))
    collective = next(filter(None, before), None)
    if collective is None:
        return collectives(context, parameter, beginning)
    return _beginning(beginning, [each.name for each in catalogue() if each.collective == collective])


def machines(_context: click.Context, _parameter: click.Parameter, beginning: str) -> list[CompletionItem]:
    """Return the machines that come with Hocket, and have the shell add files."""
    return [*map(CompletionItem, _beginning(beginning, presets())), CompletionItem(beginning, type="file")]


def _beginning(beginning: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(beginning)]
