"""Schedules in the formats of other tools: reading, writing, detection by content; one module per format.

docs/schedules.md describes the formats.
"""

from __future__ import annotations

from hocket.schedules.formats.format import Format
from hocket.schedules.formats.formats import FORMATS, format_for, format_of, load, save

__all__ = ["FORMATS", "Format", "format_for", "format_of", "load", "save"]
