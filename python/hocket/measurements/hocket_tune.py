"""What `hocket tune` measured, `measurements.jsonl`: choices by call; its simulated times are refused.

The MPI's own algorithms, and compositions of calls, have no counterpart. "native" is the library's own choice. A last
line that was cut off is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hocket._native import Error
from hocket.base.files import parse_object
from hocket.base.units import format_choice
from hocket.definitions.library import find, find_collective, measured_element_bytes
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
)

_BEGIN = r'\{\s*"hocket":\s*"tune"'


def _read(text: str, file: str, _: Facts) -> Reading:
    rules: list[Measurement] = []
    unknown: list[Measurement] = []
    cuts: list[str] = []
    is_begun = False
    for number, line in enumerate(text[: text.rfind("\n") + 1].split("\n"), start=1):
        if re.match(rf"\s*{_BEGIN}", line):
            is_begun = True
        elif is_begun and line.lstrip().startswith("{"):
            for one, is_known, fault in _measurements(line, (file, number)):
                if fault:
                    cuts.append(f"{one.source}: {one.algorithm} contradicts itself and is left out: {fault}")
                else:
                    (rules if is_known else unknown).append(one)
    return Reading(tuple(rules), tuple(unknown), tuple(cuts))


def _measurements(line: str, where: tuple[str, int]) -> Iterator[tuple[Measurement, bool, str]]:
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
    if owner == "mpi":
        return f"MPI's {name}"
    return format_choice(name, parameters.items(), ", ")


FORMAT = Format("hocket-tune", "`measurements.jsonl` of `hocket tune`", matching(_BEGIN, "tune"), _read)
