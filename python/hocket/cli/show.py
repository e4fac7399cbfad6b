"""`hocket show`: one algorithm, with its source, cost, program and picture; a machine's network; or a schedule."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from hocket._native import Error
from hocket.base.units import format_value
from hocket.cli import options
from hocket.cli.command import command
from hocket.cli.output import algorithm_entry, answer, print_facts, print_json, print_table, width
from hocket.cli.printing import say
from hocket.cli.show_machine import show_machine
from hocket.cli.values import VALUES
from hocket.definitions.library import COLLECTIVES, MEANINGS, Algorithm, Parameter, find_collective, is_collective
from hocket.definitions.machine import Machine
from hocket.drawing.picture import picture
from hocket.words.simulations import order

_RANKS = 8
_MOST_RANKS = 64  # rows of a picture


@command(fields={"ranks": _RANKS}, route=VALUES["RANK"], algorithms=options.algorithms)
def show(
    names: tuple[str, ...],
    ranks: int | None,
    route: tuple[int, int] | None,
    size: int | None,
    machine: Machine | None,
    plot: str | None,
    graph: str | None,
    algorithms: tuple[Algorithm, ...],
    as_json: bool,
) -> None:
    """Show an algorithm: description, source, requirements, cost, program, and its messages over time.

    `hocket show COLLECTIVE` shows a collective: what it does, its arguments and its algorithms.

    Name the algorithm as COLLECTIVE ALGORITHM, as COLLECTIVE/ALGORITHM, or as ALGORITHM if only one collective has it.

    `hocket show machine MACHINE` shows the network of a machine, a preset or a file: nodes, links, lengths of routes,
    and a drawing.

    `hocket show schedule FILE` shows a schedule in any format that `hocket convert` reads: messages, the tasks of each
    rank, and a picture of the messages over time. MSCCL XML and plans of MSCCL++ need --size.
    """
    if names[:1] == ("schedule",):
        if ranks is not None or route is not None:
            raise click.UsageError("a schedule has its own ranks and no routes, expected neither --ranks nor --route")
        from hocket.cli.show_schedule import show_schedule

        show_schedule(names, size, machine=machine, plot=plot, graph=graph, as_json=as_json)
        return
    if (size, machine, graph) != (None, None, None):
        raise click.UsageError("--size, --machine and --graph: apply only to schedule FILE")
    if names[:1] == ("machine",):
        if len(names) != 2:
            raise click.UsageError(f"got {len(names) - 1} machines, expected one, a preset or a file")
        if ranks is not None:
            raise click.UsageError("--ranks: does not apply to a machine, expected an algorithm")
        show_machine(names[1], route=route, plot=plot, as_json=as_json)
        return
    if route is not None:
        raise click.UsageError("--route: does not apply to an algorithm, expected machine MACHINE")
    if plot is not None:
        raise click.UsageError("--plot: does not apply to an algorithm, expected machine MACHINE or schedule FILE")
    if len(names) == 1 and is_collective(names[0]):
        if ranks is not None:
            raise click.UsageError("--ranks: does not apply to a collective, expected one of its algorithms")
        _show_collective(find_collective(names[0]), algorithms, as_json=as_json)
        return
    algorithm, ranks = options.one_algorithm(names, algorithms), ranks or _RANKS
    if ranks > _MOST_RANKS:
        raise click.UsageError(f"--ranks: got {ranks}, expected at most {_MOST_RANKS} for a picture")
    try:
        text = picture(algorithm, ranks=ranks, width=width())
    except Error as error:
        text = f"no picture: {error}"
    example = {"ranks": ranks, "text": text}
    entry = {**algorithm_entry(algorithm, "header"), "listing": algorithm.listing, "picture": example}
    answer(entry, _print, algorithm, example, as_json=as_json)


def _print(algorithm: Algorithm, example: Mapping[str, Any]) -> None:
    say(algorithm.label, bold=True)
    say("\n".join(line for line in algorithm.header.splitlines() if not line.startswith("```")))
    say()
    on_ports = "; an approximation where k < ports" if re.search(r"\b(k|turns)\b", algorithm.cost or "") else ""
    print_facts(
        [
            ("cost", f"{algorithm.cost or 'not given'}  (s; alpha s, beta and gamma s/B, n B, P ranks{on_ports})"),
            ("messages", algorithm.messages or "not given"),
            *order(algorithm),
        ]
    )
    if algorithm.parameters:
        say()
        print_table(["parameter", "default", "least", "meaning"], [_parameter(p) for p in algorithm.parameters])
    say(f"\n{algorithm.listing.rstrip()}\n")
    say(f"P = {example['ranks']}: → to, ← from, ↔ exchange with, · pause; one column per round")
    say(example["text"])


def _parameter(parameter: Parameter) -> tuple[str, str, str, str]:
    default = format_value(parameter.default, parameter.unit)
    least = "" if parameter.choices else format_value(parameter.least, parameter.unit)
    return parameter.name, default, least, parameter.meaning


_SIZES = {
    "the block of one rank": ("allgather", "gather", "gatherv", "neighbor_allgather"),
    "one block": ("alltoall", "alltoallv", "neighbor_alltoall", "scatter", "scatterv"),
}


def _show_collective(name: str, among: Sequence[Algorithm], *, as_json: bool) -> None:
    """Print a collective."""
    algorithms = [algorithm for algorithm in among if algorithm.collective == name]
    arguments = _arguments(name)
    if as_json:
        entries = [{"name": each.name, "summary": each.summary} for each in algorithms]
        print_json({"collective": name, "meaning": MEANINGS[name], "arguments": arguments, "algorithms": entries})
        return
    say(name, bold=True)
    say(f"{MEANINGS[name]}\n")
    print_facts(arguments.items())
    say()
    print_table(["algorithm", "what it is"], [(each.name, each.summary) for each in algorithms])
    say(f"\nOne of them: hocket show {name} {algorithms[0].name}")


def _arguments(collective: str) -> dict[str, str]:
    """Return the options that describe a call of a collective, and what each one counts."""
    size = next((size for size, names in _SIZES.items() if collective in names), "the whole vector")
    arguments_needed = {"--ranks": "how many ranks"}
    facts = COLLECTIVES[collective]
    if facts.has_size:
        arguments_needed["--size"] = f"{size}, such as 64KiB"
    if facts.has_root:
        arguments_needed["--root"] = "the root; 0 if left out"
    if facts.has_neighbors:
        arguments_needed["--neighbors"] = "who are neighbours: torus, mesh or moore, such as torus:4x4"
    return arguments_needed
