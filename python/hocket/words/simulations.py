"""Simulations and replays in words, and calls measured in a scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from hocket.base.units import format_bytes, format_rate, format_time
from hocket.definitions.library import REDUCTIONS
from hocket.words.table import Words

if TYPE_CHECKING:
    from hocket.definitions.library import Algorithm
    from hocket.definitions.machine import Machine
    from hocket.definitions.topology import LinkUse
    from hocket.simulating.replays import Replay
    from hocket.simulating.simulation import Links, Simulation

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


_MOST_LINKS = 8  # rows in the table
_ROUNDING = 1e-9  # difference up to which a formula and a simulation with the same terms agree


def alike(runs: Sequence[Simulation | Replay], machine: Machine) -> str:
    """Return that all trials of each run took the same time, and why; nothing if some did not."""
    if any(one.trials == 1 or one.time_s.min < one.time_s.max for one in runs):
        return ""
    return f"all took the same time{', as no operation met noise' if machine.noise else ''}"


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


def busiest_links(uses: Sequence[LinkUse]) -> Words:
    """Return the links that carried the most."""
    most = sorted(uses, key=lambda use: (-use.bytes, -use.busy_s, use.link))[:_MOST_LINKS]
    rows = (
        (use.name, format_bytes(int(use.bytes)), format_time(use.busy_s), format_time(use.waiting_s)) for use in most
    )
    columns = ("links that carried the most", "bytes", "busy for", "waited for")
    return Words(columns, tuple(rows), columns[1:])


def spread(found: Simulation | Replay, machine: Machine) -> list[tuple[str, str]]:
    """Return the statistics of trials other than the mean."""
    if found.trials == 1:
        return []
    if same := alike([found], machine):
        return [("trials", f"{found.trials}, seed {found.seed}: {same}")]
    low, high = (format_time(max(bound, 0.0)) for bound in found.time_s.interval)
    quantiles = ", ".join(
        f"{float(share):.0%} {format_time(time_s)}" for share, time_s in found.time_s.quantiles.items()
    )
    return [
        ("trials", f"{found.trials}, seed {found.seed}: the mean is between {low} and {high} (95 %)"),
        ("range", f"{format_time(found.time_s.min)} to {format_time(found.time_s.max)}"),
        ("quantiles", quantiles),
    ]
