"""The tables of a text: of collectives as readers of measurements refuse them, and of messages between two ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hocket.judging.lines import FORMS, ROW, lines_of, row_of_nccl
from hocket.judging.mention import Rows, Table
from hocket.measurements.cuts import lack

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
    if any(FORMS["rows of bandwidths"].search(line) for line in lines):
        return
    points: list[tuple[int, float]] = []
    first, last, rows = 0, 0, list[list[str]]()
    for number, line in enumerate([*lines, "end"], start=1):
        pair = FORMS["size and time"].fullmatch(line)
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


_KINDS = ("latency", "both ways", "bandwidth", "nccl")
_WORDS_OF_TITLES = ("OSU ", "osu_", "_perf", "# Benchmarking ")
"""Each title of a table has one of them."""
_MOST_SMALL_BYTES, _LEAST_LARGE_BYTES = 1 << 10, 1 << 17

Message = tuple[int, int, float]  # the number of a line, a size in bytes, and the value beside it


def tables_in(text: str, file: str) -> tuple[Table, ...]:
    """Return the tables of point-to-point benchmarks in a text; `file` is the name of its file, for sources."""
    return tuple(_table_of_messages(kind, rows, file) for kind, rows in _groups(lines_of(text)) if rows)


def _groups(lines: Sequence[str]) -> Iterator[tuple[str, list[Message]]]:
    kind, rows = "", list[Message]()
    for number, line in enumerate(lines, start=1):
        is_title = any(word in line for word in _WORDS_OF_TITLES)
        begins = next((name for name in _KINDS if FORMS[f"title of {name}"].search(line)), None) if is_title else None
        if begins is not None or (is_title and FORMS["title of test"].search(line)):
            yield kind, rows
            kind, rows = begins or "", []
        elif kind:
            match = ROW.search(line) if kind == "nccl" else FORMS["row of messages"].fullmatch(line)
            if match is not None:
                rows.append((number, int(match["size"]), float(match["time"])))
    yield kind, rows


def _table_of_messages(kind: str, rows: Sequence[Message], file: str) -> Table:
    lines, values = tuple(number for number, _, _ in rows), [(size, value) for _, size, value in rows if value > 0]
    large = [(size, value) for size, value in values if size >= _LEAST_LARGE_BYTES]
    small_s = [value * 1e-6 for size, value in values if 0 < size <= _MOST_SMALL_BYTES]
    rates = [size / (value * 1e-6) for size, value in large]
    is_both_ways = kind == "both ways"
    if is_both_ways or kind == "bandwidth":
        ways = 2 if is_both_ways else 1
        small_s, rates = [], [value * 1e6 / ways for _, value in large]
    return Table(lines, min(small_s, default=None), max(rates, default=None), is_both_ways, f"{file}:{lines[0]}")
