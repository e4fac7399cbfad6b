"""The parameters with which an algorithm is fastest on a machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import Generic, Protocol, TypeVar

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.results import Later
from hocket.definitions.calls import prepare
from hocket.definitions.library import AUTO, COLLECTIVES, Algorithm, Parameter
from hocket.definitions.machine import Machine


class _Statistics(Protocol):
    @property
    def mean(self) -> float: ...


class _Result(Protocol):
    @property
    def time_s(self) -> _Statistics: ...


R = TypeVar("R", bound=_Result)

_MISSES = 2
"""After so many sizes in turn that are no faster, others are not tried."""


def all_bytes(algorithm: Algorithm, ranks: int, size_bytes: int) -> int:
    """Return the bytes of the largest vector of a rank."""
    return size_bytes * (ranks if COLLECTIVES[algorithm.collective].size_is_one_block else 1)


def first_call(algorithm: Algorithm, call: Call, machine: Machine) -> Call:
    """Return a call with automatic sizes of segments, or the defaults, rounded to powers of two."""
    sizes = {
        parameter.name: _size_bytes(parameter, algorithm, call, machine)
        for parameter in _free(algorithm, call)
        if parameter.unit == "bytes"
    }
    return replace(call, parameters={**call.parameters, **sizes})


def _free(algorithm: Algorithm, call: Call) -> list[Parameter]:
    """Return the parameters that a call does not set."""
    return [parameter for parameter in algorithm.parameters if parameter.name not in call.parameters]


def _size_bytes(parameter: Parameter, algorithm: Algorithm, call: Call, machine: Machine) -> int:
    size_bytes = int(parameter.default)
    with suppress(Error):
        automatic = replace(call, parameters={**call.parameters, parameter.name: AUTO})
        size_bytes = int(prepare(algorithm, automatic, machine).values()[parameter.name])
    return max(min(1 << round(math.log2(max(size_bytes, 1))), _largest_bytes(algorithm, call)), parameter.least)


def _largest_bytes(algorithm: Algorithm, call: Call) -> int:
    """Return the least power of two that is as large as all data."""
    return 1 << (max(all_bytes(algorithm, call.ranks, call.size_bytes), 1) - 1).bit_length()


def search(
    algorithm: Algorithm,
    call: Call,
    *,
    machine: Machine,
    run: Callable[[Call, float], R | Later],
    until_s: float = math.inf,
) -> R | Later:
    """Simulate a call with the parameters that make the algorithm fastest.

    The search begins with the defaults, and with automatic sizes of segments. It changes switches and parameters that
    count ranks, one after the other. Then it halves and doubles the sizes of segments as long as times fall. Each
    simulation ends at the least time so far.

    Args:
        algorithm: The algorithm.
        call: The call. The search does not change the parameters that it sets.
        machine: The machine, for automatic values.
        run: Simulates a call of the algorithm with a deadline.
        until_s: The first deadline.

    Raises:
        Error: The algorithm refuses the call with the first values.
    """
    state = _Search(algorithm, call, _free(algorithm, call), machine, run, until_s)
    state.begin()
    for parameter in state.free:
        state.try_values(parameter)
    for parameter in state.free:
        if parameter.unit == "bytes":
            state.try_sizes(parameter)
    return state.best or Later(until_s)


@dataclass
class _Search(Generic[R]):
    """A search for the least time.

    Attributes:
        call: The call with the best parameters so far.
        free: The parameters that may be changed.
        until_s: The least time so far, or the deadline.
        best: The simulation with the least time.
    """

    algorithm: Algorithm
    call: Call
    free: Sequence[Parameter]
    machine: Machine
    run: Callable[[Call, float], R | Later]
    until_s: float
    best: R | None = None

    def begin(self) -> None:
        """Simulate with the defaults, and with automatic sizes of segments."""
        self.call = first_call(self.algorithm, self.call, self.machine)
        self._simulate(self.call)

    def try_values(self, parameter: Parameter) -> None:
        """Try the values of a switch, or of a parameter that counts ranks, each with automatic sizes of segments."""
        sizes = {each.name for each in self.free if each.unit == "bytes"}
        for value in parameter.values_on(self.call.ranks):
            if value != self.call.parameters.get(parameter.name, parameter.default):
                others = {name: other for name, other in self.call.parameters.items() if name not in sizes}
                call = replace(self.call, parameters={**others, parameter.name: value})
                self._is_faster(first_call(self.algorithm, call, self.machine))

    def try_sizes(self, parameter: Parameter) -> None:
        """Halve a size, then double it, until several in turn are no faster: times jump where protocols change."""
        name, least, most = parameter.name, parameter.least, _largest_bytes(self.algorithm, self.call)
        begin_bytes = int(self.call.parameters[name])
        for sizes_bytes in (
            takewhile(lambda size: size >= least, (begin_bytes >> power for power in count(1))),
            takewhile(lambda size: size <= most, (begin_bytes << power for power in count(1))),
        ):
            misses = 0
            for size_bytes in sizes_bytes:
                call = replace(self.call, parameters={**self.call.parameters, name: size_bytes})
                misses = 0 if self._is_faster(call) else misses + 1
                if misses == _MISSES:
                    break

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
