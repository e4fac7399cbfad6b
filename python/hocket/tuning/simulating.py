"""Times by simulation, for machines that need not exist here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.parallel import do_all, ignore
from hocket.definitions.libraries import DEFAULTS
from hocket.definitions.library import Algorithm, algorithms, unit_bytes
from hocket.definitions.machine import Machine, algorithms_for
from hocket.rules.tuning_files.deciding import library_decision, switches
from hocket.simulating.simulation import ONE_TRIAL, Trials, simulate
from hocket.tuning.candidates import algorithm_of, call_at, candidates, of_catalogue, of_library
from hocket.tuning.choice import DEFAULT, Choice, Estimate, Point
from hocket.tuning.records import PointRecord, Records

NOISY_TRIALS = 64
"""The default number of trials on a machine with noise."""


def usual_trials(machine: Machine) -> Trials:
    """Return the default number of trials on a machine."""
    return Trials(NOISY_TRIALS if machine.noise else 1)


@dataclass(frozen=True)
class Simulated:
    """Settings of simulations.

    Attributes:
        machine: The machine.
        trials: The trials on a machine with noise.
        library: The library to tune: only its algorithms are tried, including its default choice if known. None tries
            the whole catalogue.
    """

    machine: Machine
    trials: Trials = ONE_TRIAL
    library: str | None = None

    def choices(self, point: Point) -> Iterator[Choice]:
        """Give the choices to try at a point."""
        if self.library is not None:
            return of_library(self.library, point)
        return of_catalogue(algorithms_for(self.machine, algorithms(point.collective)), point)

    def switches(self, points: Iterable[Point]) -> Iterator[Point]:
        """Give the sizes before and at which the library's default changes, between the least and the largest point."""
        for (collective, ranks), row in groupby(sorted(points), key=lambda point: (point.collective, point.ranks)):
            sizes = [point.size_bytes for point in row]
            unit = unit_bytes(collective, ranks)
            for switch in self._switches(Point(collective, ranks, sizes[0])):
                first = -(-switch // unit) * unit
                if sizes[0] < first < sizes[-1]:
                    yield Point(collective, ranks, first - unit)
                    yield Point(collective, ranks, first)

    def _switches(self, point: Point) -> tuple[int, ...]:
        if self.library not in DEFAULTS or point.ranks < 1:  # the simulation refuses such a call
            return ()
        return switches(self.library, point.collective, call_at(algorithms(point.collective)[0], DEFAULT, point))

    def estimate(self, algorithm: Algorithm, call: Call) -> Estimate:
        """Return the time of a call.

        Raises:
            Error: The algorithm or the machine refuses it.
        """
        time_s = simulate(algorithm, call, machine=self.machine, trials=self.trials).time_s
        return Estimate(time_s.mean, *time_s.interval)


def simulate_points(
    points: Sequence[Point],
    evaluator: Simulated,
    records: Records,
    *,
    executor: Executor | None = None,
    on_done: Callable[[], object] = ignore,
) -> None:
    """Simulate every choice at every point that the records do not have yet, and add the points.

    Raises:
        Error: The machine has no room for the ranks.
    """
    missing = [point for point in points if point not in records.by_point]
    for _ in range(len(points) - len(missing)):
        on_done()

    def keep(_: Point, record: PointRecord) -> None:
        records.add(record)
        on_done()

    do_all(partial(_record_of, evaluator=evaluator), missing, executor=executor, on_done=keep)


def predicted(
    point: Point, evaluator: Simulated, choices: Sequence[Choice], template: Call | None = None
) -> dict[Choice, Estimate]:
    """Return the times of catalogue choices in a call, similar to a given one if there is one, without refusals."""
    times = {}
    for choice in choices:
        algorithm = algorithm_of(point, choice)
        with suppress(Error):
            times[choice] = evaluator.estimate(algorithm, call_at(algorithm, choice, point, template))
    return times


def _record_of(point: Point, evaluator: Simulated) -> PointRecord:
    candidate_choices = candidates(evaluator.choices(point), point, machine=evaluator.machine)
    times = predicted(point, evaluator, list(candidate_choices.alike))
    if not times:
        algorithm = algorithms(point.collective)[0]
        simulate(algorithm, call_at(algorithm, Choice("catalogue", algorithm.name), point), machine=evaluator.machine)
    times_of_all = {alike: one for choice, one in times.items() for alike in candidate_choices.alike[choice]}
    return PointRecord(point, {**_default_times(point, evaluator), **times_of_all}, is_simulated=True)


def _default_times(point: Point, evaluator: Simulated) -> dict[Choice, Estimate]:
    """Return the time of the library's default choice, if known."""
    if evaluator.library not in DEFAULTS:
        return {}
    template = call_at(algorithms(point.collective)[0], DEFAULT, point)
    choice = library_decision(evaluator.library, point.collective, template).equivalent
    return {} if choice is None else {DEFAULT: evaluator.estimate(*choice)}
