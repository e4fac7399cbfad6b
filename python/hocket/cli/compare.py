"""`hocket compare`: which algorithm is fastest for which size."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from hocket import files
from hocket.cli.options import (
    CallOptions,
    as_json_option,
    call_options,
    engine_option,
    jobs_option,
    load_option,
    machine_option,
    plot_option,
    ranks_option,
    required,
    seed_option,
    sizes_option,
    trials_option,
)
from hocket.cli.output import print_json, print_table, progress
from hocket.cli.trials import asked_trials
from hocket.comparison import Best, Comparison
from hocket.comparison import compare as compare_algorithms
from hocket.library import Algorithm, algorithms_named
from hocket.machine import Machine
from hocket.parallel import workers
from hocket.plot import render
from hocket.simulation import Engine
from hocket.units import format_bytes, format_time
from hocket.version import version

__all__ = ["compare"]


@click.command()
@click.argument("collective")
@click.argument("names", nargs=-1, metavar="[ALGORITHM]...")
@ranks_option(required=True)
@sizes_option
@call_options
@machine_option
@engine_option
@trials_option
@seed_option
@plot_option
@load_option
@jobs_option
@as_json_option
def compare(
    collective: str,
    names: tuple[str, ...],
    ranks: int,
    sizes: tuple[int, ...] | None,
    call_options: CallOptions,
    machine: Machine,
    engine: Engine,
    trials: int,
    seed: int,
    plot: str | None,
    algorithms: tuple[Algorithm, ...],
    jobs: int,
    as_json: bool,
) -> None:
    """Simulate all algorithms for a COLLECTIVE, or those named, and say which is fastest for which size."""
    candidates = algorithms_named(collective, names, among=algorithms)
    if sizes is None and collective == "barrier":
        sizes = (0,)
    calls = [
        call_options.call(candidates, ranks=ranks, size_bytes=size)
        for size in required(sizes, "--sizes", "sizes such as 8B..64MiB")
    ]
    repeated = replace(asked_trials(trials, seed, None, machine), threads=1)
    with workers(jobs) as executor, progress("simulating", len(calls) * len(candidates)) as on_done:
        found = compare_algorithms(
            candidates,
            calls,
            machine=machine,
            engine=engine,
            trials=repeated,
            executor=executor,
            on_done=on_done,
        )
    if plot is not None:
        files.write(plot, render(found, Path(plot).suffix))
    if as_json:
        print_json(_entry(found, plot))
    else:
        _print(found, plot)


def _entry(found: Comparison, plot: str | None) -> dict[str, Any]:
    return {
        "collective": found.collective,
        "ranks": found.ranks,
        "machine": found.machine.name,
        "sizes_bytes": found.sizes_bytes,
        "algorithms": found.algorithms,
        "best": [vars(best) for best in found.best()],
        "results": [simulation.as_dict() for simulation in found.simulations],
        "not_compared": [vars(missing) for missing in found.not_compared],
        "plot": plot,
        "version": version(),
    }


def _print(found: Comparison, plot: str | None) -> None:
    click.secho(f"{found.collective} on {found.ranks} ranks, machine {found.machine.name}", bold=True)
    print_table(["size", *found.algorithms], [_row(found, size) for size in found.sizes_bytes], right=found.algorithms)
    for name, values in found.parameters.items():
        click.echo(f" {name}: {values}")
    click.echo("\nfastest (*)")
    for best in found.best():
        click.echo(f"  {_sizes(best)}: {' = '.join(best.algorithms)}")
    if found.not_compared:
        click.echo("\nnot compared")
        for line in _not_compared(found):
            click.echo(f"  {line}")
    if plot is not None:
        click.echo(f"\nplot: {plot}")


def _row(found: Comparison, size_bytes: int) -> list[str]:
    fastest = found.fastest(size_bytes)
    return [format_bytes(size_bytes), *(_cell(found, size_bytes, name, name in fastest) for name in found.algorithms)]


def _cell(found: Comparison, size_bytes: int, name: str, is_fastest: bool) -> str:
    time_s = found.times_s.get((size_bytes, name))
    if time_s is None:
        return "-"
    return click.style(f"{format_time(time_s)} *", fg="green", bold=True) if is_fastest else f"{format_time(time_s)}  "


def _sizes(best: Best) -> str:
    first, last = format_bytes(best.first_bytes), format_bytes(best.last_bytes)
    return first if best.first_bytes == best.last_bytes else f"{first} to {last}"


def _not_compared(found: Comparison) -> list[str]:
    """Return one line for each sentence, with the sizes it holds for unless it holds for all."""
    lines = []
    for (name, sentence), group in groupby(
        sorted(found.not_compared, key=lambda m: (m.algorithm, m.sentence)), key=lambda m: (m.algorithm, m.sentence)
    ):
        sizes = [missing.size_bytes for missing in group]
        where = "" if name not in found.algorithms else f" at {', '.join(map(format_bytes, sizes))}"
        lines.append(f"{name}{where}: {sentence}")
    return lines
