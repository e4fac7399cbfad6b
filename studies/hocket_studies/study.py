"""The parts of every study: figures with their data, and claims with measured values."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

Rows = Sequence[Mapping[str, Any]]
"""A table: rows of values by column, units in the columns' names."""


@dataclass(frozen=True)
class Scope:
    """How far to go: the largest number of ranks, as a power of two, how many points, and how many trials."""

    name: str
    most_ranks_log2: int
    points: int
    trials: int
    seed: int = 0


@dataclass(frozen=True)
class Work:
    """Who computes, and what is called after each piece."""

    executor: Executor
    on_done: Callable[[], object]


@dataclass(frozen=True)
class Figure:
    """One figure of a paper.

    Attributes:
        number: Its number there.
        title: What it shows, with its parameters.
        data: The name of the data it draws; several figures may draw the same.
        draw: Its picture of these data.
    """

    number: int
    title: str
    data: str
    draw: Callable[[Rows, str], alt.LayerChart | alt.Chart | alt.HConcatChart | alt.VConcatChart]


@dataclass(frozen=True)
class Claim:
    """What a paper claims, and what was measured.

    Attributes:
        claim: The claim.
        paper: The paper's value.
        hocket: The value measured here.
        holds: "yes", "on a cut", "no", or "not measured" at this scope.
        why: The reason, or where it holds.
    """

    claim: str
    paper: str
    hocket: str
    holds: str
    why: str


@dataclass(frozen=True)
class Study:
    """A paper computed anew.

    Attributes:
        title: What it is about, with its source.
        figures: Its figures.
        scopes: How far one can go, by name; "default", "quick" and "full".
        pieces: For the name of some data, how many pieces of work they take within a scope.
        compute: The data of that name.
        claims: The claims, judged by all data there are.
        texts: Texts made of all data there are, by the name of their file: tables of a page as Markdown, machine files.
        is_of_paper: Whether it is about a paper.
    """

    title: str
    figures: tuple[Figure, ...]
    scopes: Mapping[str, Scope]
    pieces: Callable[[str, Scope], int]
    compute: Callable[[str, Scope, Work], Rows]
    claims: Callable[[Mapping[str, Rows]], list[Claim]] = lambda data: []
    texts: Callable[[Mapping[str, Rows]], Mapping[str, str]] = lambda data: {}
    is_of_paper: bool = True


def judge(claim: str, paper: str, hocket: str, holds: bool, why: str) -> Claim:
    """Return a claim that holds or does not."""
    return Claim(claim, paper, hocket, "yes" if holds else "no", why)


def as_csv(rows: Rows) -> str:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
