"""Options of several commands of `hocket lab`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from typing import Any, TypeVar

import click

from hocket._native import Error
from hocket.cli.options import Read
from hocket.cli.output import progress
from hocket.definitions.machine import Machine
from hocket.definitions.topology import Topology
from hocket.lab.laboratory import Lab, temporary

__all__ = ["DEFAULT", "building", "in_lab", "name_option", "place_options", "scale_option"]

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT = "lab"
"""The name of a lab that is given none."""


def _scale(text: str) -> Fraction:
    try:
        scale = Fraction(text)
    except (ValueError, ZeroDivisionError):
        scale = Fraction(0)
    if not 0 < scale <= 1:
        raise Error(f'got "{text}", expected a fraction such as 1/1000, at most 1')
    return scale


scale_option = click.option(
    "--scale",
    type=Read(_scale, name="FRACTION"),
    default="1",
    help="How fast the lab's links are, as a fraction of the machine's.",
)
name_option = click.option("--name", default=DEFAULT, show_default=True, help="The name of the lab.")


def place_options(command: F) -> F:
    """Add --name of a lab that is up, and --machine and --scale of one for this command alone."""
    machine = click.option(
        "--machine",
        type=Read(Machine.load, name="MACHINE"),
        help="Build a lab of this machine, and remove it at the end; otherwise in the lab that is up.",
    )
    return name_option(machine(scale_option(command)))


@contextmanager
def building(machine: Machine) -> Iterator[Callable[[], object]]:
    """Show how far a lab is built."""
    topology = Topology.parse(machine.text, machine.file)
    with progress("building", topology.nodes + topology.switches if topology else 0) as on_done:
        yield on_done


@contextmanager
def _ends_by_exit() -> Iterator[None]:
    """Leave by way of what is to be removed when the process is told to end; its children end at once."""
    process = os.getpid()

    def end(kind: int, frame: object) -> None:
        if os.getpid() != process:
            os._exit(128 + kind)
        sys.exit(128 + kind)

    before = {kind: signal.signal(kind, end) for kind in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextmanager
def in_lab(name: str, machine: Machine | None, scale: Fraction) -> Iterator[Lab]:
    """Find the lab that is up, or build one of a machine for as long as the command runs, however it ends."""
    if machine is None:
        if scale != 1:
            raise click.UsageError("--scale is for --machine: a lab that is up has its own")
        yield Lab.find(name)
        return
    with ExitStack() as stack:
        stack.enter_context(_ends_by_exit())
        with building(machine) as on_done:
            lab = stack.enter_context(temporary(machine, scale, on_done))
        yield lab
