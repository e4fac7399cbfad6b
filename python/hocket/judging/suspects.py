"""The obvious suspects: the time of a hop, humps between sizes, and calls that contradict others of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from math import ceil, inf, log2
from typing import NamedTuple

from hocket.base.files import read_rows
from hocket.base.units import format_bytes, from_to
from hocket.definitions.library import COLLECTIVES
from hocket.judging.context import Job
from hocket.judging.curves import Curve, Shape
from hocket.judging.finding import Finding, conclude
from hocket.measurements.measurement import Measurement

HOP_OF_TCP_S, HOP_OF_SOFTWARE_S = 14e-6, 4.5e-6
"""A round of small messages takes at least so long by TCP sockets, and in virtual machines or through the processor;
1 to 2 us on a native network, 24.6 us on Ethernet with TCP (`fabrics.csv`)."""
_LONGEST_HOP_S = 80e-6
_SMALL_BYTES = 1 << 10
_IN_ROUNDS = ("allreduce", "broadcast", "reduce", "barrier", "allgather", "gather", "scatter", "scan", "exscan")
_HUMP_FACTOR, _HIGH_FACTOR = 1.3, 1.7
"""A size of a hump takes so many times as long as a larger one, and the highest so many times."""
_GUIDELINE_FACTOR, _FAR, _MANY = 1.3, 1.6, 3
"""A call contradicts others if it takes so many times as long at several sizes, or far longer at one."""
GUIDELINES = tuple((row["collective"], row["others"].split()) for row in read_rows(__file__, "guidelines.csv"))
"""A collective, and those that do the same one after the other."""


class Hop(NamedTuple):
    """The time of a round of small messages, at a size."""

    size_bytes: int
    time_s: float
    hop_s: float


def hop_of(points: Iterable[tuple[int, float]], job: Job, nodes: int | None) -> Hop | None:
    """Return the time of a round of the smallest call; None if it tells nothing of the network between nodes."""
    small = [point for point in points if point[0] <= _SMALL_BYTES]
    is_of_network = job.is_one_node is not True and nodes != 1 and not (job.is_of_nccl or job.gpu_name)
    if not (small and job.ranks and job.ranks > 1 and job.collective in _IN_ROUNDS and is_of_network):
        return None
    size_bytes, time_s = min(small, key=lambda point: point[1])
    return Hop(size_bytes, time_s, time_s / ceil(log2(job.ranks)))


def slow_hop(hop: Hop | None, call: str, least_s: float = HOP_OF_TCP_S) -> Finding | None:
    """Return which network has a hop that takes at least a time."""
    if hop is None or not least_s <= hop.hop_s <= _LONGEST_HOP_S:
        return None
    name = "hop of TCP" if hop.hop_s >= HOP_OF_TCP_S else "hop of software"
    return conclude(name, call=call, size_bytes=hop.size_bytes, time_s=hop.time_s, hop_s=hop.hop_s)


def hump(shape: Shape) -> Finding | None:
    """Return the sizes of two or more rows that take longer than a larger call does."""
    points = shape.points
    later_s = [*accumulate([inf, *(time for _, time in points[:0:-1])], min)][::-1]
    slow = [place for place, (_, time) in enumerate(points) if time > _HUMP_FACTOR * later_s[place]]
    slow = [place for place in slow if place > 0]  # the first size has the first calls
    worst = max(slow, key=lambda place: points[place][1] / later_s[place], default=0)
    if len(slow) < 2 or slow[-1] - slow[0] >= 2 * len(slow) or points[worst][1] < _HIGH_FACTOR * later_s[worst]:
        return None
    (size_bytes, time_s), next_place = points[worst], slow[-1] + 1
    return conclude(
        "hump",
        where=from_to(points[slow[0]][0], points[slow[-1]][0]),
        size_bytes=size_bytes,
        size_time_s=time_s,
        next_bytes=points[next_place][0],
        next_time_s=points[next_place][1],
    )


def contradictions(curves: Sequence[Curve]) -> Iterator[Finding]:
    """Give what takes longer than others of the text that do the same; of each curve, its worst row."""
    times = {id(curve): _by_vector(curve) for curve in curves}
    for curve in curves:
        one = curve.first
        alike = {other.first.collective: times[id(other)] for other in curves if _are_alike(one, other.first)}
        rows = [
            (measured.time_s / sum(parts), measured, others, sum(parts))
            for collective, others in GUIDELINES
            if collective == one.collective and all(name in alike for name in others)
            for size, measured in _rows(curve, times[id(curve)])
            for parts in [[alike[name][size] for name in others if size in alike[name]]]
            if len(parts) == len(others)
        ]
        violations = [row for row in rows if row[0] > _GUIDELINE_FACTOR]
        if len(violations) >= _MANY or any(row[0] > _FAR for row in violations):
            factor, measured, others, together_s = max(violations, key=lambda row: row[0])
            of_size = f" of {format_bytes(measured.size_bytes)}" if measured.size_bytes else ""
            finding = partial(conclude, "guideline", call=f"{one.collective.capitalize()}{of_size}", factor=factor)
            sizes = {row[1].size_bytes for row in violations}
            where = f", and longer at {len(sizes)} of {len(curve.measurements)} sizes" if len(sizes) > 1 else ""
            names = " and ".join(others) + (" together" if len(others) > 1 else "")
            yield finding(
                time_s=measured.time_s,
                others=names,
                together_s=together_s,
                where=where,
                collective=one.collective,
                source=measured.source,
            )


def _are_alike(one: Measurement, other: Measurement) -> bool:
    return (one.ranks, one.in_place, one.ranks_per_node) == (other.ranks, other.in_place, other.ranks_per_node)


def _vector(one: Measurement) -> int:
    return one.size_bytes * (one.ranks if COLLECTIVES[one.collective].size_is_one_block else 1)


def _by_vector(curve: Curve) -> dict[int, float]:
    return {_vector(one): one.time_s for one in curve.measurements if one.size_bytes}


def _rows(curve: Curve, times: dict[int, float]) -> Iterator[tuple[int, Measurement]]:
    """Give the rows with the sizes of their vectors; a barrier is compared with the smallest size."""
    for one in curve.measurements:
        yield _vector(one), one
