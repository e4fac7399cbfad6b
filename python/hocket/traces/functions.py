"""The MPI functions that traces contain, and the values of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """Kinds of functions, as far as replays distinguish them."""

    INIT = auto()
    FINALIZE = auto()
    SEND = auto()
    RECEIVE = auto()
    EXCHANGE = auto()
    PROBE = auto()
    START = auto()
    COMPLETE = auto()
    NAME = auto()
    COLLECTIVE = auto()
    NEW_COMMUNICATOR = auto()
    FREE_COMMUNICATOR = auto()


@dataclass(frozen=True)
class Function:
    """The content of a function's lines.

    Attributes:
        kind: Its kind.
        needs: Values that are always present.
        may_have: Values that may be present, including those that depend on the root or on MPI_IN_PLACE.
        is_started: Whether it only starts an operation and returns a request.
        is_persistent: Whether its request must be started.
        is_looking: Whether it may find nothing; a line then has only `tries`.
        is_collective: Whether all ranks of its communicator call it, in the same order.
        blocking: For a collective, the blocking function of the same collective; empty for other functions.
    """

    kind: Kind
    needs: frozenset[str] = frozenset()
    may_have: frozenset[str] = frozenset()
    is_started: bool = False
    is_persistent: bool = False
    is_looking: bool = False
    is_collective: bool = False
    blocking: str = ""


def _data(prefix: str = "", count: str = "count") -> set[str]:
    return {f"{prefix}{name}" for name in (count, "type", "type_bytes")}


_MESSAGE = {"comm", "peer", "tag"} | _data()
_GOT = {"got"}
_REQUEST = {"request"}
_RECV_PEER = {"recv_peer", "recv_tag"}
_REDUCTION = {"comm", "op", "commutative"} | _data()


def _of(
    kind: Kind, names: str, needs: Iterable[str] = (), may_have: Iterable[str] = (), blocking: str = "", **flags: bool
) -> Iterator[tuple[str, Function]]:
    for name in names.split():
        yield f"MPI_{name}", Function(kind, frozenset(needs), frozenset(may_have), blocking=blocking, **flags)


def _collective(name: str, needs: set[str], may_have: Iterable[str] = ()) -> Iterator[tuple[str, Function]]:
    """Give a collective, and its nonblocking form."""
    blocking = f"MPI_{name}"
    yield from _of(Kind.COLLECTIVE, name, {"comm", *needs}, may_have, blocking, is_collective=True)
    started_name, needs = f"I{name.lower()}", {"comm", "request", *needs}
    yield from _of(Kind.COLLECTIVE, started_name, needs, may_have, blocking, is_started=True, is_collective=True)


def _collectives() -> Iterator[tuple[str, Function]]:
    yield from _collective("Barrier", set())
    yield from _collective("Bcast", _data() | {"root"})
    for name in ("Allreduce", "Scan", "Exscan", "Reduce_scatter_block"):
        yield from _collective(name, _REDUCTION, {"in_place"})
    yield from _collective("Reduce", _REDUCTION | {"root"}, {"in_place"})
    yield from _collective("Reduce_scatter", _REDUCTION - {"count"} | {"counts"}, {"in_place"})
    for name in ("Allgather", "Alltoall"):
        yield from _collective(name, _data("recv_"), _data() | {"in_place"})
    for name in ("Gather", "Scatter"):
        yield from _collective(name, {"root"}, _data() | _data("recv_") | {"in_place"})
    yield from _collective("Allgatherv", _data("recv_", "counts"), _data() | {"in_place"})
    yield from _collective("Gatherv", {"root"}, _data() | _data("recv_", "counts") | {"in_place"})
    yield from _collective("Scatterv", {"root"}, _data("", "counts") | _data("recv_") | {"in_place"})
    for name in ("Alltoallv", "Alltoallw"):
        yield from _collective(name, _data("recv_", "counts"), _data("", "counts") | {"in_place"})


FUNCTIONS: dict[str, Function] = dict(
    [
        *_of(Kind.INIT, "Init"),
        *_of(Kind.FINALIZE, "Finalize"),
        *_of(Kind.SEND, "Send Bsend Ssend Rsend", _MESSAGE),
        *_of(Kind.SEND, "Isend Ibsend Issend Irsend", _MESSAGE | _REQUEST, is_started=True),
        *_of(
            Kind.SEND,
            "Send_init Bsend_init Ssend_init Rsend_init",
            _MESSAGE | _REQUEST,
            is_started=True,
            is_persistent=True,
        ),
        *_of(Kind.RECEIVE, "Recv Mrecv", _MESSAGE | _GOT),
        *_of(Kind.RECEIVE, "Irecv Imrecv", _MESSAGE | _REQUEST, is_started=True),
        *_of(Kind.RECEIVE, "Recv_init", _MESSAGE | _REQUEST, is_started=True, is_persistent=True),
        *_of(Kind.EXCHANGE, "Sendrecv Sendrecv_replace", _MESSAGE | _RECV_PEER | _data("recv_") | _GOT),
        *_of(Kind.PROBE, "Probe Mprobe", {"comm", "peer", "tag", "got"}),
        *_of(Kind.PROBE, "Iprobe Improbe", {"comm", "peer", "tag", "got"}, is_looking=True),
        *_of(Kind.START, "Start Startall", {"requests"}),
        *_of(Kind.COMPLETE, "Wait Waitall Waitany Waitsome", {"requests", "got"}),
        *_of(Kind.COMPLETE, "Test Testall Testany Testsome", {"requests", "got"}, is_looking=True),
        *_of(Kind.NAME, "Cancel Request_free", {"requests"}),
        *_collectives(),
        *_of(
            Kind.NEW_COMMUNICATOR,
            "Comm_dup Comm_dup_with_info Comm_create Comm_split Comm_split_type Cart_create Cart_sub Graph_create"
            " Dist_graph_create Dist_graph_create_adjacent Intercomm_merge",
            {"comm"},
            {"new"},
            is_collective=True,
        ),
        *_of(Kind.NEW_COMMUNICATOR, "Comm_create_group Intercomm_create", {"comm"}, {"new"}),
        *_of(Kind.NEW_COMMUNICATOR, "Comm_idup", {"comm", "new", "request"}, is_started=True, is_collective=True),
        *_of(Kind.FREE_COMMUNICATOR, "Comm_free Comm_disconnect", {"comm"}),
    ]
)
"""All functions that traces may contain, by name."""
