"""When the ranks begin a call."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from hocket import _native
from hocket._native import Error
from hocket.base import files
from hocket.base.checks import number, quote, text

Arrivals: TypeAlias = str | Sequence[float]
"""When the ranks begin a call: ranks and how late they are, or a time for each rank, in seconds.

A text is "rank 3, 20 us"; "one rank, 0..500 us", one that is drawn in each trial, up to 500 us late; "every rank,
exponential 10 us"; or a time for each rank, "0 us, 5 us, 0 us". Each rank and each trial has its own draw.
"""

_COLUMNS = ("rank", "arrival_s")
_DIGITS = 10  # more than the number of any rank has


def as_arrivals(arrivals: Arrivals | None) -> str | list[float] | None:
    """Return arrivals in the form of the compiled module; refuse what is neither a text nor numbers."""
    if arrivals is None:
        return None
    arrival_list = arrivals.tolist() if hasattr(arrivals, "tolist") else arrivals
    if isinstance(arrival_list, str):
        return " ".join(text("arrivals", arrival_list).split())
    if isinstance(arrival_list, Sequence) and not isinstance(arrival_list, bytes | bytearray | memoryview):
        return [number("arrivals", time_s, "a time in seconds", is_right=math.isfinite) for time_s in arrival_list]
    raise Error(f"arrivals: got {quote(arrivals)}, expected a text, or a time for each rank in seconds")


def arrivals_text(arrivals: Arrivals) -> str:
    """Return arrivals as one text, which `read_arrivals` understands."""
    return arrivals if isinstance(arrivals, str) else ", ".join(f"{time_s * 1e6:.9g} us" for time_s in arrivals)


def read_arrivals(text: str) -> Arrivals:
    """Return arrivals that a text describes, or a CSV file in its columns rank and arrival_s; refuse all else."""
    return _of_file(text) if text.endswith(".csv") else describe(text)


def describe(text: str) -> str:
    """Return a text that describes arrivals, or refuse it."""
    try:
        _native.Scene(as_arrivals(text))
    except Error as error:
        raise Error(str(error).removeprefix("arrivals: ")) from None
    return text


def _of_file(path: str) -> list[float]:
    rows = csv.reader(files.read_text(path).splitlines())
    times_s: dict[int, float] = {}
    try:
        columns = [name.strip() for name in next(rows, [])]
        if any(columns.count(name) != 1 for name in _COLUMNS):
            column_names = ", ".join(map(quote, columns)) or "none"
            raise Error(f"{path}: line 1: got the columns {column_names}, expected {' and '.join(_COLUMNS)}, each once")
        for row in filter(None, rows):
            rank, time_s = _entry(dict(zip(columns, row, strict=False)) if len(row) == len(columns) else {})
            if rank is None or time_s is None or rank in times_s:
                got = ", ".join(map(quote, row))
                raise Error(
                    f"{path}: line {rows.line_num}: got {got}, expected a cell for each column: "
                    "a rank that no other line has, and its time in seconds"
                )
            times_s[rank] = time_s
    except csv.Error as error:
        raise Error(f"{path}: line {rows.line_num}: not CSV: {error}") from None
    if sorted(times_s) != list(range(len(times_s))) or not times_s:
        raise Error(f"{path}: got times of {len(times_s)} ranks, expected a time for each rank from 0 on")
    return [times_s[rank] for rank in range(len(times_s))]


def _entry(row: Mapping[str, str]) -> tuple[int | None, float | None]:
    """Return the rank and the time of a line; None for what is missing or wrong."""
    rank, time_s = (row.get(name, "").strip() for name in _COLUMNS)
    try:
        seconds = float(time_s) if "_" not in time_s else math.nan
    except ValueError:
        seconds = math.nan
    is_rank = rank.isascii() and rank.isdecimal() and len(rank) < _DIGITS
    return int(rank) if is_rank else None, seconds if math.isfinite(seconds) else None
