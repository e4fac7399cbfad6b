"""Real machines: each fitted to measured times of collectives, and judged by calls that the fit has not seen.

The measurements (`measured/pico.csv`) are medians of the results of PICO: D. De Sensi et al., arXiv 2508.16809. The
machine files beside them have ranges where a value is to be found. The calls that no fit has seen also give the
discrepancies of the presets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from hocket.base.units import format_bytes
from hocket.definitions.machine import Machine
from hocket.drawing.judging_charts import judged_chart
from hocket.fitting.discrepancies import LARGE_BYTES, discrepancies, insides, with_discrepancies
from hocket.fitting.fit import fit
from hocket.fitting.result import Judgement, deviation
from hocket.measurements.formats import read_measurements
from hocket_studies.study import Figure, Rows, Scope, Study, Work

if TYPE_CHECKING:
    import altair as alt

_MEASURED = Path(__file__).parent / "measured"
_CHOICES = "-choices"
_DARKEST = 0.7  # residual, a factor of two, from which on tiles are equally dark
_SLOWER = 1.1  # than the library's own choice, which is worth telling


@dataclass(frozen=True)
class _Split:
    """Which measurements of a machine values are fitted to, and which judge them.

    Attributes:
        fitted_to: The former, in words.
        held_out: The condition of the latter; none if there are none.
        only: The condition of both; none if it is all measurements.
        ranks_per_node: Of all measurements. Jobs of several ranks a node are judged by the values of the preset.
    """

    fitted_to: str
    held_out: str | None = None
    only: str | None = None
    ranks_per_node: int = 1


@dataclass(frozen=True)
class _Fitting:
    """How a machine is fitted.

    Attributes:
        title: What it is.
        only: Conditions of the measurements.
        split: The fit that is shown.
        further: Further fits, to fewer measurements, whose held-out calls judge as well.
    """

    title: str
    only: tuple[str, ...]
    split: _Split
    further: tuple[_Split, ...] = ()


MACHINES: Mapping[str, _Fitting] = {
    "fugaku": _Fitting(
        "Fugaku, FJMPI 4.0.1",
        ("system=fugaku",),
        _Split("8 and 64 ranks", "ranks>64"),
        (_Split("8 ranks", "ranks>8", only="ranks<=64"),),
    ),
    "lumi": _Fitting(
        "LUMI, Cray MPICH 8.1.29",
        ("system=lumi",),
        _Split("4 and 8 ranks", "ranks>8"),
        (_Split("4 ranks", "ranks>4", only="ranks<=8"),),
    ),
    "leonardo": _Fitting(
        "Leonardo, Open MPI 4.1.6",
        ("system=leonardo",),
        _Split("4 to 64 ranks", "ranks>64"),
        (
            _Split("4 ranks", "ranks>4", only="ranks<=32"),
            _Split("4 to 64 ranks, preset", "ranks=1024", only="ranks=1024", ranks_per_node=4),
        ),
    ),
    "marenostrum5": _Fitting(
        "MareNostrum 5, Open MPI 4.1.5",
        ("system=mare_nostrum", "ranks=32"),
        _Split("all calls"),
        (
            _Split("allreduce, broadcast and sparbit", "collective=allgather,algorithm!=sparbit"),
            _Split("allreduce and allgather", "collective=broadcast"),
        ),
    ),
}
"""Each further fit sees the kinds of work, reductions and copies, of the calls that judge it.

Leonardo's job of 256 nodes with four ranks each ran as `leonardo:slow` does. Nobody can tell before a job how it will
run, so its calls judge the preset without that condition: the intervals hold both.
"""


@lru_cache(maxsize=len(MACHINES))
def _judged(name: str, scope: Scope, executor: Executor) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of calls and of choices: those of the fit that is shown, then the held-out ones of others."""
    how = MACHINES[name]
    source = _MEASURED / "pico.csv"
    calls: list[dict[str, Any]] = []
    choices: list[dict[str, Any]] = []
    for split in (how.split, *how.further):
        is_shown = split is how.split
        judged = fit(
            source,
            machine=_MEASURED / f"{name}.toml" if split.ranks_per_node == 1 else _shared(name, split.ranks_per_node),
            only=(*how.only, f"ranks_per_node={split.ranks_per_node}", *([split.only] if split.only else [])),
            hold_out=[split.held_out] if split.held_out else [],
            cells=scope.points,
            seed=scope.seed,
            has_intervals=is_shown,
            executor=executor,
        )
        to = {"fitted_to": split.fitted_to}
        calls += [{**asdict(one), **to} for one in judged.cells if is_shown or one.use == "held out"]
        choices += [
            {**asdict(one), "regret": one.regret, "is_right": one.is_right, **to}
            for one in judged.regrets
            if is_shown or one.is_held_out
        ]
    return calls, choices


