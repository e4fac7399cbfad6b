"""`hocket record`: a static schedule as a file."""

from __future__ import annotations

from typing import get_args

import click

from hocket import files
from hocket.cli.options import (
    CallOptions,
    Read,
    algorithm_argument,
    as_json_option,
    call_options,
    chosen,
    load_option,
    output_option,
    ranks_option,
    required,
    size_option,
)
from hocket.cli.output import print_json
from hocket.dependencies import dependency_graph
from hocket.library import Algorithm
from hocket.machine import Machine
from hocket.requests import complete
from hocket.schedule import Form
from hocket.schedule import record as record_call
from hocket.version import version

__all__ = ["record"]


@click.command()
@algorithm_argument
@ranks_option(required=True)
@size_option
@call_options
@click.option("--format", "form", type=click.Choice(get_args(Form)), default="goal", show_default=True)
@output_option
@click.option(
    "--machine",
    type=Read(Machine.load, name="MACHINE"),
    help="The machine whose times of reductions go into a GOAL file; without it they take no time.",
)
@click.option(
    "--graph", type=Read(files.writable, name="FILE"), help="Also write the dependencies of tasks as DOT, for Graphviz."
)
@load_option
@as_json_option
def record(
    names: tuple[str, ...],
    ranks: int,
    size: int | None,
    call_options: CallOptions,
    form: Form,
    output: str | None,
    machine: Machine | None,
    graph: str | None,
    algorithms: tuple[Algorithm, ...],
    as_json: bool,
) -> None:
    """Record what every rank does in a call, as GOAL for simulators or as JSON."""
    algorithm = chosen(names, algorithms)
    size_bytes = 0 if algorithm.collective == "barrier" else required(size, "--size", "a size such as 64KiB")
    call = call_options.call([algorithm], ranks=ranks, size_bytes=size_bytes)
    if as_json and form == "goal_binary":
        raise click.UsageError("--json: got --format goal_binary, which is no text, expected goal or json")
    schedule = record_call(algorithm, call)
    if graph is not None:
        files.write(graph, dependency_graph(schedule))
    if output is not None and files.is_stdout(output):
        output = None
    if output is not None:
        schedule.save(output, format=form, machine=machine)
    if as_json:
        print_json(
            {
                "collective": algorithm.collective,
                "algorithm": algorithm.name,
                "ranks": ranks,
                "size_bytes": size_bytes,
                "parameters": complete(algorithm, call.parameters, element_bytes=call.element_bytes),
                "format": form,
                "output": output,
                "schedule": schedule.data if form == "json" else schedule.as_goal(machine=machine),
                "version": version(),
            }
        )
    elif output is None:
        content = schedule.as_bytes(form, machine=machine)
        click.echo(content if form == "goal_binary" else content.decode(), nl=False)
    else:
        click.echo(f"{algorithm.label}, {ranks} ranks: {output}")
