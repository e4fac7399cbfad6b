"""`hocket verify`: check whether an algorithm is right."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import click

from hocket.base.executors import ExecutorKind, open_executor
from hocket.base.units import format_count, format_ranks
from hocket.cli import options
from hocket.cli.command import command
from hocket.cli.effort import announce
from hocket.cli.output import answer, print_result, print_words, progress, width, with_version, wrap
from hocket.cli.printing import StyledText, note, say
from hocket.definitions.library import Algorithm, algorithms_named, is_collective, values_of
from hocket.definitions.verification import Finding, Verdict, plan
from hocket.schedules.formats import format_of, verify_file
from hocket.schedules.schedule import Sends
from hocket.traces import lint
from hocket.words.simulations import order
from hocket.words.verdicts import counterexample_text, exploration, exploration_parts, finding_text, unchecked_texts

_RANKS = (*range(1, 33), 33, 47, 64)
_MOST_S = 60.0  # of programs written in Python, for the default rank counts
_MOST_SHOWN = 3  # number of shown counterexamples
_SHOWN_GAPS = 10
_WRONG = 1


@command(algorithms=options.algorithms)
def verify(
    names: tuple[str, ...],
    is_all: bool,
    ranks: tuple[int, ...] | None,
    count: int | None,
    root: int | None,
    element: int | None,
    param: tuple[tuple[str, str], ...],
    algorithms: tuple[Algorithm, ...],
    executor: ExecutorKind,
    jobs: int,
    sends: Sends,
    yes: bool,
    as_json: bool,
) -> int:
    """Check an algorithm, or all of a collective, with every root, count and operator for each rank count.

    `hocket verify schedule FILE` checks the messages of a schedule; for MSCCL XML and plans of MSCCL++ it also
    checks the result and races.

    `hocket verify trace FILE` finds dependencies that Chakra execution traces probably lack.

    A parameter that is not given takes its default, and the other values that its declaration lists to try.

    The exit status is 0 if all that was checked is right, and 1 if there is a counterexample, or a dependency is
    probably missing.
    """
    if names and names[0] in _OPTIONS_OF_FILES:
        if (is_all, ranks, count, root, element, param) != (False, None, None, None, None, ()):
            raise click.UsageError(f"a {names[0]} is a file, expected no option but {_OPTIONS_OF_FILES[names[0]]}")
        if len(names) != 2:
            raise click.UsageError(f"got {len(names) - 1} files, expected {names[0]} FILE")
        if names[0] == "schedule":
            return _verify_schedule(names[1], sends, as_json)
        options.check_sends(sends)
        return _verify_trace(names[1], as_json)
    options.check_sends(sends)
    chosen_ones = _choose(names, is_all, algorithms)
    options.check_executor(executor, chosen_ones)
    work = plan(
        chosen_ones,
        ranks or _RANKS,
        parameters=values_of(param, chosen_ones),
        count=count,
        root=root,
        element_bytes=element or 1,
        is_drawn=ranks is None,
    )
    if ranks is None:
        # Leave out the rank counts at which Python programs take too long, and name those that stay.
        short = work.within(_MOST_S)
        if more := len(work.tasks) - len(short.tasks):
            left = format_ranks([task.ranks for task in short.tasks if task.algorithm.program is not None])
            many = f"the {format_count(more, 'larger rank count')} would take too long"
            note(f"P = {left} for programs in Python: {many}; --ranks names others")
        work = short
    announce(work.efforts_s(), jobs=jobs, yes=yes)
    with open_executor(executor, jobs=jobs, say=note) as pool, progress("verifying", len(work.tasks)) as on_done:
        verdict = work.run(executor=pool, on_done=on_done, most_s=2 * _MOST_S if ranks is None else None)
    # The order in which the reductions of the catalogue combine; None depends on the element or the size.
    combining = [{"collective": a.collective, "algorithm": a.name, "order": a.order} for a in chosen_ones if order(a)]
    entry = with_version({**_entry(verdict), "combining": combining})
    answer(entry, _print, verdict, {algorithm.label: algorithm for algorithm in chosen_ones}, as_json=as_json)
    return 0 if verdict.ok else _WRONG


def _verify_schedule(file: str, sends: Sends, as_json: bool) -> int:
    form = format_of(file)
    verdict = verify_file(file, sends=sends)
    (finding,) = verdict.findings
    if as_json:
        print_result(_entry(verdict))
    else:
        parts = [format_count(finding.ranks, "rank"), *exploration_parts(verdict.findings)]
        limit = f"; messages only: {form.lacks}" if form.lacks else ""
        _say_result(f"schedule {finding.algorithm}", verdict.findings, f"{', '.join(parts)}{limit}")
        for counterexample in verdict.counterexamples:
            _say_lines(counterexample["message"])
            is_ours = form.verify is None  # other checks say themselves which sends wait
            if is_ours and (counterexample["kind"], counterexample["protocol"]) == ("deadlock", "rendezvous"):
                say(f"  {options.BUFFERED_SENDS}")
    return 0 if verdict.ok else _WRONG


def _verify_trace(file: str, as_json: bool) -> int:
    findings = lint(file)
    if as_json:
        gaps = [{**vars(gap), "message": gap.message} for gap in findings.gaps]
        print_result({"ok": not gaps, "ranks": findings.ranks, "nodes": findings.nodes, "gaps": gaps})
    else:
        name = StyledText("ok", fg="green") if not findings.gaps else StyledText("SUSPECT", fg="red", bold=True)
        size = f"{format_count(findings.ranks, 'rank')}, {format_count(findings.nodes, 'node')}"
        say(f"trace {file}: ", name, f", {size}, {format_count(len(findings.gaps), 'probable gap')}")
        for gap in findings.gaps[:_SHOWN_GAPS]:
            print_words(gap.message)
        if len(findings.gaps) > _SHOWN_GAPS:
            say(f"and {format_count(len(findings.gaps) - _SHOWN_GAPS, 'more gap')}; --json prints all")
    return 0 if not findings.gaps else _WRONG


_OPTIONS_OF_FILES = {"schedule": "--sends and --json", "trace": "--json"}
"""Kinds of files, which are the first word of the command, and the options of each."""


def _choose(names: tuple[str, ...], is_all: bool, algorithms: tuple[Algorithm, ...]) -> tuple[Algorithm, ...]:
    if is_all and names:
        raise click.UsageError("got --all and a name, expected one of them")
    if is_all:
        return algorithms
    if not names:
        raise click.UsageError("expected COLLECTIVE, COLLECTIVE ALGORITHM, or --all")
    if len(names) == 1 and is_collective(names[0]):
        return algorithms_named(names[0], (), among=algorithms)
    return (options.one_algorithm(names, algorithms),)


def _entry(verdict: Verdict) -> dict[str, Any]:
    return {
        "ok": verdict.ok,
        "checked": verdict.checked,
        "counterexamples": verdict.counterexamples,
        "refused": [vars(refusal) for refusal in verdict.refusals],
        "exploration": exploration(verdict.findings),
        "orders": sum(finding.orders for finding in verdict.findings),
        "overtaking": max((finding.overtaking for finding in verdict.findings), default=0),
        "unchecked": [
            {
                "collective": f.collective,
                "algorithm": f.algorithm,
                "ranks": f.ranks,
                "calls": f.calls_left,
                "fewer_elements": f.fewer_elements,
            }
            for f in verdict.findings
            if f.calls_left or f.fewer_elements
        ],
    }


def _print(verdict: Verdict, algorithms: Mapping[str, Algorithm]) -> None:
    for label, group in groupby(verdict.findings, key=lambda finding: finding.label):
        findings = tuple(group)
        _say_result(label, findings, finding_text(findings))
        for sentence in unchecked_texts(findings):
            print_words(f"  {sentence}")
        for what, text in order(algorithms[label]):
            say(f"  {what}: {text}")
    for counterexample in verdict.counterexamples[:_MOST_SHOWN]:
        label = f"{counterexample['collective']}/{counterexample['algorithm']}"
        _say_lines(counterexample_text(counterexample, algorithms[label]))
    if len(verdict.counterexamples) > _MOST_SHOWN:
        left = format_count(len(verdict.counterexamples) - _MOST_SHOWN, "more counterexample")
        say(f"\nand {left}; --json prints all")
    calls_left = sum(finding.calls_left for finding in verdict.findings)
    left = f", {calls_left} not checked" if calls_left else ""
    say(f"\n{'ok' if verdict.ok else 'wrong'}: {format_count(verdict.checked, 'call')} checked{left}")


def _say_result(label: str, findings: tuple[Finding, ...], text: str) -> None:
    """Print a result; what is not checked has a line of its own if the line is too long."""
    is_wrong = any(finding.counterexamples for finding in findings)
    result = StyledText("WRONG", fg="red", bold=True) if is_wrong else StyledText("ok", fg="green")
    line = f"{label}: {result}, {text}"
    first, *further = [line] if len(line) <= width() else line.split("; ")
    start = len(f"{label}: {result}")
    first, *rest = wrap(first, inner="  ")
    say(f"{label}: ", result, first[start:])
    for continuation in (*rest, *(f"  {part}" for part in further)):
        print_words(continuation)


def _say_lines(text: str) -> None:
    """Print the lines of a counterexample below an empty line."""
    say()
    for line in text.rstrip().split("\n"):
        print_words(line)
