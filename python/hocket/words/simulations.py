"""Simulations and replays in words, and their scenes: when ranks begin, faults, and whose time is measured then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from hocket.base.results import TextTable
from hocket.base.units import format_bytes, format_count, format_rate, format_time
from hocket.definitions.library import REDUCTIONS

if TYPE_CHECKING:
    from hocket.definitions.library import Algorithm
    from hocket.definitions.machine import Machine
    from hocket.definitions.topology import LinkUse
    from hocket.simulating.estimates import Estimate
    from hocket.simulating.replays import Replay
    from hocket.simulating.simulation import Simulation


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


def measured_in_scene(result: InScene) -> str:
    """Return whose time is given with arrivals or a cadence; nothing without."""
    if result.arrivals:
        return "from the last arrival until the last rank ends"
    if result.cadence:
        begin = "a call is due" if "every" in result.cadence else "the last rank begins"
        return f"in the mean of the calls, from when {begin} until the last rank ends"
    return ""


def played_words(result: InScene) -> str:
    """Return the scene, as the end of a line."""
    return "".join(f"; {line}" for line in _scene_parts(result))


def _scene_parts(result: InScene) -> list[str]:
    parts = {"arrivals": result.arrivals, "cadence": result.cadence}
    return [f"{name}: {text}" for name, text in parts.items() if text]


def played_lines(result: Simulation) -> list[str]:
    """Return the scene and its faults; nothing without a scene."""
    return [*_scene_parts(result), *(f"fault: {fault}" for fault in result.faults)]


def scene_lines(result: Simulation) -> list[str]:
    """Return whose time is given in a scene, the scene, and its faults; nothing without a scene."""
    times = [f"times of a call {measured_in_scene(result)}{played_words(result)}"] if played_words(result) else []
    return [*times, *(f"fault: {fault}" for fault in result.faults)]


def played_on_clocks(result: OnClocks) -> list[str]:
    """Return whose time is measured in a scene, the scene, and how far clocks are apart; nothing without a scene."""
    if not played_words(result):
        return []
    error_s = result.clock_error_s
    clocks = "" if error_s is None else f"; clocks of ranks agree within {format_time(error_s)}"
    return [f"times of a call {measured_in_scene(result)}{played_words(result)}{clocks}"]


def fault_words(faults: Sequence[str], late_s: float | None) -> list[str]:
    """Return the faults of links, and how late these changed at most; nothing without faults."""
    if late_s is None:
        return []
    return [*(f"fault: {fault}" for fault in faults), f"links changed at most {format_time(late_s)} late"]


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


def measured(result: Simulation) -> str:
    """Return whose time is given."""
    return measured_in_scene(result) or MEASURED[result.measured_as]


def measured_interval(result: Simulation) -> str:
    """Return between which times measured calls are expected; nothing if the machine file does not say it."""
    if result.measured_interval_s is None:
        return ""
    low, high = map(format_time, result.measured_interval_s)
    most = result.measured_ranks
    limits = "" if most is None or result.ranks <= most else f", which had at most {format_count(most, 'rank')}"
    return f" ({low} to {high}: nine of ten measured calls{limits})"


def late(result: Simulation) -> list[tuple[str, str]]:
    """Return when the ranks began the call, if they did not begin together."""
    lateness_s = result.lateness_s
    if lateness_s is None:
        return []
    mean, most = (format_time(result.rank_time_s[name]) for name in ("mean", "max"))
    return [
        ("arrivals", f"{result.arrivals}; the last one {format_time(lateness_s)} after the first"),
        ("since the first arrival", format_time(result.time_s.mean + lateness_s)),
        ("a rank in the call", f"{mean}, at most {most}"),
    ]


def in_cadence(result: Simulation) -> list[tuple[str, str]]:
    """Return the calls of a cadence, beside an isolated call."""
    if result.repeated is None:
        return []
    repeated = result.repeated
    calls_s, isolated_s, interval_s = repeated.calls_s, repeated.isolated_s.mean, repeated.interval_s.mean
    first, last, most = (format_time(time_s) for time_s in (calls_s[0], calls_s[-1], max(calls_s)))
    times = f"; {result.time_s.mean / isolated_s:.2f} times as long in this cadence" if isolated_s > 0 else ""
    rate = "" if repeated.calls_per_s is None else f": {repeated.calls_per_s:,.1f} calls/s"
    if repeated.bytes_per_s:
        rate += f", {format_rate(repeated.bytes_per_s)}"
    share = repeated.hidden_share
    hidden_rows = [] if share is None else [("hidden", f"{share:.0%} of an isolated call")]
    return [
        ("cadence", f"{result.cadence}"),
        ("isolated call", f"{format_time(isolated_s)}{times}"),
        ("each call", f"the first {first}, the last {last}, the longest {most}"),
        ("interval", f"{format_time(interval_s)} between two ends{rate}"),
        *hidden_rows,
        ("all calls", f"{format_time(result.rank_time_s['max'])} until the last rank ends"),
    ]


_MOST_LINKS = 8  # rows in the table
_ROUNDING = 1e-9  # difference up to which a formula and a simulation with the same terms agree


def alike(runs: Sequence[Simulation | Replay], machine: Machine) -> str:
    """Return that all trials of each run took the same time, and why; nothing if some did not."""
    if any(one.trials == 1 or one.time_s.min < one.time_s.max for one in runs):
        return ""
    return f"all took the same time{', as no operation met noise' if machine.noise else ''}"


def formula(result: Simulation, machine: Machine) -> list[tuple[str, str]]:
    """Return the time by the algorithm's formula, if it has one, and whether it agrees with the time without noise."""
    if result.formula_s is None:
        return []
    of_bound = "an upper bound" if result.formula_is_bound else "an approximation"
    says = f"{'exact' if result.formula_is_exact else of_bound} for this call"
    off_s = result.time_s.mean - result.formula_s
    is_off = (abs(off_s) if result.formula_is_exact else off_s) > _ROUNDING * result.formula_s
    if machine.noise:
        says += ", without noise"
    elif is_off and result.formula_is_bound:
        says = f"declared as {says}, but the time is {result.time_s.mean / result.formula_s:.3g} times as long"
    return [("formula", f"{format_time(result.formula_s)}, {says}")]


