"""Scenes in words: when ranks begin, faults of links, and whose time is measured then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from hocket.base.units import format_time

if TYPE_CHECKING:
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
