"""`hocket rules explain`: which line of a tuning file decides, and why."""

from __future__ import annotations

from dataclasses import asdict, replace
from os import path
from typing import Any

import click

from hocket._native import Error
from hocket.base.units import format_bytes, format_count
from hocket.cli.output import print_json, print_table, print_words
from hocket.cli.printing import say
from hocket.cli.rules.by_machine import decides_by_machine, explain_by_machine, given_machine
from hocket.cli.rules.options import command
from hocket.definitions.libraries import MPI_DEFAULTS
from hocket.definitions.machine import Machine
from hocket.rules.tuning_files.checking import LARGEST_ELEMENT
from hocket.rules.tuning_files.components import Component, InnerChoice
from hocket.rules.tuning_files.compositions import remark
from hocket.rules.tuning_files.deciding import Verdict, component_for, situation, verdicts
from hocket.rules.tuning_files.form import Rule, Rules, Situation, measured
from hocket.rules.tuning_files.formats import read
from hocket.rules.tuning_files.han import PRIORITIES
from hocket.rules.tuning_files.openmpi_han import LEVEL, LIBRARY, calls_by_level, level_of
from hocket.rules.tuning_files.translation import perform


@command()
def explain(
    file: str,
    ranks: int,
    ranks_per_node: int,
    size: int | None,
    element: int | None,
    collective: str | None,
    source_format: str | None,
    machine: Machine | None,
    as_json: bool,
) -> None:
    """Show which line of FILE decides a call, and why; for an MPI, also which component takes the call.

    The command assumes a predefined MPI operator and no MPI_IN_PLACE. Without --collective it explains every collective
    that FILE has rules for. With nccl-2 as FILE it prints the times by NCCL's table.
    """
    if decides_by_machine(file):
        explain_by_machine(given_machine(machine, file), ranks, size or 0, collective, as_json=as_json)
        return
    if machine is not None:
        raise click.UsageError(f"--machine: expected none, as {file} does not decide by the machine")
    rules = read(file, source_format)
    if collective is not None and collective not in rules.functions:
        raise Error(f'--collective: {file} has no rules for "{collective}", expected {", ".join(rules.functions)}')
    functions = [collective] if collective else rules.functions
    calls = [
        call
        for each in functions
        for call in calls_by_level(
            situation(each, ranks, size or 0, ranks_per_node=ranks_per_node, element_bytes=element),
            dict.fromkeys(map(level_of, rules.of(each))),
        )
    ]
    # An MPI takes a call by its name; the tuning files of Open MPI are for the calls that tuned takes.
    is_name = file in (*PRIORITIES, *MPI_DEFAULTS) and not path.exists(file)
    answers = [
        (call, component_for(file, call) if is_name else component_for(rules.library, call, rules)) for call in calls
    ]
    if as_json:
        print_json([_entry(rules, call, component) for call, component in answers])
        return
    for number, (call, component) in enumerate(answers):
        if number:
            say()
        _print(rules, call, component)


def _divides(component: Component | None) -> bool:
    """Return whether a component takes a call that does not ask the lines for all ranks."""
    return component is not None and (component.name == "han" or bool(component.inner))


def _print(rules: Rules, call: Situation, component: Component | None) -> None:
    level = f", {call.conditions[LEVEL]}" if rules.library == LIBRARY else ""
    say(
        f"{call.function} on {format_count(call.ranks, 'rank')}, {format_count(call.size_bytes, 'byte')}{level}",
        bold=True,
    )
    if component is not None:
        _print_component(component)
        if _divides(component):
            return
    all_verdicts = list(verdicts(rules, call))
    verdicts_of_ranks = [each for each in all_verdicts if call.ranks in each.rule.ranks]
    rows = [
        (str(each.rule.line or "-"), str(each.rule.choice or "left to the library"), each.why_not or "decides")
        for each in verdicts_of_ranks
    ]
    if rows:
        print_table(["line", "algorithm", "why"], rows, right=["line"])
    if others := len(all_verdicts) - len(verdicts_of_ranks):
        say(f"before these: {format_count(others, 'line')} for other numbers of ranks")
    print_words(_conclusion(rules, call, all_verdicts))
    if remark_text := _remark(rules, call, _decides(all_verdicts)):
        print_words(remark_text)


