"""Dynamic multicast on a dragonfly: figures 8 and 9 of the paper, and what its future work would change.

Reading. The paper measured on 256 nodes of a Cray XC30, of whose network it says that it is a dragonfly. Here that has
8 groups of 8 routers with 4 nodes and 4 global links each; links of 10 GB/s and 100 ns, whole messages that queue for
links, and one port per node. A processor is busy for 1 us with each message it sends ("fast"), or for 4.3 us
("calibrated"): with that, the paper's algorithm takes its only number, 1.3 ms for 80 KB on 256 nodes. Rank 0 is the
master and the first member of the groups 256 / r * i; all ranks wait. 80 KB are 80,000 B, 8 MB are 8,000,000 B.

Which algorithm MPI_Bcast used is not known, so the static broadcast is shown by name. A communicator is created by an
allreduce of MPICH's mask of 260 B among the members, who know that they are. Times end when the last member has the
data, but "acknowledged" when the master knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hocket.base.parallel import do_all
from hocket.definitions.machine import Machine
from hocket.simulating.multicast import simulate_multicast
from hocket_studies import multicast_pictures as pictures
from hocket_studies.multicast_claims import judged
from hocket_studies.study import Figure, Rows, Scope, Study, Work

RANKS = 256
SIZES = {"80 KB": 80_000, "8 MB": 8_000_000}
SOFTWARE_US = {"fast": 1.0, "calibrated": 4.3}
TREE, RING, DOUBLING = "binomial", "scatter_ring_allgather", "scatter_doubling_allgather"
PIPELINES = {"chain": {"segment": 65536}, "double_tree": {"segment": 65536}}
ALGORITHMS: Mapping[str, Mapping[str, int]] = {TREE: {}, RING: {}, DOUBLING: {}, **PIPELINES}


def machine(software_us: float) -> Machine:
    """Return the dragonfly, whose processors are busy for so long with each message."""
    return Machine.parse(
        f"""name = "dragonfly-256"
[node]
ports = 1
software_latency = "{software_us} us"
[network]
model = "links"
topology = "dragonfly"
nodes_per_router = 4
routers_per_group = 8
global_links_per_router = 4
groups = 8
link_bandwidth = "10 GB/s"
link_latency = "100 ns"
"""
    )


def group(members: int) -> list[int]:
    """Return the paper's group of so many members."""
    return [RANKS // members * i for i in range(members)]


@dataclass(frozen=True)
class _Case:
    """One simulation, and what it is called in a table."""

    labels: Mapping[str, Any]
    groups: Sequence[Sequence[int]]
    size_bytes: int
    way: str
    algorithm: str
    software_us: float


def _row(case: _Case) -> dict[str, Any]:
    found = simulate_multicast(
        case.groups,
        case.size_bytes,
        ranks=RANKS,
        machine=machine(case.software_us),
        algorithm=case.algorithm,
        way=case.way,
        parameters=ALGORITHMS[case.algorithm],
    )
    return {
        **case.labels,
        "ranks": RANKS,
        "size_bytes": case.size_bytes,
        "way": case.way,
        "algorithm": case.algorithm,
        "software_us": case.software_us,
        "time_s": found.time_s,
        "messages": found.messages,
        "message_bytes": found.message_bytes,
    }


def _members(scope: Scope) -> list[int]:
    return [1 << k for k in range(3, scope.most_ranks_log2 + 1)]


_WAYS = [
    ("static", TREE),
    ("static", RING),
    ("static", DOUBLING),
    ("created", TREE),
    ("created", DOUBLING),
    ("multicast", RING),
    ("multicast", TREE),
    ("multicast", DOUBLING),
    ("acknowledged", RING),
    ("acknowledged", TREE),
    ("acknowledged", DOUBLING),
]


def _evaluation(size: str, scope: Scope) -> list[_Case]:
    return [
        _Case({"members": r, "software": name}, [group(r)], SIZES[size], way, algorithm, software_us)
        for name, software_us in SOFTWARE_US.items()
        for r in _members(scope)
        for way, algorithm in _WAYS
    ]


def _sizes(scope: Scope) -> list[int]:
    last = 24
    return [1 << k for k in range(14, last + 1, max(1, (last - 14) // (scope.points - 1)))]


def _best(scope: Scope) -> list[_Case]:
    """Every algorithm at every size: which is the best one?"""
    return [
        _Case({"members": r}, [group(r)], size, "multicast", algorithm, SOFTWARE_US["fast"])
        for r in _members(scope)
        for size in _sizes(scope)
        for algorithm in ALGORITHMS
    ]


def _in_flight(scope: Scope) -> list[_Case]:
    """Several multicasts to groups that overlap, begun at once: how long until all are complete?"""
    overlapping = [range(1, RANKS, 8), range(2, RANKS, 6), range(64, 128), range(3, RANKS, 5)]
    return [
        _Case(
            {"multicasts": count},
            [list(overlapping[i % len(overlapping)]) for i in range(count)],
            SIZES["80 KB"],
            "acknowledged",
            algorithm,
            SOFTWARE_US["fast"],
        )
        for count in [1, 2, 4, 8][: scope.points]
        for algorithm in (TREE, RING)
    ]


_CASES: Mapping[str, Callable[[Scope], list[_Case]]] = {
    "evaluation_8mb": partial(_evaluation, "8 MB"),
    "evaluation_80kb": partial(_evaluation, "80 KB"),
    "best": _best,
    "in_flight": _in_flight,
}


def _compute(data: str, scope: Scope, work: Work) -> Rows:
    return do_all(_row, _CASES[data](scope), executor=work.executor, on_done=lambda *_: work.on_done())


STUDY = Study(
    title="Dynamic multicast on a dragonfly",
    figures=(
        Figure(8, "8 MB to r of 256 nodes", "evaluation_8mb", pictures.times),
        Figure(9, "80 KB to r of 256 nodes", "evaluation_80kb", pictures.times),
        Figure(10, "The best algorithm by size and members", "best", pictures.best),
        Figure(11, "80 KB to groups that overlap, all in flight", "in_flight", pictures.in_flight),
    ),
    scopes={
        "quick": Scope("quick", most_ranks_log2=8, points=3, trials=1),
        "default": Scope("default", most_ranks_log2=8, points=6, trials=1),
        "full": Scope("full", most_ranks_log2=8, points=11, trials=1),
    },
    pieces=lambda data, scope: len(_CASES[data](scope)),
    compute=_compute,
    claims=judged,
)
"""Figures 10 and 11 are not the paper's. Nothing is left to chance: there are no trials."""
