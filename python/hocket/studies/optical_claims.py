"""The claims of the paper on collectives on optical circuits, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hocket.studies.study import Claim, Rows, judge

__all__ = ["judged"]

_FIGURES = ("linear", "ring", "recursive_doubling", "binomial")


def judged(data: Mapping[str, Rows]) -> list[Claim]:
    """Judge the claims by the data there are."""
    claims: list[Claim] = []
    drawn = [row for name in _FIGURES if name in data for row in data[name]]
    if drawn:
        claims.append(_equations(drawn))
    if "linear" in data:
        claims.append(_linear(data["linear"]))
    if "ring" in data:
        claims.append(_ring(data["ring"]))
    if "recursive_doubling" in data:
        claims.append(_doubling(data["recursive_doubling"]))
    if "table_4" in data:
        claims += _table_4(data["table_4"])
    return claims


def _times(rows: Rows, curve: str) -> list[float]:
    return [row["time_s"] for row in rows if row["curve"] == curve]


def _equations(rows: Rows) -> Claim:
    worst = max(abs(row["time_s"] / row["model_s"] - 1) for row in rows)
    return judge(
        "Figures 6 to 9 are equations (1) to (8)",
        "by definition",
        f"simulated: at most {worst:.1g} off",
        worst < 1e-9,
        "no skew, all ports free, one collective alone",
    )


def _linear(rows: Rows) -> Claim:
    gains = [slow / fast for slow, fast in zip(_times(rows, "naive"), _times(rows, "2 ports"), strict=True)]
    return judge(
        "Linear: at least about twice as fast as naive",
        "about 2x",
        f"{gains[0]:.2f}x at 1 B with 2 ports, {gains[-1]:.2f}x at 1 MB",
        max(gains) > 1.9,
        "31 set-ups against 16: never more than 31/16, and less the longer the messages",
    )


def _ring(rows: Rows) -> Claim:
    least_s = min(_times(rows, "naive"))
    return judge(
        "Ring: naive takes more than 0.6 s, at any size",
        "> 0.6 s",
        f"{least_s:.3f} s at 1 B",
        least_s > 0.6,
        "62 set-ups; one where connections are kept",
    )


def _doubling(rows: Rows) -> Claim:
    three, four = _times(rows, "3 ports"), _times(rows, "4 ports")
    return judge(
        "Recursive doubling: 3 ports are as good as 4",
        "equal",
        "equal" if three == four else f"{max(a / b for a, b in zip(three, four, strict=True)):.3f}",
        three == four,
        "5 steps make two batches of either",
    )


def _table_4(rows: Rows) -> list[Claim]:
    return [
        *(_predicted(rows, release, "blocks", "even") for release in ("waited", "merged")),
        *(_predicted(rows, "waited", "forwarding", "even"), _predicted(rows, "waited", "blocks", "traced")),
    ]


def _predicted(rows: Rows, release: str, alltoall: str, computing: str) -> Claim:
    found: dict[str, Any] = {
        row["environment"]: row
        for row in rows
        if (row["final_release"], row["alltoall"], row["computing"]) == (release, alltoall, computing)
    }
    worst_s = max(abs(row["time_s"] - row["paper_s"]) for row in found.values())
    return judge(
        f"Table 4: naive, 2, 3, 4 ports; last release {release}, Alltoall by {alltoall}, {computing} computing",
        ", ".join(f"{row['paper_s']:.2f}" for row in found.values()) + " s",
        ", ".join(f"{row['time_s']:.2f}" for row in found.values()) + " s",
        worst_s < 0.01,
        _WHY[release] if computing == "even" else "ranks that come late find their connections set up",
    )


_WHY = {
    "waited": "17 calls wait for 5, 3, 3, 2 reconfigurations of 10 ms: their batches, and the last release",
    "merged": "17 calls wait for 4, 2, 2, 1, as (6) and (8) have it",
}
