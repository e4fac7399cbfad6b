"""Reading the rows of a sweep's table: from texts of a CSV file, or from values of a Parquet file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from hocket._native import Error
from hocket.base import checks
from hocket.simulating.sweeps.row import Row

_LIMIT = 1 << 64
_PARAMETER = "param_"
_COLUMNS = {column.name: str(column.type) for column in fields(Row) if column.name != "parameters"}
_REQUIRED = [column.name for column in fields(Row) if column.default is MISSING]


def rows_of(records: Sequence[Mapping[str, Any]], file: str) -> tuple[Row, ...]:
    """Return the rows of a sweep's table, given by column; an Error names file, row and column."""
    if not records:
        raise Error(f"{file}: no rows, expected the table of a sweep")
    names = set(records[0])
    for name in _REQUIRED:
        if name not in names:
            raise Error(f"{file}: no column {name}, expected the table of a sweep")
    for name in sorted(names - {*_COLUMNS, "parameters"}):
        if not name.startswith(_PARAMETER):
            raise Error(f'{file}: got a column "{name}", expected the table of a sweep')
    return tuple(_row(record, f"{file}: row {number}") for number, record in enumerate(records, start=1))


def _row(record: Mapping[str, Any], where: str) -> Row:
    if "" in record:
        raise Error(f"{where}: got more cells than columns")
    values = {name: _value(record[name], kind, f"{where}: {name}") for name, kind in _COLUMNS.items() if name in record}
    parameters = {
        name.removeprefix(_PARAMETER): _parameter(value)
        for name, value in record.items()
        if name.startswith(_PARAMETER) and value not in (None, "")
    }
    row = Row(parameters=parameters, **values)
    names = ("time_mean_s", *(("time_interval_low_s", "time_interval_high_s") if (row.trials or 1) > 1 else ()))
    for name in names if row.refusal is None else ():
        if getattr(row, name) is None:
            raise Error(f"{where}: {name} is empty, expected a value, as the call was not refused")
    return row


def _value(value: Any, kind: str, where: str) -> Any:
    """Return a value of a (possibly optional) type, from a text or from a typed value."""
    if value in (None, "") and kind.endswith("None"):
        return None
    read, expected = _KINDS[kind.removesuffix(" | None")]
    try:
        return read(value)
    except (TypeError, ValueError):
        raise Error(f"{where}: got {checks.quote(value)}, expected {expected}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _whole(value: Any) -> int:
    """Return a whole number, also from "112.0": other tools write this for columns with empty cells."""
    number = int(value) if isinstance(value, int) or str(value).isdecimal() else float(value)
    if not 0 <= number < _LIMIT or number != int(number):
        raise ValueError
    return int(number)


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


_KINDS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "str": (_text, "a text"),
    "int": (_whole, "a whole number from 0 to 2^64 - 1"),
    "float": (_finite, "a finite number"),
}


def _parameter(value: Any) -> int | str:
    try:
        return _whole(value)
    except (TypeError, ValueError):
        return str(value)
