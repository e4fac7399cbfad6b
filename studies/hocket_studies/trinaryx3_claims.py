"""The claims of the paper on Trinaryx3, and what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hocket.base.units import format_bytes
from hocket_studies.study import Claim, Rows, judge
from hocket_studies.trinaryx3_model import trinaryx3_broadcast_s, trinaryx3_reduce_s
from hocket_studies.trinaryx3_pictures import best

GIB = 1 << 30
_PEAK_BYTES_PER_S = 15e9
"""Three directions of a node; with 20 GB/s for four, 7.1 GB/s are 47 % of it, as the paper says."""
_NEAR = 0.1
"""How near a value has to come, as a part of the paper's."""


def judged(data: Mapping[str, Rows]) -> list[Claim]:
    """Judge what the data at hand can say something about."""
    judges = {
        "bandwidth": (_bandwidth_claims, _short_claims, _fastest_claims),
        "links": (_link_claims,),
        "breakdown": (_breakdown_claims, _ratio_claims),
        "model": (_model_claims,),
        "segments": (_segment_claims,),
        "ring": (_ring_claims,),
        "waiting": (_waiting_claims,),
        "beyond": (_beyond_claims,),
        "check": (_check_claims,),
    }
    return [claim for name, judges_of in judges.items() if name in data for of in judges_of for claim in of(data[name])]


def _is_near(value: float, paper: float, near: float = _NEAR) -> bool:
    return abs(value / paper - 1) <= near


def _of(rows: Rows, **columns: Any) -> list[Mapping[str, Any]]:
    return [row for row in rows if all(row[name] == value for name, value in columns.items())]


def _gb_per_s(row: Mapping[str, Any]) -> float:
    return float(row["bandwidth_bytes_per_s"]) / 1e9


def _bandwidth_claims(rows: Rows) -> list[Claim]:
    largest = max(row["size_bytes"] for row in rows)
    found = {row["algorithm"]: row for row in _of(rows, size_bytes=largest)}
    trees, ring = found["trinaryx3"], found["ring"]
    value, ratio = _gb_per_s(trees), _gb_per_s(trees) / _gb_per_s(ring)
    where = f"{format_bytes(largest)} on {trees['torus']}, {trees['how']}"
    efficiency = value * 1e9 / _PEAK_BYTES_PER_S
    too_fast = "; it sends and receives at a time, overlaps nothing with its reduction, and meets nobody: see fig 18"
    return [
        judge("Best bandwidth of Trinaryx3", "7.1 GB/s", f"{value:.2f} GB/s", _is_near(value, 7.1), where),
        judge(
            "Best bandwidth of the ring, one port",
            "1.4 GB/s",
            f"{_gb_per_s(ring):.2f} GB/s",
            _is_near(_gb_per_s(ring), 1.4),
            ring["how"] + too_fast,
        ),
        judge("Trinaryx3 over the ring", "5.1", f"{ratio:.1f}", _is_near(ratio, 5.1), "because of the ring"),
        judge("Efficiency", "47 %", f"{efficiency:.0%}", _is_near(efficiency, 0.47), "of 15 GB/s in three directions"),
    ]


def _short_claims(rows: Rows) -> list[Claim]:
    algorithms = ("recursive_doubling", "trinaryx3")
    times = {name: {row["size_bytes"]: row["time_s"] for row in _of(rows, algorithm=name)} for name in algorithms}
    doubling_s, trees_s = (times[name] for name in algorithms)
    wins = [size for size in doubling_s if doubling_s[size] < trees_s[size]]
    told = f"up to {format_bytes(max(wins))}" if wins else "nowhere"
    where = "of the sizes that were tried; the next one is Trinaryx3's"
    ring = [row for row in _of(rows, algorithm="ring") if row["size_bytes"] <= 1 << 19]
    gained = max(_gb_per_s(row) for row in ring)
    torus = rows[0]["torus"]
    ranks = math.prod(map(int, torus.split("x")))
    height = sum(map(int, torus.split("x"))) - 2
    hops = ranks.bit_length() - 1 + 2 * (ranks & (ranks - 1) != 0)
    return [
        judge("Recursive doubling wins short messages", "fig 12", told, bool(wins) and 16 in wins, where),
        judge(
            "The ring does not gain bandwidth at a few hundred KiB",
            "fig 11",
            f"{gained:.3f} GB/s",
            gained < 0.1,
            f"P = {ranks}: its messages are of N / P bytes, and each costs L; so it depends on P",
        ),
        judge(
            "Pipeline depth of recursive doubling and of Trinaryx3",
            "15, 168",
            f"{hops}, {2 * height}",
            (hops, 2 * height) == (15, 168),
            f"floor(log2 P) + 2 and 2 (X + Y + Z - 2) on {torus}",
        ),
    ]


