"""Which algorithm is best where: every collective on four machines, over ranks and sizes.

The machines: nodes of 4 ranks that share a port, on a Hockney network with cheaper messages within a node; and, with a
rank on each of up to 256 nodes and links that messages share at fair rates, a fat tree tapered 2:1, a dragonfly and a
torus of 3 dimensions. Every algorithm takes part with the parameters with which it is fastest, as `hocket compare
--best` finds them; those that are made for a torus there only.
Where a node has one rank, the choices of MPI libraries are put beside the best; on nodes of more they use shared
memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from hocket.base.call import Call
from hocket.base.parallel import do_all, workers
from hocket.base.units import format_bytes
from hocket.definitions.libraries import LIBRARY_RULES
from hocket.definitions.library import COLLECTIVES, COLLECTIVES_OF_KNOWN_SIZE
from hocket.definitions.machine import Machine
from hocket.drawing.winner_map import cells
from hocket.simulating.race import compare
from hocket_studies.study import Figure, Rows, Scope, Study, Work

if TYPE_CHECKING:
    import altair as alt

_LINKS = """link_bandwidth = "12.5 GB/s"
link_latency = "100 ns"
sharing = "fair"
[host]
o = "0.5 us"
[node]
reduce_bandwidth = "10 GB/s"
"""
_SHARED = "two-level cluster"
_NETWORKS: Mapping[str, str] = {
    _SHARED: """model = "hockney"
latency = "1.5 us"
bandwidth = "12.5 GB/s"
ranks_per_node = 4
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


def _machine(point: _Point) -> Machine:
    text = _NETWORKS[point.machine]
    if point.machine == "torus":
        text = text.format(dims=", ".join(map(str, _TORI[point.ranks]))) + _LINKS
    return Machine.parse(f'name = "{point.machine}"\n[network]\n{text}', f"{point.machine}.toml")


def _row(point: _Point) -> dict[str, Any]:
    machine = _machine(point)
    libraries = () if point.machine == _SHARED else LIBRARY_RULES
    call = Call(ranks=point.ranks, size_bytes=point.size_bytes)
    with workers(1) as executor:
        comparison = compare(
            point.collective,
            [call],
            machine=machine,
            defaults=libraries,
            at_best=True,
            first_places=2,
            executor=executor,
        )
    (time_s, best), *others = sorted((one.time_s.mean, one.algorithm) for one in comparison.simulations)
    second_s, second = others[0] if others else (time_s, best)
    choices: dict[str, Any] = {name: "" for library in LIBRARY_RULES for name in (library, f"{library}_over_best")}
    for default in comparison.defaults:
        if (factor := comparison.times_the_fastest(default)) is not None:
            choices |= {default.library: default.algorithm, f"{default.library}_over_best": factor}
    return {
        "collective": point.collective,
        "machine": point.machine,
        "ranks": point.ranks,
        "size_bytes": point.size_bytes,
        "best": best,
        "parameters": comparison.parameters.get(best, ""),
        "time_s": time_s,
        "second": second,
        "second_s": second_s,
        "over_bound": comparison.times_the_bound(point.size_bytes),
        "algorithms": len(comparison.simulations) + len(comparison.too_late),
        **choices,
    }


def _points(collective: str, scope: Scope) -> Iterator[_Point]:
    has_size = COLLECTIVES[collective].has_size
    sizes_bytes = [_LEAST_BYTES * _STEP**i for i in range(scope.points)] if has_size else [0]
    for machine in MACHINES:
        for ranks in (ranks for ranks in _TORI if ranks <= 1 << scope.most_ranks_log2):
            for size_bytes in sizes_bytes:
                yield _Point(collective, machine, ranks, size_bytes)


def _compute(collective: str, scope: Scope, work: Work) -> Rows:
    points = list(_points(collective, scope))
    return do_all(_row, points, executor=work.executor, on_done=lambda *_: work.on_done())


