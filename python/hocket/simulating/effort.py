"""Estimates of how long work will take, from the formulas of the catalogue's algorithms."""

from __future__ import annotations

from contextlib import suppress

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call, MeasuredAs
from hocket.definitions.calls import prepare
from hocket.definitions.library import Algorithm
from hocket.definitions.machine import Machine
from hocket.simulating.scenes import NO_SCENE, Scene
from hocket.simulating.simulation import ONE_TRIAL, Engine, Trials, plan


def simulation_s(
    algorithm: Algorithm,
    call: Call,
    *,
    machine: Machine,
    trials: Trials = ONE_TRIAL,
    engine: Engine = "auto",
    measured_as: MeasuredAs = "isolated",
    scene: Scene = NO_SCENE,
) -> float:
    """Return the estimated time of a simulation on one core, as `Plan.effort_s`; also 0 for a refused call."""
    with suppress(Error):
        if algorithm.program is None:
            return plan(
                algorithm, call, machine=machine, trials=trials, engine=engine, measured_as=measured_as, scene=scene
            ).effort_s
    return 0.0


def recording_s(algorithm: Algorithm, call: Call, *, machine: Machine | None = None) -> float:
    """Return the estimated time of a recording in seconds, if it fits into memory; otherwise as `simulation_s`."""
    with suppress(Error):
        if algorithm.program is None:
            return _native.recording_effort_s(prepare(algorithm, call, machine))
    return 0.0
