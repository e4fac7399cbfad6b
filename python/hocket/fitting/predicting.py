"""What a machine file says of calls that were measured."""

from __future__ import annotations

from collections.abc import Iterable

from hocket.base.call import Call
from hocket.definitions.library import Algorithm
from hocket.definitions.machine import Machine
from hocket.mpi.benchmark import Bench, Prediction, call_of
from hocket.simulating.scenes import NO_SCENE, Scene
from hocket.simulating.simulation import ONE_TRIAL, Trials, simulate


def predict(
    results: Bench,
    candidates: Iterable[Algorithm | None],
    call: Call,
    machine: Machine,
    *,
    scene: Scene = NO_SCENE,
    trials: Trials = ONE_TRIAL,
) -> tuple[Prediction, ...]:
    """Return what a machine with room for the ranks says of what was measured: simulated, and by closed forms."""
    by_name = {one.name: one for one in candidates if one is not None}
    predictions = []
    for one in results.measurements:
        if (algorithm := by_name.get(one.algorithm)) is None:
            continue
        call_made = call_of(algorithm, call, one.size_bytes)
        simulated = simulate(algorithm, call_made, machine=machine, scene=scene, trials=trials)
        middle_s, formula_s = simulated.time_s.quantiles["0.5"], simulated.formula_s
        predictions.append(Prediction(algorithm.name, one.size_bytes, middle_s, formula_s, simulated.formula_is_exact))
    return tuple(predictions)
