"""The claims of the paper on packet pacing, and what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from hocket_studies.study import Claim, Rows, judge

_MANY = 4096  # nodes of the largest tori of the paper


def judged(data: Mapping[str, Rows]) -> list[Claim]:
    """Judge what the data at hand can say something about."""
    return [*_collapse_claims(data), *_speed_up_claims(data), *_best_gap_claims(data), *_condition_claims(data)]


def _unpaced(rows: Rows) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["gap"] == "0"]


def _collapse_claims(data: Mapping[str, Rows]) -> list[Claim]:
    claim = "Without pacing throughput collapses"
    claims = []
    if rows := data.get("throughput"):
        found = {gap: _share(rows, gap) for gap in ("0", "gp-2")}
        text = f"{found['0']:.2f} of ideal, gp-2 {found['gp-2']:.2f}"
        why = "8x8 without barriers: as steps overlap, gp-2 loses as well, so that little is left to gain"
        claims.append(judge(claim, "fig 1", text, found["0"] < 0.8 * found["gp-2"], why))
    if rows := data.get("torus_2d"):
        text = ", ".join(f"{row['torus']} {row['of_ideal']:.2f}" for row in _unpaced(rows))
        why = "share of the time of busiest links that never idle"
        claims.append(judge(f"{claim}, the more the larger", "-", text, _unpaced(rows)[-1]["of_ideal"] < 0.75, why))
    return claims


def _share(rows: Rows, gap: str) -> float:
    return fmean(row["of_ideal"] for row in rows if row["gap"] == gap)


def _speed_up_claims(data: Mapping[str, Rows]) -> list[Claim]:
    claims = []
    for name, kind, paper in (("torus_2d", "2-D", 1.8), ("torus_3d", "3-D", 1.7)):
        rows = data.get(name)
        if not rows:
            continue
        best = max(rows, key=lambda row: row["speed_up"])
        found = f"{best['speed_up']:.2f} (+- {best['speed_up_stderr']:.2f})"
        why = f"{best['torus']} with {best['gap']}; larger with shift pairing, smaller with buffers of 8 packets: fig 6"
        claim = f"Speed-up up to about {paper} on {kind} tori"
        if rows[-1]["ranks"] < _MANY:
            claims.append(Claim(claim, f"{paper}", found, "not measured", f"needs {_MANY} nodes"))
            continue
        holds = 0.85 * paper <= best["speed_up"] <= 1.15 * paper
        claims.append(judge(claim, f"{paper}", found, holds, why))
    return claims


def _best_gap_claims(data: Mapping[str, Rows]) -> list[Claim]:
    rows = [row for name in ("torus_2d", "torus_3d") for row in data.get(name, ())]
    bests = {torus: _best(rows, torus) for torus in dict.fromkeys(row["torus"] for row in rows)}
    small = {torus: best for torus, best in bests.items() if best["ranks"] <= 64}
    large = {torus: best for torus, best in bests.items() if best["ranks"] >= _MANY}
    why_small = (
        "the two packet times beyond the fair share M_i - 1 cost (M_i + 2) / M_i, which is much where M_i is small"
    )
    why_large = (
        "M_i - 1 or M_i is enough where all start a step together and buffers cover the way there and back; "
        "with buffers of 1 packet, gp+1 is best: fig 6"
    )
    claims = []
    if small:
        holds = all(best["gap"] in ("gp-1", "gp-2") for best in small.values())
        claims.append(judge("Few nodes: gp-1 or gp-2 is best", "gp-1, gp-2", _told(small), holds, why_small))
    if large:
        holds = all(best["gap"] == "gp" for best in large.values())
        claims.append(judge("Many nodes: gp is best", "gp", _told(large), holds, why_large))
    elif rows:
        claims.append(Claim("Many nodes: gp is best", "gp", "-", "not measured", f"needs {_MANY} nodes"))
    return claims


def _condition_claims(data: Mapping[str, Rows]) -> list[Claim]:
    """Say under which conditions gp is the best gap, or as good as the best within two standard errors."""
    rows = data.get("large", ())
    claims = []
    for condition in dict.fromkeys(row["condition"] for row in rows):
        cases = [row for row in rows if row["condition"] == condition]
        bests = {torus: _best(cases, torus) for torus in dict.fromkeys(row["torus"] for row in cases)}
        told = ", ".join(f"{torus}: {row['gap']}, {row['over_gp']:.2f} of gp's speed" for torus, row in bests.items())
        claim = f"Many nodes: gp is best, {condition}"
        many = [row for row in bests.values() if row["ranks"] >= _MANY]
        if not many:
            claims.append(Claim(claim, "gp", told, "not measured", f"needs {_MANY} nodes"))
            continue
        holds = all(row["over_gp"] - 1 <= 2 * row["over_gp_stderr"] for row in many)
        claims.append(judge(claim, "gp", told, holds, f"within two standard errors of the best on {_MANY} nodes"))
    return claims


def _best(rows: Rows, torus: str) -> Mapping[str, Any]:
    return max((row for row in rows if row["torus"] == torus), key=lambda row: row["speed_up"])


def _told(bests: Mapping[str, Mapping[str, Any]]) -> str:
    return ", ".join(f"{torus}: {best['gap']}" for torus, best in bests.items())