def _draw(rows: Rows, title: str) -> alt.VConcatChart:
    """Draw the best algorithms over ranks and sizes with their times over the lower bound, and libraries' choices."""
    import altair as alt

    order = list(dict.fromkeys(_size(row) for row in rows))
    best = [{**row, "size": _size(row), "factor": f"{row['over_bound']:.1f}", "map": row["machine"]} for row in rows]
    chosen = [
        {
            "size": _size(row),
            "ranks": row["ranks"],
            "algorithm": row[library],
            "over_best": row[f"{library}_over_best"],
            "factor": f"{row[f'{library}_over_best']:.1f}",
            "map": f"{library}, {row['machine']}",
        }
        for library in LIBRARY_RULES
        for row in rows
        if row[library]
    ]

    def maps(values: list[dict[str, Any]], color: alt.Color, tooltip: list[str], columns: int) -> alt.FacetChart:
        layers = cells(values, order, color=color, tooltip=tooltip)
        names = list(dict.fromkeys(value["map"] for value in values))
        facet: alt.FacetChart = layers.properties(width=300, height=120).facet(
            alt.Facet("map:N", title=None, sort=names), columns=columns
        )
        return facet

    above = maps(
        best,
        alt.Color("best:N", title="fastest").scale(scheme="tableau20"),
        ["best:N", "time_s:Q", "second:N", "second_s:Q", "over_bound:Q", "algorithms:Q"],
        2,
    ).properties(
        title=alt.TitleParams("Fastest; numbers: its time over the lower bound of the machine", anchor="start")
    )
    shades = alt.Scale(type="log", domain=[1, 10], clamp=True, scheme="oranges")
    below = maps(
        chosen, alt.Color("over_best:Q", title="over fastest").scale(shades), ["algorithm:N", "over_best:Q"], 3
    )
    below = below.properties(title=alt.TitleParams("Choices of MPI libraries: time over the fastest", anchor="start"))
    pictures = [above, below] if chosen else [above]
    chart: alt.VConcatChart = (
        alt.vconcat(*pictures)
        .resolve_scale(color="independent")
        .properties(title=alt.TitleParams(title, subtitle=["each algorithm at its best, no noise"], anchor="start"))
    )
    return chart


def _size(row: Mapping[str, Any]) -> str:
    return format_bytes(row["size_bytes"]) if COLLECTIVES[row["collective"]].has_size else "any"


def _table(data: Mapping[str, Rows]) -> str:
    """Return how far the best is from the bound, and libraries' choices from the best: medians and largest factors."""
    columns = ("collective", "machine", "fastest, most often", "over the bound", *LIBRARY_RULES)
    lines = [columns, ("---",) * len(columns)]
    for collective, rows in data.items():
        for machine in MACHINES:
            here = [row for row in rows if row["machine"] == machine]
            names = [row["best"] for row in here]
            often = sorted(set(names), key=lambda name: (-names.count(name), name))[:3]
            libraries = (
                _spread([row[f"{library}_over_best"] for row in here if row[library]]) for library in LIBRARY_RULES
            )
            over_bound = _spread([row["over_bound"] for row in here])
            lines.append((collective, machine, ", ".join(often), over_bound, *libraries))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _spread(factors: list[float]) -> str:
    """Return the median and the largest of some factors."""
    return f"{median(factors):.1f}, {max(factors):.1f}" if factors else "-"


STUDY = Study(
    title="Which algorithm is best where",
    figures=tuple(
        Figure(number, f"The fastest {collective}", collective, _draw)
        for number, collective in enumerate(COLLECTIVES_OF_KNOWN_SIZE, start=1)
    ),
    scopes={
        "quick": Scope("quick", most_ranks_log2=5, points=2, trials=1),
        "default": Scope("default", most_ranks_log2=8, points=6, trials=1),
        "full": Scope("full", most_ranks_log2=8, points=7, trials=1),
    },
    pieces=lambda data, scope: len(list(_points(data, scope))),
    compute=_compute,
    texts=lambda data: {"landscape.md": _table(data)},
    is_of_paper=False,
)
