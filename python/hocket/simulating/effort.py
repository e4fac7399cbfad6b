"""Estimates of how long work will take, from the formulas of the catalogue's algorithms."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call
from hocket.definitions.calls import prepare
from hocket.definitions.library import Algorithm
from hocket.definitions.machine import Machine
from hocket.simulating.simulation import plan


def simulation_s(algorithm: Algorithm, call: Call, **how: Any) -> float:
    """Return the estimated time of a simulation on one core, with arguments of `plan`; 0 also for a refused call."""
    with suppress(Error):
        if algorithm.program is None:
            return plan(algorithm, call, **how).effort_s
    return 0.0


def recording_s(algorithm: Algorithm, call: Call, *, machine: Machine | None = None) -> float:
    """Return the estimated time of a recording in seconds, if it fits into memory; otherwise as `simulation_s`."""
    with suppress(Error):
        if algorithm.program is None:
            return _native.recording_effort_s(prepare(algorithm, call, machine))
    return 0.0
