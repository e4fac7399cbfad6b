"""What MPICH's device runs: compositions, and algorithms of the processes of a node by shared memory.

Compositions divide a call between the nodes and the processes of a node. They are the leaves of another selection tree,
`MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE`. MPICH runs the one that the tree names, whether or not it is for the
communicator. A third tree, `MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE`, has algorithms by shared memory.

Source: `src/mpid/ch4/src/ch4_coll.h` and `ch4_coll_impl.h` of MPICH 5.0; that one of them is for one node alone, its
developers on the failure of a tuning file that gave it to all communicators. For shared memory
`src/mpid/ch4/shm/posix/posix_coll_release_gather.h` and `maint/tuning/coll/ch4/posix_generic.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hocket.rules.tuning_files.form import Rule, Situation
from hocket.rules.tuning_files.levels import Plan, Step


@dataclass(frozen=True)
class Composition:
    """A composition.

    Attributes:
        what: What it does.
        needs: What the communicator has to be, as a condition; none where it may be any.
        otherwise: What happens on other communicators.
        steps: Its steps; none where the tree below decides for all ranks, or the steps are not known.
        remark: How it differs from Hocket's algorithm of the same steps; by shared memory, where messages replace it.
        similar: For an algorithm by shared memory: the one of Hocket that is nearest, and its costs stand for it.
    """

    what: str
    needs: tuple[str, str] | None = None
    otherwise: str = ""
    steps: tuple[Step, ...] = ()
    remark: str = ""
    similar: str = ""


def _levels(*steps: Step, remark: str = "") -> Composition:
    return Composition(
        "within each node by shared memory, and between the first processes of the nodes",
        ("comm_hierarchy", "parent"),
        "where no node has several processes there are no such levels, and results are wrong",
        steps,
        remark,
    )


def _within(function: str, part: str | None = None, size_bytes: int | None = None) -> Step:
    return Step("within nodes", function, part, size_bytes)


def _between(function: str) -> Step:
    return Step("between nodes", function, "network")


_NETWORK = Composition("all processes, by an algorithm of MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE")
_LEADERS = Composition("several leaders of each node; where they do not fit, MPICH runs another composition")
_BCAST = _between("bcast"), _within("bcast", "local")
_REDUCE = _within("reduce", "local"), _between("reduce")
_OF = {
    "Barrier": {
        "alpha": _levels(
            *(_within("barrier", "local"), _between("barrier"), _within("bcast", size_bytes=1)),
            remark="the last step is a broadcast of one byte, not a barrier",
        ),
        "beta": _NETWORK,
    },
    "Bcast": {
        "alpha": _levels(*_BCAST, remark="a root that is not the first rank of its node sends to that one before"),
        "beta": _levels(*_BCAST, remark="the node of a root that is not its first rank broadcasts before the others"),
        "gamma": _NETWORK,
    },
    "Reduce": {
        "alpha": _levels(*_REDUCE, remark="a root other than rank 0 receives the result from rank 0"),
        "beta": _levels(*_REDUCE, remark="the node of the root reduces last"),
        "gamma": _NETWORK,
    },
    "Allreduce": {
        "alpha": _levels(_within("reduce", "reduce"), _between("allreduce"), _within("bcast", "broadcast")),
        "beta": _NETWORK,
        "gamma": Composition(
            "all processes by shared memory alone, on one node",
            ("comm_size", "node_comm_size"),
            "on several nodes, processes cannot open the memory of another node, and an assertion ends the program",
            (_within("allreduce"),),
        ),
        "delta": _LEADERS,
    },
    "Alltoall": {"alpha": _LEADERS, "beta": _NETWORK},
    "Allgather": {"alpha": _LEADERS, "beta": _NETWORK},
    "Scan": {
        "alpha": Composition(
            "within each node by shared memory, and between the nodes",
            steps=(_within("scan", "scan"), _between("scan"), _within("bcast", "broadcast")),
            remark="the first ranks of the nodes scan; a message from each node takes its sum to its first rank, and "
            "another one to the next node",
        ),
        "beta": _NETWORK,
    },
    **{
        name: {"alpha": _NETWORK}
        for name in ("Alltoallv", "Alltoallw", "Allgatherv", "Gather", "Gatherv", "Scatter", "Scatterv", "Exscan")
    },
    **{name: {"alpha": _NETWORK} for name in ("Reduce_scatter", "Reduce_scatter_block")},
}

_IPC_READ = Composition("the processes of a node, each of which copies from the memory of the root")
_LIMITS = (
    "within nodes, MPICH takes messages in the first four of these calls of a communicator, with MPI_THREAD_MULTIPLE, "
    "and where a node's segments would exceed 64 MiB"
)
_SIMILAR = {"bcast": "binomial", "barrier": "binomial", "allreduce": "reduce_broadcast", "reduce": "binomial"}
_BY_SHARED_MEMORY = {
    **{
        f"MPIDI_POSIX_mpi_{name}_release_gather": Composition(
            "the processes of a node, by a segment of shared memory", similar=similar, remark=_LIMITS
        )
        for name, similar in _SIMILAR.items()
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


STEPPED: Mapping[str, str] = MappingProxyType(
    {
        name.lower(): f"MPIDI_{name}_intra_composition_{letter}"
        for name, letters in _OF.items()
        if any(each.steps for each in letters.values())
        for letter, each in letters.items()
        if each is _NETWORK
    }
)
"""The functions that the device may divide into steps, and the composition that passes their calls on undivided."""


def composition_plan(rule: Rule) -> Plan | None:
    """Return the composition that a rule names, with its steps: none if the tree below decides for all ranks."""
    composition = COMPOSITIONS.get(rule.choice.algorithm) if rule.choice else None
    if composition is None:
        return None
    why = f"line {rule.line} of the device's tree: {composition.what}"
    return Plan("MPICH's device", str(rule.choice), why, composition.steps, composition.remark)


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
