"""Times by simulation, for machines that need not exist here."""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.parallel import do_all, ignore
from hocket.base.processors import processors
from hocket.base.results import Later
from hocket.definitions.calls import estimate_s
from hocket.definitions.libraries import BY_MACHINE, DEFAULTS
from hocket.definitions.library import Algorithm, algorithms, unit_bytes
from hocket.definitions.machine import Machine, algorithms_for
from hocket.definitions.variants import quiet
from hocket.rules.tuning_files.deciding import library_decision, switches
from hocket.simulating.best import choose, search
from hocket.simulating.simulation import ONE_TRIAL, Statistics, Trials, simulate, simulate_until
from hocket.tuning.candidates import algorithm_of, call_at, choice_with_values, of_library, order_of, with_choice
from hocket.tuning.choice import DEFAULT, Choice, Estimate, Point, needs_one_order
from hocket.tuning.records import PointRecord, Records

_TASKS_PER_WORKER = 4

_Task: TypeAlias = "tuple[Point, Sequence[Choice] | None]"
"""A point, and what to simulate there; None where that must be searched for."""

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
        order_is_fixed: Whether results of reductions must not depend on the size.
    """

    machine: Machine
    trials: Trials = ONE_TRIAL
    library: str | None = None
    order_is_fixed: bool = False

    def calls(self, point: Point, call: Call) -> Iterator[tuple[Algorithm, Call]]:
        """Give the algorithms to try in a call at a point, each with the parameters that stay as they are."""
        if self.library is None:
            yield from ((each, call) for each in algorithms_for(self.machine, algorithms(point.collective)))
            return
        for algorithm, fixed in of_library(self.library, point, self.machine):
            yield algorithm, replace(call, parameters=fixed)

    def keeps(self, point: Point, algorithm: Algorithm) -> bool:
        """Return whether an algorithm that is slower at a point alone, without noise, may decide a row of points."""
        is_in_one_order = needs_one_order(point.collective, self.order_is_fixed)
        has_order = is_in_one_order and order_of(point, Choice("catalogue", algorithm.name)) is not None
        return bool(self.machine.noise) or has_order

    def switches(self, points: Iterable[Point]) -> Iterator[Point]:
        """Give the sizes before and at which the library's default changes, between the least and the largest point."""
        for (collective, ranks), row in groupby(sorted(points), key=attrgetter("row")):
            sizes = [point.size_bytes for point in row]
            unit = unit_bytes(collective, ranks)
            for switch in self._switches(Point(collective, ranks, sizes[0])):
                first = -(-switch // unit) * unit
                if sizes[0] < first < sizes[-1]:
                    yield Point(collective, ranks, first - unit)
                    yield Point(collective, ranks, first)

    @property
    def library_with_default(self) -> str | None:
        """The library, if its default choices are known, perhaps only on some machines."""
        return self.library if self.library in (*DEFAULTS, *BY_MACHINE) else None

    def _switches(self, point: Point) -> tuple[int, ...]:
        library = self.library_with_default
        if library is not None and point.ranks > 0:  # the simulation refuses other calls
            with suppress(Error):
                return switches(library, point.collective, call_at(point), machine=self.machine)
        return ()

    def estimate(self, algorithm: Algorithm, call: Call) -> Estimate:
        """Return the time of a call.

        Raises:
            Error: The algorithm or the machine refuses it.
        """
        time_s = simulate(algorithm, call, machine=self.machine, trials=self.trials).time_s
        return Estimate(time_s.mean, *time_s.interval)


def simulate_points(
    points: Sequence[Point],
    neighbors: Sequence[Point],
    evaluator: Simulated,
    records: Records,
    *,
    executor: Executor | None = None,
    on_done: Callable[[], object] = ignore,
) -> None:
    """Simulate points that the records do not have yet, and add them in their order, whichever are done first.

    Each point has the times of the fast choices of all points of its row, also of neighbours. A row is searched for
    them, and then simulated, soon after the rows before it. `on_done` is called twice for each point.

    Raises:
        Error: The machine has no room for the ranks.
    """
    missing = deque(point for point in points if point not in records.by_point)
    for _ in range(2 * (len(points) - len(missing))):
        on_done()
    rows: dict[tuple[str, int], list[Point]] = defaultdict(list)
    for point in missing:
        rows[point.row].append(point)
    choices: dict[tuple[str, int], set[Choice]] = defaultdict(set)
    for one in records.select((*points, *neighbors)):
        choices[one.point.row] |= one.times.keys() - {DEFAULT}
    search_counts = Counter[tuple[str, int]]()
    records_ahead: dict[Point, PointRecord] = {}
    waiting = iter(rows.values())
    first_tasks: list[_Task] = []
    while len(first_tasks) < _TASKS_PER_WORKER * getattr(executor, "_max_workers", processors()) and (
        row := next(waiting, ())
    ):
        first_tasks += [(point, None) for point in row]

    def more(task: _Task, result: set[Choice] | PointRecord) -> Iterable[_Task]:
        on_done()
        point = task[0]
        if isinstance(result, PointRecord):
            records_ahead[point] = result
            while missing and missing[0] in records_ahead:
                records.add(records_ahead.pop(missing.popleft()))
            return
        choices[point.row] |= result
        search_counts[point.row] += 1
        if search_counts[point.row] == len(rows[point.row]):
            yield from ((each, sorted(choices[point.row])) for each in rows[point.row])
            yield from ((each, None) for each in next(waiting, ()))

    do_all(partial(_do, evaluator=evaluator), first_tasks, executor=executor, more=more)


def _do(task: _Task, evaluator: Simulated) -> set[Choice] | PointRecord:
    """Search for the fast choices of a point, or simulate those of its row."""
    point, choices = task
    call = call_at(point)
    return _fast_choices((point, call), evaluator) if choices is None else _record_of(point, call, choices, evaluator)


def choices_of_rows(
    calls: Sequence[tuple[Point, Call]], evaluator: Simulated, *, executor: Executor | None
) -> dict[tuple[str, int], set[Choice]]:
    """Return the fast choices of all calls of each row of points."""
    choices: dict[tuple[str, int], set[Choice]] = defaultdict(set)
    results = do_all(partial(_fast_choices, evaluator=evaluator), calls, executor=executor)
    for (point, _), some in zip(calls, results, strict=True):
        choices[point.row] |= some
    return choices


@dataclass(frozen=True)
class _CallTime:
    """A call with its time."""

    call: Call
    time_s: Statistics


def _fast_choices(at: tuple[Point, Call], evaluator: Simulated) -> set[Choice]:
    """Return the fastest choices in a call at a point, and those that are kept though they are slower.

    Each algorithm has the parameters with which a search finds it fastest. A simulation ends when it is later than the
    fastest so far.
    """
    point, template = at
    machine = quiet(evaluator.machine) or evaluator.machine

    def likely_s(candidate: tuple[Algorithm, Call]) -> float:
        algorithm, call = candidate
        return estimate_s(algorithm, choose(algorithm, call, machine), machine)

    times_s: dict[Choice, float] = {}
    kept_choices: set[Choice] = set()
    least_s = math.inf
    for algorithm, call in sorted(evaluator.calls(point, template), key=likely_s):
        is_kept = evaluator.keeps(point, algorithm)
        run = partial(_run, algorithm, machine)
        try:
            result = search(algorithm, call, machine=machine, run=run, until_s=math.inf if is_kept else least_s)
        except Error:
            continue  # it refuses the call
        if isinstance(result, Later):
            continue
        choice = choice_with_values(algorithm, result.call, call.parameters)
        times_s[choice] = result.time_s.mean
        least_s = min(least_s, result.time_s.mean)
        kept_choices |= {choice} if is_kept else set()
    return kept_choices | {choice for choice, time_s in times_s.items() if time_s == least_s}


def _run(algorithm: Algorithm, machine: Machine, call: Call, until_s: float) -> _CallTime | Later:
    result = simulate_until(algorithm, call, machine=machine, until_s=until_s)
    return result if isinstance(result, Later) else _CallTime(call, result.time_s)


def predicted(point: Point, evaluator: Simulated, choices: Iterable[Choice], call: Call) -> dict[Choice, Estimate]:
    """Return the times of catalogue choices in a call at a point, without refusals."""
    times = {}
    for choice in choices:
        with suppress(Error):
            times[choice] = evaluator.estimate(algorithm_of(point, choice), with_choice(choice, call))
    return times


def _record_of(point: Point, call: Call, choices: Sequence[Choice], evaluator: Simulated) -> PointRecord:
    times = predicted(point, evaluator, choices, call)
    if not times:
        simulate(algorithms(point.collective)[0], call, machine=evaluator.machine)
    return PointRecord(point, {**_default_times(point, evaluator), **times}, is_simulated=True)


def _default_times(point: Point, evaluator: Simulated) -> dict[Choice, Estimate]:
    """Return the time of the library's default choice, if known."""
    library = evaluator.library_with_default
    if library is None:
        return {}
    choice = library_decision(library, point.collective, call_at(point), machine=evaluator.machine).equivalent
    return {} if choice is None else {DEFAULT: evaluator.estimate(*choice)}
