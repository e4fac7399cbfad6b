"""A plain CSV: collective, algorithm, ranks, size_bytes, time_s and optionally parameters, as "name=value;name=value".

Further columns that are read: element_bytes, dims (the job's torus, as 4x4x4), ranks_per_node and system.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from hocket._native import Error
from hocket.base.units import parse_count
from hocket.definitions.library import find_collective
from hocket.definitions.parameters import parse_parameter
from hocket.fitting.measurements.measurement import (
    Format,
    Measurement,
    Reading,
    Told,
    at,
    count,
    has_columns,
    positive,
    program_of,
    rows_of,
)

_COLUMNS = ("collective", "algorithm", "ranks", "size_bytes", "time_s")


def _read(text: str, file: str, told: Told) -> Reading:
    found = tuple(_measurement(cells, where, told) for cells, where in rows_of(text, file, _COLUMNS))
    return Reading(found)


def _measurement(cells: Mapping[str, str], where: tuple[str, int], told: Told) -> Measurement:
    def whole(name: str) -> int | None:
        return count(cells[name], name, where) if cells.get(name) else None

    try:
        collective = find_collective(cells["collective"])
        pairs = (parse_parameter(part.strip()) for part in cells.get("parameters", "").split(";") if part.strip())
        algorithm, parameters = program_of(collective, cells["algorithm"], pairs)
        size_bytes = parse_count(cells["size_bytes"])
    except Error as error:
        raise at(*where, str(error)) from None
    return Measurement(
        collective=collective,
        algorithm=algorithm,
        ranks=count(cells["ranks"], "ranks", where),
        size_bytes=size_bytes,
        time_s=positive(cells["time_s"], "time_s", where),
        measured_as=told.measured_as,
        parameters=parameters,
        element_bytes=whole("element_bytes") or 1,
        dims=tuple(count(part, "dims", where) for part in cells["dims"].split("x")) if cells.get("dims") else None,
        ranks_per_node=whole("ranks_per_node"),
        system=cells.get("system", ""),
        source=f"{where[0]}:{where[1]}",
    )


FORMAT = Format("csv", f"a CSV with the columns {', '.join(_COLUMNS)}", partial(has_columns, columns=_COLUMNS), _read)
