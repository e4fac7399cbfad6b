"""Tables of point-to-point benchmarks in texts, and what they tell: the latency of a message, and its bandwidth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hocket.base.units import format_rate, format_time
from hocket.judging.causes import ONE_CARD, causes_of
from hocket.judging.context import Job, job_of
from hocket.judging.fabrics import fabrics
from hocket.judging.finding import Finding
from hocket.judging.lines import ROW, lines_of
from hocket.judging.mention import Mentions
from hocket.judging.rates import bandwidth_verdict, unknowns_of

_OSU = r"\bOSU (?:MPI|NCCL|RCCL)\S* (?:Persistent )?(?:Multi\S* )?"
_BEGINS = (
    ("latency", re.compile(rf"(?:{_OSU}|\bOSU MPI\S* )Latency Test|\bosu_(?:multi_)?lat(?:ency)?(?:_\w+)?\b")),
    ("both ways", re.compile(rf"{_OSU}Bi-Directional Bandwidth Test|\bosu_bibw(?:_\w+)?\b")),
    ("bandwidth", re.compile(rf"{_OSU}Bandwidth Test|\bosu_bw(?:_\w+)?\b")),
    ("latency", re.compile(r"# Benchmarking Ping(?:Pong|Ping)\s*$")),
    ("nccl", re.compile(r"\bsendrecv_perf\b")),
)
_OTHERS = re.compile(r"\bOSU .* Test|\bosu_\w+|# Benchmarking |\b[a-z_]+_perf\b")
_PAIR = re.compile(r"\s*(?P<size>[0-9]{1,15})\s+(?P<value>[0-9]+\.[0-9]+)(?:\s+[0-9.]+)*\s*")
_IMB = re.compile(r"\s*(?P<size>[0-9]{1,15})\s+[0-9]+\s+(?P<value>[0-9]+\.[0-9]+)\s+[0-9]+\.[0-9]+\s*")
_MOST_SMALL_BYTES, _LEAST_LARGE_BYTES = 1 << 10, 1 << 17
_ALIKE_FACTOR = 2.0
"""A latency within this factor of that of a fabric is like it: programs, hosts and switches differ."""
_SLOW_LATENCY = 5.0
"""A small message that takes so many times the latency of a card does not go from memory to card directly."""


@dataclass(frozen=True)
class Table:
    """A table of a point-to-point benchmark.

    Attributes:
        rows: The lines of its rows, from 0.
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
    """Return the tables of point-to-point benchmarks in a text.

    Args:
        text: The text.
        file: The name of its file, for sources.
    """
    return tuple(_table(kind, rows, file) for kind, rows in _groups(lines_of(text)) if rows)


def without_rows(text: str, tables: Sequence[Table]) -> str:
    """Return a text in which the rows of some tables are empty lines."""
    rows = {row for table in tables for row in table.rows}
    return "\n".join("" if number in rows else line for number, line in enumerate(text.split("\n"))) if rows else text


def judge_point_to_point(table: Table, mentions: Mentions) -> tuple[Finding, ...]:
    """Return the verdict on a table, then causes, and what the text does not tell."""
    job = replace(job_of(mentions, None), collective="", cards=1, cards_of_node=1)
    verdict = _verdict(table, job)
    causes = causes_of(verdict, job, None, table.bytes_per_s, mentions)
    return (
        verdict,
        *(one for one in causes if one.subject != ONE_CARD),
        *_latency(table),
        *unknowns_of(replace(job, cards=job_of(mentions, None).cards), mentions, verdict),
    )


Row = tuple[int, int, float]
"""The number of a line, a size in bytes, and the value beside it."""


def _groups(lines: Sequence[str]) -> Iterator[tuple[str, list[Row]]]:
    """Give the kind and the rows of each table."""
    kind, rows = "", list[Row]()
    for number, line in enumerate(lines):
        begins = next((name for name, begin in _BEGINS if begin.search(line)), None)
        if begins is not None or _OTHERS.search(line):
            yield kind, rows
            kind, rows = begins or "", []
        elif kind:
            match = ROW.search(line) if kind == "nccl" else _IMB.fullmatch(line) or _PAIR.fullmatch(line)
            if match is not None:
                rows.append((number, int(match["size"]), float(match["time" if kind == "nccl" else "value"])))
    yield kind, rows


def _table(kind: str, rows: Sequence[Row], file: str) -> Table:
    lines = tuple(number for number, _, _ in rows)
    source = f"{file}:{lines[0] + 1}"
    if kind in ("bandwidth", "both ways"):
        ways = 2 if kind == "both ways" else 1
        rates = [value * 1e6 / ways for _, size, value in rows if size >= _LEAST_LARGE_BYTES and value > 0]
        return Table(lines, None, max(rates, default=None), ways == 2, source)
    times = [(size, value * 1e-6) for _, size, value in rows if value > 0]
    latency_s = min((time_s for size, time_s in times if 0 < size <= _MOST_SMALL_BYTES), default=None)
    rates = [size / time_s for size, time_s in times if size >= _LEAST_LARGE_BYTES]
    return Table(lines, latency_s, max(rates, default=None), False, source)


def _verdict(table: Table, job: Job) -> Finding:
    """Return the verdict: on the latency if it is that of no card, or else on the bandwidth."""
    small = "" if table.latency_s is None else f"take {format_time(table.latency_s)} if small"
    ways = " in each direction, both at once," if table.is_both_ways else ""
    large = "" if table.bytes_per_s is None else f"reach {format_rate(table.bytes_per_s)}{ways} if large"
    start = f"Point-to-point messages {' and '.join(part for part in (small, large) if part) or 'have few sizes'}"
    card_s = [one.highest_latency_s for one in fabrics() if one.kind == job.net == "rdma" and one.highest_latency_s]
    if table.latency_s is not None and card_s and job.is_of_cpus and table.latency_s > _SLOW_LATENCY * max(card_s):
        usual = f"InfiniBand or RoCE takes {format_time(max(card_s))}"
        return Finding("slow", f"{start}; {usual}: messages do not go to the card directly", "latency", table.source)
    if table.bytes_per_s is None:
        return Finding("unknown", f"{start}: that tells little of the bandwidth", "sizes", table.source)
    return bandwidth_verdict(table.bytes_per_s, job, start, table.source)


def _latency(table: Table) -> Iterator[Finding]:
    """Give which fabric has the latency of a small message."""
    if table.latency_s is None:
        return
    latencies = [(one, one.lowest_latency_s, one.highest_latency_s) for one in fabrics()]
    ranges = [(one.name, low_s, high_s) for one, low_s, high_s in latencies if low_s is not None and high_s is not None]
    names = [
        name for name, low_s, high_s in ranges if low_s / _ALIKE_FACTOR <= table.latency_s <= high_s * _ALIKE_FACTOR
    ]
    slower = [name for name, low_s, _ in ranges if table.latency_s < low_s / _ALIKE_FACTOR]
    what = (
        f"like {names[0]}" if names else "less than cards take, as within a node" if len(slower) == len(ranges) else ""
    )
    if what:
        yield Finding("hint", f"A small message takes {format_time(table.latency_s)}, {what}", "latency", table.source)
