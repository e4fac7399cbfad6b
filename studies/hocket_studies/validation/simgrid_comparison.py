"""SimGrid: the same messages on the same links in both simulators, in one run."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

from hocket import typing
from hocket.base.call import Call
from hocket.base.version import VERSION
from hocket.definitions.authoring import algorithm
from hocket.definitions.library import Algorithm, as_algorithm
from hocket.definitions.machine import Machine
from hocket.simulating.simulation import simulate
from hocket_studies.validation.comparison import Case, Comparison, not_run

Step: TypeAlias = "tuple[list[tuple[int, int]], list[int]]"
"""What a rank sends, pairs of a rank and bytes, and from whom it receives, at a time."""

_LATENCY_S, _BYTES_PER_S = 1e-6, 1e9
_SIZES_BYTES = (8, 65536, 1 << 20)
_UP = (1, 2, 2)
"""The parents of nodes, and of the switches of each level, in a fat tree of three levels."""
_SECONDS = 120
_INCOMPARABLE = (
    "SimGrid lets a message wait for the latencies of its route first and shares bandwidth afterwards, by weights of "
    "one over round-trip times: where messages of unlike routes meet, rates differ; its defaults for TCP (factors 0.97 "
    "and 13.01, window, weight-S) are switched off"
)


@algorithm("broadcast")
def star_at_once(r: typing.Rank, c: typing.Call) -> typing.Steps:
    """The root sends to all at a time."""
    if r.rank == c.root:
        yield r.join(*(r.send(peer, c.result(r)) for peer in range(r.size) if peer != c.root))
    else:
        yield r.recv(c.root, c.result(r))


@algorithm("alltoall")
def all_at_once(r: typing.Rank, c: typing.Call) -> typing.Steps:
    """Every rank sends all its blocks, and receives all, at a time."""
    block, result = c.input(r), c.result(r)
    others = [peer for peer in range(r.size) if peer != r.rank]
    yield r.copy(c.block(block, r.rank), c.block(result, r.rank))
    sends = [r.send(peer, c.block(block, peer)) for peer in others]
    yield r.join(*sends, *(r.recv(peer, c.block(result, peer)) for peer in others))


_ALGORITHMS: dict[str, Algorithm] = {
    "one to all": star_at_once,
    "to the right neighbour": as_algorithm("allgather/ring"),
    "all to all": all_at_once,
    "with a distance of powers of two": as_algorithm("allreduce/recursive_doubling"),
    "with each other in turn": as_algorithm("alltoall/pairwise_exchange"),
}


@dataclass(frozen=True)
class _Work:
    """Messages on links."""

    pattern: str
    topology: str
    sizes: tuple[int, ...]
    ranks: int
    size_bytes: int

    @property
    def name(self) -> str:
        """What it is."""
        shape = "x".join(map(str, self.sizes))
        return f"{self.pattern}, {self.ranks} ranks, {self.topology} {shape}, {self.size_bytes} B"

    def steps(self) -> list[list[Step]]:
        """Return what each rank does; ranks that take no part do nothing."""
        ranks, size = range(self.ranks), self.size_bytes
        last = self.ranks - 1
        doubling = [1 << step for step in range(last.bit_length())]
        by_pattern: dict[str, list[list[Step]]] = {
            "one to all": [
                [([(peer, size) for peer in ranks[1:]], [])] if rank == 0 else [([], [0])] for rank in ranks
            ],
            "to the right neighbour": [
                [([((rank + 1) % self.ranks, size)], [(rank - 1) % self.ranks])] * last for rank in ranks
            ],
            "all to all": [
                [([(peer, size) for peer in ranks if peer != rank], [peer for peer in ranks if peer != rank])]
                for rank in ranks
            ],
            "with a distance of powers of two": [
                [([(rank ^ step, size)], [rank ^ step]) for step in doubling] for rank in ranks
            ],
            "with each other in turn": [
                [([(rank ^ step, size)], [rank ^ step]) for step in ranks[1:]] for rank in ranks
            ],
        }
        return by_pattern[self.pattern] + [[]] * (prod(self.sizes) - self.ranks)

    def hosts(self) -> list[int]:
        """Return SimGrid's host of each node: on a dragonfly, the one beside the links that the node is beside.

        With as many routers in a group as groups: router k of group g leads to group k in SimGrid; router g to none.
        In Hocket, router k leads to group k, or from k = g on to group k + 1, and the last router to none.
        """
        nodes = range(prod(self.sizes))
        if self.topology != "dragonfly":
            return list(nodes)
        groups, routers, nodes_of_router = self.sizes

        def host(node: int) -> int:
            router, place = divmod(node, nodes_of_router)
            group, own = divmod(router, routers)
            other = group if own == groups - 1 else own + (own >= group)
            return (group * routers + other) * nodes_of_router + place

        return [host(node) for node in nodes]

    def as_data(self) -> dict[str, Any]:
        """Return it as SimGrid's side reads it."""
        where = {"topology": self.topology, "sizes": self.sizes, "latency_s": _LATENCY_S, "bandwidth": _BYTES_PER_S}
        return {**where, "up": _UP, "hosts": self.hosts(), "steps": self.steps()}

    def shape(self) -> str:
        """Return the keys of its topology in a machine file."""
        down = list(self.sizes)
        if self.topology == "dragonfly":
            keys = ("groups", "routers_per_group", "nodes_per_router")
            shape = "\n".join(f"{key} = {size}" for key, size in zip(keys, self.sizes, strict=True))
            return f'topology = "dragonfly"\n{shape}\nglobal_links_per_router = 1\nglobal_arrangement = "absolute"'
        return {
            "star": f'topology = "crossbar"\nnodes = {prod(down)}',
            "torus": f'topology = "torus"\ndims = {down}',
            "fat_tree": f'topology = "fat_tree"\nrouting = "d-mod-k"\ndown = {down}\nup = {list(_UP)}',
        }[self.topology]

    def simulated_s(self) -> float:
        """Return its time in Hocket."""
        machine = Machine.parse(
            f"""name = "fair"
[network]
model = "links"
{self.shape()}
link_bandwidth = "{_BYTES_PER_S!r} B/s"
link_latency = "{_LATENCY_S!r} s"
protocol = "rendezvous"
sharing = "fair"
[node]
ports = 1024
"""
        )
        call = Call(ranks=self.ranks, size_bytes=self.size_bytes)
        return simulate(_ALGORITHMS[self.pattern], call, machine=machine).time_s.mean


