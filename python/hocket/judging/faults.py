"""Results that are wrong, and tables that end early."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hocket.base.files import read_rows
from hocket.base.units import format_bytes, format_count
from hocket.judging.finding import Finding, conclude
from hocket.judging.lines import FORMS, expression_of, lines_of, row_of_nccl, with_words
from hocket.measurements.measurement import Measurement

_IN_PLACE = 4  # so many cells after the first number of wrong values in a row of nccl-tests, the one in place follows

_MOST_ROWS = 6
_ENDS = {"tables of IMB": 1 << 22, "tables of OSU": 1 << 20}
"""Up to which size a benchmark goes unless options say otherwise."""


_OTHERS = [(row["what"], row["advice"], expression_of(row["expression"])) for row in read_rows(__file__, "others.csv")]


class Fault(NamedTuple):
    """What is wrong with the rows of some lines, which are all lines if only the number of wrong values is known."""

    finding: Finding
    sources: frozenset[str]


def failures_in(text: str, file: str) -> Fault | None:
    """Return what the benchmark found to be wrong in the text of a file; None if it found nothing.

    Source: the columns `#wrong` and the last lines of nccl-tests; the column `Validation` of the OSU micro-benchmarks.
    """
    lines = [(f"{file}:{number}", line) for number, line in enumerate(lines_of(text), start=1)]
    rows = [(source, size) for source, line in lines for size in _wrong_size(line)]
    totals = [
        (source, total) for source, line in lines if "FAILED" in line for total in FORMS["wrong values"].finditer(line)
    ]
    if rows:
        (first, _), sources = rows[0], [source for source, _ in rows]
        names = ", ".join(f"{source} ({format_bytes(size)})" for source, size in rows[:_MOST_ROWS])
        rest = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
        sentence = f"Results are wrong, so their times mean little, in {format_count(len(rows), 'row')}: {names}{rest}"
    elif totals:
        (first, total), sources = totals[0], [source for source, _ in lines]
        values = format_count(int(total["count"]), "value")
        sentence = f"The benchmark found {values} to be wrong, so its times mean little"
    else:
        return None
    return Fault(Finding("unknown", sentence, "wrong results", first), frozenset(sources))


def _wrong_size(line: str) -> Iterator[int]:
    if "Fail" in line and (row := FORMS["wrong row of OSU"].search(line)) is not None:
        yield int(row["size"])
    elif (row := row_of_nccl(line)) is not None:
        counts = line[row.end() :].split()[::_IN_PLACE]
        if any(count.isdecimal() and count.strip("0") for count in counts[:2]):
            yield int(row["size"])


def other_text(text: str, file: str) -> Finding | None:
    """Return what a text without measured times is, if it is known, and what to do with it."""
    for what, advice, expression in _OTHERS:
        for number, line in enumerate(lines_of(text), start=1):
            if expression.search(line):
                sentence = f"The text has {what}, but no measured times: {advice}"
                return Finding("unknown", sentence, "rows", f"{file}:{number}")
    return None


def early_end(text: str, file: str, measurements: Sequence[Measurement]) -> Fault | None:
    """Return that the last table of a text ends before the size that its header announces, or at which it stopped."""
    places = ((one.source.rpartition(":")[2], one) for one in measurements if one.size_bytes)
    numbers = {int(place): one for place, one in places if place.isdecimal()}
    lines = lines_of(text)
    if not numbers or FORMS["end of table"].search(text):
        return None
    last_line = max(numbers)
    last = numbers[last_line]
    own = [one for one in numbers.values() if (one.collective, one.ranks) == (last.collective, last.ranks)]
    scale = _printed_bytes(lines, last) / last.size_bytes  # of an allgather, tables of NCCL have the whole vector
    sizes = sorted({int(one.size_bytes * scale) for one in own})
    words = with_words(text)
    most_bytes, source, first = 0, "", 0
    in_order = sorted(words, key=lambda each: each[0] < last_line)
    stop = next((each for each in in_order if each[0] not in numbers and FORMS["stop"].search(each[1])), None)
    for number, line in words:
        if number < last_line and (match := FORMS["sizes of header"].search(line)) is not None:
            most_bytes, source, first = int(match["last"] or match["imb"]), f"{file}:{number}", int(match["first"] or 0)
    limit = most_bytes or next((most for name, most in _ENDS.items() if FORMS[name].search(text)), 1 << 62)
    if sizes[-1] * 2 > limit or (stop is None and (not most_bytes or sizes[0] > max(8, 2 * first))):
        return None
    next_bytes = sizes[-1] * (sizes[-1] // sizes[-2] if len(sizes) > 1 and sizes[-2] else 2)
    if stop is not None:
        why, source = f'"{stop[1].strip():.60}"', f"{file}:{stop[0]}"
    else:
        why = f"its header announces {format_bytes(most_bytes)}"
    finding = conclude("ends early", last_bytes=sizes[-1], next_bytes=next_bytes, why=why, source=source)
    return Fault(finding, frozenset(one.source for one in own))


def _printed_bytes(lines: Sequence[str], one: Measurement) -> int:
    """Return the size that the line of a measurement begins with."""
    words = re.findall(r"[0-9]+", lines[int(one.source.rpartition(":")[2]) - 1])
    return next((int(word) for word in words if int(word) >= one.size_bytes), one.size_bytes)
