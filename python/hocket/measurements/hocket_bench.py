"""What `hocket mpi bench --json` prints: medians by algorithm and size; "native" is the library's own choice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.files import parse_object
from hocket.definitions.library import NATIVE_NAME, find, find_collective, measured_element_bytes
from hocket.definitions.parameters import values_of
from hocket.measurements.consistency import out_of_order
from hocket.measurements.measurement import (
    DEFAULT,
    MOST_NAME_LETTERS,
    Facts,
    Format,
    Measurement,
    Reading,
    matching,
    spread_of,
)

_BEGIN = r'\{\s*$|\{\s*"collective":'


def _read(text: str, file: str, facts: Facts) -> Reading:
    entry = parse_object(text[max(text.find("{"), 0) : text.rfind("}") + 1], file)
    for key in ("arrivals", "cadence"):
        if entry.get(key) is not None:
            raise Error(f"{file}: has {key}, expected times of isolated calls")
    try:
        collective = find_collective(entry["collective"][:MOST_NAME_LETTERS])
        call = Call(ranks=_count(entry["ranks"]), size_bytes=0)
        ones = [(_measurement(collective, one, call, facts, file), one) for one in entry["measurements"]]
    except Error as error:
        raise Error(f"{file}: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError):
        raise Error(f"{file}: expected the output of `hocket mpi bench --json`") from None
    return Reading(
        tuple(rule for rule, one in ones if not out_of_order(one)),
        cuts=tuple(f"{rule.source} contradicts itself and is left out: {fault}"
                   for rule, one in ones if (fault := out_of_order(one))),
    )  # fmt: skip


def _measurement(collective: str, one: Mapping[str, Any], call: Call, facts: Facts, file: str) -> Measurement:
    name, size_bytes, time_s = one["algorithm"][:MOST_NAME_LETTERS], _count(one["size_bytes"]), float(one["median_s"])
    if not 0 < time_s < math.inf:
        raise Error(f"{name} of {size_bytes} B: got {time_s} s, expected a time above zero")
    native = Measurement(
        collective=collective,
        algorithm=DEFAULT,
        ranks=call.ranks,
        size_bytes=size_bytes,
        time_s=time_s,
        source=f"{file}: {name} of {size_bytes} B",
        spread=spread_of(one.get("low_s"), one.get("high_s"), "interval"),
    )
    if name == NATIVE_NAME:
        return native
    algorithm = find(f"{collective}/{name}")
    names = {parameter.name for parameter in algorithm.parameters}
    parameters = values_of([pair for pair in facts.parameters if pair[0] in names], [algorithm])
    element_bytes = measured_element_bytes(collective)
    return replace(native, algorithm=algorithm.name, parameters=parameters, element_bytes=element_bytes)


def _count(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError
    return value


FORMAT = Format(
    "hocket-bench",
    "the output of `hocket mpi bench --json`",
    matching(_BEGIN, "{"),
    _read,
    needs=('"collective"', '"ranks"', '"measurements"'),
)
