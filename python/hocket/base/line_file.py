"""Files that grow by lines during long work, so that the work can go on after an interruption."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from hocket._native import Error
from hocket.base.files import Lock, is_at, lock, naming


class LineFile:
    """A file that grows by lines of JSON. Each line is written at once; the next one replaces a cut-off last line.

    The file is made if necessary, and locked as long as it is open. It has to be a regular file of this user: a link
    that somebody else has put there could lead anywhere.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self.lines: list[bytes] = []  # when it was opened
        self.cut_off = b""  # what stood behind the last complete line

    def __enter__(self) -> LineFile:
        with naming(self.path):
            self._file = open(_open(self.path), "rb+", buffering=0)
            content = self._file.readall()
            end = content.rfind(b"\n") + 1
            self._file.seek(end)
        self.lines, self.cut_off = content[:end].splitlines(), content[end:]
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, entry: Mapping[str, Any]) -> None:
        """Append a line; an Error if it cannot be written."""
        rest = json.dumps(entry, ensure_ascii=False).encode() + b"\n"
        with naming(self.path):
            self._file.truncate()
            while rest:
                rest = rest[self._file.write(rest) :]

    def is_empty(self) -> bool:
        """Return whether the file is empty now."""
        return os.fstat(self._file.fileno()).st_size == 0

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)


def _open(path: Path) -> int:
    """Return the descriptor of a file that is open and locked."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Error(f"{path}: is a symbolic link, expected a regular file") from None
            raise
        try:
            if _is_ours(path, descriptor):
                return descriptor
        except Error:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_ours(path: Path, descriptor: int) -> bool:
    """Return whether a file is still there once it is locked; refuse a file to which this process may not write."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise Error(f"{path}: is a pipe or a device, expected a regular file")
    if status.st_uid != os.geteuid():
        raise Error(f"{path}: belongs to another user, expected a file of your own")
    if lock(descriptor) is Lock.OF_ANOTHER:
        raise Error(f"{path}: another process writes this file, expected one at a time")
    return is_at(path, descriptor)
