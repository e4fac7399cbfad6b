"""Output files that are either complete or not there."""

from __future__ import annotations

import os
import secrets
from os import PathLike, fspath
from pathlib import Path

from hocket._native import Error

__all__ = ["writable", "write"]


def writable(path: str) -> str:
    """Return a path if it looks like one that can be written: before long work, rather than after.

    Raises:
        Error: It is a folder, or its folder cannot be written.
    """
    target = Path(os.path.realpath(path))
    folder = next(parent for parent in target.parents if parent.exists())
    if target.is_dir():
        raise Error(f"{path}: cannot be written: it is a directory")
    if not folder.is_dir():
        raise Error(f"{path}: cannot be written: {folder} is not a directory")
    if not os.access(folder, os.W_OK):
        raise Error(f"{path}: cannot be written: no permission in {folder}")
    return path


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
