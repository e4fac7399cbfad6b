"""Measured bandwidths that a text quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf

from hocket.judging.lines import with_words
from hocket.judging.mention import Figure

_FIGURE = re.compile(
    r"(?<![\w./-])~?(?P<value>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>GB/[sS]|GBps|GB/sec|Gbps|Gb/s|Gbit/s)(?!\w)"
)
_AVERAGE = re.compile(r"\bAvg bus bandwidth\s*:\s*(?P<value>[0-9]+(?:\.[0-9]+)?)")
_BARE = re.compile(r"(?i)\bbus ?bw\s*(?:is|of|=|:)?\s*(?P<value>[0-9]+(?:\.[0-9]+)?)(?![0-9.]|\s*(?:us|ms|%))")
_ABOUT_BANDWIDTH = re.compile(r"(?i)band ?width|bus ?bw|al(?:go|g)\w*bw|performance|allreduce|all_reduce")
_NOT_MEASURED = re.compile(
    r"(?i)expect\w*|theor\w*|should|officials?|claim\w*|capab\w*|advertis\w*|target|limit|link|per (?:nic|card)|"
    r"peak for|supposed|as the slides|shown as|line rate|^\s*\|"
)
_ALGORITHM = re.compile(r"(?i)\balg\w*bw\b|\balgorithm bandwidth")
_MEAN = re.compile(r"(?i)\bavg\b|\baverage\b")
_BREAK = re.compile(r"[.;!?]\s|[0-9]\s?G[Bb]\S*")
_BITS = ("Gbps", "Gb/s", "Gbit/s")
_MOST_REACH = 80


def figures_in(text: str, file: str) -> tuple[Figure, ...]:
    """Return the measured bandwidths that a text quotes, in their order; those that are expected are left out."""
    figures: list[Figure] = []
    for number, line in with_words(text):
        source = f"{file}:{number}"
        if (average := _AVERAGE.search(line)) is not None:
            figures.append(Figure(float(average["value"]) * 1e9, True, source, is_average=True, is_of_output=True))
        elif _ABOUT_BANDWIDTH.search(line):
            matches = list(_FIGURE.finditer(line)) or list(_BARE.finditer(line))
            figures += _measured(line, matches, source)
    return tuple(one for one in figures if 0 < one.bytes_per_s < inf)


def _measured(line: str, matches: list[re.Match[str]], source: str) -> Iterator[Figure]:
    """Give the measured figures of a line. What stands behind another one, as in "21 Gbps (2.5 GBps)", repeats it."""
    end = 0
    for match in matches:
        # what stands before it, back to another figure or the end of a sentence
        before = _BREAK.split(line[max(0, match.start() - _MOST_REACH) : match.start()])[-1]
        is_repeated = bool(end) and re.fullmatch(r"[\s(`~=*x0-9,]*", line[end : match.start()]) is not None
        if not is_repeated and not _NOT_MEASURED.search(before):
            is_average = _MEAN.search(before) is not None
            bytes_per_s = float(match["value"]) * (1e9 / 8 if match.groupdict().get("unit", "") in _BITS else 1e9)
            yield Figure(bytes_per_s, not _ALGORITHM.search(before), source, is_average)
        end = match.end()
