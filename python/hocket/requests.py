"""The boundary to the compiled module: a call of an algorithm becomes a request, an answer becomes plain data."""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from hocket._native import Error
from hocket.call import Call
from hocket.library import Algorithm
from hocket.typing import Program

__all__ = [
    "RefusedError",
    "ask",
    "call_request",
    "check_precondition",
    "complete",
    "declared_by",
    "program_errors",
    "program_of",
]


class RefusedError(Error):
    """A precondition of an algorithm written in Python does not hold."""


def complete(algorithm: Algorithm, parameters: Mapping[str, int]) -> dict[str, int]:
    """Return the values of all parameters of an algorithm: those given, and the defaults of the others.

    Raises:
        Error: The algorithm does not take a parameter, or its value.
    """
    for name, value in parameters.items():
        _check_parameter(algorithm, name, value)
    return {**{p.name: p.default for p in algorithm.parameters}, **parameters}


def check_precondition(algorithm: Algorithm, call: Call) -> None:
    """Check that an algorithm written in Python takes a call; the compiled module checks its own.

    Raises:
        RefusedError: It does not.
    """
    sentence = algorithm.refuses(call) if algorithm.refuses else None
    if sentence:
        raise RefusedError(f"{algorithm.collective} {algorithm.name} {sentence} (P = {call.ranks})")


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
    check_precondition(algorithm, replace(call, parameters=parameters))
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


def ask(function: Callable[..., str], request: Mapping[str, Any], algorithm: Algorithm) -> Any:
    """Hand a request to a function of the compiled module, with the program of an algorithm written in Python.

    Raises:
        Error: The function's, or what the program raised.
    """
    with program_errors(algorithm):
        return json.loads(function(json.dumps(request), *program_of(algorithm)))


def program_of(algorithm: Algorithm) -> tuple[Program, ...]:
    """Return the last argument of the compiled module's functions: none for an algorithm of the catalogue."""
    return () if algorithm.program is None else (algorithm.program,)


@contextmanager
def program_errors(algorithm: Algorithm) -> Iterator[None]:
    """Turn what a program written in Python raises into one line: where, in which program, and what.

    Raises:
        Error: Instead of any exception of the program.
    """
    try:
        yield
    except Exception as error:
        if algorithm.program is None or isinstance(error, Error):
            raise
        place = _place_in(algorithm.program, error)
        raise Error(f"{place}{algorithm.label}: {type(error).__name__}: {error}") from error


def _place_in(program: Program, error: Exception) -> str:
    """Return "file:line: " of the innermost frame in the file of the program, or nothing."""
    file = inspect.getfile(program)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{file}:{lines[-1]}: " if lines else ""


def _check_parameter(algorithm: Algorithm, name: str, value: int) -> None:
    declared = next((p for p in algorithm.parameters if p.name == name), None)
    if declared is None:
        known = ", ".join(p.name for p in algorithm.parameters) or "no parameters"
        raise Error(f'{algorithm.label}: unknown parameter "{name}", expected {known}')
    if value < declared.least:
        raise Error(f"{algorithm.label}: parameter {name} = {value}, expected at least {declared.least}")
