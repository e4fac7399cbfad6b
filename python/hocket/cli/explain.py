"""`hocket explain`: why a call takes as long as it does, and what would shorten it."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.results import TextTable
from hocket.cli import options
from hocket.cli.command import command
from hocket.cli.effort import announce
from hocket.cli.output import print_facts, print_result, print_table, progress, write_picture
from hocket.cli.printing import say
from hocket.definitions.library import Algorithm
from hocket.definitions.machine import Machine
from hocket.rules.nccl.defaults import decision_on
from hocket.rules.nccl.table import LIBRARY
from hocket.rules.tuning_files.hocket_rules import of_function
from hocket.simulating.explanation import Explanation, effort_s
from hocket.simulating.explanation import explain as explain_call
from hocket.simulating.simulation import Trials
from hocket.words.explanations import explanation_facts, explanation_tables, ranks_of_path


@command(
    call_of=options.call_of,
    machine=options.machine,
    how=("engine", "scene"),
    scene=options.scene_without_cadence,
    algorithms=options.algorithms,
)
def explain(
    names: tuple[str, ...],
    ranks: int,
    size: int | None,
    call_of: partial[Call],
    machine: Machine,
    how: dict[str, Any],
    seed: int,
    plot: str | None,
    algorithms: tuple[Algorithm, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """Explain the time of a call of an algorithm: what it is spent on, and what would shorten it.

    The time is the length of the critical path: a chain of operations and messages, each waiting for the one before.
    With late ranks, the path begins at the rank that the call waits for.
    """
    algorithm = options.one_algorithm(names, algorithms)
    call = call_of([algorithm], ranks=ranks, size_bytes=options.size_of(algorithm, size))
    announce([effort_s(algorithm, call, machine=machine, among=algorithms)], yes=yes)
    with progress("explaining", None):
        trials = Trials(count=1, seed=seed)
        explanation = explain_call(algorithm, call, machine=machine, trials=trials, among=algorithms, **how)
    write_picture(plot, explanation.plot)
    decision = None
    if machine.has_gpus:
        with suppress(Error):  # NCCL has no such collective
            decision = decision_on(machine, of_function(algorithm.collective), call.ranks, call.size_bytes)
    if as_json:
        print_result({**explanation.as_dict(), "nccl": decision and decision.as_dict(), "plot": plot})
        return
    _print(explanation)
    print_facts([(LIBRARY, decision.sentence)] if decision else [])
    if plot is not None:
        say(f"\nplot: {plot}")


def _print(explanation: Explanation) -> None:
    say(explanation.title, bold=True)
    print_facts(explanation_facts(explanation))
    if not explanation.steps:
        say(f"nothing takes time{' after the last arrival' if explanation.simulation.arrivals else ''}")
        return
    parts, steps, remedies, faster = explanation_tables(explanation)
    _print_words(parts)
    print_facts([("ranks", ranks_of_path(explanation.steps))])
    _print_words(steps)
    _print_words(remedies)
    if faster is None:
        say("no algorithm of the catalogue is faster here")
        return
    _print_words(faster)


def _print_words(table: TextTable) -> None:
    print_table(table.columns, table.rows, right=table.right)
