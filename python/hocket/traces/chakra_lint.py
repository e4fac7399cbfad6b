"""Dependencies that Chakra execution traces probably lack, without which communication begins before its data exists.

Converters of PyTorch's traces keep the edges from a launch on the CPU to its kernel, but can lose the edges between
kernels: those of a stream, and those of synchronisations. A simulator then starts all communication at once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

from hocket._native import Error
from hocket.base import checks
from hocket.traces.chakra import COLLECTIVE, FIRST_BYTES, METADATA, RECEIVE, SEND, Node, begins, graphs_of
from hocket.traces.lines import lines_of, reading

_COMMUNICATION = (SEND, RECEIVE, COLLECTIVE)
_NCCL = "nccl"


@dataclass(frozen=True)
class Gap:
    """A node around which dependencies are probably missing."""

    file: str  # the trace of its rank
    node: int  # the id of the node
    name: str
    start_us: int  # when it can start at the earliest, in microseconds after the first nodes
    after: tuple[int, ...]  # the nodes that it waits for
    missing: int | None  # the node for which it should probably wait; None where no node waits for any kernel
    sentence: str  # what is probably missing

    @property
    def message(self) -> str:
        """File, node and sentence."""
        return f"{self.file}, node {self.node} ({checks.quote(self.name)}): {self.sentence}"


@dataclass(frozen=True)
class Lint:
    """What was found in the traces of all ranks."""

    ranks: int  # number of ranks
    nodes: int  # number of nodes of all ranks
    gaps: tuple[Gap, ...]  # the nodes around which dependencies are probably missing


def lint(first: str | PathLike[str]) -> Lint:
    """Find dependencies that Chakra execution traces probably lack.

    The traces are that of rank 0, named PREFIX.0.et or PREFIX.0.json, and the others beside it. A collective, or a send
    of NCCL, is found if it waits for no computing and no communication, not even through other nodes, although the rank
    has computed before: nodes of lower ids compute. Computing on the CPU does not count if the trace has kernels. A
    rank is found if no node waits for any of its kernels. Malformed traces are refused.
    """
    name = fspath(checks.path("trace", first))
    with lines_of(name) as lines:
        if not begins(lines.read(FIRST_BYTES)):
            raise Error(f"{name}: expected a Chakra execution trace, PREFIX.0.et or PREFIX.0.json")
    with reading(name):
        ranks = [_Rank(file, nodes) for file, nodes in graphs_of(name).items()]
        gaps = tuple(gap for rank in ranks for gap in rank.gaps())
    return Lint(len(ranks), sum(len(rank.nodes) for rank in ranks), gaps)


class _Rank:
    """The graph of a rank: its nodes, each after the nodes that it waits for."""

    def __init__(self, file: str, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self._file = file
        self._has_launches = any(node.is_on_cpu for node in nodes)
        computing = [node for node in nodes if node.kind not in (METADATA, *_COMMUNICATION) and node.duration_us]
        self._kernels = [node for node in computing if not node.is_on_cpu]
        self._work: dict[object, list[Node]] = {}
        """The computing that counts, by id: of all streams (None), and of each stream."""
        for node in sorted(self._kernels or computing, key=lambda node: node.id):
            for stream in {None, node.attributes.get("stream")}:
                self._work.setdefault(stream, []).append(node)
        self._starts_us = _starts_us(nodes)

    def gaps(self) -> Iterator[Gap]:
        """Give the nodes around which dependencies are probably missing."""
        nodes_awaited = {earlier for node in self.nodes for earlier in node.after}
        count = len(self._kernels)
        if self._has_launches and count > 1 and not any(node.id in nodes_awaited for node in self._kernels):
            wrong = f"no node waits for it or for any other of the {count} kernels of this rank"
            edges_lost = "the edges within streams and of synchronisations"
            yield self._gap(self._kernels[0], None, f"{wrong}; probably missing: {edges_lost}")
        nodes_done = {node.id for node in self.nodes if node.kind in _COMMUNICATION}
        nodes_done |= {node.id for node in self._work.get(None, ())}
        for node in self.nodes:
            if not nodes_done.isdisjoint(node.after):
                nodes_done.add(node.id)
            elif _needs_data(node) and (last := self._last_work(node)) is not None:
                edges_lost = f"a wait for node {last.id} ({checks.quote(last.name)}), the last computing before it"
                yield self._gap(node, last.id, f"{self._waits(node)}; probably missing: {edges_lost}")

    def _waits(self, node: Node) -> str:
        what = "no node" if not node.after else "launches only" if self._has_launches else "no computing"
        return f"waits for {what}, so it can start at {self._starts_us[node.id]} us"

    def _last_work(self, node: Node) -> Node | None:
        """Return the last computing before a node: of its stream, or else of any."""
        for stream in (node.attributes.get("stream"), None):
            work = self._work.get(stream, [])
            if (count := bisect_left(work, node.id, key=lambda one: one.id)) > 0:
                return work[count - 1]
        return None

    def _gap(self, node: Node, missing: int | None, sentence: str) -> Gap:
        after = tuple(sorted(set(node.after)))
        return Gap(self._file, node.id, node.name, self._starts_us[node.id], after, missing, sentence)


def _needs_data(node: Node) -> bool:
    """Return whether a node sends data that the rank has probably computed."""
    return node.kind == COLLECTIVE or (node.kind == SEND and _NCCL in node.name.lower())


def _starts_us(nodes: Sequence[Node]) -> Mapping[int, int]:
    """Return when each node can start at the earliest, if all nodes take their durations."""
    starts_us: dict[int, int] = {}
    ends_us: dict[int, int] = {}
    for node in nodes:
        starts_us[node.id] = max((ends_us[earlier] for earlier in node.after), default=0)
        ends_us[node.id] = starts_us[node.id] + node.duration_us
    return starts_us
