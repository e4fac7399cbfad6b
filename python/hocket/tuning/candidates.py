"""The algorithms to try at a point, and the values of their parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

from hocket._native import Error
from hocket.base.call import Call
from hocket.definitions.calls import prepare
from hocket.definitions.libraries import BY_MACHINE
from hocket.definitions.library import (
    COLLECTIVES,
    DOUBLE_BYTES,
    Algorithm,
    Parameter,
    algorithms,
    all_bytes,
    find,
    measured_element_bytes,
    other_values,
    unit_bytes,
)
from hocket.definitions.machine import Machine
from hocket.rules.nccl.defaults import refusals_on
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import Choice as TuningChoice
from hocket.rules.tuning_files.form import Rule, Span
from hocket.rules.tuning_files.hocket_rules import of_function
from hocket.rules.tuning_files.translation import passes_over
from hocket.schedules.schedule import record
from hocket.tuning.choice import Choice, Point

USUAL_SIZES = tuple(8 * 4**i for i in range(10))  # the default sizes for tuning, in bytes

_BYTES = tuple(4096 * 4**i for i in range(5))
_MOST_RANKS_COMPARED = 16


def whole_sizes(collective: str, ranks: int, sizes_bytes: Iterable[int]) -> tuple[int, ...]:
    """Return sizes, each rounded up to a multiple of the unit; a barrier has only size 0."""
    if not COLLECTIVES[collective].has_size:
        return (0,)
    unit = unit_bytes(collective, ranks)
    return tuple(sorted({-(-size // unit) * unit for size in sizes_bytes}))


def call_at(point: Point) -> Call:
    """Return the call at a point: with doubles for reductions, else with bytes."""
    element_bytes = measured_element_bytes(point.collective)
    return Call(ranks=point.ranks, size_bytes=point.size_bytes, element_bytes=element_bytes)


def with_choice(choice: Choice, call: Call) -> Call:
    """Return a call with the parameters of a catalogue choice."""
    return replace(call, parameters=dict(choice.parameters))


def candidates(choices: Iterable[Choice], point: Point) -> Mapping[Choice, tuple[Choice, ...]]:
    """Return the choices that accept a call at a point: those whose ranks do the same, by the one that is tried."""
    alike: dict[object, list[Choice]] = {}
    for choice in choices:
        algorithm = algorithm_of(point, choice)
        call = with_choice(choice, call_at(point))
        with suppress(Error):
            prepare(algorithm, call)
            alike.setdefault(_what_ranks_do(algorithm, call) or _cut(algorithm, choice, point), []).append(choice)
    return {choices[0]: tuple(choices) for choices in alike.values()}


def of_catalogue(among: Iterable[Algorithm], point: Point) -> Iterator[Choice]:
    """Give every algorithm with its default parameters, and with each parameter changed alone."""
    for algorithm in among:
        yield Choice("catalogue", algorithm.name)
        for parameter in algorithm.parameters:
            for value in _values(parameter, point):
                if value != parameter.default:
                    yield Choice("catalogue", algorithm.name, ((parameter.name, value),))


def of_any_machine(point: Point) -> Iterator[Choice]:
    """Give the choices of `of_catalogue`, only with algorithms that are not made for a topology."""
    some = (each for each in algorithms(point.collective) if each.topology in (None, "cards", "nodes"))
    return of_catalogue(some, point)


def refusals_of(library: str, collective: str, ranks: int, machine: Machine) -> dict[str, str]:
    """Return the algorithms of a library that it refuses on the nodes of a machine, and why."""
    function = of_function(collective)
    if library in BY_MACHINE:
        with suppress(Error):
            return refusals_on(machine, function, ranks)
    nodes = -(-ranks // machine.ranks_per_node)
    rules = (
        Rule(function, TuningChoice(each.name), Span(ranks, ranks), nodes=Span(nodes, nodes))
        for each in LIBRARIES[library].algorithms.get(function, ())
    )
    return {rule.choice.algorithm: why for rule in rules if rule.choice and (why := passes_over(rule, library))}


def of_library(library: str, point: Point, machine: Machine) -> Iterator[tuple[Algorithm, dict[str, int | str]]]:
    """Give the equivalents of algorithms that a library does not refuse, and the parameters that it does not set."""
    refusals = refusals_of(library, point.collective, point.ranks, machine)
    for counterpart in LIBRARIES[library].algorithms.get(of_function(point.collective), ()):
        if counterpart.name in refusals:
            continue
        for name in counterpart.algorithms if counterpart.takes(point.ranks) else ():
            algorithm = find(f"{point.collective}/{name}")
            free = counterpart.names_in(name).values()
            others = {each.name: each.default for each in algorithm.parameters if each.name not in free}
            yield algorithm, {**others, **counterpart.fixed}


def choice_with_values(algorithm: Algorithm, call: Call, fixed: Collection[str]) -> Choice:
    """Return the choice of an algorithm with the values of a call.

    It names values other than the defaults. Segments that cut this call like the default are the default, unless they
    are fixed.
    """
    whole_bytes = all_bytes(algorithm, call.ranks, call.size_bytes)
    values = other_values(algorithm, call.parameters, whole_bytes, fixed=fixed)
    return Choice("catalogue", algorithm.name, tuple(values.items()))


def _values(parameter: Parameter, point: Point) -> Sequence[int | str]:
    if parameter.unit == "bytes":
        return [size for size in _BYTES if parameter.least <= size]
    return parameter.values_on(point.ranks)


def _what_ranks_do(algorithm: Algorithm, call: Call) -> bytes | None:
    """Return a value that is equal for calls in which all ranks do the same; None if unknown or expensive."""
    if call.ranks > _MOST_RANKS_COMPARED:
        return None
    try:
        return hashlib.sha256(record(algorithm, call).content.to_bytes()).digest()
    except Error:
        return None  # the operations depend on times


def _cut(algorithm: Algorithm, choice: Choice, point: Point) -> object:
    """Return a value that is equal for choices that cut a call alike; a piece is never larger than the data."""
    whole_bytes = all_bytes(algorithm, point.ranks, point.size_bytes)
    parameter_values = dict(choice.parameters)
    values = ((p, parameter_values.get(p.name, p.default)) for p in algorithm.parameters)
    cut = tuple(min(v, whole_bytes) if p.unit == "bytes" and isinstance(v, int) else v for p, v in values)
    return algorithm.name, cut


_ANY_RANKS = (3, 5, 6, 7, 9)  # an algorithm that takes these numbers of ranks takes all


def order_of(point: Point, choice: Choice) -> object:
    """Return the order in which a choice for a reduction combines, whatever the size; None if there is no such order.

    Algorithms that do not take all numbers of ranks have none: rules are also for numbers between those of points.
    """
    if choice.owner != "catalogue":
        return None
    algorithm = algorithm_of(point, choice)
    if algorithm.order is None or not _takes_all_ranks(algorithm):
        return None
    return algorithm.order, tuple(pair for pair in choice.parameters if pair[0] != "segment")


@cache
def _takes_all_ranks(algorithm: Algorithm) -> bool:
    try:
        for ranks in _ANY_RANKS:
            prepare(algorithm, Call(ranks=ranks, size_bytes=ranks * DOUBLE_BYTES, element_bytes=DOUBLE_BYTES), None)
    except Error:
        return False
    return True


def algorithm_of(point: Point, choice: Choice) -> Algorithm:
    """Return the algorithm of a catalogue choice."""
    return find(f"{point.collective}/{choice.name}")
