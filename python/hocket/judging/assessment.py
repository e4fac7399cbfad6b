"""Measured times beside those that a machine takes, what follows from them, and both in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from hocket.base.results import Result, TextTable
from hocket.base.units import format_bytes, format_ratio, format_time
from hocket.judging.curves import Curve
from hocket.judging.finding import Finding
from hocket.judging.identifying import Guess

Grade: TypeAlias = Literal["fine", "slow", "fast"]
"""Whether a time is within what the machine's error allows, above, or below."""


@dataclass(frozen=True)
class LibraryChoice:
    """What a library chooses for a call: an algorithm in its words, and its simulated time; None if not known."""

    library: str
    choice: str | None
    time_s: float | None
    sentence: str = ""  # why
    costs: str = ""  # in words: whether the time has those of a protocol of the machine
    instead: str = ""  # what NCCL's table says, where a log tells another algorithm or protocol
    source: str = ""  # the line of the log; empty if rules or tables tell the choice


@dataclass(frozen=True)
class Row:
    """A size: its measured time, and what the machine takes."""

    size_bytes: int
    measured_s: float
    expected_s: float
    low_s: float  # nine of ten measured calls of the fastest program would be from here
    high_s: float  # to here
    fastest: str
    limit: str  # what its time is spent on most; empty if that is not known
    bound_s: float | None  # which no program can beat in isolated calls
    guess: Guess  # of the programs that probably ran
    guess_s: float | None  # the simulated time of the likeliest; None if that is none of the catalogue
    choice: LibraryChoice | None = None  # of the library by itself; None if its decisions are not known

    @property
    def factor(self) -> float:
        """The measured time over the expected time."""
        return self.measured_s / self.expected_s

    @property
    def excess(self) -> float:
        """How many times the measured time is beyond its range; at most 1 within it."""
        return max(self.measured_s / self.high_s, self.low_s / self.measured_s)

    @property
    def grade(self) -> Grade:
        """Whether the time is within what the machine's error allows."""
        if self.measured_s > self.high_s:
            return "slow"
        return "fast" if self.measured_s < self.low_s else "fine"

    def as_dict(self) -> dict[str, Any]:
        """Return the row as plain data."""
        names = ("size_bytes", "measured_s", "expected_s", "low_s", "high_s", "factor", "grade", "fastest", "limit",
                 "bound_s")  # fmt: skip
        return {
            **{name: getattr(self, name) for name in names},
            "guess": list(self.guess.programs),
            "probability": self.guess.probability,
            "guess_s": self.guess_s,
            "choice": self.choice and self.choice.choice,
            "choice_s": self.choice and self.choice.time_s,
            "choice_source": self.choice and self.choice.source,
        }


@dataclass(frozen=True)
class CurveAssessment:
    """A curve, judged beside a machine, or without one. The verdict is the first finding."""

    curve: Curve
    machine: str | None
    rows: tuple[Row, ...]  # for each size that the machine could be asked for; none without one
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Finding:
        """The first finding."""
        return self.findings[0]

    @property
    def headline(self) -> str:
        """The verdict in words, with the first cause."""
        return headline(self.findings)

    def as_dict(self) -> dict[str, Any]:
        """Return the curve as plain data."""
        one = self.curve.first
        return {
            "collective": one.collective,
            "algorithm": one.label,
            "ranks": one.ranks,
            "in_place": one.in_place,
            "measured_as": one.measured_as,
            "machine": self.machine,
            "findings": [asdict(finding) for finding in self.findings],
            "sizes": [row.as_dict() for row in self.rows]
            or [{"size_bytes": each.size_bytes, "measured_s": each.time_s} for each in self.curve.measurements],
        }


@dataclass(frozen=True)
class Assessment(Result):
    """Measured times, judged: what `hocket.judge` returns; `plot` draws them beside expected times, over sizes.

    Attributes:
        curves: The curves.
        findings: What the text says besides.
    """

    curves: tuple[CurveAssessment, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def title(self) -> str:
        """The verdicts of all curves."""
        return " ".join([one.headline for one in self.curves] or [headline(self.findings)])

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each curve and size."""
        return [
            {**{name: value for name, value in whole.items() if name not in ("findings", "sizes")}, **size}
            for whole in map(CurveAssessment.as_dict, self.curves)
            for size in whole["sizes"]
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "verdict": self.title,
            "curves": [one.as_dict() for one in self.curves],
            "findings": [asdict(finding) for finding in self.findings],
        }


_LABELS = {"hint": "look at", "unknown": "not known"}
_WORDS = ("grade", "mostly")
_COLUMNS = ("size", "measured", "expected", "up to", "times", "bound", *_WORDS)


def assessment_table(curve: CurveAssessment) -> TextTable | None:
    """Return the rows of a curve; None for a curve that was judged without a machine."""
    if not curve.rows:
        return None
    right = tuple(name for name in _COLUMNS if name not in _WORDS)
    return TextTable(_COLUMNS, tuple(map(_row, curve.rows)), right)


def _row(row: Row) -> tuple[str, ...]:
    size, times_s = format_bytes(row.size_bytes), (row.measured_s, row.expected_s, row.high_s)
    bound = "" if row.bound_s is None else format_time(row.bound_s)
    return (size, *map(format_time, times_s), format_ratio(row.factor), bound, row.grade, row.limit)


def headline(findings: Sequence[Finding]) -> str:
    """Return the verdict, which comes first, and the cause with its line, if one follows."""
    with_cause = findings[: len(findings) - len(below_headline(findings))]
    return " ".join(f"{words}." for _, words in finding_lines(with_cause))


def below_headline(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings that the headline does not have."""
    return tuple(findings[2 if [one.kind for one in findings[1:2]] == ["cause"] else 1 :])


def finding_lines(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Return a label and a sentence for each finding."""
    return [
        (_LABELS.get(one.kind, one.kind), f"{one.sentence} [{one.source}]" if one.source else one.sentence)
        for one in findings
    ]
