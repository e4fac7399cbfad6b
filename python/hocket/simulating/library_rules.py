"""What libraries choose, as rules: for the collective calls of a trace, and for ranks on nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hocket.definitions.libraries import BY_MACHINE, BY_NODES, LIBRARY_RULES
from hocket.definitions.library import find_collective, usual_element_bytes
from hocket.definitions.machine import Machine
from hocket.rules.nccl.defaults import decision_on
from hocket.rules.nccl.table import LIBRARY
from hocket.rules.tuning_files.compositions import WHOLE_COMPOSITIONS
from hocket.rules.tuning_files.counterparts import LIBRARIES, fewest_elements
from hocket.rules.tuning_files.deciding import component_for, situation, starts
from hocket.rules.tuning_files.decisions import default_rules, defaults_of
from hocket.rules.tuning_files.form import Choice, Rule, Span
from hocket.rules.tuning_files.grid import merged, size_starts, spans
from hocket.rules.tuning_files.han import CALLS, PRIORITIES, SEGMENT_BYTES
from hocket.rules.tuning_files.hocket_rules import has_size, line_of, of_function
from hocket.rules.tuning_files.translation import to_hocket
from hocket.traces.functions import FUNCTIONS
from hocket.traces.trace import RankTrace, Trace


def rules_of_library(name: str, trace: Trace, machine: Machine) -> str | None:
    """Return what a library chooses for the calls of a trace, as rules, one per line; None for other names.

    Every communicator counts as if its ranks filled nodes one after the other. A machine that does not say by what the
    library decides is refused.
    """
    if name in BY_MACHINE:
        decision_on(machine, "allreduce", 2, 0)
        calls = sorted({call for rank in trace.ranks for call in _calls(rank)})
        return "\n".join(rule for call in calls if (rule := _rule(machine, *call)))
    if name in BY_NODES:
        rank_counts = {len(each.ranks) for rank in trace.ranks for each in rank.communicators.values()}
        return rules_on_nodes(name, rank_counts, machine.ranks_per_node)
    return None


def _calls(rank: RankTrace) -> Iterator[tuple[str, int, int]]:
    """Give function, number of ranks and size of a block of a rank's collective calls whose blocks are alike."""
    for call in rank.calls:
        arguments = call.arguments
        prefix = "recv_" if "recv_count" in arguments else ""
        if FUNCTIONS[call.function].blocking and f"{prefix}count" in arguments:
            ranks = len(rank.communicators[arguments["comm"]].ranks)
            yield call.function, ranks, arguments[f"{prefix}count"] * arguments[f"{prefix}type_bytes"]


def _rule(machine: Machine, function: str, ranks: int, size_bytes: int) -> str:
    """Return NCCL's choice for a call; empty if it has none."""
    in_words_of_mpi = of_function(find_collective(FUNCTIONS[function].blocking.removeprefix("MPI_").lower()))
    if ranks < 2 or in_words_of_mpi not in LIBRARIES[LIBRARY].algorithms:
        return ""
    decision = decision_on(machine, in_words_of_mpi, ranks, size_bytes)
    ours = to_hocket(in_words_of_mpi, decision.choice, LIBRARY)
    name = function.removeprefix("MPI_").lower()
    return f"{name}[ranks={ranks}, size={size_bytes}]: {ours.choice}" if ours.choice else ""


def rules_on_nodes(library: str, rank_counts: Iterable[int], ranks_per_node: int) -> str:
    """Return the rules of a library of `BY_NODES` on nodes filled one after the other; those of components first."""
    by_component = (
        rule
        for ranks in sorted(set(rank_counts))
        for function in (CALLS if library in PRIORITIES else WHOLE_COMPOSITIONS)
        for rule in _by_component(library, function, ranks, ranks_per_node)
    )
    text = defaults_of(library).text if library in PRIORITIES else LIBRARY_RULES[library]
    return "".join(f"{line_of(rule)}\n" for rule in by_component) + text


def _by_component(library: str, function: str, ranks: int, ranks_per_node: int) -> Iterator[Rule]:
    """Give the rules of a function for the calls that a component divides."""
    element_bytes = usual_element_bytes(function, SEGMENT_BYTES)

    def choice(size_bytes: int) -> Choice | None:
        call = situation(function, ranks, size_bytes, ranks_per_node=ranks_per_node, element_bytes=element_bytes)
        component = component_for(library, call)
        return None if component is None else component.choice

    own = situation(function, ranks, SEGMENT_BYTES, ranks_per_node=ranks_per_node)
    sizes = _starts(function, ranks, ranks_per_node) if library in PRIORITIES else starts(library, own)
    for span, one in merged((size, choice(size.first)) for size in spans(sorted(sizes) if has_size(function) else [0])):
        if one is not None:
            yield Rule(function, one, ranks=Span(ranks, ranks), sizes=span)


def _starts(function: str, ranks: int, ranks_per_node: int) -> set[int]:
    """Return the sizes at which a choice within HAN may change."""
    starts = {0, SEGMENT_BYTES, SEGMENT_BYTES + 1}
    parts = {"node": ranks_per_node, "all": ranks}
    for one in CALLS[function]:
        members = ranks_per_node if one.is_within else -(-ranks // ranks_per_node)
        inner = one.function.removeprefix("i")
        rules = [rule for rule in default_rules("openmpi-5.0").of(inner) if members in rule.ranks]
        element = usual_element_bytes(inner, SEGMENT_BYTES)
        few = [count * element for count in fewest_elements(members).values()]
        starts |= {-(-start // parts.get(one.of, 1)) for start in (*size_starts(rules, members, "size"), *few)}
    is_in_segments = any(one.of == "segment" for one in CALLS[function])
    return {start for start in starts if not (is_in_segments and start > SEGMENT_BYTES + 1)}
