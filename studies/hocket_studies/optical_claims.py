"""The claims of the paper on collectives on optical circuits, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hocket_studies.study import Claim, Rows, judge

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
    return Claim(
        "Linear: at least about twice as fast as naive",
        "about 2x",
        f"{gains[0]:.2f}x at 1 B with 2 ports, {gains[-1]:.2f}x at 1 MB",
        "on a cut" if gains[0] > 1.9 else "no",
        "short messages: 31 set-ups against 16 are 31/16 at most, and matter less the longer the messages",
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
    worst = max(abs(a / b - 1) for a, b in zip(_times(rows, "3 ports"), _times(rows, "4 ports"), strict=True))
    return judge(
        "Recursive doubling: 3 ports are as good as 4",
        "equal",
        "equal" if worst < 1e-12 else f"{worst:.1%} apart",
        worst < 1e-12,
        "5 steps make two batches of either",
    )


def _table_4(rows: Rows) -> list[Claim]:
    return [
        *(_predicted(rows, release, "blocks", "even") for release in ("waited", "merged")),
        *(_predicted(rows, "waited", "forwarding", "even"), _predicted(rows, "waited", "blocks", "traced")),
        _on_demand(rows),
    ]


def _reading(rows: Rows, release: str, alltoall: str, computing: str) -> dict[str, Mapping[str, Any]]:
    wanted = (release, alltoall, computing)
    chosen = (row for row in rows if (row["final_release"], row["alltoall"], row["computing"]) == wanted)
    return {row["environment"]: row for row in chosen}


def _predicted(rows: Rows, release: str, alltoall: str, computing: str) -> Claim:
    reading = _reading(rows, release, alltoall, computing)
    found = [reading[name] for name in ("1 port", "2 ports", "3 ports", "4 ports")]
    return judge(
        f"Table 4: 1 port (naive), 2, 3, 4; last release {release}, Alltoall by {alltoall}, {computing} computing",
        ", ".join(f"{row['paper_s']:.2f}" for row in found) + " s",
        ", ".join(f"{row['time_s']:.2f}" for row in found) + " s",
        max(abs(row["time_s"] - row["paper_s"]) for row in found) < 0.01,
        _WHY[release] if computing == "even" else "a call ends when the ranks that come late have disconnected, too",
    )


def _on_demand(rows: Rows) -> Claim:
    reading = _reading(rows, "waited", "blocks", "even")
    naive, ahead = reading["naive"], reading["1 port"]
    return judge(
        "Table 4: naive, each message asking for itself",
        f"{naive['paper_s']:.2f} s",
        f"{naive['time_s']:.2f} s",
        abs(naive["time_s"] - naive["paper_s"]) < 0.01,
        f"{naive['set_ups']} set-ups, not {ahead['set_ups']}: ranks are not in step after a Reduce: exchanges split",
    )


_WHY = {
    "waited": "17 calls wait for 5, 3, 3, 2 reconfigurations of 10 ms: their batches, and the last release",
    "merged": "17 calls wait for 4, 2, 2, 1, as (6) and (8) have it",
}
