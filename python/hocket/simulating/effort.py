"""How long work will take, before it begins: by the formulas of the catalogue's algorithms."""

from __future__ import annotations

from contextlib import suppress

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call
from hocket.definitions.calls import made
from hocket.definitions.library import Algorithm
from hocket.definitions.machine import Machine
from hocket.simulating.simulation import ONE_TRIAL, Trials, trials_request

__all__ = ["recording_s", "simulation_s"]


def simulation_s(algorithm: Algorithm, call: Call, *, machine: Machine, trials: Trials = ONE_TRIAL) -> float:
    """Return how many seconds of one core a simulation takes about: right to a factor of three or so.

    0 where that is not known: of an algorithm written in Python, and of a call that is refused.
    """
    with suppress(Error):
        if algorithm.program is None:
            return _native.effort_s(machine.parsed, made(algorithm, call, machine), trials_request(trials))
    return 0.0


def recording_s(algorithm: Algorithm, call: Call, *, machine: Machine | None = None) -> float:
    """Return how many seconds a recording takes about, if there is memory for it; otherwise as `simulation_s`."""
    with suppress(Error):
        if algorithm.program is None:
            return _native.recording_effort_s(made(algorithm, call, machine))
    return 0.0
