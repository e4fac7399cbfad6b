"""Texts with measured times: what they measure, and what they say besides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from hocket._native import Error
from hocket.definitions.library import find_collective
from hocket.judging.mention import Mentions
from hocket.judging.mentions import mentions_of
from hocket.measurements.formats import measurements_in
from hocket.measurements.measurement import DEFAULT, Facts, Measurement

_FACTS_OF_USER = ("ranks", "ranks_per_node", "collective")


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
    """Return what a text has. What neither its tables nor the user tell is taken from the rest of the text.

    Raises:
        Error: The user names an unknown collective, or an algorithm without times that can be its own.
    """
    mentions = _with_facts(mentions_of(text.text, text.file), text.facts)
    own = mentions.text_facts.facts
    if text.facts.collective is not None:
        find_collective(text.facts.collective)
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
    if refusal is not None and text.facts.algorithm is not None:
        raise refusal
    return Source(mentions, (), refusal)


def _with_facts(mentions: Mentions, facts: Facts) -> Mentions:
    """Return mentions in which what the user tells replaces what the text tells."""
    names_of_facts = {name: value for name in _FACTS_OF_USER if (value := getattr(facts, name)) is not None}
    return replace(
        mentions, text_facts=replace(mentions.text_facts, facts=replace(mentions.text_facts.facts, **names_of_facts))
    )


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
