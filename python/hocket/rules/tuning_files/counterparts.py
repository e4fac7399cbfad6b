"""Which algorithm of a library is which of Hocket's: one table per library and version, the only place that says so.

Sources: for Open MPI `ompi/mca/coll/tuned/coll_tuned_*_decision.c` and `docs/tuning-apps/collectives/tuned.rst`; for
MPICH `src/mpi/coll/src/csel_container.c` and the algorithms' files; for UCC `src/components/tl/ucp` (`ucc_info -A`);
for NCCL and RCCL `algos_of_coll` and `required_cuda` in `src/device/generate.py` (NCCL 2.30, RCCL of ROCm 7), and for
nodes `src/graph/tuning.cc`; NCCLX has NCCL's. Two algorithms are the same here if every rank sends the same messages;
how a library overlaps them is its own affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from hocket.base.names import unknown

WHOLE_BYTES = 1 << 40
"""Hocket's size of a segment that is the whole message: 1 TiB; libraries write 0."""

_YES, _NO = "yes", "no"


@dataclass(frozen=True)
class Short:
    """What a library runs in place of an algorithm if the vector has too few elements.

    Attributes:
        name: The algorithm that it runs.
        condition: When the vector has too few, one of `fewest_elements`.
    """

    name: str
    condition: Literal["count<ranks", "count<pow2"] = "count<ranks"

    def is_for(self, elements: int, ranks: int) -> bool:
        """Return whether a vector has too few elements."""
        return elements < fewest_elements(ranks)[self.condition]

    def __str__(self) -> str:
        return f"with fewer elements than {LIMITS[self.condition]}"


LIMITS = {"count<ranks": "ranks", "count<pow2": "the largest power of two of ranks"}
"""The conditions on few elements, and what there are fewer than."""


def fewest_elements(ranks: int) -> Mapping[str, int]:
    """Return the numbers of elements below which libraries may take another algorithm, by conditions of rules."""
    return {"count<ranks": ranks, "count<pow2": 1 << max(ranks.bit_length() - 1, 0)}


@dataclass(frozen=True)
class Counterpart:
    """An algorithm of a library.

    Attributes:
        name: In the library's words.
        number: The number that Open MPI has for it.
        hocket: The algorithm of Hocket that does the same; none if there is none.
        fixed: Parameters of Hocket's algorithm with which it does.
        own: Parameters of the library's with which it does.
        parameter_names: The library's parameters that are parameters of Hocket's, and their names there.
        what: What it is, where Hocket has none such.
        in_channels: The algorithm of Hocket that does the same with several channels; none if `hocket` does.
        needs: The conditions that the library does not check by itself.
        needs_power_of_two: Whether it is for a power of two of ranks only.
        short: What the library runs in its place for too few elements; none if it always runs the algorithm itself.
        ranks: The only number of ranks that it takes, if there is one.
        asks: Other parameters that the library has to be given.
        own_segments: Whether the library chooses the size of segments by itself.
        similar: Another algorithm of Hocket, with its parameters, that is nearly the same: rules for it become rules
            for this one.
        protocols: NCCL's protocols with which it runs.
        fewest_nodes: The least number of nodes that it takes.
        fewest_per_node: The least number of ranks on each node.
        is_lone: Whether it takes only one rank on each node.
        plugin_nodes: The number of nodes from which on it needs a plugin of the network; none if it needs none.
    """

    name: str
    number: int | None = None
    hocket: str | None = None
    fixed: Mapping[str, int | str] = field(default_factory=dict)
    own: Mapping[str, int | str] = field(default_factory=dict)
    parameter_names: Mapping[str, str] = field(default_factory=dict)
    what: str = ""
    in_channels: str | None = None
    needs: tuple[tuple[str, str], ...] = ()
    needs_power_of_two: bool = False
    short: Short | None = None
    ranks: int | None = None
    asks: tuple[str, ...] = ()
    own_segments: bool = False
    similar: tuple[str, Mapping[str, int | str]] | None = None
    protocols: tuple[str, ...] = ()
    fewest_nodes: int = 1
    fewest_per_node: int = 1
    is_lone: bool = False
    plugin_nodes: int | None = None

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms of Hocket that do the same: with one channel, and with several."""
        return tuple(name for name in (self.hocket, self.in_channels) if name is not None)

    def names_in(self, ours: str) -> Mapping[str, str]:
        """Return the library's parameters that one of these algorithms has, and their names there."""
        return {**self.parameter_names, **({"channels": "channels"} if ours == self.in_channels else {})}

    def takes(self, ranks: int) -> bool:
        """Return whether it takes calls on a number of ranks."""
        return self.ranks in (None, ranks) and not (self.needs_power_of_two and ranks & (ranks - 1))


