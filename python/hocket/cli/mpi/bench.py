"""`hocket mpi bench`: algorithms timed under a real MPI."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from hocket import files
from hocket._native import Error
from hocket.call import Call
from hocket.cli.mpi.options import launch_options
from hocket.cli.options import (
    Read,
    as_json_option,
    output_option,
    parameter_option,
    plot_option,
    required,
    sizes_option,
    values_of,
)
from hocket.cli.output import print_json, print_table, progress
from hocket.library import Algorithm, algorithms_named
from hocket.machine import Machine
from hocket.mpi import Installation
from hocket.mpi.benchmark import NATIVE_NAME, Bench, Measurement, Prediction, predict
from hocket.mpi.benchmark import bench as measure
from hocket.plot import bench_chart, encode
from hocket.units import format_bytes, format_time, parse_count, parse_share
from hocket.version import version

__all__ = ["bench"]

_ALL = "all"


@click.command()
@click.argument("collective")
@click.option("-n", "--ranks", type=click.IntRange(min=1), required=True, help="Number of ranks.")
@click.option(
    "--algorithms",
    default=f"{_ALL},{NATIVE_NAME}",
    show_default=True,
    metavar="NAMES",
    help="Names of algorithms, `all` of the catalogue, `native` for the MPI's own, separated by commas.",
)
@sizes_option
@click.option("--root", type=Read(parse_count, name="RANK"), default=0, help="The root, where the collective has one.")
@parameter_option
@click.option(
    "--machine",
    type=Read(Machine.load, name="MACHINE"),
    help="Also simulate each on this machine, such as one of `hocket mpi calibrate`.",
)
@click.option(
    "--until-ci",
    type=Read(parse_share, name="SHARE"),
    default="2%",
    show_default=True,
    help="Repeat until the 95 % confidence interval of each median is within this share of it.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0),
    default=3.0,
    show_default=True,
    help="Seconds for each size, if ten samples of each algorithm take no longer.",
)
@plot_option
@output_option
@launch_options
@as_json_option
def bench(
    collective: str,
    ranks: int,
    installation: Installation,
    algorithms: str,
    sizes: tuple[int, ...] | None,
    root: int,
    param: tuple[tuple[str, str], ...],
    machine: Machine | None,
    until_ci: float,
    time_limit: float,
    plot: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Time algorithms for a COLLECTIVE under a real MPI, in turn, against the MPI's own.

    All run in one program. The library's own count proves that each one ran, and each result is checked.
    """
    candidates = _candidates(collective, algorithms)
    known = [one for one in candidates if one is not None]
    if root >= ranks:
        raise click.UsageError(f"--root: got {root}, expected a rank of {ranks}")
    if collective == "barrier":
        sizes = sizes or (0,)
    sizes = required(sizes, "--sizes", "sizes such as 8B..8MiB")
    call = Call(ranks=ranks, size_bytes=0, root=root, parameters=values_of(param, known))
    with progress("measuring", len(sizes) * len(candidates)) as on_done:
        found = measure(installation, candidates, call, sizes, share=until_ci, limit_s=time_limit, on_done=on_done)
    predictions = predict(found, candidates, call, machine) if machine else ()
    if plot is not None:
        files.write(plot, encode(bench_chart(found, predictions, machine.name if machine else None), Path(plot).suffix))
    entry = {**asdict(found), "predictions": [asdict(one) for one in predictions], "machine": machine and machine.name}
    entry |= {"plot": plot, "version": version()}
    if output is not None:
        files.write(output, json.dumps(entry) + "\n")
        if files.is_stdout(output):
            return  # nothing goes behind what was asked for
    if as_json:
        print_json(entry)
    else:
        _print(found, predictions, machine, [("plot", plot), ("results", output)])


def _candidates(collective: str, text: str) -> list[Algorithm | None]:
    """Return the algorithms that are named, the MPI's own as None."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not set(names) - {NATIVE_NAME}:
        raise Error(f'--algorithms: got "{text}", expected algorithms of the catalogue beside {NATIVE_NAME}')
    found: list[Algorithm | None] = []
    for name in dict.fromkeys(names):
        if name == NATIVE_NAME:
            found.append(None)
        else:
            found += algorithms_named(collective, () if name == _ALL else (name,))
    return list(dict.fromkeys(found))


def _print(
    found: Bench, predictions: tuple[Prediction, ...], machine: Machine | None, written: list[tuple[str, str | None]]
) -> None:
    click.secho(f"{found.collective} on {found.ranks} ranks, {found.mpi}", bold=True)
    names = [name for name in found.algorithms if any(one.algorithm == name for one in found.measurements)]
    click.echo("\nmedian, and how far its 95 % interval reaches; fastest as far as intervals tell (*)")
    rows = [[format_bytes(size), *(_median(found, size, name) for name in names)] for size in found.sizes_bytes]
    print_table(["size", *names], rows, right=names)
    if NATIVE_NAME in names:
        ours = [name for name in names if name != NATIVE_NAME]
        click.echo("\ntime over that of the MPI's own, with the interval of the ratio")
        rows = [[format_bytes(size), *(_ratio(found, size, name) for name in ours)] for size in found.sizes_bytes]
        print_table(["size", *ours], rows, right=ours)
    if machine is not None:
        said = {(one.size_bytes, one.algorithm): one for one in predictions}
        ours = [name for name in names if name != NATIVE_NAME]
        click.echo(f"\ntime over that of {machine.name}, simulated / by formula")
        rows = [
            [format_bytes(size), *(_against(found, said, size, name) for name in ours)] for size in found.sizes_bytes
        ]
        print_table(["size", *ours], rows, right=ours)
    counted = ", ".join(f"{name} {calls}" for name, calls in found.counted.items())
    click.echo(f"\nthe library counted one proving call per size: {counted}")
    for name, sentence in dict.fromkeys((one.algorithm, one.sentence) for one in found.not_measured):
        click.echo(f"not measured: {name}: {sentence}")
    for what, path in written:
        if path is not None:
            click.echo(f"{what}: {path}")


def _median(found: Bench, size: int, name: str) -> str:
    one = found.at(size, name)
    if one is None:
        return "-"
    fastest = min((m for m in found.measurements if m.size_bytes == size), key=lambda m: m.median_s)
    text = f"{format_time(one.median_s)} {_reach(one):4.0%}"
    return click.style(f"{text} *", fg="green", bold=True) if one.low_s <= fastest.high_s else f"{text}  "


def _reach(one: Measurement) -> float:
    return max(one.high_s - one.median_s, one.median_s - one.low_s) / one.median_s


def _ratio(found: Bench, size: int, name: str) -> str:
    ours, native = found.at(size, name), found.at(size, NATIVE_NAME)
    if ours is None or native is None:
        return "-"
    low, high = ours.low_s / native.high_s, ours.high_s / native.low_s
    return f"{ours.median_s / native.median_s:.2f} ({low:.2f}-{high:.2f})"


def _against(found: Bench, said: dict[tuple[int, str], Prediction], size: int, name: str) -> str:
    ours, one = found.at(size, name), said.get((size, name))
    if ours is None or one is None:
        return "-"
    formula = f"{ours.median_s / one.formula_s:.2f}" if one.formula_s else "-"
    return f"{ours.median_s / one.time_s:.2f} / {formula}" if one.time_s else "-"
