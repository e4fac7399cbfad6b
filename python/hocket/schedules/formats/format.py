"""What a format of schedules is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hocket.definitions.machine import Machine
from hocket.schedules.schedule import Schedule

if TYPE_CHECKING:
    from hocket.definitions.verification import Verdict

__all__ = ["Format"]


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes:
        name: As in `--format`.
        ending: What the names of its files end in.
        is_text: Whether it is text, which may go to a terminal.
        begins: Whether these first bytes of a file are its own.
        read: Reads a file: its name, and the bytes of a rank's larger buffer where `is_sized`.
        save: Writes a file, and returns the names of the files that it wrote.
        as_bytes: Returns the content of the file; None where a schedule is several files.
        is_sized: Whether its files leave open how many bytes a call has.
        lacks: Why a file can be checked for its messages only; empty where `verify` checks all of it.
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

    def checked(self, file: str) -> Verdict:
        """Return whether the schedule of a file is right, as far as the format tells.

        Raises:
            Error: The file cannot be read, or is not of the format.
        """
        from hocket.schedules.checking import verify_schedule

        return verify_schedule(self.read(file, None)) if self.verify is None else self.verify(file)
