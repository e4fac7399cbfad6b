"""The parameters with which an algorithm is fast on a machine."""

from __future__ import annotations

from collections.abc import Collection

from hocket.base.call import Call
from hocket.definitions.library import COLLECTIVES, Algorithm, Parameter
from hocket.definitions.machine import Machine
from hocket.simulating.question import Cell, Question


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
    (chosen,) = Question(machine, [Cell(0, algorithm, call)]).calls()
    return chosen
