"""Rules without overlaps: for each range of ranks the ranges of sizes, with what each gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import TypeVar

from hocket._native import Error
from hocket.base.checks import memory
from hocket.rules.tuning_files.form import ANY, Choice, Rule, Span

T = TypeVar("T")

ANCHORS = tuple(sorted({count + more for count in (1 << k for k in range(1, 14)) for more in (0, 1)}))
"""The numbers of ranks for which a file is exact where it cannot be for all: powers of two up to 8192, and one more."""


Row = tuple[tuple[Span, Choice | None], ...]
"""Ranges of sizes with what each gets; they follow each other from 0 without a gap."""


def rows(rules: Iterable[Rule]) -> list[tuple[Span, Row]]:
    """Return what the rules of one function amount to: a row for each range of ranks.

    A rule that asks for more than ranks and sizes is refused, and two that count sizes in different ways.
    """
    items = tuple(rules)
    for rule in items:
        asks = rule.power_of_two is not None or rule.placement != "any" or rule.conditions
        if asks or rule.nodes != ANY or rule.ranks_per_node != ANY:
            raise Error(f"{rule.function}: got a rule with other conditions, expected ranks and sizes only")
    if len({rule.measure for rule in items}) > 1:
        raise Error(f"{items[0].function}: got rules that count sizes in different ways, expected one way")
    return merged(
        (ranks, _row([rule for rule in items if ranks.first in rule.ranks]))
        for ranks in spans(boundaries(rule.ranks for rule in items))
    )


def _row(rules: Sequence[Rule]) -> Row:
    starts = boundaries(rule.sizes for rule in rules)
    choices = (rule.choice if rule else None for rule in deciding(rules, starts))
    return tuple(merged(zip(spans(starts), choices, strict=True)))


def deciding(rules: Sequence[Rule], sizes: Iterable[int]) -> Iterator[Rule | None]:
    """Give the first rule that is for each of some sizes, which ascend."""
    later = sorted(range(len(rules)), key=lambda place: rules[place].sizes.first, reverse=True)
    starts_begun: list[int] = []
    for size in sizes:
        while later and rules[later[-1]].sizes.first <= size:
            heappush(starts_begun, later.pop())
        while starts_begun and size not in rules[starts_begun[0]].sizes:
            heappop(starts_begun)
        yield rules[starts_begun[0]] if starts_begun else None


def boundaries(ranges: Iterable[Span]) -> list[int]:
    """Return 0 and all numbers at which one of some ranges begins or has ended."""
    starts = {0}
    for each in ranges:
        if not each.is_empty:
            starts |= {each.first} if each.last is None else {each.first, each.last + 1}
    return sorted(starts)


def spans(starts: Sequence[int]) -> list[Span]:
    """Return the ranges that begin at these numbers and follow each other; the last one has no end."""
    return [*(Span(first, after - 1) for first, after in pairwise(starts)), Span(starts[-1])]


def merged(pieces: Iterable[tuple[Span, T]]) -> list[tuple[Span, T]]:
    """Join neighbouring ranges that have the same value."""
    spans: list[tuple[Span, T]] = []
    for span, value in pieces:
        if spans and spans[-1][1] == value:
            spans[-1] = (Span(spans[-1][0].first, span.last), spans[-1][1])
        else:
            spans.append((span, value))
    return spans


def in_measure(rule: Rule, size: int, measure: str, ranks: int) -> int:
    """Convert a size from the measure of a table to the measure of a rule."""
    if rule.measure == "nothing":
        return 0
    return _scaled(size, ranks, _ranks_in(rule.measure, measure))


def _scaled(size: int, ranks: int, times: int) -> int:
    """Return a size multiplied by the number of ranks so many times, or divided and rounded down."""
    factor = int(ranks ** abs(times))
    return size * factor if times >= 0 else size // factor


def _ranks_in(one: str, other: str) -> int:
    """Return how often one measure has the number of ranks as a factor, compared with another measure."""
    factors = {"share": -1, "size": 0, "total": 1}
    return factors[one] - factors[other] if one in factors and other in factors else 0


def size_starts(rules: Sequence[Rule], ranks: int, measure: str) -> list[int]:
    """Return the sizes where the decision on some ranks may change, in the measure of a table."""
    if measure == "nothing":
        return [0]
    starts = [(start, _ranks_in(measure, rule.measure)) for rule in rules for start in boundaries([rule.sizes])]
    return sorted({0, *(-_scaled(-start, ranks, times) for start, times in starts)})


class Coverage:
    """The pairs of ranks and sizes that some rules are for, on a grid of all numbers at which one begins or ends.

    It is made of all rules that will be added or asked for.

    Raises:
        Error: The grid needs more memory than there is.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        ranks = boundaries(rule.ranks for rule in rules)
        sizes = boundaries(rule.sizes for rule in rules)
        memory(f"{len(rules)} rules", len(ranks) * len(sizes) // 8)
        self._rows = {first: row for row, first in enumerate(ranks)}
        self._places = {first: place for place, first in enumerate(sizes)}
        self._bits = [0] * len(ranks)  # for each range of ranks, a bit for each range of sizes

    def add(self, rule: Rule) -> None:
        """Cover what a rule is for."""
        rows, sizes = self._cells(rule)
        for row in rows:
            self._bits[row] |= sizes

    def has(self, rule: Rule) -> bool:
        """Return whether all that a rule is for is covered; so is nothing."""
        rows, sizes = self._cells(rule)
        return all(self._bits[row] & sizes == sizes for row in rows)

    def _cells(self, rule: Rule) -> tuple[range, int]:
        rows, places = _within(rule.ranks, self._rows), _within(rule.sizes, self._places)
        return rows, (1 << places.stop) - (1 << places.start)


def _within(span: Span, starts: dict[int, int]) -> range:
    if span.is_empty:
        return range(0)
    return range(starts[span.first], len(starts) if span.last is None else starts[span.last + 1])
