"""Tables of point-to-point benchmarks in texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hocket.judging.lines import ROW, lines_of
from hocket.measurements.cuts import without_lines

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
_PAIR = re.compile(r"\s*(?P<size>[0-9]{1,15})\s+(?P<value>[0-9]+\.[0-9]+)(?:\s+[0-9.]+)*\s*")
_IMB = re.compile(r"\s*(?P<size>[0-9]{1,15})\s+[0-9]+\s+(?P<value>[0-9]+\.[0-9]+)\s+[0-9]+\.[0-9]+\s*")
_MOST_SMALL_BYTES, _LEAST_LARGE_BYTES = 1 << 10, 1 << 17


@dataclass(frozen=True)
class Table:
    """A table of a point-to-point benchmark.

    Attributes:
        rows: The numbers of the lines of its rows.
        latency_s: The time of a small message; None if it has none.
        bytes_per_s: The greatest bandwidth of large messages in one direction; None if it has none.
        is_both_ways: Whether messages run in both directions at once.
        source: The file and the line of its first row.
    """

    rows: tuple[int, ...]
    latency_s: float | None
    bytes_per_s: float | None
    is_both_ways: bool
    source: str


def tables_in(text: str, file: str) -> tuple[Table, ...]:
    """Return the tables of point-to-point benchmarks in a text; `file` is the name of its file, for sources."""
    return tuple(_table(kind, rows, file) for kind, rows in _groups(lines_of(text)) if rows)


def without_rows(text: str, tables: Sequence[Table]) -> str:
    """Return a text in which the rows of some tables are empty lines."""
    return without_lines(text, {row for table in tables for row in table.rows})


Row = tuple[int, int, float]
"""The number of a line, a size in bytes, and the value beside it."""


def _groups(lines: Sequence[str]) -> Iterator[tuple[str, list[Row]]]:
    """Give the kind and the rows of each table."""
    kind, rows = "", list[Row]()
    for number, line in enumerate(lines, start=1):
        is_title = any(word in line for word in _WORDS_OF_TITLES)
        begins = next((name for name, begin in _BEGINS if begin.search(line)), None) if is_title else None
        if begins is not None or (is_title and _OTHERS.search(line)):
            yield kind, rows
            kind, rows = begins or "", []
        elif kind:
            match = ROW.search(line) if kind == "nccl" else _IMB.fullmatch(line) or _PAIR.fullmatch(line)
            if match is not None:
                rows.append((number, int(match["size"]), float(match["time" if kind == "nccl" else "value"])))
    yield kind, rows


def _table(kind: str, rows: Sequence[Row], file: str) -> Table:
    lines = tuple(number for number, _, _ in rows)
    source = f"{file}:{lines[0]}"
    if kind in ("bandwidth", "both ways"):
        ways = 2 if kind == "both ways" else 1
        rates = [value * 1e6 / ways for _, size, value in rows if size >= _LEAST_LARGE_BYTES and value > 0]
        return Table(lines, None, max(rates, default=None), ways == 2, source)
    times = [(size, value * 1e-6) for _, size, value in rows if value > 0]
    latency_s = min((time_s for size, time_s in times if 0 < size <= _MOST_SMALL_BYTES), default=None)
    rates = [size / time_s for size, time_s in times if size >= _LEAST_LARGE_BYTES]
    return Table(lines, latency_s, max(rates, default=None), False, source)