def _decides(all_verdicts: list[Verdict]) -> Rule | None:
    return all_verdicts[-1].rule if all_verdicts and not all_verdicts[-1].why_not else None


def _conclusion(rules: Rules, call: Situation, all_verdicts: list[Verdict]) -> str:
    last = _decides(all_verdicts)
    if last is None:
        return f"{rules.library} decides by itself: no line matches the call"
    if last.choice is None:
        return f"{rules.library} decides by itself: line {last.line} leaves the call to it"
    measure_value = measured(last.measure, call.size_bytes, call.ranks, call.element_bytes)
    what = {
        "size": "bytes of the message",
        "total": "bytes of all blocks",
        "share": "bytes of the message per rank",
        "type": "bytes of elements on all ranks",
    }
    counts = f", for {measure_value} {what[last.measure]}" if last.measure in what else ", for any size"
    where = f"line {last.line}" if last.line else f"{rules.library} by itself"
    return f"{perform(rules, last.choice, call).name}: {where}{counts}"


def _remark(rules: Rules, call: Situation, rule: Rule | None) -> str:
    """Return what a composition does; or what the library runs instead for a vector that may have too few elements."""
    if rule is None or rule.choice is None or remark(rule, call):
        return remark(rule, call)
    if why := perform(rules, rule.choice, replace(call, element_bytes=LARGEST_ELEMENT)).why:
        what = format_count(call.elements, "element")
        return f"{why}; this call has {what} of {format_count(call.element_bytes, 'byte')}, unless --element differs"
    return ""


def _entry(rules: Rules, call: Situation, component: Component | None) -> dict[str, Any]:
    all_verdicts = [] if _divides(component) else list(verdicts(rules, call))
    decides = _decides(all_verdicts)
    return {
        "collective": call.function,
        **({"level": call.conditions[LEVEL]} if rules.library == LIBRARY else {}),
        "ranks": call.ranks,
        "ranks_per_node": call.ranks_per_node,
        "size_bytes": call.size_bytes,
        "line": decides.line or None if decides else None,
        "algorithm": decides.choice.algorithm if decides and decides.choice else None,
        "parameters": dict(decides.choice.parameters) if decides and decides.choice else {},
        "passed": [{"line": each.rule.line, "why": each.why_not} for each in all_verdicts if each.why_not],
        "conclusion": _conclusion(rules, call, all_verdicts),
        "runs": str(perform(rules, decides.choice, call).choice) if decides and decides.choice else None,
        "remark": _remark(rules, call, decides),
        "component": None if component is None else asdict(component),
    }


def _print_component(component: Component) -> None:
    """Print which component takes a call and why, and what it runs."""
    print_words(f"{component.name} takes the call: {component.why}")
    if component.choice is None:
        return
    pieces = f" in {component.segments} segments, and for each of them" if component.segments > 1 else ""
    say(f"it runs {component.algorithm}{pieces}:")
    rows = [_row(each) for each in component.inner]
    print_table(["call", "on", "ranks", "size", "decided by", "algorithm"], rows, right=["ranks", "size"])
    print_words(f"in Hocket: {component.choice}")
    if component.remark:
        print_words(component.remark)


def _row(one: InnerChoice) -> tuple[str, ...]:
    function = one.call.function if one.call.segments == "each" else f"{one.call.function}, {one.call.segments}"
    where = "each node" if one.call.is_within else "one per node"
    return function, where, str(one.ranks), format_bytes(one.size_bytes), one.component, str(one.choice)
