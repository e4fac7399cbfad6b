"""Questions: many calls of many algorithms on a machine, planned and simulated together in the compiled module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call, MeasuredAs
from hocket.base.parallel import do_all, ignore
from hocket.base.processors import processors, room_for_threads
from hocket.base.results import ORPHANS, Later
from hocket.definitions.calls import request_of
from hocket.definitions.library import Algorithm
from hocket.definitions.machine import Machine, ratio_of
from hocket.definitions.variants import quiet
from hocket.simulating.scenes import NO_SCENE, Scene
from hocket.simulating.simulation import ONE_TRIAL, Detail, Engine, Simulation, Trials, how_request, plan, simulation_of

Outcome: TypeAlias = Simulation | Later | str
"""The simulation of a cell; that it is later than its deadline; or why it was refused."""
_Row: TypeAlias = Mapping[str, Any] | str | float | bool


@dataclass(frozen=True)
class Contender:
    """A call of an algorithm."""

    row: int  # cells of a row compete
    algorithm: Algorithm
    call: Call  # the parameters that it sets stay
    machine: Machine | None = None  # if another than that of the question
    # It "races" and ends when it cannot come in, it "ends" in any case, or it is simulated "beside" the others, with
    # the default values of parameters, or with those chosen "by formula".
    role: Literal["races", "ends", "beside", "by formula"] = "races"
    measured_as: MeasuredAs | None = None  # likewise, as the scene
    scene: Scene | None = None


@dataclass(frozen=True)
class Answer:
    """What became of a cell of this number in the question; its call has the values that were chosen, if any were."""

    number: int
    outcome: Outcome
    call: Call


@dataclass(frozen=True)
class Question:
    """What is to be simulated."""

    machine: Machine
    cells: Sequence[Contender]
    engine: Engine = "auto"
    measured_as: MeasuredAs = "isolated"
    scene: Scene = NO_SCENE
    trials: Trials = ONE_TRIAL
    keep: Sequence[Detail] = ()  # of the first trial of each simulation
    at_best: bool = False  # search values of parameters by simulations, instead of by formulas
    # If only so many places of a row matter, an isolated call without noise ends when it cannot come in. On a machine
    # with discrepancies it also goes on while it can share the first place.
    places: int | None = None

    def answer(
        self,
        on_done: Callable[[Answer], object] = ignore,
        *,
        on_efforts: Callable[[Sequence[float]], object] | None = None,
        executor: Executor | None = None,
    ) -> list[Answer]:
        """Simulate; return the answer of each cell, and call `on_done` with it.

        Before the first simulation, `on_efforts` gets estimates of the seconds of one core for each cell; 0 if unknown,
        or if it will probably not be simulated. The executor has threads by default; others get the work by rows.
        """
        is_local = executor is None or isinstance(executor, ThreadPoolExecutor)
        if is_local or on_efforts is not None:
            most = executor._max_workers if isinstance(executor, ThreadPoolExecutor) else processors()
            threads = room_for_threads(most)
            if on_efforts is not None:
                on_efforts(self._handle.efforts_s(threads))
            if is_local:
                return self._handle.answer(on_done, threads)
        rows: dict[int, list[int]] = {}
        for number, cell in enumerate(self.cells):
            rows.setdefault(cell.row, []).append(number)
        answers: dict[int, Answer] = {}

        def note(part: tuple[list[int], Question], some: list[Answer]) -> None:
            for number, answer in zip(part[0], some, strict=True):
                answers[number] = replace(answer, number=number)
                on_done(answers[number])

        parts = [
            (numbers, replace(self, cells=[self.cells[number] for number in numbers])) for numbers in rows.values()
        ]
        do_all(_answer_part, parts, executor=executor, on_done=note)
        return [answers[number] for number in range(len(self.cells))]

    def conditions_of(self, cell: Contender) -> tuple[Machine, Scene, MeasuredAs]:
        """Return where and how a cell is simulated: its own conditions, or else those of the question."""
        return cell.machine or self.machine, cell.scene or self.scene, cell.measured_as or self.measured_as

    def efforts_s(self) -> list[float]:
        """Return estimates of the seconds of one core for each cell, as `on_efforts` of `answer` receives them."""
        return self._handle.efforts_s(1)

    @cached_property
    def _handle(self) -> _Handle:
        return _Handle(self)


def choose(algorithm: Algorithm, call: Call, machine: Machine) -> Call:
    """Return a call with the values that the formula of the algorithm chooses, for the parameters that it does not set.

    Sizes of segments are automatic, rounded to powers of two. Switches and counts of ranks have the values with the
    least time. The formula knows no contention: where messages meet, other values can be faster.
    """
    settings = _Handle(Question(machine, [Contender(0, algorithm, call)])).native.settings()
    return replace(call, parameters=dict(settings[0])) if settings else call


def _answer_part(part: tuple[list[int], Question]) -> list[Answer]:
    return _Handle(part[1]).answer(ignore, 1)


class _Handle:
    """A question in the compiled module."""

    def __init__(self, question: Question) -> None:
        """Pass it on; calls that are refused here stay here."""
        self._question, self._answers = question, dict[int, Answer]()
        self._own: dict[int, _Own] = {}
        self._numbers: list[int] = []
        kinds = question.machine.discrepancies
        conditions: list[tuple[_native.Machine, dict[str, Any]]] = []
        numbers: dict[tuple[int, int, str], int] = {}

        def number_of(machine: Machine, scene: Scene, measured_as: MeasuredAs) -> int:
            key = id(machine), id(scene), measured_as
            if key not in numbers:
                how = how_request(machine, question.engine, measured_as, scene, question.trials, question.keep)
                conditions.append((machine.handle, how))
                numbers[key] = len(numbers)
            return numbers[key]

        number_of(question.machine, question.scene, question.measured_as)
        requests = []
        for number, cell in enumerate(question.cells):
            collective, call = cell.algorithm.collective, cell.call
            try:
                request, own = request_of(cell.algorithm, call)
                conditions_number = number_of(*question.conditions_of(cell))
            except Error as error:
                self._answers[number] = Answer(number, str(error), call)
                continue
            if own is not None:
                self._own[number] = _Own(question, cell)
            self._numbers.append(number)
            requests.append(
                {
                    "row": cell.row,
                    "call": request,
                    "own": own and (own["parameters"], self._own[number]),
                    "conditions": conditions_number,
                    "role": cell.role,
                    "alike": ratio_of(kinds, collective, call.size_bytes, ranks=call.ranks),
                }
            )
        self.native = _native.Question(conditions, requests, question.at_best, question.places)

    def efforts_s(self, threads: int) -> list[float]:
        efforts_s = dict(zip(self._numbers, self.native.efforts_s(threads), strict=True))
        return [efforts_s.get(number, 0.0) for number in range(len(self._question.cells))]

    def answer(self, on_done: Callable[[Answer], object], threads: int) -> list[Answer]:
        is_over = False
        for answer in self._answers.values():
            on_done(answer)

        def note(at: int, row: _Row, settings: Iterable[tuple[str, float | str]] | None) -> None:
            if not is_over:
                answer = self._answer(self._numbers[at], row, settings)
                self._answers[answer.number] = answer
                on_done(answer)

        try:
            self.native.answer(note, threads)
        except KeyboardInterrupt:
            ORPHANS.extend(self._own)
            raise
        finally:
            is_over = True
        return [self._answers[number] for number in range(len(self._question.cells))]

    def _answer(self, number: int, row: _Row, settings: Iterable[tuple[str, float | str]] | None) -> Answer:
        cell = self._question.cells[number]
        if row is True:
            return Answer(number, *self._own[number].result)
        if isinstance(row, (str, float)):
            return Answer(number, Later(row) if isinstance(row, float) else row, cell.call)
        assert isinstance(row, Mapping)
        assert settings is not None
        simulation = simulation_of(row, self._question.conditions_of(cell)[0])
        return Answer(number, simulation, replace(cell.call, parameters=dict(settings)))


class _Own:
    """Runs a program of the user with values of its parameters, and keeps the fastest run."""

    def __init__(self, question: Question, cell: Contender) -> None:
        self._question, self._cell = question, cell
        self._run_alone: tuple[Simulation, Call] | None = None
        self._whole_run: tuple[Simulation, Call] | None = None

    @property
    def result(self) -> tuple[Simulation, Call]:
        """The run that was asked for, or else the fastest isolated one."""
        run = self._whole_run or self._run_alone
        assert run is not None
        return run

    @cached_property
    def _quiet_machine(self) -> Machine:
        machine, _, _ = self._question.conditions_of(self._cell)
        return quiet(machine) or machine

    def __call__(self, settings: Iterable[tuple[str, int | str]], until_s: float, is_alone: bool) -> float | None:
        """Return the time of a run; None if it is later than the deadline."""
        question, algorithm = self._question, self._cell.algorithm
        call = replace(self._cell.call, parameters=dict(settings))
        how = partial(plan, algorithm, call, engine=question.engine, trials=question.trials)
        if not is_alone:
            machine, scene, measured_as = question.conditions_of(self._cell)
            run = how(machine=machine, measured_as=measured_as, scene=scene, keep=question.keep).run()
            self._whole_run = run, call
            return run.time_s.mean
        result = how(machine=self._quiet_machine).run_until(until_s)
        if isinstance(result, Later):
            return None
        if self._run_alone is None or result.time_s.mean < self._run_alone[0].time_s.mean:
            self._run_alone = result, call
        return result.time_s.mean
