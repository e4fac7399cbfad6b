"""Texts with measured times: what they measure, and what they say besides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from hocket._native import Error
from hocket.judging.mention import Mentions
from hocket.judging.mentions import mentions_of
from hocket.measurements.formats import measurements_in
from hocket.measurements.measurement import DEFAULT, Facts, Measurement


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
        mentions: What it says of the machine and of the run.
        measurements: Its measured times.
        refusal: Why it has none that can be read; None if it has some.
    """

    mentions: Mentions
    measurements: tuple[Measurement, ...]
    refusal: Error | None


def read(text: Text) -> Source:
    """Return what a text has. What neither its tables nor the user tell is taken from the rest of the text."""
    mentions = mentions_of(text.text, text.file)
    own = mentions.text_facts.facts
    facts = replace(
        text.facts,
        algorithm=text.facts.algorithm or DEFAULT,
        collective=text.facts.collective or own.collective,
        ranks_per_node=text.facts.ranks_per_node or own.ranks_per_node,
    )
    refusal: Error | None = None
    for attempt in dict.fromkeys((facts, replace(facts, ranks=facts.ranks or own.ranks))):
        try:
            measurements = measurements_in(text.text, text.file, attempt).measurements
            if not measurements:
                raise Error(f"{text.file}: nothing to judge, expected times of a collective that Hocket has")
            return Source(mentions, measurements, None)
        except Error as error:
            refusal = error
    return Source(mentions, (), refusal)


def runs_of(texts: Iterable[Text]) -> tuple[Measurement, ...]:
    """Return the measurements of some texts.

    Raises:
        Error: A text has no measurements, or does not tell what it must.
    """
    runs: list[Measurement] = []
    for source in map(read, texts):
        if source.refusal is not None:
            raise source.refusal
        runs.extend(source.measurements)
    return tuple(runs)
