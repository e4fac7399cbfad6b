"""The boundary to the compiled module: the one place where a call of an algorithm becomes a handle of that module.

An algorithm of the catalogue declares in its Rust file which of its parameters have an automatic value. It computes
this value from the call and the machine. `hocket.simulating.pacing` reads gaps between packets.
"""

from __future__ import annotations

import inspect
import json
import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call
from hocket.base.checks import instance, mapping, shown, size_bytes, text, truth, whole
from hocket.base.names import among
from hocket.definitions.library import AXES, Algorithm, Parameter, find_collective
from hocket.definitions.machine import Machine, parsed

T = TypeVar("T")

AUTO = "auto"
"""The value of a parameter that asks for its automatic value."""

LATE = "late"
"""The parameter of algorithms that know which rank is late. By default it is the rank that the arrivals say is late."""

GAP = "gap"
"""The name and the unit of the parameter of paced algorithms; its value is a text."""


def complete(
    algorithm: Algorithm, parameters: Mapping[str, float | str], *, element_bytes: int = 1
) -> dict[str, int | str]:
    """Return the values of all parameters of an algorithm: the given ones, and the defaults of the others.

    Bytes are rounded down to whole elements, at least one. A gap between packets and a switch are texts.

    Raises:
        Error: The algorithm does not have a parameter, or refuses its value.
    """
    parameters = mapping("parameters", parameters)
    gaps = {p.name: _gap(parameters.get(p.name, p.default)) for p in algorithm.parameters if p.unit == GAP}
    declared = [
        (p.name, p.unit == "bytes", _number(p.name, p.default, p.choices), whole(p.name, p.least))
        for p in algorithm.parameters
        if p.name not in gaps
    ]
    units = {parameter.name: parameter for parameter in algorithm.parameters}
    others = ((name, value) for name, value in parameters.items() if name not in gaps)
    given = [(name, _value(f"parameter {name}", value, units.get(name))) for name, value in others]
    label = text("algorithm", f"{algorithm.collective} {algorithm.name}")
    return {**worded(algorithm, dict(_native.complete(label, declared, given, element_bytes))), **gaps}


def _choices(algorithm: Algorithm) -> dict[str, Sequence[str]]:
    """Return the words of each switch."""
    return {parameter.name: parameter.choices for parameter in algorithm.parameters if parameter.choices}


def _value(what: str, value: Any, parameter: Parameter | None) -> int:
    """Return the value of a parameter as a number; a value in bytes may be a text."""
    if parameter is not None and parameter.unit == "bytes":
        return size_bytes(what, value)
    return _number(what, value, () if parameter is None else parameter.choices)


def _number(name: str, value: Any, choices: Sequence[str]) -> int:
    """Return a value as a number: for a word, its position among the choices."""
    if not choices:
        return whole(name, value)
    return choices.index(among(name, value, choices))


def worded(algorithm: Algorithm, parameters: Mapping[str, int]) -> dict[str, int | str]:
    """Return parameters with the words of switches in place of their numbers."""
    choices = _choices(algorithm)
    return {name: choices[name][value] if name in choices else value for name, value in parameters.items()}


def _gap(value: Any) -> str:
    given = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    gap = text("parameter gap", given)
    _native.check_gap(gap)
    return gap


def numbers(algorithm: Algorithm, parameters: Mapping[str, float | str]) -> dict[str, int]:
    """Return the parameters of a completed call as numbers, as programs take them; gaps are left out."""
    choices = _choices(algorithm)
    gaps = {parameter.name for parameter in algorithm.parameters if parameter.unit == GAP}
    return {name: _number(name, parameters[name], choices.get(name, ())) for name in parameters if name not in gaps}


def element_size(element_bytes: Any) -> int:
    """Return the size of an element as a Python int.

    Raises:
        Error: As `whole`, or it is 0.
    """
    found = size_bytes("element_bytes", element_bytes)
    if found == 0:
        raise Error("element_bytes: got 0, expected at least 1")
    return found


def refusal(algorithm: Algorithm, call: Call) -> str | None:
    """Return why an algorithm written in Python refuses a call, or None; the catalogue checks its own algorithms."""
    refuses = algorithm.refuses
    sentence = guarded(algorithm, lambda: refuses(call)) if refuses else None
    if not (sentence is None or isinstance(sentence, str)):
        raise Error(
            f"{algorithm.label}: refuses returned {shown(sentence)}, expected a sentence, or None for no refusal"
        )
    return f"{algorithm.collective} {algorithm.name} {sentence} (P = {call.ranks})" if sentence else None


def declared_by(algorithm: Algorithm, parameters: Mapping[str, float | str]) -> dict[str, float | str]:
    """Return only the parameters that an algorithm declares."""
    names = {parameter.name for parameter in algorithm.parameters}
    return {name: value for name, value in parameters.items() if name in names}