def _shared(name: str, ranks_per_node: int) -> Machine:
    """Return a preset with several ranks on each node."""
    text = Machine.load(name).text.replace("[network]\n", f"[network]\nranks_per_node = {ranks_per_node}\n")
    return Machine.parse(text, name)


def _compute(data: str, scope: Scope, work: Work) -> Rows:
    calls, choices = _judged(data.removesuffix(_CHOICES), scope, work.executor)
    work.on_done()
    return choices if data.endswith(_CHOICES) else calls


def _of_fit_shown(rows: Rows) -> Rows:
    return [row for row in rows if row["fitted_to"] == rows[0]["fitted_to"]]


def _judgement(row: Mapping[str, Any]) -> Judgement:
    return Judgement(**{key: value for key, value in row.items() if key != "fitted_to"})


def _draw_times(rows: Rows, title: str) -> alt.LayerChart:
    return judged_chart([*map(_judgement, _of_fit_shown(rows))], title)


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
        for row in _of_fit_shown(rows)
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


def _draw_residuals(rows: Rows, title: str) -> Any:
    """Draw how far off simulated times are: a tile for each algorithm, size and number of ranks."""
    import altair as alt

    shown = _of_fit_shown(rows)
    held_out = {row["ranks"] for row in shown} - {row["ranks"] for row in shown if row["use"] != "held out"}
    values = [
        {
            "program": f"{row['collective']} {row['algorithm']}",
            "size": format_bytes(row["size_bytes"]),
            "size_bytes": row["size_bytes"],
            "ranks": row["ranks"],
            "job": f"{row['ranks']} ranks{', held out' if row['ranks'] in held_out else ''}",
            "residual": _judgement(row).residual,
        }
        for row in shown
    ]
    return (
        alt.Chart({"values": values})
        .mark_rect()
        .encode(
            x=alt.X("size:N", title=None, sort=alt.EncodingSortField("size_bytes", op="min")),
            y=alt.Y("program:N", title=None),
            color=alt.Color("median(residual):Q", title=["ln(simulated", "/ measured)"]).scale(
                scheme="blueorange", domain=[-_DARKEST, _DARKEST], clamp=True
            ),
            tooltip=["program:N", "job:N", "size:N", "median(residual):Q"],
        )
        .properties(width=alt.Step(17), height=alt.Step(17))
        .facet(alt.Facet("job:N", title=None, sort=alt.EncodingSortField("ranks", op="min")), columns=2)
        .properties(
            title=alt.TitleParams(
                title, subtitle="blue: simulated too fast; orange: too slow; white: not measured", anchor="start"
            )
        )
    )


def _table(data: Mapping[str, Rows]) -> str:
    """Return how far simulated times are off, and what choices take, by machine and collective, and of all."""
    columns = ("machine", "collective", "calls", "median", "within 25 %", "within 40 %")
    choices = ("points", "right", "chosen", "library", "gain", "slower")
    lines = [(*columns, *choices), ("---",) * len(columns + choices)]
    for name, rows in data.items():
        if name.endswith(_CHOICES):
            continue
        shown, chosen = _of_fit_shown(rows), _of_fit_shown(data.get(f"{name}{_CHOICES}", ()))
        for use, is_held_out in (("fitted", False), ("held out", True)):
            cells = [_judgement(row) for row in shown if row["use"] == use]
            points = [row for row in chosen if row["is_held_out"] == is_held_out]
            for collective in (*sorted({one.collective for one in cells}), None) if cells else ():
                of_it = [one for one in cells if collective in (None, one.collective)]
                its_points = [row for row in points if collective in (None, row["collective"])]
                title = f"{MACHINES[name].title}, {use}"
                lines.append((title, collective or "**all**", *_away(of_it), *_choice(its_points)))
    return _markdown(lines)


def _away(cells: Iterable[Judgement]) -> tuple[str, ...]:
    found = deviation(cells)
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


@dataclass(frozen=True)
class _Unseen:
    """A held-out call.

    Attributes:
        fitted_to: To what values were fitted.
        cell: The call, simulated with these values.
        is_inside: Whether it is within an interval made of the calls of other jobs; None if it has none.
    """

    fitted_to: str
    cell: Judgement
    is_inside: bool | None


def _unseen_calls(rows: Rows) -> list[_Unseen]:
    held_out = [row for row in rows if row["use"] == "held out"]
    cells = [*map(_judgement, held_out)]
    return [
        _Unseen(row["fitted_to"], cell, is_inside)
        for row, cell, is_inside in zip(held_out, cells, insides(cells), strict=True)
    ]


