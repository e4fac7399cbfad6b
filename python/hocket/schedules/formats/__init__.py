"""Schedules in the formats of others: read, written, told apart by content; one format per file.

The formats are described in docs/schedules.md.
"""

from __future__ import annotations

from hocket.schedules.formats.format import Format
from hocket.schedules.formats.formats import FORMATS, format_for, format_of, load, save

__all__ = ["FORMATS", "Format", "format_for", "format_of", "load", "save"]
