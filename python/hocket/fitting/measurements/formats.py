"""The formats of measurements: this list is their registry. What a file has tells its format."""

from __future__ import annotations

from os import PathLike, fspath

from hocket._native import Error
from hocket.base.checks import instance
from hocket.base.files import read_text
from hocket.fitting.measurements import hocket_bench, imb, osu, pico, table
from hocket.fitting.measurements.measurement import Format, Reading, Told

FORMATS: tuple[Format, ...] = tuple(module.FORMAT for module in (pico, table, osu, imb, hocket_bench))
"""The formats, in the order in which they are tried."""


def read_measurements(path: str | PathLike[str], told: Told | None = None) -> Reading:
    """Return the measurements of a file.

    Args:
        path: The file.
        told: What its format does not tell.

    Raises:
        Error: The file cannot be read, is of no known format, or has a line that makes no sense: file and line.
    """
    text, file = read_text(path), fspath(path)
    told = Told() if told is None else instance("told", told, Told, "hocket.fitting.measurements.Told, or None")
    for format in FORMATS:
        if format.recognises(text):
            reading = format.read(text, file, told)
            if not (reading.measurements or reading.unknown):
                raise Error(f"{file}: has no measurements, expected {format.what} with at least one")
            return reading
    raise Error(
        f"{file}: unknown format, expected {', '.join(each.what for each in FORMATS[:-1])} or {FORMATS[-1].what}"
    )
