"""How each result is drawn: this module registers the drawing functions behind `plot`."""

from __future__ import annotations

from hocket._native import Error
from hocket.base.packages import alt
from hocket.base.results import draw
from hocket.base.units import axis_unit, format_time
from hocket.definitions.machine import MachineLike, as_machine
from hocket.definitions.topology import Topology
from hocket.drawing.comparison_chart import comparison_chart, is_over_lateness, lateness_chart, lateness_map
from hocket.drawing.judging_charts import assessment_chart, changes_chart, judged_chart
from hocket.drawing.link_map import link_chart
from hocket.drawing.plot import HEIGHT, by_kind, frame
from hocket.drawing.space_time import space_time_chart
from hocket.drawing.table_chart import table_chart
from hocket.fitting.result import Fit
from hocket.judging.assessment import Assessment
from hocket.judging.changes import Changes
from hocket.schedules.schedule import Schedule
from hocket.simulating.comparison import Comparison
from hocket.simulating.explanation import Explanation
from hocket.simulating.replays import Replay
from hocket.simulating.simulation import Simulation, simulate
from hocket.simulating.sweeps.table import Table
from hocket.words.simulations import played_lines, scene_lines

_ROW_HEIGHT, _MOST_HEIGHT = 16, 1200  # pixels
_SHARES = {"computing": "#b8c4ce", "in MPI calls": "#4c78a8", "waiting for others": "#f58518"}


def _simulation(result: Simulation) -> alt.LayerChart:
    if not result.events:
        return _trials(result)
    return space_time_chart(result.events, title=result.title, scene=played_lines(result), path=result.critical_path)


def _trials(result: Simulation) -> alt.LayerChart:
    times_s = result.time_s
    if result.trials == 1:
        raise Error(
            "plot: got one trial, expected several, such as trials=hocket.Trials(1000) on a machine with noise; "
            "keep=['events'] draws what ranks do in a single trial"
        )
    if len(times_s.histogram["counts"]) == 1:
        raise Error(f"plot: got {result.trials} trials that all take {format_time(times_s.mean)}, expected noise")
    scale, unit = axis_unit(times_s.max)
    edges = [edge / scale for edge in times_s.histogram["edges_s"]]
    counts = times_s.histogram["counts"]
    bins = [{"from": edges[i], "to": edges[i + 1], "trials": count} for i, count in enumerate(counts)]
    low_s, high_s = times_s.interval
    mean = {"mean": times_s.mean / scale, "low": low_s / scale, "high": high_s / scale}
    x = alt.X("from:Q", title=f"time ({unit})").scale(zero=False, nice=False)
    bars = alt.Chart(alt.InlineData(values=bins)).mark_rect(color="#4c78a8", stroke="white")
    marks = alt.Chart(alt.InlineData(values=[mean]))
    between = f"{format_time(max(low_s, 0.0))} and {format_time(high_s)}"
    layers = [
        bars.encode(
            x=x, x2="to:Q", y=alt.Y("trials:Q", title="trials"), y2=alt.datum(0), tooltip=["from:Q", "to:Q", "trials:Q"]
        ),
        marks.mark_rect(opacity=0.3, color="#d62728").encode(x="low:Q", x2="high:Q"),
        marks.mark_rule(color="#d62728", strokeWidth=2).encode(x="mean:Q"),
    ]
    subtitle = [
        f"{result.trials} trials, seed {result.seed}; half of them take up to {format_time(times_s.quantiles['0.5'])}, "
        f"95 % up to {format_time(times_s.quantiles['0.95'])}",
        f"red: the mean, {format_time(times_s.mean)}, which is between {between} (95 %)",
    ]
    return frame(layers, result.title, [*scene_lines(result), *subtitle])


def _schedule(schedule: Schedule, machine: MachineLike) -> alt.LayerChart:
    loaded_machine = as_machine(machine)
    title = f"{schedule.title}, machine {loaded_machine.name}"
    return space_time_chart(simulate(schedule, machine=loaded_machine, keep=["events"]).events, title=title)


def _replay(result: Replay) -> alt.LayerChart:
    rows = [
        {"rank": rank, "what": what, "order": order, "time_s": time_s, "time": format_time(time_s)}
        for rank, use in enumerate(result.rank_uses)
        for order, (what, time_s) in enumerate(
            zip(_SHARES, (use.time_s - use.mpi_s, use.mpi_s - use.waiting_s, use.waiting_s), strict=True)
        )
    ]
    height = max(HEIGHT // 2, min(_MOST_HEIGHT, _ROW_HEIGHT * result.ranks))
    bars = alt.Chart(alt.InlineData(values=rows)).mark_bar()
    shares = bars.encode(
        x=alt.X("time_s:Q", title="time (s)"),
        y=alt.Y("rank:O").axis(labelOverlap=True),
        color=alt.Color("what:N", title=None, scale=by_kind(_SHARES, _SHARES)),
        order="order:Q",
        tooltip=["rank:O", "what:N", "time:N"],
    )
    return frame([shares], result.title, (), height=height)


def _comparison(comparison: Comparison, most: int | None, within: float) -> alt.LayerChart:
    if not is_over_lateness(comparison):
        return comparison_chart(comparison, most, within=within)
    return lateness_chart(comparison, most) if len(comparison.sizes_bytes) == 1 else lateness_map(comparison)


draw.register(Assessment, assessment_chart)
draw.register(Changes, changes_chart)
draw.register(Comparison, _comparison)
draw.register(Explanation, lambda explanation: _simulation(explanation.simulation))
draw.register(Fit, lambda fit: judged_chart(fit.cells, fit.title))
draw.register(Replay, _replay)
draw.register(Schedule, _schedule)
draw.register(Simulation, _simulation)
draw.register(Table, table_chart)
draw.register(Topology, lambda network, uses, load: link_chart(uses, network, title=network.title, load=load))
