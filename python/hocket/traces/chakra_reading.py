"""Reading Chakra execution traces as MPI traces: the calls of the nodes, in an order that dependencies allow.

Source: for the meaning of nodes and attributes, astra-sim/workload/Workload.cc of astra-sim; for groups of ranks, its
issue_pytorch_pg_metadata.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from hocket._native import Error
from hocket.base import checks
from hocket.base.files import read_rows
from hocket.traces.chakra import COLLECTIVE, METADATA, RECEIVE, SEND, Node, graphs_of
from hocket.traces.lines import reading
from hocket.traces.reconstruction import UNKNOWN_OPERATOR, RankLog, Request, trace_of
from hocket.traces.trace import SELF, WORLD, Call, Communicator, Trace

_MOST_BYTES = 1 << 53
_LARGEST_TAG = (1 << 31) - 1
_MOST_US = 1 << 53
_WORLD_GROUPS = ("", "0")

_COLLECTIVES: Mapping[str, tuple[str, str] | None] = {
    row["type"]: (row["function"], row["arguments"]) if row["function"] else None
    for row in read_rows(__file__, "chakra_collectives.csv")
}
"""The CollectiveCommTypes in the order of their numbers, each with its MPI function and its arguments; `part`:
comm_size covers the blocks of all ranks."""

_TYPE_NAMES = (*_COLLECTIVES,)
_ALL_TO_ALL = _TYPE_NAMES.index("ALL_TO_ALL")

_GROUPS = "process_group:init"
"""PyTorch's name of the node that tells the groups; converters before METADATA_NODE make computing of it."""


def read_chakra(first: str | PathLike[str]) -> Trace:
    """Read Chakra execution traces: that of rank 0, named PREFIX.0.et or PREFIX.0.json, and the others beside it.

    A rank executes its nodes one after the other: by their ids, but each after the nodes it waits for. It starts
    messages and collectives. It waits for one when it reaches the first node that depends on it. All other nodes are
    computation: of the host, which waits only for what its nodes wait for, or of the accelerator. A node of the
    accelerator starts when the host has come to it and the nodes of the accelerator before it are done. An Error says
    where a trace is malformed, does not give the root or the ranks of a collective, or ranks do not agree: file, node,
    what was expected.
    """
    name = fspath(first)
    with reading(name):
        graphs = graphs_of(name)
        groups = _groups(graphs)
        exchanges = [_exchanges(own) for own in graphs.values()]
        ranks = [_Rank(file, rank, groups, exchanges) for rank, file in enumerate(graphs)]
        for rank, own in zip(ranks, graphs.values(), strict=True):
            rank.take(own)
        program = re.sub(r"\.0\.(et|json)$", "", Path(name).name)
        return trace_of([rank.log for rank in ranks], program, "Chakra", name)


def _groups(graphs: Mapping[str, Sequence[Node]]) -> dict[str, tuple[int, ...]]:
    """Return the ranks of each group: from its metadata, else the ranks whose traces name it."""
    ranks_by_name: dict[str, tuple[int, ...]] = {}
    naming: dict[str, list[int]] = {}
    for rank, (file, own) in enumerate(graphs.items()):
        for node in own:
            if node.kind == METADATA or _GROUPS in node.name:
                for group, ranks in _told_groups(node):
                    if ranks_by_name.setdefault(group, ranks) != ranks or not _are_ranks(ranks, len(graphs)):
                        where = f"{file}, node {node.id}: group {checks.quote(group)}"
                        expected = f"different ranks below {len(graphs)}, the same in all traces"
                        raise Error(f"{where}: got {checks.quote(list(ranks))}, expected {expected}")
            elif node.kind in (COLLECTIVE, SEND, RECEIVE) and rank not in naming.setdefault(_group(node), [])[-1:]:
                naming[_group(node)].append(rank)
    world = tuple(range(len(graphs)))
    groups_by_name = {**naming, **dict.fromkeys(_WORLD_GROUPS, world), **ranks_by_name}
    return {**{name: tuple(ranks) or world for name, ranks in groups_by_name.items()}, "": world}


def _exchanges(nodes: Sequence[Node]) -> dict[str, list[Any]]:
    """Return the sizes of a rank's alltoalls in their order, by group."""
    sizes: dict[str, list[Any]] = {}
    for node in nodes:
        if node.kind == COLLECTIVE and _type_of(node) == _ALL_TO_ALL:
            sizes.setdefault(_group(node), []).append(node.attributes.get("comm_size"))
    return sizes


