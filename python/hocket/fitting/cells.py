"""Which measurements a machine can be compared with, a part of them that is spread over all, and their simulation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median, variance
from time import monotonic
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.parallel import ProgressDisplay, ignore, no_display
from hocket.definitions.calls import prepare
from hocket.definitions.libraries import DEFAULTS
from hocket.definitions.library import Algorithm, find
from hocket.definitions.machine import Machine, shape_of_job
from hocket.fitting.skeleton import Skeleton
from hocket.measurements.measurement import DEFAULT, Measurement
from hocket.rules.tuning_files.deciding import library_decision
from hocket.simulating.effort import simulation_s
from hocket.simulating.question import Contender, Outcome, Question
from hocket.simulating.simulation import Simulation, Trials

Point: TypeAlias = "tuple[tuple[object, ...], int, int, bool]"
"""What a choice depends on: the job, how its times were measured and the collective; ranks, size, and if in place."""

Floats = NDArray[np.float64]  # values of a skeleton are their natural logarithms

_ONE_THREAD = Trials(threads=1)
_LONGEST_S = 2.0
_LONG_S, _SHARE = 0.05, 0.5  # longer cells are kept only if this share of cells includes them


@dataclass(frozen=True)
class Cell:
    """A call that was measured, and can be simulated."""

    measurement: Measurement  # with the median time, if the same call was measured several times
    algorithm: Algorithm
    call: Call  # with the parameters that the machine's torus decides
    layout: str | None  # on the torus that it is simulated on; none for the machine's own network
    effort_s: float  # of one core, about


@dataclass(frozen=True)
class Cells:
    """What of some measurements can be simulated."""

    cells: tuple[Cell, ...]  # sorted: whatever the order of lines
    defaults: dict[Point, float]  # the times of what libraries chose by themselves, in seconds
    left_out: dict[str, int]  # how many measurements cannot be simulated, by why
    noise: float | None  # the standard deviation of ln(time) of the same call, if some were measured several times

    @classmethod
    def of(cls, measurements: Iterable[Measurement], skeleton: Skeleton) -> Cells:
        """Return what can be simulated on the machines of a skeleton."""
        cells: list[Cell] = []
        usable: list[Measurement] = []
        left_out: Counter[str] = Counter()
        defaults: dict[Point, float] = {}
        machines: dict[str | None, Machine] = {}
        for one in measurements:
            with _count_omissions(left_out, one):
                usable.append(_choose(one, skeleton))
        groups = _group(usable)
        for group in groups:
            one = replace(group[0], time_s=median(each.time_s for each in group))
            if one.algorithm == DEFAULT:
                defaults[point_of(one)] = one.time_s
                continue
            with _count_omissions(left_out, one):
                layout = _layout(one, skeleton)
                if layout not in machines:
                    machines[layout] = skeleton.with_values(skeleton.middle, layout)
                cells.append(_cell(one, machines[layout], layout))
        return cls(tuple(cells), defaults, dict(left_out), _noise(groups))


def spread(cells: Sequence[Cell], most: int) -> tuple[Cell, ...]:
    """Return at most so many cells, spread over collectives, algorithms, ranks and sizes; slow ones if most are."""
    if not cells:
        return ()
    longest_s = sorted(cell.effort_s for cell in cells)[math.ceil(_SHARE * len(cells)) - 1]
    left = [cell for cell in cells if cell.effort_s <= max(longest_s, _LONG_S)]
    cells_chosen: list[Cell] = []
    counts: Counter[tuple[str, object]] = Counter()
    while left and len(cells_chosen) < most:
        best = min(range(len(left)), key=lambda number: sum(counts[mark] ** 2 for mark in _marks(left[number])))
        counts.update(_marks(left[best]))
        cells_chosen.append(left.pop(best))
    return tuple(sorted(cells_chosen, key=lambda cell: _order(cell.measurement)))


def _marks(cell: Cell) -> list[tuple[str, object]]:
    """Return properties of a cell. Cells whose properties are rare among the chosen cells are chosen first."""
    one = cell.measurement
    program = one.collective, one.algorithm
    return [
        ("program", program),
        ("size", one.size_bytes.bit_length()),
        ("ranks", one.ranks),
        ("size of program", (program, one.size_bytes.bit_length())),
        ("ranks of program", (program, one.ranks)),
    ]


@contextmanager
def _count_omissions(left_out: Counter[str], one: Measurement) -> Iterator[None]:
    """Count a measurement that cannot be simulated, by why."""
    try:
        yield
    except Error as error:
        program = f"{one.collective} {one.algorithm}"
        left_out[f"{program}: {str(error).removeprefix(f'{program} ')}"] += 1


def _choose(one: Measurement, skeleton: Skeleton) -> Measurement:
    """Return a measurement of a library with the algorithm that it chooses for the call, if that has a counterpart."""
    if one.algorithm not in DEFAULTS:
        return one
    on_node = one.ranks_per_node or skeleton.ranks_per_node
    default_choice = library_decision(one.algorithm, one.collective, one.call, ranks_per_node=on_node)
    if default_choice.equivalent is None:
        raise Error(default_choice.sentence)
    algorithm, call = default_choice.equivalent
    return replace(one, algorithm=algorithm.name, parameters=dict(call.parameters))


def _group(measurements: Iterable[Measurement]) -> list[list[Measurement]]:
    """Return the measurements of each call, in a fixed order."""
    return [[*group] for _, group in groupby(sorted(measurements, key=_order), lambda one: _order(one)[:-2])]


def _noise(groups: Iterable[Sequence[Measurement]]) -> float | None:
    """Return the standard deviation of ln(time) of the same call, if there are calls with several times."""
    several = [[math.log(one.time_s) for one in group] for group in groups if len(group) > 1]
    if not several:
        return None
    squares = sum(variance(logs) * (len(logs) - 1) for logs in several)
    return math.sqrt(squares / sum(len(logs) - 1 for logs in several))


def _order(one: Measurement) -> tuple[object, ...]:
    what = *_job(one), one.label, one.ranks, one.size_bytes, one.in_place
    return (*what, one.ranks_per_node or 0, one.element_bytes, one.time_s, one.source)


def point_of(one: Measurement) -> Point:
    """Return where a measurement competes with those of other algorithms."""
    return _job(one), one.ranks, one.size_bytes, one.in_place


def _job(one: Measurement) -> tuple[object, ...]:
    """Return what all times that are compared have in common, with the collective."""
    network = one.dims or (), one.layout
    return one.system, one.library, one.buffers, *network, one.measured_as, one.collective


def _layout(one: Measurement, skeleton: Skeleton) -> str | None:
    """Return how a measured job lies on the torus of the machine, if that has one."""
    if one.ranks_per_node not in (None, skeleton.ranks_per_node):
        raise Error(f"{one.ranks_per_node} ranks per node, expected {skeleton.ranks_per_node} as on the machine")
    own = skeleton.layout
    if own is None:
        if skeleton.room is not None and one.ranks > skeleton.room:
            raise Error(f"{one.ranks} ranks, expected at most {skeleton.room}, the ranks that the network holds")
        return None
    is_own = not one.layout and one.dims in (None, shape_of_job(own))
    layout = own if is_own else one.layout or ", ".join(map(str, one.dims or ()))
    if math.prod(shape_of_job(layout)) * skeleton.ranks_per_node != one.ranks:
        torus = layout.replace(", ", "x")
        raise Error(f"{one.ranks} ranks, expected as many as the torus {torus} holds")
    return layout


def _cell(one: Measurement, machine: Machine, layout: str | None) -> Cell:
    """Return a measurement as a cell."""
    algorithm = find(f"{one.collective}/{one.algorithm}")
    call = replace(one.call, parameters=prepare(algorithm, one.call, machine).values())
    effort_s = simulation_s(algorithm, call, machine=machine, measured_as=one.measured_as)
    if effort_s > _LONGEST_S:
        raise Error("simulations that would take too long")
    return Cell(one, algorithm, call, layout, effort_s)


class TimeOverError(Exception):
    """The time that was allowed is over."""


@dataclass
class Simulator:
    """Who simulates cells."""

    skeleton: Skeleton  # the machine without values
    executor: Executor
    until_s: float  # by the clock of `time.monotonic`
    on_done: Callable[[], object]  # called when a simulation is done
    display: ProgressDisplay = no_display  # shows the progress of each stage
    _advance: Callable[[], object] = ignore

    @contextmanager
    def stage(self, label: str, simulations: int) -> Iterator[None]:
        """Show the progress of the simulations that are done inside."""
        with self.display(label, simulations) as self._advance:
            try:
                yield
            finally:
                self._advance = ignore

    def times_s(self, points: Sequence[Floats], cells: Sequence[Cell]) -> Floats:
        """Return simulated times above zero, a row for each point and a column for each cell, or a TimeOverError."""
        layouts = {cell.layout for cell in cells}
        values = [np.exp(point).tolist() for point in points]
        machines = [{layout: self.skeleton.with_values(each, layout) for layout in layouts} for each in values]
        return self.times_on(machines, cells)

    def times_on(self, machines: Sequence[Mapping[str | None, Machine]], cells: Sequence[Cell]) -> Floats:
        """Return the times as `times_s` does, a row for each set of machines, by the layout of cells."""
        if monotonic() > self.until_s:
            raise TimeOverError

        def report_done(*_: object) -> None:
            self.on_done()
            self._advance()
            if monotonic() > self.until_s:
                raise TimeOverError

        contenders = [
            Contender(row, one.algorithm, one.call, of_layout[one.layout], "beside", one.measurement.measured_as)
            for row, of_layout in enumerate(machines)
            for one in cells
        ]
        question = Question(next(iter(machines[0].values())), contenders, trials=_ONE_THREAD)
        answers = question.answer(report_done, executor=self.executor)
        times_s = [_time_s(answer.outcome, cells[answer.number % len(cells)]) for answer in answers]
        return np.asarray(times_s).reshape(len(machines), len(cells))


def _time_s(outcome: Outcome, cell: Cell) -> float:
    """Return the time of a cell; raise an error if it was refused or takes none."""
    if not isinstance(outcome, Simulation):
        raise Error(str(outcome))
    if outcome.time_s.mean <= 0:
        what = f"{cell.measurement.source}: {cell.algorithm.label} takes no time on machine {outcome.machine}"
        raise Error(f"{what}, expected a latency, an overhead or bytes")
    return outcome.time_s.mean
