"""The formats of measurements: this list is their registry. What a file has tells its format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from os import PathLike, fspath

from hocket._native import Error
from hocket.base.checks import instance
from hocket.base.files import read_text
from hocket.base.kinds import expecting
from hocket.definitions.mpi_products import product_in
from hocket.measurements import hocket_outputs, imb, nccl_tests, osu, pico, table
from hocket.measurements.consistency import contradictions
from hocket.measurements.cuts import cut_rows, first_like_row, odd_row, without_lines
from hocket.measurements.margins import outputs, readable, remove_labels
from hocket.measurements.measurement import Facts, Format, Measurement, Reading, at

FORMATS: tuple[Format, ...] = (
    *(module.FORMAT for module in (pico, osu, imb, nccl_tests)),
    *(hocket_outputs.TUNE, hocket_outputs.BENCH),
    table.FORMAT,
)
"""The formats. The last one, a table, is read where the text has no other."""

_EXPECTED_ROW = "expected a row that begins with a size: a whole number of bytes, without a unit or commas"


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
    """Return the measurements of a text; `file` is its name in errors, which are those of `read_measurements`."""
    expected = "hocket.measurements.measurement.Facts, or None"
    facts = instance("facts", Facts() if facts is None else facts, Facts, expected)
    text = readable(text)
    format = _format_of(text, file)
    cuts: dict[int, str] = {}
    readings: list[Reading] = []
    for output in _outputs(text, file, format):
        cuts_of_output = _cuts(output, file, format)
        rest = without_lines(output, cuts_of_output)
        if format.row is not None and (number := odd_row(rest, format.title, format.row)) is not None:
            raise at(file, number, f'got "{_words(rest, number)}", {_EXPECTED_ROW}')
        readings.append(format.read(rest, file, facts))
        cuts.update(cuts_of_output)
    whole = Reading(
        tuple(_with_facts(one, facts) for reading in readings for one in reading.measurements),
        tuple(_with_facts(one, facts) for reading in readings for one in reading.unknown),
        (*(cuts[number] for number in sorted(cuts)), *(cut for reading in readings for cut in reading.cuts)),
        tuple(dict.fromkeys((*_library(text, file), *(one for reading in readings for one in reading.remarks)))),
    )
    if not (whole.measurements or whole.unknown):
        nothing = f"{file}: has no measurements, expected at least one in {format.what}"
        raise Error(whole.cuts[0] if whole.cuts else nothing)
    return whole


def _library(text: str, file: str) -> tuple[str, ...]:
    """Return a sentence on the MPI that a text names, if it names one only."""
    products = ((number, product_in(line)) for number, line in enumerate(text.splitlines(), start=1))
    names = {f"{pair[0].title} {pair[1]}": number for number, pair in products if pair is not None}
    return tuple(f"Measured under {name} ({file}:{number})" for name, number in names.items() if len(names) == 1)


def _with_facts(one: Measurement, facts: Facts) -> Measurement:
    """Return a measurement with the ranks on a node that are told, if it does not tell them itself."""
    is_told = one.ranks_per_node is not None or facts.ranks_per_node is None
    return one if is_told else replace(one, ranks_per_node=facts.ranks_per_node)


def cuts_in(text: str, file: str) -> dict[int, str]:
    """Return the sentence on each row that lacks its end or contradicts itself, by the number of its line."""
    text = readable(text)
    try:
        format = _format_of(text, file)
        outputs_apart = _outputs(text, file, format)
    except Error:
        return {}
    return {number: cut for output in outputs_apart for number, cut in _cuts(output, file, format).items()}


@lru_cache(maxsize=2)
def _cuts(output: str, file: str, format: Format) -> Mapping[int, str]:
    """Return the sentence on each row that is left out, by the number of its line."""
    cuts_of_format = format.cuts(output)
    if format.row is not None:
        cuts_of_format = cut_rows(output, format.title, format.row, format.digits)
    cuts = ((number, "is cut and", what) for number, what in cuts_of_format)
    contradictory = contradictions(format.tables(output), are_doubled=format.row is not None)
    odd = ((number, "contradicts itself and is", what) for number, what in contradictory)
    return {
        number: f'{file}:{number}: "{_words(output, number)}" {fault} left out: {what}'
        for number, fault, what in (*odd, *cuts)
    }


def _words(text: str, number: int) -> str:
    """Return the beginning of a line with single blanks."""
    return f"{' '.join(text.split(chr(10))[number - 1].split()):.60}"


@lru_cache(maxsize=2)
def _format_of(text: str, file: str) -> Format:
    if not text.strip():
        raise Error(f"{file}: is empty, expected measured times")
    *titled_formats, last = FORMATS
    matches = [format for format in titled_formats if format.recognises(text)]
    if not (matches or last.recognises(text)):
        if (lacking := table.lacking(text)) is not None:
            raise at(file, *lacking)
        number = first_like_row(text.split("\n"))
        row = "" if number is None else f' of line {number}, "{_words(text, number)}"'
        formats = ", ".join(each.what for each in titled_formats)
        raise Error(f"{file}: unknown format{row}, expected {formats} or {last.what}")
    if len(matches) > 1:
        raise Error(f"{file}: got {' and '.join(each.what for each in matches)}, expected one of them in a file")
    return next(iter(matches), last)


@lru_cache(maxsize=2)
def _outputs(text: str, file: str, format: Format) -> Sequence[str]:
    parts = outputs(text, file, format.title)
    return parts if format.row is None else [remove_labels(part, file, format.row) for part in parts]
