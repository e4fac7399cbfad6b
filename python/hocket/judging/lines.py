"""The lines of a text: those with words, rows of benchmarks of collectives and messages, and quoted bandwidths."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf
from types import MappingProxyType
from typing import TypeAlias

from hocket.judging.mention import Figure, Rows, Table
from hocket.measurements.cuts import lack
from hocket.measurements.margins import readable

NumberedLines: TypeAlias = "Sequence[tuple[int, str]]"
"""Lines, each with its number, from 1 on."""

_ONLY_NUMBERS = re.compile(
    r"(?:\s*[0-9]+\s+[0-9]+\s+(?:float|double|half|bfloat16|u?int(?:8|32|64))\s+(?:none|sum|prod|max|min|avg)\b)?[0-9.\s-]*"
    r"(?:\s+N/A)*\s*"
)
_DIGITS = re.compile("[0-9]+")
_MOST_OF_FORM = 64
_MOST_LINE_LETTERS = 4000
_MOST_RANKS = 10_000_000
_NUMBERS: Mapping[str, int] = MappingProxyType(
    {"one": 1, "single": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "sixteen": 16}
)
NUMBER = rf"(?<![\w.])(?P<count>[0-9]{{1,3}}(?![0-9])|{'|'.join(_NUMBERS)})"
DEVICE = re.compile(r"\bRank\s+(?P<rank>[0-9]{1,9})\s.*\bon\s+(?P<host>\S+)\s+device\s")
ROW = re.compile(
    r"(?<!\S)(?P<size>[0-9]{1,15})\s+[0-9]+\s+[a-z]\w*(?:\s+[a-z]+)?(?:\s+-?[0-9]+)?(?:\[[0-9]+\])?"
    r"\s+(?P<time>[0-9]+(?:\.[0-9]+)?)\s+(?P<alg>[0-9]+\.[0-9]+)\s+(?P<bus>[0-9]+\.[0-9]+)(?=\s+\S)"
)


@lru_cache(maxsize=2)
def lines_of(text: str) -> tuple[str, ...]:
    """Return the lines of a text without escapes; a command that goes on over several lines is the first of them."""
    lines = [line[:_MOST_LINE_LETTERS] for line in readable(text).split("\n")]
    for number in range(len(lines) - 2, -1, -1) if "\\" in text else ():
        if lines[number].rstrip().endswith("\\"):
            lines[number] = f"{lines[number].rstrip()[:-1]} {lines[number + 1]}"[:_MOST_LINE_LETTERS]
            lines[number + 1] = ""
    return tuple(lines)


@lru_cache(maxsize=2)
def with_words(text: str) -> NumberedLines:
    """Return the lines of a text that are no rows of numbers alone, each with its number.

    In rows of nccl-tests are two words. Of lines that differ in numbers only, such as those of channels in long logs,
    the first ones are returned, but all of lists of devices.
    """
    forms: Counter[str] = Counter()
    lines = []
    for number, line in enumerate(lines_of(text), start=1):
        form = _DIGITS.sub("0", line)
        forms[form] += 1
        if (forms[form] <= _MOST_OF_FORM or DEVICE.search(line)) and not _ONLY_NUMBERS.fullmatch(line):
            lines.append((number, line))
    return lines


def whole_number(text: str) -> int | None:
    """Return a number above zero that is written in digits or as a word; None if it is none."""
    value = _NUMBERS.get(text.lower()) if not text.isdecimal() else int(text)
    return value if value is not None and 0 < value <= _MOST_RANKS else None


def row_of_nccl(line: str) -> re.Match[str] | None:
    """Return the row of nccl-tests in a line, if there is one whose bandwidth follows from its size and its time."""
    row = ROW.search(line)
    if row is None or (time_us := float(row["time"])) <= 0:
        return None
    gb_per_s = float(row["alg"])
    return row if abs(int(row["size"]) / time_us / 1e3 - gb_per_s) < 0.006 + 0.01 * gb_per_s else None


_PAIR = re.compile(r"\s*(?:[0-9]+: +)?(?P<size>[0-9]+)[ \t]+(?P<time>[0-9]+\.[0-9]+)(?:[ \t]+[0-9.]+)*\s*")
_IS_BANDWIDTH = re.compile(r"osu_\w*bw\b|Bandwidth \(MB/s\)|MB/s")
_LEAST_ROWS = 4


def rows_in(text: str, file: str) -> Rows | None:
    """Return the rows of the first table in a text with most of them; None if it has none.

    Only complete pairs of a size and a time are read, also of tables that the readers of measurements refuse: cut ones,
    and those without titles or with labels. They serve to judge the shape of a curve, not to fit a machine.
    """
    lines = lines_of(text)
    tables = list(_tables_of_nccl(lines)) or list(_tables_of_pairs(lines, file))
    return max(tables, key=lambda rows: len(rows.points), default=None)


def _tables_of_nccl(lines: Sequence[str]) -> Iterator[Rows]:
    points: list[tuple[int, float]] = []
    share: tuple[float, float] = (0.0, 0.0)
    for line in [*lines, "algbw"]:
        row = row_of_nccl(line)
        if row is not None and int(row["size"]) > (points[-1][0] if points else 0):
            points.append((int(row["size"]), float(row["time"]) * 1e-6))
            share = max(share, (float(row["alg"]), float(row["bus"])))
        elif points and ("algbw" in line or ROW.search(line)):
            yield Rows(tuple(points), share[1] / share[0] if share[0] else None)
            points, share = [], (0.0, 0.0)


def _tables_of_pairs(lines: Sequence[str], file: str) -> Iterator[Rows]:
    if any(_IS_BANDWIDTH.search(line) for line in lines):
        return
    points: list[tuple[int, float]] = []
    first, last, rows = 0, 0, list[list[str]]()
    for number, line in enumerate([*lines, "end"], start=1):
        pair = _PAIR.fullmatch(line)
        size, time_us = (int(pair["size"][:15]), float(pair["time"])) if pair is not None else (0, 0.0)
        if size and time_us > 0 and (not points or size > points[-1][0]):
            first, last = first if points else number, number
            points.append((size, time_us * 1e-6))
            rows.append(line.split())
        elif points and line.strip():  # rows that are left out are empty
            cut = ""
            if (sentence := lack(rows[-1], rows[:-1])) is not None:
                points.pop()
                cut = f'{file}:{last}: "{" ".join(rows[-1]):.60}" is cut and left out: {sentence}'
            if len(points) >= _LEAST_ROWS or "Size" in lines[first - 2]:
                yield Rows(tuple(points), None, cut)
            points, rows = [], []


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


_OSU = r"\bOSU (?:MPI|NCCL|RCCL)\S* (?:Persistent )?(?:Multi\S* )?"
_BEGINS = (
    ("latency", re.compile(rf"(?:{_OSU}|\bOSU MPI\S* )Latency Test|\bosu_(?:multi_)?lat(?:ency)?(?:_\w+)?\b")),
    ("both ways", re.compile(rf"{_OSU}Bi-Directional Bandwidth Test|\bosu_bibw(?:_\w+)?\b")),
    ("bandwidth", re.compile(rf"{_OSU}Bandwidth Test|\bosu_bw(?:_\w+)?\b")),
    ("latency", re.compile(r"# Benchmarking Ping(?:Pong|Ping)\s*$")),
    ("nccl", re.compile(r"\bsendrecv_perf\b")),
)
_WORDS_OF_TITLES = ("OSU ", "osu_", "_perf", "# Benchmarking ")
"""Each title of a table has one of them."""
_OTHERS = re.compile(r"\bOSU .* Test|\bosu_\w+|# Benchmarking |\b[a-z_]+_perf\b")
_MESSAGE = re.compile(r"\s*(?P<size>[0-9]{1,15})\s+(?P<value>[0-9]+\.[0-9]+)(?:\s+[0-9.]+)*\s*")
_MESSAGE_OF_IMB = re.compile(r"\s*(?P<size>[0-9]{1,15})\s+[0-9]+\s+(?P<value>[0-9]+\.[0-9]+)\s+[0-9]+\.[0-9]+\s*")
_MOST_SMALL_BYTES, _LEAST_LARGE_BYTES = 1 << 10, 1 << 17

Message = tuple[int, int, float]
"""The number of a line, a size in bytes, and the value beside it."""


def tables_in(text: str, file: str) -> tuple[Table, ...]:
    """Return the tables of point-to-point benchmarks in a text; `file` is the name of its file, for sources."""
    return tuple(_table_of_messages(kind, rows, file) for kind, rows in _groups(lines_of(text)) if rows)


def _groups(lines: Sequence[str]) -> Iterator[tuple[str, list[Message]]]:
    """Give the kind and the rows of each table."""
    kind, rows = "", list[Message]()
    for number, line in enumerate(lines, start=1):
        is_title = any(word in line for word in _WORDS_OF_TITLES)
        begins = next((name for name, begin in _BEGINS if begin.search(line)), None) if is_title else None
        if begins is not None or (is_title and _OTHERS.search(line)):
            yield kind, rows
            kind, rows = begins or "", []
        elif kind:
            match = ROW.search(line) if kind == "nccl" else _MESSAGE_OF_IMB.fullmatch(line) or _MESSAGE.fullmatch(line)
            if match is not None:
                rows.append((number, int(match["size"]), float(match["time" if kind == "nccl" else "value"])))
    yield kind, rows


def _table_of_messages(kind: str, rows: Sequence[Message], file: str) -> Table:
    lines, values = tuple(number for number, _, _ in rows), [(size, value) for _, size, value in rows if value > 0]
    large = [(size, value) for size, value in values if size >= _LEAST_LARGE_BYTES]
    small_s = [value * 1e-6 for size, value in values if 0 < size <= _MOST_SMALL_BYTES]
    rates = [size / (value * 1e-6) for size, value in large]
    is_both_ways = kind == "both ways"
    if is_both_ways or kind == "bandwidth":
        small_s, rates = [], [value * 1e6 / (1 + is_both_ways) for _, value in large]
    return Table(lines, min(small_s, default=None), max(rates, default=None), is_both_ways, f"{file}:{lines[0]}")
