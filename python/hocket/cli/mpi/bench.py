"""`hocket mpi bench`: algorithms timed under a real MPI."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from typing import Any, TypeVar

import click

from hocket._native import Error
from hocket.call import Call
from hocket.cli import completion
from hocket.cli.mpi.options import measuring_options
from hocket.cli.options import (
    Read,
    as_json_option,
    neighbors_option,
    output_option,
    parameter_option,
    plot_option,
    required,
    sizes_option,
)
from hocket.cli.output import hand_out, print_table, progress
from hocket.library import Algorithm, algorithms_named
from hocket.machine import Machine
from hocket.mpi import Installation
from hocket.mpi.benchmark import NATIVE_NAME, Bench, Prediction, deviation, predict
from hocket.mpi.benchmark import bench as measure
from hocket.mpi.launch import Launcher
from hocket.parameters import values_of
from hocket.plot import bench_chart
from hocket.units import format_bytes, format_time, parse_count, parse_share

__all__ = ["Asked", "bench", "bench_options", "print_bench"]

_ALL = "all"
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Asked:
    """What to measure.

    Attributes:
        installation: The MPI.
        candidates: The algorithms, None for the MPI's own.
        call: Ranks, root and parameters.
        sizes_bytes: The sizes.
        share: How far the intervals of medians may reach.
        limit_s: Seconds for each size.
    """

    installation: Installation
    candidates: tuple[Algorithm | None, ...]
    call: Call
    sizes_bytes: tuple[int, ...]
    share: float
    limit_s: float

    def measure(self, **more: Any) -> Bench:
        """Measure it, with a progress bar; `more` is what else `hocket.mpi.benchmark.bench` takes."""
        more |= {"share": self.share, "limit_s": self.limit_s}
        with progress("measuring", len(self.sizes_bytes) * len(self.candidates)) as on_done:
            return measure(self.installation, self.candidates, self.call, self.sizes_bytes, **more, on_done=on_done)


def bench_options(*, algorithms: str, limit_s: float, by: Callable[[F], F]) -> Callable[[F], F]:
    """Add what to measure, with these defaults, and options `by` which the MPI is found; the command gets `asked`."""

    def decorate(command: F) -> F:
        @click.argument("collective", shell_complete=completion.collectives)
        @click.option("-n", "--ranks", type=click.IntRange(min=1), required=True, help="Number of ranks.")
        @click.option(
            "--algorithms",
            default=algorithms,
            show_default=True,
            metavar="NAMES",
            help="Names of algorithms, `all` of the catalogue, `native` for the MPI's own, separated by commas.",
        )
        @sizes_option
        @click.option(
            "--root", type=Read(parse_count, name="RANK"), default=0, help="The root, where the collective has one."
        )
        @neighbors_option
        @parameter_option
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
            default=limit_s,
            show_default=True,
            help="Seconds for each size, if the least samples of each algorithm take no longer.",
        )
        @wraps(command)
        def with_asked(
            *arguments: Any,
            collective: str,
            ranks: int,
            installation: Installation,
            algorithms: str,
            sizes: tuple[int, ...] | None,
            root: int,
            neighbors: str | None,
            param: tuple[tuple[str, str], ...],
            until_ci: float,
            time_limit: float,
            **more: Any,
        ) -> Any:
            candidates = _candidates(collective, algorithms)
            known = [one for one in candidates if one is not None]
            if root >= ranks:
                raise click.UsageError(f"--root: got {root}, expected a rank of {ranks}")
            if collective == "barrier":
                sizes = sizes or (0,)
            sizes = required(sizes, "--sizes", "sizes such as 8B..8MiB")
            call = Call(ranks=ranks, size_bytes=0, root=root, neighbors=neighbors, parameters=values_of(param, known))
            asked = Asked(installation, candidates, call, sizes, until_ci, time_limit)
            return command(*arguments, asked=asked, **more)

        return by(with_asked)  # type: ignore[arg-type]

    return decorate


@click.command()
@bench_options(algorithms=f"{_ALL},{NATIVE_NAME}", limit_s=3.0, by=measuring_options)
@click.option(
    "--machine",
    type=Read(Machine.load, name="MACHINE"),
    help="Also simulate each on this machine, such as one of `hocket mpi calibrate`; all messages then go by MPI.",
)
@plot_option
@output_option
@as_json_option
def bench(
    asked: Asked, launcher: Launcher, machine: Machine | None, plot: str | None, output: str | None, as_json: bool
) -> None:
    """Time algorithms for a COLLECTIVE under a real MPI, in turn, against the MPI's own.

    All run in one program. The library's own count proves that each one ran, and each result is checked.
    """
    found = asked.measure(launcher=launcher, only_by_mpi=machine is not None)
    predictions = predict(found, asked.candidates, asked.call, machine) if machine else ()
    said = {"predictions": [asdict(one) for one in predictions], "machine": machine and machine.name}
    hand_out(
        {**asdict(found), **said},
        plot=plot,
        output=output,
        as_json=as_json,
        draw=lambda: bench_chart(found, predictions, machine.name if machine else None),
        show=lambda written: print_bench(found, predictions, machine, written),
    )


def _candidates(collective: str, text: str) -> tuple[Algorithm | None, ...]:
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
    return tuple(dict.fromkeys(found))


def print_bench(
    found: Bench, predictions: tuple[Prediction, ...], machine: Machine | None, written: list[tuple[str, str | None]]
) -> None:
    """Print what was measured, and over what a machine says of it."""
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
        middle, ninth, worst = deviation(
            one.median_s / said[one.size_bytes, one.algorithm].time_s
            for one in found.measurements
            if one.algorithm in ours and said[one.size_bytes, one.algorithm].time_s > 0
        )
        click.echo(f"deviation: median {middle:.1%}, nine of ten within {ninth:.1%}, worst {worst:.1%}")
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
    text = f"{format_time(one.median_s)} {one.reach:4.0%}"
    return click.style(f"{text} *", fg="green", bold=True) if one.low_s <= fastest.high_s else f"{text}  "


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
