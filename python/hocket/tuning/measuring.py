"""Times by measurement: all choices of a point take turns in one program until the acceptable ones are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import inf
from statistics import median
from time import monotonic, sleep
from typing import Any, TypeAlias

from hocket._native import Error
from hocket.base.parallel import ignore
from hocket.mpi.installation import Installation
from hocket.mpi.jobs import JobEndedError
from hocket.mpi.launch import Launcher, command
from hocket.mpi.turns import Turns, Way
from hocket.tuning.candidates import call_at, candidates, of_any_machine, order_of
from hocket.tuning.choice import DEFAULT, Choice, Estimate, Point, needs_one_order, rule_of
from hocket.tuning.elimination import Race
from hocket.tuning.exporting import function_of
from hocket.tuning.guidelines import compositions
from hocket.tuning.pairing import SECOND_DEFAULT
from hocket.tuning.records import PointRecord, Records
from hocket.tuning.simulating import Simulated, predicted

_FIRST_ROUNDS = 20
_ROUNDS_AT_ONCE = 5
MOMENTS = 12
"""The number of moments for measuring choices beside the default: 6 bound a median with 95 %; a few are spare."""
_APART_S = 5.0
"""The time between moments, in seconds, if there is enough: the state of a machine may last for some seconds."""
_MOMENTS_OF_HOPE = 6
"""The number of moments after which a choice is given up if it was no faster than the default at half of them."""
_ROUNDS_AT_A_MOMENT = 40
_FAR = 1.5  # a choice slower than the fastest by this factor at both neighbouring sizes is left out between them
_WITH_SEGMENTS = ("chain", "pipeline", "split_binary_tree", "binary_tree", "binary", "binomial", "segmented_ring")
_SEGMENTS = (8192, 65536)


Choices: TypeAlias = Callable[[Point], Mapping[Choice, Sequence[Choice]]]
"""The choices to measure at a point besides the MPI's own algorithms, each with those that are equivalent to it."""


def of_the_catalogue(point: Point) -> Mapping[Choice, Sequence[Choice]]:
    """Return the catalogue's choices at a point: one of each group of equivalent choices, with its group."""
    return candidates(of_any_machine(point), point)


def of_guidelines(point: Point) -> Mapping[Choice, Sequence[Choice]]:
    """Return the compositions with which guidelines compare the default; none is equivalent to another."""
    return {choice: (choice,) for choice in compositions(point.collective)}


