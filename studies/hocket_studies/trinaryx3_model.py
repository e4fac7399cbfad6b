"""Trinaryx3 on a torus, from the study of the allreduce of the K computer.

N bytes go along trees of height H in segments of SS bytes. A hop takes L for the software and SS / BWc for the link. A
processor combines BWo bytes per second. The three trees take N / 3 each, and one thread prepares the messages of all
three (see the trinaryx3 page of the docs):

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

from math import inf
from typing import TYPE_CHECKING, Any, Literal

from hocket import _native

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
    """Return the segment size with the least time of Trinaryx3 by (3), by (4), or by their sum for an allreduce.

    `segment=auto` stands for this size. The largest segment is a part of the message, N/3. If L is 0 there is no least
    time: smaller segments are always faster, and the answer is 0.

    Args:
        collective: The collective that Trinaryx3 does.
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
    return _native.best_segment_bytes(
        collective, size_bytes, height_links, latency_s, link_bytes_per_s, reduce_bytes_per_s
    )
