"""The results of a sweep so far, in a file with a line for each finished cell."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path

from hocket._native import Error
from hocket.base.files import parse_object
from hocket.base.version import version
from hocket.simulating.sweeps.row import Row

_COLUMNS = {column.name for column in fields(Row)}


class Journal:
    """The finished cells of a sweep by their keys, in a file that survives an interruption.

    A line is written at once. A cut-off last line is dropped. Lines whose rows have other columns or another version of
    Hocket are ignored, and their cells are simulated again.

    Attributes:
        rows: The rows of the file when it was opened.
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

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
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
        entry = parse_object(line, "journal")
    except Error:
        return None
    match entry:
        case {"key": str(key), "row": dict(row)} if row.keys() == _COLUMNS and row["version"] == version():
            return key, Row(**row)
    return None