@dataclass(frozen=True)
class Library:
    """What a version of a library has.

    Attributes:
        name: With the version: "openmpi-5.0".
        algorithms: Those of each function, in the library's order.
        measures: What sizes count for each function.
        kin: Libraries of one kin have the same names or numbers of algorithms.
        most_channels: How many channels it opens at most, if it has any.
        flat: The library whose algorithms its `tuned` stands for, whichever of them; empty if it has no such choice.
    """

    name: str
    algorithms: Mapping[str, tuple[Counterpart, ...]]
    measures: Mapping[str, str]
    kin: str = ""
    most_channels: int | None = None
    flat: str = ""

    def find(self, function: str, name: str) -> Counterpart | None:
        """Return an algorithm by its name or, as text, its number."""
        candidates = self.algorithms.get(function, ())
        return next((each for each in candidates if name in (each.name, str(each.number))), None)


FUNCTIONS_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "allgather": ("allgather", "allgatherv"),
        "broadcast": ("bcast",),
        "reduce_scatter": ("reduce_scatter", "reduce_scatter_block"),
    }
)
"""The functions that Hocket's rules for a collective are for, where it is not the one of its name; the first stands for
the collective where rules are turned into Hocket's."""


_SEGMENT = {"seg_size": "segment"}
_WHOLE = {"segment": WHOLE_BYTES}
_ALL_AT_ONCE = {"sends": "together"}
_DOUBLING_IF_SHORT = Short("recursive_doubling")
_LINEAR_IF_SHORT = Short("basic_linear")
_CHAINS = "several chains side by side"

