"""The formats of measurements: this list is their registry. What a file has tells its format."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike, fspath

from hocket._native import Error
from hocket.base.checks import instance
from hocket.base.files import read_text
from hocket.fitting.measurements import hocket_bench, hocket_tune, imb, nccl_tests, osu, pico, table
from hocket.fitting.measurements.measurement import Format, Measurement, Reading, Told

FORMATS: tuple[Format, ...] = tuple(
    module.FORMAT for module in (pico, table, osu, imb, nccl_tests, hocket_tune, hocket_bench)
)
"""The formats."""

_TAG = re.compile(r"^\[[0-9]+,[0-9]+\]<std(?:out|err)>: ?", re.MULTILINE)
"""What Open MPI's `mpirun --tag-output` puts before each line."""


def read_measurements(path: str | PathLike[str], told: Told | None = None) -> Reading:
    """Return the measurements of a file.

    Args:
        path: The file.
        told: What its format does not tell.

    Raises:
        Error: The file cannot be read, is of no known format, or has a line that makes no sense: file and line.
    """
    text, file = _TAG.sub("", read_text(path)), fspath(path)
    told = Told() if told is None else instance("told", told, Told, "hocket.fitting.measurements.Told, or None")
    recognised = [format for format in FORMATS if format.recognises(text)]
    if not recognised:
        raise Error(
            f"{file}: unknown format, expected {', '.join(each.what for each in FORMATS[:-1])} or {FORMATS[-1].what}"
        )
    if len(recognised) > 1:
        raise Error(f"{file}: got {' and '.join(each.what for each in recognised)}, expected one of them in a file")
    (format,) = recognised
    reading = format.read(text, file, told)
    if not (reading.measurements or reading.unknown):
        raise Error(f"{file}: has no measurements, expected {format.what} with at least one")
    return _placed(reading, told.ranks_per_node)


def _placed(reading: Reading, ranks_per_node: int | None) -> Reading:
    """Return a reading in which measurements that do not tell it have this number of ranks on a node."""
    if ranks_per_node is None:
        return reading

    def placed(some: Iterable[Measurement]) -> tuple[Measurement, ...]:
        return tuple(
            one if one.ranks_per_node is not None else replace(one, ranks_per_node=ranks_per_node) for one in some
        )

    return Reading(placed(reading.measurements), placed(reading.unknown))
