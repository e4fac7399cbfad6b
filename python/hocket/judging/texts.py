"""Texts with measured times: what they measure, and what they say besides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from hocket._native import Error
from hocket.definitions.library import find_collective
from hocket.judging.failures import Failures, failures_in
from hocket.judging.finding import Finding
from hocket.judging.mention import Mentions
from hocket.judging.mentions import mentions_of
from hocket.judging.message_tables import Table, tables_in, without_rows
from hocket.measurements.cuts import first_like_row, without_lines
from hocket.measurements.formats import cuts_in, measurements_in
from hocket.measurements.measurement import DEFAULT, Facts, Measurement, Reading


class Text(NamedTuple):
    """The output of a benchmark.

    Attributes:
        text: The text.
        file: The name of its file.
        facts: What it does not tell.
    """

    text: str
    file: str
    facts: Facts


@dataclass(frozen=True)
class Source:
    """A text that was read.

    Attributes:
        own_mentions: What it says of the machine and of the run.
        mentions: The same, with what the user tells.
        measurements: Its measured times.
        refusal: Why it has none that can be read; None if it has some.
        text: The text without rows that lack their end.
        cuts: Sentences on these rows.
        conclusions: Sentences on what follows from its rows where it does not tell it.
        failures: Which of its results are wrong; None if none is.
        messages: Its tables of messages between two ranks, which are no measurements of collectives.
    """

    own_mentions: Mentions
    mentions: Mentions
    measurements: tuple[Measurement, ...]
    refusal: Error | None
    text: str
    cuts: tuple[str, ...]
    conclusions: tuple[str, ...]
    failures: Failures | None
    messages: tuple[Table, ...]

    @property
    def is_of_messages(self) -> bool:
        """Whether all that looks like a row belongs to a table of messages."""
        others = without_rows(self.text, self.messages).split("\n")
        return bool(self.messages) and first_like_row(others) is None

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """Findings on what is left out, and on what follows from the rows."""
        return (
            *(Finding("unknown", cut, "cut row") for cut in self.cuts),
            *(Finding("hint", sentence, "ranks") for sentence in self.conclusions),
        )


def read(text: Text) -> Source:
    """Return what a text has. What neither its tables nor the user tell is taken from the rest of the text.

    Raises:
        Error: The user names an unknown collective, another one than the text, or an algorithm without times that can
            be its own.
    """
    collective = None if text.facts.collective is None else find_collective(text.facts.collective)
    cuts = cuts_in(text.text, text.file)
    rest = text._replace(text=without_lines(text.text, cuts))
    own_mentions = mentions_of(rest.text, text.file)
    facts_of_user = {name: value for name, value in vars(text.facts).items() if value is not None}
    mentions = replace(own_mentions, facts=replace(own_mentions.facts, **facts_of_user))
    messages = tables_in(rest.text, text.file)
    names_algorithm = text.facts.algorithm is not None  # so only measurements of collectives will do
    own_text = text if names_algorithm else text._replace(text=without_rows(text.text, messages))
    reading, refusal = _reading(own_text, mentions.facts)
    measurements = reading.measurements
    names = {one.collective for one in measurements} or {own_mentions.facts.collective} - {None}
    if collective is not None and names and collective not in names:
        own_names = " and ".join(sorted(map(str, names)))
        raise Error(f"{text.file}: measures {own_names}, but --collective is {collective}, expected the same")
    return Source(
        own_mentions,
        mentions,
        tuple(one for one in measurements if collective in (None, one.collective)),
        refusal,
        rest.text,
        tuple(dict.fromkeys((*cuts.values(), *reading.cuts))),
        reading.remarks,
        failures_in(rest.text, text.file),
        messages,
    )


def _reading(text: Text, facts: Facts) -> tuple[Reading, Error | None]:
    """Return the measurements of a text, or why it has none; `facts` are what the user or the text itself tells.

    The number of ranks that a text tells counts only if its tables do not tell it.

    Raises:
        Error: It has none that can be of the algorithm that the user names.
    """
    facts = replace(facts, algorithm=facts.algorithm or DEFAULT)
    refusal: Error | None = None
    for attempt in dict.fromkeys((replace(facts, ranks=text.facts.ranks), facts)):
        try:
            reading = measurements_in(text.text, text.file, attempt)
            if not reading.measurements:
                raise Error(f"{text.file}: nothing to judge, expected times of a collective that Hocket has")
            return reading, None
        except Error as error:
            refusal = error
    if refusal is not None and text.facts.algorithm is not None:
        raise refusal
    return Reading(()), refusal


def runs_of(sources: Iterable[Source]) -> tuple[Measurement, ...]:
    """Return the measurements of some texts.

    Raises:
        Error: A text has no measurements, or does not tell what it must.
    """
    runs: list[Measurement] = []
    for source in sources:
        if source.refusal is not None:
            raise source.refusal
        runs.extend(source.measurements)
    return tuple(runs)
