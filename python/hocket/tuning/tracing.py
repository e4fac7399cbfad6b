"""Rules for one application: proposed for the calls of its trace, judged by replays, reduced to the important ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from hocket._native import Error
from hocket.base import checks
from hocket.base.call import Call
from hocket.base.parallel import do_all, ignore
from hocket.definitions.library import COLLECTIVES, COLLECTIVES_OF_KNOWN_SIZE, find_collective
from hocket.rules.choosing import choose, order_is_fixed
from hocket.simulating.replays import DEFAULT_RULES, Replay, replay
from hocket.simulating.simulation import Statistics
from hocket.traces import Trace
from hocket.traces.functions import FUNCTIONS, Kind
from hocket.tuning.candidates import order_of
from hocket.tuning.choice import DEFAULT, Choice, Point, needs_one_order, rules_of
from hocket.tuning.deciding import Times, decide, in_one_order
from hocket.tuning.simulating import Simulated, choices_of_rows, predicted

_FIXED = "order = fixed\n"
_USUAL_IN_FIXED_ORDER = """\
allreduce[size=..2KiB]: recursive_doubling
allreduce: rabenseifner
exscan: doubling_123
reduce: binomial
reduce_scatter: pairwise
scan: recursive_doubling
"""
"""Rules for reductions like `DEFAULT_RULES`, but with a fixed order."""


@dataclass(frozen=True)
class Application:
    """A trace, and how it is replayed without proposed rules."""

    trace: Trace
    # The machine, and the number of trials if it has noise. If results of reductions must not depend on the size, a
    # reduction on a number of ranks gets the rules for all its sizes, or none.
    settings: Simulated
    baseline: str = ""  # rules for the calls that no proposed rule decides; they come before `DEFAULT_RULES`
    baseline_name: str = "baseline"  # the name of these rules in error messages

    def replay(self, rules: Iterable[str]) -> Replay:
        """Replay the trace with rules, which come before the baseline."""
        texts = {"proposed rules": "\n".join(rules), self.baseline_name: self.baseline}
        if self.settings.order_is_fixed:
            texts[self.baseline_name] += f"\n{_FIXED}"
            texts["rules with a fixed order"] = _USUAL_IN_FIXED_ORDER
        return replay(self.trace, self.settings.machine, rules=texts, trials=self.settings.trials)

    def complete(self, rules: str) -> str:
        """Return rules as a program takes them: with a fixed order, all reductions must have rules."""
        return f"{_FIXED}{rules}\n{self.baseline}\n{_USUAL_IN_FIXED_ORDER}" if self.settings.order_is_fixed else rules

    def takes(self, rules: str) -> bool:
        """Return whether rules may come before the baseline; with a fixed order, not all may."""
        try:
            return order_is_fixed(self.complete(rules), "rules")
        except Error:
            return False


@dataclass(frozen=True)
class TracedCall:
    """Calls of a trace that rules cannot distinguish."""

    point: Point  # their collective, number of ranks, and size as rules see it
    is_started: bool  # whether they are nonblocking: nonblocking calls have their own rules
    example: Call  # the most frequent of these calls, with its root, its elements, and whether its operator commutes
    calls: int  # the number of calls; a call counts once for all ranks of a communicator


def traced_calls(trace: Trace, collectives: Iterable[str] = COLLECTIVES_OF_KNOWN_SIZE) -> tuple[TracedCall, ...]:
    """Return the calls of a trace to tune: of some collectives, on at least two ranks, in order."""
    names = frozenset(collectives)
    call_counts: dict[tuple[Point, bool], Counter[tuple[tuple[str, Any], ...]]] = defaultdict(Counter)
    for number, rank in enumerate(trace.ranks):
        for traced_call in rank.calls:
            function = FUNCTIONS[traced_call.function]
            if function.kind is not Kind.COLLECTIVE:
                continue
            collective = _COLLECTIVE_OF.get(function.blocking)
            members = rank.communicators[traced_call["comm"]].ranks
            root = traced_call.arguments.get("root", 0)
            if collective in names and len(members) > 1 and members[root] == number:
                size_bytes, element_bytes = _size(collective, traced_call.arguments, len(members))
                is_commutative = traced_call.arguments.get("commutative", True)
                fields = {"root": root, "element_bytes": element_bytes, "commutative": is_commutative}
                point = Point(collective, len(members), size_bytes)
                call_counts[point, function.is_started][tuple(fields.items())] += 1
    return tuple(
        TracedCall(
            point, is_started, Call(ranks=point.ranks, size_bytes=point.size_bytes, **dict(most)), counts.total()
        )
        for (point, is_started), counts in sorted(call_counts.items(), key=lambda one: one[0])
        for most, _ in counts.most_common(1)
    )


_COLLECTIVE_OF = {
    "MPI_Allgatherv": "allgather",
    **{
        name: find_collective(name.removeprefix("MPI_").lower())
        for name in {function.blocking for function in FUNCTIONS.values() if function.kind is Kind.COLLECTIVE}
        if name not in ("MPI_Allgatherv", "MPI_Alltoallw")
    },
}
"""The catalogue's collective for each blocking function."""


