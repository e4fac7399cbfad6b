"""Times by simulation, for machines that need not exist here."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.parallel import ignore
from hocket.definitions.calls import algorithms_for
from hocket.definitions.libraries import BY_MACHINE, DEFAULTS
from hocket.definitions.library import Algorithm, algorithms, unit_bytes
from hocket.definitions.machine import Machine
from hocket.definitions.variants import quiet
from hocket.rules.tuning_files.deciding import library_decision, switches
from hocket.simulating.question import Answer, Contender, Question
from hocket.simulating.simulation import ONE_TRIAL, Simulation, Trials, simulate
from hocket.tuning.candidates import algorithm_of, call_at, choice_with_values, of_library, order_of, with_choice
from hocket.tuning.choice import DEFAULT, Choice, Estimate, Point, needs_one_order
from hocket.tuning.records import PointRecord, Records

_POINTS_AT_ONCE = 64  # rows of so many points are simulated together, before others begin

NOISY_TRIALS = 64  # the default number of trials on a machine with noise


def usual_trials(machine: Machine) -> Trials:
    """Return the default number of trials on a machine."""
    return Trials(NOISY_TRIALS if machine.is_random else 1)


@dataclass(frozen=True)
class Simulated:
    """Settings of simulations."""

    machine: Machine
    trials: Trials = ONE_TRIAL  # the trials on a machine with noise
    # The library to tune: only its algorithms are tried, including its default choice if known. None tries the whole
    # catalogue.
    library: str | None = None
    order_is_fixed: bool = False  # whether results of reductions must not depend on the size

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
        return self.machine.is_random or has_order

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

    def _library_at(self, point: Point) -> str | None:
        """Return the library, if its default choices are known, perhaps only on some machines."""
        is_known = self.library in (*DEFAULTS, *BY_MACHINE) and point.ranks > 0  # the simulation refuses other calls
        return self.library if is_known else None

    def _switches(self, point: Point) -> tuple[int, ...]:
        if library := self._library_at(point):
            with suppress(Error):
                return switches(library, point.collective, call_at(point), machine=self.machine)
        return ()

    def default(self, point: Point) -> tuple[Algorithm, Call] | None:
        """Return the library's default choice in the call of a point, if it is known and has an equivalent."""
        if library := self._library_at(point):
            return library_decision(library, point.collective, call_at(point), machine=self.machine).equivalent
        return None

    def estimate(self, algorithm: Algorithm, call: Call) -> Estimate:
        """Return the time of a call, which the algorithm or the machine may refuse."""
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
    them, and then simulated, soon after the rows before it. `on_done` is called twice for each point. Ranks for which
    the machine has no room are refused.
    """
    missing = [point for point in points if point not in records.by_point]
    for _ in range(2 * (len(points) - len(missing))):
        on_done()
    choices: dict[tuple[str, int], set[Choice]] = defaultdict(set)
    for one in records.select((*points, *neighbors)):
        choices[one.point.row] |= one.times.keys() - {DEFAULT}
    some: list[Point] = []
    rows = [list(row) for _, row in groupby(missing, key=attrgetter("row"))]
    for number, row in enumerate(rows, start=1):
        some += row
        if len(some) >= _POINTS_AT_ONCE or number == len(rows):
            fast = choices_of_rows([(point, call_at(point)) for point in some], evaluator, executor, on_done)
            _simulate_choices(
                some, {row: choices[row] | fast[row] for row in fast}, evaluator, records, executor, on_done
            )
            some = []


def choices_of_rows(
    calls: Sequence[tuple[Point, Call]],
    evaluator: Simulated,
    executor: Executor | None,
    on_done: Callable[[], object] = ignore,
) -> dict[tuple[str, int], set[Choice]]:
    """Return the fast choices of all calls of each row of points.

    These are the fastest choices of each call, and those that are kept though they are slower. Each algorithm has the
    parameters with which a search finds it fastest. `on_done` is called after each call.
    """
    machine = quiet(evaluator.machine) or evaluator.machine
    cells = [
        Contender(row, algorithm, call, role="ends" if evaluator.keeps(point, algorithm) else "races")
        for row, (point, template) in enumerate(calls)
        for algorithm, call in evaluator.calls(point, template)
    ]
    left = Counter(cell.row for cell in cells)

    def note(answer: Answer) -> None:
        row = cells[answer.number].row
        left[row] -= 1
        if not left[row]:
            on_done()

    choices: dict[tuple[str, int], set[Choice]] = {point.row: set() for point, _ in calls}
    times_s: dict[int, dict[Choice, float]] = defaultdict(dict)
    for answer in Question(machine, cells, at_best=True, places=1).answer(note, executor=executor):
        cell = cells[answer.number]
        if isinstance(answer.outcome, Simulation):
            choice = choice_with_values(cell.algorithm, answer.call, cell.call.parameters)
            times_s[cell.row][choice] = answer.outcome.time_s.mean
            if cell.role == "ends":
                choices[calls[cell.row][0].row].add(choice)
    for row, times in times_s.items():
        choices[calls[row][0].row] |= {choice for choice, time_s in times.items() if time_s == min(times.values())}
    return choices


def _simulate_choices(
    points: Sequence[Point],
    choices: Mapping[tuple[str, int], set[Choice]],
    evaluator: Simulated,
    records: Records,
    executor: Executor | None,
    on_done: Callable[[], object],
) -> None:
    """Simulate the choices of a row at all its points, and the library's default; add the points to the records."""
    names: list[tuple[Point, Choice]] = []
    cells: list[Contender] = []
    for row, point in enumerate(points):
        own = {choice: with_choice(choice, call_at(point)) for choice in sorted(choices[point.row])}
        names += [(point, choice) for choice in own]
        cells += [Contender(row, algorithm_of(point, choice), call, role="beside") for choice, call in own.items()]
        if (default := evaluator.default(point)) is not None:
            names.append((point, DEFAULT))
            cells.append(Contender(row, *default, role="beside"))
    left = Counter(point for point, _ in names)
    times: dict[Point, dict[Choice, Estimate]] = defaultdict(dict)
    waiting = deque(points)

    def note(answer: Answer) -> None:
        point, choice = names[answer.number]
        left[point] -= 1
        if isinstance(answer.outcome, Simulation):
            time_s = answer.outcome.time_s
            times[point][choice] = Estimate(time_s.mean, *time_s.interval)
        while waiting and not left[waiting[0]]:
            records.add(_record_of(waiting.popleft(), times, evaluator))
            on_done()

    Question(evaluator.machine, cells, trials=evaluator.trials).answer(note, executor=executor)
    for point in waiting:
        records.add(_record_of(point, times, evaluator))


def _record_of(point: Point, times: Mapping[Point, Mapping[Choice, Estimate]], evaluator: Simulated) -> PointRecord:
    if not times.get(point, {}).keys() - {DEFAULT}:
        simulate(algorithms(point.collective)[0], call_at(point), machine=evaluator.machine)
    ordered = sorted(times[point].items(), key=lambda pair: (pair[0] != DEFAULT, pair[0]))
    return PointRecord(point, dict(ordered), is_simulated=True)


def predicted(point: Point, evaluator: Simulated, choices: Iterable[Choice], call: Call) -> dict[Choice, Estimate]:
    """Return the times of catalogue choices in a call at a point, without refusals."""
    times = {}
    for choice in choices:
        with suppress(Error):
            times[choice] = evaluator.estimate(algorithm_of(point, choice), with_choice(choice, call))
    return times
