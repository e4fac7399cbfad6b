"""Kinds of files that people have: a reader that gets a file of another kind says what it is, and what reads it."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple
from zlib import error as zlib_error

from hocket._native import Error
from hocket.base.files import read_rows

_FIRST_BYTES = 1 << 16


class Kind(NamedTuple):
    """A kind of file."""

    readers: tuple[str, ...]  # the kinds of readers that read it; none if Hocket does not
    what: str  # what it is
    advice: str  # what reads it
    pattern: re.Pattern[bytes]  # what the beginning of such a file has


_COMMANDS = {
    "measurements": "`hocket fit`",
    "schedule": "`hocket simulate schedule`",
    "trace": "`hocket replay`",
    "machine": "--machine",
    "rules": "`hocket rules`",
}


def _kind(row: Mapping[str, str]) -> Kind:
    readers = tuple(row["readers"].split())
    advice = row["advice"] or f"which {' and '.join(_COMMANDS[reader] for reader in readers)} can read"
    return Kind(readers, row["what"], advice, re.compile(row["pattern"].encode(), re.MULTILINE))


KINDS = tuple(map(_kind, read_rows(__file__, "kinds.csv")))
"""The kinds, each before those whose patterns it has, too."""


def kind_of(path: str | PathLike[str]) -> Kind | None:
    """Return the kind of a file, by its first bytes; None if it is unknown, or no regular file."""
    first = b""
    with suppress(OSError, EOFError, zlib_error):
        if Path(path).is_file():
            with open(path, "rb") as stream:
                first = stream.read(_FIRST_BYTES)
            if first.startswith(b"\x1f\x8b"):
                with gzip.open(path) as archive:
                    first = archive.read(_FIRST_BYTES)
    return next((kind for kind in KINDS if kind.pattern.search(first)), None)


@contextmanager
def expecting(path: str | PathLike[str], reader: str, what: str) -> Iterator[None]:
    """Name the kind of a file that a kind of reader refuses, because it is another than `what` the reader expects."""
    try:
        yield
    except Error:
        kind = kind_of(path) if isinstance(path, str | PathLike) else None
        if kind is None or reader in kind.readers:
            raise
        raise Error(f"{fspath(path)}: is {kind.what}, {kind.advice}, expected {what}") from None
