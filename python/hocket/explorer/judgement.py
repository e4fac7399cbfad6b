"""The judgement of measured times in words, and what the form tells of a pasted text."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

from hocket._native import Error
from hocket.base.table import TextTable
from hocket.base.units import format_count
from hocket.explorer.questions import Question
from hocket.judging.assessment import Assessment, assessment_table, finding_lines
from hocket.measurements.formats import measurements_in
from hocket.measurements.measurement import DEFAULT, Facts


def facts_of(question: Question) -> Facts:
    """Return what the pasted text does not tell: its ranks and its collective are those of the form."""
    ranks, collective = question.ranks[-1], question.collective
    for told_collective, told_ranks in product((None, collective), (None, ranks)):
        facts = Facts(DEFAULT, told_ranks, collective=told_collective)
        with suppress(Error):
            measurements_in(question.output, "", facts)
            break
    return facts


def form_lines(facts: Facts) -> list[tuple[str, str]]:
    """Return what the form tells of a text."""
    parts = [facts.collective or "", "" if facts.ranks is None else format_count(facts.ranks, "rank")]
    words = ", ".join(part for part in parts if part)
    return [("from the form", words)] if words else []


def judgement_title(assessment: Assessment) -> str:
    """Return the verdict of a curve, or how many curves have which verdict."""
    if len(assessment.curves) == 1:
        return assessment.title
    kinds = [one.verdict.kind for one in assessment.curves]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    return f"{format_count(len(kinds), 'curve')}: {counts}"


def judgement_lines(assessment: Assessment) -> list[tuple[str, str]]:
    """Return what follows besides the title."""
    lines: list[tuple[str, str]] = []
    for one in assessment.curves:
        lines += [(one.curve.title, f"{one.verdict.sentence}.")] if len(assessment.curves) > 1 else []
        lines += finding_lines(one.findings[1:])
    return [*lines, *finding_lines(assessment.findings)]


def judgement_tables(assessment: Assessment) -> list[TextTable]:
    """Return one table for all curves; none for times that were judged without a machine."""
    tables = [(one, table) for one in assessment.curves if (table := assessment_table(one)) is not None]
    if len(assessment.curves) <= 1:
        return [table for _, table in tables]
    rows = tuple((one.curve.title, *row) for one, table in tables for row in table.rows)
    return [TextTable(("call", *table.columns), rows, table.right) for _, table in tables[:1]]
