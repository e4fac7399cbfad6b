"""Automatic values: what `auto` stands for as the value of a parameter, and the sizes of the machine's torus.

An algorithm of the catalogue declares in its Rust file which of its parameters have an automatic value, and computes
it from the call and the machine. A gap between packets is read where packets are paced: `hocket.simulating.pacing`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call
from hocket.definitions.library import Algorithm, as_algorithm
from hocket.definitions.machine import Machine, parsed
from hocket.definitions.requests import GAP, ask, call_request
from hocket.definitions.topology import AXES, Topology

__all__ = ["AUTO", "accepted", "automatic_values", "on_machine", "resolved"]

AUTO = "auto"
"""The value of a parameter that asks for its automatic value."""


def automatic_values(algorithm: Algorithm | str, call: Call, machine: Machine) -> dict[str, int]:
    """Return the automatic values of those parameters that a call leaves to the machine.

    Raises:
        Error: A parameter has no automatic value, the machine does not say what it depends on, or the algorithm refuses
            the call.
    """
    algorithm = as_algorithm(algorithm)
    gaps = {parameter.name for parameter in algorithm.parameters if parameter.unit == GAP}
    names = [name for name, value in call.parameters.items() if isinstance(value, str) and value == AUTO]
    names = [name for name in names if name not in gaps]
    if not names:
        return {}
    given = {name: value for name, value in call.parameters.items() if name not in names}
    request = {"call": call_request(algorithm, replace(call, parameters=given))}
    return _native.automatic_values(machine.parsed, json.dumps(request), names)


def resolved(algorithm: Algorithm, call: Call, machine: Machine) -> Call:
    """Return the call with a value for each parameter that the machine decides.

    Raises:
        Error: As `automatic_values`; or the algorithm needs a torus, and the machine's does not fit.
    """
    if not isinstance(call, Call) or not isinstance(call.parameters, Mapping):
        return call  # refused where calls are checked
    call = replace(call, parameters={**call.parameters, **_torus_sizes(algorithm, call, machine)})
    return replace(call, parameters={**call.parameters, **automatic_values(algorithm, call, machine)})


def on_machine(algorithm: Algorithm, call: Call, machine: Machine | None) -> dict[str, Any]:
    """Return the request for a call: the one place where a machine, if there is one, completes it.

    Raises:
        Error: As `resolved`, or as `call_request`.
    """
    return {"call": call_request(algorithm, call if machine is None else resolved(algorithm, call, machine))}


def accepted(algorithm: Algorithm, call: Call, machine: Machine | None = None) -> dict[str, int]:
    """Return what an algorithm of the catalogue completes a call with: parameters, and other names of its formulas.

    Raises:
        Error: As `on_machine`.
    """
    accept = partial(_native.accept, parsed(machine))
    values: dict[str, int] = ask(accept, on_machine(algorithm, call, machine), algorithm)
    return values


def _torus_sizes(algorithm: Algorithm, call: Call, machine: Machine) -> Mapping[str, int]:
    """Return the sizes of the machine's torus for an algorithm that takes them and was not given any.

    Raises:
        Error: The machine has a topology, but not a torus of as many axes at most, or not one node for each rank.
    """
    axes = [parameter.name for parameter in algorithm.parameters if parameter.name in AXES]
    if not set(AXES[:3]).issubset(axes) or not call.parameters.keys().isdisjoint(AXES):
        return {}
    topology = Topology.parse(machine.text, machine.file)
    if topology is None:
        return {}
    if topology.torus is None or len(topology.torus) > len(axes):
        kind = f"{len(topology.torus)}-dimensional torus" if topology.torus else topology.name.replace("_", " ")
        needs = f"needs a torus of up to {len(axes)} axes, but machine {machine.name} is a {kind}"
        raise Error(f"{algorithm.collective} {algorithm.name} {needs}")
    if call.ranks != math.prod(topology.torus):
        torus, product = " x ".join(map(str, topology.torus)), " * ".join(axes)
        given = f"{', '.join(axes[:-1])} or {axes[-1]}"
        needs = f"needs {product} = P, but the torus of machine {machine.name} is {torus}, and no {given} was given"
        raise Error(f"{algorithm.collective} {algorithm.name} {needs} (P = {call.ranks})")
    return dict(zip(axes, topology.torus, strict=False))