@dataclass
class Measured:
    """Settings of measurements."""

    installation: Installation  # the MPI
    tolerance: float  # the share by which a choice may be slower than the fastest
    launcher: Launcher = command  # returns the command that starts the program
    model: Simulated | None = None  # the simulation that tells what need not be measured, if a machine is given
    # A choice is not measured if the model predicts it to be slower than the fastest by more than this factor.
    factor: float = 4.0
    choices: Choices = of_the_catalogue  # what is measured besides the MPI's own algorithms
    # Whether reductions are measured only with algorithms that have one order, and with the default.
    order_is_fixed: bool = False
    start: Callable[[Installation, int, Launcher], Turns] = Turns  # starts the program, on a number of ranks
    clock: Callable[[], float] = monotonic  # tells the time in seconds, from any start
    wait: Callable[[float], object] = sleep  # waits for so many seconds
    _ratios: dict[str, list[float]] = field(default_factory=dict)
    _slow_at_all: dict[tuple[str, int], Mapping[Choice, str]] = field(default_factory=dict)
    ended: dict[tuple[str, Choice], str] = field(default_factory=dict)
    """The MPI's own algorithms that ended a program, by collective, with the reasons for leaving them out."""

    def choices_at(self, point: Point) -> Mapping[Choice, Sequence[Choice]]:
        """Return what is measured at a point besides the MPI's own algorithms."""
        if not needs_one_order(point.collective, self.order_is_fixed):
            return self.choices(point)
        groups = ([one for one in group if order_of(point, one)] for group in self.choices(point).values())
        return {group[0]: group for group in groups if group}

    def far_behind_at_all(self, points: Sequence[Point]) -> Mapping[Choice, str]:
        """Return the choices that the model puts far behind at all points of a row, with reasons; later rows are alike.

        An order needs times at all sizes, so nothing is left out at only some of them.
        """
        key = points[0].row
        if key not in self._slow_at_all:
            least: dict[Choice, float] = {}
            for point in points if self.model is not None else ():
                choices = [one for group in self.choices_at(point).values() for one in group]
                predictions = self.predicted_s(point, choices)
                best_s = min(predictions.values(), default=0.0)
                for choice, time_s in predictions.items():
                    least[choice] = min(least.get(choice, inf), time_s / best_s if best_s > 0 else 1.0)
            self._slow_at_all[key] = {
                choice: f"the machine predicts {ratio:.3g} times the fastest or more everywhere, above {self.factor:g}"
                for choice, ratio in least.items()
                if ratio > self.factor
            }
        return self._slow_at_all[key]

    def predicted_s(self, point: Point, choices: Sequence[Choice]) -> dict[Choice, float]:
        """Return what the model, if there is one, predicts for choices."""
        if self.model is None:
            return {}
        return {choice: one.median_s for choice, one in predicted(point, self.model, choices, call_at(point)).items()}

    def learn(self, record: PointRecord) -> None:
        """Correct the model for each algorithm by the median ratio of measured to predicted times."""
        for choice, prediction_s in record.predicted_s.items():
            if choice in record.times and prediction_s > 0:
                self._ratios.setdefault(choice.name, []).append(record.times[choice].median_s / prediction_s)

    def corrected_s(self, choice: Choice, prediction_s: float) -> float:
        """Return the model's prediction for a choice, corrected as far as possible."""
        everything = [ratio for ratios in self._ratios.values() for ratio in ratios]
        ratios = self._ratios.get(choice.name) or everything or [1.0]
        return prediction_s * median(ratios)

    def far_behind(self, predictions: Mapping[Choice, float]) -> dict[Choice, str]:
        """Return the choices that are too slow by the corrected model, with the reasons for not measuring them."""
        times_s = {choice: self.corrected_s(choice, time_s) for choice, time_s in predictions.items()}
        least_s = min(times_s.values(), default=0.0)
        return {
            choice: f"the machine predicts {time_s / least_s:.3g} times the fastest, more than {self.factor:g}"
            for choice, time_s in times_s.items()
            if time_s > self.factor * least_s > 0
        }


def measure_points(
    points: Sequence[Point],
    neighbors: Sequence[Point],
    evaluator: Measured,
    records: Records,
    *,
    limit_s: float,
    on_done: Callable[[], object] = ignore,
) -> None:
    """Measure the points that are missing or undecided in the records, and add them.

    Each point gets an equal part of the remaining time, or more if its first five rounds take longer. When the time is
    over, the remaining points are left out, but at least one point is measured. Choices that are far behind at both
    neighbours of a point (among the given ones) are also left out. An Error if the program fails, or a result is wrong.
    """
    order = {point: number for number, point in enumerate(points)}
    todo = [point for point in order if point not in records.by_point or not records.by_point[point].is_decided]
    for point in order:
        if point not in todo:
            evaluator.learn(records.by_point[point])
            on_done()
    todo.sort(key=lambda point: (point.ranks, order[point]))
    end_s = evaluator.clock() + limit_s
    left = len(todo)
    for ranks, points_together in groupby(todo, key=lambda point: point.ranks):
        with _Job(evaluator, ranks) as job:
            for point in points_together:
                if records.by_point and evaluator.clock() >= end_s:
                    return
                share_s = max(end_s - evaluator.clock(), 0.0) / left
                if needs_one_order(point.collective, evaluator.order_is_fixed):
                    hopeless = evaluator.far_behind_at_all(
                        [one for one in (*neighbors, *points) if one.row == point.row]
                    )
                else:
                    hopeless = _hopeless(point, neighbors, records)
                record = job.measure(point, hopeless, share_s)
                evaluator.learn(record)
                records.add(record)
                left -= 1
                on_done()


