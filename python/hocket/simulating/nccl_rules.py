"""NCCL's choices for the collective calls of a trace, as rules."""

from __future__ import annotations

from collections.abc import Iterator

from hocket.definitions.library import find_collective
from hocket.definitions.machine import Machine
from hocket.rules.nccl.defaults import decision_on
from hocket.rules.nccl.table import LIBRARY
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.hocket_rules import of_function
from hocket.rules.tuning_files.translation import to_hocket
from hocket.traces.functions import FUNCTIONS
from hocket.traces.trace import Trace


def nccl_rules(trace: Trace, machine: Machine) -> str:
    """Return what NCCL chooses for the calls of a trace, as rules, one per line.

    It decides for each communicator as if its ranks filled nodes one after the other. Calls for which it has no choice
    get no rule.

    Raises:
        Error: The machine does not say by what NCCL decides.
    """
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
