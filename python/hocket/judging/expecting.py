"""What a machine takes for the calls of a curve: simulated times of all programs, their limits and lower bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate
from math import nan, prod, sqrt
from statistics import geometric_mean
from typing import Any, TypeAlias

import numpy as np

from hocket._native import Error
from hocket.base.call import Call, MeasuredAs
from hocket.base.units import format_choice, format_count
from hocket.definitions.calls import algorithms_for
from hocket.definitions.libraries import BY_MACHINE
from hocket.definitions.library import Algorithm, find
from hocket.definitions.library import algorithms as of_collective
from hocket.definitions.machine import Machine
from hocket.definitions.variants import quiet, with_layout, with_network
from hocket.judging.curves import Curve
from hocket.judging.identifying import NINE_OF_TEN, Floats, Guess, guess, probabilities
from hocket.measurements.measurement import Measurement
from hocket.rules.tuning_files.counterparts import LIBRARIES, counterparts_of, programs_of, programs_of_libraries
from hocket.rules.tuning_files.deciding import LibraryDecision, alternatives
from hocket.simulating.bounds import bounds_by_size
from hocket.simulating.effort import simulation_s
from hocket.simulating.operations import Step, total
from hocket.simulating.question import Contender, Question
from hocket.simulating.simulation import Simulation, Trials, simulate

UNKNOWN_ERROR = 1.7
"""Nine of ten calls take at most this many times as long or as short as simulated, where the machine does not say it:
what `hocket mpi calibrate` reaches on a host."""
NONE = "none of the catalogue"
_OF_NO_LIBRARY, _OF_OTHER_LIBRARY = 0.1, 0.01
"""How much less likely programs are that no library has, or that the library which ran does not have."""
_LONGEST_PATH_S, _MOST_S = 0.5, 120.0
_MOST_OF_OTHERS_S = 0.03
_ONE_TRIAL = Trials(count=1, threads=1)
_NOISY_TRIALS = 16
_LARGE_BYTES, _TOO_FAST = 1 << 20, 0.8

_PARTS = {
    "computation": "combining",
    "waiting": "contention",
}
"""Words for parts of a critical path; the others go by their own name."""


@dataclass(frozen=True)
class Expectation:
    """Simulated times of the calls of a curve, by program and size, on a machine with the layout of the job."""

    curve: Curve
    machine: Machine
    simulations: Mapping[tuple[str, int], Simulation]
    library: str | None  # the one that ran, if that is known
    left_out: tuple[str, ...] = ()  # programs that would take too long to simulate

    @cached_property
    def labels(self) -> list[str]:
        """The programs."""
        return sorted({label for label, _ in self.simulations})

    @cached_property
    def sizes_bytes(self) -> list[int]:
        """The sizes that some program takes."""
        simulated = {size for _, size in self.simulations}
        return [one.size_bytes for one in self.curve.measurements if one.size_bytes in simulated]

    @cached_property
    def measured_s(self) -> dict[int, float]:
        """The measured times by size."""
        return {one.size_bytes: one.time_s for one in self.curve.measurements}

    def fastest(self, size_bytes: int) -> str:
        """Return the program that is fastest at a size."""
        return min(
            (label for label in self.labels if (label, size_bytes) in self.simulations),
            key=lambda label: (self.simulations[label, size_bytes].time_s.mean, label),
        )

    def between_s(self, label: str, size_bytes: int) -> tuple[float, float]:
        """Return between which times nine of ten measured calls of a program would be."""
        one = self.simulations[label, size_bytes]
        return one.measured_interval_s or (one.time_s.mean / UNKNOWN_ERROR, one.time_s.mean * UNKNOWN_ERROR)

    @cached_property
    def simulated_s(self) -> Floats:
        """Times of programs, at the middle of their intervals: a row for each label, a column for each size."""
        times_s = {key: sqrt(prod(self.between_s(*key))) or nan for key in self.simulations}
        return np.array([[times_s.get((label, size), nan) for size in self.sizes_bytes] for label in self.labels])

    @cached_property
    def _spread(self) -> float:
        widths = [np.log(high / low) for low, high in map(self.between_s, *zip(*self.simulations, strict=True)) if low]
        return float(np.mean(widths)) / (2 * NINE_OF_TEN)

    @cached_property
    def _shares(self) -> Floats:
        return probabilities(
            self.sizes_bytes,
            [self.measured_s[size] for size in self.sizes_bytes],
            self.simulated_s,
            self._spread,
            [self._prior(label) for label in self.labels],
        )

    def guess(self, sizes_bytes: Iterable[int]) -> Guess:
        """Return the programs that probably ran at some sizes."""
        columns = [self.sizes_bytes.index(size) for size in sizes_bytes]
        ran = guess(self.labels, self._shares[columns], self.simulated_s[:, columns], self._spread)
        large = [self.sizes_bytes[column] for column in columns if self.sizes_bytes[column] >= _LARGE_BYTES]
        if not (ran.programs and large):
            return ran
        times_s = [(self.measured_s[size], self.simulations.get((ran.programs[0], size))) for size in large]
        ratios = [time_s / one.time_s.mean for time_s, one in times_s if one is not None]
        is_excluded = bool(ratios) and geometric_mean(ratios) < _TOO_FAST  # its bytes alone take longer
        return replace(ran, probability=0.0) if is_excluded else ran

    def likeliest(self, sizes_bytes: Iterable[int]) -> list[tuple[str, float]]:
        """Return the programs and their probabilities at some sizes, the likeliest first."""
        columns = [self.sizes_bytes.index(size) for size in sizes_bytes]
        shares = self._shares[columns].mean(axis=0).tolist()
        return sorted(zip([*self.labels, NONE], shares, strict=True), key=lambda pair: -pair[1])

    @cached_property
    def of_libraries(self) -> list[str]:
        """The programs that the library has, or any library if it is not known."""
        collective = self.curve.first.collective
        programs = programs_of_libraries(collective) if self.library is None else programs_of(self.library, collective)
        return [label for label in self.labels if label.split()[0] in programs]

    def _prior(self, label: str) -> float:
        forms = sum(other.split()[0] == label.split()[0] for other in self.labels)
        if label in self.of_libraries:
            return 1.0 / forms
        return (_OF_NO_LIBRARY if self.library is None else _OF_OTHER_LIBRARY) / forms

    @cached_property
    def limits(self) -> dict[int, str]:
        """What the time of the fastest program is spent on most, by size, as far as that is known."""
        fastest = [self.simulations[self.fastest(size_bytes), size_bytes] for size_bytes in self.sizes_bytes]
        cells = [
            Contender(
                row,
                find(f"{one.collective}/{one.algorithm}"),
                replace(self.curve.calls[one.size_bytes], parameters=one.parameters),
                role="ends",
            )
            for row, one in enumerate(fastest)
        ]
        question = Question(quiet(self.machine) or self.machine, cells, keep=("critical_path",))
        short = [cell for cell, time_s in zip(cells, question.efforts_s(), strict=True) if time_s <= _LONGEST_PATH_S]
        question = question if len(short) == len(cells) else replace(question, cells=short)
        outcomes = [answer.outcome for answer in question.answer()]
        return {one.size_bytes: _limit(one.critical_path) for one in outcomes if isinstance(one, Simulation)}

    @cached_property
    def bounds_s(self) -> dict[int, float]:
        """The times that no program can beat, in isolated calls, by size, as far as they are known."""
        bounds = bounds_by_size(self.curve.first.collective, self.curve.calls.values(), self.machine)
        return {size_bytes: bound.time_s for size_bytes, bound in bounds.items()}


def _limit(steps: Sequence[Step]) -> str:
    """Return what the time of a critical path is spent on most; empty if it takes no time."""
    parts_s = total(steps)
    part, part_s = max(parts_s.items(), key=lambda one: one[1])
    rounds = f" {sum(step.event.kind == 'recv' for step in steps)}x" if part == "latency" else ""
    return f"{_PARTS.get(part, part)}{rounds} {part_s / sum(parts_s.values()):.0%}" if part_s else ""


def expect(
    curve: Curve, machine: Machine, *, library: str | None = None, executor: Executor | None = None
) -> Expectation:
    """Simulate the programs of a curve's collective; the library is the one that ran, if it is known."""
    one = curve.first
    if one.ranks == 1:
        raise Error(f"{curve.title} sends no messages, expected at least 2 ranks")
    machine = _with_job(machine, curve)
    calls = [*curve.calls.values()]
    if own := _of_library(library, calls, machine, one):
        return Expectation(curve, machine, own, library, ())
    candidates, left_out = _affordable(algorithms_for(machine, of_collective(one.collective)), calls, machine)
    own_choice = {(one.algorithm, tuple(sorted(one.parameters.items())))} if one.parameters else set[Choice]()
    programs = {each.name: (each, dict[str, Any]()) for each in candidates}
    for name, parameters in sorted(_with_parameters(one.collective) | own_choice):
        if name not in left_out:
            programs[format_choice(name, parameters)] = find(f"{one.collective}/{name}"), dict(parameters)
    labels = [(label, call.size_bytes) for call in calls for label in programs]
    contenders = [
        Contender(row, algorithm, replace(call, parameters=values), role="beside" if values else "ends")
        for row, call in enumerate(calls)
        for algorithm, values in programs.values()
    ]
    trials = Trials(count=_NOISY_TRIALS if machine.is_random else 1, threads=1)
    question = Question(machine, contenders, measured_as=one.measured_as, trials=trials)
    outcomes = [answer.outcome for answer in question.answer(executor=executor)]
    positive = {
        label: outcome
        for label, outcome in zip(labels, outcomes, strict=True)
        if isinstance(outcome, Simulation) and outcome.time_s.mean > 0
    }
    if all(isinstance(outcome, str) for outcome in outcomes):
        raise Error(str(outcomes[0]))
    if not positive:
        raise Error(f"{curve.title} takes no time on machine {machine.name}, expected a latency, an overhead or bytes")
    return Expectation(curve, machine, positive, library, left_out)


