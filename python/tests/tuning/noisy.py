"""A machine with known true times and noise: states of seconds, drift, and luck of each way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, sin
from random import Random
from typing import Any

from hocket.mpi.turns import Way

__all__ = ["NoisyTurns"]

_STATE_S = 3.0
"""The mean duration of a fast or a slow state."""
_ROUND_S = 0.02
_SLOW = 2.5
_DRIFT = 0.3
_LUCK = 0.05
"""The spread of the luck of a way, drawn anew with its buffers."""
_CALL = 0.15
_SPIKES = 0.03


class NoisyTurns:
    """Replaces `Turns`; measuring advances its clock.

    Attributes:
        times: The true times of the ways in the fast state, by their texts, in seconds.
    """

    times: Mapping[str, float] = {}
    random = Random(0)
    now_s = 0.0

    def __init__(self, *_: object) -> None:
        self.proving: int | None = None
        self._ways: dict[int, float] = {}
        self._is_slow, self._changes_s = False, NoisyTurns.now_s

    def __enter__(self) -> NoisyTurns:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @classmethod
    def clock(cls) -> float:
        """Return the time of the machine, in seconds."""
        return cls.now_s

    @classmethod
    def sleep(cls, time_s: float) -> None:
        """Advance the time."""
        cls.now_s += time_s

    def variables(self) -> list[dict[str, Any]]:
        """Return none: this MPI has no choice of algorithms."""
        return []

    def begin(self, collective: str, size_bytes: int, ways: Sequence[Way]) -> dict[int, str]:
        """Accept the ways and draw the luck of each."""
        self._ways = {way.number: self.times[way.text] * exp(self.random.gauss(0, _LUCK)) for way in ways}
        NoisyTurns.now_s += _ROUND_S
        return {}

    def rounds(self, count: int, numbers: Sequence[int]) -> dict[int, list[float]]:
        """Return samples and advance the time."""
        samples_s: dict[int, list[float]] = {number: [] for number in numbers}
        for _ in range(count):
            NoisyTurns.now_s += _ROUND_S
            while self._changes_s < NoisyTurns.now_s:
                self._is_slow = not self._is_slow
                self._changes_s += self.random.expovariate(1 / _STATE_S)
            state = (_SLOW if self._is_slow else 1.0) * (1 + _DRIFT * sin(NoisyTurns.now_s / 20))
            for number in numbers:
                spike = 50.0 if self.random.random() < _SPIKES else 1.0
                samples_s[number].append(self._ways[number] * state * spike * exp(self.random.gauss(0, _CALL)))
        return samples_s
