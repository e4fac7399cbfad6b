"""Results that a benchmark itself found to be wrong: their times are those of something else than the collective."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hocket.base.units import format_bytes, format_count
from hocket.judging.curves import Curve
from hocket.judging.finding import Finding
from hocket.judging.lines import lines_of, row_of_nccl

_TOTAL = re.compile(r"\bOut of bounds values\s*:\s*(?P<count>[0-9]{1,15})\s+FAILED\b")
_ROW_OF_OSU = re.compile(r"(?<!\S)(?P<size>[0-9]{1,15})(?:[ \t]+[0-9.]+)+[ \t]+Fail\s*$")
_IN_PLACE = 4
"""So many cells after the first number of wrong values in a row of nccl-tests, the one in place follows."""

_MOST_ROWS = 6


@dataclass(frozen=True)
class Failures:
    """What a benchmark found to be wrong in a text.

    Attributes:
        finding: What it found, in words.
        file: The name of the file.
        sources: The file and the line of each row that is wrong; empty if only their total is known.
    """

    finding: Finding
    file: str
    sources: frozenset[str]

    def concern(self, curve: Curve) -> bool:
        """Return whether times of a curve are of wrong results."""
        if self.sources:
            return any(one.source in self.sources for one in curve.runs)
        return any(one.source.rpartition(":")[0] == self.file for one in curve.runs)


def failures_in(text: str, file: str) -> Failures | None:
    """Return what the benchmark found to be wrong in the text of a file; None if it found nothing.

    Source: the columns `#wrong` and the last lines of nccl-tests; the column `Validation` of the OSU micro-benchmarks.
    """
    lines = lines_of(text)
    rows = [(number, size) for number, line in enumerate(lines, start=1) for size in _wrong_size(line)]
    totals = [
        (number, total)
        for number, line in enumerate(lines, start=1)
        if "FAILED" in line and (total := _TOTAL.search(line)) is not None
    ]
    if rows:
        first, _ = rows[0]
        names = ", ".join(f"{file}:{number} ({format_bytes(size)})" for number, size in rows[:_MOST_ROWS])
        rest = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
        sentence = f"Results are wrong, so their times mean little, in {format_count(len(rows), 'row')}: {names}{rest}"
    elif totals:
        first, total = totals[0]
        values = format_count(int(total["count"]), "value")
        sentence = f"The benchmark found {values} to be wrong, so its times mean little"
    else:
        return None
    finding = Finding("unknown", sentence, "wrong results", f"{file}:{first}")
    return Failures(finding, file, frozenset(f"{file}:{number}" for number, _ in rows))


def _wrong_size(line: str) -> Iterator[int]:
    """Give the size of a row whose results are wrong."""
    if "Fail" in line and (row := _ROW_OF_OSU.search(line)) is not None:
        yield int(row["size"])
    elif (row := row_of_nccl(line)) is not None:
        counts = line[row.end() :].split()[::_IN_PLACE]
        if any(count.isdecimal() and count.strip("0") for count in counts[:2]):
            yield int(row["size"])
