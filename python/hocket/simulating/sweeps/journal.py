"""The results of a sweep so far, in a file with a line for each finished cell."""

from __future__ import annotations

from dataclasses import fields

from hocket._native import Error
from hocket.base.files import parse_object
from hocket.base.line_file import LineFile
from hocket.base.version import VERSION
from hocket.simulating.sweeps.row import Row

_COLUMNS = {column.name for column in fields(Row)}


class Journal(LineFile):
    """The finished cells of a sweep by their keys, in a file that survives an interruption.

    Its rows are those of the file when it was opened. Lines whose rows have other columns or another version of Hocket
    are ignored, and their cells are simulated again.
    """

    rows: dict[str, Row]

    def __enter__(self) -> Journal:
        super().__enter__()
        self.rows = dict(filter(None, map(_read, self.lines)))
        return self

    def __exit__(self, kind: object = None, *_: object) -> None:
        if kind is not None and self.is_empty():
            self.remove()
        super().__exit__()


def _read(line: bytes) -> tuple[str, Row] | None:
    try:
        entry = parse_object(line, "journal")
    except Error:
        return None
    match entry:
        case {"key": str(key), "row": dict(row)} if row.keys() == _COLUMNS and row["version"] == VERSION:
            return key, Row(**row)
    return None
