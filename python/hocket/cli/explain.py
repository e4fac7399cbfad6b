"""`hocket explain`: why a call takes as long as it does, and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import click

from hocket import files
from hocket.cli.options import (
    CallOptions,
    algorithm_argument,
    as_json_option,
    call_options,
    chosen,
    engine_option,
    load_option,
    machine_option,
    ranks_option,
    required,
    seed_option,
    size_option,
    space_time_option,
)
from hocket.cli.output import print_facts, print_json, print_table
from hocket.critical_path import Step
from hocket.explanation import Explanation, Remedy
from hocket.explanation import explain as explain_call
from hocket.library import Algorithm
from hocket.machine import Machine
from hocket.plot import picture_of
from hocket.simulation import Engine, Trials
from hocket.units import format_bytes, format_time
from hocket.version import version

__all__ = ["explain"]

T = TypeVar("T")

_MOST_STEPS = 16  # printed
_MOST_FASTER = 5  # printed


@click.command()
@algorithm_argument
@ranks_option(required=True)
@size_option
@call_options
@machine_option
@engine_option
@seed_option
@space_time_option
@load_option
@as_json_option
def explain(
    names: tuple[str, ...],
    ranks: int,
    size: int | None,
    call_options: CallOptions,
    machine: Machine,
    engine: Engine,
    seed: int,
    plot: str | None,
    algorithms: tuple[Algorithm, ...],
    as_json: bool,
) -> None:
    """Say why a call of an algorithm takes as long as it does, and what would help.

    The time is that of the critical path: operations and messages, each of which waits for the one before.
    """
    algorithm = chosen(names, algorithms)
    size_bytes = 0 if algorithm.collective == "barrier" else required(size, "--size", "a size such as 64KiB")
    call = call_options.call([algorithm], ranks=ranks, size_bytes=size_bytes)
    found = explain_call(
        algorithm, call, machine=machine, engine=engine, trials=Trials(count=1, seed=seed), among=algorithms
    )
    if plot is not None:
        files.write(plot, picture_of(found.plot, Path(plot).suffix))
    if as_json:
        print_json({**found.as_dict(), "plot": plot, "version": version()})
        return
    _print(found)
    if plot is not None:
        click.echo(f"\nplot: {plot}")


def _print(found: Explanation) -> None:
    click.secho(found.title, bold=True)
    facts = [("time", f"{format_time(found.time_s)} until the last rank ends")]
    if found.bound.time_s > 0:
        times = f", {found.time_s / found.bound.time_s:.2f} times as long"
        facts.append(("lower bound", f"{format_time(found.bound.time_s)}{times if found.time_s else ''}"))
    print_facts(facts)
    if not found.steps:
        click.echo("nothing takes time")
        return
    bounds_s = {
        "latency": found.bound.latency_s,
        "bandwidth": found.bound.bandwidth_s,
        "computation": found.bound.computation_s,
    }
    print_table(
        ["on the critical path", "time", "share", "lower bound"],
        [
            [part, format_time(part_s), f"{part_s / found.time_s:.1%}", _bound(bounds_s.get(part))]
            for part, part_s in found.parts_s.items()
            if part_s > 0
        ],
        right=["time", "share", "lower bound"],
    )
    _print_steps(found.steps)
    _print_remedies("what would help", found.remedies, found.time_s)
    if found.faster:
        _print_remedies("faster algorithm", found.faster[:_MOST_FASTER], found.time_s)
        if len(found.faster) > _MOST_FASTER:
            click.echo(f"and {len(found.faster) - _MOST_FASTER} more")
    else:
        click.echo("no algorithm of the catalogue is faster here")


def _bound(bound_s: float | None) -> str:
    return "" if bound_s is None else format_time(bound_s)


def _print_steps(steps: Sequence[Step]) -> None:
    ranks = [step.from_rank for step in steps[:1]] + [step.event.rank for step in steps]
    hops = [str(rank) for rank, _ in groupby(ranks)]
    print_facts([("ranks", " > ".join(_shortened(hops, "..")))])
    rows = [
        [format_time(step.start_s), _what(step), format_bytes(int(step.event.bytes)), _parts(step)] for step in steps
    ]
    print_table(
        ["start", "critical path", "bytes", "consists of"], _shortened(rows, ["..", "", "", ""]), right=["start"]
    )


def _shortened(values: Sequence[T], gap: T) -> list[T]:
    """Return the first and the last of many, and between them a gap."""
    half = _MOST_STEPS // 2
    return [*values] if len(values) <= _MOST_STEPS else [*values[:half], gap, *values[-half:]]


def _what(step: Step) -> str:
    event = step.event
    if event.kind == "recv":
        return f"message {event.peer} > {event.rank}"
    if event.kind == "send":
        return f"message {event.rank} > {event.peer}"
    return f"{event.kind} on {event.rank}"


def _parts(step: Step) -> str:
    return ", ".join(f"{part} {format_time(part_s)}" for part, part_s in step.parts_s.items() if part_s > 0)


def _print_remedies(what: str, remedies: Iterable[Remedy], time_s: float) -> None:
    rows = [[one.change, format_time(one.time_s), f"{one.time_s / time_s - 1:+.1%}"] for one in remedies]
    print_table([what, "time then", "change"], rows, right=["time then", "change"])
