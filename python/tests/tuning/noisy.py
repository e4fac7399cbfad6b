"""A machine with known true times and noise: states of seconds, drift, and luck of each way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp, sin
from random import Random
from typing import Any

from hocket.mpi.turns import Turns, Way

__all__ = ["NoisyMachine"]

_STATE_S = 3.0
"""The mean duration of a fast or a slow state."""
_ROUND_S = 0.02
_SLOW = 2.5
_DRIFT = 0.3
_LUCK = 0.05
"""The spread of the luck of a way, drawn anew with its buffers."""
_CALL = 0.15
_SPIKES = 0.03


class NoisyMachine:
    """The machine; measuring and waiting advance its clock.

    Args:
        times: The true times of the ways in the fast state, by their texts, in seconds.
        seed: That of the noise.
    """

    def __init__(self, times: Mapping[str, float], seed: int) -> None:
        self.times = times
        self.random = Random(seed)
        self.now_s = 0.0

    def clock(self) -> float:
        """Return the time of the machine, in seconds."""
        return self.now_s

    def wait(self, time_s: float) -> None:
        """Advance the time."""
        self.now_s += time_s

    def start(self, *_: object) -> Turns:
        """Start a program that measures."""
        return _NoisyTurns(self)


class _NoisyTurns(Turns):
    """A program on a noisy machine."""

    def __init__(self, machine: NoisyMachine) -> None:
        self.proving = None
        self._machine = machine
        self._ways: dict[int, float] = {}
        self._is_slow, self._changes_s = False, machine.now_s

    def __enter__(self) -> Turns:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def variables(self) -> list[dict[str, Any]]:
        """Return none: this MPI has no choice of algorithms."""
        return []

    def begin(self, collective: str, size_bytes: int, ways: Iterable[Way]) -> dict[int, str]:
        """Accept the ways and draw the luck of each."""
        times, random = self._machine.times, self._machine.random
        self._ways = {way.number: times[way.text] * exp(random.gauss(0, _LUCK)) for way in ways}
        self._machine.wait(_ROUND_S)
        return {}

    def rounds(self, count: int, numbers: Sequence[int]) -> dict[int, list[float]]:
        """Return samples and advance the time."""
        machine, random = self._machine, self._machine.random
        samples_s: dict[int, list[float]] = {number: [] for number in numbers}
        for _ in range(count):
            machine.wait(_ROUND_S)
            while self._changes_s < machine.now_s:
                self._is_slow = not self._is_slow
                self._changes_s += random.expovariate(1 / _STATE_S)
            state = (_SLOW if self._is_slow else 1.0) * (1 + _DRIFT * sin(machine.now_s / 20))
            for number in numbers:
                spike = 50.0 if random.random() < _SPIKES else 1.0
                samples_s[number].append(self._ways[number] * state * spike * exp(random.gauss(0, _CALL)))
        return samples_s