def pair_points(
    choices_by_point: Mapping[Point, Sequence[Choice]],
    evaluator: Measured,
    records: Records,
    *,
    limit_s: float,
    keeps_slow: bool = False,
    on_done: Callable[[], object] = ignore,
) -> None:
    """Measure choices beside the default at points, at separate moments, and add the ratios to the records.

    All points have a turn at each moment, until the time is over. Waiting between moments takes up to half of the time.
    Ratios that the records already have are not measured again. A choice that was no faster than the default at most of
    its first moments gets no more turns, unless slow choices are kept. An Error if the program fails, or a result is
    wrong.
    """
    todo = [
        point
        for point, choices in choices_by_point.items()
        if _moments(records, point) < MOMENTS or not set(choices) <= records.by_point[point].ratios.keys()
    ]
    for _ in range(MOMENTS * (len(choices_by_point) - len(todo))):
        on_done()
    end_s, left = evaluator.clock() + limit_s, MOMENTS * len(todo)
    apart_s = min(_APART_S, limit_s / (2 * MOMENTS * max(1, len({point.ranks for point in todo}))))
    for ranks, points_together in groupby(sorted(todo, key=lambda one: one.ranks), key=lambda point: point.ranks):
        points = list(points_together)
        pairs = {point: _Pairs(choices_by_point[point]) for point in points}
        with _Job(evaluator, ranks) as job:
            next_s = evaluator.clock()
            for _ in range(MOMENTS):
                evaluator.wait(max(min(next_s, end_s) - evaluator.clock(), 0.0))
                next_s = evaluator.clock() + apart_s
                for point in points:
                    if evaluator.clock() < end_s:
                        share_s = (end_s - evaluator.clock()) / left
                        pairs[point].add(job.beside_default(point, pairs[point].running(keeps_slow), share_s))
                    left -= 1
                    on_done()
        for point, record in pairs.items():
            if record.moments and record.moments >= _moments(records, point):
                records.add(record.added_to(records.by_point.get(point), point))


def _moments(records: Records, point: Point) -> int:
    return len(records.by_point[point].ratios.get(SECOND_DEFAULT, ())) if point in records.by_point else 0


