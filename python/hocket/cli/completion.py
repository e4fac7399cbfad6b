"""Shell completion: names of collectives, algorithms and machines."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from hocket.definitions.library import COLLECTIVES, catalogue
from hocket.definitions.machine import presets


def collectives(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Return the collectives that begin with the typed text."""
    return _beginning(typed, COLLECTIVES)


def names(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return completions for the arguments `[COLLECTIVE] NAMES`: algorithms once the collective is typed."""
    before = (context.params.get("collective"), *(context.params.get("names") or ()))
    collective = next(filter(None, before), None)
    if collective is None:
        return collectives(context, parameter, typed)
    return _beginning(typed, [each.name for each in catalogue() if each.collective == collective])


def machines(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the machines that come with Hocket, and have the shell add files."""
    return [*map(CompletionItem, _beginning(typed, presets())), CompletionItem(typed, type="file")]


def _beginning(typed: str, among: Iterable[str]) -> list[str]:
    return [name for name in among if name.startswith(typed)]
