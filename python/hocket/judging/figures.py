"""Measured bandwidths that a text quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf

from hocket.judging.lines import FORMS, with_words
from hocket.judging.mention import Figure

_BITS = ("Gbps", "Gb/s", "Gbit/s")
_MOST_REACH = 80


def figures_in(text: str, file: str) -> tuple[Figure, ...]:
    """Return the measured bandwidths that a text quotes, in their order; those that are expected are left out."""
    figures: list[Figure] = []
    for number, line in with_words(text):
        source = f"{file}:{number}"
        if (average := FORMS["average of nccl-tests"].search(line)) is not None:
            figures.append(Figure(float(average["value"]) * 1e9, True, source, is_average=True, is_of_output=True))
        elif FORMS["about bandwidth"].search(line):
            matches = list(FORMS["bandwidth"].finditer(line)) or list(FORMS["bandwidth of bus"].finditer(line))
            figures += _measured(line, matches, source)
    return tuple(one for one in figures if 0 < one.bytes_per_s < inf)


def _measured(line: str, matches: list[re.Match[str]], source: str) -> Iterator[Figure]:
    """Give the measured figures of a line. What stands behind another one, as in "21 Gbps (2.5 GBps)", repeats it."""
    end = 0
    for match in matches:
        # what stands before it, back to another figure or the end of a sentence
        before = FORMS["break"].split(line[max(0, match.start() - _MOST_REACH) : match.start()])[-1]
        is_repeated = bool(end) and re.fullmatch(r"[\s(`~=*x0-9,]*", line[end : match.start()]) is not None
        if not is_repeated and not FORMS["not measured"].search(before):
            is_average = FORMS["mean"].search(before) is not None
            bytes_per_s = float(match["value"]) * (1e9 / 8 if match.groupdict().get("unit", "") in _BITS else 1e9)
            yield Figure(bytes_per_s, not FORMS["of algorithm"].search(before), source, is_average)
        end = match.end()
