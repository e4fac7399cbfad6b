"""Tables of point-to-point benchmarks in texts: the latency of a message, and its bandwidth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hocket.base.units import format_rate, format_time
from hocket.judging.causes import causes_of
from hocket.judging.context import Job, bandwidth_verdict, job_of, unknowns_of
from hocket.judging.fabrics import FABRICS
from hocket.judging.finding import Finding, conclude
from hocket.judging.lines import ROW, lines_of
from hocket.judging.mentions import Mentions

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
    lines, values = tuple(number for number, _, _ in rows), [(size, value) for _, size, value in rows if value > 0]
    large = [(size, value) for size, value in values if size >= _LEAST_LARGE_BYTES]
    small_s = [value * 1e-6 for size, value in values if 0 < size <= _MOST_SMALL_BYTES]
    rates = [size / (value * 1e-6) for size, value in large]
    is_both_ways = kind == "both ways"
    if is_both_ways or kind == "bandwidth":
        small_s, rates = [], [value * 1e6 / (1 + is_both_ways) for _, value in large]
    return Table(lines, min(small_s, default=None), max(rates, default=None), is_both_ways, f"{file}:{lines[0]}")


_ALIKE_FACTOR = 2.0
"""A latency within this factor of that of a fabric is like it: programs, hosts and switches differ."""
_SLOW_LATENCY = 5.0
"""A small message that takes so many times the latency of a card does not go from memory to card directly."""


def judge_point_to_point(table: Table, mentions: Mentions) -> tuple[Finding, ...]:
    """Return the verdict on a table, then causes, and what the text does not tell."""
    whole_job = job_of(mentions, None)
    job = replace(whole_job, collective="", cards=1, cards_of_node=1)
    verdict = _verdict(table, job)
    causes = (one for one in causes_of(verdict, job, None, table.bytes_per_s, mentions) if one.subject != "one card")
    return (verdict, *causes, *_latency(table), *unknowns_of(whole_job, mentions, verdict))


def _verdict(table: Table, job: Job) -> Finding:
    """Return the verdict: on the latency if it is that of no card, or else on the bandwidth."""
    small = "" if table.latency_s is None else f"take {format_time(table.latency_s)} if small"
    ways = " in each direction, both at once," if table.is_both_ways else ""
    large = "" if table.bytes_per_s is None else f"reach {format_rate(table.bytes_per_s)}{ways} if large"
    start = f"Point-to-point messages {' and '.join(part for part in (small, large) if part) or 'have few sizes'}"
    card_s = [one.highest_latency_s for one in FABRICS if one.kind == job.net == "rdma" and one.highest_latency_s]
    if table.latency_s is not None and card_s and job.is_of_cpus and table.latency_s > _SLOW_LATENCY * max(card_s):
        return conclude("messages by the processor", source=table.source, start=start, usual_s=max(card_s))
    if table.bytes_per_s is None:
        return conclude("few sizes of messages", source=table.source, start=start)
    return bandwidth_verdict(table.bytes_per_s, job, start, table.source)


def _latency(table: Table) -> Iterator[Finding]:
    """Give which fabric has the latency of a small message."""
    if table.latency_s is None:
        return
    ranges = [
        (one.name, one.lowest_latency_s / _ALIKE_FACTOR, one.highest_latency_s * _ALIKE_FACTOR)
        for one in FABRICS
        if one.lowest_latency_s is not None and one.highest_latency_s is not None
    ]
    name = next((name for name, low_s, high_s in ranges if low_s <= table.latency_s <= high_s), None)
    if name is not None or table.latency_s < min(low_s for _, low_s, _ in ranges):
        what = "less than cards take, as within a node" if name is None else f"like {name}"
        yield conclude("latency", source=table.source, latency_s=table.latency_s, what=what)
