"""Reading the files of traces line by line, with bounds: they may come from anywhere."""

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

__all__ = ["LONGEST_LINE", "MOST_BYTES", "Budget", "Lines", "lines_of", "reading"]

LONGEST_LINE = 1 << 24
"""The longest line that is read, in bytes: room for a communicator of a million ranks."""

MOST_BYTES = 1 << 32
"""How much of a trace is read, in bytes once decompressed: some 30 million calls."""

_LEAST_LINE_BYTES = 1 << 7
"""What a line counts as, at least: it takes time and memory however short it is."""

_BYTES_PER_LOOK = 1 << 24

_LARGER = 5
"""How many times as large as its text a trace is in memory, at least."""

_GZIP = b"\x1f\x8b"


class Budget:
    """How much more is read of a trace, which may have several files."""

    def __init__(self) -> None:
        self.left_bytes = MOST_BYTES
        self.unseen_bytes = 0

    def take(self, size_bytes: int, what: str) -> None:
        """Count what was read.

        Raises:
            Error: There is no memory for what is made of as much again as between two looks.
        """
        self.left_bytes -= size_bytes
        self.unseen_bytes += size_bytes
        if self.unseen_bytes > _BYTES_PER_LOOK:
            self.unseen_bytes = 0
            memory(what, _LARGER * _BYTES_PER_LOOK)


class Lines:
    """The lines of a file, and which one was read last.

    Attributes:
        name: The name of the file.
        number: The line that was read last, counted from 1.
    """

    def __init__(self, name: str, file: BinaryIO, budget: Budget) -> None:
        self.name = name
        self.number = 0
        self._read, self._readline = file.read, file.readline
        self._budget = budget

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.next, b"")

    def next(self) -> bytes:
        """Return the next line with its end; nothing if there is none.

        Raises:
            Error: It is longer than `LONGEST_LINE`, or the trace than `MOST_BYTES` or than there is memory for.
        """
        line = self._readline(LONGEST_LINE + 1)
        self.number += 1
        self._take(max(len(line), _LEAST_LINE_BYTES))
        if len(line) > LONGEST_LINE:
            raise Error(f"{self.name}, line {self.number}: expected lines of at most {LONGEST_LINE} bytes")
        return line

    def read(self, size_bytes: int) -> bytes:
        """Return the next bytes, of a file that has no lines; fewer at its end.

        Raises:
            Error: The trace is longer than `MOST_BYTES` or than there is memory for.
        """
        data = self._read(size_bytes)
        self._take(len(data))
        return data

    def _take(self, size_bytes: int) -> None:
        self._budget.take(size_bytes, self.name)
        if self._budget.left_bytes < 0:
            raise Error(
                f"{self.name}, line {self.number}: expected a trace of at most {MOST_BYTES} bytes, decompressed, "
                f"of which a line counts as {_LEAST_LINE_BYTES} at least"
            )


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Read a trace, and all that is made of it.

    Meanwhile Python's search for cycles is off: a trace has none, and it would go through all calls again and again.

    Raises:
        Error: There is not enough memory.
    """
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    except MemoryError:
        raise Error(f"{name}: too large for the memory there is") from None
    finally:
        if was_collecting:
            gc.enable()


@contextmanager
def lines_of(name: str, budget: Budget | None = None) -> Iterator[Lines]:
    """Open a file of a trace, compressed by gzip or not.

    Raises:
        Error: It cannot be read.
    """
    try:
        with open(name, "rb") as plain, _decompressed(plain) as file:
            yield Lines(name, file, budget or Budget())
    except EOFError:
        raise Error(f"{name}: cut off, expected more compressed data") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Error(f"{name}: not a trace: {error}") from None
    except OSError as error:
        raise Error(f"{name}: {error.strerror}") from None


def _decompressed(plain: io.BufferedReader) -> BinaryIO:
    if plain.peek(len(_GZIP))[: len(_GZIP)] == _GZIP:
        return io.BufferedReader(gzip.GzipFile(fileobj=plain))
    return plain
