"""`hocket tune --trace`: the few rules that matter to one application."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hocket._native import Error
from hocket.base import files
from hocket.base.parallel import workers
from hocket.base.units import format_count, format_time
from hocket.base.version import VERSION
from hocket.cli.output import answer, print_facts, print_table, progress
from hocket.cli.printing import say
from hocket.rules.choosing import order_is_fixed as has_fixed_order
from hocket.rules.choosing import rules_text
from hocket.traces import load
from hocket.tuning.simulating import Simulated
from hocket.tuning.tracing import Application, Effect, Gain, TracedTuning, fewest_rules, propose, traced_calls


def tune_trace(
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
    files.write(Path(folder) / "hocket.rules", head + application.complete(tuning.rules))
    files.write(Path(folder) / "decisions.json", json.dumps(entry, indent=2) + "\n")
    answer({**entry, "folder": folder}, _print, entry, tuning, folder, as_json=as_json)


def _print(entry: dict[str, Any], tuning: TracedTuning, folder: str) -> None:
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
