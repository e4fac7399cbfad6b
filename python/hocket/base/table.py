"""A table in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TextTable:
    """A table in words.

    Attributes:
        columns: The titles of its columns.
        rows: The cells of each row.
        right: The right-aligned columns.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...] = ()