def _of_library(
    library: str | None, calls: Iterable[Call], machine: Machine, one: Measurement
) -> dict[tuple[str, int], Simulation]:
    """Return the simulations of what a library of `BY_MACHINE` can run, with its own channels, chunks and protocols.

    Nobody can choose another algorithm of the catalogue there. Of long calls, only the one with the least time by the
    library's table is simulated. Nothing is returned for other libraries.
    """
    if library not in BY_MACHINE:
        return {}
    simulations: dict[tuple[str, int], Simulation] = {}
    for call in calls:
        for number, decision in enumerate(alternatives(library, one.collective, call, machine)):
            if decision.equivalent is None:
                continue
            algorithm, own_call = decision.equivalent
            if number > 0 and simulation_s(algorithm, own_call, machine=machine) > _MOST_OF_OTHERS_S:
                continue
            with suppress(Error):
                simulations[algorithm.name, call.size_bytes] = simulate_decision(decision, machine, one.measured_as)
    return {key: each for key, each in simulations.items() if each.time_s.mean > 0}


def simulate_decision(decision: LibraryDecision, machine: Machine, measured_as: MeasuredAs) -> Simulation:
    """Simulate the equivalent of a library's decision, with the costs of its protocol."""
    assert decision.equivalent is not None  # the caller has checked this
    algorithm, call = decision.equivalent
    machine = decision.costs_on(machine)
    return simulate(algorithm, call, machine=machine, measured_as=measured_as, trials=_ONE_TRIAL)


