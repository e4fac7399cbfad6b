"""Output files that are either complete or not there."""

from __future__ import annotations

import os
import secrets
from os import PathLike, fspath
from pathlib import Path

from hocket._native import Error

__all__ = ["write"]


def write(path: str | PathLike[str], content: bytes | str) -> None:
    """Write a file at once, with its folder; a reader sees the old content or the new, never a part.

    Raises:
        Error: The file cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a device or pipe: it cannot be replaced
        else:
            _replace(target, data)
    except OSError as error:
        raise Error(f"{fspath(path)}: cannot be written: {error.strerror}") from error


def _replace(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
