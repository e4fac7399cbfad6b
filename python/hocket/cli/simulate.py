"""`hocket simulate`: how long a call takes on a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hocket._native import Error
from hocket.base import files
from hocket.base.call import Call
from hocket.base.processors import processors
from hocket.base.units import format_bytes, format_count, format_time
from hocket.cli import options
from hocket.cli.command import command
from hocket.cli.effort import announce
from hocket.cli.output import answer, print_facts, print_files, progress, write_all
from hocket.cli.printing import say
from hocket.cli.trials import asked_trials, bound_of
from hocket.definitions.library import Algorithm
from hocket.definitions.machine import Machine
from hocket.definitions.topology import LinkUse
from hocket.definitions.variants import with_buffered_sends
from hocket.drawing.encoding import PICTURES, picture_of
from hocket.drawing.link_map import activity_chart, drawn_links, link_chart
from hocket.drawing.space_time import check_operations
from hocket.drawing.timeline import timeline as timeline_text
from hocket.schedules.schedule import Schedule, Sends
from hocket.simulating.scenes import NO_SCENE, Scene
from hocket.simulating.simulation import HOW, Detail, Passage, Simulation, plan
from hocket.words import simulations

if TYPE_CHECKING:
    from hocket.simulating.estimates import Estimate


@command(
    fields={"map_ends": f"the file ends in {', '.join(PICTURES)}"},
    call_of=options.call_of,
    machine=options.machine,
    how=HOW,
    scene=options.scene,
    algorithms=options.algorithms,
)
def simulate(
    names: tuple[str, ...],
    ranks: int | None,
    size: int | None,
    call_of: partial[Call],
    machine: Machine,
    how: dict[str, Any],
    sends: Sends,
    scene: Scene,
    trials: int,
    seed: int,
    until_ci: float | None,
    estimate: float | None,
    timeline: str | None,
    links: str | None,
    links_over_time: str | None,
    plot: str | None,
    algorithms: tuple[Algorithm, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """Simulate a call of an algorithm on a machine and report when the last rank ends.

    `hocket simulate schedule FILE` simulates a schedule in any format that `hocket convert` reads; MSCCL XML and plans
    of MSCCL++ need --size.
    """
    if names[:1] == ("schedule",):
        if (way := how["measured_as"]) != "isolated":
            raise click.UsageError(f"--measured-as: got {way}, expected isolated, as a schedule describes one call")
        if scene.cadence is not None:
            raise click.UsageError("--cadence: expected none, as a schedule describes one call")
        algorithm, arguments = _schedule(names, ranks, size, call_of)
        machine = machine if sends == "waiting" else with_buffered_sends(machine)
    else:
        options.check_sends(sends)
        algorithm = options.one_algorithm(names, algorithms)
        count = options.required(ranks, "--ranks", "the number of ranks")
        arguments = (algorithm, call_of([algorithm], ranks=count, size_bytes=options.size_of(algorithm, size)))
    options.check_files(
        {"--timeline": timeline, "--links": links, "--links-over-time": links_over_time, "--plot": plot}
    )
    if estimate is not None:
        _estimate(arguments, scene, machine, estimate, yes=yes, as_json=as_json)
        return
    draws_map = any(path and Path(path).suffix in PICTURES for path in (links, links_over_time))
    if draws_map and (topology := machine.topology):
        drawn_links(topology, 1)  # refuses maps with too many links before simulating
    options.check_scene(scene, how["measured_as"])
    repeated = asked_trials(trials, seed, until_ci, machine, is_drawn=scene.is_drawn)
    files_by_kind: dict[Detail, str | None] = {"events": timeline or plot, "links": links, "passages": links_over_time}
    keep = [name for name, path in files_by_kind.items() if path is not None]
    simulation_plan = plan(*arguments, machine=machine, scene=scene, trials=repeated, keep=keep, **how)
    if plot is not None:
        check_operations(2 * simulation_plan.messages)  # a send and a receive each
    announce([simulation_plan.effort_s], bound_of(repeated), yes=yes)
    has_trials = repeated.count > 1
    with progress("simulating", repeated.count if has_trials else None) as bar:
        try:
            result = simulation_plan.run(bar.reach if has_trials else None)
        except Error as error:
            if names[0] == "schedule" and sends == "waiting" and str(error).startswith("deadlock: rank"):
                raise Error(f"{error}; {options.BUFFERED_SENDS}") from error
            raise
    makers: list[tuple[str | None, Callable[[str], str | bytes]]] = [
        (links, partial(_links, result, machine)),
        (links_over_time, partial(_links_over_time, result, machine)),
        (timeline, lambda _: timeline_text(result.events, result.as_dict())),
        (plot, partial(picture_of, result.plot)),
    ]
    if write_all(makers):
        return
    paths = {"links": links, "links over time": links_over_time, "plot": plot, "timeline": timeline}
    answer(result.as_dict(), _print, result, algorithm, machine, paths, as_json=as_json)


_Subject = tuple[Algorithm, Call] | tuple[Schedule]


def _schedule(
    names: tuple[str, ...], ranks: int | None, size: int | None, call_of: partial[Call]
) -> tuple[Algorithm, _Subject]:
    """Return an algorithm with the name of a schedule, and the schedule."""
    if ranks is not None:
        raise click.UsageError("a schedule has its own ranks and sizes, expected neither --ranks nor --size")
    if call_of.keywords:
        raise click.UsageError("a schedule describes one call, expected none of --root, --element, --in-place, --param")
    from hocket.cli.schedules import read_schedule

    schedule = read_schedule(names, size)
    return Algorithm("schedule", schedule.name), (schedule,)


def _links(result: Simulation, machine: Machine, ending: str) -> str | bytes:
    topology = machine.topology if ending in PICTURES else None
    if topology is None:
        return files.csv_text([field.name for field in fields(LinkUse)], map(asdict, result.link_uses))
    uses = {format_time(result.times_s[0]): result.link_uses}
    draw = partial(link_chart, uses, topology, title=result.title, faults=result.faults)
    return picture_of(partial(draw, is_choosable=ending == ".html"), ending)


def _links_over_time(result: Simulation, machine: Machine, ending: str) -> str | bytes:
    topology = machine.topology if ending in PICTURES else None
    if topology is None:
        return files.csv_text([field.name for field in fields(Passage)], map(asdict, result.passages))
    title = f"{result.title}, {format_time(result.times_s[0])}"
    end_s = max([result.times_s[0], *(passage.end_s for passage in result.passages)])
    draw = partial(activity_chart, result.passages, topology, title=title, end_s=end_s, faults=result.faults)
    return picture_of(partial(draw, has_slider=ending == ".html"), ending)


_NOT_OF_ESTIMATES = (
    *(*HOW, "sends", "trials", "seed", "until_ci"),
    *("timeline", "links", "links_over_time", "plot"),
)
"""The options that ask for more than the time of one isolated call."""


def _estimate(subject: _Subject, scene: Scene, machine: Machine, within: float, *, yes: bool, as_json: bool) -> None:
    from hocket.simulating.estimates import estimate

    if len(subject) == 1:
        raise click.UsageError("--estimate: got a schedule, expected an algorithm")
    if scene != NO_SCENE:
        raise click.UsageError("--estimate: expected no arrivals, cadence or faults, as it is for one isolated call")
    sources = click.get_current_context().get_parameter_source
    for name in _NOT_OF_ESTIMATES:
        if sources(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name.replace('_', '-')}: expected none, as --estimate is given")
    algorithm, call = subject

    def tell_sizes(sizes_bytes: list[int]) -> None:
        calls = [replace(call, size_bytes=size) for size in sizes_bytes]
        efforts_s = [plan(algorithm, call, machine=machine).effort_s for call in calls]
        announce(efforts_s, jobs=processors(), yes=yes)

    with progress("estimating", None):
        result = estimate(algorithm, call, machine=machine, within=within, on_sizes=tell_sizes)
    answer(result.as_dict(), _print_estimate, result, algorithm, as_json=as_json)


def _print_estimate(result: Estimate, algorithm: Algorithm) -> None:
    _print_heading(result)
    size, parameters = format_bytes(result.size_bytes), algorithm.format(result.parameters)
    print_facts([("size", size), *simulations.estimate_words(result), ("parameters", parameters)])


def _print_heading(result: Simulation | Estimate) -> None:
    ranks = format_count(result.ranks, "rank")
    say(f"{result.collective} {result.algorithm}, {ranks}, machine {result.machine}", bold=True)


def _print(result: Simulation, algorithm: Algorithm, machine: Machine, files: Mapping[str, str | None]) -> None:
    _print_heading(result)
    whose = simulations.measured(result)
    is_plain = result.measured_as == "isolated" and not result.arrivals
    facts = [
        *([("size", result.size)] if result.size_bytes else []),
        ("time", f"{format_time(result.time_s.mean)} {whose}{simulations.measured_interval(result)}"),
        *simulations.formula(result, machine),
        *simulations.spread(result, machine),
        *simulations.late(result),
        *simulations.in_cadence(result),
        *[("fault", fault) for fault in result.faults],
        ("first rank ends" if is_plain else "fastest rank", format_time(result.rank_time_s["min"])),
        ("messages", f"{result.messages}, {format_bytes(result.message_bytes)} in all"),
        ("engine", result.engine),
        *simulations.network_load(result),
    ]
    if result.marks:
        facts.append(("marks", ", ".join(format_time(mark.mean) for mark in result.marks)))
    if result.parameters:
        facts.append(("parameters", algorithm.format(result.parameters)))
    print_facts(facts)
    print_files(files)
