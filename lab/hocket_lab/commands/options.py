"""Options that several commands of `hocket lab` share."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from functools import partial

import click

from hocket._native import Error
from hocket.cli.mpi.options import command as make_command
from hocket.cli.output import progress
from hocket.cli.printing import StyledText
from hocket.cli.values import Read
from hocket.definitions.machine import Machine
from hocket_lab.laboratory import Lab, temporary
from hocket_lab.watching import watch_lab

DEFAULT = "lab"
"""The default name of a lab."""


def _scale(text: str) -> Fraction:
    try:
        scale = Fraction(text)
    except (ValueError, ZeroDivisionError):
        scale = Fraction(0)
    if not 0 < scale <= 1:
        raise Error(f'got "{text}", expected a fraction such as 1/1000, at most 1')
    return scale


command = partial(make_command, own_rows=__file__, scale=Read(_scale, name="FRACTION"))

_FAR = 0.15
"""Deviations from here on are shown in red."""


def ratio_text(ratio: float) -> str:
    """Return a ratio of measured to simulated, in red if it is far from 1."""
    return StyledText(f"{ratio:.3f}", fg="red" if abs(ratio - 1) > _FAR else None)


@contextmanager
def building(machine: Machine) -> Iterator[Callable[[], object]]:
    """Show the progress of building a lab."""
    topology = machine.topology
    with progress("building", topology.nodes + topology.switches if topology else 0) as on_done:
        yield on_done


@contextmanager
def _ends_by_exit() -> Iterator[None]:
    """On SIGTERM and SIGHUP, exit through the clean-up code; child processes end at once."""
    process = os.getpid()

    def end(kind: int, frame: object) -> None:
        if os.getpid() != process:
            os._exit(128 + kind)
        for each in before:
            signal.signal(each, signal.SIG_IGN)  # nothing interrupts the clean-up
        sys.exit(128 + kind)

    before = {kind: signal.signal(kind, end) for kind in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextmanager
def in_lab(text: str, scale: Fraction = Fraction(1)) -> Iterator[Lab]:
    """Find a lab by its name, or build the lab of a machine file while the command runs."""
    if "." in text or "/" in text:
        with built(Machine.load(text), scale) as lab, watch_lab(lab):
            yield lab
        return
    if scale != 1:
        raise click.UsageError(
            f"--scale: got {scale}, but the running lab {text} has its own scale, expected a machine file"
        )
    lab = Lab.find(text)
    with watch_lab(lab):
        yield lab


@contextmanager
def built(machine: Machine, scale: Fraction = Fraction(1)) -> Iterator[Lab]:
    """Build the lab of a machine while the command runs, and remove it however the command ends."""
    with ExitStack() as stack:
        stack.enter_context(_ends_by_exit())
        with building(machine) as on_done:
            lab = stack.enter_context(temporary(machine, scale, on_done))
        yield lab
