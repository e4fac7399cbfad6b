"""The boundary to the compiled module: a call of an algorithm becomes a request, an answer becomes plain data."""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from hocket._native import Error
from hocket.call import Call
from hocket.library import Algorithm

__all__ = [
    "ask",
    "call_request",
    "complete",
    "declared_by",
    "guarded",
    "describe",
    "refusal",
]

T = TypeVar("T")


def complete(algorithm: Algorithm, parameters: Mapping[str, int]) -> dict[str, int]:
    """Return the values of all parameters of an algorithm: those given, and the defaults of the others.

    Raises:
        Error: The algorithm does not take a parameter, or its value.
    """
    for name, value in parameters.items():
        _check_parameter(algorithm, name, value)
    return {**{p.name: p.default for p in algorithm.parameters}, **parameters}


def refusal(algorithm: Algorithm, call: Call) -> str | None:
    """Return what an algorithm written in Python refuses a call with, or None; the catalogue checks its own."""
    refuses = algorithm.refuses
    sentence = guarded(algorithm, lambda: refuses(call)) if refuses else None
    return f"{algorithm.collective} {algorithm.name} {sentence} (P = {call.ranks})" if sentence else None


def declared_by(algorithm: Algorithm, parameters: Mapping[str, int]) -> dict[str, int]:
    """Return those of some parameters that an algorithm declares."""
    names = {parameter.name for parameter in algorithm.parameters}
    return {name: value for name, value in parameters.items() if name in names}


def call_request(algorithm: Algorithm, call: Call) -> dict[str, Any]:
    """Return the request for a call, in the compiled module's words.

    Raises:
        Error: The algorithm refuses the call, or does not take a parameter or its value.
    """
    parameters = complete(algorithm, call.parameters)
    sentence = refusal(algorithm, replace(call, parameters=parameters))
    if sentence:
        raise Error(sentence)
    return {
        "collective": algorithm.collective,
        "algorithm": algorithm.name,
        "ranks": call.ranks,
        "size_bytes": call.size_bytes,
        "root": call.root,
        "element_bytes": call.element_bytes,
        "in_place": call.in_place,
        "commutative": call.commutative,
        "parameters": parameters,
    }


def ask(function: Callable[..., str], request: Mapping[str, Any], algorithm: Algorithm, *more: Any) -> Any:
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
    return json.loads(guarded(algorithm, lambda: function(json.dumps(request), *programs)))


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


def _check_parameter(algorithm: Algorithm, name: str, value: int) -> None:
    declared = next((p for p in algorithm.parameters if p.name == name), None)
    if declared is None:
        known = ", ".join(p.name for p in algorithm.parameters) or "no parameters"
        raise Error(f'{algorithm.label}: unknown parameter "{name}", expected {known}')
    if value < declared.least:
        raise Error(f"{algorithm.label}: parameter {name} = {value}, expected at least {declared.least}")
