"""`hocket judge`: whether measured times are good, what limits them, which algorithm ran, and what changed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial

import click

from hocket.base.executors import ExecutorKind, open_executor
from hocket.base.files import read_text
from hocket.base.units import format_bytes, format_ratio, format_time
from hocket.cli import options
from hocket.cli.command import command
from hocket.cli.measurements import FORMATS_MEASURED, facts_of
from hocket.cli.output import hand_out, print_facts, print_files, print_table, print_words, progress, tell_people
from hocket.cli.printing import note, say
from hocket.definitions.machine import Machine
from hocket.judging.assessment import Assessment, assessment_table, below_headline, finding_lines
from hocket.judging.changes import Changes, changes
from hocket.judging.finding import Finding
from hocket.judging.judge import TEXT_NAME, changes_of_algorithms, judge_sources
from hocket.judging.pairs import several_fields
from hocket.judging.texts import ANY_RANKS, Text, columns_of, read, runs_of
from hocket.measurements.measurement import Facts, NoRanksError

_MOST_POINTS = 40


_STDIN, _STDIN_FILE = "-", "/dev/stdin"


@command(fields=FORMATS_MEASURED, facts_of=facts_of)
def judge(
    files: tuple[str, ...],
    machine: Machine | None,
    library: str | None,
    before: tuple[str, ...],
    tolerance: float,
    facts_of: Callable[[int], list[Facts]],
    plot: str | None,
    executor: ExecutorKind,
    jobs: int,
    as_json: bool,
) -> None:
    """Judge measured times of collectives: whether they are good, what limits them, and which algorithm ran.

    FILES are measured times, also within logs and pasted text: {formats}. `-` reads pasted text up to Ctrl-D. Two files
    are a run from before and one from after: the command says what changed, and its exit status is 1 if a time did.
    """
    options.check_files({"--plot": plot})
    if len(files) == 2 and not before:
        before, files = files[:1], files[1:]
    facts = facts_of(len(before) + len(files))
    texts = [
        Text(_read(file), TEXT_NAME if file == _STDIN else file, lacking)
        for file, lacking in zip((*before, *files), facts, strict=True)
    ]
    remarks = list[Finding]()
    if len(texts) == 1 and (columns := columns_of(texts[0])):
        one, other, *more = columns
        left_out = f"; left out: {', '.join(more)}" if more else ""
        remarks.append(Finding("hint", f"before is the column {one}, after is {other}{left_out}", "columns"))
        texts, before = [columns[one], columns[other]], files
    pool = click.get_current_context().with_resource(open_executor(executor, jobs=jobs, say=note))
    with progress("reading", None):
        all_sources = [read(text) for text in texts]
        lacks_ranks = before and machine is None and all(isinstance(one.refusal, NoRanksError) for one in all_sources)
        if lacks_ranks:
            all_sources = [read(each._replace(facts=replace(each.facts, ranks=ANY_RANKS))) for each in texts]
    sources_before, sources = all_sources[: len(before)], all_sources[len(before) :]
    look = partial(judge_sources, machine=machine, library=library, executor=pool)
    give = partial(hand_out, plot=plot, output=None, as_json=as_json)
    if not sources_before:
        with progress("simulating", None):
            assessment = look(sources)
        give(assessment.as_dict(), draw=assessment.plot, show=partial(_show, assessment))
        return
    outcome = changes(runs_of(sources_before), runs_of(sources), tolerance=tolerance, knows_ranks=not lacks_ranks)
    faults = [fault.finding for source in all_sources for fault in source.faults]
    remarks += [one for source in all_sources for one in source.remarks]
    outcome = replace(outcome, findings=(*faults, *outcome.findings, *remarks))
    algorithms = changes_of_algorithms(look(sources_before), look(sources)) if machine is not None else ()
    entry = {**outcome.as_dict(), "algorithms": [asdict(one) for one in algorithms]}
    give(entry, draw=outcome.plot, show=partial(_show_changes, outcome, algorithms))
    if outcome.of("slower") or outcome.of("faster"):
        click.get_current_context().exit(1)


def _read(file: str) -> str:
    if file == _STDIN and sys.stdin.isatty():
        tell_people("paste the output of a benchmark, then press Ctrl-D")
    return read_text(_STDIN_FILE if file == _STDIN else file)


def _show(assessment: Assessment, files: Mapping[str, str | None]) -> None:
    for number, curve in enumerate(sorted(assessment.curves, key=lambda one: one.verdict.kind != "slow")):
        if number:
            say("")
        print_words(curve.headline, bold=True, inner=0)
        if (table := assessment_table(curve)) is not None:
            print_table(table.columns, table.rows, right=table.right)
        print_facts(finding_lines(below_headline(curve.findings)))
    findings = assessment.findings
    if not assessment.curves:
        print_words(assessment.title, bold=True, inner=0)
        findings = below_headline(findings)
    print_facts(finding_lines(findings))
    print_files(files)


def _show_changes(outcome: Changes, algorithms: Sequence[Finding], files: Mapping[str, str | None]) -> None:
    print_words(f"{outcome.sentence[0].upper()}{outcome.sentence[1:]}.", bold=True, inner=0)
    points = outcome.changes
    if len(points) > _MOST_POINTS:
        points = tuple(one for one in points if one.direction in ("slower", "faster"))
    several = several_fields(one.series for one in points)
    columns = (*(["calls"] if several else []), "size", "before", "after", "times", "95 %", "", "from")
    rows = [
        (
            *([one.series.text(several)] if several else []),
            format_bytes(one.size_bytes),
            *map(format_time, (one.before_s, one.after_s)),
            format_ratio(one.ratio),
            "" if one.ratio_low is None or one.ratio_high is None else f"{one.ratio_low:.2f} to {one.ratio_high:.2f}",
            *(one.direction, one.basis),
        )
        for one in points
    ]
    print_table(columns, rows, right=("size", "before", "after", "times"))
    print_facts(finding_lines([*outcome.findings[1:], *algorithms]))
    print_files(files)
