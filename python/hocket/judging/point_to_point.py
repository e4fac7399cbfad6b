"""What tables of point-to-point benchmarks tell: the latency of a message, and its bandwidth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hocket.base.units import format_rate, format_time
from hocket.judging.causes import causes_of
from hocket.judging.context import Job, bandwidth_verdict, job_of, unknowns_of
from hocket.judging.fabrics import FABRICS
from hocket.judging.finding import Finding, conclude
from hocket.judging.mention import Mentions, Table

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