_OPENMPI_5_0: Mapping[str, tuple[Counterpart, ...]] = {
    "allgather": (
        Counterpart("linear", 1, what="gather to rank 0, then broadcast"),
        Counterpart("bruck", 2, "bruck", fixed={"radix": 2}),
        Counterpart("recursive_doubling", 3, "recursive_doubling"),
        Counterpart("ring", 4, "ring"),
        Counterpart("neighbor", 5, "neighbor_exchange"),
        Counterpart("two_proc", 6, what="one exchange of two ranks", ranks=2),
        Counterpart("sparbit", 7, "sparbit"),
    ),
    "allgatherv": (
        Counterpart("default", 1, what="gatherv to rank 0, then broadcast"),
        Counterpart("bruck", 2, "bruck", fixed={"radix": 2}),
        Counterpart("ring", 3, "ring"),
        Counterpart("neighbor", 4, "neighbor_exchange"),
        Counterpart("two_proc", 5, what="one exchange of two ranks", ranks=2),
        Counterpart("sparbit", 6, "sparbit"),
    ),
    "allreduce": (
        Counterpart("basic_linear", 1, "linear"),
        Counterpart("nonoverlapping", 2, "reduce_broadcast"),
        Counterpart("recursive_doubling", 3, "recursive_doubling"),
        Counterpart("ring", 4, "ring_or_recursive_doubling", short=_DOUBLING_IF_SHORT, similar=("ring", {})),
        Counterpart("segmented_ring", 5, what="a ring whose blocks go in segments", short=_DOUBLING_IF_SHORT),
        Counterpart("rabenseifner", 6, "rabenseifner", short=Short("basic_linear", "count<pow2")),
    ),
    "alltoall": (
        Counterpart("linear", 1, "linear", fixed={"window": 0, **_ALL_AT_ONCE}, similar=("linear", {"window": 0})),
        Counterpart("pairwise", 2, "pairwise_exchange", fixed={"pairing": "shift"}),
        Counterpart("modified_bruck", 3, "bruck", fixed={"radix": 2}),
        Counterpart(
            "linear_sync", 4, "linear", fixed=_ALL_AT_ONCE, parameter_names={"reqs": "window"}, similar=("linear", {})
        ),
        Counterpart("two_proc", 5, what="one exchange of two ranks", ranks=2),
    ),
    "alltoallv": (
        Counterpart("basic_linear", 1, "linear", fixed=_ALL_AT_ONCE, similar=("linear", {})),
        Counterpart("pairwise", 2, "pairwise_exchange"),
    ),
    "barrier": (
        Counterpart("linear", 1, "linear"),
        Counterpart("double_ring", 2, what="a message goes round the ring twice"),
        Counterpart("recursive_doubling", 3, "recursive_doubling"),
        Counterpart("bruck", 4, "dissemination"),
        Counterpart("two_proc", 5, what="one exchange of two ranks", ranks=2),
        Counterpart("tree", 6, "binomial"),
    ),
    "bcast": (
        Counterpart("basic_linear", 1, "linear"),
        Counterpart("chain", 2, what=_CHAINS),
        Counterpart("pipeline", 3, "chain", parameter_names=_SEGMENT),
        Counterpart("split_binary_tree", 4, what="a half of the message down each half of a binary tree"),
        Counterpart(
            "binary_tree", 5, "tree", fixed={"shape": "binary"}, parameter_names=_SEGMENT, similar=("binary_tree", {})
        ),
        Counterpart(
            "binomial", 6, "tree", fixed={"shape": "binomial"}, parameter_names=_SEGMENT, similar=("binomial", {})
        ),
        Counterpart(
            "knomial",
            7,
            "tree",
            fixed={"shape": "k_nomial"},
            parameter_names=_SEGMENT,
            similar=("k_nomial", {"radix": 4}),
        ),
        Counterpart("scatter_allgather", 8, "scatter_doubling_allgather", short=_LINEAR_IF_SHORT),
        Counterpart("scatter_allgather_ring", 9, "scatter_ring_allgather", short=_LINEAR_IF_SHORT),
    ),
    "exscan": (
        Counterpart("linear", 1, "chain", fixed=_WHOLE),
        Counterpart("recursive_doubling", 2, "recursive_doubling"),
    ),
    "gather": (
        Counterpart("basic_linear", 1, "linear"),
        Counterpart("binomial", 2, "binomial"),
        Counterpart("linear_sync", 3, what="the root asks each rank for its block"),
    ),
    "reduce": (
        Counterpart("linear", 1, "linear"),
        Counterpart("chain", 2, what=_CHAINS),
        Counterpart("pipeline", 3, "chain", parameter_names=_SEGMENT),
        Counterpart(
            "binary", 4, "tree", fixed={"shape": "binary"}, parameter_names=_SEGMENT, similar=("binary_tree", {})
        ),
        Counterpart(
            "binomial", 5, "tree", fixed={"shape": "binomial"}, parameter_names=_SEGMENT, similar=("binomial", {})
        ),
        Counterpart("in-order_binary", 6, what="a binary tree that keeps the order of ranks"),
        Counterpart("rabenseifner", 7, "rabenseifner", short=Short("linear", "count<pow2")),
    ),
    "reduce_scatter": (
        Counterpart("non-overlapping", 1, what="reduce to rank 0, then scatterv"),
        Counterpart("recursive_halving", 2, "recursive_halving"),
        Counterpart("ring", 3, "ring"),
        Counterpart("butterfly", 4, what="recursive halving whose blocks end in another order"),
    ),
    "reduce_scatter_block": (
        Counterpart("basic_linear", 1, what="reduce to rank 0, then scatter"),
        Counterpart("recursive_doubling", 2, "recursive_doubling"),
        Counterpart("recursive_halving", 3, "recursive_halving"),
        Counterpart("butterfly", 4, what="recursive halving whose blocks end in another order"),
    ),
    "scan": (
        Counterpart("linear", 1, "chain", fixed=_WHOLE),
        Counterpart("recursive_doubling", 2, "recursive_doubling"),
    ),
    "scatter": (
        Counterpart("basic_linear", 1, "linear"),
        Counterpart("binomial", 2, "binomial"),
        Counterpart("linear_nb", 3, what="the root sends all blocks without waiting"),
    ),
}
_OPENMPI_4_1 = {
    **{
        name: tuple(each for each in counterparts if each.name != "sparbit")
        for name, counterparts in _OPENMPI_5_0.items()
    },
    # Files of 4.1 have no number of requests.
    "alltoall": tuple(
        Counterpart("linear_sync", 4, what="linear with a window") if each.number == 4 else each
        for each in _OPENMPI_5_0["alltoall"]
    ),
}
_OPENMPI_6_0 = {
    **_OPENMPI_5_0,
    "allgather": (
        *(
            Counterpart("bruck-k-fanout", 2, "bruck", parameter_names={"faninout": "radix"})
            if each.number == 2
            else each
            for each in _OPENMPI_5_0["allgather"]
        ),
        Counterpart("direct-messaging", 8, what="all messages at once"),
    ),
    "allreduce": (
        *_OPENMPI_5_0["allreduce"],
        Counterpart("allgather_reduce", 7, what="an allgather of whole vectors, which each rank combines"),
    ),
    "reduce": (*_OPENMPI_5_0["reduce"], Counterpart("knomial", 8, what="a k-nomial tree")),
}
_BY_LEVELS = "by Open MPI's component han, within nodes and between them"
_COMPONENTS = ("self", "basic", "libnbc", "tuned", "sm", "adapt")


