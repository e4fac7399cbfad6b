"""`hocket lab bench`: algorithms timed in a lab."""

from __future__ import annotations

from dataclasses import asdict, replace
from fractions import Fraction

import click

from hocket.cli.lab.options import in_lab, place_options
from hocket.cli.mpi.bench import Asked, bench_options, print_bench
from hocket.cli.mpi.options import installation_options
from hocket.cli.options import all_option, as_json_option, output_option, plot_option
from hocket.cli.output import hand_out
from hocket.definitions.machine import Machine
from hocket.drawing.plot import bench_chart
from hocket.lab.comparing import LEAST_ROUNDS

__all__ = ["bench"]


@click.command()
@bench_options(algorithms="all,native", limit_s=10.0, by=installation_options)
@place_options
@plot_option
@output_option
@all_option
@as_json_option
def bench(
    asked: Asked,
    name: str,
    machine: Machine | None,
    scale: Fraction,
    plot: str | None,
    output: str | None,
    every: bool,
    as_json: bool,
) -> None:
    """Time algorithms for a COLLECTIVE in a lab, in turn, against the MPI's own.

    As `hocket mpi bench`; times are those of the lab.
    """
    with in_lab(name, machine, scale) as lab:
        asked = replace(asked, call=lab.call(asked.call))
        found = asked.measure(launcher=lab.command, least_rounds=LEAST_ROUNDS)
    hand_out(
        {**asdict(found), "lab": lab.summary},
        plot=plot,
        output=output,
        as_json=as_json,
        draw=lambda: bench_chart(found, (), None),
        show=lambda written: print_bench(found, (), None, written, every=every),
    )
