"""Times at points by simulation, for machines that are not there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from hocket._native import Error
from hocket.call import Call
from hocket.comparison import made_for
from hocket.library import algorithms
from hocket.machine import Machine
from hocket.parallel import do_all, ignore
from hocket.simulation import ONE_TRIAL, Trials, simulate
from hocket.tuning.candidates import algorithm_of, call_at, candidates
from hocket.tuning.choice import Choice, Estimate, Point
from hocket.tuning.records import Found, Records

__all__ = ["Simulated", "predicted", "simulate_points"]


@dataclass(frozen=True)
class Simulated:
    """How to simulate.

    Attributes:
        machine: The machine.
        trials: How often, on a machine with noise.
    """

    machine: Machine
    trials: Trials = ONE_TRIAL


def simulate_points(
    points: Sequence[Point],
    by: Simulated,
    records: Records,
    *,
    executor: Executor | None = None,
    on_done: Callable[[], object] = ignore,
) -> None:
    """Simulate every choice at every point that the records do not have yet, and add it to them.

    Raises:
        Error: The machine has no room for the ranks.
    """
    missing = [point for point in points if point not in records.found]
    for _ in range(len(points) - len(missing)):
        on_done()

    def keep(_: Point, found: Found) -> None:
        records.add(found)
        on_done()

    do_all(lambda point: _found(point, by), missing, executor=executor, on_done=keep)


def predicted(
    point: Point, by: Simulated, choices: Sequence[Choice], like: Call | None = None
) -> dict[Choice, Estimate]:
    """Return how long choices of the catalogue take, in a call like another if one is given, but refused ones."""
    times = {}
    for choice in choices:
        algorithm = algorithm_of(point, choice)
        try:
            call = call_at(algorithm, choice, point, like)
            found = simulate(algorithm, call, machine=by.machine, trials=by.trials)
        except Error:
            continue
        times[choice] = Estimate(found.time_s.mean, *found.time_s.interval)
    return times


def _found(point: Point, by: Simulated) -> Found:
    there = candidates(made_for(by.machine, algorithms(point.collective)), point)
    times = predicted(point, by, list(there.alike))
    if not times:
        algorithm = algorithms(point.collective)[0]
        simulate(algorithm, call_at(algorithm, Choice("catalogue", algorithm.name), point), machine=by.machine)
    return Found(point, {alike: one for choice, one in times.items() for alike in there.alike[choice]})