class _Pairs:
    """The ratios of choices to the default at a point, at several moments."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        self._ratios: dict[Choice, list[float]] = {choice: [] for choice in (*choices, SECOND_DEFAULT)}
        self._defaults_s: list[float] = []

    @property
    def moments(self) -> int:
        """The number of moments."""
        return len(self._defaults_s)

    def running(self, keeps_slow: bool) -> list[Choice]:
        """Return the choices that get another turn."""
        return [
            choice
            for choice, ratios in self._ratios.items()
            if choice != SECOND_DEFAULT and (keeps_slow or len(ratios) < _MOMENTS_OF_HOPE or median(ratios) < 1)
        ]

    def add(self, samples_s: Mapping[Choice, Sequence[float]]) -> None:
        """Add the samples of a moment: of each choice, call by call."""
        defaults_s = samples_s[DEFAULT]
        self._defaults_s.append(median(defaults_s))
        for choice, times_s in samples_s.items():
            if choice != DEFAULT:
                self._ratios[choice].append(median(a / b for a, b in zip(times_s, defaults_s, strict=True)))

    def added_to(self, record: PointRecord | None, point: Point) -> PointRecord:
        """Return the point's record with the ratios. A new record has the default's time and counts as undecided."""
        record = record or PointRecord(point, {DEFAULT: Estimate(median(self._defaults_s), 0.0, inf)}, is_decided=False)
        return replace(record, ratios={choice: tuple(ratios) for choice, ratios in self._ratios.items()})


def _hopeless(point: Point, neighbors: Iterable[Point], records: Records) -> dict[Choice, str]:
    """Return the choices that are far behind at both neighbours of a point, with the reason."""
    alike = [p for p in neighbors if p.row == point.row and p in records.by_point]
    below = max((p for p in alike if p.size_bytes < point.size_bytes), default=None)
    above = min((p for p in alike if p.size_bytes > point.size_bytes), default=None)
    if below is None or above is None:
        return {}
    slow = []
    for times in (records.by_point[neighbour].times for neighbour in (below, above)):
        best_s = min((one.high_s for one in times.values()), default=0.0)
        slow.append({choice for choice, one in times.items() if one.low_s > _FAR * best_s and choice != DEFAULT})
    return {choice: f"more than {_FAR:g} times the fastest at both neighbouring sizes" for choice in slow[0] & slow[1]}


class _Job(AbstractContextManager["_Job"]):
    """A program that measures on a number of ranks. It is restarted if an algorithm of the MPI ends it."""

    def __init__(self, evaluator: Measured, ranks: int) -> None:
        self._evaluator, self._ranks = evaluator, ranks
        self._turns: Turns | None = None
        self._variables: list[dict[str, Any]] = []

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._turns is not None:
            self._turns.__exit__(kind)

    def measure(self, point: Point, hopeless: Mapping[Choice, str], limit_s: float) -> PointRecord:
        """Measure a point for `share_s` seconds, or longer if the minimum rounds take longer."""
        turns = self._open_turns()
        in_one_order = needs_one_order(point.collective, self._evaluator.order_is_fixed)
        alike = self._evaluator.choices_at(point)
        predictions = self._evaluator.predicted_s(point, list(alike))
        ours, own = list(alike), [] if in_one_order else own_choices(self._variables, point)
        reasons = {} if in_one_order else self._evaluator.far_behind(predictions)
        reasons |= {
            choice: hopeless[choice]
            for choice in (*ours, *own)
            if all(one in hopeless for one in alike.get(choice, (choice,)))
        }
        reasons |= {
            choice: why for (collective, choice), why in self._evaluator.ended.items() if collective == point.collective
        }
        families = [[c for c in choices if c not in reasons] for choices in (ours, own)]
        groups = [families[0], [DEFAULT]] if in_one_order else [[DEFAULT, *family] for family in families]
        race = Race(groups, tolerance=self._evaluator.tolerance)
        numbers = {choice: number for number, choice in enumerate(race.samples_s)}
        try:
            refusals = turns.begin(point.collective, point.size_bytes, ways_of(point, numbers))
        except JobEndedError as error:
            self._exclude_culprit(point, numbers, error)
            return self.measure(point, hopeless, limit_s)
        for choice, number in numbers.items():
            if number in refusals:
                race.drop(choice)
                reasons[choice] = refusals[number]
        _run(race, numbers, turns, limit_s, self._evaluator.clock)

        def all_of(choice: Choice) -> Sequence[Choice]:
            """Return a choice with its equivalents, for which its result also holds."""
            return alike.get(choice, (choice,))

        return PointRecord(
            point=point,
            times={one: race.estimates[choice] for choice in race.estimates for one in all_of(choice)},
            samples_s={choice: tuple(samples_s) for choice, samples_s in race.samples_s.items()},
            predicted_s={one: time_s for choice, time_s in predictions.items() for one in all_of(choice)},
            omissions={one: why for choice, why in reasons.items() for one in all_of(choice)},
            is_decided=race.is_decided,
        )

    def beside_default(self, point: Point, choices: Sequence[Choice], limit_s: float) -> dict[Choice, list[float]]:
        """Return samples of one moment: the default, the choices that run, and the default again, in turns."""
        numbers = {choice: number for number, choice in enumerate((DEFAULT, *choices, SECOND_DEFAULT))}
        end_s, turns = self._evaluator.clock() + limit_s, self._open_turns()
        try:
            refusals = turns.begin(point.collective, point.size_bytes, ways_of(point, numbers))
        except JobEndedError as error:
            ending = self._exclude_culprit(point, numbers, error)
            return self.beside_default(point, [choice for choice in choices if choice != ending], limit_s)
        samples_s: dict[Choice, list[float]] = {c: [] for c, number in numbers.items() if number not in refusals}
        while not samples_s[DEFAULT] or (
            self._evaluator.clock() < end_s and len(samples_s[DEFAULT]) < _ROUNDS_AT_A_MOMENT
        ):
            add_rounds(samples_s, turns, numbers)
        return samples_s

    def _open_turns(self) -> Turns:
        if self._turns is None:
            self._turns = self._evaluator.start(self._evaluator.installation, self._ranks, self._evaluator.launcher)
            self._turns.__enter__()
            self._variables = self._turns.variables()
        return self._turns

    def _exclude_culprit(self, point: Point, numbers: Mapping[Choice, int], error: Error) -> Choice:
        """Return the MPI's own algorithm that ended the program, left out after the restart; or raise the error."""
        turns = self._turns
        assert turns is not None
        self._turns = None
        turns.__exit__(type(error))
        ending = next((choice for choice, number in numbers.items() if number == turns.proving), DEFAULT)
        if ending.owner != "mpi":
            raise error
        self._evaluator.ended[point.collective, ending] = f"{point.collective} {ending} ended the program"
        return ending


