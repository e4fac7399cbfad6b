"""The judgement of a question's measured times: of the pasted text, or else of the measured files."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import chain

from hocket._native import Error
from hocket.base.units import format_count
from hocket.explorer.questions import Question
from hocket.judging.assessment import Assessment, CurveAssessment
from hocket.judging.judge import PASTED, judge, judge_text
from hocket.measurements.formats import measurements_in
from hocket.measurements.measurement import DEFAULT, Facts
from hocket.words.assessments import assessment_table, finding_lines
from hocket.words.table import Words


def facts_of(question: Question) -> Facts:
    """Return what the pasted text does not tell: its ranks and its collective are those of the form."""
    ranks, collective = question.ranks[-1], question.collective
    *partial, whole = (
        Facts(DEFAULT),
        Facts(DEFAULT, ranks),
        Facts(DEFAULT, collective=collective),
        Facts(DEFAULT, ranks, collective=collective),
    )
    for facts in partial:
        with suppress(Error):
            measurements_in(question.pasted, PASTED, facts)
            return facts
    return whole


def assess(question: Question) -> Assessment:
    """Return the judgement.

    Raises:
        Error: There is nothing to judge, or the text or the machine is not right for it.
    """
    machine = None if question.is_judged_alone else question.machine
    if question.pasted:
        found = judge_text(question.pasted, PASTED, facts_of(question), machine=machine)
        if not found.curves:
            raise Error(f"{PASTED}: has no times of a collective that Hocket has")
        return found
    if not question.judged:
        raise Error("nothing to judge, expected the output of a benchmark, or measured times of such calls")
    return judge(chain.from_iterable(question.judged.values()), machine=machine)


def form_lines(question: Question) -> list[tuple[str, str]]:
    """Return what the form tells of the pasted text."""
    if not question.pasted:
        return []
    facts = facts_of(question)
    parts = [facts.collective or "", "" if facts.ranks is None else format_count(facts.ranks, "rank")]
    told = ", ".join(part for part in parts if part)
    return [("from the form", told)] if told else []


def judgement_title(found: Assessment) -> str:
    """Return the verdict of a curve, or how many curves have which verdict."""
    if len(found.curves) == 1:
        return found.title
    kinds = [one.verdict.kind for one in found.curves]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    return f"{format_count(len(kinds), 'curve')}: {counts}"


def judgement_lines(found: Assessment) -> list[tuple[str, str]]:
    """Return what follows besides the title."""
    lines = chain.from_iterable(_lines(one, has_verdict=len(found.curves) > 1) for one in found.curves)
    return [*lines, *((one.subject, one.sentence) for one in found.findings)]


def _lines(one: CurveAssessment, *, has_verdict: bool) -> Iterable[tuple[str, str]]:
    verdict = [(one.curve.title, f"{one.verdict.sentence}.")] if has_verdict else []
    return [*verdict, *finding_lines(one)]


def judgement_tables(found: Assessment) -> list[Words]:
    """Return one table for all curves; none for times that were judged without a machine."""
    tables = [(one, table) for one in found.curves if (table := assessment_table(one)) is not None]
    if len(found.curves) <= 1:
        return [table for _, table in tables]
    rows = tuple((one.curve.title, *row) for one, table in tables for row in table.rows)
    return [Words(("call", *table.columns), rows, table.right) for _, table in tables[:1]]
