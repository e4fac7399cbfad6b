"""What a format of tuning files is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hocket.rules.tuning_files.form import Rules

__all__ = ["Format"]


@dataclass(frozen=True)
class Format:
    """A format, with the version of what reads it.

    Attributes:
        name: As in `--from` and `--to`.
        library: Whose algorithms it names.
        summary: What it is, in one line.
        read: Makes rules of a text; the other argument names the file in errors. None where Hocket only writes it.
        write: Makes the text of rules.
        endings: Endings of file names that mean this format alone.
    """

    name: str
    library: str
    summary: str
    read: Callable[[str, str], Rules] | None
    write: Callable[[Rules], str]
    endings: tuple[str, ...] = ()