def _type_of(node: Node) -> Any:
    """Return the type of a collective, of which its node has the number, or a name such as ALL_REDUCE."""
    value = node.attributes.get("comm_type")
    name = str(value).upper()
    return _TYPE_NAMES.index(name) if name in _TYPE_NAMES else value


def _group(node: Node) -> str:
    return str(node.attributes.get("pg_name", node.attributes.get("comm_group", "")))


def _told_groups(node: Node) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Give the groups of PyTorch's metadata: JSON in a list of one text, `['[{"pg_name": "1", "ranks": [0, 1]}]']`."""
    try:
        entries = json.loads(node.values[2:-2])
    except (ValueError, RecursionError):
        return
    for group in entries if isinstance(entries, list) else ():
        if isinstance(group, dict) and "pg_name" in group and isinstance(group.get("ranks"), list):
            yield str(group["pg_name"]), tuple(group["ranks"])


def _are_ranks(ranks: Sequence[Any], count: int) -> bool:
    return len(set(map(str, ranks))) == len(ranks) and all(type(rank) is int and 0 <= rank < count for rank in ranks)


class _Rank:
    """Builds the calls of one rank."""

    def __init__(
        self,
        file: str,
        number: int,
        groups: Mapping[str, tuple[int, ...]],
        exchanges: Sequence[Mapping[str, Sequence[Any]]],
    ) -> None:
        self._file, self._number, self._groups, self._exchanges = file, number, groups, exchanges
        self._exchanges_done: Counter[str] = Counter()
        self._ranks = len(groups[""])
        self._seen = Counter({groups[""]: 1})
        self._seen[(number,)] += 1
        self._host_us = self._device_us = 0
        self._node = Node(0, "", 0)
        self._requests: dict[int, Request] = {}
        self._comms = {name: WORLD for name in _WORLD_GROUPS if groups[name] == groups[""]}
        self._kernels: set[int] = set()
        self.log = RankLog(file, "message")

    def take(self, nodes: Sequence[Node]) -> None:
        """Take all nodes in this order."""
        self._call("MPI_Init", {})
        for self._node in nodes:
            self._wait([self._requests.pop(number) for number in set(self._node.after) if number in self._requests])
            if self._node.kind in (SEND, RECEIVE):
                self._message()
            elif self._node.kind == COLLECTIVE:
                self._collective()
            elif self._node.kind != METADATA:
                self._compute()
        self._wait(self.log.open())
        self._call("MPI_Finalize", {})

    def _compute(self) -> None:
        node = self._node
        if not node.is_on_cpu:
            self._device_us = max(self._host_us, self._device_us) + node.duration_us
            self._kernels.add(node.id)
        else:
            is_synchronising = not self._kernels.isdisjoint(node.after)
            self._host_us = max(self._host_us, self._device_us if is_synchronising else 0) + node.duration_us
        if self._now_us > _MOST_US:
            raise self._error(f"got computing until {self._now_us} us, expected at most {_MOST_US} us")

    @property
    def _now_us(self) -> int:
        return max(self._host_us, self._device_us)

    def _call(self, function: str, arguments: dict[str, Any]) -> None:
        now_s = self._now_us / 1e6
        self.log.calls.append(Call(function, now_s, now_s, arguments, self._node.line))

    def _wait(self, requests: list[Request]) -> None:
        if requests:
            self._call("MPI_Waitall", self.log.complete(sorted(requests, key=lambda request: request.number)))

    def _message(self) -> None:
        is_send = self._node.kind == SEND
        own, other = ("comm_src", "comm_dst") if is_send else ("comm_dst", "comm_src")
        if self._whole(own, self._ranks - 1, self._number) != self._number:
            got = self._node.attributes[own]
            raise self._error(f"{own}: got {got}, expected the rank of this trace, {self._number}")
        peer, tag = self._peer(other), self._whole("comm_tag", _LARGEST_TAG, 0)
        arguments = {"comm": WORLD, "peer": peer, "tag": tag, **_data(self._whole("comm_size", _MOST_BYTES))}
        receive = self.log.post(arguments, self._node.line, is_send)
        self._start("MPI_Isend" if is_send else "MPI_Irecv", arguments, receive)

    def _peer(self, name: str) -> int:
        """Return the other rank of a message: PyTorch's converter leaves it out, and only groups of two tell it."""
        if name not in self._node.attributes and _group(self._node):
            others = [rank for rank in self._groups[_group(self._node)] if rank != self._number]
            if len(others) != 1:
                group = f"a group of {len(others) + 1} ranks"
                raise self._error(f"{name}: got nothing, expected the other rank of the message, which is in {group}")
            return others[0]
        return self._whole(name, self._ranks - 1)

    def _collective(self) -> None:
        kind = self._whole("comm_type", len(_COLLECTIVES) - 1, value=_type_of(self._node))
        if (form := _COLLECTIVES[_TYPE_NAMES[kind]]) is None:
            why = "whose root Chakra does not record"
            raise self._error(f"comm_type: got {kind}, GATHER or SCATTER, {why}, expected other collectives")
        function, fields = form
        arguments = self._communicator()
        ranks = len(self._groups[_group(self._node)])
        size_bytes = self._whole("comm_size", _MOST_BYTES) if fields else 0
        if kind == _ALL_TO_ALL and (blocks := self._unequal_blocks()):
            self._start("MPI_Ialltoallv", {**arguments, **blocks})
            return
        if "part" in fields and size_bytes % ranks:
            raise self._error(f"comm_size: got {size_bytes}, expected a multiple of the {ranks} ranks")
        data = _data(size_bytes // ranks if "part" in fields else size_bytes)
        arguments |= {"root": 0} if "root" in fields else {}
        arguments |= UNKNOWN_OPERATOR if "op" in fields else {}
        arguments |= data if "send" in fields else {}
        arguments |= {f"recv_{key}": value for key, value in data.items()} if "recv" in fields else {}
        self._start(f"MPI_{function}", arguments)

    def _unequal_blocks(self) -> dict[str, Any]:
        """Return the blocks of an alltoall to and from each rank if they are not alike, as those of experts.

        Traces have the size of all blocks of a rank only: each rank divides it evenly.
        """
        group = _group(self._node)
        ranks, number = self._groups[group], self._exchanges_done[group]
        self._exchanges_done[group] += 1
        sizes: list[Any] = [next(iter(self._exchanges[rank].get(group, ())[number:]), None) for rank in ranks]
        if not all(type(size) is int and 0 <= size <= _MOST_BYTES for size in sizes):
            return {}
        if len(set(sizes)) == 1 and not sizes[0] % len(ranks):
            return {}

        def share(size: int, place: int) -> int:
            return size // len(ranks) + (place < size % len(ranks))

        own = ranks.index(self._number)
        counts = [share(sizes[own], place) for place in range(len(ranks))]
        recv = {"recv_counts": [share(size, own) for size in sizes], "recv_type": "MPI_BYTE", "recv_type_bytes": 1}
        return {"counts": counts, "type": "MPI_BYTE", "type_bytes": 1, **recv}

    def _communicator(self) -> dict[str, Any]:
        """Return the communicator of a collective, and its ranks if this is its first collective."""
        group = _group(self._node)
        if group in self._comms:
            dimensions = self._node.attributes.get("involved_dim")
            if self._comms[group] == WORLD and isinstance(dimensions, list) and not all(dimensions):
                raise self._error("involved_dim: got a part of the dimensions, expected a group of ranks as pg_name")
            return {"comm": self._comms[group]}
        ranks = self._groups[group]
        if self._number not in ranks:
            got = f"{checks.quote(group)}, which lacks rank {self._number}"
            raise self._error(f"pg_name: got {got}, expected a group with this rank")
        comm = self._comms[group] = SELF + 1 + len(self.log.communicators)
        self.log.communicators[comm] = Communicator(ranks, (), self._seen[ranks])
        self._seen[ranks] += 1
        return {"comm": comm, "ranks": list(ranks)}

    def _start(self, function: str, arguments: dict[str, Any], receive: Any = None) -> None:
        request = self._requests[self._node.id] = self.log.request(self._node.id, receive)
        self._call(function, {**arguments, "request": request.number})

    def _whole(self, name: str, most: int, default: int | None = None, value: Any = None) -> int:
        return self._node.whole(name, most, self._file, default, value)

    def _error(self, message: str) -> Error:
        return Error(f"{self._file}, node {self._node.id}: {message}")


def _data(size_bytes: int) -> dict[str, Any]:
    return {"count": size_bytes, "type": "MPI_BYTE", "type_bytes": 1}
