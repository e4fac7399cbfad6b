"""Which algorithm is best under which routing: allreduce, alltoall and broadcast on a dragonfly and a fat tree.

One rank on each node, on links that messages share at fair rates. The nodes are in the order of the ranks or scattered.
Algorithms that know the topology have groups of ranks: those of a leaf switch, or of a group of the dragonfly. They run
on nodes in order only, as whoever knows where the nodes are numbers the ranks accordingly.

- *few*: 64 ranks in groups of 16, all policies and algorithms.
- *many*: 1,024 ranks in groups of 32. Algorithms of P steps and more are left out, and alltoalls of small blocks. With
  detours, a message has hundreds of shares, so that only vectors of 4 KiB are simulated, with few messages, and of
  allreduces none on scattered nodes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hocket import Call, Machine, Trials, simulate
from hocket.base.parallel import do_all
from hocket.base.units import format_bytes
from hocket_studies.study import Figure, Rows, Scope, Study, Work

if TYPE_CHECKING:
    import altair as alt

POLICIES = ("fixed", "ecmp", "spray", "adaptive", "valiant", "ugal")
ORDERS = ("in order", "scattered")
_DETOURS = ("valiant", "ugal")
_DRAWN = "ecmp"
"""The one of the policies that is drawn by the seed where messages share links at fair rates."""


@dataclass(frozen=True)
class _Algorithm:
    """An algorithm, its parameters, and whether it knows which ranks are near each other."""

    name: str
    parameters: Mapping[str, float | str]
    knows_topology: bool


def _plain(name: str, **parameters: float | str) -> _Algorithm:
    return _Algorithm(name, parameters, knows_topology=False)


def _grouped(name: str) -> _Algorithm:
    return _Algorithm(name, {}, knows_topology=True)


_ALGORITHMS: Mapping[str, tuple[_Algorithm, ...]] = {
    "allreduce": (
        *map(_plain, ("recursive_doubling", "rabenseifner", "ring", "bine")),
        *map(_grouped, ("hierarchical", "multi_lane", "multi_ring")),
    ),
    "alltoall": (
        *map(_plain, ("bruck", "pairwise_exchange", "bine")),
        *map(_grouped, ("two_level", "multi_lane")),
    ),
    "broadcast": (
        *map(_plain, ("binomial", "bine", "scatter_doubling_allgather")),
        _plain("double_tree", segment=65536),
        *map(_grouped, ("hierarchical", "multi_lane")),
    ),
}
_SIZES_BYTES: Mapping[str, tuple[int, ...]] = {
    "allreduce": (4096, 1 << 20),
    "alltoall": (64, 1024),
    "broadcast": (4096, 1 << 20),
}
"""Those of a vector, or of the block for each rank."""
_OF_MANY_STEPS = ("ring", "pairwise_exchange", "multi_ring")
_OF_MANY_MESSAGES = ("multi_lane", "scatter_doubling_allgather")


_NETWORKS = {
    "dragonfly": (
        'topology = "dragonfly"\nnodes_per_router = {eighth}\nrouters_per_group = 8\n'
        "global_links_per_router = {eighth}\ngroups = {groups}\nlinks_per_pair_of_groups = 1\n"
    ),
    "fat tree 2:1": 'topology = "fat_tree"\ndown = [{group}, {groups}]\nup = [1, {half}]\n',
}


def group_of(ranks: int) -> int:
    """Return the number of nodes of a leaf switch, or of a group of the dragonfly."""
    return 16 if ranks < 1024 else 32


@dataclass(frozen=True)
class _Case:
    """One algorithm, on one machine."""

    network: str
    order: str
    routing: str
    collective: str
    size_bytes: int
    algorithm: _Algorithm
    ranks: int
    trials: Trials


def machine(network: str, routing: str, order: str, ranks: int, seed: int) -> Machine:
    """Return a network for so many ranks; the seed scatters its nodes."""
    group = group_of(ranks)
    groups = ranks // group + (network == "dragonfly")  # one is to spare there
    nodes = list(range(groups * group))
    if order == "scattered":
        random.Random(seed).shuffle(nodes)
    keys = _NETWORKS[network].format(group=group, groups=groups, half=group // 2, eighth=group // 8)
    return Machine.parse(
        f"""name = "{network}"
