"""Comparing three ways of tuning, by simulation, by measurement, and by both: their costs and their regrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from hocket.base.parallel import ignore
from hocket.mpi.turns import Turns
from hocket.tuning.candidates import call_at, candidates, of_any_machine
from hocket.tuning.choice import Choice, Point
from hocket.tuning.deciding import Times, fastest
from hocket.tuning.measuring import Measured, add_rounds, measure_points, ways_of
from hocket.tuning.records import Records
from hocket.tuning.simulating import Simulated, predicted

_MOST_TURNS = 6


@dataclass(frozen=True)
class WayTried:
    """A way ("simulation", "measurement" or "both"), its choice at each point, and the time that it took."""

    name: str
    choices: Mapping[Point, Choice]
    cost_s: float


@dataclass(frozen=True)
class WaysJudgement:
    """Ways, and the newly measured median of each choice at each point."""

    ways: tuple[WayTried, ...]
    times_s: Mapping[Point, Mapping[Choice, float]]

    def regrets(self, way: WayTried) -> list[float]:
        """Return how much longer a way's choices take than the fastest, as shares of the fastest, in rising order."""
        found = ((here[way.choices[point]], min(here.values())) for point, here in self.times_s.items())
        return sorted(time_s / best_s - 1 for time_s, best_s in found)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data: by way the cost, the regrets over points, and the points."""
        return {
            "ways": [
                {"way": way.name, "points": len(way.choices), **self.summary(way), "cost_s": way.cost_s}
                for way in self.ways
            ],
            "points": [
                {
                    **vars(point),
                    "choices": {way.name: way.choices[point].as_dict() for way in self.ways},
                    "times_s": {str(choice): time_s for choice, time_s in times_s.items()},
                }
                for point, times_s in self.times_s.items()
            ],
        }

    def summary(self, way: WayTried) -> dict[str, float]:
        """Return the median regret of a way, the regret that nine of ten points do not exceed, and the worst."""
        regrets = self.regrets(way)
        ninth = regrets[ceil(0.9 * len(regrets)) - 1]
        return {"median_regret": median(regrets), "ninth_regret": ninth, "worst_regret": regrets[-1]}


def try_ways(
    points: Sequence[Point], by: Measured, model: Simulated, *, limit_s: float, on_done: Callable[[], object] = ignore
) -> WaysJudgement:
    """Tune in three ways, and measure their choices anew, in turns, so that no way is judged by its own samples.

    At each point, a way chooses the fastest by its own times, or the MPI's default if it has no times. The best choice
    is the fastest of all ways' choices by the new measurements. All ways choose among the algorithms that are not made
    for a topology; ways that measure also consider the MPI's default.

    Args:
        points: The calls.
        by: Settings of measurements, without a model.
        model: The simulation, for the ways that simulate; its machine is the real one.
        limit_s: Time limit for each way's measurements, and for judging.
        on_done: Called after each point, four times in all.

    Raises:
        Error: The program fails, or a result is wrong.
    """
    begun_s = by.clock()
    simulated: dict[Point, Times] = {}
    for point in points:
        simulated[point] = _simulated(point, model)
        on_done()
    ways = [WayTried("simulation", _fastest_at(simulated), by.clock() - begun_s)]
    measured = _measured(points, by, limit_s, on_done)
    ways.append(WayTried("measurement", _fastest_at(measured[0]), measured[1]))
    beside = replace(by, model=model, _ratios={}, ended={})
    both = _measured(points, beside, limit_s, on_done)
    ways.append(WayTried("both", _fastest_at(both[0]), both[1]))
    wanted = {point: sorted({way.choices[point] for way in ways}) for point in points}
    return WaysJudgement(tuple(ways), _judge(wanted, by, limit_s, on_done))


def _simulated(point: Point, model: Simulated) -> Times:
    there = candidates(of_any_machine(point), point)
    times = predicted(point, model, list(there), call_at(point))
    return {alike: one for choice, one in times.items() for alike in there[choice]}


def _measured(
    points: Sequence[Point], by: Measured, limit_s: float, on_done: Callable[[], object]
) -> tuple[dict[Point, Times], float]:
    """Return measured times of choices that rules can express (none at unreached points), and the time it took."""
    begun_s = by.clock()
    with TemporaryDirectory() as folder, Records(Path(folder) / "records", {}) as records:
        measure_points(points, (), by, records, limit_s=limit_s, on_done=on_done)
        found: dict[Point, Times] = {point: {} for point in points}
        for point, here in records.by_point.items():
            found[point] = {choice: one for choice, one in here.times.items() if choice.owner != "mpi"}
    return found, by.clock() - begun_s


def _fastest_at(times: Mapping[Point, Times]) -> dict[Point, Choice]:
    return {point: fastest(here) for point, here in times.items()}


def _judge(
    wanted: Mapping[Point, Sequence[Choice]], by: Measured, limit_s: float, on_done: Callable[[], object]
) -> dict[Point, dict[Choice, float]]:
    """Return the medians of choices, measured in turns, with at least five rounds."""
    found = {}
    share_s = limit_s / len(wanted)
    for ranks, points in groupby(sorted(wanted, key=lambda point: point.ranks), key=lambda point: point.ranks):
        with by.start(by.installation, ranks, by.launcher) as turns:
            for point in points:
                numbers = {choice: number for number, choice in enumerate(wanted[point])}
                turns.begin(point.collective, point.size_bytes, ways_of(point, numbers))
                found[point] = _medians(turns, numbers, share_s, by.clock)
                on_done()
    return found


def _medians(
    turns: Turns, numbers: Mapping[Choice, int], limit_s: float, clock: Callable[[], float]
) -> dict[Choice, float]:
    end_s = clock() + limit_s
    samples_s: dict[Choice, list[float]] = {choice: [] for choice in numbers}
    for _ in range(_MOST_TURNS):
        add_rounds(samples_s, turns, numbers)
        if clock() >= end_s:
            break
    return {choice: median(samples) for choice, samples in samples_s.items()}
