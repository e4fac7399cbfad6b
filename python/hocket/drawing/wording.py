"""Results in words: the lines and tables that the command line and pages show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hocket.base.units import format_bytes, format_count, format_ranks, format_rate, format_time, format_value, from_to
from hocket.definitions.library import REDUCTIONS

if TYPE_CHECKING:
    from hocket.definitions.library import Algorithm
    from hocket.definitions.machine import Machine
    from hocket.definitions.verification import Finding
    from hocket.simulating.bounds import Bound
    from hocket.simulating.comparison import Beside, Best, Comparison
    from hocket.simulating.critical_paths import Step
    from hocket.simulating.explanation import Explanation, Remedy
    from hocket.simulating.replays import Replay
    from hocket.simulating.simulation import Links, Simulation, Trials

T = TypeVar("T")

MEASURED = {
    "isolated": "until the last rank ends",
    "pico": "on the slowest rank, after a barrier",
    "osu": "in the mean of all ranks, after a barrier",
    "imb": "on the slowest rank, in a loop of calls",
}
"""Whose time is given, by how it is measured."""


def order(algorithm: Algorithm) -> list[tuple[str, str]]:
    """Return in which order a reduction combines, if that is known."""
    if algorithm.collective not in REDUCTIONS or algorithm.program is not None:
        return []
    if algorithm.order is None:
        return [("order", "depends on the element or the size")]
    return [("order", f"{algorithm.order}, for all elements and sizes")]


def measured(found: Simulation) -> str:
    """Return whose time is given."""
    return measured_in_scene(found) or MEASURED[found.measured_as]


class InScene(Protocol):
    """A measurement of calls in a scene."""

    @property
    def arrivals(self) -> str | None:
        """When the ranks began the call."""

    @property
    def cadence(self) -> str | None:
        """When the ranks began each of several calls."""


class OnClocks(InScene, Protocol):
    """A measurement on clocks that were compared."""

    @property
    def clock_error_s(self) -> float | None:
        """The largest error of a common clock of all ranks."""


def measured_in_scene(found: InScene) -> str:
    """Return whose time is given with arrivals or a cadence; nothing without."""
    if found.arrivals:
        return "from the last arrival until the last rank ends"
    if found.cadence:
        begin = "a call is due" if "every" in found.cadence else "the last rank begins"
        return f"in the mean of the calls, from when {begin} until the last rank ends"
    return ""


def played_words(found: InScene) -> str:
    """Return the scene, as the end of a line."""
    return "".join(f"; {line}" for line in _played(found))


def _played(found: InScene) -> list[str]:
    parts = {"arrivals": found.arrivals, "cadence": found.cadence}
    return [f"{name}: {text}" for name, text in parts.items() if text]


def played_lines(found: Simulation) -> list[str]:
    """Return the scene and its faults; nothing without a scene."""
    return [*_played(found), *(f"fault: {fault}" for fault in found.faults)]


def scene_lines(found: Simulation) -> list[str]:
    """Return whose time is given in a scene, the scene, and its faults; nothing without a scene."""
    times = [f"times of a call {measured_in_scene(found)}{played_words(found)}"] if played_words(found) else []
    return [*times, *(f"fault: {fault}" for fault in found.faults)]


def played_on_clocks(found: OnClocks) -> list[str]:
    """Return whose time is measured in a scene, the scene, and how far clocks are apart; nothing without a scene."""
    if not played_words(found):
        return []
    error_s = found.clock_error_s
    clocks = "" if error_s is None else f"; clocks of ranks agree within {format_time(error_s)}"
    return [f"times of a call {measured_in_scene(found)}{played_words(found)}{clocks}"]


class WithFaults(Protocol):
    """A measurement on links that were slow or down as asked."""

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of links, as texts."""

    @property
    def faults_late_s(self) -> float | None:
        """How late a link changed at most."""


def fault_words(found: WithFaults) -> list[str]:
    """Return the faults, and how late links changed; nothing without faults."""
    if found.faults_late_s is None:
        return []
    faults = (f"fault: {fault}" for fault in found.faults)
    return [*faults, f"links changed at most {format_time(found.faults_late_s)} late"]


def late(found: Simulation) -> list[tuple[str, str]]:
    """Return when the ranks began the call, if they did not begin together."""
    lateness_s = found.lateness_s
    if lateness_s is None:
        return []
    mean, most = (format_time(found.rank_time_s[name]) for name in ("mean", "max"))
    return [
        ("arrivals", f"{found.arrivals}; the last one {format_time(lateness_s)} after the first"),
        ("since the first arrival", format_time(found.time_s.mean + lateness_s)),
        ("a rank in the call", f"{mean}, at most {most}"),
    ]


