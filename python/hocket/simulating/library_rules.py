"""What a library chooses for the collective calls of a trace, as rules."""

from __future__ import annotations

from collections.abc import Iterator

from hocket.definitions.libraries import BY_MACHINE, BY_NODES
from hocket.definitions.library import find_collective
from hocket.definitions.machine import Machine
from hocket.rules.nccl.defaults import decision_on
from hocket.rules.nccl.table import LIBRARY
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.deciding import ranks_on_a_node
from hocket.rules.tuning_files.hocket_rules import of_function
from hocket.rules.tuning_files.on_nodes import rules_on_nodes
from hocket.rules.tuning_files.translation import to_hocket
from hocket.traces.functions import FUNCTIONS
from hocket.traces.trace import Trace


def rules_of_library(name: str, trace: Trace, machine: Machine) -> str:
    """Return what a library chooses for the calls of a trace, as rules, one per line; nothing for other names.

    Every communicator counts as if its ranks filled nodes one after the other.

    Raises:
        Error: The machine does not say by what the library decides.
    """
    if name in BY_MACHINE:
        return _of_nccl(trace, machine)
    if name in BY_NODES:
        rank_counts = {len(each.ranks) for rank in trace.ranks for each in rank.communicators.values()}
        return rules_on_nodes(name, rank_counts, ranks_on_a_node(machine))
    return ""


def _of_nccl(trace: Trace, machine: Machine) -> str:
    """Return NCCL's choices; calls for which it has none get no rule."""
    decision_on(machine, "allreduce", 2, 0)
    calls = sorted({call for number in range(len(trace.ranks)) for call in _calls(trace, number)})
    return "\n".join(rule for call in calls if (rule := _rule(machine, *call)))


def _calls(trace: Trace, number: int) -> Iterator[tuple[str, int, int]]:
    """Give function, number of ranks and size of a block of a rank's collective calls whose blocks are alike."""
    rank = trace.ranks[number]
    for call in rank.calls:
        arguments = call.arguments
        prefix = "recv_" if "recv_count" in arguments else ""
        if FUNCTIONS[call.function].blocking and f"{prefix}count" in arguments:
            ranks = len(rank.communicators[arguments["comm"]].ranks)
            yield call.function, ranks, arguments[f"{prefix}count"] * arguments[f"{prefix}type_bytes"]


def _rule(machine: Machine, function: str, ranks: int, size_bytes: int) -> str:
    in_words_of_mpi = of_function(find_collective(FUNCTIONS[function].blocking.removeprefix("MPI_").lower()))
    if ranks < 2 or in_words_of_mpi not in LIBRARIES[LIBRARY].algorithms:
        return ""
    decision = decision_on(machine, in_words_of_mpi, ranks, size_bytes)
    ours = to_hocket(in_words_of_mpi, decision.choice, LIBRARY)
    name = function.removeprefix("MPI_").lower()
    return f"{name}[ranks={ranks}, size={size_bytes}]: {ours.choice}" if ours.choice else ""