def _works() -> Iterator[_Work]:
    """Give single messages, messages that do not meet, and messages that do."""
    for size in _SIZES_BYTES:
        yield _Work("one to all", "star", (4,), 2, size)
        yield _Work("one to all", "torus", (3, 3), 2, size)
        yield _Work("one to all", "star", (8,), 8, size)
        yield _Work("one to all", "torus", (3, 3), 9, size)
        for nodes in (4, 8):
            yield _Work("to the right neighbour", "star", (nodes,), nodes, size)
            yield _Work("all to all", "star", (nodes,), nodes, size)
        yield _Work("to the right neighbour", "torus", (5,), 5, size)
        for sizes in ((5,), (3, 3)):
            yield _Work("all to all", "torus", sizes, prod(sizes), size)


def _works_of_clusters() -> Iterator[_Work]:
    """Give every pattern on SimGrid's dragonfly and fat tree."""
    for topology, sizes in (("dragonfly", (4, 4, 2)), ("fat_tree", (4, 2, 4))):
        for pattern in _ALGORITHMS:
            for size in _SIZES_BYTES[1:]:
                yield _Work(pattern, topology, sizes, prod(sizes), size)


def simgrid(python: str | None) -> Comparison:
    """Compare with SimGrid, by a Python that has it, or by this one."""
    remark = "single messages, neighbours, one to all, all to all; links shared fairly"
    return _comparison("SimGrid", remark, python, list(_works()))


def simgrid_clusters(python: str | None) -> Comparison:
    """Compare with SimGrid's dragonfly and fat-tree zones, which have static routes."""
    remark = "dragonfly 4x4x2, fat tree 4x2x4; static routes, links shared fairly"
    return _comparison("SimGrid's clusters", remark, python, list(_works_of_clusters()))


def _comparison(source: str, remark: str, python: str | None, works: list[_Work]) -> Comparison:
    if python is None and importlib.util.find_spec("simgrid") is None:
        return not_run(
            source, _INCOMPARABLE, "this Python has no package simgrid, expected a Python that has it by --simgrid"
        )
    try:
        found = _asked(python or sys.executable, works)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return not_run(source, _INCOMPARABLE, f"{python or sys.executable}: {error}")
    cases = [Case(work.name, work.simulated_s(), time_s) for work, time_s in zip(works, found["times_s"], strict=True)]
    return Comparison(
        source,
        tuple(cases),
        _INCOMPARABLE,
        {"Hocket": VERSION, "SimGrid": found["version"]},
        remark,
    )


def _asked(python: str, works: Sequence[_Work]) -> Any:
    ran = subprocess.run(
        [python, "-W", "ignore", str(Path(__file__).with_name("flows.py"))],
        input=json.dumps([work.as_data() for work in works]),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if ran.returncode:
        raise ValueError((ran.stderr.strip().splitlines() or ["it says nothing"])[-1])
    return json.loads(ran.stdout.splitlines()[-1])
