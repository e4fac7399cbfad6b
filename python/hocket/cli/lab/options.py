"""Options of several commands of `hocket lab`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction

import click

from hocket._native import Error
from hocket.cli.options import Read
from hocket.cli.output import progress
from hocket.definitions.machine import Machine
from hocket.definitions.topology import Topology
from hocket.lab.laboratory import Lab, temporary

__all__ = ["DEFAULT", "building", "built", "in_lab", "name_option", "scale_option"]

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
def in_lab(text: str, scale: Fraction = Fraction(1)) -> Iterator[Lab]:
    """Find the lab of a name, which is up, or build that of a machine file for as long as the command runs."""
    if "." in text or "/" in text:
        with built(Machine.load(text), scale) as lab:
            yield lab
        return
    if scale != 1:
        raise click.UsageError(f"--scale: got {scale}, expected it beside a machine file: lab {text} has its own")
    yield Lab.find(text)


@contextmanager
def built(machine: Machine, scale: Fraction = Fraction(1)) -> Iterator[Lab]:
    """Build the lab of a machine for as long as something runs, however it ends."""
    with ExitStack() as stack:
        stack.enter_context(_ends_by_exit())
        with building(machine) as on_done:
            lab = stack.enter_context(temporary(machine, scale, on_done))
        yield lab