[network]
model = "links"
sharing = "fair"
link_bandwidth = "25 GB/s"
link_latency = "100 ns"
routing = "{routing}"
permutation = {nodes}
{keys}
[host]
o = "0.5 us"
[node]
reduce_bandwidth = "50 GB/s"
"""
    )


def _row(case: _Case) -> dict[str, Any]:
    own = {"group": group_of(case.ranks)} if case.algorithm.knows_topology else {}
    call = Call(ranks=case.ranks, size_bytes=case.size_bytes, parameters={**own, **case.algorithm.parameters})
    found = simulate(
        f"{case.collective}/{case.algorithm.name}",
        call,
        machine=machine(case.network, case.routing, case.order, case.ranks, case.trials.seed),
        trials=case.trials,
    ).time_s
    low_s, high_s = found.interval if case.trials.count > 1 else (found.mean, found.mean)
    return {
        "network": case.network,
        "nodes": case.order,
        "routing": case.routing,
        "collective": case.collective,
        "size_bytes": case.size_bytes,
        "algorithm": case.algorithm.name,
        "knows_topology": case.algorithm.knows_topology,
        "ranks": case.ranks,
        "trials": case.trials.count,
        "time_s": found.mean,
        "low_s": low_s,
        "high_s": high_s,
    }


def _is_simulated(data: str, case: _Case) -> bool:
    """Return whether a case belongs to the data, and its simulation takes seconds."""
    name = case.algorithm.name
    if case.algorithm.knows_topology and case.order != "in order":
        return False
    if data == "few":
        return True
    if name in _OF_MANY_STEPS or (case.collective == "alltoall" and case.size_bytes < 1024):
        return False
    if case.routing not in _DETOURS:
        return True
    is_calm = case.order == "in order" or case.collective == "broadcast"
    return is_calm and case.size_bytes == 4096 and name not in _OF_MANY_MESSAGES


def _cases(data: str, scope: Scope) -> list[_Case]:
    ranks_log2 = scope.most_ranks_log2 if data == "many" else min(scope.most_ranks_log2, 6)
    cases = (
        _Case(
            network,
            order,
            routing,
            collective,
            size_bytes,
            algorithm,
            1 << ranks_log2,
            Trials(scope.trials if routing == _DRAWN else 1, seed=scope.seed),
        )
        for network in _NETWORKS
        for collective, sizes_bytes in _SIZES_BYTES.items()
        for size_bytes in sizes_bytes[: scope.points]
        for order in ORDERS
        for routing in POLICIES
        for algorithm in _ALGORITHMS[collective]
    )
    return [case for case in cases if _is_simulated(data, case)]


def _compute(data: str, scope: Scope, work: Work) -> Rows:
    return do_all(_row, _cases(data, scope), executor=work.executor, on_done=lambda *_: work.on_done())


def best(rows: Rows, **labels: Any) -> Mapping[str, Any]:
    """Return the fastest of the rows that have these labels."""
    return min((row for row in rows if labels.items() <= row.items()), key=lambda row: row["time_s"])


_KEYS = ("network", "collective", "size_bytes", "routing")


def worth(rows: Rows) -> list[dict[str, Any]]:
    """Return how many times as long the best that knows no topology takes as the best that does, if both are known."""
    cases = dict.fromkeys(tuple(row[key] for key in _KEYS) for row in rows if row["nodes"] == "scattered")
    found = []
    for case in cases:
        labels = dict(zip(_KEYS, case, strict=True))
        knowing = best(rows, **labels, nodes="in order")
        plain = {order: best(rows, **labels, nodes=order, knows_topology=False) for order in ORDERS}
        grouped = best(rows, **labels, nodes="in order", knows_topology=True)
        found.append(
            {
                **labels,
                "best": knowing["algorithm"],
                "best_grouped": grouped["algorithm"],
                "groups": plain["in order"]["time_s"] / grouped["time_s"],
                "best_scattered": plain["scattered"]["algorithm"],
                "groups_and_order": plain["scattered"]["time_s"] / knowing["time_s"],
            }
        )
    return found


def _table(rows: Rows) -> str:
    """Return what groups, and groups and the order of nodes, are worth under each policy."""
    cells = {
        tuple(row[key] for key in _KEYS): f"{row['groups']:.2f}, {row['groups_and_order']:.2f}" for row in worth(rows)
    }
    lines = [("network", "call", *POLICIES), ("---",) * (2 + len(POLICIES))]
    for network, collective, size_bytes in dict.fromkeys(case[:3] for case in cells):
        here = (cells.get((network, collective, size_bytes, routing), "") for routing in POLICIES)
        lines.append((network, f"{collective} {format_bytes(size_bytes)}", *here))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _draw(rows: Rows, title: str) -> alt.VConcatChart:
    """Draw the fastest algorithm of each case and routing, its time, and whether it knows the topology."""
    import altair as alt

    keys, knows = (*_KEYS, "nodes"), f"groups of {group_of(rows[0]['ranks'])}"
    winners = [
        best(rows, **dict(zip(keys, case, strict=True)))
        for case in dict.fromkeys(tuple(row[key] for key in keys) for row in rows)
    ]
    values = [
        {
            **row,
            "call": f"{row['collective']} {format_bytes(row['size_bytes'])}, {row['nodes']}",
            "knows": knows if row["knows_topology"] else "no topology",
            "time": f"{row['time_s'] * 1e6:.4g} us",
        }
        for row in winners
    ]
    calls = list(dict.fromkeys(value["call"] for value in values))

    def map_of(network: str) -> alt.LayerChart:
        base = alt.Chart(alt.InlineData(values=[v for v in values if v["network"] == network])).encode(
            x=alt.X(
                "routing:N",
                sort=list(POLICIES),
                title=None,
                axis=alt.Axis(orient="top", labelAngle=0, labelFontSize=12),
            ),
            y=alt.Y("call:N", sort=calls, title=None, axis=alt.Axis(labelLimit=300, labelFontSize=12)),
        )
        colors = alt.Scale(domain=["no topology", knows], range=["#d6e4f2", "#f7cf9c"])
        cells = base.mark_rect(stroke="white").encode(
            color=alt.Color("knows:N", title="The fastest knows", scale=colors, legend=alt.Legend(orient="bottom")),
            tooltip=["algorithm:N", "time_s:Q", "low_s:Q", "high_s:Q"],
        )
        names = base.mark_text(fontSize=12, dy=-7).encode(text="algorithm:N")
        times = base.mark_text(fontSize=12, dy=8).encode(text="time:N")
        layers = alt.LayerChart(layer=[cells, names, times])
        return layers.properties(
            title=alt.TitleParams(network, anchor="start"), width=alt.Step(155), height=alt.Step(36)
        )

    subtitle = f"{rows[0]['ranks']} ranks, links of 25 GB/s at fair rates; the mean time of the fastest algorithm"
    chart: alt.VConcatChart = alt.vconcat(*map(map_of, dict.fromkeys(row["network"] for row in rows))).properties(
        title=alt.TitleParams(title, subtitle=[subtitle], anchor="start")
    )
    return chart


STUDY = Study(
    title="Which algorithm is best under which routing",
    figures=(
        Figure(1, "The fastest algorithm under each routing", "few", _draw),
        Figure(2, "The fastest algorithm under each routing, many ranks", "many", _draw),
    ),
    scopes={
        "quick": Scope("quick", most_ranks_log2=5, points=1, trials=2),
        "default": Scope("default", most_ranks_log2=10, points=2, trials=5),
        "full": Scope("full", most_ranks_log2=10, points=2, trials=20),
    },
    pieces=lambda data, scope: len(_cases(data, scope)),
    compute=_compute,
    texts=lambda data: {f"routing-{name}.md": _table(rows) for name, rows in data.items()},
    is_of_paper=False,
)
