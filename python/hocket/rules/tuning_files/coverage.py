"""What rules cover together: pairs of ranks and sizes, and for each size the first rule that is for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush

from hocket.base.checks import memory
from hocket.rules.tuning_files.form import Rule, Span
from hocket.rules.tuning_files.grid import boundaries


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