_OF_THE_PAPER = ("recursive_doubling", "ring", "trinaryx3")


def _fastest_claims(rows: Rows) -> list[Claim]:
    everyone = tuple(dict.fromkeys(row["algorithm"] for row in rows))
    theirs, all_ranges = _fastest(rows, _OF_THE_PAPER), _fastest(rows, everyone)
    holds = theirs[-1][0] == "trinaryx3" and len(theirs) == 2
    why = "of all that were tried: " + _told(all_ranges)
    return [judge("Trinaryx3 is fastest for medium and long messages", "figs 10, 11", _told(theirs), holds, why)]


def _fastest(rows: Rows, algorithms: tuple[str, ...]) -> list[tuple[str, int, int]]:
    """Return which algorithms are fastest, and from which size to which."""
    ranges: list[tuple[str, int, int]] = []
    for size in sorted({row["size_bytes"] for row in rows}):
        among = [row for row in _of(rows, size_bytes=size) if row["algorithm"] in algorithms]
        first = min(among, key=lambda row: float(row["time_s"]))["algorithm"]
        if ranges and ranges[-1][0] == first:
            size_first = ranges.pop()[1]
            ranges.append((first, size_first, size))
        else:
            ranges.append((first, size, size))
    return ranges


def _told(ranges: list[tuple[str, int, int]]) -> str:
    return ", ".join(f"{name} {format_bytes(first)} to {format_bytes(last)}" for name, first, last in ranges)


_LINKS = {
    "recursive_doubling": (
        "36 %",
        0.36,
        0.05,
        "counted are 6 links a node, Tofu has 10; ranks numbered otherwise: more",
    ),
    "trinaryx3": ("0.89 %", 0.0, 0.01, "no link has two senders: what waits is behind a segment of its own sender"),
}
"""The paper's share, the share that would confirm it and how near, and the reason."""


def _link_claims(rows: Rows) -> list[Claim]:
    claims = []
    for algorithm, (paper, share, margin, reason) in _LINKS.items():
        rendezvous, eager = (_of(rows, algorithm=algorithm, protocol=name)[0] for name in ("rendezvous", "eager"))
        found = rendezvous["waited_share"]
        why = f"of {rendezvous['links']} links on {rendezvous['torus']}; eager: {eager['waited_share']:.1%}; {reason}"
        claim = f"Links that waited at 1 MiB: {algorithm}"
        claims.append(judge(claim, paper, f"{found:.1%}", abs(found - share) <= margin, why))
    return claims


def _breakdown_claims(rows: Rows) -> list[Claim]:
    proposal = next(row for row in rows if row["kind"] == "proposal")
    reduce_s, both_s = proposal["reduce_s"], proposal["reduce_s"] + proposal["broadcast_s"]
    shares = [proposal["computation_s"] / of for of in (reduce_s, both_s)]
    why = f"N / BWo over the time, {format_bytes(GIB)} on {proposal['torus']}, {proposal['how']}"
    return [
        judge("Computation, as a part of reduce", "80 %", f"{shares[0]:.0%}", _is_near(shares[0], 0.8), why),
        judge("Computation, as a part of allreduce", "54 %", f"{shares[1]:.0%}", _is_near(shares[1], 0.54), why),
    ]


def _ratio_claims(rows: Rows) -> list[Claim]:
    times = {row["kind"]: (row["reduce_s"], row["reduce_s"] + row["broadcast_s"]) for row in rows}
    claims = []
    why = (
        "the closed forms say 1.8 and 1.5; a thread that serves three trees as they come lets some of them fall behind"
    )
    for index, (name, paper) in enumerate((("reduce", 1.80), ("allreduce", 1.54))):
        ratio = times["no-opt"][index] / times["proposal"][index]
        claim = f"Reduction 1.97 times slower: {name} slower by"
        claims.append(judge(claim, f"{paper:.2f}", f"{ratio:.2f}", _is_near(ratio, paper), why))
    ideal = next(row for row in rows if row["kind"] == "ideal")
    ratio = ideal["reduce_s"] / ideal["broadcast_s"]
    claim = "Without computation reduce takes as long as broadcast"
    claims.append(judge(claim, "fig 13", f"{ratio:.2f}", _is_near(ratio, 1), "reduce over broadcast"))
    return claims


