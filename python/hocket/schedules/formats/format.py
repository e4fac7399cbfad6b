"""The interface of a schedule format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hocket.definitions.machine import Machine
from hocket.definitions.verification import Verdict
from hocket.schedules.schedule import Schedule


@dataclass(frozen=True)
class Format:
    """A format of schedules.

    Attributes:
        name: Its name, as in `--format`.
        ending: The ending of its file names.
        is_text: Whether it is text, which may be printed to a terminal.
        begins: Returns whether the first bytes of a file belong to this format.
        read: Reads a file, given its name and, if `is_sized`, the bytes of a rank's larger buffer.
        save: Writes a schedule, and returns the names of the written files.
        as_bytes: Returns the content of the file; None if a schedule has several files.
        is_sized: Whether its files do not contain the size of the call.
        lacks: Why only the messages of a file can be checked; empty if `verify` checks everything.
        verify: Checks a file.
    """

    name: str
    ending: str
    is_text: bool
    begins: Callable[[bytes], bool]
    read: Callable[[str, int | None], Schedule]
    save: Callable[[Schedule, str, Machine | None], tuple[str, ...]]
    as_bytes: Callable[[Schedule, Machine | None], bytes] | None
    is_sized: bool = False
    lacks: str = ""
    verify: Callable[[str], Verdict] | None = None
