"""The interface of a schedule format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hocket.base.kinds import expecting
from hocket.definitions.machine import Machine
from hocket.schedules.schedule import Schedule, Sends

if TYPE_CHECKING:
    from hocket.definitions.verification import Verdict


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

    def checked(self, file: str, *, sends: Sends = "waiting") -> Verdict:
        """Return whether the schedule of a file is right, as far as the format can tell; see `verify_schedule`.

        A format with a check of its own says which sends wait.

        Raises:
            Error: The file cannot be read, or is not of the format.
        """
        from hocket.schedules.checking import verify_schedule

        with expecting(file, "schedule", "a schedule"):
            if self.verify is None:
                return verify_schedule(self.read(file, None), sends=sends)
            return self.verify(file)
