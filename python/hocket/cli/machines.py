"""`hocket machines`: list the presets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from hocket.cli.command import command
from hocket.cli.output import answer, print_table
from hocket.cli.printing import say
from hocket.definitions.machine import PAPERS, Machine, presets
from hocket.definitions.variants import with_host


@command()
def machines(machine: Machine | None, convert: bool, as_json: bool) -> None:
    """List the machines that come with Hocket, or print a machine file to copy and change.

    MACHINE is a preset or a file.
    """
    if machine is None and convert:
        raise click.UsageError("--convert needs a machine")
    if machine is not None:
        variant = with_host(machine) if convert else machine
        answer({**_entry(variant), "text": variant.text}, say, variant.text.rstrip(), as_json=as_json)
        return
    preset_machines = [Machine.load(name) for name in presets()]
    answer([*map(_entry, preset_machines)], _print, preset_machines, as_json=as_json)


def _print(machines: Sequence[Machine]) -> None:
    """Print the machines of users, and below them those of papers."""
    for heading, are_of_papers in (("", False), ("\nof papers, to repeat what they say", True)):
        own = [one for one in machines if (one.name in PAPERS) is are_of_papers]
        protocols = [f" Protocols: {', '.join(one.protocols)}." * bool(one.protocols) for one in own]
        rows = [(one.name, one.model, one.description + text) for one, text in zip(own, protocols, strict=True)]
        if heading:
            say(heading)
        print_table(["machine", "network model", "what it is"], rows)


def _entry(machine: Machine) -> dict[str, Any]:
    return {name: getattr(machine, name) for name in ("name", "model", "description", "protocols")}