def estimate_words(result: Estimate) -> list[tuple[str, str]]:
    """Return an estimated time, its interval, and what it is from."""
    whose = MEASURED["isolated"]
    if result.is_exact:
        why = "it has too few segments for an estimate, or parts without segments"
        return [("time", f"{format_time(result.time_s)} {whose}, simulated: {why}")]
    low_s, high_s = result.interval_s
    return [
        ("time", f"about {format_time(result.time_s)} {whose}"),
        ("interval", f"{format_time(low_s)} to {format_time(high_s)}"),
        ("estimated from", f"simulations with up to {format_bytes(int(result.simulated[-1]['size_bytes']))}"),
    ]


def network_load(result: Simulation | Replay) -> list[tuple[str, str]]:
    """Return the load of the network, if messages share links."""
    facts = []
    if links := result.links:
        share = f"{links.contended_links / max(links.used_links, 1):.2%}"
        most = f"at most {format_bytes(round(links.most_bytes))} and {format_time(links.most_busy_s)} busy"
        facts.append(("links", f"{links.used_links} of {links.links} used, {share} of these were waited for; {most}"))
    if circuits := result.circuits:
        circuit_text = f"{circuits.set_ups} set up, {circuits.refused} refused; {circuits.cut} messages cut"
        facts.append(("circuits", circuit_text))
    return facts


def busiest_links(uses: Sequence[LinkUse]) -> TextTable:
    """Return the links that carried the most."""
    most = sorted(uses, key=lambda use: (-use.bytes, -use.busy_s, use.link))[:_MOST_LINKS]
    rows = (
        (use.name, format_bytes(int(use.bytes)), format_time(use.busy_s), format_time(use.waiting_s)) for use in most
    )
    columns = ("links that carried the most", "bytes", "busy for", "waited for")
    return TextTable(columns, tuple(rows), columns[1:])


def spread(result: Simulation | Replay, machine: Machine) -> list[tuple[str, str]]:
    """Return the statistics of trials other than the mean."""
    if result.trials == 1:
        return []
    if same := alike([result], machine):
        return [("trials", f"{result.trials}, seed {result.seed}: {same}")]
    low, high = (format_time(max(bound, 0.0)) for bound in result.time_s.interval)
    quantiles = ", ".join(
        f"{float(share):.0%} {format_time(time_s)}" for share, time_s in result.time_s.quantiles.items()
    )
    return [
        ("trials", f"{result.trials}, seed {result.seed}: the mean is between {low} and {high} (95 %)"),
        ("range", f"{format_time(result.time_s.min)} to {format_time(result.time_s.max)}"),
        ("quantiles", quantiles),
    ]