def _size(collective: str, arguments: Mapping[str, Any], ranks: int) -> tuple[int, int]:
    """Return the size of a call as rules see it, and its element size, both from its root or rank 0."""
    if not COLLECTIVES[collective].has_size:
        return 0, 1
    prefix = "recv_" if collective in ("allgather", "alltoall", "gather") else ""
    counts = arguments.get(f"{prefix}counts")
    element_bytes = arguments[f"{prefix}type_bytes"]
    if collective == "reduce_scatter":
        count = arguments["count"] * ranks if counts is None else sum(counts)
    else:
        count = arguments[f"{prefix}count"] if counts is None else counts[0]
    return count * element_bytes, max(element_bytes, 1)


@dataclass(frozen=True)
class Proposal:
    """A proposed rule, or several lines of rules in one order, and the number of calls of the trace they apply to."""

    rule: str
    calls: int


def propose(
    calls: Sequence[TracedCall],
    application: Application,
    tolerance: float,
    *,
    executor: Executor | None = None,
    on_done: Callable[[], object] = ignore,
) -> tuple[Proposal, ...]:
    """Return a rule for each range of ranks and sizes where the baseline is not good enough, judged call by call.

    For nonblocking calls, and for reductions in one order, the baseline's choice is not considered: rules without a
    gain are dropped later. The tolerance is the share by which a call may be slower than the fastest. `on_done` is
    called after each call. Ranks for which the machine has no room are refused.
    """
    examples = [(call.point, call.example) for call in calls]
    choices = choices_of_rows(examples, application.settings, executor)

    def times_of(call: TracedCall) -> Times:
        return _times(call, sorted(choices[call.point.row]), application)

    times = do_all(times_of, calls, executor=executor, on_done=lambda *_: on_done())
    in_one_order, others = list[tuple[TracedCall, Times]](), list[tuple[TracedCall, Times]]()
    for one in zip(calls, times, strict=True):
        is_of_order = needs_one_order(one[0].point.collective, application.settings.order_is_fixed)
        (in_one_order if is_of_order else others).append(one)
    proposals = [one for one in _proposed_in_one_order(in_one_order, tolerance) if application.takes(one.rule)]
    for is_started in (False, True):
        mine = [(call, times) for call, times in others if call.is_started is is_started]
        for decision in decide({call.point: times for call, times in mine}, tolerance):
            if decision.choice != DEFAULT:
                number = sum(call.calls for call, _ in mine if decision.holds(call.point))
                proposals.append(Proposal(f"{'i' * is_started}{rules_of([decision]).rstrip()}", number))
    return tuple(proposals)


def _proposed_in_one_order(times_by_call: Sequence[tuple[TracedCall, Times]], tolerance: float) -> list[Proposal]:
    """Return the rules for all sizes of each reduction and range of ranks; they also decide nonblocking calls."""
    times = in_one_order({call.point: times for call, times in times_by_call}, order_of)
    proposals = []
    for _, of_row in groupby(decide(times, tolerance), key=lambda decision: (decision.collective, decision.ranks)):
        row = list(of_row)
        rules = rules_of(row, order_is_fixed=True).removeprefix(_FIXED).rstrip()
        calls = sum(call.calls for call, _ in times_by_call if any(decision.holds(call.point) for decision in row))
        proposals.append(Proposal(rules, calls))
    return proposals


def _times(call: TracedCall, choices: Sequence[Choice], application: Application) -> Times:
    """Return the times of choices in a call, and of the baseline's choice."""
    times = predicted(call.point, application.settings, choices, call.example)
    collective, is_fixed = call.point.collective, application.settings.order_is_fixed
    is_proposed_anyway = call.is_started or needs_one_order(collective, is_fixed)
    if is_proposed_anyway:
        return times
    choices_of_rules = (choose(rules, collective, call.example) for rules in (application.baseline, DEFAULT_RULES))
    first = next(filter(None, choices_of_rules))  # the last of the default rules takes any call
    return {DEFAULT: application.settings.estimate(*first), **times}


