"""Whether measured times are good: the entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from itertools import groupby
from os import PathLike, fspath
from typing import TypeAlias

from hocket._native import Error
from hocket.base.call import MeasuredAs
from hocket.base.checks import several
from hocket.base.files import read_text
from hocket.base.units import from_to
from hocket.definitions.machine import Machine, MachineLike, as_machine
from hocket.judging.assessment import Assessment, CurveAssessment, Row
from hocket.judging.by_text import causes_by_text, judge_alone, judge_point_to_point
from hocket.judging.causes import statements
from hocket.judging.curves import Curve, curves_of
from hocket.judging.expecting import Expectation, expect
from hocket.judging.faults import Fault, other_text
from hocket.judging.finding import Finding, conclude
from hocket.judging.library_choices import choice_findings, choices_of, library_of_text
from hocket.judging.lines import FORMS
from hocket.judging.mention import Mentions
from hocket.judging.mentions import mentions_of
from hocket.judging.suspects import contradictions
from hocket.judging.tables import rows_in
from hocket.judging.texts import Source, Text, read
from hocket.judging.verdicts import findings_of, shape_findings
from hocket.measurements.measurement import Facts, Measurement
from hocket.rules.tuning_files.counterparts import library_of

_MODELS = {name: FORMS[f"GPUs of {name}"] for name in ("volta", "ampere", "hopper", "blackwell")}
"""The models of each generation that machine files name (`gpu.generation`)."""


def _other_generation(machine: Machine, mentions: Mentions) -> Iterator[Finding]:
    """Give that a text is of GPUs of another generation than the machine has, if it names those of one only."""
    own = machine.quantities.get("gpu.generation")
    first = {name: one for one in mentions.of("gpu") for name, models in _MODELS.items() if models.match(one.value)}
    if own is not None and len(first) == 1 and own not in first:
        ((name, one),) = first.items()
        sentence = f"{one.sentence}, of generation {name}, machine {machine.name} has {own}: expect other times"
        yield Finding("hint", sentence, "gpu", one.source)


def _judge(
    curve: Curve, mentions: Mentions, machine: Machine | None, library: str | None, executor: Executor | None
) -> CurveAssessment:
    ran = [one for one in mentions.of("ran") if one.value.split()[0] == curve.first.collective]
    of_log = [Finding("hint", f"{curve.call}: {one.sentence}", "what ran", one.source) for one in ran]
    if machine is None:
        verdict, *others = judge_alone(curve.runs, mentions)
        first = (*of_log, verdict) if verdict.kind == "unknown" else (verdict, *of_log)
        findings = (*first, *others, *shape_findings(curve.measurements))
        return CurveAssessment(curve, None, (), findings)
    library = library or library_of_text(mentions, machine, curve.first.collective)
    step = -(-len(curve.measurements) // _MOST_SIZES)
    few = replace(curve, measurements=curve.measurements[::step])
    expectation = expect(few, machine, library=library, executor=executor)
    choices = choices_of(expectation, mentions)
    rows = tuple(replace(_row(expectation, size), choice=choices.get(size)) for size in expectation.sizes_bytes)
    of_text = (*choice_findings(choices, mentions), *_other_generation(machine, mentions))
    own_causes = [one for one in causes_by_text(curve.runs, mentions) if one.source]
    causes = [one for one in own_causes if one.kind == "cause"]
    verdict, *others = findings_of(expectation, rows, mentions, is_told=bool(causes))
    if verdict.kind != "slow":
        own_causes, causes = [], []
    findings = (verdict, *causes, *of_log, *others, *(one for one in own_causes if one not in causes), *of_text)
    remarks = list[Finding]()
    if step > 1:
        remarks.append(conclude("sizes left out", number=len(few.measurements), sizes=len(curve.measurements)))
    if expectation.left_out:
        remarks.append(conclude("programs left out", programs=", ".join(expectation.left_out)))
    return CurveAssessment(curve, machine.name, rows, tuple(dict.fromkeys((*findings, *remarks))))


def _row(expectation: Expectation, size_bytes: int) -> Row:
    fastest = expectation.fastest(size_bytes)
    low_s, high_s = expectation.between_s(fastest, size_bytes)
    ran = expectation.guess([size_bytes])
    times_s = {label: each.time_s.mean for (label, size), each in expectation.simulations.items() if size == size_bytes}
    measured_s, guess_s = expectation.measured_s[size_bytes], times_s[ran.programs[0]] if ran.programs else None
    limit, bound_s = expectation.limits.get(size_bytes, ""), expectation.bounds_s.get(size_bytes)
    return Row(size_bytes, measured_s, times_s[fastest], low_s, high_s, fastest, limit, bound_s, ran, guess_s)


_MOST_SIZES = 64

Measured: TypeAlias = "str | PathLike[str] | Iterable[Measurement]"
"""The path of a file, a text of several lines, or measurements."""

TEXT_NAME = "text"  # the name of a text that comes from no file, in errors


def judge(
    measured: Measured,
    *,
    machine: MachineLike | None = None,
    library: str | None = None,
    collective: str | None = None,
    algorithm: str | None = None,
    ranks: int | None = None,
    ranks_per_node: int | None = None,
    measured_as: MeasuredAs = "isolated",
    executor: Executor | None = None,
) -> Assessment:
    """Return whether measured times of collectives are good, what limits them, and which algorithms ran.

    Args:
        measured: The path of a benchmark's output, the text itself, or measurements.
        machine: The machine; without one, times are judged by themselves and by what the text says of the machine.
        library: The library that ran, such as "openmpi-5.0", if it is known.
        collective: The collective, where the text does not name it.
        algorithm: The algorithm that ran, if it is known.
        ranks: Number of ranks, where the text does not tell it.
        ranks_per_node: Ranks on a node, where the text does not tell it.
        measured_as: How the times of a plain table were measured.
        executor: Who simulates.

    Raises:
        Error: The text has no measurements or does not tell what it must; or the machine cannot run such calls.

    Examples:
        >>> import hocket
        >>> text = '''
        ... # OSU MPI Allreduce Latency Test v7.5
        ... # Size       Avg Latency(us)
        ... 65536                 390.20
        ... 262144               1100.00
        ... '''
        >>> found = hocket.judge(text, machine="lumi", ranks=128)
        >>> [(row.grade, row.fastest) for row in found.curves[0].rows]
        [('slow', 'sra_knomial'), ('slow', 'sra_knomial')]
    """
    facts = Facts(algorithm, ranks, (), measured_as, collective, ranks_per_node)
    model = None if machine is None else as_machine(machine)
    if isinstance(measured, str | PathLike):
        is_text = isinstance(measured, str) and "\n" in measured
        text = Text(str(measured), TEXT_NAME, facts) if is_text else Text(read_text(measured), fspath(measured), facts)
        return judge_sources([read(text)], machine=model, library=library, executor=executor)
    measurements = several("measured", measured, Measurement, "hocket.Measurement")
    name = None if library is None else library_of(library).name
    mentions = mentions_of("", TEXT_NAME)
    return _assess(measurements, lambda curve: _judge(curve, mentions, model, name, executor))


def judge_sources(
    sources: Sequence[Source],
    *,
    machine: Machine | None = None,
    library: str | None = None,
    executor: Executor | None = None,
) -> Assessment:
    """Judge the runs of some texts; as `judge`. Of times that were measured several times, the median is judged."""
    library = None if library is None else library_of(library).name
    refusals = [one for one in sources if one.refusal is not None and not one.is_of_messages]
    unread = [one for source in refusals for one in _without_rows(source, machine)]
    first = sources[0].own_mentions
    mentions = first if len(sources) == 1 else mentions_of("\n".join(one.mentions.text for one in sources), first.file)
    messages = [one for source in sources for table in source.messages for one in judge_point_to_point(table, mentions)]
    measurements = [one for source in sources for one in source.measurements]
    has_several = len({one.collective for one in measurements}) > 1
    violations = [*contradictions(curves_of(measurements))] if has_several else []
    assessment = _assess(measurements, lambda curve: _judge(curve, mentions, machine, library, executor))
    faults = [fault for source in sources for fault in source.faults]
    curves = tuple(_with_suspects(one, faults, violations) for one in assessment.curves)
    remarks = [one for source in sources for one in source.remarks]
    if len(sources) > 1:
        remarks.insert(0, conclude("several files", files=", ".join(source.mentions.file for source in sources)))
    findings = dict.fromkeys((*messages, *unread, *assessment.findings, *remarks))
    return replace(assessment, curves=curves, findings=tuple(findings))


def _with_suspects(one: CurveAssessment, faults: Sequence[Fault], violations: Sequence[Finding]) -> CurveAssessment:
    """Return a curve with what is wrong with its rows first, and with its contradiction to other curves of the text."""
    lines = {run.source for run in one.curve.runs}
    own = [fault.finding for fault in faults if fault.sources & lines]
    findings = [*one.findings]
    is_of_hocket = any(each.subject == "what ran" for each in one.findings)
    for finding in (each for each in violations if each.source in lines and not is_of_hocket):
        is_first = one.verdict.kind != "slow"
        findings[0 if is_first else 1 : 1] = [finding if is_first else replace(finding, kind="cause")]
    return replace(one, findings=(*own, *findings))


def _without_rows(source: Source, machine: Machine | None) -> Iterator[Finding]:
    """Give what follows from a text whose rows cannot be read; refuse it if nothing does, or a machine is asked."""
    assert source.refusal is not None
    names_a_line = str(source.refusal).removeprefix(source.mentions.file)[1:2].isdecimal()
    if machine is not None or names_a_line:
        raise source.refusal
    findings = judge_alone((), source.mentions)
    has_answer = findings[0].kind != "unknown" or any(one.kind == "cause" for one in findings)
    rows = rows_in(source.mentions.text, source.mentions.file)
    if findings[0].subject == "numbers" or not (has_answer or rows is not None):
        if (other := other_text(source.mentions.text, source.mentions.file)) is None:
            raise source.refusal
        yield from (other, *statements(source.mentions))
        return
    yield from (fault.finding for fault in source.faults)
    yield from findings
    if rows is not None and rows.cut:
        yield Finding("unknown", rows.cut, "cut row")
    yield Finding("unknown", str(source.refusal), "rows")


def _assess(measurements: Iterable[Measurement], look: Callable[[Curve], CurveAssessment]) -> Assessment:
    judgements, refusals = list[CurveAssessment](), list[Error]()
    for curve in curves_of(measurements):
        try:
            judgements.append(look(curve))
        except Error as error:
            refusals.append(error)
    if refusals and not judgements:
        raise refusals[0]
    common = _in_common(judgements)
    own = tuple(replace(one, findings=tuple(each for each in one.findings if each not in common)) for one in judgements)
    return Assessment(own, (*common, *(Finding("unknown", str(one), "not judged") for one in refusals)))


def _in_common(judgements: Iterable[CurveAssessment]) -> tuple[Finding, ...]:
    """Return what several curves have in common: what the text says, or does not."""
    counts = Counter(
        finding
        for one in judgements
        for finding in dict.fromkeys(one.findings[1:])
        if one.machine is None or finding.kind == "unknown" or finding.source
    )
    return tuple(finding for finding, count in counts.items() if count > 1)


def changes_of_algorithms(before: Assessment, after: Assessment) -> tuple[Finding, ...]:
    """Return where another algorithm runs after than before, as far as both can be told."""
    findings = list[Finding]()
    ran = {(one.curve.title, row.size_bytes): row.guess for one in before.curves for row in one.rows}
    for title, rows in ((one.curve.title, one.rows) for one in after.curves):
        pairs = [(row.size_bytes, one, row.guess) for row in rows if (one := ran.get((title, row.size_bytes)))]
        for (old, new), group in groupby(pairs, key=lambda pair: (pair[1].programs, pair[2].programs)):
            run = [*group]
            are_told = all(was.is_told and now.is_told for _, was, now in run)
            if are_told and not {*old} & {*new}:
                where = from_to(run[0][0], run[-1][0])
                findings.append(conclude("another program", title=title, where=where, after=new[0], before=old[0]))
    return tuple(findings)
