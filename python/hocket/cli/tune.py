"""`hocket tune`: rules for collectives, from measurements and simulations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from hocket._native import Error
from hocket.base import files
from hocket.base.executors import ExecutorKind, open_executor
from hocket.base.parallel import workers
from hocket.base.units import format_count, format_time
from hocket.base.version import VERSION
from hocket.cli import options
from hocket.cli.effort import announce
from hocket.cli.mpi.options import command, found_installation, launcher_for
from hocket.cli.output import answer, print_facts, print_json, print_table, progress, with_version
from hocket.cli.printing import note, say
from hocket.cli.trials import asked_trials
from hocket.cli.values import Read, factor
from hocket.definitions.machine import Machine
from hocket.rules.choosing import order_is_fixed as has_fixed_order
from hocket.rules.choosing import rules_text
from hocket.rules.tuning_files.activation import environment_of, parameters_text
from hocket.rules.tuning_files.counterparts import Library, library_of
from hocket.traces import load
from hocket.tuning.candidates import USUAL_SIZES
from hocket.tuning.choice import DEFAULT
from hocket.tuning.exporting import PARAMETERS_FILE, file_name
from hocket.tuning.measuring import Measured, of_guidelines, of_the_catalogue
from hocket.tuning.planning import Plan, plan_of, tuned_collectives
from hocket.tuning.report import RULES_FILE, Tuning, order_cost
from hocket.tuning.simulating import NOISY_TRIALS, Simulated, usual_trials
from hocket.tuning.tracing import Application, Effect, Gain, TracedTuning, fewest_rules, propose, traced_calls
from hocket.tuning.tune import GuidelineCheck, check_defaults, run_plan
from hocket.tuning.work import ByMeasurement, BySimulation, Work


@command(
    fields={"noisy_trials": NOISY_TRIALS},
    factor=factor("a number above 1", lambda factor: factor > 1),
    library=Read(library_of, name="LIBRARY"),
    measuring=("mpi", "mpicc", "launcher", "hosts", "lab"),
)
def tune(
    collectives: tuple[str, ...],
    ranks: tuple[int, ...] | None,
    sizes: tuple[int, ...] | None,
    machine: Machine | None,
    factor: float,
    library: Library | None,
    order: Literal["any", "fixed"],
    measuring: dict[str, str | None],
    limit_s: float,
    tolerance: float,
    check: bool,
    measured: tuple[str, ...],
    measured_algorithm: tuple[str, ...],
    trace: str | None,
    baseline: str | None,
    threshold: float,
    trials: int | None,
    seed: int,
    output: str | None,
    executor: ExecutorKind,
    jobs: int,
    yes: bool,
    as_json: bool,
) -> None:
    """Choose algorithms for each COLLECTIVE, by measurement or simulation or both, and write them as rules."""
    folder = output or ""
    if not check:
        folder = options.required(output, "--output", "the folder of the results")
    names = tuned_collectives(collectives)
    mpi, mpicc, launcher, hosts, lab = measuring.values()
    is_simulated = not any(measuring.values())
    if executor.name != "local" and (machine is None or trace or measured or not is_simulated):
        raise click.UsageError(f"--executor: got {executor.name}, expected --machine and no other source of times")
    if measured or measured_algorithm:
        finding = {"machine": machine, "library": library, "check": check, "trace": trace}
        _refuse(
            {**measuring, **finding, "baseline": baseline, "trials": trials}, "--measured, whose files have all times"
        )
        tuning = _tune_files(measured, measured_algorithm, names, ranks, sizes, tolerance, order)
        _write(tuning, folder, as_json)
        return
    if library is not None and (machine is None or not is_simulated):
        raise click.UsageError(f"--library: got {library.name}, expected --machine beside it and no option of an MPI")
    order_is_fixed = order == "fixed"
    if order_is_fixed and (library or check):
        raise click.UsageError(f"--order: got {order}, expected neither --library nor --check beside it")
    model = None
    if machine is not None:
        repeated = asked_trials(trials or usual_trials(machine).count, seed, None, machine)
        model = Simulated(machine, replace(repeated, threads=1), library.name if library else None, order_is_fixed)
    if trace is not None:
        calls = {"ranks": ranks, "sizes": sizes, "check": check}
        _refuse({**measuring, **calls}, "--trace, which tunes by simulation")
        evaluator = options.required(model, "--machine", "the machine of the replay")
        _tune_trace(trace, names, evaluator, baseline, tolerance, threshold, folder=folder, jobs=jobs, as_json=as_json)
        return
    if baseline is not None:
        raise click.UsageError(f"--baseline: got {baseline}, expected --trace beside it")
    numbers = options.required(ranks, "--ranks", "numbers of ranks")
    if model is not None and is_simulated:
        pool = click.get_current_context().with_resource(open_executor(executor, jobs=jobs, say=note))
        work: Work = BySimulation(model, pool, progress)
    else:
        installation = found_installation(mpi, mpicc, launcher)
        start, entered_lab = launcher_for(installation, hosts, lab)
        choices = of_guidelines if check else of_the_catalogue
        by_mpi = Measured(installation, tolerance, start, model, factor, choices, order_is_fixed)
        work = ByMeasurement(by_mpi, entered_lab.summary if entered_lab else hosts, limit_s, progress)
    plan = plan_of(names, numbers, sizes or USUAL_SIZES, confirms=work.confirms, order_is_fixed=order_is_fixed)

    def begin(plan: Plan) -> None:
        announce(work.efforts_s(plan.training), jobs=jobs, yes=yes)
        if not as_json:
            calls = format_count(len(plan.training), "call")
            if not check:
                judging = format_count(len(plan.judging), "other")
                calls += f" to decide, {judging} to judge the decisions, more calls where decisions change"
            say(f"{calls}: {work.announcement(plan.training)}")

    if check:
        _print_checked(check_defaults(plan, work, folder=folder, on_begin=begin), work, folder, as_json)
        return
    _write(run_plan(plan, work, tolerance, folder=folder, machine=machine, on_begin=begin), folder, as_json)


def _tune_files(
    files: Sequence[str],
    algorithms: Sequence[str],
    collectives: Sequence[str],
    ranks: Sequence[int] | None,
    sizes_bytes: Sequence[int] | None,
    tolerance: float,
    order: Literal["any", "fixed"],
) -> Tuning:
    """Decide from the times of files: of some collectives, and of some ranks and sizes if they are given."""
    from hocket.cli.measurements import read_measured
    from hocket.tuning.from_measurements import tune_measured

    # Files that do not tell their collective or their number of ranks are of the only one that is asked for.
    known_ranks = ranks[0] if ranks is not None and len(ranks) == 1 else None
    known_collective = collectives[0] if len(collectives) == 1 else None
    tunings = [
        one
        for one in read_measured(files, algorithms, collective=known_collective, ranks=known_ranks)
        if one.collective in collectives
        and (ranks is None or one.ranks in ranks)
        and (sizes_bytes is None or one.size_bytes in sizes_bytes)
    ]
    if not tunings:
        raise Error("--measured: got no time of the calls to tune, expected times of at least two algorithms")
    return tune_measured(tunings, tolerance=tolerance, order=order)


def _write(tuning: Tuning, folder: str, as_json: bool) -> None:
    """Write the files of a tuning, and print it."""
    files.make_folder(folder)
    tuning.write(folder)
    own = next((f"{folder}/{file_name(each)}" for each in tuning.own_files), None)
    entry = {**tuning.as_dict(), "own_file": own, "own_settings": tuning.own_settings(folder), "folder": folder}
    answer(with_version(entry), _print, tuning, folder, as_json=as_json)


def _refuse(values: Mapping[str, object], companion: str) -> None:
    """Refuse options that contradict another one."""
    for name, value in values.items():
        if value:
            raise click.UsageError(f"--{name}: cannot be combined with {companion}")


def _print_checked(check: GuidelineCheck, work: Work, folder: str, as_json: bool) -> None:
    """Print the guidelines that the defaults violate, and write them into the folder, if there is one."""
    entry = with_version({**work.about, **check.as_dict()})
    if folder:
        files.write(Path(folder) / "guidelines.json", json.dumps(entry, indent=2) + "\n")
    if as_json:
        print_json({**entry, "folder": folder or None})
        return
    say(f"guidelines that the default violates beyond the noise: {len(check.violations)}")
    for one in check.violations:
        say(f"  {one}")
    if check.undecided_calls:
        say(f"undecided within the time limit: {check.undecided_calls} of {check.calls} calls")
    if check.left_out:
        say(f"not measured within the time limit: {format_count(check.left_out, 'call')}")
    if folder:
        say(f"guidelines and measurements: {folder}/")


def _print(tuning: Tuning, folder: str) -> None:
    say(tuning.rules)
    _print_judgement(tuning)
    is_read = "measured" in tuning.about
    contents = "rules, decisions and report" if is_read else "rules, decisions, report and measurements"
    say(f"{contents}: {folder}/")
    if tuning.own_files:
        settings = tuning.own_settings(folder)
        say(f"the MPI's own tuning file, which needs no preloading: {environment_of(settings)}")
        if parameters_text(settings):
            say(f"the same as parameters of Open MPI: {folder}/{PARAMETERS_FILE}")
    library = tuning.about.get("library")
    if library is not None and any(one.choice != DEFAULT for one in tuning.decisions):
        say(f"for {library} itself: hocket rules convert {folder}/{RULES_FILE} FILE --to {library}")


def _print_judgement(tuning: Tuning) -> None:
    if tuning.undecided_points:
        sentence = f"{tuning.undecided_points} of {len(tuning.records)} calls are undecided within the time limit"
        say(f"{sentence}: the MPI, or the choice that seemed fastest, runs them")
    if tuning.left_out:
        runs = "rules for other sizes, or the MPI, run them" if tuning.order_is_fixed else "the MPI runs them"
        say(f"{format_count(tuning.left_out, 'call')} not measured within the time limit: {runs}")
    if tuning.regret is not None:
        middle, worst = tuning.regret
        sizes = format_count(len(tuning.regrets), "held-out call")
        number_beyond = sum(one.is_beyond_noise for one in tuning.regrets)
        noise = f", beyond the noise at {number_beyond}" if tuning.judging_noise else ""
        one = max(tuning.regrets, key=lambda regret: regret.share)
        where = f" ({one.point}: {one.choice}, the fastest is {one.best})" if one.share > 0 else ""
        say(f"regret at {sizes}: median {middle:.1%}, worst {worst:.1%}{where}{noise}")
    else:
        is_read = "measured" in tuning.about
        limits = "the time limit was reached, or there is only one size"
        reason = "all times were used for deciding" if is_read else limits
        say(f"no held-out call judges the decisions: {reason}")
    if tuning.order_over_default is not None:
        say(order_cost(tuning.order_over_default))
    for one in tuning.regrets:
        if one.is_slower_than_default:
            say(f"slower than the default beyond the noise: {one.point}: {one.choice}")


def _tune_trace(
    file: str,
    collectives: Sequence[str],
    evaluator: Simulated,
    baseline: str | None,
    tolerance: float,
    threshold: float,
    *,
    folder: str,
    jobs: int,
    as_json: bool,
) -> None:
    """Decide for the calls of a trace, and write the rules."""
    rules = "" if baseline is None else rules_text(baseline)
    name = baseline or "baseline"
    is_fixed = evaluator.order_is_fixed or has_fixed_order(rules, name)
    settings = replace(evaluator, order_is_fixed=is_fixed)
    application = Application(load(file, compares_ranks=False), settings, rules, name)
    before = application.replay([])
    calls = traced_calls(application.trace, collectives)
    if not calls:
        raise Error(f"{file}: has no calls of the collectives to tune, expected some of {', '.join(collectives)}")
    with workers(jobs) as executor, progress("simulating", len(calls)) as on_done:
        proposals = propose(calls, application, tolerance, executor=executor, on_done=on_done)
    replays = len(proposals) * (len(proposals) + 1) // 2
    with workers(jobs) as executor, progress("replaying", replays) as on_done:
        tuning = fewest_rules(proposals, application, before, threshold, executor=executor, on_done=on_done)
    entry = {
        "trace": file,
        "machine": evaluator.machine.name,
        "baseline": baseline or "replay",
        "order": "fixed" if is_fixed else "any",
        "tolerance": tolerance,
        "threshold": threshold,
        "calls": sum(call.calls for call in calls),
        "points": len(calls),
        **tuning.as_dict(),
        "version": VERSION,
    }
    files.make_folder(folder)
    source = ", ".join(f"{name} {entry[name]}" for name in ("trace", "machine", "baseline", "order"))
    head = f"# By hocket tune {VERSION}: {source}.\n"
    files.write(Path(folder) / RULES_FILE, head + application.complete(tuning.rules))
    files.write(Path(folder) / "decisions.json", json.dumps(entry, indent=2) + "\n")
    answer({**entry, "folder": folder}, _print_traced, entry, tuning, folder, as_json=as_json)


def _print_traced(entry: dict[str, Any], tuning: TracedTuning, folder: str) -> None:
    before = tuning.baseline
    say(f"{before.program}, {format_count(before.ranks, 'rank')}, machine {before.machine}", bold=True)
    facts = [
        ("collectives", f"{entry['calls']} calls of {format_count(entry['points'], 'kind')}"),
        ("baseline", f"{format_time(before.time_s.mean)}, rules: {entry['baseline']}"),
        *([("order", "fixed, of the baseline too")] if entry["order"] == "fixed" else []),
        ("all rules", f"{format_time(tuning.all_rules.time_s.mean)}, {format_count(len(tuning.effects), 'rule')}"),
        ("the few", f"{format_time(tuning.few_rules.time_s.mean)}, {_gain_text(tuning.gain, before.time_s.mean)}"),
    ]
    if before.trials > 1:
        facts.append(("trials", f"{before.trials}, seed {before.seed}; intervals are of the mean (95 %)"))
    print_facts(facts)
    if tuning.effects:
        rows = [_row(one, before.time_s.mean) for one in tuning.effects]
        print_table(["rule", "calls", "gain", ""], rows, right=["calls"])
    say(f"rules and decisions: {folder}/")


def _row(one: Effect, whole_s: float) -> list[str]:
    verdict = "kept" if one.is_kept else "left out"
    return [one.proposal.rule.replace("\n", "; "), str(one.proposal.calls), _gain_text(one.gain, whole_s), verdict]


def _gain_text(gain: Gain, whole_s: float) -> str:
    """Return a gain as a share of the run's time, with its interval if there is one."""
    share, low, high = ((time_s / whole_s if whole_s else 0.0) for time_s in (gain.mean_s, gain.low_s, gain.high_s))
    return f"{share:.2%}" if low == high else f"{share:.2%} ({low:.2%} to {high:.2%})"
