"""Values of parameters as people write them: `NAME=VALUE`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hocket._native import Error
from hocket.base.names import unknown
from hocket.base.units import parse_bytes, parse_count
from hocket.definitions.library import AUTO, GAP, Algorithm


def parse_parameter(text: str) -> tuple[str, str]:
    """Return the name and the text of the value of `NAME=VALUE`, or refuse the text."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise Error(f'got "{text}", expected NAME=VALUE')
    return name, value


def values_of(parameters: Iterable[tuple[str, str]], algorithms: Iterable[Algorithm]) -> dict[str, float | str]:
    """Return the values of parameters, each given once; the algorithm that declares one gives the unit of its value."""
    units = {parameter.name: parameter.unit for algorithm in algorithms for parameter in algorithm.parameters}
    parameters = list(parameters)
    for number, (name, _) in enumerate(parameters):
        if name in dict(parameters[:number]):
            raise Error(f"--param: got {name} twice, expected each parameter once")
    return {name: _value(name, text, units) for name, text in parameters}


def _value(name: str, text: str, units: Mapping[str, str]) -> int | str:
    if name not in units:
        raise unknown("parameter", name, sorted(units))
    if text == AUTO or units[name] in (GAP, "choice"):
        return text
    try:
        return parse_bytes(text) if units[name] == "bytes" else parse_count(text)
    except Error as error:
        raise Error(f"parameter {name}: {error}") from None
