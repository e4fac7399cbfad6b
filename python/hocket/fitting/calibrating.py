"""A whole calibration: messages and computing, and what Hocket's library itself takes of each call and each message.

Short calls of collectives give the latter: measured time = time without overheads + one overhead for the call + one for
each message on the longest path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hocket.base.call import Call
from hocket.definitions.library import Algorithm, algorithms_named
from hocket.definitions.machine import Machine
from hocket.fitting.predicting import predict
from hocket.mpi.benchmark import bench
from hocket.mpi.calibration import Calibration, calibrate, measured
from hocket.mpi.installation import Installation
from hocket.mpi.launch import Launcher
from hocket.mpi.machine_files import Model, machine_file

COLLECTIVES = ("allreduce", "alltoall", "broadcast")
_SIZE_BYTES = 24
_SHARE = 0.01
_LIMIT_S = 0.5
_STEP_S = 50e-9
_ROUNDS = 20


def _candidates(collective: str) -> list[Algorithm]:
    # Redundant copies are still under way when a result is complete.
    return [one for one in algorithms_named(collective, ()) if "redundant" not in one.name]


def steps() -> int:
    """Return in how many steps a calibration is done: messages, and then one algorithm after the other."""
    return 1 + sum(len(_candidates(collective)) for collective in COLLECTIVES)


def calibrate_library(
    installation: Installation,
    launcher: Launcher,
    ranks: int,
    *,
    most_bytes: int,
    limit_s: float,
    model: Model,
    on_done: Callable[[], object] = lambda: None,
) -> tuple[Calibration, list[dict[str, Any]]]:
    """Measure, and fit; return the calibration, and its samples.

    Messages are measured for so many seconds. The model is the one with which the library's overheads are found.
    `on_done` is called after each of the `steps`.
    """
    samples, hosts = measured(installation, ranks, most_bytes=most_bytes, limit_s=limit_s, launcher=launcher)
    calibration = calibrate(samples, mpi=installation.library, hosts=hosts)
    on_done()

    def slower(extra_s: float) -> Machine:
        return Machine.parse(machine_file(replace(calibration, message_s=extra_s), "measured", model, None))

    call_s, message_s = overheads(installation, launcher, ranks, slower, on_done)
    return replace(calibration, call_s=call_s, message_s=message_s), samples


def overheads(
    installation: Installation,
    launcher: Launcher,
    ranks: int,
    machine: Callable[[float], Machine],
    on_done: Callable[[], object],
) -> tuple[float, float]:
    """Return what a call takes until its program begins, and what a message takes beyond that of MPI, in seconds.

    `machine` returns a copy of the machine in which each message takes so many seconds longer. `on_done` is called
    after each algorithm.
    """
    measure = partial(bench, share=_SHARE, limit_s=_LIMIT_S, only_by_mpi=True, launcher=launcher, on_done=on_done)
    measured_s, base_s, per_message = [], [], []
    for collective in COLLECTIVES:
        candidates = _candidates(collective)
        call = Call(ranks=ranks, size_bytes=0)
        results = measure(installation, candidates, call, [_SIZE_BYTES])
        base, more = (predict(results, candidates, call, machine(extra_s)) for extra_s in (0.0, _STEP_S))
        measured_s += [one.median_s for one in results.measurements]
        base_s += [one.time_s for one in base]
        per_message += [(two.time_s - one.time_s) / _STEP_S for one, two in zip(base, more, strict=True)]
    return fit_columns(np.asarray(measured_s), np.asarray(base_s), np.asarray(per_message))


def fit_columns(
    measured_s: np.ndarray[tuple[int], np.dtype[np.float64]],
    base_s: np.ndarray[tuple[int], np.dtype[np.float64]],
    per_message: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> tuple[float, float]:
    """Return the overheads of a call and of a message with the least sum of relative deviations.

    They are found by least squares, weighted again and again, from the measured times of calls, their times on a
    machine without overheads, and the messages on their longest paths.
    """
    left = (measured_s - base_s) / measured_s
    columns = np.column_stack([1 / measured_s, per_message / measured_s])
    weights = np.ones_like(left)
    call_s = message_s = 0.0
    for _ in range(_ROUNDS):
        call_s, message_s = np.linalg.lstsq(columns * weights[:, None], left * weights, rcond=None)[0]
        if call_s < 0 or message_s < 0:
            index = int(call_s < 0)  # the other value becomes 0
            column = columns[:, index] * weights
            value = max(float(column @ (left * weights) / (column @ column)), 0.0)
            call_s, message_s = (0.0, value) if index else (value, 0.0)
        off = np.abs(left - columns @ np.asarray([call_s, message_s]))
        weights = 1 / np.sqrt(np.maximum(off, 0.01))
    return float(call_s), float(message_s)