def _affordable(
    algorithms: Sequence[Algorithm], calls: Sequence[Call], machine: Machine
) -> tuple[list[Algorithm], tuple[str, ...]]:
    """Return the algorithms that can be simulated in the time that there is, and the names of the others."""
    cells = [Contender(row, each, call) for each in algorithms for row, call in enumerate(calls)]
    efforts_s = Question(machine, cells).efforts_s()
    of_algorithm = [sum(efforts_s[first : first + len(calls)]) for first in range(0, len(cells), len(calls))]
    in_order = sorted(zip(of_algorithm, algorithms, strict=True), key=lambda pair: (pair[0], pair[1].name))
    sums_s = accumulate(effort_s for effort_s, _ in in_order)
    number = max(sum(sum_s <= _MOST_S for sum_s in sums_s), 1)
    affordable, others = ([each for _, each in part] for part in (in_order[:number], in_order[number:]))
    return affordable, tuple(sorted(each.name for each in others))


Choice: TypeAlias = "tuple[str, tuple[tuple[str, int | float | str], ...]]"
"""An algorithm and the values of its parameters."""


@cache
def _with_parameters(collective: str) -> frozenset[Choice]:
    """Return the algorithms that libraries run with parameters of their own, where no size of segments is open."""
    return frozenset(
        (each.hocket, tuple(sorted(each.fixed.items())))
        for each in counterparts_of(LIBRARIES, collective)
        if each.hocket is not None and each.fixed and "segment" not in each.parameter_names.values()
    )


def _with_job(machine: Machine, curve: Curve) -> Machine:
    """Return the machine with the job of a curve on its nodes and its torus.

    A machine whose nodes hold more ranks has a model of what its ranks share, which holds for fewer ranks too. A job
    with more is refused, and a machine that places each rank by itself.
    """
    one = curve.first
    on_node = machine.ranks_per_node
    if one.ranks_per_node not in (None, on_node, one.ranks):
        if one.ranks_per_node > on_node or "network.map" in machine.quantities:
            what = f"machine {machine.name} has {format_count(on_node, 'rank')} on a node"
            raise Error(f"{what}, the times are of {one.ranks_per_node}, expected a machine of such nodes")
        machine = with_network(machine, ranks_per_node=one.ranks_per_node)
    layout = one.layout or ", ".join(map(str, one.dims or ()))
    return with_layout(machine, layout) if layout and machine.topology and machine.topology.name == "torus" else machine