def _han(*algorithms: str) -> tuple[Counterpart, ...]:
    """Return what a rule of HAN can name: HAN itself, or with one of its algorithms, and other components."""
    return (
        Counterpart("han", what=_BY_LEVELS, similar=("hierarchical", {})),
        *(Counterpart(f"han @{name}", number, what=_BY_LEVELS) for number, name in enumerate(algorithms, start=1)),
        *(Counterpart(name, what=f"as Open MPI's component {name} decides") for name in _COMPONENTS),
    )


_OPENMPI_5_0_HAN: Mapping[str, tuple[Counterpart, ...]] = {
    **{name: _han("intra", "simple") for name in ("allgather", "bcast", "gather", "scatter")},
    **{name: _han("intra", "simple", "reproducible") for name in ("allreduce", "reduce")},
    "allgatherv": _han(),
    "barrier": _han("simple"),
}
_HAN_MEASURES = {**dict.fromkeys(_OPENMPI_5_0_HAN, "size"), "barrier": "nothing"}
_OPENMPI_MEASURES = {
    **{name: "size" for name in ("allreduce", "bcast", "reduce", "reduce_scatter", "reduce_scatter_block")},
    # The mean block. The documentation claims the sum of the blocks.
    "allgatherv": "size",
    **{name: "total" for name in ("allgather", "alltoall", "gather", "scatter")},
    **{name: "nothing" for name in ("alltoallv", "barrier")},
    **{name: "type" for name in ("exscan", "scan")},
}

_COMMUTES = (("is_commutative", _YES),)
_BUILT_IN_OPERATOR = (("is_op_built_in", _YES), ("count<pow2", _NO))
_SEPARATE_BUFFERS = (("is_sendbuf_inplace", _NO),)
_LEADERS = "by the leaders of nodes"
_HIERARCHY = (("comm_hierarchy", "parent"),)
_EXCHANGE = ("k", "single_phase_recv")
_TREE = ("tree_type", "k", "topo_overhead", "topo_diff_groups", "topo_diff_switches", "topo_same_switches")
_ANY_TRANSPORT = "the nonblocking form, waited for"


def _mpich(function: str, *counterpart: Counterpart) -> tuple[Counterpart, ...]:
    """Return algorithms with their full names, and the algorithm that every function has."""
    begin = f"MPIR_{function.capitalize()}"
    return (
        *(replace(each, name=f"{begin}_{each.name}") for each in counterpart),
        Counterpart(f"{begin}_allcomm_nb", what=_ANY_TRANSPORT),
    )


def _pairwise(name: str) -> tuple[Counterpart, ...]:
    return _mpich(
        name,
        Counterpart("intra_noncommutative", what="for operators that do not commute", needs_power_of_two=True),
        Counterpart("intra_pairwise", hocket="pairwise", needs=_COMMUTES),
        Counterpart("intra_recursive_doubling", hocket="recursive_doubling"),
        Counterpart("intra_recursive_halving", hocket="recursive_halving", needs=_COMMUTES),
    )


