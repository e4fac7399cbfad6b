"""Reading trace files line by line, with limits, because traces may come from anywhere."""

from __future__ import annotations

import gc
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from hocket._native import Error
from hocket.base.checks import memory

LONGEST_LINE = 1 << 24
"""The longest line in bytes: room for a communicator of a million ranks."""

MOST_BYTES = 1 << 32
"""The limit for a trace in bytes, decompressed: about 30 million calls."""

_LEAST_LINE_BYTES = 1 << 7  # the least cost of a line: even a short line takes time and memory
_BYTES_PER_LOOK = 1 << 24

_LARGER = 5  # a trace in memory is at least this many times as large as its text
_GZIP = b"\x1f\x8b"


class Budget:
    """The remaining limit for reading all files of a trace."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = self.left_bytes = most_bytes
        self.unseen_bytes = 0


class Lines:
    """The lines of a file, its name, and the number of the last line read, counted from 1."""

    def __init__(self, name: str, file: BinaryIO, budget: Budget) -> None:
        self.name = name
        self.number = 0
        self._read, self._readline = file.read, file.readline
        self._budget = budget

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.next, b"")

    def next(self) -> bytes:
        """Return the next line with its end; empty at the end of the file. A line beyond `LONGEST_LINE` is refused."""
        line = self._readline(LONGEST_LINE + 1)
        self.number += 1
        self._take(max(len(line), _LEAST_LINE_BYTES))
        if len(line) > LONGEST_LINE:
            raise Error(f"{self.name}, line {self.number}: too long, expected at most {LONGEST_LINE} bytes")
        return line

    def read(self, size_bytes: int) -> bytes:
        """Return the next bytes of a file without lines; fewer at its end."""
        data = self._read(size_bytes)
        self._take(len(data))
        return data

    def _take(self, size_bytes: int) -> None:
        """Count bytes that were read; refuse a trace beyond the budget, and one that does not fit into memory."""
        budget = self._budget
        budget.left_bytes -= size_bytes
        budget.unseen_bytes += size_bytes
        if budget.unseen_bytes > _BYTES_PER_LOOK:
            budget.unseen_bytes = 0
            memory(self.name, _LARGER * _BYTES_PER_LOOK)
        if budget.left_bytes < 0:
            count = f"where each line counts as {_LEAST_LINE_BYTES} bytes or more"
            expected = f"expected at most {budget.most_bytes} decompressed bytes, {count}"
            raise Error(f"{self.name}, line {self.number}: too long, {expected}")


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Guard the reading of a trace, and of everything made from it; an Error if there is not enough memory.

    Meanwhile Python's garbage collector for cycles is off: a trace has no cycles, and the collector would scan all
    calls again and again.
    """
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    except MemoryError:
        raise Error(f"{name}: too large for the free memory") from None
    finally:
        if was_collecting:
            gc.enable()


@contextmanager
def lines_of(name: str, budget: Budget | None = None) -> Iterator[Lines]:
    """Open a trace file, compressed by gzip or not; an Error names a file that cannot be read."""
    try:
        with open(name, "rb") as plain, _decompress(plain) as file:
            yield Lines(name, file, budget or Budget())
    except EOFError:
        raise Error(f"{name}: ends too early, expected more compressed data") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Error(f"{name}: not a trace: {error}") from None
    except OSError as error:
        raise Error(f"{name}: {error.strerror}") from None


def _decompress(plain: io.BufferedReader) -> BinaryIO:
    if plain.peek(len(_GZIP))[: len(_GZIP)] == _GZIP:
        return io.BufferedReader(gzip.GzipFile(fileobj=plain))
    return plain
