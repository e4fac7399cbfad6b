"""Trinaryx3 on a torus, by the study of the allreduce of the K computer.

N bytes go along trees of height H in segments of SS bytes; a hop takes L for the software and SS / BWc for the link,
and a processor combines BWo bytes per second. The three trees take N / 3 each, while one thread prepares the messages
of all (see the trinaryx3 page of the docs):

    tree broadcast         T    = H (L + SS/BWc) + (N/SS) max(L, SS/BWc) + L                             (1)
    tree reduce            T    = H (L + SS/BWc + SS/BWo) + (N/SS) max(L + SS/BWo, SS/BWc) + L           (2)
    Trinaryx3 broadcast    T3bc = H (L + SS/BWc) + max((N/SS) L, N/3/BWc) + L                            (3)
    Trinaryx3 reduce       T3rd = H (L + SS/BWc + SS/BWo) + max((N/SS) L + N/BWo, N/3/BWc) + L           (4)

All functions take numbers or NumPy arrays.

>>> k_computer = {"height_links": 84, "latency_s": 1.27e-6, "link_bytes_per_s": 11.6e9 / 3}
>>> float(trinaryx3_broadcast_s(2**30, 65536, **k_computer))
0.0940...
>>> float(trinaryx3_reduce_s(2**30, 49152, **k_computer, reduce_bytes_per_s=6.58e9))
0.192...
"""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "best_segment_bytes",
    "tree_broadcast_s",
    "tree_reduce_s",
    "trinaryx3_broadcast_s",
    "trinaryx3_reduce_s",
]

_TREES = 3


def tree_broadcast_s(
    size_bytes: ArrayLike,
    segment_bytes: ArrayLike,
    *,
    height_links: float,
    latency_s: ArrayLike,
    link_bytes_per_s: ArrayLike,
) -> NDArray[Any]:
    """Return the time of a broadcast of N bytes down one tree, equation (1).

    Args:
        size_bytes: N.
        segment_bytes: SS.
        height_links: H.
        latency_s: L.
        link_bytes_per_s: BWc.
    """
    return tree_reduce_s(
        size_bytes,
        segment_bytes,
        height_links=height_links,
        latency_s=latency_s,
        link_bytes_per_s=link_bytes_per_s,
        reduce_bytes_per_s=inf,
    )


def tree_reduce_s(
    size_bytes: ArrayLike,
    segment_bytes: ArrayLike,
    *,
    height_links: float,
    latency_s: ArrayLike,
    link_bytes_per_s: ArrayLike,
    reduce_bytes_per_s: ArrayLike,
) -> NDArray[Any]:
    """Return the time of a reduce of N bytes up one tree, equation (2).

    Args:
        size_bytes: N.
        segment_bytes: SS.
        height_links: H.
        latency_s: L.
        link_bytes_per_s: BWc.
        reduce_bytes_per_s: BWo.
    """
    import numpy as np

    values = (size_bytes, segment_bytes, latency_s, link_bytes_per_s, reduce_bytes_per_s)
    size, segment, latency, link, combine = (np.asarray(value, dtype=float) for value in values)
    work = latency + segment / combine
    step = np.maximum(work, segment / link)
    time_s: NDArray[Any] = height_links * (work + segment / link) + size / segment * step + latency
    return time_s


def trinaryx3_broadcast_s(
    size_bytes: ArrayLike,
    segment_bytes: ArrayLike,
    *,
    height_links: float,
    latency_s: ArrayLike,
    link_bytes_per_s: ArrayLike,
) -> NDArray[Any]:
    """Return the time of a Trinaryx3 broadcast of N bytes, equation (3).

    Args:
        size_bytes: N.
        segment_bytes: SS.
        height_links: H, X+Y+Z-2 on a torus of X x Y x Z.
        latency_s: L.
        link_bytes_per_s: BWc, of one link.
    """
    return trinaryx3_reduce_s(
        size_bytes,
        segment_bytes,
        height_links=height_links,
        latency_s=latency_s,
        link_bytes_per_s=link_bytes_per_s,
        reduce_bytes_per_s=inf,
    )


