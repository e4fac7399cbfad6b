"""The judgement of a text alone: whether its times are good, which fabric they fit, and what the text says of causes.

Nothing is simulated. A verdict follows from the bandwidth that public benchmarks reach on the machine that the text
describes, or from the shape of the curve. A cause needs a line of the text, or a shape that has no other reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from math import ceil, log2

from hocket.base.units import format_count, format_rate, format_time
from hocket.judging.causes import causes_of
from hocket.judging.context import NORMAL_SHARE, Job, bandwidth_verdict, job_of, unknowns_of, usual_rate_of
from hocket.judging.curves import Shape, shape_of, shape_of_points
from hocket.judging.fabrics import FABRICS
from hocket.judging.finding import Finding, conclude
from hocket.judging.mention import Figure, Mentions, Table
from hocket.judging.suspects import hump, slow_hop
from hocket.judging.tables import rows_in
from hocket.measurements.measurement import Measurement

_COLLAPSE_FACTOR = 1.4
"""A large call whose bandwidth is as many times less than that of a smaller one is slow on any machine."""
_SLOW_CALLS_FACTOR = 10
_RUNS_FACTOR = 1.5
_JUMP_FACTOR = 3
_LEAST_GROWTH = 1.1  # a bandwidth that grows by less from the last size but one to the last has reached its end
_LEAST_LARGE_BYTES = 1 << 20
_SLOWEST_LATENCY_S = 25.5e-6  # of a small message by TCP on 1 Gbit/s Ethernet, the slowest fabric of the table
_MESSAGE_S = 1e-6
"""What a further message costs at most, if many are under way: the latency of one on InfiniBand, as in the table."""
_ALIKE_FACTOR = 2.0  # a latency within this factor of that of a fabric is like it: programs, hosts and switches differ
_SLOW_LATENCY = 5.0
"""A small message that takes so many times the latency of a card does not go from memory to card directly."""


def judge_alone(curve: Sequence[Measurement], mentions: Mentions) -> tuple[Finding, ...]:
    """Return what times of one collective, or quoted bandwidths, and their text tell, the verdict first."""
    shape, bus = _shape_and_bus(curve, mentions)
    job = job_of(mentions, shape)
    verdict = (
        (None if shape is None else _verdict(curve, shape, job, bus, mentions))
        or _verdict_of_figures(mentions.figures, job)
        or _without_verdict(curve, shape, job)
    )
    return (verdict, *causes_of(verdict, job, shape, bus, mentions), *unknowns_of(job, mentions, verdict))


def causes_by_text(curve: Sequence[Measurement], mentions: Mentions) -> tuple[Finding, ...]:
    """Return the causes and hints that times and their text show, if the times are long."""
    shape, bus = _shape_and_bus(curve, mentions)
    return causes_of(Finding("slow", ""), job_of(mentions, shape), shape, bus, mentions)


def _shape_and_bus(curve: Sequence[Measurement], mentions: Mentions) -> tuple[Shape | None, float | None]:
    """Return the shape of a curve, and the bandwidth of the bus that its rows or the text tell."""
    shape, facts = shape_of(curve), mentions.facts
    if shape is None and (rows := rows_in(mentions.text, mentions.file)) is not None:  # no format reads them
        shape = shape_of_points(rows.points, facts.collective or "", facts.ranks, facts.ranks_per_node, rows.bus_share)
    if shape is None:
        return None, next((one.bytes_per_s for one in mentions.figures if one.is_of_bus), None)
    is_large = shape.sizes_bytes[-1] >= _LEAST_LARGE_BYTES
    return shape, shape.best[1] * shape.bus_share if is_large and shape.bus_share is not None else None


def _verdict(
    curve: Sequence[Measurement], shape: Shape, job: Job, bus_bytes_per_s: float | None, mentions: Mentions
) -> Finding | None:
    """Return the verdict on a curve; None if neither its shape nor its bandwidth tells one."""
    if shape.ranks == 1:
        return conclude("sends nothing", call=_call(job))
    verdict = (
        _between_runs(curve)
        or slow_hop(shape.points, job, job.nodes, _call(job))
        or (None if mentions.of("ran") else hump(shape))
        or _collapse(shape)
        or _small_calls(shape, job)
        or _jump(shape)
    )
    if verdict is None and bus_bytes_per_s is not None:
        start = f"{_call(job)} reaches {format_rate(bus_bytes_per_s)} of bus bandwidth"
        return _rising(shape, job, bus_bytes_per_s) or bandwidth_verdict(bus_bytes_per_s, job, start)
    return verdict


def _without_verdict(curve: Sequence[Measurement], shape: Shape | None, job: Job) -> Finding:
    if shape is None and not curve:
        return conclude("no number")
    if shape is None:
        call = _call(replace(job, collective=curve[0].collective, ranks=curve[0].ranks))
        return conclude("single time", call=call, time_s=curve[0].time_s)
    if shape.bus_share is not None:
        return conclude("no large sizes", call=_call(job))
    name = "no bus bandwidth" if shape.collective else "collective not told"
    return conclude(name if shape.ranks else "ranks not told", call=_call(job), bytes_per_s=shape.best[1])


def _rising(shape: Shape, job: Job, bus_bytes_per_s: float) -> Finding | None:
    """Return that the bandwidth still rises at the largest size, and that larger sizes would reach what is usual."""
    usual, rates, bus_rate = usual_rate_of(job), shape.rates, shape.bus_bytes_per_s
    if usual is None or bus_rate is None or len(rates) < 2 or rates[-1] / rates[-2] < _LEAST_GROWTH:
        return None
    if not bus_bytes_per_s < NORMAL_SHARE * usual.lowest_bytes_per_s <= bus_rate:
        return None
    growth = partial(conclude, "still rising", call=_call(job), size_bytes=shape.sizes_bytes[-1], what=usual.what)
    return growth(bytes_per_s=bus_bytes_per_s, implied_bytes_per_s=bus_rate)


def _call(job: Job) -> str:
    name = (job.collective or "the collective").replace("_", "-")
    ranks = f" on {format_count(job.ranks, 'rank')}" if job.ranks else ""
    return f"{name[0].upper()}{name[1:]}{ranks}"


def _between_runs(curve: Sequence[Measurement]) -> Finding | None:
    rows = sorted((one.size_bytes, one.in_place, one.time_s) for one in curve)
    for (size, _), group in groupby(rows, key=lambda row: row[:2]):
        times = [time_s for *_, time_s in group]
        if times[-1] > _RUNS_FACTOR * times[0]:
            factor = times[-1] / times[0]
            return conclude("two runs", size_bytes=size, least_s=times[0], most_s=times[-1], factor=factor)
    return None


def _collapse(shape: Shape) -> Finding | None:
    """Return that the largest call has much less bandwidth than a smaller one."""
    (best, rate), last, last_rate = shape.best, shape.sizes_bytes[-1], shape.rates[-1]
    if best == last or rate < _COLLAPSE_FACTOR * last_rate or len(shape.sizes_bytes) < 3:
        return None
    share, of_bus = (1.0, "") if shape.bus_share is None else (shape.bus_share, " of bus bandwidth")
    collapse = partial(conclude, "large calls", best_bytes=best, last_bytes=last, of_bus=of_bus)
    return collapse(best_bytes_per_s=rate * share, last_bytes_per_s=last_rate * share, factor=rate / last_rate)


def _small_calls(shape: Shape, job: Job) -> Finding | None:
    """Return that small calls take longer than the latencies of any fabric explain."""
    if shape.ranks is None or shape.ranks < 2 or shape.sizes_bytes[0] > _LEAST_LARGE_BYTES:
        return None
    steps = 2 * ceil(log2(shape.ranks))
    normal_s = steps * _SLOWEST_LATENCY_S
    if shape.collective.startswith(("alltoall", "allgather", "reduce_scatter", "gather", "scatter")):
        normal_s += shape.ranks * _MESSAGE_S
    floor_s = shape.floor_s if shape.floor_s is not None else min(shape.times_s)
    if floor_s < _SLOW_CALLS_FACTOR * normal_s:
        return None
    return conclude("small calls", call=_call(job), time_s=floor_s, factor=floor_s / normal_s)


def _jump(shape: Shape) -> Finding | None:
    """Return that the time jumps so far between two sizes that one of them is slow on any machine."""
    jump = max(shape.kinks, key=lambda kink: kink.factor, default=None)
    if jump is None or jump.factor < _JUMP_FACTOR:
        return None
    return conclude("some sizes", size_bytes=jump.size_bytes, factor=jump.factor)


def _verdict_of_figures(figures: Sequence[Figure], job: Job) -> Finding | None:
    """Return the verdict on bandwidths that the text quotes: averages of runs that differ, or else the first one."""
    averages = sorted((one for one in figures if one.is_of_output), key=lambda one: one.bytes_per_s)
    if averages and averages[-1].bytes_per_s >= _RUNS_FACTOR * averages[0].bytes_per_s:
        source, less, more = averages[0].source, averages[0].bytes_per_s, averages[-1].bytes_per_s
        conclusion = partial(conclude, "two averages", source=source, factor=more / less)
        return conclusion(most_bytes_per_s=more, least_bytes_per_s=less)
    if not figures:
        return None
    rate, source = figures[0].bytes_per_s, figures[0].source
    start = f"The text quotes {format_rate(rate)}"
    if figures[0].is_of_bus:
        return bandwidth_verdict(rate, job, start, source, is_average=figures[0].is_average)
    if not job.ranks or job.collective != "allreduce":
        return conclude("algorithm bandwidth", source=source, bytes_per_s=rate)
    bus = rate * (2 * (job.ranks - 1) / job.ranks)
    return bandwidth_verdict(bus, job, f"{start} of algorithm bandwidth, {format_rate(bus)} of the bus", source)


def judge_point_to_point(table: Table, mentions: Mentions) -> tuple[Finding, ...]:
    """Return the verdict on a table, then causes, and what the text does not tell."""
    whole_job = job_of(mentions, None)
    job = replace(whole_job, collective="", cards=1, cards_of_node=1)
    verdict = _verdict_of_messages(table, job)
    causes = (one for one in causes_of(verdict, job, None, table.bytes_per_s, mentions) if one.subject != "one card")
    return (verdict, *causes, *_latency(table), *unknowns_of(whole_job, mentions, verdict))


def _verdict_of_messages(table: Table, job: Job) -> Finding:
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
