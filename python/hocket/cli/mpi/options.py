"""Options that several commands of `hocket mpi` share."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from hocket.cli.command import command as make_command
from hocket.cli.output import tell_people
from hocket.cli.printing import note
from hocket.cli.values import OneOf
from hocket.definitions.mpi_products import PRODUCTS
from hocket.mpi import Installation
from hocket.mpi.launch import LOGS, Launcher, note_for_root, on_hosts

if TYPE_CHECKING:
    from hocket.cli.packages import Lab


def found_installation(mpi: str | None, mpicc: str | None, launcher: str | None) -> Installation:
    """Return the MPI that --mpi, --mpicc and --launcher choose, if there is one, and say what is special about it."""
    if mpi is None:
        installation = Installation.find(mpicc, launcher)
    elif mpicc:
        raise click.UsageError("--mpi: cannot be combined with --mpicc")
    else:
        installation = Installation.of_product(mpi, launcher)
    if installation.note is not None:
        note(installation.note)
    return replace(installation, on_compiling=tell_people)


def launcher_for(installation: Installation, hosts: str | None, lab: str | None) -> tuple[Launcher, Lab | None]:
    """Return the launcher for hosts, or for a lab, and the lab, which exists until the command ends."""
    if lab is None:
        say_what_root_lacks(installation)
        return on_hosts(hosts), None
    if hosts is not None:
        raise click.UsageError("--hosts: cannot be combined with --lab")
    from hocket.cli.packages import in_lab

    entered_lab = click.get_current_context().with_resource(in_lab(lab))
    return entered_lab.command, entered_lab


def say_what_root_lacks(installation: Installation) -> None:
    """Say what Open MPI needs to start programs as root."""
    if (lack := note_for_root(installation)) is not None:
        note(lack)


PRODUCT = OneOf(list(PRODUCTS))
command = partial(
    make_command,
    installation=found_installation,
    launcher_and_lab=launcher_for,
    log=OneOf(LOGS),
    mpi=PRODUCT,
)
program_command = partial(command, settings={"context_settings": {"allow_interspersed_args": False}})
"""Commands with another program's words at their end."""