_MPICH_5_0: Mapping[str, tuple[Counterpart, ...]] = {
    "allgather": _mpich(
        "allgather",
        Counterpart("intra_recursive_doubling", hocket="recursive_doubling", needs_power_of_two=True),
        Counterpart("intra_brucks", hocket="bruck", fixed={"radix": 2}),
        Counterpart("intra_k_brucks", hocket="bruck", parameter_names={"k": "radix"}),
        Counterpart("intra_ring", hocket="ring"),
        Counterpart(
            "intra_recexch_doubling",
            what="recursive doubling with k-1 partners, also for odd numbers of ranks",
            asks=_EXCHANGE,
        ),
        Counterpart(
            "intra_recexch_halving",
            what="recursive halving with k-1 partners, also for odd numbers of ranks",
            asks=_EXCHANGE,
        ),
    ),
    "allgatherv": _mpich(
        "allgatherv",
        Counterpart("intra_recursive_doubling", hocket="recursive_doubling", needs_power_of_two=True),
        Counterpart("intra_brucks", hocket="bruck", fixed={"radix": 2}),
        Counterpart("intra_ring", hocket="ring"),
    ),
    "allreduce": _mpich(
        "allreduce",
        Counterpart("intra_recursive_doubling", hocket="recursive_doubling"),
        Counterpart("intra_reduce_scatter_allgather", hocket="rabenseifner", needs=_BUILT_IN_OPERATOR),
        Counterpart("intra_ring", hocket="ring", needs=_COMMUTES),
        Counterpart(
            "intra_recursive_multiplying",
            hocket="recursive_multiplying",
            parameter_names={"k": "radix"},
            needs=_COMMUTES,
        ),
        Counterpart("intra_recexch", what="recursive doubling with k-1 partners", asks=_EXCHANGE),
        Counterpart("intra_k_reduce_scatter_allgather", what="Rabenseifner's with k-1 partners", asks=_EXCHANGE),
        Counterpart(
            "intra_tree",
            what="reduce to rank 0 and broadcast by a tree, in segments",
            asks=(*_TREE, "buffer_per_child", "chunk_size"),
        ),
        Counterpart("intra_smp", what=_LEADERS, needs=_HIERARCHY),
    ),
    "alltoall": _mpich(
        "alltoall",
        Counterpart("intra_brucks", hocket="bruck", fixed={"radix": 2}, needs=_SEPARATE_BUFFERS),
        Counterpart("intra_k_brucks", hocket="bruck", parameter_names={"k": "radix"}, needs=_SEPARATE_BUFFERS),
        Counterpart(
            "intra_pairwise", hocket="pairwise_exchange", fixed={"pairing": "xor_or_shift"}, needs=_SEPARATE_BUFFERS
        ),
        Counterpart(
            "intra_scattered",
            hocket="linear",
            fixed={"window": 32, **_ALL_AT_ONCE},
            needs=_SEPARATE_BUFFERS,
            similar=("linear", {"window": 32}),
        ),
        Counterpart("intra_pairwise_sendrecv_replace", what="for MPI_IN_PLACE", needs=(("is_sendbuf_inplace", _YES),)),
    ),
    "alltoallv": _mpich(
        "alltoallv",
        Counterpart(
            "intra_scattered", hocket="linear", fixed=_ALL_AT_ONCE, needs=_SEPARATE_BUFFERS, similar=("linear", {})
        ),
        Counterpart("intra_pairwise_sendrecv_replace", what="for MPI_IN_PLACE", needs=(("is_sendbuf_inplace", _YES),)),
    ),
    "barrier": _mpich(
        "barrier",
        Counterpart("intra_k_dissemination", hocket="dissemination", own={"k": 2}),
        Counterpart("intra_k_dissemination", hocket="k_dissemination", parameter_names={"k": "radix"}),
        Counterpart("intra_recexch", what="recursive doubling with k-1 partners", asks=_EXCHANGE),
        Counterpart("intra_smp", what=_LEADERS, needs=_HIERARCHY),
    ),
    "bcast": _mpich(
        "bcast",
        Counterpart("intra_binomial", hocket="binomial"),
        Counterpart("intra_scatter_recursive_doubling_allgather", hocket="scatter_doubling_allgather"),
        Counterpart("intra_scatter_ring_allgather", hocket="scatter_ring_allgather"),
        Counterpart(
            "intra_tree", what="a tree of the type and degree that parameters say", asks=(*_TREE, "is_non_blocking")
        ),
        Counterpart(
            "intra_pipelined_tree",
            what="a tree of the type and degree that parameters say, in segments",
            asks=("tree_type", "k", "is_non_blocking", "chunk_size", "recv_pre_posted"),
        ),
        Counterpart("intra_smp", what=_LEADERS, needs=_HIERARCHY),
    ),
    "exscan": _mpich("exscan", Counterpart("intra_recursive_doubling", hocket="recursive_doubling")),
    "gather": _mpich("gather", Counterpart("intra_binomial", hocket="binomial")),
    "gatherv": _mpich("gatherv", Counterpart("allcomm_linear", hocket="linear")),
    "reduce": _mpich(
        "reduce",
        Counterpart("intra_binomial", hocket="binomial"),
        Counterpart("intra_reduce_scatter_gather", hocket="rabenseifner", needs=_BUILT_IN_OPERATOR),
        Counterpart("intra_smp", what=_LEADERS, needs=_HIERARCHY),
    ),
    "reduce_scatter": _pairwise("reduce_scatter"),
    "reduce_scatter_block": _pairwise("reduce_scatter_block"),
    "scan": _mpich(
        "scan",
        Counterpart("intra_recursive_doubling", hocket="recursive_doubling"),
        Counterpart("intra_smp", what=_LEADERS, needs=_HIERARCHY),
    ),
    "scatter": _mpich("scatter", Counterpart("intra_binomial", hocket="binomial")),
    "scatterv": _mpich("scatterv", Counterpart("allcomm_linear", hocket="linear")),
}
_MPICH_MEASURES = {
    **{name: "size" for name in ("allreduce", "alltoall", "bcast", "reduce")},
    **{name: "size" for name in ("reduce_scatter", "reduce_scatter_block")},
    **{name: "total" for name in ("allgather", "allgatherv", "gather", "scatter")},
    **{name: "nothing" for name in ("alltoallv", "barrier", "exscan", "gatherv", "scan", "scatterv")},
}

