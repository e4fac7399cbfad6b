"""Hocket's own format, which keeps all tasks and their data."""

from hocket.schedules.formats.native import native
from hocket.schedules.schedule import Schedule


def _load(file: str) -> Schedule:
    """Read a file; if its name tells the format, the compiled module reads it as a stream."""
    return Schedule.load(file) if file.endswith(".json") else Schedule.load_json(file)


FORMAT = native(
    "json",
    ending=".json",
    is_text=True,
    begins=lambda first: first.lstrip().startswith(b"{"),
    load=_load,
    lacks="it names no collective, whose result could be checked",
)
