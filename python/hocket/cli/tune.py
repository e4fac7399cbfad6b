"""`hocket tune`: rules for collectives, from measurements and simulations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import click

from hocket import files
from hocket._native import Error
from hocket.cli import completion
from hocket.cli.mpi.options import found_installation
from hocket.cli.options import Read, as_json_option, jobs_option, seed_option, sizes_option, trials_option
from hocket.cli.output import print_json, progress
from hocket.cli.trials import asked_trials
from hocket.library import find_collective
from hocket.machine import Machine
from hocket.mpi.installation import KINDS
from hocket.mpi.launch import note_for_root, on_hosts
from hocket.parallel import workers
from hocket.tuning.candidates import COLLECTIVES, usual_sizes
from hocket.tuning.choice import Point, rules_of
from hocket.tuning.guidelines import violations
from hocket.tuning.measuring import Measured, measure_points
from hocket.tuning.planning import Plan, concluded, plan_of, refined
from hocket.tuning.records import Records
from hocket.tuning.report import Tuning, markdown, rules_file
from hocket.tuning.simulating import Simulated, simulate_points
from hocket.units import format_count, format_ranks, parse_duration, parse_ranks, parse_share
from hocket.version import version

__all__ = ["tune"]

_RECORDS, _RULES, _DECISIONS, _REPORT = "measurements.jsonl", "hocket.rules", "decisions.json", "report.md"
_OF_TRAINING, _OF_CHANGES = 0.5, 0.3
"""The share of the time that is left for the first points, and each time for more where choices change."""
_CHECKED, _GUIDELINES = "guidelines.jsonl", "guidelines.json"


@click.command()
@click.argument("collectives", nargs=-1, metavar="[COLLECTIVE]...", shell_complete=completion.collectives)
@click.option(
    "--ranks", "-n", type=Read(parse_ranks, name="LIST"), required=True, help="Numbers of ranks, such as 2 or 2,4,8."
)
@sizes_option
@click.option(
    "--machine",
    type=Read(Machine.load, name="MACHINE"),
    help="Simulate on this machine: alone, or beside --mpi, --mpicc or --mpiexec what need not be measured.",
)
@click.option(
    "--factor",
    type=click.FloatRange(min=1, min_open=True),
    default=4.0,
    show_default=True,
    help="With a machine and an MPI: do not measure what the machine puts behind the fastest by more than this factor.",
)
@click.option("--mpi", type=click.Choice(list(KINDS)), help="An MPI of this kind, of those on the path.")
@click.option("--mpicc", help="The compiler wrapper of the MPI; by default the first on the path.")
@click.option("--mpiexec", help="Its launcher; by default the one beside the wrapper.")
@click.option("--hosts", help="The hosts of the ranks, separated by commas; by default this one.")
@click.option(
    "--time-limit",
    "limit_s",
    type=Read(parse_duration, name="TIME"),
    default="30m",
    show_default=True,
    help="How long to measure, such as 90s, 30m or 2h; longer, if the least samples take longer.",
)
@click.option(
    "--tolerance",
    type=Read(parse_share, name="SHARE"),
    default="3%",
    show_default=True,
    help="How much slower than the fastest a choice may be.",
)
@click.option("--check", is_flag=True, help="Test the defaults of an MPI against guidelines instead of deciding.")
@trials_option
@seed_option
@click.option(
    "--output",
    "-o",
    "folder",
    type=Read(files.writable_folder, name="DIR"),
    required=True,
    help="Folder of the results.",
)
@jobs_option
@as_json_option
def tune(
    collectives: tuple[str, ...],
    ranks: tuple[int, ...],
    sizes: tuple[int, ...] | None,
    machine: Machine | None,
    factor: float,
    mpi: str | None,
    mpicc: str | None,
    mpiexec: str | None,
    hosts: str | None,
    limit_s: float,
    tolerance: float,
    check: bool,
    trials: int,
    seed: int,
    folder: str,
    jobs: int,
    as_json: bool,
) -> None:
    """Decide which algorithm each COLLECTIVE gets, by measuring and by simulation, and write it as rules."""
    plan = plan_of(_collectives(collectives), ranks, sizes or usual_sizes())
    model = (
        None if machine is None else Simulated(machine, replace(asked_trials(trials, seed, None, machine), threads=1))
    )
    if model is not None and not (mpi or mpicc or mpiexec or hosts):
        work: _Work = _Simulation(model, jobs)
    else:
        installation = found_installation(mpi, mpicc, mpiexec)
        measured = Measured(installation, tolerance, on_hosts(hosts), model, factor, checks=check)
        work = _Measurement(measured, hosts, limit_s)
    if check:
        _check(plan, work, folder, as_json)
        return
    with Records(Path(folder) / _RECORDS, {**work.about, **_fixed(machine)}) as records:
        if not as_json:
            click.echo(f"{_announced(plan)}: {work.announced(plan)}")
        plan = _followed(plan, work, records, tolerance)
        tuning = concluded(plan, records, work.about, tolerance)
    _write(tuning, Path(folder))
    if as_json:
        print_json({**tuning.as_dict(), "folder": folder, "version": version()})
    else:
        _print(tuning, folder)


def _check(plan: Plan, work: _Work, folder: str, as_json: bool) -> None:
    """Measure defaults, and say which guidelines they do not keep."""
    with Records(Path(folder) / _CHECKED, {**work.about, **_fixed(None)}) as records:
        if not as_json:
            click.echo(f"{format_count(len(plan.training), 'call')}: {work.announced(plan)}")
        work.do(plan.training, (), records)
        done = [records.found[point] for point in plan.training]
    found = violations(done)
    undecided = sum(not one.is_decided for one in done)
    entry = {**work.about, "calls": len(done), "undecided": undecided, "violations": [one.as_dict() for one in found]}
    files.write(Path(folder) / _GUIDELINES, json.dumps({**entry, "version": version()}, indent=2) + "\n")
    if as_json:
        print_json({**entry, "folder": folder, "version": version()})
        return
    click.echo(f"the default is slower, beyond the noise, than what should be no faster: {len(found)}")
    for one in found:
        click.echo(f"  {one}")
    if undecided:
        click.echo(f"not known well enough in the time: {undecided} of {len(done)} calls")
    click.echo(f"guidelines and measurements: {folder}/")


def _followed(plan: Plan, work: _Work, records: Records, tolerance: float) -> Plan:
    """Find the times of a plan's points, and of more where choices change; return the plan with these."""
    work.do(plan.training, (), records, share=_OF_TRAINING)
    while more := refined(plan, records, tolerance):
        work.do(more, plan.training, records, share=_OF_CHANGES)
        plan = plan.with_points(more)
    work.do(plan.held_out, plan.training, records)
    return plan


