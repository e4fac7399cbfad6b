"""Rows of times in texts that the readers of measurements refuse: cut tables, tables without titles or with labels.

Only complete pairs of a size and a time are read. They serve to judge the shape of a curve, not to fit a machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hocket.judging.lines import ROW, lines_of, row_of_nccl
from hocket.judging.mention import Mentions
from hocket.measurements.cuts import lack

_PAIR = re.compile(r"\s*(?:[0-9]+: +)?(?P<size>[0-9]+)[ \t]+(?P<time>[0-9]+\.[0-9]+)(?:[ \t]+[0-9.]+)*\s*")
_IS_BANDWIDTH = re.compile(r"osu_\w*bw\b|Bandwidth \(MB/s\)|MB/s")
_LEAST_ROWS = 4


@dataclass(frozen=True)
class Rows:
    """Rows of one table.

    Attributes:
        points: Sizes in bytes, as the table gives them, and times in seconds.
        bus_share: The bandwidth of the bus, divided by that of the algorithm, where the rows give both.
        cut: The sentence on a last row that lacks its end, which is left out; empty without one.
    """

    points: tuple[tuple[int, float], ...]
    bus_share: float | None
    cut: str = ""


def rows_in(mentions: Mentions) -> Rows | None:
    """Return the rows of the first table in a text with most of them; None if it has none."""
    lines = lines_of(mentions.text)
    tables = list(_tables_of_nccl(lines)) or list(_tables_of_pairs(lines, mentions.file))
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