def _run(race: Race, numbers: Mapping[Choice, int], turns: Turns, limit_s: float, clock: Callable[[], float]) -> None:
    """Measure until the race is decided or the time is over; each batch adds half as many samples as there are."""
    end_s, round_count, batch = clock() + limit_s, 0, _FIRST_ROUNDS
    while not race.is_decided and (not round_count or clock() < end_s):
        samples_s: dict[Choice, list[float]] = {choice: [] for choice in race.running}
        rounds = round_count + batch
        while round_count < rounds and (not round_count or clock() < end_s):
            add_rounds(samples_s, turns, numbers)
            round_count += _ROUNDS_AT_ONCE
        race.add(samples_s)
        batch = round_count // 2


def add_rounds(samples_s: Mapping[Choice, list[float]], turns: Turns, numbers: Mapping[Choice, int]) -> None:
    """Let choices take a few turns, and add their samples; `numbers` are those of the choices in the program."""
    samples = turns.rounds(_ROUNDS_AT_ONCE, [numbers[choice] for choice in samples_s])
    for choice, more in samples_s.items():
        more += samples[numbers[choice]]


def ways_of(point: Point, numbers: Mapping[Choice, int]) -> list[Way]:
    """Return the choices in the form of the measuring program."""
    return [Way(number, *_choice_names(point, choice)) for choice, number in numbers.items()]


def _choice_names(point: Point, choice: Choice) -> tuple[str, str]:
    if choice.owner == "mpi":
        return "set", ",".join(f"{name}={value}" for name, value in choice.parameters)
    if choice.owner == "composition":
        return "calls", choice.name
    return "rule", rule_of(point.collective, DEFAULT if choice == SECOND_DEFAULT else choice)


def own_choices(variables: Iterable[Mapping[str, Any]], point: Point) -> list[Choice]:
    """Return the MPI's own algorithms for a collective, as the variables that choose them.

    The variables of Open MPI's component "tuned" name their values, and some algorithms take segments; its component
    "han" has variables where it takes calls. For MPICH, the text about a variable lists the algorithms in the order of
    the values; its device, which would run them in parts of a call alone, or shared memory instead, is passed by.
    """
    name = function_of(point.collective)
    choices: list[Choice] = []
    device = f"MPIR_CVAR_{name.upper()}_DEVICE_COLLECTIVE"
    variables = list(variables)
    flat = ((device, 0),) if any(variable["name"] == device for variable in variables) else ()
    for variable in variables:
        if variable["name"] == f"coll_tuned_{name}_algorithm":
            for algorithm, value in variable["values"].items():
                choices += _of_open_mpi(variable["name"], algorithm, value, point) if value else []
        elif variable["name"] == f"coll_han_use_{name}_algorithm":
            algorithms = variable["values"].items()
            choices += [Choice("mpi", f"han @{one}", ((variable["name"], k),)) for one, k in algorithms if k]
        elif variable["name"] == f"MPIR_CVAR_{name.upper()}_INTRA_ALGORITHM":
            names = re.findall(r"^(\w+) +- ", variable["about"], re.MULTILINE)
            choices += [
                Choice("mpi", one, ((variable["name"], k), *flat)) for k, one in enumerate(names) if one != "auto"
            ]
    return choices


def _of_open_mpi(variable: str, algorithm: str, value: int, point: Point) -> list[Choice]:
    whole = Choice("mpi", algorithm, ((variable, value),))
    segments = [size for size in _SEGMENTS if algorithm in _WITH_SEGMENTS and size < point.size_bytes]
    return [whole] + [
        Choice("mpi", f"{algorithm} in segments of {size} B", (*whole.parameters, (f"{variable}_segmentsize", size)))
        for size in segments
        if point.collective in ("allreduce", "broadcast", "reduce")
    ]
