"""`hocket replay`: how long a traced MPI program takes on a machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

import click

from hocket.base.units import format_bytes, format_count, format_time
from hocket.cli import options
from hocket.cli.command import command
from hocket.cli.output import answer, print_facts, print_files, print_table, write_all
from hocket.cli.printing import say
from hocket.cli.trials import asked_trials
from hocket.cli.values import factor
from hocket.definitions.libraries import BY_MACHINE, BY_NODES
from hocket.definitions.machine import Machine
from hocket.drawing.encoding import picture_of
from hocket.drawing.space_time import space_time_chart
from hocket.drawing.timeline import timeline as timeline_text
from hocket.rules.choosing import rules_text
from hocket.simulating.replays import Replay, replay_events
from hocket.simulating.replays import replay as replay_trace
from hocket.words.simulations import network_load, spread


@command(machine=options.machine, scale_compute=factor("a factor, at least 0", lambda factor: factor >= 0))
def replay(
    trace: str,
    machine: Machine,
    rule: tuple[str, ...],
    rules: str | None,
    scale_compute: float,
    trials: int,
    seed: int,
    until_ci: float | None,
    timeline: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Replay the TRACE of an MPI program on a machine and report when the last rank is done."""
    if timeline is not None and os.path.realpath(timeline) == os.path.realpath(trace):
        raise click.UsageError(f"--timeline: got {timeline}, the trace itself, expected another file")
    if plot is not None and os.path.realpath(plot) in {os.path.realpath(path) for path in (trace, timeline) if path}:
        raise click.UsageError(f"--plot: got {plot} twice, expected another file")
    texts = {"--rule": "\n".join(rule)}
    if rules is not None:
        is_by_name = rules in (*BY_MACHINE, *BY_NODES) and not os.path.exists(rules)
        texts[rules] = rules if is_by_name else rules_text(rules)
    repeated = asked_trials(trials, seed, until_ci, machine)
    how: dict[str, Any] = {"rules": texts, "scale_compute": scale_compute, "trials": repeated}
    if timeline is None and plot is None:
        result = replay_trace(trace, machine, **how)
    else:
        result, events = replay_events(trace, machine, **how)
    draw = partial(picture_of, lambda: space_time_chart(events, title=result.title))
    if write_all([(plot, draw), (timeline, lambda _: timeline_text(events, result.as_dict()))]):
        return
    answer(result.as_dict(), _print, result, machine, {"timeline": timeline, "plot": plot}, as_json=as_json)


def _print(result: Replay, machine: Machine, files: Mapping[str, str | None]) -> None:
    ranks, calls = format_count(result.ranks, "rank"), format_count(result.calls, "call")
    say(f"{result.program}, {ranks}, {calls}, machine {result.machine}", bold=True)
    times_s = [rank.time_s for rank in result.rank_uses]
    facts = [
        ("time", f"{format_time(result.time_s.mean)} until the last rank is done"),
        *([("computing", f"takes {result.scale_compute:g} of the traced time")] if result.scale_compute != 1 else []),
        *spread(result, machine),
        ("as traced", format_time(result.traced_s)),
        ("ranks", f"done after {format_time(min(times_s))} to {format_time(max(times_s))}"),
        (
            "inside MPI",
            f"{result.mpi_share:.1%}, and {result.waiting_share:.1%} waiting for others, mean over the ranks",
        ),
        ("messages", f"{result.messages}, {format_bytes(result.message_bytes)} in all"),
        *network_load(result),
    ]
    if result.algorithms:
        uses = (f"{use.collective} {use.algorithm} {use.calls}" for use in result.algorithms)
        facts.append(("collectives", ", ".join(uses)))
    print_facts(facts)
    rows = [
        [use.function, str(use.calls), format_time(use.time_s), format_time(use.waiting_s)]
        for use in result.functions
        if use.function not in ("MPI_Init", "MPI_Finalize")
    ]
    if rows:
        print_table(["function", "calls", "time", "waiting"], rows, right=["calls", "time", "waiting"])
    print_files(files)
