"""The MPI functions that traces contain, and the values of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from hocket.base.files import read_rows

Kind = Enum(
    "Kind",
    "INIT FINALIZE SEND RECEIVE EXCHANGE PROBE START COMPLETE NAME COLLECTIVE NEW_COMMUNICATOR FREE_COMMUNICATOR",
)
"""Kinds of functions, as far as replays distinguish them."""


@dataclass(frozen=True)
class Function:
    """The content of a function's lines."""

    kind: Kind
    needs: frozenset[str] = frozenset()  # values that are always present
    # Values that may be present, including those that depend on the root or on MPI_IN_PLACE.
    may_have: frozenset[str] = frozenset()
    is_started: bool = False  # whether it only starts an operation and returns a request
    is_persistent: bool = False  # whether its request must be started
    is_looking: bool = False  # whether it may find nothing; a line then has only `tries`
    is_collective: bool = False  # whether all ranks of its communicator call it, in the same order
    blocking: str = ""  # for a collective, the blocking function of the same collective; empty for other functions


_VALUES = {word: row["values"] for row in read_rows(__file__, "functions_values.csv") for word in row["words"].split()}
"""The values of a line by the words of the table."""

_TABLE = Path(__file__).with_suffix(".h")
_ROW = re.compile(r"^(\w+)\((?:([A-Z_]+), )?(\w+), (?:(\w+), )?\(.*\),\s+([A-Z_() ]+)[,)]", re.MULTILINE)
_MAY_BE_MISSING = re.compile(r"\w+\(\w+\)|\bIN_PLACE\b|\bNEW\b")


def _names(words: str) -> frozenset[str]:
    return frozenset(name for word in re.findall(r"\w+", words) for name in _VALUES[word].split())


def _function(form: str, kind: Kind, name: str, values: str) -> Function:
    needs = _names(_MAY_BE_MISSING.sub("", values))
    is_started = "request" in needs
    blocking = name[1:].capitalize() if is_started else name
    return Function(
        kind,
        needs,
        _names(" ".join(_MAY_BE_MISSING.findall(values))),
        is_started=is_started,
        is_persistent="PERSISTENT" in values,
        is_looking=form in ("LOOK", "TEST"),
        is_collective=kind in (Kind.COLLECTIVE, Kind.NEW_COMMUNICATOR) and "NOT_BY_ALL" not in values,
        blocking=f"MPI_{blocking}" if kind is Kind.COLLECTIVE else "",
    )


def _functions() -> Iterator[tuple[str, Function]]:
    # The library writes these two lines by itself.
    yield "MPI_Init", Function(Kind.INIT)
    yield "MPI_Finalize", Function(Kind.FINALIZE)
    for form, kind, name, nonblocking, values in _ROW.findall(_TABLE.read_text()):
        yield f"MPI_{name}", _function(form, Kind[kind or form], name, values)
        if nonblocking:
            yield f"MPI_{nonblocking}", _function(form, Kind[form], nonblocking, f"{values} REQUEST")


FUNCTIONS: dict[str, Function] = dict(_functions())
"""All functions that traces may contain, by name: those of `functions.h`."""
