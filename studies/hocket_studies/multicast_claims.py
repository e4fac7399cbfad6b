"""The claims of the paper on dynamic multicast, and what was found."""

from __future__ import annotations

from collections.abc import Mapping

from hocket_studies.study import Claim, Rows, judge

TREE, RING, DOUBLING = "binomial", "scatter_ring_allgather", "scatter_doubling_allgather"


def judged(data: Mapping[str, Rows]) -> list[Claim]:
    """Judge the claims by the data there are."""
    claims: list[Claim] = []
    if "evaluation_8mb" in data:
        claims += _long(data["evaluation_8mb"])
    if "evaluation_80kb" in data:
        claims += _short(data["evaluation_80kb"])
    if "in_flight" in data:
        claims.append(_pipelined(data["in_flight"]))
    return claims


def _times(rows: Rows, way: str, algorithm: str, software: str = "calibrated") -> dict[int, float]:
    wanted = (way, algorithm, software)
    return {row["members"]: row["time_s"] for row in rows if (row["way"], row["algorithm"], row["software"]) == wanted}


def _ratios(rows: Rows, base: tuple[str, str], ours: tuple[str, str]) -> list[float]:
    slow, quick = _times(rows, *base), _times(rows, *ours)
    return [slow[members] / quick[members] for members in slow]


def _shown(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def _long(rows: Rows) -> list[Claim]:
    over_tree = _ratios(rows, ("static", TREE), ("multicast", RING))
    over_ring = _ratios(rows, ("static", RING), ("multicast", RING))
    over_doubling = _ratios(rows, ("static", DOUBLING), ("multicast", DOUBLING))
    created = _ratios(rows, ("created", DOUBLING), ("multicast", DOUBLING))
    largest = over_tree[-1]
    return [
        judge(
            "8 MB: faster than MPI_Bcast",
            "about 2x",
            f"{_shown(over_tree)} against a tree, {largest:.2f} on 256",
            1.6 < largest < 2.6,
            "if MPI_Bcast is a binomial tree; r = 8 to 256, calibrated",
        ),
        judge(
            "8 MB: faster than the broadcast that the paper takes MPI_Bcast for",
            "about 2x",
            f"{_shown(over_ring)} against scatter and ring",
            max(over_ring) > 1.6,
            "the same algorithm cannot be twice as fast as itself",
        ),
        judge(
            "8 MB, doubling: nothing lost against a communicator, whether it is there or created",
            "future work",
            f"{_shown(over_doubling)}; {_shown(created)}",
            min(over_doubling) > 0.95,
            "headers cost what creation costs: little beside 8 MB",
        ),
    ]


def _short(rows: Rows) -> list[Claim]:
    static = _ratios(rows, ("static", DOUBLING), ("multicast", RING))
    own_s = _times(rows, "multicast", RING)
    tree = _ratios(rows, ("created", DOUBLING), ("multicast", TREE))
    doubling = _ratios(rows, ("created", DOUBLING), ("multicast", DOUBLING))
    last_s = own_s[max(own_s)]
    return [
        judge(
            "80 KB: slower than MPI_Bcast",
            "slower",
            f"{_shown(static)} of its speed",
            max(static) < 1,
            "scatter and doubling as MPI_Bcast, r = 8 to 256, calibrated",
        ),
        judge(
            "80 KB on 256 nodes",
            "about 1.3 ms",
            f"{last_s * 1e3:.2f} ms",
            abs(last_s - 1.3e-3) < 0.15e-3,
            "the processors' 4.3 us are chosen for this",
        ),
        judge(
            "80 KB: the doubling allgather would repair it",
            "future work",
            f"{_shown(doubling)} of create and broadcast; a tree {_shown(tree)}",
            min(doubling) > 1,
            "calibrated; against doubling over a communicator that is created",
        ),
    ]


def _pipelined(rows: Rows) -> Claim:
    times = {row["multicasts"]: row["time_s"] for row in rows if row["algorithm"] == RING}
    most = max(times)
    speed_up = most * times[1] / times[most]
    return judge(
        "The master begins the next multicast at once: several proceed in a pipeline",
        "stated",
        f"{most} in flight: {speed_up:.1f} times as fast as one after another",
        speed_up > 1.1,
        "80 KB, scatter and ring, groups that overlap, until all are acknowledged",
    )
