"""`hocket tune`: rules for collectives, from measurements and simulations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Protocol

import click

from hocket.base import files
from hocket.base.parallel import workers
from hocket.base.units import format_count, format_ranks, parse_duration, parse_ranks, parse_share
from hocket.base.version import version
from hocket.cli import completion
from hocket.cli.mpi.options import found_installation
from hocket.cli.options import (
    OneOf,
    Read,
    as_json_option,
    jobs_option,
    required,
    seed_option,
    sizes_option,
    tolerance_option,
)
from hocket.cli.output import print_json, progress
from hocket.cli.trials import asked_trials
from hocket.cli.tune_trace import tune_trace
from hocket.definitions.machine import Machine
from hocket.mpi.installation import KINDS
from hocket.mpi.launch import note_for_root, on_hosts
from hocket.rules.tuning_files.counterparts import Library, library_of
from hocket.tuning.candidates import usual_sizes
from hocket.tuning.choice import DEFAULT, Choice, Point, rules_of
from hocket.tuning.exporting import Exporter, exporter_for
from hocket.tuning.guidelines import violations
from hocket.tuning.measuring import MOMENTS, Measured, measure_points, number_of_choices, pair_points
from hocket.tuning.pairing import nominated, rivals
from hocket.tuning.planning import Plan, concluded, decided, plan_of, refined, tuned_collectives, unsettled
from hocket.tuning.records import Found, Records
from hocket.tuning.report import Tuning, markdown, rules_file
from hocket.tuning.simulating import Simulated, simulate_points

__all__ = ["tune"]

_RECORDS, _RULES, _DECISIONS, _REPORT = "measurements.jsonl", "hocket.rules", "decisions.json", "report.md"
_TRAINED, _REFINED, _CONFIRMED, _RACED, _JUDGED = 0.35, 0.45, 0.72, 0.85, 1.0
"""When stages end, as shares of the time: first points, more where choices change, confirming, held-out, judging."""
_CHECKED, _GUIDELINES = "guidelines.jsonl", "guidelines.json"
_NOISY_TRIALS = 64


@click.command()
@click.argument("collectives", nargs=-1, metavar="[COLLECTIVE]...", shell_complete=completion.collectives)
@click.option("--ranks", "-n", type=Read(parse_ranks, name="LIST"), help="Numbers of ranks, such as 2 or 2,4,8.")
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
@click.option(
    "--library",
    type=Read(library_of, name="LIBRARY"),
    help="With --machine alone: try only what this library has, such as openmpi-5.0, mpich, ucc or nccl.",
)
@click.option("--mpi", type=OneOf(list(KINDS)), help="An MPI of this kind, of those on the path.")
@click.option("--mpicc", help="The compiler wrapper of the MPI; by default the first on the path.")
@click.option("--mpiexec", help="Its launcher; by default the one beside the wrapper.")
@click.option("--hosts", help="The hosts of the ranks, separated by commas; by default this one.")
@click.option(
    "--time-limit",
    "limit_s",
    type=Read(parse_duration, name="TIME"),
    default="30m",
    show_default=True,
    help="How long to measure, such as 90s, 30m or 2h; calls without a turn in it are left to the MPI.",
)
@tolerance_option
@click.option("--check", is_flag=True, help="Test the defaults of an MPI against guidelines instead of deciding.")
@click.option("--trace", type=click.Path(), help="Decide for the calls of this traced program, by replaying it.")
@click.option(
    "--baseline",
    type=click.Path(),
    help="With --trace: rules that it is compared with, a file, or mpich-5 or openmpi-5; otherwise those of a replay.",
)
@click.option(
    "--threshold",
    type=Read(parse_share, name="SHARE"),
    default="1%",
    show_default=True,
    help="With --trace: the share of the gain that may be lost by leaving out rules.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    show_default=f"1, or {_NOISY_TRIALS} on a machine with noise",
    help="How often to simulate on a machine with noise.",
)
@seed_option
@click.option(
    "--output",
    "-o",
    type=Read(files.writable_folder, name="DIR"),
    help="Folder of the results; --check needs none.",
)
@jobs_option
@as_json_option
def tune(
    collectives: tuple[str, ...],
    ranks: tuple[int, ...] | None,
    sizes: tuple[int, ...] | None,
    machine: Machine | None,
    factor: float,
    library: Library | None,
    mpi: str | None,
    mpicc: str | None,
    mpiexec: str | None,
    hosts: str | None,
    limit_s: float,
    tolerance: float,
    check: bool,
    trace: str | None,
    baseline: str | None,
    threshold: float,
    trials: int | None,
    seed: int,
    output: str | None,
    jobs: int,
    as_json: bool,
) -> None:
    """Decide which algorithm each COLLECTIVE gets, by measuring and by simulation, and write it as rules."""
    folder = "" if check and output is None else required(output, "--output", "the folder of the results")
    names = tuned_collectives(collectives)
    is_simulated = not (mpi or mpicc or mpiexec or hosts)
    if library is not None and (machine is None or not is_simulated):
        raise click.UsageError(f"--library: got {library.name}, expected it beside --machine, without an MPI")
    model = None if machine is None else _simulated(machine, trials, seed, library)
    if trace is not None:
        _only_simulates(ranks=ranks, sizes=sizes, mpi=mpi, mpicc=mpicc, mpiexec=mpiexec, hosts=hosts, check=check)
        by = required(model, "--machine", "what the trace is replayed on")
        tune_trace(trace, names, by, baseline, tolerance, threshold, folder=folder, jobs=jobs, as_json=as_json)
        return
    if baseline is not None:
        raise click.UsageError(f"--baseline: got {baseline}, expected it beside --trace")
    numbers = required(ranks, "--ranks", "numbers of ranks")
    if model is not None and is_simulated:
        work: _Work = _Simulation(model, jobs)
    else:
        installation = found_installation(mpi, mpicc, mpiexec)
        measured = Measured(installation, tolerance, on_hosts(hosts), model, factor, checks=check)
        work = _Measurement(measured, hosts, limit_s)
    plan = plan_of(names, numbers, sizes or usual_sizes(), confirms=work.confirms)
    if check:
        _check(plan, work, folder, as_json)
        return
    with Records(Path(folder) / _RECORDS, {**work.about, **_fixed(machine)}) as records:
        if not as_json:
            click.echo(f"{_announced(plan)}: {work.announced(plan)}")
        asked, plan = plan, _followed(plan, work, records, tolerance)
        tuning = concluded(plan, records, work.about, tolerance, left_out=len({*asked.training} - {*plan.training}))
    own = _write(tuning, Path(folder), work.exporter)
    if as_json:
        print_json({**tuning.as_dict(), "own_file": own, "folder": folder, "version": version()})
    else:
        _print(tuning, folder)
        if own is not None and work.exporter is not None:
            taken = " ".join(work.exporter.variables).replace("=FILE", f"={own}")
            click.echo(f"the MPI's own tuning file, which needs no preloading: {taken}")
        if library is not None and any(one.choice != DEFAULT for one in tuning.decisions):
            rules = Path(folder) / _RULES
            click.echo(f"for {library.name} itself: hocket rules convert {rules} FILE --to {library.name}")


def _simulated(machine: Machine, trials: int | None, seed: int, library: Library | None) -> Simulated:
    count = trials or (_NOISY_TRIALS if machine.noise else 1)
    repeated = replace(asked_trials(count, seed, None, machine), threads=1)
    return Simulated(machine, repeated, library.name if library else None)


def _only_simulates(**given: object) -> None:
    """Refuse options that say what the trace says, or that ask for measurements."""
    for name, value in given.items():
        if value:
            raise click.UsageError(f"--{name}: cannot stand beside --trace, whose calls are tuned by simulation")


def _check(plan: Plan, work: _Work, folder: str, as_json: bool) -> None:
    """Measure defaults, and say which guidelines they do not keep; without a folder nothing is kept."""
    about = {**work.about, **_fixed(None)}
    with TemporaryDirectory() as passing, Records(Path(folder or passing) / _CHECKED, about) as records:
        if not as_json:
            click.echo(f"{format_count(len(plan.training), 'call')}: {work.announced(plan)}")
        work.do(plan.training, (), records, until=_JUDGED)
        done = [records.found[point] for point in plan.training if point in records.found]
    found = violations(done)
    undecided = sum(not one.is_decided for one in done)
    left_out = len(plan.training) - len(done)
    entry = {
        **work.about,
        "calls": len(done),
        "left_out": left_out,
        "undecided": undecided,
        "violations": [one.as_dict() for one in found],
    }
    if folder:
        files.write(Path(folder) / _GUIDELINES, json.dumps({**entry, "version": version()}, indent=2) + "\n")
    if as_json:
        print_json({**entry, "folder": folder or None, "version": version()})
        return
    click.echo(f"the default is slower, beyond the noise, than what should be no faster: {len(found)}")
    for one in found:
        click.echo(f"  {one}")
    if undecided:
        click.echo(f"not known well enough in the time: {undecided} of {len(done)} calls")
    if left_out:
        click.echo(f"not measured, since the time was over: {format_count(left_out, 'call')}")
    if folder:
        click.echo(f"guidelines and measurements: {folder}/")


def _followed(plan: Plan, work: _Work, records: Records, tolerance: float) -> Plan:
    """Find the times of a plan's points, and of more where choices change; confirm and judge; return the whole plan."""
    work.do(plan.training, (), records, until=_TRAINED)
    plan = Plan((), (), plan.confirms).with_points(point for point in plan.training if point in records.found)
    while more := refined(plan, records, tolerance):
        work.do(more, plan.training, records, until=_REFINED, share=0.5)
        plan = plan.with_points(point for point in more if point in records.found)
        if not records.found.keys() >= set(more):
            break
    can_be = work.exporter.can_name if work.exporter else _anything
    work.pair(nominated(_found(plan, records), tolerance, can_be), records, until=_CONFIRMED)
    while work.confirms and (more := unsettled(plan, records, tolerance)):
        work.do(more, plan.training, records, until=_CONFIRMED, share=0.2)
        plan = plan.with_points(more)
        work.pair(nominated(_found(plan, records), tolerance, can_be), records, until=_CONFIRMED)
    decisions = decided(plan, records, tolerance)
    work.do(plan.held_out, plan.training, records, until=_RACED)
    judged = [records.found[point] for point in plan.held_out if point in records.found]
    work.pair({one.point: rivals(one, decisions) for one in judged}, records, until=_JUDGED, keeps_slow=True)
    return plan


