"""Butterfly allreduce with redundant exchanges under OS and network jitter: figures 5 to 21 and the claims.

Of the paper by H. Matsumoto and R. Suda, see studies/docs/jitter.md.

Reading. All clocks start at 0; c = alpha + beta N is the time of an exchange, w = gamma N that of its reduction. A
transfer that a network event hits, with probability 1 - exp(-c / period), arrives `duration` later; so does a
reduction for each OS event that begins in it. Redundant copies meet network noise only, cost their sender nothing,
and each exchange uses the times after the one before. The time of an allreduce is that of the last rank.

The paper takes, for each number T of redundant exchanges, 30 fresh trials, and then the smallest of these means: a
biased estimate. Beside it stands the same with common random numbers for all T.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import itemgetter
from statistics import mean
from threading import Condition
from typing import TYPE_CHECKING, Any

from hocket.base.call import Call
from hocket.base.parallel import do_all
from hocket.definitions.machine import Machine
from hocket.simulating.simulation import Simulation, Statistics, Trials, simulate
from hocket_studies.study import Claim, Figure, Rows, Scope, Study, Work, judge

if TYPE_CHECKING:
    import altair as alt

ALGORITHM = "allreduce/redundant_butterfly"
BETA_S = 1e-9
"""Seconds per byte of the network, 1 GB/s."""
_LANES = 32  # trials that are evaluated together: fresh trials begin at a multiple of it


@dataclass(frozen=True)
class Setting:
    """One point of a figure, besides the number of ranks.

    Attributes:
        alpha_s: Latency.
        size_bytes: N.
        period_s: Period of the OS events, and mean interval of the network's.
        duration_s: Duration of either.
    """

    alpha_s: float
    size_bytes: int
    period_s: float
    duration_s: float

    @property
    def transfer_s(self) -> float:
        """Time of one exchange, c = alpha + beta N."""
        return self.alpha_s + BETA_S * self.size_bytes


@dataclass(frozen=True)
class _Family:
    """The settings of some figures: what is varied, and the values it takes."""

    axis: str
    values: tuple[float, ...]
    setting: Any

    def settings(self, points: int) -> list[tuple[float, Setting]]:
        return [(value, self.setting(value)) for value in _spread(self.values, points)]


def _spread(values: tuple[float, ...], points: int) -> tuple[float, ...]:
    """Return some of the values, the first and the last among them."""
    if points >= len(values):
        return values
    return tuple(values[round(i * (len(values) - 1) / (points - 1))] for i in range(points))


def _by_transfer(alpha_s: float, period_s: float, duration_s: float, ratio: float) -> Setting:
    size_bytes = max(round((ratio * duration_s - alpha_s) / BETA_S), 0)
    return Setting(alpha_s, size_bytes, period_s, duration_s)


def _by_duration(alpha_s: float, period_s: float, ratio: float) -> Setting:
    return Setting(alpha_s, 8, period_s, ratio * period_s)


def _decades(first: int, last: int) -> tuple[float, ...]:
    """Return 1, 2 and 5 times the powers of ten from one to another."""
    steps = [step * 10.0**exponent for exponent in range(first, last) for step in (1, 2, 5)]
    return (*steps, 10.0**last)


_FAMILIES: Mapping[str, _Family] = {
    "transfer_1ms": _Family(
        "transfer over duration", (0.101, *_decades(-1, 1)[1:]), partial(_by_transfer, 1e-6, 1e-3, 1e-5)
    ),
    "transfer_10ms": _Family(
        "transfer over duration", (1.01e-3, *_decades(-3, 1)[1:]), partial(_by_transfer, 1e-7, 1e-2, 1e-4)
    ),
    "duration_1ms": _Family("duration over period", _decades(-4, -1), partial(_by_duration, 1e-6, 1e-3)),
    "duration_10ms": _Family("duration over period", _decades(-4, -1), partial(_by_duration, 1e-6, 1e-2)),
    "time_12_text": _Family("transfer over duration", (1e-2,), partial(_by_transfer, 1e-7, 1e-2, 1e-4)),
    "time_12_caption": _Family("transfer over duration", (1e-2,), partial(_by_transfer, 92e-9, 1e-3, 1e-5)),
    "time_21_text": _Family("duration over period", (1e-2,), partial(_by_duration, 1e-6, 1e-2)),
    "time_21_caption": _Family("duration over period", (1e-2,), partial(_by_duration, 1e-6, 1e-3)),
}


def machine(setting: Setting, *, send_overhead_s: float = 0.0) -> Machine:
    """Return the machine of a setting; its redundant copies occupy their sender for `send_overhead_s`."""
    s = setting
    return Machine.parse(
        f"""name = "jitter"
