"""`hocket lab calibrate`: a machine file from measurements in a lab."""

from __future__ import annotations

from fractions import Fraction

import click

from hocket.cli.lab.options import in_lab, place_options
from hocket.cli.mpi.calibrate import Wanted, calibrate_options
from hocket.cli.mpi.options import installation_options
from hocket.definitions.machine import Machine

__all__ = ["calibrate"]


@click.command()
@calibrate_options(most="256KiB", by=installation_options)
@place_options
def calibrate(wanted: Wanted, name: str, machine: Machine | None, scale: Fraction) -> None:
    """Measure what messages cost in a lab, and write a machine file, as `hocket mpi calibrate` does.

    Rank 0 measures with each other rank. Times are those of the lab.
    """
    with in_lab(name, machine, scale) as lab:
        wanted.write(lab.command)
