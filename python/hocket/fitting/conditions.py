"""Conditions on measurements: `ranks>64`, or several that hold together, `collective=broadcast,size>=1MiB`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hocket._native import Error
from hocket.base.units import parse_bytes, parse_count
from hocket.definitions.library import find_collective
from hocket.measurements.measurement import Measurement

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_ONE = re.compile(r"\s*(\w+)\s*(<=|>=|!=|<|>|=)\s*(.+?)\s*")
_READERS: Mapping[str, Callable[[str], Any]] = {
    "ranks": parse_count,
    "size": parse_bytes,
    "collective": find_collective,
    "algorithm": str,
    "ranks_per_node": parse_count,
    **dict.fromkeys(("system", "library", "buffers"), str),
}


@dataclass(frozen=True)
class Condition:
    """A condition on measurements, or several that hold together."""

    text: str  # as it was given
    parts: tuple[tuple[str, str, Any], ...]  # the attribute of a measurement, how it is compared, and with what

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition, or refuse the text."""
        return cls(text, tuple(_part(part, text) for part in text.split(",")))

    def holds(self, one: Measurement) -> bool:
        """Return whether it holds for a measurement."""
        return all(
            getattr(one, name) is not None and _COMPARISONS[how](getattr(one, name), value)
            for name, how, value in self.parts
        )


def _part(part: str, text: str) -> tuple[str, str, Any]:
    match = _ONE.fullmatch(part)
    if match is None or match[1] not in _READERS:
        examples = '"ranks>64" or "collective=broadcast,size<1MiB"'
        raise Error(f'got "{text}", expected a condition such as {examples} on {", ".join(_READERS)}')
    value = _READERS[match[1]](match[3])
    if isinstance(value, str) and match[2] not in ("=", "!="):
        raise Error(f'got "{text}", expected = or != beside {match[1]}')
    return "size_bytes" if match[1] == "size" else match[1], match[2], value