@dataclass(frozen=True)
class Gain:
    """The gain of a run's time: mean over paired trials, with its 95 % confidence interval."""

    mean_s: float
    low_s: float
    high_s: float

    @classmethod
    def between(cls, slower: Replay, faster: Replay) -> Gain:
        """Return the gain of the second run over the first; both have the same trials."""
        differences = tuple(a - b for a, b in zip(slower.times_s, faster.times_s, strict=True))
        statistics = Statistics.of(differences)
        return cls(statistics.mean, *statistics.interval)


@dataclass(frozen=True)
class Effect:
    """The gain of a rule beside the other remaining rules, when it was last considered, and whether it is kept."""

    proposal: Proposal
    gain: Gain
    is_kept: bool

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**vars(self.proposal), **_gain_entry(self.gain), "is_kept": self.is_kept}


def _gain_entry(gain: Gain) -> dict[str, float]:
    return {"gain_s": gain.mean_s, "gain_low_s": gain.low_s, "gain_high_s": gain.high_s}


@dataclass(frozen=True)
class TracedTuning:
    """The gains of rules for the whole run."""

    baseline: Replay = field(repr=False)  # the run without proposed rules
    all_rules: Replay = field(repr=False)  # the run with all proposed rules
    few_rules: Replay = field(repr=False)  # the run with the kept rules
    # The effects of the rules: first the kept rules in their order, then the others, the last dropped first.
    effects: tuple[Effect, ...]

    @property
    def rules(self) -> str:
        """The kept rules, one per line."""
        return "".join(f"{one.proposal.rule}\n" for one in self.effects if one.is_kept)

    @property
    def gain(self) -> Gain:
        """The gain of the kept rules."""
        return Gain.between(self.baseline, self.few_rules)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "program": self.baseline.program,
            "ranks": self.baseline.ranks,
            "trials": self.baseline.trials,
            "seed": self.baseline.seed,
            "baseline_s": self.baseline.time_s.mean,
            "all_rules_s": self.all_rules.time_s.mean,
            "kept_s": self.few_rules.time_s.mean,
            **_gain_entry(self.gain),
            "rules": [one.as_dict() for one in self.effects],
        }


def fewest_rules(
    proposals: Sequence[Proposal],
    application: Application,
    baseline: Replay,
    threshold: float,
    *,
    executor: Executor | None = None,
    on_done: Callable[[], object] = ignore,
) -> TracedTuning:
    """Return the few rules that matter.

    Step by step, the function drops the rule without which the run is shortest. It stops before the loss exceeds the
    threshold, a share of the largest gain so far. The baseline is the run without any of the rules. `on_done` is called
    after each replay, at most (n + 1) n / 2 times for n rules. A trace that cannot be replayed is refused.
    """
    checks.number("threshold", threshold, "a share from 0 to 1", is_right=lambda share: 0 <= share <= 1)

    def run(rules: Sequence[Proposal]) -> Replay:
        return application.replay(one.rule for one in rules)

    def without(rule: Proposal) -> Replay:
        return run([one for one in left if one != rule])

    all_rules = kept_replay = run(proposals) if proposals else baseline
    left, effects_dropped, effects = list(proposals), list[Effect](), dict[Proposal, Gain]()
    best_s = min(baseline.time_s.mean, all_rules.time_s.mean)
    while left:
        gains = do_all(without, left, executor=executor, on_done=lambda *_: on_done())
        others = dict(zip(left, gains, strict=True))
        effects = {rule: Gain.between(other, kept_replay) for rule, other in others.items()}
        least = min(left, key=lambda rule: others[rule].time_s.mean)
        time_s = others[least].time_s.mean
        best_s = min(best_s, time_s)
        if time_s > best_s + threshold * (baseline.time_s.mean - best_s):
            break
        effects_dropped.insert(0, Effect(least, effects[least], is_kept=False))
        left, kept_replay = [one for one in left if one != least], others[least]
    is_faster = kept_replay.time_s.mean < baseline.time_s.mean
    effects_left = (Effect(one, effects[one], is_kept=is_faster) for one in left)
    few_rules = kept_replay if is_faster else baseline
    return TracedTuning(baseline, all_rules, few_rules, (*effects_left, *effects_dropped))