def in_cadence(found: Simulation) -> list[tuple[str, str]]:
    """Return the calls of a cadence, beside an isolated call."""
    if found.repeated is None:
        return []
    repeated = found.repeated
    calls_s, isolated_s, interval_s = repeated.calls_s, repeated.isolated_s.mean, repeated.interval_s.mean
    first, last, most = (format_time(time_s) for time_s in (calls_s[0], calls_s[-1], max(calls_s)))
    times = f"; {found.time_s.mean / isolated_s:.2f} times as long in this cadence" if isolated_s > 0 else ""
    rate = "" if repeated.calls_per_s is None else f": {repeated.calls_per_s:,.1f} calls/s"
    if repeated.bytes_per_s:
        rate += f", {format_rate(repeated.bytes_per_s)}"
    hidden = [] if repeated.hidden is None else [("hidden", f"{repeated.hidden:.0%} of an isolated call")]
    return [
        ("cadence", f"{found.cadence}"),
        ("isolated call", f"{format_time(isolated_s)}{times}"),
        ("each call", f"the first {first}, the last {last}, the longest {most}"),
        ("interval", f"{format_time(interval_s)} between two ends{rate}"),
        *hidden,
        ("all calls", f"{format_time(found.rank_time_s['max'])} until the last rank ends"),
    ]


_MOST_STEPS = 16  # shown
_ROUNDING = 1e-9  # difference up to which a formula and a simulation with the same terms agree
_MOST_FASTER = 5  # shown
_MOST_NEIGHBORS = 3  # number of shown ranks with their neighbours
_MOST_BLOCKS = 8  # shown


