"""What a library decides for jobs on nodes with several ranks each, as rules of Hocket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hocket.definitions.library import usual_element_bytes
from hocket.rules.tuning_files.counterparts import fewest_elements
from hocket.rules.tuning_files.deciding import component_for, situation
from hocket.rules.tuning_files.decisions import default_rules, defaults_of
from hocket.rules.tuning_files.form import Choice, Rule, Span
from hocket.rules.tuning_files.grid import merged, size_starts, spans
from hocket.rules.tuning_files.han import ALGORITHMS, SEGMENT_BYTES
from hocket.rules.tuning_files.hocket_rules import has_size, line_of


def rules_on_nodes(library: str, rank_counts: Iterable[int], ranks_per_node: int) -> str:
    """Return what a library decides, one rule per line: first the rules for calls that HAN takes.

    Args:
        library: The library, of `DEFAULTS`.
        rank_counts: For how many ranks HAN's decisions are wanted; they fill one node after the other.
        ranks_per_node: How many ranks a node has.

    Raises:
        Error: The library's decisions are not known.
    """
    by_han = (
        rule
        for ranks in sorted(set(rank_counts))
        for function in ALGORITHMS
        for rule in _by_han(library, function, ranks, ranks_per_node)
    )
    return "".join(f"{line_of(rule)}\n" for rule in by_han) + defaults_of(library).text


def _by_han(library: str, function: str, ranks: int, ranks_per_node: int) -> Iterator[Rule]:
    """Give the rules of a function for the calls that HAN takes."""

    def choice(size_bytes: int) -> Choice | None:
        call = situation(function, ranks, size_bytes, ranks_per_node=ranks_per_node)
        component = component_for(library, call)
        return None if component is None else component.choice

    starts = _starts(function, ranks, ranks_per_node) if has_size(function) else {0}
    for span, chosen in merged((size, choice(size.first)) for size in spans(sorted(starts))):
        if chosen is not None:
            yield Rule(function, chosen, ranks=Span(ranks, ranks), sizes=span)


def _starts(function: str, ranks: int, ranks_per_node: int) -> set[int]:
    """Return the sizes at which a choice within HAN may change."""
    starts = {0, SEGMENT_BYTES, SEGMENT_BYTES + 1}
    parts = {"node": ranks_per_node, "all": ranks}
    for one in ALGORITHMS[function].calls:
        members = ranks_per_node if one.is_within else -(-ranks // ranks_per_node)
        inner = one.function.removeprefix("i")
        rules = [rule for rule in default_rules("openmpi-5.0").of(inner) if members in rule.ranks]
        element = usual_element_bytes(inner, SEGMENT_BYTES)
        few = [count * element for count in fewest_elements(members).values()]
        starts |= {-(-start // parts.get(one.of, 1)) for start in (*size_starts(rules, members, "size"), *few)}
    is_in_segments = any(one.of == "segment" for one in ALGORITHMS[function].calls)
    return {start for start in starts if not (is_in_segments and start > SEGMENT_BYTES + 1)}
