"""Hocket's own form, which keeps all tasks and their data."""

from hocket.schedule import Schedule
from hocket.schedule_formats.native import native

__all__ = ["FORMAT"]


def _load(file: str) -> Schedule:
    """Read a file, as a stream where its name tells the compiled module what it is."""
    return Schedule.load(file) if file.endswith(".json") else Schedule.load_json(file)


FORMAT = native(
    "json",
    ending=".json",
    is_text=True,
    begins=lambda first: first.lstrip().startswith(b"{"),
    load=_load,
    lacks="it names no collective, whose result could be checked",
)
