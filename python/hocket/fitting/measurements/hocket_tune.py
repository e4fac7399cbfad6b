"""What `hocket tune` measured, `measurements.jsonl`: choices by call; its simulated times are refused.

The MPI's own algorithms, and compositions of calls, have no counterpart. "native" is the library's own choice. A last
line that was cut off is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hocket._native import Error
from hocket.base.files import parse_object
from hocket.definitions.library import REDUCTIONS, find, find_collective
from hocket.fitting.measurements.measurement import (
    DEFAULT,
    MOST_NAME_LETTERS,
    Format,
    Measurement,
    Reading,
    Told,
    at,
    matching,
)
from hocket.mpi.benchmark import DOUBLE_BYTES
from hocket.tuning.choice import Choice
from hocket.tuning.records import Found

_BEGIN = r'\{\s*"hocket":\s*"tune"'


def _read(text: str, file: str, _: Told) -> Reading:
    found: list[Measurement] = []
    unknown: list[Measurement] = []
    is_begun = False
    for number, line in enumerate(text[: text.rfind("\n") + 1].split("\n"), start=1):
        if re.match(rf"\s*{_BEGIN}", line):
            is_begun = True
        elif is_begun and line.lstrip().startswith("{"):
            for one, is_known in _measurements(line, (file, number)):
                (found if is_known else unknown).append(one)
    return Reading(tuple(found), tuple(unknown))


def _measurements(line: str, where: tuple[str, int]) -> Iterator[tuple[Measurement, bool]]:
    """Give the measurements of a call, each with whether it has a counterpart."""
    entry = parse_object(line, f"{where[0]}:{where[1]}")
    try:
        call = Found.of(entry)
        if call.is_simulated:
            raise Error("got simulated times, expected measured times")
        collective = find_collective(call.point.collective[:MOST_NAME_LETTERS])
        for choice, estimate in call.times.items():
            algorithm = _algorithm(collective, choice)
            yield (
                Measurement(
                    collective=collective,
                    algorithm=algorithm or str(choice)[:MOST_NAME_LETTERS],
                    ranks=call.point.ranks,
                    size_bytes=call.point.size_bytes,
                    time_s=estimate.median_s,
                    parameters=dict(choice.parameters) if algorithm != DEFAULT else {},
                    element_bytes=DOUBLE_BYTES if collective in REDUCTIONS else 1,
                    source=f"{where[0]}:{where[1]}",
                ),
                algorithm is not None,
            )
    except Error as error:
        raise at(*where, str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise at(*where, "expected the measurements of a call, as `hocket tune` writes them") from None


def _algorithm(collective: str, choice: Choice) -> str | None:
    """Return the algorithm of a choice, if it has one in the catalogue; "default" for the library's own choice."""
    if choice.owner == "default":
        return DEFAULT
    return find(f"{collective}/{choice.name[:MOST_NAME_LETTERS]}").name if choice.owner == "catalogue" else None


FORMAT = Format("hocket-tune", "`measurements.jsonl` of `hocket tune`", matching(_BEGIN, "tune"), _read)
