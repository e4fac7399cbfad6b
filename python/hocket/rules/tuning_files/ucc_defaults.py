"""What UCC chooses by itself for data in the memory of hosts: the scores of its point-to-point layer, TL/UCP.

Source: `UCC_TL_UCP_.._DEFAULT_ALG_SELECT_STR` in `src/components/tl/ucp` of UCC's sources of 2025 and 2026, and
`.._score_str_get` in `allgather.c` and `alltoall.c`. Where a string names no algorithm, it is the one of `.._init`.
TL/UCP has no scatter.
"""

from __future__ import annotations

from dataclasses import replace

from hocket.rules.tuning_files import ucc_tune
from hocket.rules.tuning_files.form import ANY, Choice, Rule, Rules, Span
from hocket.rules.tuning_files.grid import ANCHORS, spans

_ALIKE = (
    "allreduce:0-4k:@knomial#allreduce:4k-inf:@sra_knomial"
    "#bcast:0-inf:[2-2]:@knomial#bcast:0-32k:[3-inf]:@knomial#bcast:32k-inf:[3-inf]:@sag_knomial"
    "#reduce:0-32k:@knomial#reduce:32k-inf:@srg_knomial#reduce_scatter:@ring"
    "#gather:inf#barrier:inf#alltoallv:[64-inf]:@hybrid#alltoallv:@pairwise"
)
"""What depends on the number of ranks by ranges at most."""

_LONGEST_BRUCK = 129  # bytes of a block
_LARGEST_KNOMIAL = 4096  # bytes of all blocks

EVEN_RANKS = "ranks are even"
"""The condition of neighbor exchange."""


def rules() -> Rules:
    """Return the choices as rules."""
    alike = ucc_tune.FORMATS[0].read(_ALIKE, ucc_tune.LIBRARY)
    differing = (
        Rule("allgather", Choice("knomial"), sizes=Span(0, _LARGEST_KNOMIAL), measure="total"),
        Rule("allgather", Choice("neighbor"), measure="total", conditions=((EVEN_RANKS, "yes"),)),
        Rule("allgather", Choice("ring"), measure="total"),
        Rule("alltoall", Choice("bruck"), sizes=Span(0, _LONGEST_BRUCK)),
        Rule("alltoall", Choice("pairwise")),
    )
    return replace(alike, rules=tuple(replace(rule, line=0) for rule in (*alike.rules, *differing)))


def text() -> str:
    """Return the choices as UCC's scores, for powers of two of ranks and one more; the next ones get their choices."""
    lines = []
    for rule in rules().rules:
        if rule.function == "alltoall":
            measured = replace(rule, measure="total")
            for ranks in spans(ANCHORS) if rule.sizes != ANY else (ANY,):
                last = None if rule.sizes.last is None else rule.sizes.last * ranks.first
                lines.append(replace(measured, ranks=ranks, sizes=Span(0, last)))
        elif rule.conditions:
            even = (ranks for ranks in spans(ANCHORS) if ranks.first % 2 == 0)
            lines += [replace(rule, ranks=ranks, conditions=()) for ranks in even]
        else:
            lines.append(rule)
    return ucc_tune.FORMATS[0].write(Rules(ucc_tune.LIBRARY, tuple(lines))).replace(":inf:@", ":@")
