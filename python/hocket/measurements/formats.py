"""The formats of measurements: this list is their registry. What a file has tells its format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike, fspath

from hocket._native import Error
from hocket.base.checks import instance
from hocket.base.files import read_text
from hocket.base.kinds import expecting
from hocket.measurements import hocket_bench, hocket_tune, imb, nccl_tests, osu, pico, table
from hocket.measurements.margins import outputs, readable, remove_labels
from hocket.measurements.measurement import Facts, Format, Measurement, Reading, at

FORMATS: tuple[Format, ...] = tuple(
    module.FORMAT for module in (pico, osu, imb, nccl_tests, hocket_tune, hocket_bench, table)
)
"""The formats. The last one, a table, is read where the text has no other."""


def read_measurements(path: str | PathLike[str], facts: Facts | None = None) -> Reading:
    """Return the measurements of a file.

    Args:
        path: The file. It may be a log, or pasted text, in which lines have something in common.
        facts: What its format does not tell.

    Raises:
        Error: The file cannot be read, is of no known format, or has a line that makes no sense: file and line.
    """
    with expecting(path, "measurements", "measured times"):
        return measurements_in(read_text(path), fspath(path), facts)


def measurements_in(text: str, file: str, facts: Facts | None = None) -> Reading:
    """Return the measurements of a text; `file` is its name in errors.

    Raises:
        Error: As `read_measurements`.
    """
    text = readable(text)
    facts = (
        Facts() if facts is None else instance("facts", facts, Facts, "hocket.measurements.measurement.Facts, or None")
    )
    format = _format_of(text, file)
    readings = [format.read(output, file, facts) for output in _outputs(text, file, format)]
    whole = Reading(
        tuple(one for reading in readings for one in reading.measurements),
        tuple(one for reading in readings for one in reading.unknown),
    )
    if not (whole.measurements or whole.unknown):
        raise Error(f"{file}: has no measurements, expected at least one in {format.what}")
    return _with_ranks_per_node(whole, facts.ranks_per_node)


def _format_of(text: str, file: str) -> Format:
    *titled_formats, last = FORMATS
    matches = [format for format in titled_formats if format.recognises(text)]
    if not (matches or last.recognises(text)):
        if (lacking := table.lacking(text)) is not None:
            raise at(file, *lacking)
        raise Error(
            f"{file}: unknown format, expected {', '.join(each.what for each in titled_formats)} or {last.what}"
        )
    if len(matches) > 1:
        raise Error(f"{file}: got {' and '.join(each.what for each in matches)}, expected one of them in a file")
    return next(iter(matches), last)


def _outputs(text: str, file: str, format: Format) -> list[str]:
    outputs_apart = outputs(text, file, format.title)
    return (
        outputs_apart if format.row is None else [remove_labels(output, file, format.row) for output in outputs_apart]
    )


def _with_ranks_per_node(reading: Reading, ranks_per_node: int | None) -> Reading:
    """Return a reading in which measurements that do not tell it have this number of ranks on a node."""
    if ranks_per_node is None:
        return reading

    def with_ranks(measurements: Iterable[Measurement]) -> tuple[Measurement, ...]:
        return tuple(
            one if one.ranks_per_node is not None else replace(one, ranks_per_node=ranks_per_node)
            for one in measurements
        )

    return Reading(with_ranks(reading.measurements), with_ranks(reading.unknown))