def _found(plan: Plan, records: Records) -> list[Found]:
    return [records.found[point] for point in plan.training]


def _anything(_: Point, __: Choice) -> bool:
    return True


class _Work(Protocol):
    """What finds times."""

    @property
    def about(self) -> dict[str, Any]:
        """Where the times are from."""

    @property
    def confirms(self) -> bool:
        """Whether decisions are confirmed beside the MPI's default."""

    @property
    def exporter(self) -> Exporter | None:
        """What writes the MPI's own tuning file, if there is an MPI that has one."""

    def announced(self, plan: Plan) -> str:
        """Return what it will take."""

    def do(
        self,
        points: Sequence[Point],
        neighbors: Sequence[Point],
        records: Records,
        *,
        until: float,
        share: float = 1.0,
    ) -> None:
        """Find the times of points between neighbours, if they have some, in a share of the time until then.

        Points may be left out when the time is over.
        """

    def pair(
        self, wanted: Mapping[Point, Sequence[Choice]], records: Records, *, until: float, keeps_slow: bool = False
    ) -> None:
        """Measure choices beside the default, until then; to judge, those that turn out slow as often as the others."""


@dataclass(frozen=True)
class _Simulation:
    by: Simulated
    jobs: int

    @property
    def about(self) -> dict[str, Any]:
        trials = {"trials": self.by.trials.count, "seed": self.by.trials.seed} if self.by.machine.noise else {}
        library = {} if self.by.library is None else {"library": self.by.library}
        return {"machine": self.by.machine.name, **library, **trials}

    confirms: bool = False
    exporter: None = None

    def announced(self, plan: Plan) -> str:
        of_library = "" if self.by.library is None else f", what {self.by.library} has"
        return f"simulated on {self.by.machine.name}{of_library}"

    def pair(
        self, wanted: Mapping[Point, Sequence[Choice]], records: Records, *, until: float, keeps_slow: bool = False
    ) -> None:
        """Do nothing: simulated times are exact."""

    def do(self, points: Sequence[Point], neighbors: Sequence[Point], records: Records, **_: Any) -> None:
        with workers(self.jobs) as executor, progress("simulating", len(points)) as on_done:
            simulate_points(points, self.by, records, executor=executor, on_done=on_done)


