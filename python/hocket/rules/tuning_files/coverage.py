"""What rules cover together: pairs of ranks and sizes."""

from __future__ import annotations

from collections.abc import Sequence

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