def _model_claims(rows: Rows) -> list[Claim]:
    k_computer = {"height_links": 84, "latency_s": 1.27e-6, "link_bytes_per_s": 11.6e9 / 3}
    forms = {
        "broadcast": (0.0941, 1.04, float(trinaryx3_broadcast_s(GIB, 1 << 16, **k_computer))),
        "reduce": (0.193, 1.06, float(trinaryx3_reduce_s(GIB, 48 << 10, **k_computer, reduce_bytes_per_s=6.58e9))),
    }
    claims = []
    for name, (paper_s, paper_ratio, form_s) in forms.items():
        number = {"broadcast": 3, "reduce": 4}[name]
        told = f"{form_s * 1e3:.1f} ms"
        claim = f"Closed form ({number}) of 1 GiB"
        claims.append(judge(claim, f"{paper_s * 1e3:g} ms", told, _is_near(form_s, paper_s, 0.005), "48x6x32"))
        row = _of(rows, collective=name, size_bytes=GIB)[0]
        why = f"{row['torus']}, {row['how']}; a receiver asks for one segment at a time: L is not hidden in a broadcast"
        ratio = row["over_model"]
        claim = f"{name.capitalize()} over its closed form, 1 GiB"
        claims.append(judge(claim, f"{paper_ratio:.2f}", f"{ratio:.3f}", _is_near(ratio, paper_ratio), why))
    return claims


def _segment_claims(rows: Rows) -> list[Claim]:
    claims = []
    for collective in ("reduce", "broadcast"):
        found = sorted(_of(best(rows), collective=collective), key=lambda row: int(row["size_bytes"]))
        segments = [row["segment_bytes"] for row in found]
        told = ", ".join(f"{format_bytes(row['size_bytes'])}: {format_bytes(row['segment_bytes'])}" for row in found)
        claim = f"Best segment of {collective} grows with the message"
        why = f"of 1 to 64 KiB, on {found[0]['torus']}"
        claims.append(judge(claim, "1 to 64 KiB", told, segments == sorted(segments) and len(set(segments)) > 1, why))
    return claims


def _ring_claims(rows: Rows) -> list[Claim]:
    found = {row["case"]: _gb_per_s(row) for row in _of(rows, how="formula")}
    told = ", ".join(f"{case}: {value:.2f}" for case, value in found.items())
    why = f"GB/s at 1 GiB on {rows[-1]['torus']}, by formula; the paper says that messages and computation take turns"
    nearest = min(found, key=lambda case: abs(found[case] - 1.4))
    holds = _is_near(found[nearest], 1.4)
    return [judge(f"1.4 GB/s of the ring need: {nearest}", "1.4 GB/s", told, holds, why)]


def _waiting_claims(rows: Rows) -> list[Claim]:
    stated = rows[0]
    physical = [row["of_all"] for row in _of(rows, varied="six axes")]
    told = (
        f"six axes: {min(physical):.1%} to {max(physical):.1%}, by numbering and routes; three: {stated['of_all']:.1%}"
    )
    holds = min(physical) <= 0.36 <= max(physical)
    why = "a job's torus lies in a network of six axes, whose links the controllers count; see fig 20"
    if stated["torus"] != "48x6x32":
        return [Claim("36 % of links waited: which links they are", "36 %", told, "not measured", "needs 48x6x32")]
    return [judge("36 % of links waited: which links they are", "36 %", told, holds, why)]


def _beyond_claims(rows: Rows) -> list[Claim]:
    claims = []
    for ports in (4, 6):
        cases = _of(rows, torus=rows[0]["torus"], reduction=8, ports=ports)
        times = {row["algorithm"]: row for row in cases}
        trees, overlapped = times["trinaryx3"], times["trinaryx3_overlapped"]
        ratio = trees["time_s"] / overlapped["time_s"]
        told = f"{ratio:.2f}; of the bound: " + ", ".join(f"{row['algorithm']} {row['of_bound']:.0%}" for row in cases)
        why = f"reduction 8 times as fast, {trees['torus']}, {overlapped['how']}" + (
            "; 4 links at a time instead of 3 are 4 / 3, the rest is what Trinaryx3 idles: see the page"
            if ports == 4
            else ""
        )
        claim = f"Overlapped at least 1.5 times Trinaryx3 at 1 GiB, {ports} ports"
        claims.append(judge(claim, "-", told, ratio >= 1.5, why))
    return claims


def _check_claims(rows: Rows) -> list[Claim]:
    estimates = {
        "Extrapolated times are right to 1 %": [row for row in rows if row["from"] != "formula"],
        "The formula of the ring is right to 1 %": _of(rows, **{"from": "formula"}),
    }
    claims = []
    for claim, estimated in estimates.items():
        worst = max(estimated, key=lambda row: abs(float(row["error"])))
        why = f"{worst['algorithm']}, 1 GiB simulated in full on {worst['torus']}, and {worst['from']}"
        claims.append(judge(claim, "-", f"{worst['error']:+.2%}", abs(worst["error"]) < 0.01, why))
    return claims