_KNOMIAL = "a k-nomial exchange"
_UCC_1: Mapping[str, tuple[Counterpart, ...]] = {
    "allgather": (
        Counterpart("knomial", hocket="recursive_multiplying", fixed={"radix": 4}),
        Counterpart("ring", hocket="ring"),
        Counterpart("neighbor", hocket="neighbor_exchange"),
        Counterpart("bruck", hocket="bruck", fixed={"radix": 2}),
        Counterpart("sparbit", hocket="sparbit"),
        Counterpart("linear", what="all messages at once"),
    ),
    "allreduce": (
        Counterpart("knomial", hocket="recursive_multiplying", fixed={"radix": 4}),
        Counterpart("sra_knomial", hocket="sra_knomial", fixed={"radix": 4}),
        Counterpart("dbt", what="two binary trees"),
        Counterpart("sliding_window", what="one-sided"),
    ),
    "alltoall": (
        Counterpart("pairwise", hocket="pairwise_exchange", fixed={"pairing": "shift"}),
        Counterpart("bruck", hocket="bruck", fixed={"radix": 2}),
        Counterpart("onesided", what="one-sided"),
    ),
    "alltoallv": (
        Counterpart("pairwise", hocket="pairwise_exchange"),
        Counterpart("hybrid", what="short blocks travel together"),
    ),
    "barrier": (Counterpart("knomial", what=_KNOMIAL),),
    "bcast": (
        Counterpart("knomial", hocket="k_nomial", fixed={"radix": 4}),
        Counterpart("sag_knomial", what="scatter and allgather by k-nomial trees"),
        Counterpart("dbt", hocket="double_tree", own_segments=True),
    ),
    "gather": (Counterpart("knomial", hocket="k_nomial", fixed={"radix": 4}),),
    "reduce": (
        Counterpart("knomial", hocket="k_nomial", fixed={"radix": 4}),
        Counterpart("dbt", what="two binary trees"),
        Counterpart("srg_knomial", what="reduce-scatter and gather by k-nomial trees"),
    ),
    "reduce_scatter": (Counterpart("ring", hocket="ring"), Counterpart("knomial", what=_KNOMIAL)),
}
_UCC_MEASURES = {
    **{name: "size" for name in ("allreduce", "bcast", "reduce", "reduce_scatter")},
    **{name: "total" for name in ("allgather", "alltoall", "gather")},
    **{name: "nothing" for name in ("alltoallv", "barrier")},
}

PROTOCOLS = ("ll", "ll128", "simple")
"""The protocols of NCCL: with flags in every 8 bytes, in every 128 bytes, or without flags in the data."""

