"""When the ranks begin a call."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from hocket import _native
from hocket._native import Error
from hocket.base import files
from hocket.base.checks import number, shown

Arrivals: TypeAlias = "str | Sequence[float]"
"""When the ranks begin a call: ranks and how late they are, or a time for each rank, in seconds.

A text is "rank 3, 20 us"; "one rank, 0..500 us", one that is drawn in each trial, up to 500 us late; "every rank,
exponential 10 us"; or a time for each rank, "0 us, 5 us, 0 us". Each rank and each trial has its own draw.
"""

_COLUMNS = ("rank", "arrival_s")


def as_arrivals(arrivals: Arrivals | None, measured_as: str = "isolated") -> str | list[float] | None:
    """Return arrivals in the form of the compiled module.

    Raises:
        Error: They are neither a text nor numbers, or the ranks of a benchmark arrive together.
    """
    if arrivals is None:
        return None
    if measured_as != "isolated":
        raise Error(f"measured_as: got {shown(measured_as)}, expected 'isolated', as arrivals are given")
    if isinstance(arrivals, bytes) or not isinstance(arrivals, Iterable):
        raise Error(f"arrivals: got {shown(arrivals)}, expected a text, or a time for each rank in seconds")
    if not isinstance(arrivals, str):
        arrivals = [number("arrivals", time_s, "a time in seconds", is_right=math.isfinite) for time_s in arrivals]
    _native.are_drawn(arrivals)  # refuses what it does not understand
    return arrivals


def are_drawn(arrivals: Arrivals | None) -> bool:
    """Return whether arrivals differ between trials.

    Raises:
        Error: They are not understood.
    """
    return _native.are_drawn(as_arrivals(arrivals))


def read_arrivals(text: str) -> Arrivals:
    """Return arrivals that a text describes, or that a CSV file has in its columns rank and arrival_s.

    Raises:
        Error: The text is not understood, the file cannot be read, or it lacks a column, a rank or a time.
    """
    return _of_file(text) if text.endswith(".csv") else described(text)


def described(text: str) -> str:
    """Return a text that describes arrivals.

    Raises:
        Error: The text is not understood.
    """
    try:
        are_drawn(text)
    except Error as error:
        raise Error(str(error).removeprefix("arrivals: ")) from None
    return text


def _of_file(path: str) -> list[float]:
    rows = csv.DictReader(files.read_text(path).splitlines())
    if missing := [name for name in _COLUMNS if name not in (rows.fieldnames or ())]:
        raise Error(f"{path}: line 1: column {missing[0]} is missing, expected the columns {' and '.join(_COLUMNS)}")
    times_s: dict[int, float] = {}
    for row in rows:
        rank, time_s = (row[name] or "" for name in _COLUMNS)
        try:
            times_s[int(rank)] = float(time_s)
        except ValueError:
            got = f"{rank!r} and {time_s!r}"
            raise Error(f"{path}: line {rows.line_num}: got {got}, expected a rank and a time in seconds") from None
    if sorted(times_s) != list(range(len(times_s))) or not times_s:
        raise Error(f"{path}: got times of {len(times_s)} ranks, expected a time for each rank from 0 on")
    return [times_s[rank] for rank in range(len(times_s))]