@dataclass(frozen=True)
class _Measurement:
    by: Measured
    hosts: str | None
    limit_s: float
    begun_s: float = field(default_factory=monotonic)
    confirms: bool = True

    @property
    def about(self) -> dict[str, Any]:
        machine = {} if self.by.model is None else {"machine": self.by.model.machine.name, "factor": self.by.factor}
        return {"mpi": self.by.installation.library, "hosts": self.hosts or "this host", **machine}

    def announced(self, plan: Plan) -> str:
        note = note_for_root(self.by.installation)
        if note is not None:
            click.echo(f"hocket: {note}", err=True)
        counts = format_ranks({point.ranks for point in plan.training})
        most = max(number_of_choices(point, self.by) for point in _smallest(plan.training))
        where = f"measured under {self.by.installation.library} on {counts} ranks, in {_minutes(self.limit_s)} at most"
        raced_s, confirmed_s = self.limit_s * _REFINED, self.limit_s * (_CONFIRMED - _REFINED)
        judged_s = self.limit_s * (_JUDGED - _CONFIRMED)
        stages = f"{_minutes(raced_s)} of races, {_minutes(confirmed_s)} to confirm, {_minutes(judged_s)} to judge"
        return f"{where}: {stages}; up to {most} algorithms with parameters, besides the MPI's own"

    @cached_property
    def exporter(self) -> Exporter | None:
        return exporter_for(self.by.installation.library)

    def do(
        self,
        points: Sequence[Point],
        neighbors: Sequence[Point],
        records: Records,
        *,
        until: float,
        share: float = 1.0,
    ) -> None:
        limit_s = share * self._left_s(until)
        with progress("measuring", len(points)) as on_done:
            measure_points(points, neighbors, self.by, records, limit_s=limit_s, on_done=on_done)

    def pair(
        self, wanted: Mapping[Point, Sequence[Choice]], records: Records, *, until: float, keeps_slow: bool = False
    ) -> None:
        with progress("beside the default", MOMENTS * len(wanted)) as on_done:
            limit_s = self._left_s(until)
            pair_points(wanted, self.by, records, limit_s=limit_s, keeps_slow=keeps_slow, on_done=on_done)

    def _left_s(self, until: float) -> float:
        return max(self.begun_s + until * self.limit_s - monotonic(), 0.0)


