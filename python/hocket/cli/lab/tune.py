"""`hocket lab tune`: three ways to tune, by simulation, by measurement, and by both, compared in a lab."""

from __future__ import annotations

from fractions import Fraction

import click

from hocket.base.units import format_count, format_time, parse_duration
from hocket.base.version import version
from hocket.cli.lab.options import in_lab, place_options
from hocket.cli.mpi.options import installation_options
from hocket.cli.options import Read, as_json_option, sizes_option, tolerance_option
from hocket.cli.output import print_json, print_table, progress
from hocket.definitions.machine import Machine
from hocket.mpi import Installation
from hocket.tuning.measuring import Measured
from hocket.tuning.planning import plan_of, tuned_collectives
from hocket.tuning.simulating import Simulated
from hocket.tuning.ways import Judged, try_ways

__all__ = ["tune"]

_SIZES = (1024, 16384, 262144)


@click.command()
@click.argument("collectives", nargs=-1, required=True, metavar="COLLECTIVE...")
@click.option("-n", "--ranks", type=click.IntRange(min=2), required=True, help="Number of ranks.")
@sizes_option
@place_options
@installation_options
@click.option(
    "--time-limit",
    "limit_s",
    type=Read(parse_duration, name="TIME"),
    default="2m",
    show_default=True,
    help="How long each of the two ways that measure may take, and then the judgement; longer, if five samples do.",
)
@tolerance_option
@as_json_option
def tune(
    collectives: tuple[str, ...],
    ranks: int,
    sizes: tuple[int, ...] | None,
    name: str,
    machine: Machine | None,
    scale: Fraction,
    installation: Installation,
    limit_s: float,
    tolerance: float,
    as_json: bool,
) -> None:
    """Tune each COLLECTIVE by simulation, by measurement and by both: regret and cost of each.

    The regret is how much longer what a way chose takes in the lab than the fastest.
    """
    points = plan_of(tuned_collectives(collectives), [ranks], sizes or _SIZES).training
    with in_lab(name, machine, scale) as lab, progress("tuning", 4 * len(points)) as on_done:
        by = Measured(installation, tolerance, lab.command)
        found = try_ways(points, by, Simulated(lab.built), limit_s=limit_s, on_done=on_done)
        summary = lab.summary
    if as_json:
        print_json({"lab": summary, "mpi": installation.library, **found.as_dict(), "version": version()})
        return
    click.secho(
        f"{format_count(len(points), 'call')} on {ranks} ranks, {installation.library}, lab: {summary}", bold=True
    )
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
    click.echo("\nregret over the fastest that was measured, and cost")
    print_table(["tuned by", *regrets, "cost", "over measurement"], rows, right=[*regrets, "cost", "over measurement"])
