"""The parameters with which an algorithm is fast on a machine: by its formula, and by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import Generic, Protocol, TypeVar

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.results import Later
from hocket.definitions.calls import estimate_s, prepare
from hocket.definitions.library import AUTO, COLLECTIVES, Algorithm, Parameter
from hocket.definitions.machine import Machine


class _Statistics(Protocol):
    @property
    def mean(self) -> float: ...


class _Result(Protocol):
    @property
    def time_s(self) -> _Statistics: ...


R = TypeVar("R", bound=_Result)


_LEAPS = (3, 6, 9)
"""How often sizes are halved at once, where costs have ranges."""


def all_bytes(algorithm: Algorithm, ranks: int, size_bytes: int) -> int:
    """Return the bytes of the largest vector of a rank."""
    return size_bytes * (ranks if COLLECTIVES[algorithm.collective].size_is_one_block else 1)


def free_parameters(algorithm: Algorithm, parameters: Collection[str]) -> list[Parameter]:
    """Return the parameters of an algorithm whose values can be chosen, besides those that are set.

    The groups of an algorithm for the cards or the switch of a node are nodes.
    """
    names = [each.name for each in algorithm.parameters]
    fixed = ["group"] if "channels" in names or algorithm.topology == "switch" else []
    return [each for each in algorithm.parameters if each.is_choosable and each.name not in {*parameters, *fixed}]


def choose(algorithm: Algorithm, call: Call, machine: Machine) -> Call:
    """Return a call with the values that the formula of the algorithm chooses, for the parameters that it does not set.

    Sizes of segments are automatic, rounded to powers of two. Switches and counts of ranks have the values with the
    least time. The formula knows no contention: where messages meet, other values can be faster.
    """
    return _Choice(algorithm, call, machine).call


def search(
    algorithm: Algorithm,
    call: Call,
    *,
    machine: Machine,
    run: Callable[[Call, float], R | Later],
    until_s: float = math.inf,
) -> R | Later:
    """Simulate a call with the parameters that make the algorithm fastest.

    The search begins with the values that the formula chooses, or with the defaults if they are faster. It changes
    switches and parameters that count ranks, one after the other. Then it halves and doubles the sizes of segments as
    long as times fall, or would fall again by the formula. Each simulation ends at the least time so far.

    Args:
        algorithm: The algorithm.
        call: The call. The search does not change the parameters that it sets.
        machine: The machine, for automatic values.
        run: Simulates a call of the algorithm with a deadline.
        until_s: The first deadline.

    Raises:
        Error: The algorithm refuses the call with the first values.
    """
    choice = _Choice(algorithm, call, machine)
    state = _Search(choice, choice.call, run, until_s)
    state.begin()
    for parameter in choice.free:
        state.try_values(parameter)
    for parameter in (each for each in choice.free if each.unit == "bytes"):
        state.try_sizes(parameter)
    return state.best or Later(until_s)


class _Choice:
    """The values that a formula chooses.

    Attributes:
        free: The parameters that may be changed.
        default_call: The call with the defaults, and with automatic sizes of segments.
        call: The call with the values that the formula chooses.
    """

    def __init__(self, algorithm: Algorithm, call: Call, machine: Machine) -> None:
        """Choose the values: of all changes of one parameter make the best, as long as the time falls."""
        self.algorithm, self.machine = algorithm, machine
        self.free = free_parameters(algorithm, call.parameters)
        self.default_call = self.call = self._with_sizes(call)
        least_s, last_s = self.estimate_s(self.call), math.inf
        while least_s < last_s:
            last_s = least_s
            for other in [other for parameter in self.free for other in self.others(self.call, parameter)]:
                if (time_s := self.estimate_s(other)) < least_s:
                    self.call, least_s = other, time_s

    def estimate_s(self, call: Call) -> float:
        """Return a rough estimate of the time by the formula, to compare values; infinity if there is none."""
        return estimate_s(self.algorithm, call, self.machine, in_turn=True)

    def others(self, call: Call, parameter: Parameter) -> Iterator[Call]:
        """Yield a call with each other value of a switch or a count, and automatic sizes of segments."""
        sizes = {each.name for each in self.free if each.unit == "bytes"}
        settings = {name: value for name, value in call.parameters.items() if name not in sizes}
        for value in parameter.values_on(call.ranks):
            if value != call.parameters.get(parameter.name, parameter.default):
                yield self._with_sizes(replace(call, parameters={**settings, parameter.name: value}))

    def _with_sizes(self, call: Call) -> Call:
        """Return a call with automatic sizes of segments, rounded to powers of two; the defaults of others."""
        sizes = {each.name: self._size_bytes(each, call) for each in self.free if each.unit == "bytes"}
        return replace(call, parameters={**call.parameters, **sizes})

    def _size_bytes(self, parameter: Parameter, call: Call) -> int:
        with suppress(Error):
            automatic = replace(call, parameters={**call.parameters, parameter.name: AUTO})
            size_bytes = int(prepare(self.algorithm, automatic, self.machine).values()[parameter.name])
            return max(min(1 << round(math.log2(max(size_bytes, 1))), self.largest_bytes(call)), parameter.least)
        return int(parameter.default)

    def largest_bytes(self, call: Call) -> int:
        """Return the least power of two that is as large as all data."""
        return 1 << (max(all_bytes(self.algorithm, call.ranks, call.size_bytes), 1) - 1).bit_length()


@dataclass
class _Search(Generic[R]):
    """A search for the least time.

    Attributes:
        choice: What the formula chooses.
        call: The call with the best parameters so far.
        run: Simulates a call with a deadline.
        until_s: The least time so far, or the deadline.
        best: The simulation with the least time.
    """

    choice: _Choice
    call: Call
    run: Callable[[Call, float], R | Later]
    until_s: float
    best: R | None = None

    def begin(self) -> None:
        """Simulate with the values that the formula chooses, and with the defaults and automatic sizes of segments."""
        self._simulate(self.call)
        if self.choice.default_call != self.call:
            self._is_faster(self.choice.default_call)

    def try_values(self, parameter: Parameter) -> None:
        """Try the other values of a switch, or of a parameter that counts ranks."""
        for call in self.choice.others(self.call, parameter):
            self._is_faster(call)

    def try_sizes(self, parameter: Parameter) -> None:
        """Halve a size, then double it, as long as times fall, or would fall again by the formula.

        Where messages have ranges of sizes with costs of their own, times fall and rise more than once. So some much
        smaller sizes are tried before.
        """
        name, least, most = parameter.name, max(parameter.least, 1), self.choice.largest_bytes(self.call)
        if any(key.endswith(".from_bytes") for key in self.choice.machine.quantities):
            begin_bytes = self._size(name, most)
            for size_bytes in (begin_bytes >> power for power in _LEAPS if begin_bytes >> power >= least):
                self._is_faster(self._with_size(name, size_bytes))
        begin_bytes = self._size(name, most)
        for sizes_bytes in (
            takewhile(lambda size: size >= least, (begin_bytes >> power for power in count(1))),
            takewhile(lambda size: size <= most, (begin_bytes << power for power in count(1))),
        ):
            is_falling, last_estimate_s = True, math.inf
            for call in [self._with_size(name, size_bytes) for size_bytes in sizes_bytes]:
                estimate_s = self.choice.estimate_s(call)
                if not is_falling and estimate_s >= last_estimate_s:
                    break
                is_falling, last_estimate_s = self._is_faster(call), estimate_s

    def _size(self, name: str, most: int) -> int:
        """Return a size of the best call until now, from 1 to `most`."""
        return max(1, min(int(self.call.parameters[name]), most))

    def _with_size(self, name: str, size_bytes: int) -> Call:
        return replace(self.call, parameters={**self.call.parameters, name: size_bytes})

    def _is_faster(self, call: Call) -> bool:
        """Return whether the algorithm accepts a call, and is faster with it."""
        before = self.best
        with suppress(Error):
            self._simulate(call)
        return self.best is not before

    def _simulate(self, call: Call) -> None:
        result = self.run(call, self.until_s)
        if isinstance(result, Later):
            return
        if self.best is None or result.time_s.mean < self.best.time_s.mean:
            self.best, self.call, self.until_s = result, call, result.time_s.mean