@dataclass(frozen=True)
class Words:
    """A table in words.

    Attributes:
        columns: The titles of its columns.
        rows: The cells of each row.
        right: The right-aligned columns.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...] = ()


TOLD_APART = "times are means, with 95 % intervals; = joins algorithms whose intervals overlap"
ONE_SAMPLE = "each time is one sample: with another seed others may be the fastest"


def alike(runs: Sequence[Simulation | Replay], machine: Machine) -> str:
    """Return that all trials of each run took the same time, and why; nothing if some did not."""
    if any(one.trials == 1 or one.time_s.min < one.time_s.max for one in runs):
        return ""
    return f"all took the same time{', as no operation met noise' if machine.noise else ''}"


def trials_words(trials: Trials) -> str:
    """Return the number of trials of a comparison, in words."""
    most = "until the fastest is known, at most " if trials.until_decided else ""
    return f"{most}{format_count(trials.count, 'trial')}, seed {trials.seed}"


def best_lines(found: Comparison) -> list[tuple[str, str]]:
    """Return ranges of sizes with the fastest algorithms and their ratio to the lower bound."""
    return [
        (from_to(best.first_bytes, best.last_bytes), f"{' = '.join(best.algorithms)}{_times_the_bound(found, best)}")
        for best in found.best()
    ]


def default_lines(found: Comparison, library: str) -> list[str]:
    """Return one line for each range of sizes with the same choice of a library, with its ratio to the fastest."""
    mine = sorted((one for one in found.defaults if one.library == library), key=lambda one: one.size_bytes)
    lines = []
    for (choice, sentence), group in groupby(mine, key=lambda one: (one.choice, one.sentence)):
        alike = list(group)
        ratios = [ratio for ratio in map(found.times_the_fastest, alike) if ratio is not None]
        far = f", {span(ratios)} times the fastest" if ratios else ""
        lines.append(f"{from_to(alike[0].size_bytes, alike[-1].size_bytes)}: {sentence or choice}{far}")
    return lines


def _times_the_bound(found: Comparison, best: Best) -> str:
    sizes = [size for size in found.finished_bytes if best.first_bytes <= size <= best.last_bytes]
    ratios = [ratio for ratio in map(found.times_the_bound, sizes) if ratio is not None]
    return f", {span(ratios)} times the lower bound" if ratios else ""


def measured_table(found: Comparison) -> Words:
    """Return measured times beside simulated ones; "-" where nothing was simulated."""
    columns = ("size", "measured", "simulated", "simulated / measured")
    rows = (
        (one.algorithm, format_bytes(one.size_bytes), format_time(one.measured_s), *_simulated(one))
        for one in found.measured
    )
    return Words(("algorithm", *columns), tuple(rows), columns)


def _simulated(one: Beside) -> tuple[str, str]:
    """Return the simulated time, and it over the measured time."""
    if one.simulated_s is None:
        return "-", "-"
    return format_time(one.simulated_s), f"{one.simulated_s / one.measured_s:.2f}"


def not_compared_lines(found: Comparison) -> list[tuple[str, str]]:
    """Return algorithms that were not compared, with the sizes unless all were refused, and the reason."""
    refused: dict[tuple[str, str], list[int]] = {}
    for one in found.not_compared:
        refused.setdefault((one.algorithm, one.sentence), []).append(one.size_bytes)
    lines = []
    for (name, sentence), sizes in sorted(refused.items()):
        where = "" if name not in found.algorithms else f" at {', '.join(map(format_bytes, sizes))}"
        lines.append((f"{name}{where}", sentence))
    return lines


def span(ratios: Sequence[float]) -> str:
    """Return the range of some ratios: "1.10 to 2.50"."""
    least, most = f"{min(ratios):.2f}", f"{max(ratios):.2f}"
    return least if least == most else f"{least} to {most}"


def explanation_facts(found: Explanation) -> list[tuple[str, str]]:
    """Return the time of the call, its scene, and its lower bound."""
    played = found.simulation
    facts = [("time", f"{format_time(found.time_s)} {measured(played)}"), *late(played)]
    facts += [("fault", fault) for fault in played.faults]
    if played.arrivals and found.steps:
        first = found.steps[0]
        begin = f"rank {first.from_rank} begins the call, {format_time(first.start_s)} after the first arrival"
        facts.append(("critical path", f"{format_time(found.path_s)} from when {begin}"))
    if found.bound and found.bound.time_s > 0:
        times = f", {found.time_s / found.bound.time_s:.2f} times as long" if found.time_s else ""
        facts.append(("lower bound", f"{format_time(found.bound.time_s)}{times}; {_demands(found.bound)}"))
    return facts


def _demands(bound: Bound) -> str:
    """Return the three times of which a lower bound is the greatest; each includes all that its demand costs."""
    times_s = {"a row of messages": bound.latency_s, "bytes": bound.bandwidth_s, "combining": bound.computation_s}
    return ", ".join(f"{demand} {format_time(time_s)}" for demand, time_s in times_s.items() if time_s > 0)


def ranks_of_path(steps: Sequence[Step]) -> str:
    """Return the ranks on the critical path."""
    ranks = [step.from_rank for step in steps[:1]] + [step.event.rank for step in steps]
    return " > ".join(_shortened([str(rank) for rank, _ in groupby(ranks)], ".."))


def explanation_tables(found: Explanation) -> tuple[Words, Words, Words, Words | None]:
    """Return the parts of the critical path, its steps, remedies, and faster algorithms if there are any."""
    columns = ("time", "share")
    parts = (
        (part, format_time(part_s), f"{part_s / found.path_s:.1%}")
        for part, part_s in found.parts_s.items()
        if part_s > 0
    )
    steps = (
        (format_time(step.start_s), _what(step), format_bytes(int(step.event.bytes)), parts_of(step))
        for step in found.steps
    )
    return (
        Words(("on the critical path", *columns), tuple(parts), columns),
        Words(
            ("start", "critical path", "bytes", "consists of"),
            tuple(_shortened(list(steps), ("..", "", "", ""))),
            ("start",),
        ),
        _remedies("what would help", found.remedies, found.time_s),
        _remedies("faster algorithm", found.faster[:_MOST_FASTER], found.time_s) if found.faster else None,
    )


def _shortened(values: Sequence[T], gap: T) -> list[T]:
    """Return the first and the last of many rows, with a gap between them."""
    half = _MOST_STEPS // 2
    return [*values] if len(values) <= _MOST_STEPS else [*values[:half], gap, *values[-half:]]


def _what(step: Step) -> str:
    event = step.event
    if event.kind == "recv":
        return f"message {event.peer} > {event.rank}"
    if event.kind == "send":
        return f"message {event.rank} > {event.peer}"
    return f"{event.kind} on {event.rank}"


def parts_of(step: Step) -> str:
    """Return the parts of a step of a critical path, each with its time."""
    return ", ".join(f"{part} {format_time(part_s)}" for part, part_s in step.parts_s.items() if part_s > 0)


def _remedies(what: str, remedies: Iterable[Remedy], time_s: float) -> Words:
    rows = ((one.change, format_time(one.time_s), f"{one.time_s / time_s - 1:+.1%}") for one in remedies)
    return Words((what, "time then", "change"), tuple(rows), ("time then", "change"))


def formula(found: Simulation, machine: Machine) -> list[tuple[str, str]]:
    """Return the time by the algorithm's formula, if it has one, and whether it agrees with the time without noise."""
    if found.formula_s is None:
        return []
    says = "exact for this call" if found.formula_is_exact else "an upper bound for this call"
    off_s = found.time_s.mean - found.formula_s
    is_off = (abs(off_s) if found.formula_is_exact else off_s) > _ROUNDING * found.formula_s
    if machine.noise:
        says += ", without noise"
    elif is_off:
        says = f"declared as {says}, but the time is {found.time_s.mean / found.formula_s:.3g} times as long"
    return [("formula", f"{format_time(found.formula_s)}, {says}")]