[network]
model = "hockney"
latency = "{s.alpha_s} s"
bandwidth = "{1 / BETA_S} B/s"
protocol = "rendezvous"
send_overhead = "{send_overhead_s} s"
[node]
ports = "unlimited"
reduce_bandwidth = "10 GB/s"
[noise.os]
model = "periodic"
period = "{s.period_s} s"
duration = "{s.duration_s} s"
overlap = "arrival"
[noise.network]
model = "poisson"
interval = "{s.period_s} s"
duration = "{s.duration_s} s"
events = "one"
"""
    )


def measure(setting: Setting, ranks: int, exchanges: int, trials: Trials) -> Simulation:
    """Simulate one call with so many redundant exchanges."""
    call = Call(ranks=ranks, size_bytes=setting.size_bytes, parameters={"T": exchanges})
    return simulate(ALGORITHM, call, machine=machine(setting), trials=trials)


def _quiet_s(setting: Setting, ranks: int) -> float:
    """Return the time without jitter, K (c + w)."""
    return math.log2(ranks) * (setting.transfer_s + setting.size_bytes * 1e-10)


def _all(setting: Setting, log2: int, scope: Scope, threads: int | None) -> list[tuple[Statistics, Statistics]]:
    """Return the times for each number of exchanges, in the trials that all have in common, and in this number's own.

    The marks of the call with the most exchanges are the times for fewer: one recording serves all.
    """
    block = max(_LANES, scope.trials)
    trials = Trials(block * log2 + scope.trials, scope.seed, threads=threads)
    marks_s = measure(setting, 1 << log2, log2, trials).marks_s

    def of(mark: int, block_of: int) -> Statistics:
        return Statistics.of(marks_s[mark][block * block_of :][: scope.trials])

    return [(of(exchanges, 0), of(exchanges, exchanges)) for exchanges in range(log2 + 1)]


@dataclass(frozen=True)
class Cell:
    """One point of a figure."""

    number: int
    axis: str
    value: float
    setting: Setting
    log2: int
    scope: Scope

    @property
    def is_large(self) -> bool:
        """Whether its recording takes gigabytes: 13 kB for each rank."""
        return self.log2 >= 18


class _Cells:
    """The points of a figure, the largest first; of those that take gigabytes, one at a time is measured."""

    def __init__(self, cells: Sequence[Cell], row_of: Callable[[Cell], dict[str, Any]]) -> None:
        by_size = sorted(cells, key=lambda cell: -cell.log2)
        self._large = deque(cell for cell in by_size if cell.is_large)
        self._small = deque(cell for cell in by_size if not cell.is_large)
        self._row_of = row_of
        self._is_busy = False
        self._change = Condition()

    def measure_next(self, _: int) -> tuple[int, dict[str, Any]]:
        """Measure a point that nobody has begun. Return its number and its row."""
        with self._change:
            self._change.wait_for(lambda: self._small or not self._is_busy)
            is_large = bool(self._large) and not self._is_busy
            cell = (self._large if is_large else self._small).popleft()
            self._is_busy |= is_large
        try:
            return cell.number, self._row_of(cell)
        finally:
            with self._change:
                self._is_busy &= not is_large
                self._change.notify_all()


def row_of(cell: Cell) -> dict[str, Any]:
    """Measure one point: plain, and the best number of redundant exchanges by either procedure."""
    setting, scope, ranks = cell.setting, cell.scope, 1 << cell.log2
    found = _all(setting, cell.log2, scope, None if cell.is_large else 1)
    plain = found[0][0]
    common_s, fresh_s = ([of.mean for of in procedure] for procedure in zip(*found[1:], strict=True))
    best = common_s.index(min(common_s)) + 1
    fresh_best = fresh_s.index(min(fresh_s)) + 1
    quiet_s = _quiet_s(setting, ranks)
    return {
        cell.axis.replace(" ", "_"): cell.value,
        "ranks": ranks,
        "size_bytes": setting.size_bytes,
        "alpha_s": setting.alpha_s,
        "period_s": setting.period_s,
        "duration_s": setting.duration_s,
        "trials": scope.trials,
        "seed": scope.seed,
        "quiet_s": quiet_s,
        "plain_s": plain.mean,
        "plain_stderr_s": plain.stderr,
        "proposed_paper_s": min(fresh_s),
        "proposed_common_s": min(common_s),
        "proposed_stderr_s": found[best][0].stderr,
        "best_t_paper": fresh_best,
        "best_t_common": best,
        "influence": plain.mean / quiet_s,
        "remaining_paper": min(fresh_s) / plain.mean,
        "remaining_common": min(common_s) / plain.mean,
    }


def _cells(data: str, scope: Scope) -> list[Cell]:
    family = _FAMILIES[data]
    logs = range(1, scope.most_ranks_log2 + 1)
    step = 1 if data.startswith("time") else max(1, round(scope.most_ranks_log2 / scope.points))
    chosen = sorted({*logs[step - 1 :: step], scope.most_ranks_log2})
    points = product(family.settings(scope.points), chosen)
    return [
        Cell(number, family.axis, value, setting, log2, scope) for number, ((value, setting), log2) in enumerate(points)
    ]


def compute(data: str, scope: Scope, work: Work, *, row_of: Callable[[Cell], dict[str, Any]] = row_of) -> Rows:
    """Return the rows of some data, in the order of their points; `row_of` measures a point."""
    cells = _Cells(found := _cells(data, scope), row_of)
    rows = do_all(cells.measure_next, range(len(found)), executor=work.executor, on_done=lambda *_: work.on_done())
    return [row for _, row in sorted(rows, key=itemgetter(0))]


def _map(column: str, label: str, rows: Rows, title: str, *, limit: float | None = None) -> alt.Chart:
    import altair as alt

    axis = next(iter(rows[0]))
    domain = [1, limit] if limit else [min(row[column] for row in rows), _most(rows, column)]
    color = alt.Color(f"{column}:Q", title=label).scale(scheme="viridis", domain=domain, clamp=True)
    values = [{**row, "x": f"{row[axis]:g}", "log2_ranks": round(math.log2(row["ranks"]))} for row in rows]
    drawing: alt.Chart = (
        alt.Chart({"values": values})
        .mark_rect()
        .encode(
            x=alt.X("x:O", title=axis.replace("_", " "), sort=[f"{x:g}" for x in sorted({row[axis] for row in rows})]),
            y=alt.Y("log2_ranks:O", title="log2 P", sort="descending"),
            color=color,
            tooltip=["x:O", "ranks:Q", f"{column}:Q"],
        )
        .properties(width=420, height=360, title=_caption(title, rows))
    )
    return drawing


def _lines(rows: Rows, title: str) -> alt.LayerChart:
    import altair as alt

    curves = {
        "plain": "plain_s",
        "proposed, as the paper": "proposed_paper_s",
        "proposed, common trials": "proposed_common_s",
        "without jitter": "quiet_s",
    }
    values = [
        {"log2_ranks": round(math.log2(row["ranks"])), "curve": curve, "time_us": row[column] * 1e6}
        for row in rows
        for curve, column in curves.items()
    ]
    base = alt.Chart({"values": values}).encode(
        x=alt.X("log2_ranks:Q", title="log2 P"),
        y=alt.Y("time_us:Q", title="time (us)"),
        color=alt.Color("curve:N", title=None).scale(domain=list(curves)),
        tooltip=["log2_ranks:Q", "curve:N", "time_us:Q"],
    )
    return alt.LayerChart(layer=[base.mark_line(), base.mark_point(filled=True)]).properties(
        width=560, height=360, title=_caption(title, rows)
    )


def _caption(title: str, rows: Rows) -> alt.TitleParams:
    import altair as alt

    row = rows[0]
    errors = [max(r["plain_stderr_s"] / r["plain_s"], r["proposed_stderr_s"] / r["proposed_common_s"]) for r in rows]
    subtitle = [
        f"alpha {row['alpha_s']:g} s, beta 1e-9 s/B, gamma 1e-10 s/B, period {row['period_s']:g} s",
        f"{row['trials']} trials per point, seed {row['seed']}; 95 % intervals within {1.96 * max(errors):.1%}",
    ]
    return alt.TitleParams(title, subtitle=subtitle, anchor="start")


def _maps(first: int, data: str, parameters: str, influences: tuple[float, ...]) -> tuple[Figure, ...]:
    titles = [
        *(f"Plain with jitter over plain without, to {limit:g}, {parameters}" for limit in influences),
        f"Proposed over plain, {parameters}",
        f"Best number of redundant exchanges, {parameters}",
    ]
    draws = [
        *(partial(_map, "influence", "with / without", limit=limit) for limit in influences),
        partial(_map, "remaining_paper", "proposed / plain"),
        partial(_map, "best_t_paper", "best T"),
    ]
    return tuple(
        Figure(first + i, title, data, draw) for i, (title, draw) in enumerate(zip(titles, draws, strict=True))
    )


_FIGURES = (
    *_maps(5, "transfer_1ms", "period 1 ms, duration 10 us, alpha 1 us", (10,)),
    *_maps(8, "transfer_10ms", "period 10 ms, duration 100 us, alpha 0.1 us", (120, 5)),
    Figure(12, "Time over P, transfer / duration = 0.01, period 10 ms (text)", "time_12_text", _lines),
    Figure(12, "Time over P, transfer / duration = 0.01, period 1 ms (caption)", "time_12_caption", _lines),
    *_maps(13, "duration_1ms", "N = 8 B, alpha 1 us, period 1 ms", (12, 3)),
    *_maps(17, "duration_10ms", "N = 8 B, alpha 1 us, period 10 ms", (80, 5)),
    Figure(21, "Time over P, duration / period = 0.01, period 10 ms (text)", "time_21_text", _lines),
    Figure(21, "Time over P, duration / period = 0.01, period 1 ms (caption)", "time_21_caption", _lines),
)


def _most(rows: Rows, column: str) -> float:
    return float(max(row[column] for row in rows))


def _claims(data: Mapping[str, Rows]) -> list[Claim]:
    """Judge what the data at hand can say something about."""
    judges = (
        _transfer_claim,
        _duration_claim,
        _latency_claim,
        _range_claims,
        _gain_claims,
        _limit_claim,
        _best_t_claims,
    )
    return [claim for judge in judges for claim in judge(data)]


def _split(rows: Rows, axis: str, at: float) -> tuple[Rows, Rows]:
    return [row for row in rows if row[axis] < at], [row for row in rows if row[axis] > at]


def _transfer_claim(data: Mapping[str, Rows]) -> list[Claim]:
    rows = data.get("transfer_10ms")
    if not rows:
        return []
    short, long = _split(rows, "transfer_over_duration", 1)
    found = f"up to {_most(short, 'influence'):.1f} below, {_most(long, 'influence'):.2f} above"
    holds = _most(long, "influence") < 2 < _most(short, "influence")
    why = "largest ratio of times with and without jitter, on either side of transfer = duration"
    return [
        judge(
            "The influence is small when the transfer is longer than the duration, else large",
            "fig 8",
            found,
            holds,
            why,
        )
    ]


def _duration_claim(data: Mapping[str, Rows]) -> list[Claim]:
    claims = []
    for name, figure in (("duration_1ms", "fig 13"), ("duration_10ms", "fig 17")):
        rows = data.get(name)
        if not rows:
            continue
        short, long = _split(rows, "duration_over_period", 0.01)
        found = f"up to {_most(short, 'influence'):.1f} below, {_most(long, 'influence'):.1f} above"
        holds = _most(short, "influence") < _most(long, "influence") / 2
        why = "largest ratio of times with and without jitter, on either side of 1/100"
        claims.append(
            judge("The influence is small below duration / period = 1/100 and large above", figure, found, holds, why)
        )
    return claims


def _latency_claim(data: Mapping[str, Rows]) -> list[Claim]:
    if not {"transfer_1ms", "transfer_10ms"} <= data.keys():
        return []
    claim = "A tenth of alpha raises the influence about tenfold"
    if max(row["ranks"] for row in data["transfer_1ms"]) < 1 << 14:
        return [Claim(claim, "10", "-", "not measured", "needs P of 2^14 and more")]
    ratio = _most(data["transfer_10ms"], "influence") / _most(data["transfer_1ms"], "influence")
    why = "largest ratio of fig 8 over that of fig 5"
    return [judge(claim, "10", f"{ratio:.1f}", 5 <= ratio <= 20, why)]


def _range_claims(data: Mapping[str, Rows]) -> list[Claim]:
    claims = []
    for name, figure, limit in (("transfer_10ms", 8, 120), ("duration_1ms", 13, 12), ("duration_10ms", 17, 80)):
        rows = data.get(name)
        if not rows:
            continue
        if max(row["ranks"] for row in rows) < 1 << 14:
            claims.append(Claim(f"Range of fig {figure}", f"{limit}", "-", "not measured", "needs P of 2^14 and more"))
            continue
        most = _most(rows, "influence")
        claims.append(
            judge(f"Range of fig {figure}", f"{limit}", f"{most:.0f}", limit / 2 < most < 2 * limit, "largest ratio")
        )
    return claims


def _gain_claims(data: Mapping[str, Rows]) -> list[Claim]:
    claims = []
    for name, figure in (("time_12_text", 12), ("time_21_text", 21)):
        rows = data.get(name)
        if not rows or max(row["ranks"] for row in rows) < 1 << 14:
            if rows:
                claims.append(
                    Claim(f"About 10 times faster at best (fig {figure})", "10", "-", "not measured", "needs P of 2^14")
                )
            continue
        for procedure in ("paper", "common"):
            best = min(rows, key=lambda row: row[f"remaining_{procedure}"])
            gain, log2 = 1 / best[f"remaining_{procedure}"], round(math.log2(best["ranks"]))
            why = f"the best gain is at P = 2^{log2}; procedure: {_PROCEDURES[procedure]}"
            holds = 7 <= gain <= 15 and 7 <= log2 <= 14
            claims.append(
                judge(
                    f"About 10 times faster at best, P in 2^7 .. 2^14 (fig {figure})", "10", f"{gain:.1f}", holds, why
                )
            )
    rows = data.get("transfer_10ms", ())
    short = [row for row in rows if row["transfer_over_duration"] < 0.005 and row["ranks"] >= 1 << 10]
    if short:
        gain = 1 / min(row["remaining_common"] for row in short)
        why = "on the cut transfer / duration = 0.01 only: with shorter transfers the same model gives more"
        claims.append(
            Claim("10 times is the best there is", "10", f"{gain:.0f}", "on a cut" if gain > 12 else "yes", why)
        )
    return claims


_PROCEDURES = {"paper": "fresh trials for each T, then the smallest mean", "common": "common random numbers"}


def _limit_claim(data: Mapping[str, Rows]) -> list[Claim]:
    claims = []
    for name, figure in (("time_12_text", 12), ("time_21_text", 21)):
        rows = data.get(name, ())
        large = [row for row in rows if row["ranks"] >= 1 << 15]
        if rows and not large:
            claims.append(
                Claim(
                    f"From P = 2^15 on the proposal no longer helps (fig {figure})",
                    "2^15",
                    "-",
                    "not measured",
                    "needs P of 2^15",
                )
            )
        if large:
            gain = 1 / min(row["remaining_common"] for row in large)
            why = "largest gain at P >= 2^15"
            claims.append(
                judge(
                    f"From P = 2^15 on the proposal no longer removes the effect (fig {figure})",
                    "2^15",
                    f"{gain:.1f} times",
                    gain < 4,
                    why,
                )
            )
    return claims


def _best_t_claims(data: Mapping[str, Rows]) -> list[Claim]:
    rows = data.get("time_12_text")
    if not rows:
        return []
    bests = [row["best_t_paper"] for row in rows]
    early, late = bests[: len(bests) // 2], bests[len(bests) // 2 :]
    found = f"{mean(early):.1f}, then {mean(late):.1f}"
    why = "means over the smaller and the larger P; copies cost nothing here: only the noise of 30 trials tells T apart"
    return [judge("The best T grows with P", "figs 7, 11", found, mean(late) > mean(early), why)]


STUDY = Study(
    title="Butterfly allreduce with redundant exchanges under OS and network jitter",
    figures=_FIGURES,
    scopes={
        "quick": Scope("quick", most_ranks_log2=10, points=4, trials=30),
        "default": Scope("default", most_ranks_log2=14, points=7, trials=30),
        "full": Scope("full", most_ranks_log2=20, points=13, trials=30),
    },
    pieces=lambda data, scope: len(_cells(data, scope)),
    compute=compute,
    claims=_claims,
)
