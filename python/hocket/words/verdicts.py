"""Verdicts of verifications in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hocket.base.units import format_count, format_ranks, format_value

if TYPE_CHECKING:
    from hocket.definitions.library import Algorithm
    from hocket.definitions.verification import Finding

_MOST_NEIGHBORS = 3  # number of shown ranks with their neighbours
_MOST_BLOCKS = 8  # shown


def finding_text(findings: Sequence[Finding]) -> str:
    """Return at which rank counts an algorithm is right or wrong, and how much was checked."""
    wrong = [finding.ranks for finding in findings if finding.counterexamples]
    ranks_refused = [finding.ranks for finding in findings if finding.refused]
    ranks_checked = [finding.ranks for finding in findings if not finding.refused]
    calls = format_count(sum(finding.checked for finding in findings), "call")
    where = f"P = {format_ranks(wrong or ranks_checked)}" if ranks_checked else "no rank count"
    parts = [where, calls, *exploration_parts(findings)]
    return ", ".join(parts) + (f"; not for P = {format_ranks(ranks_refused)}" if ranks_refused else "")


def unchecked_texts(findings: Sequence[Finding]) -> Iterator[str]:
    """Give what was not checked, as it takes too long."""
    for fewer_elements in dict.fromkeys(finding.fewer_elements for finding in findings if finding.fewer_elements):
        ranks = format_ranks([finding.ranks for finding in findings if finding.fewer_elements == fewer_elements])
        most, count = fewer_elements
        yield f"P = {ranks}: checked with {format_count(count, 'element')} instead of {most}, which take too long"
    for finding in findings:
        if finding.calls_left:
            calls = format_count(finding.calls_left, "call")
            yield f"P = {finding.ranks}: {calls} not checked, which would take too long"


def exploration_parts(findings: Sequence[Finding]) -> Iterator[str]:
    """Give how orders of messages were explored, and their number if there were any."""
    exploration_text = exploration(findings)
    if exploration_text is None:
        return
    yield exploration_text
    if exploration_text != "deterministic":
        yield f"{format_count(sum(finding.orders for finding in findings), 'order')} of messages"
    overtaking = max(finding.overtaking for finding in findings)
    if overtaking:
        yield format_count(overtaking, "overtaking message")


def exploration(findings: Iterable[Finding]) -> str | None:
    """Return the weakest of the explorations; None if nothing was checked."""
    explorations = {finding.exploration for finding in findings}
    return next((name for name in ("sampled", "exhaustive", "deterministic") if name in explorations), None)


def counterexample_text(counterexample: Mapping[str, Any], algorithm: Algorithm) -> str:
    """Return a call that went wrong, followed by the steps to the error."""
    call = counterexample["call"]
    facts = [
        algorithm.label,
        f"P = {counterexample['ranks']}",
        _elements(call["count"]),
        f"root {call['root']}",
        *([] if call["neighbors"] is None else [f"ranks send to {_neighbors(call['neighbors'])}"]),
        *([] if call["element_bytes"] == 1 else [f"elements of {format_value(call['element_bytes'], 'bytes')}"]),
        *(["in place"] if call["in_place"] else []),
        *([] if call["commutative"] else ["operator not commutative"]),
        *([algorithm.format(call["parameters"])] if call["parameters"] else []),
    ]
    return f"{', '.join(facts)}\n{counterexample['message'].rstrip()}"


def _elements(count: int | Sequence[int] | Sequence[Sequence[int]]) -> str:
    """Return the number of elements, or those of each block, or the smallest and the largest of many blocks."""
    if isinstance(count, int):
        return format_count(count, "element")
    blocks = [block for of in count for block in (of if isinstance(of, Sequence) else [of])]
    if len(blocks) == len(count) <= _MOST_BLOCKS:
        return f"blocks of {', '.join(map(str, blocks))} elements"
    return f"blocks of {min(blocks)} to {max(blocks)} elements"


def _neighbors(destinations: Sequence[Sequence[int]]) -> str:
    """Return the neighbours of the first few ranks."""
    first = destinations[:_MOST_NEIGHBORS]
    neighbor_text = "; ".join(f"{rank}: {', '.join(map(str, of)) or 'none'}" for rank, of in enumerate(first))
    return neighbor_text if len(destinations) <= _MOST_NEIGHBORS else f"{neighbor_text}; .."
