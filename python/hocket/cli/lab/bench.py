"""`hocket lab bench`: algorithms timed in a lab."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import click

from hocket import files
from hocket.cli.lab.options import in_lab, place_options
from hocket.cli.mpi.bench import Asked, bench_options, print_bench
from hocket.cli.mpi.options import installation_options
from hocket.cli.options import as_json_option, output_option, plot_option
from hocket.cli.output import print_json
from hocket.lab.comparing import LEAST_ROUNDS
from hocket.machine import Machine
from hocket.plot import bench_chart, encode
from hocket.version import version

__all__ = ["bench"]


@click.command()
@bench_options(algorithms="all,native", limit_s=10.0, by=installation_options)
@place_options
@plot_option
@output_option
@as_json_option
def bench(
    asked: Asked,
    name: str,
    machine: Machine | None,
    scale: Fraction,
    plot: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Time algorithms for a COLLECTIVE in a lab, in turn, against the MPI's own.

    As `hocket mpi bench`; times are those of the lab.
    """
    with in_lab(name, machine, scale) as lab:
        asked = replace(asked, call=lab.call(asked.call))
        found = asked.measure(launcher=lab.command, least_rounds=LEAST_ROUNDS)
    if plot is not None:
        files.write(plot, encode(bench_chart(found, (), None), Path(plot).suffix))
    entry = {**asdict(found), "lab": lab.summary, "plot": plot, "version": version()}
    if output is not None:
        files.write(output, json.dumps(entry) + "\n")
        if files.is_stdout(output):
            return  # nothing goes behind what was asked for
    if as_json:
        print_json(entry)
    else:
        print_bench(found, (), None, [("plot", plot), ("results", output)])
