"""Which algorithm is best where: every collective on four machines, over ranks and sizes.

The machines: nodes of 16 ranks that share a port, on a Hockney network with cheaper messages within a node; and, with a
rank on each of up to 256 nodes and links that messages share at fair rates, a fat tree tapered 2:1, a dragonfly and a
torus of 3 dimensions. Every algorithm takes part with its usual parameters; those that are made for a torus there only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hocket._native import Error
from hocket.bounds import bound
from hocket.call import Call
from hocket.comparison import made_for
from hocket.library import algorithms
from hocket.machine import Machine
from hocket.parallel import do_all
from hocket.requests import declared_by
from hocket.simulation import simulate
from hocket.studies.study import Figure, Rows, Scope, Study, Work
from hocket.units import format_bytes

if TYPE_CHECKING:
    import altair as alt

__all__ = ["COLLECTIVES", "MACHINES", "STUDY", "axes"]

COLLECTIVES = (
    "allgather",
    "allreduce",
    "alltoall",
    "barrier",
    "broadcast",
    "exscan",
    "gather",
    "reduce",
    "reduce_scatter",
    "scan",
    "scatter",
)
_LINKS = """link_bandwidth = "12.5 GB/s"
link_latency = "100 ns"
sharing = "fair"
[node]
software_latency = "1 us"
reduce_bandwidth = "10 GB/s"
"""
_NETWORKS: Mapping[str, str] = {
    "two-level cluster": """model = "hockney"
latency = "1.5 us"
bandwidth = "12.5 GB/s"
ranks_per_node = 16
local.latency = "0.3 us"
local.bandwidth = "10 GB/s"
[node]
reduce_bandwidth = "10 GB/s"
""",
    "fat tree 2:1": f"""model = "links"
topology = "fat_tree"
down = [16, 16]
up = [1, 8]
{_LINKS}""",
    "dragonfly": f"""model = "links"
topology = "dragonfly"
nodes_per_router = 4
routers_per_group = 8
global_links_per_router = 1
groups = 8
{_LINKS}""",
    "torus": """model = "links"
topology = "torus"
dims = [{dims}]
""",
}
MACHINES = tuple(_NETWORKS)
"""The machines, by name."""

_TORI: Mapping[int, tuple[int, int, int]] = {8: (2, 2, 2), 24: (4, 3, 2), 64: (4, 4, 4), 216: (6, 6, 6)}
"""Ranks, and the torus that they fill."""
_LEAST_BYTES, _STEP = 8, 16


@dataclass(frozen=True)
class _Point:
    """A collective at one place of the map."""

    collective: str
    machine: str
    ranks: int
    size_bytes: int


def axes(ranks: int) -> tuple[int, int, int]:
    """Return the sizes of the torus that so many ranks fill."""
    return _TORI[ranks]


def _machine(point: _Point) -> Machine:
    text = _NETWORKS[point.machine]
    if point.machine == "torus":
        text = text.format(dims=", ".join(map(str, axes(point.ranks)))) + _LINKS
    return Machine.parse(f'name = "{point.machine}"\n[network]\n{text}', f"{point.machine}.toml")


def _row(point: _Point) -> dict[str, Any]:
    machine = _machine(point)
    sizes = dict(zip("XYZ", axes(point.ranks), strict=True)) if point.machine == "torus" else {}
    times_s = {}
    for algorithm in made_for(machine, algorithms(point.collective)):
        call = Call(ranks=point.ranks, size_bytes=point.size_bytes, parameters=declared_by(algorithm, sizes))
        try:
            times_s[algorithm.name] = simulate(algorithm, call, machine=machine).time_s.mean
        except Error:
            continue  # it refuses such a call
    (best, time_s), *others = sorted(times_s.items(), key=lambda found: found[1])
    least_s = bound(point.collective, Call(ranks=point.ranks, size_bytes=point.size_bytes), machine=machine).time_s
    second, second_s = others[0] if others else (best, time_s)
    return {
        "collective": point.collective,
        "machine": point.machine,
        "ranks": point.ranks,
        "size_bytes": point.size_bytes,
        "best": best,
        "time_s": time_s,
        "second": second,
        "second_s": second_s,
        "over_bound": time_s / least_s,
        "algorithms": len(times_s),
    }


def _points(collective: str, scope: Scope) -> Iterator[_Point]:
    sizes_bytes = [0] if collective == "barrier" else [_LEAST_BYTES * _STEP**i for i in range(scope.points)]
    for machine in MACHINES:
        for ranks in (ranks for ranks in _TORI if ranks <= 1 << scope.most_ranks_log2):
            for size_bytes in sizes_bytes:
                yield _Point(collective, machine, ranks, size_bytes)


def _compute(collective: str, scope: Scope, work: Work) -> Rows:
    points = list(_points(collective, scope))
    return do_all(_row, points, executor=work.executor, on_done=lambda *_: work.on_done())


def _draw(rows: Rows, title: str) -> alt.FacetChart:
    """Draw, for each machine, the best algorithm over ranks and sizes, with its time over the lower bound."""
    import altair as alt

    values = [
        {
            **row,
            "size": "any" if row["collective"] == "barrier" else format_bytes(row["size_bytes"]),
            "factor": f"{row['over_bound']:.1f}",
        }
        for row in rows
    ]
    order = list(dict.fromkeys(value["size"] for value in values))
    base = alt.Chart({"values": values}).encode(
        x=alt.X("size:O", sort=order, title="size"), y=alt.Y("ranks:O", sort="descending", title="ranks")
    )
    cells = base.mark_rect().encode(
        color=alt.Color("best:N", title="fastest").scale(scheme="tableau20"),
        tooltip=["best:N", "time_s:Q", "second:N", "second_s:Q", "over_bound:Q", "algorithms:Q"],
    )
    factors = base.mark_text(fontSize=11).encode(text="factor:N")
    layers = alt.LayerChart(layer=[cells, factors]).properties(width=300, height=130)
    subtitle = "in each cell the time over the lower bound of the machine; usual parameters, no noise"
    chart: alt.FacetChart = layers.facet(alt.Facet("machine:N", title=None, sort=list(MACHINES)), columns=2).properties(
        title=alt.TitleParams(title, subtitle=[subtitle], anchor="start")
    )
    return chart


STUDY = Study(
    title="Which algorithm is best where",
    figures=tuple(
        Figure(number, f"The fastest {collective}", collective, _draw)
        for number, collective in enumerate(COLLECTIVES, start=1)
    ),
    scopes={
        "quick": Scope("quick", most_ranks_log2=5, points=2, trials=1),
        "default": Scope("default", most_ranks_log2=8, points=6, trials=1),
        "full": Scope("full", most_ranks_log2=8, points=7, trials=1),
    },
    pieces=lambda data, scope: len(list(_points(data, scope))),
    compute=_compute,
    is_of_paper=False,
)
