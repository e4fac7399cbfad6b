"""Real machines: each fitted to measured times of collectives, and judged by calls that the fit has not seen.

The measurements (`measured/pico.csv`) are medians of the results of PICO: D. De Sensi et al., arXiv 2508.16809. The
machine files beside them have ranges where a value is to be found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from hocket.base.units import format_bytes
from hocket.drawing.fit_chart import judged_chart
from hocket.fitting.fit import fit
from hocket.fitting.result import Fit, Judgement, deviation
from hocket_studies.study import Figure, Rows, Scope, Study, Work

if TYPE_CHECKING:
    import altair as alt

_MEASURED = Path(__file__).parent / "measured"
_CHOICES = "-choices"
_SLOWER = 1.1  # than the library's own choice, which is worth telling


@dataclass(frozen=True)
class _Fitting:
    """How a machine is fitted.

    Attributes:
        title: What it is.
        only: Conditions of the measurements.
        held_out: The condition of those that it is judged by, and not fitted to.
        starts: From how many points the search begins.
    """

    title: str
    only: tuple[str, ...]
    held_out: tuple[str, ...] = ()
    starts: int = 2


MACHINES: Mapping[str, _Fitting] = {
    "fugaku": _Fitting("Fugaku, FJMPI 4.0.1", ("system=fugaku",), held_out=("ranks>64",)),
    "lumi": _Fitting("LUMI, Cray MPICH 8.1.29", ("system=lumi",), held_out=("ranks>8",)),
    "leonardo": _Fitting("Leonardo, Open MPI 4.1.6", ("system=leonardo", "ranks_per_node=1"), held_out=("ranks>64",)),
    "marenostrum5": _Fitting("MareNostrum 5, Open MPI 4.1.5", ("system=mare_nostrum", "ranks=32"), starts=3),
}


@lru_cache(maxsize=len(MACHINES))
def _fitted(name: str, scope: Scope, executor: Executor) -> Fit:
    how = MACHINES[name]
    return fit(
        _MEASURED / "pico.csv",
        machine=_MEASURED / f"{name}.toml",
        only=how.only,
        hold_out=how.held_out,
        cells=scope.points,
        starts=how.starts,
        seed=scope.seed,
        executor=executor,
    )


def _compute(data: str, scope: Scope, work: Work) -> Rows:
    found = _fitted(data.removesuffix(_CHOICES), scope, work.executor)
    work.on_done()
    if data.endswith(_CHOICES):
        return [{**asdict(one), "regret": one.regret, "is_right": one.is_right} for one in found.regrets]
    return [asdict(one) for one in found.cells]


def _draw_times(rows: Rows, title: str) -> alt.LayerChart:
    return judged_chart([Judgement(**row) for row in rows], title)


def _draw_choices(rows: Rows, title: str) -> Any:
    """Draw what choices took, over the best that was measured, for each size."""
    import altair as alt

    takers = {"choice_s": "chosen by simulation", "default_s": "the library's own choice"}
    values = [
        {
            "collective": row["collective"],
            "size": format_bytes(row["size_bytes"]),
            "size_bytes": row["size_bytes"],
            "ranks": row["ranks"],
            "factor": row[key] / row["best_s"],
            "who": who,
        }
        for row in rows
        for key, who in takers.items()
        if row[key]
    ]
    return (
        alt.Chart({"values": values})
        .mark_point(filled=True, opacity=0.75)
        .encode(
            x=alt.X("size:N", title=None, sort=alt.SortField("size_bytes")),
            y=alt.Y("factor:Q", title="over the best that was measured").scale(type="log"),
            color=alt.Color("who:N", title=None).scale(domain=[*takers.values()], scheme="tableau10"),
            size=alt.Size("ranks:Q").scale(type="log", range=[30, 120]),
            tooltip=["collective:N", "size:N", "ranks:Q", "who:N", "factor:Q"],
        )
        .properties(width=260, height=160)
        .facet(alt.Facet("collective:N", title=None), columns=2)
        .resolve_scale(x="independent")
        .properties(title=alt.TitleParams(title, anchor="start"))
    )


def _table(data: Mapping[str, Rows]) -> str:
    """Return how far simulated times are off, and what choices take, by machine and collective, and of all."""
    columns = ("machine", "collective", "calls", "median", "within 25 %", "within 40 %")
    choices = ("points", "right", "chosen", "library", "gain", "slower")
    lines = [(*columns, *choices), ("---",) * len(columns + choices)]
    for name, rows in data.items():
        if name.endswith(_CHOICES):
            continue
        chosen = data.get(f"{name}{_CHOICES}", ())
        for use, is_held_out in (("fitted", False), ("held out", True)):
            cells = [Judgement(**row) for row in rows if row["use"] == use]
            points = [row for row in chosen if row["is_held_out"] == is_held_out]
            for collective in (*sorted({one.collective for one in cells}), None) if cells else ():
                of_it = [one for one in cells if collective in (None, one.collective)]
                its_points = [row for row in points if collective in (None, row["collective"])]
                title = f"{MACHINES[name].title}, {use}"
                lines.append((title, collective or "**all**", *_away(of_it), *_choice(its_points)))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _away(cells: Iterable[Judgement]) -> tuple[str, ...]:
    found = deviation(cells)
    if found is None:
        return ("-",) * 4
    _, quarter, third = found.within
    return str(found.cells), f"{found.median:.3f}", f"{quarter:.0%}", f"{third:.0%}"


def _choice(points: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return how many points there are, at how many the choice is right, and what choices take, gain and lose."""
    if not points:
        return ("-",) * 6
    right = sum(row["is_right"] for row in points)
    told = [row for row in points if row["default_s"]]
    chosen = mean(row["regret"] for row in points)
    if not told:
        return str(len(points)), str(right), f"{chosen:.2f}", "-", "-", "-"
    library = mean(row["default_s"] / row["best_s"] for row in told)
    to_gain = sum(math.log(row["default_s"] / row["best_s"]) for row in told)
    gained = sum(math.log(row["default_s"] / row["choice_s"]) for row in told)
    slower = sum(row["choice_s"] > _SLOWER * row["default_s"] for row in told)
    gain = f"{gained / to_gain:.0%}" if to_gain > 0 else "-"
    return str(len(points)), str(right), f"{chosen:.2f}", f"{library:.2f}", gain, str(slower)


STUDY = Study(
    title="Real machines, and how far off they are",
    figures=tuple(
        figure
        for number, (name, how) in enumerate(MACHINES.items())
        for figure in (
            Figure(2 * number + 1, f"{how.title}: simulated over measured times", name, _draw_times),
            Figure(2 * number + 2, f"{how.title}: what choices take", f"{name}{_CHOICES}", _draw_choices),
        )
    ),
    scopes={
        "quick": Scope("quick", most_ranks_log2=9, points=40, trials=1),
        "default": Scope("default", most_ranks_log2=9, points=300, trials=1),
        "full": Scope("full", most_ranks_log2=9, points=1000, trials=1),
    },
    pieces=lambda data, scope: 1,
    compute=_compute,
    table=_table,
    is_of_paper=False,
)