def carried(found: Simulation | Replay) -> list[tuple[str, str]]:
    """Return the load of the network, if messages share links."""
    facts = [("links", _links(found.links))] if found.links else []
    if circuits := found.circuits:
        told = f"{circuits.set_ups} set up, {circuits.refused} refused; {circuits.cut} messages cut"
        facts.append(("circuits", told))
    return facts


def _links(links: Links) -> str:
    """Return the load of links in words."""
    share = f"{links.waited / max(links.used, 1):.2%}"
    most = f"at most {format_bytes(round(links.most_bytes))} and {format_time(links.most_busy_s)} busy"
    return f"{links.used} of {links.links} used, {share} of these were waited for; {most}"


def finding_text(findings: Sequence[Finding]) -> str:
    """Return at which rank counts an algorithm is right or wrong, and how much was checked."""
    wrong = [finding.ranks for finding in findings if finding.counterexamples]
    refused = [finding.ranks for finding in findings if finding.refused]
    checked = [finding.ranks for finding in findings if not finding.refused]
    calls = format_count(sum(finding.checked for finding in findings), "call")
    where = f"P = {format_ranks(wrong or checked)}" if checked else "no rank count"
    parts = [where, calls, *exploration_parts(findings)]
    return ", ".join(parts) + (f"; not for P = {format_ranks(refused)}" if refused else "")


def exploration_parts(findings: Sequence[Finding]) -> Iterator[str]:
    """Give how orders of messages were explored, and their number if there were any."""
    explored = exploration(findings)
    if explored is None:
        return
    yield explored
    if explored != "deterministic":
        yield f"{format_count(sum(finding.orders for finding in findings), 'order')} of messages"
    overtaking = max(finding.overtaking for finding in findings)
    if overtaking:
        yield format_count(overtaking, "overtaking message")


def exploration(findings: Iterable[Finding]) -> str | None:
    """Return the weakest of the explorations; None if nothing was checked."""
    found = {finding.exploration for finding in findings}
    return next((name for name in ("sampled", "exhaustive", "deterministic") if name in found), None)


def counterexample_text(counterexample: Mapping[str, Any], algorithm: Algorithm) -> str:
    """Return a call that went wrong, followed by the steps to the error."""
    call = counterexample["call"]
    facts = [
        algorithm.label,
        f"P = {counterexample['ranks']}",
        _elements(call["count"]),
        f"root {call['root']}",
        *([] if call["neighbors"] is None else [f"ranks send to {_neighbors(call['neighbors'])}"]),
        *([] if call["element_bytes"] == 1 else [f"elements of {format_value(call['element_bytes'], 'bytes')}"]),
        *(["in place"] if call["in_place"] else []),
        *([] if call["commutative"] else ["operator not commutative"]),
        *([algorithm.format(call["parameters"])] if call["parameters"] else []),
    ]
    return f"{', '.join(facts)}\n{counterexample['message'].rstrip()}"


def _elements(count: int | Sequence[int] | Sequence[Sequence[int]]) -> str:
    """Return the number of elements, or those of each block, or the smallest and the largest of many blocks."""
    if isinstance(count, int):
        return format_count(count, "element")
    blocks = [block for of in count for block in (of if isinstance(of, Sequence) else [of])]
    if len(blocks) == len(count) <= _MOST_BLOCKS:
        return f"blocks of {', '.join(map(str, blocks))} elements"
    return f"blocks of {min(blocks)} to {max(blocks)} elements"


def _neighbors(destinations: Sequence[Sequence[int]]) -> str:
    """Return the neighbours of the first few ranks."""
    first = destinations[:_MOST_NEIGHBORS]
    shown = "; ".join(f"{rank}: {', '.join(map(str, of)) or 'none'}" for rank, of in enumerate(first))
    return shown if len(destinations) <= _MOST_NEIGHBORS else f"{shown}; .."
