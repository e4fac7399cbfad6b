"""The boundary to the compiled module: the one place where a call of an algorithm becomes a handle of that module.

An algorithm of the catalogue declares in its Rust file which of its parameters have an automatic value. It computes
this value from the call and the machine.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call
from hocket.base.checks import instance, mapping, quote, size_bytes, text, truth, whole
from hocket.definitions.library import AUTO, Algorithm, find_collective, usual_element_bytes
from hocket.definitions.machine import PLACES, Machine

T = TypeVar("T")


def complete(
    algorithm: Algorithm, parameters: Mapping[str, float | str], *, element_bytes: int = 1
) -> dict[str, int | str]:
    """Return the values of all parameters of an algorithm: the given ones, and the defaults of the others.

    Bytes are rounded down to whole elements, at least one. A gap between packets and a switch are texts. Unknown
    parameters and impossible values are refused.
    """
    declared = None if algorithm.program is None else _declared(algorithm)
    return _native.complete(algorithm.collective, algorithm.name, declared, _settings(parameters), element_bytes)


def _declared(algorithm: Algorithm) -> list[tuple[str, bool, int, int]]:
    """Return the parameters of a program written in Python, in the form of the compiled module."""
    return [
        (each.name, each.unit == "bytes", whole(each.name, each.default), whole(each.name, each.least))
        for each in algorithm.parameters
    ]


def _settings(parameters: Mapping[str, float | str]) -> list[tuple[str, float | str]]:
    """Return what parameters are set to, as Python's own types; the compiled module knows their units."""
    return [(name, _plain(f"parameter {name}", value)) for name, value in mapping("parameters", parameters).items()]


def _plain(what: str, value: Any) -> float | str:
    if isinstance(value, str):
        return text(what, value)
    return float(value) if isinstance(value, float) else whole(what, value)


def element_size(element_bytes: Any) -> int:
    """Return the size of an element as a Python int of at least 1."""
    bytes_of_element = size_bytes("element_bytes", element_bytes)
    if bytes_of_element == 0:
        raise Error("element_bytes: got 0, expected at least 1")
    return bytes_of_element


def refusal(algorithm: Algorithm, call: Call) -> str | None:
    """Return why an algorithm written in Python refuses a call, or None; the catalogue checks its own algorithms."""
    refuses = algorithm.refuses
    sentence = guard(algorithm, lambda: refuses(call)) if refuses else None
    if not (sentence is None or isinstance(sentence, str)):
        raise Error(
            f"{algorithm.label}: refuses returned {quote(sentence)}, expected a sentence, or None for no refusal"
        )
    return f"{algorithm.collective} {algorithm.name} {sentence} (P = {call.ranks})" if sentence else None


def algorithms_for(machine: Machine, algorithms: Iterable[Algorithm]) -> tuple[Algorithm, ...]:
    """Return the algorithms without those made for a topology, or for cards or nodes, that the machine lacks."""
    topology = machine.quantities.get("network.topology")
    has_switch = any(key.endswith("multicast.latency_s") for key in machine.quantities)
    has_nodes = machine.ranks_per_node > 1 or any(f"network.{key}" in machine.quantities for key in PLACES)
    has_cards = machine.has_gpus or machine.quantities.get("node.cards.count", 1) != 1
    has = {"switch": has_switch, "cards": has_cards, "nodes": has_nodes}
    return tuple(each for each in algorithms if has.get(each.topology or "", each.topology in (None, topology)))


def declared_values(algorithm: Algorithm, parameters: Mapping[str, float | str]) -> dict[str, float | str]:
    """Return only the parameters that an algorithm declares."""
    names = {parameter.name for parameter in algorithm.parameters}
    return {name: value for name, value in parameters.items() if name in names}


def request_of(algorithm: Algorithm, call: Call) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return a call in the form of the compiled module, and the program, if it is in Python; refuse wrong types."""
    request = {
        **fields_of(call, algorithm.collective),
        "collective": algorithm.collective,
        "algorithm": text("algorithm", algorithm.name),
        "parameters": _settings(call.parameters),
    }
    if algorithm.program is None:
        if algorithm.refuses is not None:  # a condition written in Python, on an algorithm of the catalogue
            settings = {name: value for name, value in call.parameters.items() if value != AUTO}
            values = complete(algorithm, settings, element_bytes=element_of(call, algorithm.collective))
            if sentence := refusal(algorithm, replace(call, parameters=values)):
                raise Error(sentence)
        return request, None
    own = {
        "program": algorithm.program,
        "parameters": _declared(algorithm),
        "refuses": lambda **fields: refusal(algorithm, Call(**fields)),
    }
    return request, own


def prepare(algorithm: Algorithm, call: Call, machine: Machine | None = None) -> _native.Call:
    """Return a call as an object of the compiled module: with all values, and accepted by an algorithm.

    The machine, if there is one, completes the call: with automatic values, the sizes of its torus, and the nodes of
    the ranks. What the algorithm refuses is an Error, and a machine that lacks what the call needs of it.
    """
    request, own = request_of(algorithm, call)
    return guard(algorithm, lambda: _native.Call(request, own, None if machine is None else machine.handle))


def made_of_any(collective: str, call: Call) -> _native.Call:
    """Return a valid call for any algorithm, as an object of the compiled module; its parameters are ignored."""
    return _native.Call(request_of_any(collective, call))


def request_of_any(collective: str, call: Call) -> dict[str, Any]:
    """Return a valid call for any algorithm in the form of the compiled module; its parameters are ignored."""
    name = find_collective(collective)
    return {**fields_of(call, name), "collective": name}


def element_of(call: Call, collective: str) -> int:
    """Return the size of an element of a call of a collective."""
    if call.element_bytes is None:
        return usual_element_bytes(collective, call.size_bytes)
    return element_size(call.element_bytes)


def fields_of(call: Call, collective: str) -> dict[str, Any]:
    """Return the fields of a call except its parameters, as Python's own types; refuse wrong types and values."""
    instance("call", call, Call, "hocket.Call")
    return {
        "neighbors": None if call.neighbors is None else text("neighbors", call.neighbors),
        "ranks": whole("ranks", call.ranks),
        "size_bytes": size_bytes("size_bytes", call.size_bytes),
        "root": whole("root", call.root),
        "element_bytes": element_of(call, collective),
        "in_place": truth("in_place", call.in_place),
        "commutative": truth("commutative", call.commutative),
    }


def guard(algorithm: Algorithm, run: Callable[[], T]) -> T:
    """Return the result of `run`; an exception of a program written in Python becomes an error of one line.

    It says where, in which program, and what.
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


def locate_error(algorithm: Algorithm, error: BaseException) -> str:
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
        path, folder = Path(file), Path.cwd()
        return f"{path.relative_to(folder) if path.is_relative_to(folder) else file}:{line}: "
    return None if isinstance(error, Error) else ""


def line_in(file: str | None, error: BaseException) -> int | None:
    """Return the last line of a file that an error passed through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None
