"""`hocket lab up`: build a lab that stays."""

from __future__ import annotations

from fractions import Fraction

import click

from hocket.cli import completion, options
from hocket.cli.printing import say
from hocket.definitions.machine import Machine
from hocket_lab.commands.options import DEFAULT, building, scale_option
from hocket_lab.laboratory import Lab


@click.command()
@click.argument("machine", type=options.MACHINE, shell_complete=completion.machines)
@click.option("--name", default=DEFAULT, help="The name of the lab.")
@scale_option
def up(machine: Machine, name: str, scale: Fraction) -> None:
    """Build the network of MACHINE, a file or a preset, from namespaces and shaped cables.

    The lab stays until `hocket lab down`, or until this host reboots.
    """
    with building(machine) as on_done:
        lab = Lab.up(name, machine, scale, on_done)
    say(f"lab {name}: {lab.summary}")
