"""Texts with measured times: what they measure, and what they say besides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from hocket._native import Error
from hocket.definitions.library import find_collective
from hocket.judging.faults import Fault, early_end, failures_in
from hocket.judging.finding import Finding
from hocket.judging.mention import Mentions, Table
from hocket.judging.mentions import mentions_of
from hocket.judging.tables import tables_in
from hocket.measurements.cuts import first_like_row, without_lines
from hocket.measurements.formats import cuts_in, measurements_in
from hocket.measurements.margins import readable
from hocket.measurements.measurement import DEFAULT, Facts, Measurement, Reading
from hocket.measurements.table import columns_apart


class Text(NamedTuple):
    """The output of a benchmark, the name of its file, and what it does not tell."""

    text: str
    file: str
    facts: Facts


@dataclass(frozen=True)
class Source:
    """A text that was read: what it says of machine and run, but in rows that lack their end, and its times."""

    own_mentions: Mentions
    mentions: Mentions  # with what the user tells
    measurements: tuple[Measurement, ...]
    refusal: Error | None  # why it has no times that can be read
    remarks: tuple[Finding, ...]  # on what is left out, and on what follows from the rows
    faults: tuple[Fault, ...]  # wrong results, and a table that ends early
    messages: tuple[Table, ...]  # between two ranks, so no measurements of collectives
    is_of_messages: bool  # whether all that looks like a row may belong to them


def read(text: Text) -> Source:
    """Return what a text has. What neither its tables nor the user tell is taken from the rest of the text."""
    collective = None if text.facts.collective is None else find_collective(text.facts.collective)
    cuts = cuts_in(text.text, text.file)
    rest = without_lines(text.text, cuts)
    own_mentions = mentions_of(rest, text.file)
    facts_of_user = {name: value for name, value in vars(text.facts).items() if value is not None}
    mentions = replace(own_mentions, facts=replace(own_mentions.facts, **facts_of_user))
    messages = tables_in(rest, text.file)
    rows = {row for table in messages for row in table.rows}
    names_algorithm = text.facts.algorithm is not None  # so only measurements of collectives will do
    own_text = text if names_algorithm else text._replace(text=without_lines(text.text, rows))
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
        (
            *(Finding("unknown", cut, "cut row") for cut in dict.fromkeys((*cuts.values(), *reading.cuts))),
            *(Finding("hint", sentence, "ranks") for sentence in reading.remarks),
        ),
        tuple(filter(None, (failures_in(rest, text.file), early_end(rest, text.file, measurements)))),
        messages,
        bool(messages) and first_like_row(without_lines(rest, rows).split("\n")) is None,
    )


def _reading(text: Text, facts: Facts) -> tuple[Reading, Error | None]:
    """Return the measurements of a text, or why it has none; `facts` are what the user or the text itself tells.

    The number of ranks that a text tells counts only if its tables do not tell it. A text is refused
    if none of its times can be of the algorithm that the user names.
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


ANY_RANKS = 2  # where nobody tells the number of ranks, and two runs are compared without it


def columns_of(text: Text) -> dict[str, Text]:
    """Return a text for each column of times, by its name, if a table that is refused has several; otherwise none."""
    columns = columns_apart(readable(text.text), text.file)
    with_ranks = text._replace(facts=replace(text.facts, ranks=text.facts.ranks or ANY_RANKS))
    if not columns or any(read(each).measurements for each in (text, with_ranks)):
        return {}
    own = mentions_of(text.text, text.file).facts
    names = [name for name, value in vars(text.facts).items() if value is None]
    facts = replace(text.facts, **{name: getattr(own, name) for name in names})
    return {name: Text(column, text.file, facts) for name, column in columns.items()}


def runs_of(sources: Iterable[Source]) -> tuple[Measurement, ...]:
    """Return the measurements of some texts, each of which must have some."""
    for source in sources:
        if source.refusal is not None:
            raise source.refusal
    return tuple(one for source in sources for one in source.measurements)