NCCL = "nccl"
"""The kin of libraries that pass over a line whose algorithm they do not have, or not with its protocol."""

_SIMPLE = ("simple",)
_NCCL_RING = Counterpart("ring", hocket="ring", in_channels="multi_ring", protocols=PROTOCOLS)
_NCCL_CHAIN = Counterpart("ring", hocket="chain", own_segments=True, protocols=PROTOCOLS)
_NCCL_TREE = Counterpart(
    "tree", hocket="double_tree", parameter_names={"channels": "channels"}, own_segments=True, protocols=PROTOCOLS
)
_NCCL_PAT = Counterpart("pat", hocket="pat", protocols=_SIMPLE, is_lone=True)
_COLLNET_DIRECT = Counterpart("collnet_direct", what="in switches, from every GPU", protocols=_SIMPLE, plugin_nodes=0)
_COLLNET_CHAIN = Counterpart(
    "collnet_chain", what="in switches, from the end of a chain", protocols=_SIMPLE, plugin_nodes=0
)
_NVLS = Counterpart("nvls", hocket="nvls", own_segments=True, protocols=_SIMPLE, fewest_per_node=3, plugin_nodes=2)
_NVLS_TREE = Counterpart(
    "nvls_tree",
    hocket="nvls_tree",
    own_segments=True,
    fewest_nodes=2,
    fewest_per_node=3,
    protocols=_SIMPLE,
)
_NCCL_2: Mapping[str, tuple[Counterpart, ...]] = {
    "allgather": (_NCCL_RING, _NCCL_PAT, _COLLNET_DIRECT, _NVLS),
    "allreduce": (_NCCL_RING, _NCCL_TREE, _COLLNET_DIRECT, _COLLNET_CHAIN, _NVLS, _NVLS_TREE),
    "bcast": (_NCCL_CHAIN,),
    "reduce": (_NCCL_CHAIN,),
    "reduce_scatter": (_NCCL_RING, _NCCL_PAT, _COLLNET_DIRECT, _NVLS),
}
_RCCL_2: Mapping[str, tuple[Counterpart, ...]] = {
    "allgather": (_NCCL_RING, _NCCL_PAT),
    "allreduce": (_NCCL_RING, _NCCL_TREE),
    "bcast": (_NCCL_CHAIN,),
    "reduce": (_NCCL_CHAIN,),
    "reduce_scatter": (_NCCL_RING, _NCCL_PAT),
}
_NCCL_MEASURES = {**{name: "size" for name in ("allreduce", "bcast", "reduce", "reduce_scatter")}, "allgather": "total"}
_NCCLX_MEASURES = {name: "size" if measure == "total" else "share" for name, measure in _NCCL_MEASURES.items()}

LIBRARIES: Mapping[str, Library] = MappingProxyType(
    {
        each.name: each
        for each in (
            Library("openmpi-4.1", _OPENMPI_4_1, _OPENMPI_MEASURES, "openmpi"),
            Library("openmpi-5.0", _OPENMPI_5_0, _OPENMPI_MEASURES, "openmpi"),
            Library("openmpi-5.0-han", _OPENMPI_5_0_HAN, _HAN_MEASURES, flat="openmpi-5.0"),
            Library("openmpi-6.0", _OPENMPI_6_0, _OPENMPI_MEASURES, "openmpi"),
            Library("mpich-5.0", _MPICH_5_0, _MPICH_MEASURES),
            Library("ucc-1", _UCC_1, _UCC_MEASURES),
            Library("nccl-2", _NCCL_2, _NCCL_MEASURES, NCCL, 64),
            Library("rccl-2", _RCCL_2, _NCCL_MEASURES, NCCL, 128),
            Library("ncclx-2", _NCCL_2, _NCCLX_MEASURES, NCCL, 64),
        )
    }
)
"""The libraries by name; Hocket itself is none of them."""


def library_of(name: str) -> Library:
    """Return a library by its name, which needs no version where one version alone is known.

    A library whose choices only hand calls on is none.

    Raises:
        Error: There is none, or there are several.
    """
    names = [each for each in LIBRARIES if not LIBRARIES[each].flat]
    of_kind = [each for each in names if name in (each, each.split("-")[0])]
    if len(of_kind) != 1:
        raise unknown("library", name, of_kind or names)
    return LIBRARIES[of_kind[0]]