def trinaryx3_reduce_s(
    size_bytes: ArrayLike,
    segment_bytes: ArrayLike,
    *,
    height_links: float,
    latency_s: ArrayLike,
    link_bytes_per_s: ArrayLike,
    reduce_bytes_per_s: ArrayLike,
) -> NDArray[Any]:
    """Return the time of a Trinaryx3 reduce of N bytes, equation (4).

    Args:
        size_bytes: N.
        segment_bytes: SS.
        height_links: H, X+Y+Z-2 on a torus of X x Y x Z.
        latency_s: L.
        link_bytes_per_s: BWc, of one link.
        reduce_bytes_per_s: BWo, of one processor.
    """
    import numpy as np

    values = (size_bytes, segment_bytes, latency_s, link_bytes_per_s, reduce_bytes_per_s)
    size, segment, latency, link, combine = (np.asarray(value, dtype=float) for value in values)
    hop = latency + segment / link + segment / combine
    stream = np.maximum(size / segment * latency + size / combine, size / _TREES / link)
    time_s: NDArray[Any] = height_links * hop + stream + latency
    return time_s


def best_segment_bytes(
    collective: Literal["broadcast", "reduce", "allreduce"],
    size_bytes: float,
    *,
    height_links: float,
    latency_s: float,
    link_bytes_per_s: float,
    reduce_bytes_per_s: float = inf,
) -> float:
    """Return the segment for which Trinaryx3 takes the least time by (3), by (4), or by their sum for an allreduce.

    As a function of SS the time is a SS + max(N L / SS + c, d) + constants, with
    a = H/BWc, c = 0 for (3) and a = H (1/BWc + 1/BWo), c = N/BWo for (4), and d = N / (3 BWc) for both.

    - Where the first side of the maximum holds, SS < N L / (d - c) or c >= d, the minimum is at SS = sqrt(N L / a): the
      pipeline is as long to fill as its messages are to prepare. Beyond, larger segments take longer.
    - So the best of (3) is min(sqrt(N L BWc / H), 3 L BWc), and (4) has the same form.
    - The sum adds the slopes a, and has two maxima. It is convex, so its minimum is where one of the maxima changes
      sides, or at sqrt(k N L / a), where k = 1 or 2 of them hold by their first sides: the best of these.

    A part of the message, N/3, is the largest segment there is. Where L is 0 there is no least time: the smaller the
    segments, the faster, and the answer is 0.

    Args:
        collective: What Trinaryx3 is used for.
        size_bytes: N.
        height_links: H.
        latency_s: L.
        link_bytes_per_s: BWc.
        reduce_bytes_per_s: BWo.

    Examples:
        >>> k_computer = {"height_links": 84, "latency_s": 1.27e-6, "link_bytes_per_s": 11.6e9 / 3}
        >>> round(best_segment_bytes("broadcast", 2**20, **k_computer))
        7829
        >>> round(best_segment_bytes("reduce", 2**20, **k_computer, reduce_bytes_per_s=6.58e9))
        6214
    """
    machine = {"height_links": height_links, "latency_s": latency_s, "link_bytes_per_s": link_bytes_per_s}
    reducing = {**machine, "reduce_bytes_per_s": reduce_bytes_per_s}
    broadcasts, reduces = collective != "reduce", collective != "broadcast"

    def time_s(segment_bytes: float) -> float:
        down_s = float(trinaryx3_broadcast_s(size_bytes, segment_bytes, **machine)) if broadcasts else 0.0
        return down_s + (float(trinaryx3_reduce_s(size_bytes, segment_bytes, **reducing)) if reduces else 0.0)

    messages_s = size_bytes * latency_s
    if messages_s == 0:
        return 0.0
    slope = height_links * ((broadcasts + reduces) / link_bytes_per_s + reduces / reduce_bytes_per_s)
    link_s = size_bytes / _TREES / link_bytes_per_s
    spare_s = [link_s] * broadcasts + [link_s - size_bytes / reduce_bytes_per_s] * reduces
    candidates = [messages_s / spare for spare in spare_s if spare > 0]
    candidates += [sqrt(held * messages_s / slope) for held in range(1, len(spare_s) + 1) if slope > 0]
    part_bytes = size_bytes / _TREES
    return min((min(segment, part_bytes) for segment in candidates if segment > 0), key=time_s, default=part_bytes)
