"""What MPICH's device runs: compositions, and algorithms of the processes of a node by shared memory.

Compositions divide a call between the nodes and the processes of a node. They are the leaves of another selection tree,
`MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE`. MPICH runs the one that the tree names, whether or not it is for the
communicator. A third tree, `MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE`, has algorithms by shared memory.

Source: `src/mpid/ch4/src/ch4_coll.h` and `ch4_coll_impl.h` of MPICH 5.0; that one of them is for one node alone, its
developers on the failure of a tuning file that gave it to all communicators. For shared memory
`src/mpid/ch4/shm/posix/posix_init.c` and `maint/tuning/coll/ch4/posix_generic.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hocket.rules.tuning_files.form import Rule, Situation


@dataclass(frozen=True)
class Composition:
    """A composition.

    Attributes:
        what: What it does.
        needs: What the communicator has to be, as a condition; none where it may be any.
        otherwise: What happens on other communicators.
    """

    what: str
    needs: tuple[str, str] | None = None
    otherwise: str = ""


_NETWORK = Composition("all processes, by an algorithm of MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE")
_LEADERS = Composition("several leaders of each node; where they do not fit, MPICH runs another composition")
_SCAN = Composition("within each node by shared memory, and between the nodes")
_LEVELS = Composition(
    "within each node by shared memory, and between the first processes of the nodes",
    ("comm_hierarchy", "parent"),
    "where no node has several processes there are no such levels, and results are wrong",
)
_ONE_NODE = Composition(
    "all processes by shared memory alone, on one node",
    ("comm_size", "node_comm_size"),
    "on several nodes, processes cannot open the memory of another node, and an assertion ends the program",
)
_OF = {
    "Barrier": {"alpha": _LEVELS, "beta": _NETWORK},
    "Bcast": {"alpha": _LEVELS, "beta": _LEVELS, "gamma": _NETWORK},
    "Reduce": {"alpha": _LEVELS, "beta": _LEVELS, "gamma": _NETWORK},
    "Allreduce": {"alpha": _LEVELS, "beta": _NETWORK, "gamma": _ONE_NODE, "delta": _LEADERS},
    "Alltoall": {"alpha": _LEADERS, "beta": _NETWORK},
    "Allgather": {"alpha": _LEADERS, "beta": _NETWORK},
    "Scan": {"alpha": _SCAN, "beta": _NETWORK},
    **{
        name: {"alpha": _NETWORK}
        for name in ("Alltoallv", "Alltoallw", "Allgatherv", "Gather", "Gatherv", "Scatter", "Scatterv", "Exscan")
    },
    **{name: {"alpha": _NETWORK} for name in ("Reduce_scatter", "Reduce_scatter_block")},
}

_RELEASE_GATHER = Composition("the processes of a node, by a segment of shared memory")
_IPC_READ = Composition("the processes of a node, each of which copies from the memory of the root")
_BY_SHARED_MEMORY = {
    **{
        f"MPIDI_POSIX_mpi_{name}_release_gather": _RELEASE_GATHER
        for name in ("bcast", "barrier", "allreduce", "reduce")
    },
    "MPIDI_POSIX_mpi_bcast_ipc_read": _IPC_READ,
}

COMPOSITIONS: Mapping[str, Composition] = MappingProxyType(
    {
        f"MPIDI_{name}_intra_composition_{letter}": each
        for name, letters in _OF.items()
        for letter, each in letters.items()
    }
    | _BY_SHARED_MEMORY
)
"""The compositions and the algorithms by shared memory, by name."""


def remark(rule: Rule | None, call: Situation) -> str:
    """Return what a composition does for a call, and what goes wrong; nothing for other choices."""
    composition = COMPOSITIONS.get(rule.choice.algorithm) if rule and rule.choice else None
    if composition is None:
        return ""
    is_met = composition.needs is None or call.conditions.get(composition.needs[0]) == composition.needs[1]
    return composition.what if is_met else f"{composition.what}; {composition.otherwise}"


def misplaced_text(rule: Rule) -> str:
    """Return what goes wrong as a composition gets communicators that it is not for; nothing if it does not."""
    composition = COMPOSITIONS.get(rule.choice.algorithm) if rule.choice else None
    if composition is None or composition.needs is None or composition.needs in rule.conditions:
        return ""
    return f"{composition.what}; {composition.otherwise}; expected {'='.join(composition.needs)} before it"
