"""The verdict on a bandwidth: beside what is usual for a job, or the fabrics that it fits; and what is not known."""

from __future__ import annotations

from math import inf

from hocket.base.units import format_count
from hocket.judging.context import Job, carried_share, usual_rate_of
from hocket.judging.fabrics import FABRICS, fitting_fabrics
from hocket.judging.finding import Finding, conclude
from hocket.judging.mention import Mentions

NORMAL_SHARE = 0.85
"""So much of the least usual bandwidth still passes as normal: sizes may be too small, and runs differ."""
_FAST_FACTOR = 1.1
_AVERAGE_SHARE = 0.5
_MOST_NAMES = 4
_ROUNDING_FACTOR = 1.05
_CARDS_OF_NODES = (1, 2, 4, 8)
_WITHIN_NODES = ("nvlink", "xgmi", "pcie", "shm")
_OF_GPUS = ("nvlink", "xgmi", "pcie")
_BETWEEN_NODES = ("tcp", "rdma", "efa", "slingshot", "omni-path")


def bandwidth_verdict(
    bus_bytes_per_s: float, job: Job, start: str, source: str = "", *, is_average: bool = False
) -> Finding:
    """Return the verdict on a bus bandwidth."""
    expected, share = usual_rate_of(job), carried_share(job)
    low, high = (0.0, inf) if expected is None else (expected.lowest_bytes_per_s, expected.highest_bytes_per_s)
    if expected is None or (bus_bytes_per_s >= NORMAL_SHARE * low and high == inf):
        return _fit(bus_bytes_per_s, job, start, source)
    usual = f"{low / 1e9:.3g}{'' if high == inf else f' to {high / 1e9:.3g}'} GB/s is usual for {expected.what}"
    if bus_bytes_per_s > _FAST_FACTOR * high:
        # nodes may combine data before they send it
        if share is not None and bus_bytes_per_s * share <= _FAST_FACTOR * high:
            return conclude("tree", source=source, start=start, usual=usual, bytes_per_s=bus_bytes_per_s * share)
        return conclude("high bandwidth", source=source, start=start, usual=usual)
    if bus_bytes_per_s >= NORMAL_SHARE * low:
        return conclude("usual bandwidth", source=source, start=start, usual=usual)
    if is_average and bus_bytes_per_s >= _AVERAGE_SHARE * low:
        return conclude("average", source=source, start=start, usual=usual)
    return conclude("low bandwidth", source=source, start=start, usual=usual, factor=low / bus_bytes_per_s)


def _fit(bus_bytes_per_s: float, job: Job, start: str, source: str) -> Finding:
    """Return which fabrics a bus bandwidth fits, where the machine is not known."""
    between = (job.net,) if job.is_one_node is False and job.net else _BETWEEN_NODES
    possible = {True: _WITHIN_NODES, False: between, None: (*_WITHIN_NODES, *between)}[job.is_one_node]
    others = _OF_GPUS if job.is_of_cpus else () if "MI" in job.gpu_name else ("xgmi",)
    kinds = tuple(kind for kind in possible if kind not in others)
    names = [
        fabric.name
        for fabric in fitting_fabrics(bus_bytes_per_s, kinds)
        if fabric.kind in _WITHIN_NODES or job.cards in (None, 1)
    ]
    if job.is_one_node is not True and job.net in ("", "rdma"):
        names = [*(name for name in names if "InfiniBand" not in name), *_cards_that_fit(bus_bytes_per_s, job.cards)]
    if names:
        fabrics_in_words = ", or ".join(names[:_MOST_NAMES])
        return conclude("bandwidth of fabrics", source=source, start=start, fabrics=fabrics_in_words)
    below = [one for one in FABRICS if one.kind in kinds and one.highest_bytes_per_s < bus_bytes_per_s]
    if not below:
        return conclude("bandwidth of no fabric", source=source, start=start)
    nearest = max(below, key=lambda one: one.highest_bytes_per_s)
    return conclude("bandwidth above a fabric", source=source, start=start, fabric=nearest.name)


def _cards_that_fit(bus_bytes_per_s: float, cards: int | None) -> list[str]:
    """Return the numbers and classes of InfiniBand or RoCE cards of a node that have a bus bandwidth."""
    return [
        f"{format_count(count, 'card')} of {fabric.name}"
        for fabric in reversed(FABRICS)
        for count in ([cards] if cards else _CARDS_OF_NODES)
        if fabric.kind == "rdma"
        and NORMAL_SHARE * fabric.lowest_bytes_per_s
        <= bus_bytes_per_s / count
        <= _ROUNDING_FACTOR * fabric.highest_bytes_per_s
    ]


def unknowns_of(job: Job, mentions: Mentions, verdict: Finding) -> list[Finding]:
    """Return what the text does not tell, and what it states in two ways."""
    others = [Finding("unknown", sentence, "ranks") for sentence in mentions.disagreements]
    if verdict.kind != "unknown":
        return others
    if job.is_one_node is None:
        others.append(conclude("nodes not told"))
    if job.is_one_node is not True and (job.card is None or job.cards is None) and job.sockets is None:
        others.append(conclude("cards not told"))
    if job.is_one_node is not False and not job.gpu_name and not job.is_of_cpus:
        others.append(conclude("GPUs not told"))
    return others
