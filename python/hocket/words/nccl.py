"""What NCCL would choose, beside a simulated call."""

from __future__ import annotations

from hocket._native import Error
from hocket.base.call import Call
from hocket.definitions.machine import Machine
from hocket.rules.nccl.choosing import Decision
from hocket.rules.nccl.defaults import decision_on
from hocket.rules.nccl.table import LIBRARY
from hocket.rules.tuning_files.hocket_rules import of_function


def nccl_decision(machine: Machine, collective: str, call: Call) -> Decision | None:
    """Return what NCCL chooses for a call; none if the machine has no section [gpu], or NCCL no such collective."""
    if "gpu.generation" not in machine.quantities:
        return None
    try:
        return decision_on(machine, of_function(collective), call.ranks, call.size_bytes)
    except Error:
        return None


def nccl_facts(decision: Decision | None) -> list[tuple[str, str]]:
    """Return the decision in words."""
    return [] if decision is None else [(LIBRARY, decision.sentence)]