def made(
    algorithm: Algorithm, call: Call, machine: Machine | None = None, *, late_rank: int | None = None
) -> _native.Call:
    """Return a call as an object of the compiled module: with all values, and accepted by an algorithm.

    Only this function completes a call by a machine, if there is one: it adds automatic values, the sizes of the
    machine's torus, and the nodes of the ranks. The rank that is late completes the calls of algorithms that know it.

    Raises:
        Error: The algorithm refuses the call, does not have a parameter, or refuses its value; a value has a wrong
            type; the machine lacks what an automatic value depends on, or its torus does not fit.
    """
    instance("call", call, Call, "hocket.Call")
    parameters = {**mapping("parameters", call.parameters)}
    automatic: list[str] = []
    if machine is not None:
        parameters |= _torus_sizes(algorithm, call, machine)
        gaps = {parameter.name for parameter in algorithm.parameters if parameter.unit == GAP}
        automatic = [name for name in parameters if name not in gaps and _is_automatic(parameters[name])]
    request = fields_of(call)
    knows_late = any(parameter.name == LATE for parameter in algorithm.parameters)
    if late_rank is not None and knows_late and late_rank < request["ranks"]:  # else the arrivals are refused later
        parameters.setdefault(LATE, late_rank)
    given = {name: value for name, value in parameters.items() if name not in automatic}
    values = complete(algorithm, given, element_bytes=request["element_bytes"])
    if sentence := refusal(algorithm, Call(**request, parameters=values)):
        raise Error(sentence)
    request |= {
        "collective": algorithm.collective,
        "algorithm": algorithm.name,
        "parameters": [item for item in numbers(algorithm, values).items() if item[0] not in automatic],
        "automatic": automatic,
        "gap": next((values[p.name] for p in algorithm.parameters if p.unit == GAP), None),
    }
    return guarded(algorithm, lambda: _native.Call(request, parsed(machine), algorithm.program))


def values(asked: _native.Call) -> dict[str, int | str]:
    """Return the values of all parameters of a call, in the form of results."""
    found: dict[str, int | str] = json.loads(asked.values())
    return found


def made_of_any(collective: str, call: Call) -> _native.Call:
    """Return a call for any algorithm, as an object of the compiled module; its parameters are ignored.

    Raises:
        Error: The collective is unknown, or the call is invalid.
    """
    return _native.Call({**fields_of(call), "collective": find_collective(collective)})


def _is_automatic(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def fields_of(call: Call) -> dict[str, Any]:
    """Return the fields of a call except its parameters, as Python's own types.

    Raises:
        Error: The argument is not a call, or one of its fields has a wrong type or value.
    """
    instance("call", call, Call, "hocket.Call")
    return {
        "neighbors": None if call.neighbors is None else text("neighbors", call.neighbors),
        "ranks": whole("ranks", call.ranks),
        "size_bytes": size_bytes("size_bytes", call.size_bytes),
        "root": whole("root", call.root),
        "element_bytes": element_size(call.element_bytes),
        "in_place": truth("in_place", call.in_place),
        "commutative": truth("commutative", call.commutative),
    }


def guarded(algorithm: Algorithm, run: Callable[[], T]) -> T:
    """Return the result of `run`; turn any exception of a program written in Python into an error of one line.

    Raises:
        Error: The program raised an exception; the message says where, in which program, and what.
    """
    try:
        return run()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a program's SystemExit or GeneratorExit counts as its failure
        place = _place_in(algorithm, error)
        if place is None:
            raise
        message = f"{place}{algorithm.label}: {describe(error)}"
    # Raised outside of the handler, so that the error does not keep the program's frames: ranks must not outlive the
    # thread that runs them.
    raise Error(message)


def told(algorithm: Algorithm, error: BaseException) -> str:
    """Return where a program raised an error and the error, in one line."""
    return f"{_place_in(algorithm, error) or ''}{describe(error)}"


def describe(error: BaseException) -> str:
    """Return an error in one line; for an error of Hocket, only its message."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "its error message cannot be printed"
    if isinstance(error, Error):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _place_in(algorithm: Algorithm, error: BaseException) -> str | None:
    """Return "file:line: " if a program raised the error, "" if code it called did, None if it is not the program's."""
    if algorithm.program is None:
        return None
    file = inspect.getfile(algorithm.program)
    if line := line_in(file, error):
        return f"{file}:{line}: "
    return None if isinstance(error, Error) else ""


def line_in(file: str | None, error: BaseException) -> int | None:
    """Return the last line of a file that an error passed through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None


def _torus_sizes(algorithm: Algorithm, call: Call, machine: Machine) -> Mapping[str, int]:
    """Return the sizes of the machine's torus, if the algorithm takes sizes and none were given."""
    axes = [parameter.name for parameter in algorithm.parameters if parameter.name in AXES]
    if not set(AXES[:3]).issubset(axes) or not call.parameters.keys().isdisjoint(AXES):
        return {}
    topology = machine.topology
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