class _Work(Protocol):
    """What finds times."""

    @property
    def about(self) -> dict[str, Any]:
        """Where the times are from."""

    def announced(self, plan: Plan) -> str:
        """Return what it will take."""

    def do(self, points: Sequence[Point], neighbors: Sequence[Point], records: Records, *, share: float = 1.0) -> None:
        """Find the times of points between neighbours, if they have some, in a share of the time that is left."""


@dataclass(frozen=True)
class _Simulation:
    by: Simulated
    jobs: int

    @property
    def about(self) -> dict[str, Any]:
        trials = {"trials": self.by.trials.count, "seed": self.by.trials.seed} if self.by.machine.noise else {}
        return {"machine": self.by.machine.name, **trials}

    def announced(self, plan: Plan) -> str:
        return f"simulated on {self.by.machine.name}"

    def do(self, points: Sequence[Point], neighbors: Sequence[Point], records: Records, *, share: float = 1.0) -> None:
        with workers(self.jobs) as executor, progress("simulating", len(points)) as on_done:
            simulate_points(points, self.by, records, executor=executor, on_done=on_done)


@dataclass(frozen=True)
class _Measurement:
    by: Measured
    hosts: str | None
    limit_s: float
    begun_s: float = field(default_factory=monotonic)

    @property
    def about(self) -> dict[str, Any]:
        machine = {} if self.by.model is None else {"machine": self.by.model.machine.name, "factor": self.by.factor}
        return {"mpi": self.by.installation.library, "hosts": self.hosts or "this host", **machine}

    def announced(self, plan: Plan) -> str:
        note = note_for_root(self.by.installation)
        if note is not None:
            click.echo(f"hocket: {note}", err=True)
        counts = format_ranks({point.ranks for point in plan.training})
        return f"measured under {self.by.installation.library} on {counts} ranks, in {_minutes(self.limit_s)} at most"

    def do(self, points: Sequence[Point], neighbors: Sequence[Point], records: Records, *, share: float = 1.0) -> None:
        left_s = max(self.begun_s + self.limit_s - monotonic(), 0.0)
        with progress("measuring", len(points)) as on_done:
            measure_points(points, neighbors, self.by, records, limit_s=share * left_s, on_done=on_done)


def _minutes(time_s: float) -> str:
    return f"{time_s / 60:.3g} min" if time_s >= 60 else f"{time_s:.3g} s"


def _fixed(machine: Machine | None) -> dict[str, Any]:
    """Return what measurements depend on besides: the version, and what the machine's file says."""
    digest = {} if machine is None else {"digest": hashlib.sha256(machine.text.encode()).hexdigest()[:16]}
    return {**digest, "version": version()}


def _collectives(names: Sequence[str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(map(find_collective, names))) or COLLECTIVES
    for name in found:
        if name not in COLLECTIVES:
            raise Error(f"{name} is not tuned, expected some of {', '.join(COLLECTIVES)}")
    return found


def _announced(plan: Plan) -> str:
    judging = format_count(len(plan.held_out), "other")
    calls = f"{format_count(len(plan.training), 'call')} to decide from, {judging} to judge the decisions"
    return f"{calls}, more where these change"


def _write(tuning: Tuning, folder: Path) -> None:
    files.write(folder / _RULES, rules_file(tuning, version()))
    files.write(folder / _DECISIONS, json.dumps({**tuning.as_dict(), "version": version()}, indent=2) + "\n")
    files.write(folder / _REPORT, markdown(tuning))


def _print(tuning: Tuning, folder: str) -> None:
    click.echo(rules_of(tuning.decisions))
    for line in _judged(tuning):
        click.echo(line)
    click.echo(f"rules, decisions, report and measurements: {folder}/")


def _judged(tuning: Tuning) -> list[str]:
    lines: list[Any] = []
    if tuning.undecided:
        left = f"{tuning.undecided} of {len(tuning.found)} calls were left to the MPI or to what seemed fastest"
        lines.append(f"{left}: the time was over before their times were known well enough")
    if tuning.regret is not None:
        middle, worst = tuning.regret
        sizes = format_count(len(tuning.regrets), "held-out call")
        lines.append(f"regret at {sizes}: median {middle:.1%}, worst {worst:.1%}")
    slower = [one for one in tuning.regrets if one.is_slower_than_default]
    lines += [f"slower than the default beyond the noise: {one.point}: {one.choice}" for one in slower]
    return lines
