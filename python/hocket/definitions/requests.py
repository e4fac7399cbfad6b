"""The boundary to the compiled module: a call of an algorithm becomes a request, an answer becomes plain data."""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call
from hocket.base.checks import instance, json_text, mapping, shown, size_bytes, text, truth, whole
from hocket.base.names import among
from hocket.definitions.library import Algorithm, Parameter

__all__ = [
    "GAP",
    "ask",
    "call_request",
    "complete",
    "declared_by",
    "describe",
    "element_size",
    "guarded",
    "hand",
    "numbers",
    "refusal",
    "shape_of",
    "worded",
]

T = TypeVar("T")

GAP = "gap"
"""The parameter of paced algorithms, and its unit; its value is a text."""


def complete(
    algorithm: Algorithm, parameters: Mapping[str, float | str], *, element_bytes: int = 1
) -> dict[str, int | str]:
    """Return the values of all parameters of an algorithm: those given, and the defaults of the others.

    Bytes are rounded down to whole elements, but to one at least. A gap between packets, and a switch, are texts.

    Raises:
        Error: The algorithm does not take a parameter, or its value.
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
    """Return the value of a parameter as a number: bytes may be a text."""
    if parameter is not None and parameter.unit == "bytes":
        return size_bytes(what, value)
    return _number(what, value, () if parameter is None else parameter.choices)


def _number(name: str, value: Any, choices: Sequence[str]) -> int:
    """Return a value as a number: a word as its place among the choices."""
    if not choices:
        return whole(name, value)
    return choices.index(among(name, value, choices))


def worded(algorithm: Algorithm, parameters: Mapping[str, int]) -> dict[str, int | str]:
    """Return numbers of parameters as values, with the words of switches."""
    choices = _choices(algorithm)
    return {name: choices[name][value] if name in choices else value for name, value in parameters.items()}


def _gap(value: Any) -> str:
    given = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    gap = text("parameter gap", given)
    _native.check_gap(gap)
    return gap


def numbers(algorithm: Algorithm, parameters: Mapping[str, float | str]) -> dict[str, int]:
    """Return the parameters of a completed call as numbers: what a program takes. A gap is none."""
    choices = _choices(algorithm)
    gaps = {parameter.name for parameter in algorithm.parameters if parameter.unit == GAP}
    return {name: _number(name, parameters[name], choices.get(name, ())) for name in parameters if name not in gaps}


def element_size(element_bytes: Any) -> int:
    """Return the size of an element as Python's own number.

    Raises:
        Error: As `whole`, or it is 0.
    """
    found = size_bytes("element_bytes", element_bytes)
    if found == 0:
        raise Error("element_bytes: got 0, expected at least 1")
    return found


def refusal(algorithm: Algorithm, call: Call) -> str | None:
    """Return what an algorithm written in Python refuses a call with, or None; the catalogue checks its own."""
    refuses = algorithm.refuses
    sentence = guarded(algorithm, lambda: refuses(call)) if refuses else None
    if not (sentence is None or isinstance(sentence, str)):
        raise Error(
            f"{algorithm.label}: refuses returned {shown(sentence)}, expected a sentence, or None for no refusal"
        )
    return f"{algorithm.collective} {algorithm.name} {sentence} (P = {call.ranks})" if sentence else None


def declared_by(algorithm: Algorithm, parameters: Mapping[str, float | str]) -> dict[str, float | str]:
    """Return those of some parameters that an algorithm declares."""
    names = {parameter.name for parameter in algorithm.parameters}
    return {name: value for name, value in parameters.items() if name in names}


def call_request(algorithm: Algorithm, call: Call) -> dict[str, Any]:
    """Return the request for a call, in the compiled module's words.

    Raises:
        Error: The algorithm refuses the call, does not take a parameter or its value, or a value is of a wrong type.
    """
    call = _checked(algorithm, call)
    sentence = refusal(algorithm, call)
    if sentence:
        raise Error(sentence)
    gaps = {p.name: call.parameters[p.name] for p in algorithm.parameters if p.unit == GAP}
    return {
        "collective": algorithm.collective,
        "algorithm": algorithm.name,
        "ranks": call.ranks,
        "size_bytes": call.size_bytes,
        "root": call.root,
        "neighbors": call.neighbors,
        "element_bytes": call.element_bytes,
        "in_place": call.in_place,
        "commutative": call.commutative,
        "parameters": numbers(algorithm, call.parameters),
        **gaps,
    }


def shape_of(call: Call) -> dict[str, Any]:
    """Return ranks, neighbours, sizes and root of a call in Python's own types, by their names.

    Raises:
        Error: It is no call, or one of them is no such number, or text.
    """
    instance("call", call, Call, "hocket.Call")
    return {
        "neighbors": None if call.neighbors is None else text("neighbors", call.neighbors),
        "ranks": whole("ranks", call.ranks),
        "size_bytes": size_bytes("size_bytes", call.size_bytes),
        "root": whole("root", call.root),
        "element_bytes": element_size(call.element_bytes),
    }


def ask(function: Callable[..., str], request: Mapping[str, Any], algorithm: Algorithm, *more: Any) -> Any:
    """Return the answer of a function of the compiled module, as plain data; otherwise as `hand`."""
    return json.loads(hand(function, request, algorithm, *more))


def hand(function: Callable[..., T], request: Mapping[str, Any], algorithm: Algorithm, *more: Any) -> T:
    """Hand a request to a function of the compiled module, with the program of an algorithm written in Python.

    Args:
        function: The function.
        request: The request.
        algorithm: The algorithm that the request names.
        more: What the function takes after the program of an algorithm written in Python.

    Raises:
        Error: The function's, or what the program raised.
    """
    programs = () if algorithm.program is None else (algorithm.program, *more)
    request_text = json_text("request", request)
    return guarded(algorithm, lambda: function(request_text, *programs))


def guarded(algorithm: Algorithm, run: Callable[[], T]) -> T:
    """Return what `run` does, and turn what a program written in Python raises into one line.

    Raises:
        Error: Instead of any exception of the program: where, in which program, and what.
    """
    try:
        return run()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and GeneratorExit are no more than the program's failures
        place = _place_in(algorithm, error)
        if place is None:
            raise
        message = f"{place}{algorithm.label}: {describe(error)}"
    # Raised here, so that it does not keep the program's frames: ranks must not outlive the thread that runs them.
    raise Error(message)


def told(algorithm: Algorithm, error: BaseException) -> str:
    """Return where a program raised an error, and what, in one line."""
    return f"{_place_in(algorithm, error) or ''}{describe(error)}"


def describe(error: BaseException) -> str:
    """Return what was raised, in one line; the message alone if it is Hocket's own."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "its message cannot be told"
    if isinstance(error, Error):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _place_in(algorithm: Algorithm, error: BaseException) -> str | None:
    """Return "file:line: " if a program raised the error, "" if it was run by one, None if there is no program."""
    if algorithm.program is None:
        return None
    file = inspect.getfile(algorithm.program)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if lines:
        return f"{file}:{lines[-1]}: "
    return None if isinstance(error, Error) else ""


def _checked(algorithm: Algorithm, call: Call) -> Call:
    """Return a call in Python's own types, with the values of all parameters."""
    shape = shape_of(call)
    return Call(
        **shape,
        in_place=truth("in_place", call.in_place),
        commutative=truth("commutative", call.commutative),
        parameters=complete(algorithm, call.parameters, element_bytes=shape["element_bytes"]),
    )