_SIZES = {True: f"below {format_bytes(LARGE_BYTES)}", False: f"from {format_bytes(LARGE_BYTES)}"}


def _held_out_table(data: Mapping[str, Rows]) -> str:
    """Return how far off calls are that no fit had seen, by program, size and ranks, beside the noise floor."""
    columns = ("machine", "fitted to", "ranks", "collective", "algorithm", "size", "calls", "median", "within 25 %")
    more = ("inside", "regret", "floor")
    lines = [(*columns, *more), ("---",) * len(columns + more)]
    floors = _floors()
    for name, how in MACHINES.items():
        unseen = _unseen_calls(data.get(name, ()))
        choices = [row for row in data.get(f"{name}{_CHOICES}", ()) if row["is_held_out"]]
        groups: dict[tuple[Any, ...], list[_Unseen]] = {}
        for one in unseen:
            of_job = one.fitted_to, one.cell.ranks
            size = _SIZES[one.cell.size_bytes < LARGE_BYTES]
            groups.setdefault((*of_job, one.cell.collective, one.cell.algorithm, size), []).append(one)
            groups.setdefault((*of_job, "**all**", "", ""), []).append(one)
        for (fitted_to, ranks, collective, algorithm, size), group in sorted(groups.items()):
            regrets = [
                row["regret"]
                for row in choices
                if (row["fitted_to"], row["ranks"]) == (fitted_to, ranks)
                and (not size or _is_chosen(row, collective, algorithm, size))
            ]
            floor = floors.get((how.only[0], size))
            away = _away(one.cell for one in group)[:3]
            lines.append(
                (
                    how.title,
                    fitted_to,
                    str(ranks),
                    collective,
                    algorithm or "-",
                    size or "-",
                    *away,
                    _share([one.is_inside for one in group if one.is_inside is not None]),
                    f"{mean(regrets):.2f}" if regrets else "-",
                    "-" if floor is None else f"{floor:.3f}",
                )
            )
    return _markdown(lines)


def _is_chosen(row: Mapping[str, Any], collective: str, algorithm: str, size: str) -> bool:
    chosen = row["collective"], row["choice"].partition(" ")[0], _SIZES[row["size_bytes"] < LARGE_BYTES]
    return chosen == (collective, algorithm, size)


def _share(flags: Sequence[bool]) -> str:
    return f"{sum(flags) / len(flags):.0%}" if flags else "-"


def _floors() -> dict[tuple[str, str], float]:
    """Return the noise floor by machine and size: the median of abs(ln(time / time)) of two measurements of a call."""
    times: dict[tuple[Any, ...], list[float]] = {}
    for one in read_measurements(str(_MEASURED / "pico.csv")).measurements:
        if one.ranks_per_node == 1:
            call = one.collective, one.label, one.ranks, one.dims, one.layout, one.size_bytes
            times.setdefault((one.system, one.library, *call), []).append(one.time_s)
    apart: dict[tuple[str, str], list[float]] = {}
    for (system, *_, size_bytes), several in times.items():
        key = f"system={system}", _SIZES[size_bytes < LARGE_BYTES]
        apart.setdefault(key, []).extend(abs(math.log(a / b)) for a, b in combinations(several, 2))
    return {key: median(each) for key, each in apart.items() if each}


def _presets(data: Mapping[str, Rows]) -> dict[str, str]:
    """Return the files of the presets, with the discrepancies of calls that no fit had seen."""
    return {
        f"{name}.toml": with_discrepancies(
            Machine.load(name).text, discrepancies(one.cell for one in _unseen_calls(data[name]))
        )
        for name in MACHINES
        if name in data
    }


def _markdown(lines: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _texts(data: Mapping[str, Rows]) -> dict[str, str]:
    return {"atlas.md": _table(data), "held-out.md": _held_out_table(data), **_presets(data)}


STUDY = Study(
    title="Real machines, and how far off they are",
    figures=tuple(
        figure
        for number, (name, how) in enumerate(MACHINES.items())
        for figure in (
            Figure(2 * number + 1, f"{how.title}: simulated over measured times", name, _draw_times),
            Figure(2 * number + 2, f"{how.title}: what choices take", f"{name}{_CHOICES}", _draw_choices),
            Figure(2 * len(MACHINES) + number + 1, f"{how.title}: where it is off", name, _draw_residuals),
        )
    ),
    scopes={
        "quick": Scope("quick", most_ranks_log2=9, points=40, trials=1),
        "default": Scope("default", most_ranks_log2=9, points=300, trials=1),
        "full": Scope("full", most_ranks_log2=9, points=1000, trials=1),
    },
    pieces=lambda data, scope: 1,
    compute=_compute,
    texts=_texts,
    is_of_paper=False,
)
