"""`hocket machines`: list the presets."""

from __future__ import annotations

from typing import Any

import click

from hocket.cli import completion, options
from hocket.cli.output import print_json, print_table
from hocket.cli.printing import say
from hocket.definitions.machine import Machine, presets
from hocket.definitions.variants import with_host


@click.command()
@click.argument("machine", required=False, type=options.MACHINE, shell_complete=completion.machines)
@click.option("--convert", is_flag=True, help="Print the machine file with a section [host] and without comments.")
@options.as_json
def machines(machine: Machine | None, convert: bool, as_json: bool) -> None:
    """List the machines that come with Hocket, or print a machine file to copy and change.

    MACHINE is a preset or a file.
    """
    if machine is None and convert:
        raise click.UsageError("--convert needs a machine")
    if machine is not None:
        _print_one(with_host(machine) if convert else machine, as_json=as_json)
        return
    preset_machines = [Machine.load(name) for name in presets()]
    if as_json:
        print_json([_entry(machine) for machine in preset_machines])
    else:
        rows = [(one.name, one.model, f"{one.description}{_protocols(one)}") for one in preset_machines]
        print_table(["machine", "network model", "what it is"], rows)


def _print_one(machine: Machine, *, as_json: bool) -> None:
    if as_json:
        print_json({**_entry(machine), "text": machine.text})
    else:
        say(machine.text.rstrip())


def _entry(machine: Machine) -> dict[str, Any]:
    return {
        "name": machine.name,
        "model": machine.model,
        "description": machine.description,
        "protocols": machine.protocols,
    }


def _protocols(machine: Machine) -> str:
    return f" Protocols: {', '.join(machine.protocols)}." if machine.protocols else ""
