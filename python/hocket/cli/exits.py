"""The end of a command that cannot do what was asked."""

from __future__ import annotations

import sys
from contextlib import suppress

_BAD_INPUT = 2


def bad_input(line: str) -> int:
    """Print a line that says what is wrong, and return the exit status, which stays if nobody can read the line."""
    with suppress(OSError):
        print(f"hocket: error: {line}", file=sys.stderr, flush=True)
    return _BAD_INPUT
