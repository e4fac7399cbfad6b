"""A plain CSV: collective, algorithm, ranks, size_bytes, time_s and optionally parameters, as "name=value;name=value".

Further columns that are read: element_bytes, dims (the job's torus, as 4x4x4), ranks_per_node and system.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping

from hocket._native import Error
from hocket.base.units import parse_count
from hocket.definitions.library import find, find_collective
from hocket.definitions.parameters import parse_parameter, values_of
from hocket.fitting.measurements.measurement import DEFAULT, Format, Measurement, Reading, Told, at, positive

__all__ = ["FORMAT"]

_COLUMNS = ("collective", "algorithm", "ranks", "size_bytes", "time_s")


def _recognises(text: str) -> bool:
    return set(_COLUMNS) <= {name.strip() for name in text.partition("\n")[0].split(",")}


def _read(text: str, file: str, _: Told) -> Reading:
    rows = csv.DictReader(text.splitlines())
    rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
    found = tuple(_measurement(row, (file, rows.line_num)) for row in rows)
    return Reading(found)


def _measurement(row: Mapping[str, str | None], where: tuple[str, int]) -> Measurement:
    cells = {name: value.strip() for name, value in row.items() if isinstance(value, str)}
    missing = [name for name in _COLUMNS if not cells.get(name)]
    if missing:
        raise at(*where, f"{missing[0]}: got nothing, expected a value")
    time_s = positive(cells["time_s"], "time_s", where)
    try:
        collective = find_collective(cells["collective"])
        algorithm, parameters = _program(collective, cells["algorithm"], cells.get("parameters", ""))
        return Measurement(
            collective=collective,
            algorithm=algorithm,
            ranks=_least_1("ranks", cells["ranks"]),
            size_bytes=parse_count(cells["size_bytes"]),
            time_s=time_s,
            parameters=parameters,
            element_bytes=_least_1("element_bytes", cells.get("element_bytes") or "1"),
            dims=tuple(_least_1("dims", part) for part in cells["dims"].split("x")) if cells.get("dims") else None,
            ranks_per_node=_least_1("ranks_per_node", cells["ranks_per_node"]) if cells.get("ranks_per_node") else None,
            system=cells.get("system", ""),
            source=f"{where[0]}:{where[1]}",
        )
    except Error as error:
        raise at(*where, str(error)) from None


def _program(collective: str, name: str, parameters: str) -> tuple[str, dict[str, float | str]]:
    if name == DEFAULT:
        return DEFAULT, {}
    algorithm = find(f"{collective}/{name}")
    pairs = [parse_parameter(part.strip()) for part in parameters.split(";") if part.strip()]
    return algorithm.name, values_of(pairs, [algorithm])


def _least_1(what: str, text: str) -> int:
    count = parse_count(text) if text.isdecimal() else 0
    if count < 1:
        raise Error(f'{what}: got "{text}", expected a whole number of at least 1')
    return count


FORMAT = Format("csv", f"a CSV with the columns {', '.join(_COLUMNS)}", _recognises, _read)
