"""`hocket lab tune`: tuning by simulation, by measurement and by both, compared."""

from __future__ import annotations

from fractions import Fraction

from hocket.base.units import format_count, format_time
from hocket.cli.output import print_result, print_table, progress
from hocket.cli.printing import say
from hocket.mpi.installation import Installation
from hocket.tuning.measuring import Measured
from hocket.tuning.planning import plan_of, tuned_collectives
from hocket.tuning.simulating import Simulated
from hocket_lab.commands.options import DEFAULT, command, in_lab
from hocket_lab.ways import WaysJudgement, try_ways

_USUAL_SIZES = (1024, 16384, 262144)


@command()
def tune(
    collectives: tuple[str, ...],
    ranks: tuple[int, ...],
    sizes: tuple[int, ...] | None,
    installation: Installation,
    lab: str | None,
    scale: Fraction,
    limit_s: float,
    tolerance: float,
    as_json: bool,
) -> None:
    """Tune by simulation, by measurement and by both in a lab, and print the regret and cost of each.

    Without --lab, the command uses the lab named "lab", which must be up.
    """
    points = plan_of(tuned_collectives(collectives), ranks, sizes or _USUAL_SIZES).training
    with in_lab(lab or DEFAULT, scale) as running_lab, progress("tuning", 4 * len(points)) as on_done:
        evaluator = Measured(installation, tolerance, running_lab.command)
        judgement = try_ways(points, evaluator, Simulated(running_lab.built), limit_s=limit_s, on_done=on_done)
    library = installation.library
    if as_json:
        print_result({"lab": running_lab.summary, "mpi": library, **judgement.as_dict()})
        return
    say(f"{format_count(len(points), 'call')} under {library}, lab: {running_lab.summary}", bold=True)
    _print(judgement)


def _print(judgement: WaysJudgement) -> None:
    regrets = ["median", "nine of ten within", "worst"]
    base_s = next(way.cost_s for way in judgement.ways if way.name == "measurement")
    rows = [
        [
            way.name,
            *(f"{share:.1%}" for share in judgement.summary(way).values()),
            format_time(way.cost_s),
            f"1/{base_s / way.cost_s:.0f}" if way.cost_s < base_s / 1.5 else f"{way.cost_s / base_s:.2g}",
        ]
        for way in judgement.ways
    ]
    say("\nregret over the fastest that was measured, and cost")
    print_table(["tuned by", *regrets, "cost", "over measurement"], rows, right=[*regrets, "cost", "over measurement"])
