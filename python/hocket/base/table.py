"""A table in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TextTable:
    """A table in words."""

    columns: tuple[str, ...]  # the titles of its columns
    rows: tuple[tuple[str, ...], ...]  # the cells of each row
    right: tuple[str, ...] = ()  # the right-aligned columns
