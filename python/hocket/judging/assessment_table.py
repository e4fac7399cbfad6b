"""Judgements of measured times in words."""

from __future__ import annotations

from collections.abc import Iterable

from hocket.base.table import Words
from hocket.base.units import format_bytes, format_ratio, format_time
from hocket.judging.assessment import CurveAssessment, Row
from hocket.judging.finding import Finding

_LABELS = {"cause": "cause", "hint": "look at", "unknown": "not known", "fine": "fine", "slow": "slow", "fast": "fast"}
_WORDS = ("grade", "expected time is", "runs like")
_COLUMNS = ("size", "measured", "expected", "nine of ten", "times", "grade", "lower bound", *_WORDS[1:])


def assessment_table(curve: CurveAssessment) -> Words | None:
    """Return the rows of a curve; None for a curve that was judged without a machine."""
    if not curve.rows:
        return None
    right = tuple(name for name in _COLUMNS if name not in _WORDS)
    return Words(_COLUMNS, tuple(map(_row, curve.rows)), right)


def _row(row: Row) -> tuple[str, ...]:
    return (
        format_bytes(row.size_bytes),
        format_time(row.measured_s),
        format_time(row.expected_s),
        f"{format_time(row.low_s)} to {format_time(row.high_s)}",
        format_ratio(row.factor),
        row.grade,
        "" if row.bound_s is None else format_time(row.bound_s),
        row.limit,
        _ran(row),
    )


def _ran(row: Row) -> str:
    if not row.guess.is_told:
        return "?"
    others = f" +{len(row.guess.programs) - 1}" if len(row.guess.programs) > 1 else ""
    return f"{row.guess.programs[0]}{others} ({row.guess.probability:.0%})"


def finding_lines(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Return a label and a sentence for each finding."""
    return [(_LABELS[one.kind], f"{one.sentence} [{one.source}]" if one.source else one.sentence) for one in findings]
