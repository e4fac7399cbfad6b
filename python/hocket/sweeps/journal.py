"""The results of a sweep so far, in a file: a line for each finished cell."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from hocket._native import Error
from hocket.sweeps.row import Row

__all__ = ["Journal"]


class Journal:
    """The finished cells of a sweep by their keys, in a file that outlives an interruption.

    A line is written at once. A last line that was cut off is dropped, and one that holds no row is ignored.

    Attributes:
        rows: The rows that the file held when it was opened.
    """

    def __init__(self, path: str) -> None:
        self.rows: dict[str, Row] = {}
        self._path = Path(path)

    def __enter__(self) -> Journal:
        try:
            self._file = open(self._path, "ab+", buffering=0)
        except OSError as error:
            raise Error(f"{self._path}: cannot be written: {error.strerror}") from error
        self._file.seek(0)
        content = self._file.readall()
        complete = content[: content.rfind(b"\n") + 1]
        self._file.truncate(len(complete))
        self.rows = dict(filter(None, map(_read, complete.splitlines())))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if kind is not None and not self._path.stat().st_size:
            self.remove()

    def add(self, key: str, row: Row) -> None:
        """Append a row."""
        self._file.write(json.dumps({"key": key, "row": asdict(row)}, ensure_ascii=False).encode() + b"\n")

    def remove(self) -> None:
        """Remove the file: the sweep is done."""
        self._path.unlink(missing_ok=True)


def _read(line: bytes) -> tuple[str, Row] | None:
    try:
        entry = json.loads(line)
        return entry["key"], Row(**entry["row"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
