"""Open MPI on nodes: which component takes a call, and what its component HAN runs on the communicators that it makes.

Source: of Open MPI 5.0, in `ompi/mca/coll`: `base/coll_base_comm_select.c` (of the components that have a function, the
one of the highest priority takes its calls), `han/coll_han_module.c` and `coll_han_dynamic.c` (when HAN steps back),
`coll_han_subcomms.c` (its communicators: the ranks of a node, and one rank of each node), the file of each algorithm
beside them, `libnbc/nbc_ibcast.c` and `nbc_ireduce.c`; of 4.1 and 6.0 the priorities in `*_component.c`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from hocket.base.files import read_rows
from hocket.base.units import format_bytes, format_count, parse_choice
from hocket.rules.tuning_files.components import Component, Inner, InnerChoice, calls_of
from hocket.rules.tuning_files.counterparts import LIBRARIES, WHOLE_BYTES
from hocket.rules.tuning_files.form import Choice, Situation

PRIORITIES: Mapping[str, Mapping[str, int]] = {
    "openmpi-4.1": {"tuned": 30, "han": 0},
    "openmpi-5.0": {"han": 35, "tuned": 30},
    "openmpi-6.0": {"han": 35, "tuned": 30, "acoll": 0, "xhc": 0},
}
"""The priorities of the components that differ by version; HAN with 0 takes nothing."""

SEGMENT_BYTES = 1 << 16
"""`coll_han_allreduce_segsize`, `coll_han_bcast_segsize` and `coll_han_reduce_segsize`."""

TunedTable = Callable[[str, int, int], Choice | None]
"""What tuned chooses for a function, ranks and bytes, as an algorithm of Hocket; None if that has none such."""


_PIPELINE, _PHASES = "hierarchical_pipeline", "hierarchical"  # Hocket's algorithms of the same parts
_ROWS = {row["function"]: row for row in read_rows(__file__, "han.csv")}
CALLS: Mapping[str, tuple[Inner, ...]] = {
    function: calls_of(row["calls"]) for function, row in _ROWS.items() if row["calls"]
}
"""The calls, in order, of what HAN runs by default for the functions that it has, at every size."""


def _has(function: str, term: str) -> bool:
    return term in _ROWS[function]["terms"].split()


def component(version: str, call: Situation, tuned_table: TunedTable) -> Component:
    """Return which component takes a call in a version of `PRIORITIES`."""
    priorities = PRIORITIES[version]
    others = ", ".join(f"{name} {priority}" for name, priority in priorities.items() if name != "han")
    if call.ranks == 1:
        return Component("self", "the communicator has one rank")
    if why := why_not_han(version, call):
        return Component(_below_han(call.function), why)
    most = format_count(call.ranks_per_node, "rank")
    nodes = f"{format_count(call.nodes, 'node')} with {f'{most} each' if call.is_even else f'at most {most}'}"
    why = f"its priority is {priorities['han']} ({others}), and the ranks are on {nodes}"
    if call.function not in CALLS:
        return Component("han", why)
    is_pipeline = any(one.of == "segment" for one in CALLS[call.function])
    segments = max(1, -(-call.size_bytes // _segment_bytes(call))) if is_pipeline else 1
    calls = (one for one in CALLS[call.function] if segments > 1 or one.segments != "later")
    inner = tuple(_inner_choice(one, call, tuned_table) for one in calls)
    ours = _in_hocket(_PIPELINE if is_pipeline else _PHASES, call, inner)
    return Component("han", why, _ROWS[call.function]["algorithm"], segments, inner, ours)


def why_not_han(version: str, call: Situation) -> str:
    """Return why HAN does not take a call; nothing if it does."""
    if PRIORITIES[version]["han"] <= 0:
        return f"HAN has priority {PRIORITIES[version]['han']} in {version}, so it takes nothing"
    if call.nodes == 1:
        return "the ranks are on one node; HAN is for several"
    if call.nodes == call.ranks:
        return "HAN steps back where no node has several ranks"
    if call.function not in _ROWS or (_has(call.function, "in_6_0") and version != "openmpi-6.0"):
        return f"HAN has no {call.function}"
    if _has(call.function, "needs_commutative") and call.conditions.get("is_commutative") == "no":
        return "HAN leaves operators that do not commute to the next component"
    if not (call.is_even or _has(call.function, "takes_uneven")):
        return f"HAN leaves {call.function} to the next component where nodes have different numbers of ranks"
    return ""


def _below_han(function: str) -> str:
    if function.startswith("i"):
        return "libnbc"
    return "tuned" if function in LIBRARIES["openmpi-5.0"].algorithms else "basic"


def _segment_bytes(call: Situation) -> int:
    return max(SEGMENT_BYTES // call.element_bytes, 1) * call.element_bytes


def _inner_choice(one: Inner, call: Situation, tuned_table: TunedTable) -> InnerChoice:
    ranks = call.ranks_per_node if one.is_within else call.nodes
    segment = _segment_bytes(call)
    sizes = {
        "segment": min(call.size_bytes, segment),
        "block": call.size_bytes,
        "node": call.size_bytes * call.ranks_per_node,
        "all": call.size_bytes * call.ranks,
        "nothing": 0,
    }
    size_bytes = sizes[one.of]
    first = _decide(one, ranks, size_bytes, call.element_bytes, tuned_table)
    last_bytes, last_ranks = call.size_bytes % segment, call.ranks % call.ranks_per_node
    others = []
    if one.of == "segment" and call.size_bytes > segment and last_bytes:
        others.append((f"the last segment, of {format_bytes(last_bytes)}", ranks, last_bytes))
    if one.is_within and last_ranks > 1:
        others.append((f"the last node, of {format_count(last_ranks, 'rank')}", last_ranks, size_bytes))
    remarks = [first.remark] if first.remark else []
    for where, own_ranks, own_bytes in others:
        other = _decide(one, own_ranks, own_bytes, call.element_bytes, tuned_table).choice
        if other != first.choice:
            remarks.append(f"{one.function} of {where}, is {other}, simulated as {first.choice}")
    return replace(first, remark="; ".join(remarks))


def _decide(one: Inner, ranks: int, size_bytes: int, element_bytes: int, tuned_table: TunedTable) -> InnerChoice:
    if one.function.startswith("i"):
        return InnerChoice(one, ranks, size_bytes, "libnbc", _by_libnbc(one.function, ranks, size_bytes, element_bytes))
    choice = tuned_table(one.function, ranks, size_bytes)
    if choice is not None:
        return InnerChoice(one, ranks, size_bytes, "tuned", choice)
    name, parameters = parse_choice(_ROWS[one.function]["nearest"])
    nearest = Choice(name, tuple(parameters.items()))
    remark = f"{nearest} stands for tuned's {one.function} on {format_count(ranks, 'rank')}, which Hocket does not have"
    return InnerChoice(one, ranks, size_bytes, "tuned", nearest, remark)


def _by_libnbc(function: str, ranks: int, size_bytes: int, element_bytes: int) -> Choice:
    """Return what libnbc runs for an ibcast, or for an ireduce with an operator that commutes."""
    if function == "ibcast":
        return Choice("linear" if ranks <= 4 else "binomial")
    if ranks > 2 and size_bytes // element_bytes >= 1 << (ranks.bit_length() - 1):
        return Choice("rabenseifner")
    if ranks > 4 or size_bytes < SEGMENT_BYTES:
        return Choice("binomial")
    return Choice("chain", (("segment", 8192),))


def _in_hocket(ours: str, call: Situation, inner: tuple[InnerChoice, ...]) -> Choice:
    """Return this algorithm of Hocket: the parts by name, and their parameters as `reduce_shape`.

    Without a group, it takes the nodes of the machine. Tuned does not cut what it sends, and parts within nodes do not
    cut the segments of a pipeline.
    """
    values: dict[str, int | str] = {} if call.on_nodes else {"group": call.ranks_per_node}
    for one in inner:
        values[one.call.part] = one.choice.algorithm
        has_segments = one.component == "tuned" and one.choice.algorithm in ("chain", "tree")
        if has_segments and ours == _PHASES:
            values["segment"] = WHOLE_BYTES
        own = [pair for pair in one.choice.parameters if not (has_segments and pair[0] == "segment")]
        values |= {f"{one.call.part}_{name}": value for name, value in own}
    return Choice(ours, tuple(values.items()))
