"""`hocket record`: write a static schedule to a file."""

from __future__ import annotations

from functools import partial

import click

from hocket.base import files
from hocket.base.call import Call
from hocket.base.units import format_count
from hocket.cli import options
from hocket.cli.command import command
from hocket.cli.effort import announce
from hocket.cli.output import print_result
from hocket.cli.printing import say
from hocket.cli.schedules import ENDINGS, FORMAT, as_bytes, hand_out
from hocket.definitions.calls import prepare
from hocket.definitions.library import Algorithm
from hocket.definitions.machine import Machine
from hocket.schedules.dependencies import dependency_graph
from hocket.schedules.formats import format_for
from hocket.schedules.schedule import record as record_call
from hocket.simulating.effort import recording_s


@command(fields=ENDINGS, call_of=options.call_of, form=FORMAT, algorithms=options.algorithms)
def record(
    names: tuple[str, ...],
    ranks: int,
    size: int | None,
    call_of: partial[Call],
    form: str | None,
    output: str | None,
    machine: Machine | None,
    graph: str | None,
    algorithms: tuple[Algorithm, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """Record what every rank does in a call: a schedule, in a format of `hocket convert`."""
    algorithm = options.one_algorithm(names, algorithms)
    size_bytes = options.size_of(algorithm, size)
    call = call_of([algorithm], ranks=ranks, size_bytes=size_bytes)
    format = format_for(output or files.STDOUT, form)
    if as_json and not format.is_text:
        raise click.UsageError(f"--json: got --format {format.name}, a binary format, expected a text format")
    options.check_files({"--output": output, "--graph": graph})
    announce([recording_s(algorithm, call, machine=machine)], yes=yes)
    schedule = record_call(algorithm, call, machine=machine)
    drawing = None if graph is None else dependency_graph(schedule)
    if output is not None and files.is_stdout(output):
        output = None
    text = "" if as_json and output is None else hand_out(schedule, format, output, machine)
    if graph is not None and drawing is not None:
        files.write(graph, drawing)
    if as_json:
        print_result(
            {
                "collective": algorithm.collective,
                "algorithm": algorithm.name,
                "ranks": ranks,
                "size_bytes": size_bytes,
                "parameters": prepare(algorithm, call, machine).values(),
                "format": format.name,
                "output": output,
                "schedule": schedule.data if format.name == "json" else as_bytes(schedule, format, machine).decode(),
            }
        )
    elif text:
        say(f"{algorithm.label}, {format_count(ranks, 'rank')}: {text}")
