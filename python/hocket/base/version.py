"""The version of the package, which is part of every result, and the commit it was built from."""

from __future__ import annotations

from pathlib import Path

from hocket import _native

VERSION = _native.VERSION


def commit() -> str:
    """Return the commit the package was built from, with "-dirty" if files differed from it; or "unknown"."""
    try:
        return (Path(__file__).parent.parent / "commit.txt").read_text().strip() or "unknown"
    except OSError:
        return "unknown"
