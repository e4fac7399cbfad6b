"""What Hocket itself measured: the output of `hocket mpi bench --json`, and `measurements.jsonl` of `hocket tune`.

"native" is the library's own choice. Of a tuning, simulated times are refused; the MPI's own algorithms, and
compositions of calls, have no counterpart; a last line that was cut off is dropped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.files import parse_object
from hocket.base.units import format_choice
from hocket.definitions.library import NATIVE_NAME, find, find_collective, measured_element_bytes, values_of
from hocket.measurements.consistency import out_of_order
from hocket.measurements.measurement import (
    DEFAULT,
    MOST_NAME_LETTERS,
    Facts,
    Format,
    Measurement,
    Reading,
    at,
    matching,
    spread_of,
)

_BENCH = r'\{\s*$|\{\s*"collective":'
_TUNE = r'\{\s*"hocket":\s*"tune"'


def _read_bench(text: str, file: str, facts: Facts) -> Reading:
    entry = parse_object(text[max(text.find("{"), 0) : text.rfind("}") + 1], file)
    for key in ("arrivals", "cadence"):
        if entry.get(key) is not None:
            raise Error(f"{file}: has {key}, expected times of isolated calls")
    try:
        collective = find_collective(entry["collective"][:MOST_NAME_LETTERS])
        call = Call(ranks=_count(entry["ranks"]), size_bytes=0)
        ones = [(_of_bench(collective, one, call, facts, file), out_of_order(one)) for one in entry["measurements"]]
    except Error as error:
        raise Error(f"{file}: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError):
        raise Error(f"{file}: expected the output of `hocket mpi bench --json`") from None
    return Reading(
        tuple(rule for rule, fault in ones if not fault),
        cuts=tuple(f"{rule.source} contradicts itself and is left out: {fault}" for rule, fault in ones if fault),
    )


def _of_bench(collective: str, one: Mapping[str, Any], call: Call, facts: Facts, file: str) -> Measurement:
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


BENCH = Format(
    "hocket-bench",
    "the output of `hocket mpi bench --json`",
    matching(_BENCH, "{"),
    _read_bench,
    needs=('"collective"', '"ranks"', '"measurements"'),
)


def _read_tune(text: str, file: str, _: Facts) -> Reading:
    ones: list[tuple[Measurement, bool]] = []
    cuts: list[str] = []
    is_begun = False
    for number, line in enumerate(text[: text.rfind("\n") + 1].split("\n"), start=1):
        if re.match(rf"\s*{_TUNE}", line):
            is_begun = True
        elif is_begun and line.lstrip().startswith("{"):
            for one, is_known, fault in _of_tune(line, (file, number)):
                if fault:
                    cuts.append(f"{one.source}: {one.algorithm} contradicts itself and is left out: {fault}")
                else:
                    ones.append((one, is_known))
    return Reading.of(ones, cuts)


def _of_tune(line: str, where: tuple[str, int]) -> Iterator[tuple[Measurement, bool, str]]:
    """Give the measurements of a call, each with whether it has a counterpart, and how it contradicts itself."""
    entry = parse_object(line, f"{where[0]}:{where[1]}")
    try:
        collective = find_collective(entry["collective"][:MOST_NAME_LETTERS])
        if entry["is_simulated"]:
            raise Error("got simulated times, expected measured times")
        for choice in entry["choices"]:
            owner, name = choice["owner"], choice["name"][:MOST_NAME_LETTERS]
            in_catalogue = find(f"{collective}/{name}").name if owner == "catalogue" else None
            algorithm = DEFAULT if owner == "default" else in_catalogue
            yield (
                Measurement(
                    collective=collective,
                    algorithm=algorithm or _label(**choice)[:MOST_NAME_LETTERS],
                    ranks=entry["ranks"],
                    size_bytes=entry["size_bytes"],
                    time_s=choice["median_s"],
                    parameters=dict(choice["parameters"]) if algorithm != DEFAULT else {},
                    element_bytes=measured_element_bytes(collective),
                    source=f"{where[0]}:{where[1]}",
                ),
                algorithm is not None,
                out_of_order(choice),
            )
    except Error as error:
        raise at(*where, str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise at(*where, "expected the measurements of a call, as `hocket tune` writes them") from None


def _label(owner: str, name: str, parameters: Mapping[str, object], **_: object) -> str:
    """Return a choice without counterpart as text."""
    return f"MPI's {name}" if owner == "mpi" else format_choice(name, parameters.items(), ", ")


TUNE = Format("hocket-tune", "`measurements.jsonl` of `hocket tune`", matching(_TUNE, "tune"), _read_tune)
