"""The obvious suspects: the time of a hop, humps between sizes, and calls that contradict others of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from math import ceil, inf, log2
from operator import attrgetter

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
_JOB = attrgetter("ranks", "in_place", "ranks_per_node")
GUIDELINES = tuple((row["collective"], row["others"].split()) for row in read_rows(__file__, "guidelines.csv"))
"""A collective, and those that do the same one after the other."""


def slow_hop(
    points: Iterable[tuple[int, float]], job: Job, nodes: int | None, call: str, least_s: float = HOP_OF_TCP_S
) -> Finding | None:
    """Return which network has rounds, of at least `least_s`, as long as the fastest small call; None if not told."""
    small = [(time_s, size_bytes) for size_bytes, time_s in points if size_bytes <= _SMALL_BYTES]
    is_of_network = job.is_one_node is not True and nodes != 1 and not (job.is_of_nccl or job.gpu_name)
    if not (small and job.ranks and job.ranks > 1 and job.collective in _IN_ROUNDS and is_of_network):
        return None
    time_s, size_bytes = min(small)
    hop_s = time_s / ceil(log2(job.ranks))
    if not least_s <= hop_s <= _LONGEST_HOP_S:
        return None
    name = "hop of TCP" if hop_s >= HOP_OF_TCP_S else "hop of software"
    return conclude(name, call=call, size_bytes=size_bytes, time_s=time_s, hop_s=hop_s)


def hump(shape: Shape) -> Finding | None:
    """Return the sizes of two or more rows that take longer than a larger call does."""
    points = shape.points
    later_s = [*accumulate([inf, *(time for _, time in points[:0:-1])], min)][::-1]
    slow = {place for place, (_, time) in enumerate(points) if time > _HUMP_FACTOR * later_s[place]}
    worst = max(slow, key=lambda place: points[place][1] / later_s[place], default=0)
    first = next(place for place in range(worst, -2, -1) if place - 1 not in slow)
    last = next(place for place in range(worst, len(points)) if place + 1 not in slow)
    first = max(first, 1)  # the first size has the first calls
    if last <= first or points[worst][1] < _HIGH_FACTOR * later_s[worst]:
        return None
    size_bytes, time_s = points[worst]
    first = next((place for place in range(first, 1, -1) if points[place - 1][1] <= points[last + 1][1]), 1)
    first_bytes, (next_bytes, next_time_s) = points[first][0], points[last + 1]
    slow_sizes = partial(conclude, "hump", where=from_to(first_bytes, points[last][0]), first_bytes=first_bytes)
    return slow_sizes(size_bytes=size_bytes, size_time_s=time_s, next_bytes=next_bytes, next_time_s=next_time_s)


def contradictions(curves: Sequence[Curve]) -> Iterator[Finding]:
    """Give what takes longer than others of the text that do the same; of each curve, its worst row."""
    times = {id(curve): {_vector(one): one.time_s for one in curve.measurements if one.size_bytes} for curve in curves}
    for curve in curves:
        one = curve.first
        alike = {other.first.collective: times[id(other)] for other in curves if _JOB(one) == _JOB(other.first)}
        rows = [
            (measured.time_s / sum(filter(None, parts)), measured, others, sum(filter(None, parts)))
            for collective, others in GUIDELINES
            if collective == one.collective and all(name in alike for name in others)
            for measured in curve.measurements
            for parts in [[alike[name].get(_vector(measured) or min(alike[name])) for name in others if alike[name]]]
            if len(parts) == len(others) and None not in parts
        ]
        violations = [row for row in rows if row[0] > _GUIDELINE_FACTOR]
        if len(violations) >= _MANY or any(row[0] > _FAR for row in violations):
            factor, measured, others, together_s = max(violations, key=lambda row: row[0])
            of_size = f" of {format_bytes(measured.size_bytes)}" if measured.size_bytes else ""
            sizes = {row[1].size_bytes for row in violations}
            where = f", and longer at {len(sizes)} of {len(curve.measurements)} sizes" if len(sizes) > 1 else ""
            names = " and ".join(others) + (" together" if len(others) > 1 else "")
            call = f"{one.collective.capitalize()}{of_size}"
            contradiction = partial(conclude, "guideline", call=call, collective=one.collective, others=names)
            with_times = partial(contradiction, time_s=measured.time_s, together_s=together_s)
            yield with_times(factor=factor, where=where, source=measured.source)


def _vector(one: Measurement) -> int:
    return one.size_bytes * (one.ranks if COLLECTIVES[one.collective].size_is_one_block else 1)