def _smallest(points: Sequence[Point]) -> list[Point]:
    """Return the point of the smallest size for each collective and number of ranks."""
    first: dict[tuple[str, int], Point] = {}
    for point in sorted(points):
        first.setdefault((point.collective, point.ranks), point)
    return list(first.values())


def _minutes(time_s: float) -> str:
    return f"{time_s / 60:.3g} min" if time_s >= 60 else f"{time_s:.3g} s"


def _fixed(machine: Machine | None) -> dict[str, Any]:
    """Return what measurements depend on besides: the version, and what the machine's file says."""
    digest = {} if machine is None else {"digest": hashlib.sha256(machine.text.encode()).hexdigest()[:16]}
    return {**digest, "version": version()}


def _announced(plan: Plan) -> str:
    judging = format_count(len(plan.held_out), "other")
    calls = f"{format_count(len(plan.training), 'call')} to decide from, {judging} to judge the decisions"
    return f"{calls}, more where these change"


def _write(tuning: Tuning, folder: Path, exporter: Exporter | None) -> str | None:
    """Write the results; return the MPI's own tuning file, if there is something to tell."""
    decisions = json.dumps({**tuning.as_dict(), "version": version()}, indent=2) + "\n"
    texts = {_RULES: rules_file(tuning, version()), _DECISIONS: decisions, _REPORT: markdown(tuning)}
    own = None if exporter is None else exporter.text(tuning.own)
    if exporter is not None and own is not None:
        texts[exporter.file_name] = own
    files.write_all({str(folder / name): text for name, text in texts.items()})
    if exporter is None:
        return None
    path = folder / exporter.file_name
    if own is None:
        path.unlink(missing_ok=True)
        return None
    return str(path)


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
    if tuning.left_out:
        lines.append(f"{format_count(tuning.left_out, 'call')} left to the MPI: the time was over before their turn")
    if tuning.regret is not None:
        middle, worst = tuning.regret
        sizes = format_count(len(tuning.regrets), "held-out call")
        beyond = sum(one.is_beyond_noise for one in tuning.regrets)
        noise = f", beyond the noise at {beyond}" if tuning.judging_noise else ""
        lines.append(f"regret at {sizes}: median {middle:.1%}, worst {worst:.1%}{noise}")
    else:
        lines.append("no held-out call judges the decisions: the time was over, or there is only one size")
    slower = [one for one in tuning.regrets if one.is_slower_than_default]
    lines += [f"slower than the default beyond the noise: {one.point}: {one.choice}" for one in slower]
    return lines
