"""`hocket tune --ways`: compare tuning by simulation, by measurement and by both."""

from __future__ import annotations

from collections.abc import Sequence

from hocket.base.units import format_count, format_time
from hocket.cli.output import print_result, print_table, progress
from hocket.cli.printing import say
from hocket.lab.laboratory import Lab
from hocket.tuning.choice import Point
from hocket.tuning.measuring import Measured
from hocket.tuning.simulating import Simulated
from hocket.tuning.ways import Judged, try_ways


def tune_ways(points: Sequence[Point], by: Measured, model: Simulated, lab: Lab, limit_s: float, as_json: bool) -> None:
    """Tune the calls in three ways, and print the regret and the cost of each."""
    with progress("tuning", 4 * len(points)) as on_done:
        found = try_ways(points, by, model, limit_s=limit_s, on_done=on_done)
    library = by.installation.library
    if as_json:
        print_result({"lab": lab.summary, "mpi": library, **found.as_dict()})
        return
    say(f"{format_count(len(points), 'call')} under {library}, lab: {lab.summary}", bold=True)
    _print(found)


def _print(found: Judged) -> None:
    regrets = ["median", "nine of ten within", "worst"]
    base_s = next(way.cost_s for way in found.ways if way.name == "measurement")
    rows = [
        [
            way.name,
            *(f"{share:.1%}" for share in found.summary(way).values()),
            format_time(way.cost_s),
            f"1/{base_s / way.cost_s:.0f}" if way.cost_s < base_s / 1.5 else f"{way.cost_s / base_s:.2g}",
        ]
        for way in found.ways
    ]
    say("\nregret over the fastest that was measured, and cost")
    print_table(["tuned by", *regrets, "cost", "over measurement"], rows, right=[*regrets, "cost", "over measurement"])
