"""`hocket lab up`: build a lab that stays."""

from __future__ import annotations

from fractions import Fraction

from hocket.cli.printing import say
from hocket.definitions.machine import Machine
from hocket_lab.commands.options import building, command
from hocket_lab.laboratory import Lab


@command()
def up(machine: Machine, name: str, scale: Fraction) -> None:
    """Build the network of MACHINE, a file or a preset, from namespaces and shaped cables.

    The lab stays until `hocket lab down`, or until this host reboots.
    """
    with building(machine) as on_done:
        lab = Lab.up(name, machine, scale, on_done)
    say(f"lab {name}: {lab.summary}")
