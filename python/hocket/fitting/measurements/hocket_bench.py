"""What `hocket mpi bench --json` prints: medians by algorithm and size; "native" is the library's own choice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.files import parse_object
from hocket.definitions.library import find, find_collective
from hocket.definitions.parameters import values_of
from hocket.fitting.measurements.measurement import DEFAULT, Format, Measurement, Reading, Told
from hocket.mpi.benchmark import NATIVE_NAME, call_of

__all__ = ["FORMAT"]

_KEYS = ("collective", "ranks", "measurements")


def _recognises(text: str) -> bool:
    return text.lstrip().startswith("{") and all(f'"{key}"' in text for key in _KEYS)


def _read(text: str, file: str, told: Told) -> Reading:
    entry = parse_object(text, file)
    try:
        collective = find_collective(entry["collective"])
        call = Call(ranks=_count(entry["ranks"]), size_bytes=0)
        found = tuple(_measurement(collective, one, call, told, file) for one in entry["measurements"])
    except (KeyError, TypeError, ValueError):
        raise Error(f"{file}: expected what `hocket mpi bench --json` prints") from None
    return Reading(found)


def _measurement(collective: str, one: Mapping[str, Any], call: Call, told: Told, file: str) -> Measurement:
    name, size_bytes, time_s = one["algorithm"], _count(one["size_bytes"]), float(one["median_s"])
    if not 0 < time_s < math.inf:
        raise Error(f"{file}: {name} of {size_bytes} B: got {time_s} s, expected a time above zero")
    source = f"{file}: {name} of {size_bytes} B"
    if name == NATIVE_NAME:
        return Measurement(
            collective=collective,
            algorithm=DEFAULT,
            ranks=call.ranks,
            size_bytes=size_bytes,
            time_s=time_s,
            source=source,
        )
    algorithm = find(f"{collective}/{name}")
    names = {parameter.name for parameter in algorithm.parameters}
    parameters = values_of([pair for pair in told.parameters if pair[0] in names], [algorithm])
    made = call_of(algorithm, call, size_bytes)
    return Measurement(
        collective=collective,
        algorithm=name,
        ranks=call.ranks,
        size_bytes=size_bytes,
        time_s=time_s,
        parameters=parameters,
        element_bytes=made.element_bytes,
        source=source,
    )


def _count(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError
    return value


FORMAT = Format("hocket-bench", "the output of `hocket mpi bench --json`", _recognises, _read)
