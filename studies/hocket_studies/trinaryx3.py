"""Trinaryx3 on the K computer: figures 10 to 14 and the claims, and what goes beyond them.

Reading. Machine `k_computer`: links of 11.6/3 GB/s, 4 ports per node, one thread that takes 1.27 us to prepare a
message and combines 6.58 GB/s. Bandwidth is 2 N / T. Trinaryx3 takes the segment, a power of two from 1 KiB to 64 KiB,
that is best by the closed forms; one for both halves. Ring has one port, and its ranks are numbered along x, then y,
then z. The model has no noise, so every number is exact for it, and there are no trials.

With a given segment the time of a long pipeline grows by the same time with every segment. Messages of more segments
than a scope allows are not simulated: two with fewer segments are, and the column `how` says so. Figure 19 compares
that with simulations of the whole message, and the formula of the ring with a simulation of it. The scope `full` does
so on the torus of the K computer, and figures 10 to 12 then have 1 GiB as it was simulated.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from statistics import mean, stdev
from typing import Any

from hocket.base.call import Call
from hocket.base.parallel import do_all
from hocket.definitions.library import find
from hocket.definitions.machine import Machine
from hocket.simulating.simulation import Simulation, simulate
from hocket_studies import trinaryx3_pictures as pictures
from hocket_studies.study import Figure, Rows, Scope, Study, Work
from hocket_studies.trinaryx3_claims import judged
from hocket_studies.trinaryx3_model import trinaryx3_broadcast_s, trinaryx3_reduce_s
from hocket_studies.trinaryx3_ring import blocking_ring
from hocket_studies.trinaryx3_waiting import Case, cases, shares

MACHINE = "k_computer"
TRINARYX3 = "allreduce/trinaryx3"
OVERLAPPED = "allreduce/trinaryx3_overlapped"
DOUBLING = "allreduce/recursive_doubling"
RING = "allreduce/ring"
BUCKET = "allreduce/torus_bucket"
SWING = "allreduce/swing_torus"

GIB = 1 << 30
MIB = 1 << 20
SEGMENTS = tuple(1 << k for k in range(10, 17))
"""The segments that were tried on the K computer, 1 KiB to 64 KiB."""
PAPER_SEGMENTS = {"broadcast": 1 << 16, "reduce": 48 << 10}
"""Those of 1 GiB there."""
UNOPTIMISED = 1.97
"""How much slower the reduction is that the compiler does not optimise."""
_ELEMENT_BYTES = 8  # MPI_DOUBLE
_SIZES = tuple(16 * 4**k for k in range(14))

_BASE = Machine.load(MACHINE)
LINK_BYTES_PER_S: float = _BASE.quantities["network.link_bandwidth_bytes_per_s"]
LATENCY_S: float = _BASE.quantities["node.software_latency_s"]
REDUCE_BYTES_PER_S: float = _BASE.quantities["node.reduce_bandwidth_bytes_per_s"]

Torus = tuple[int, int, int]


@dataclass(frozen=True)
class _Reach:
    """How far a scope goes: its torus, one with powers of two of nodes along each axis, and segments per tree."""

    torus: Torus
    power_of_two: Torus
    checked: Torus
    most_segments: int
    is_whole: bool = False
    """Whether 1 GiB is simulated as a whole in figures 10 and 18, too: figure 19 takes these simulations."""


_REACH = {
    "quick": _Reach((12, 4, 8), (16, 4, 8), (6, 4, 4), 96),
    "default": _Reach((12, 4, 8), (16, 4, 8), (12, 4, 8), 768),
    "full": _Reach((48, 6, 32), (64, 4, 32), (48, 6, 32), 320, is_whole=True),
}
_MOST_RANKS_OF_RING = 1024
"""A ring of more ranks sends too many messages for every size: 2 P (P - 1)."""


@dataclass(frozen=True)
class Run:
    """A call on a torus.

    Attributes:
        algorithm: Its label.
        torus: Nodes along each axis.
        size_bytes: The message.
        segment: Bytes per segment, where the algorithm has them.
        changes: Keys of the machine file that differ from the preset's.
    """

    algorithm: str
    torus: Torus
    size_bytes: int
    segment: int | None = None
    changes: tuple[tuple[str, Any], ...] = ()

    @property
    def ranks(self) -> int:
        """Number of nodes."""
        return math.prod(self.torus)


def machine(torus: Torus, changes: Mapping[str, Any]) -> Machine:
    """Return the K computer with a torus of this size, and some keys changed or added."""
    text = _BASE.text
    for key, value in {"dims": list(torus), **changes}.items():
        line = f"{key} = {json.dumps(value)}"
        known = re.subn(rf"(?m)^{key} = .*$", line, text)
        section = "[node]" if key == "copy_bandwidth" else "[network]"
        text = known[0] if known[1] else text.replace(section, f"{section}\n{line}")
    return Machine.parse(text)


@cache
def simulated(run: Run) -> Simulation:
    """Simulate a call."""
    parameters = {} if run.segment is None else {"segment": run.segment}
    call = Call(ranks=run.ranks, size_bytes=run.size_bytes, element_bytes=_ELEMENT_BYTES, parameters=parameters)
    return simulate(run.algorithm, call, machine=machine(run.torus, dict(run.changes)))


def measured(run: Run, most_segments: int) -> tuple[float, str]:
    """Return the time of a call and how it was found: simulated, or extrapolated from fewer segments per tree."""
    if run.segment is None or run.size_bytes <= 3 * run.segment * most_segments:
        return simulated(run).time_s.mean, "simulated"
    sizes = [3 * run.segment * segments for segments in (most_segments * 3 // 4, most_segments)]
    low_s, high_s = (simulated(replace(run, size_bytes=size)).time_s.mean for size in sizes)
    slope_s = (high_s - low_s) / (sizes[1] - sizes[0])
    return high_s + slope_s * (run.size_bytes - sizes[1]), f"extrapolated from {sizes[0]} and {sizes[1]} B"


def ring_s(
    size_bytes: float,
    ranks: int,
    *,
    reduce_bytes_per_s: float,
    simultaneous: bool = True,
    copy_bytes_per_s: float = math.inf,
) -> float:
    """Return the time of a ring whose neighbours do not disturb each other.

    A rank sends and receives at a time, or, if not `simultaneous`, one after the other; each chunk that it sends, and
    each that it gets to keep, is copied once, where copies take time.
    """
    chunk_bytes = size_bytes / ranks
    message_s = (LATENCY_S + chunk_bytes / LINK_BYTES_PER_S) * (1 if simultaneous else 2)
    return (ranks - 1) * (2 * message_s + chunk_bytes / reduce_bytes_per_s + 3 * chunk_bytes / copy_bytes_per_s)


def _model_s(collective: str, size_bytes: float, segment: float, torus: Torus) -> float:
    """Return the time by the closed forms (3) and (4)."""
    height = max(sum(torus) - 2, 0)
    common = {"height_links": height, "latency_s": LATENCY_S, "link_bytes_per_s": LINK_BYTES_PER_S}
    if collective == "broadcast":
        return float(trinaryx3_broadcast_s(size_bytes, segment, **common))
    return float(trinaryx3_reduce_s(size_bytes, segment, **common, reduce_bytes_per_s=REDUCE_BYTES_PER_S))


def _segment(size_bytes: int, torus: Torus) -> int:
    """Return the best segment for an allreduce by the closed forms, of those that were tried on the K computer."""
    both = ("reduce", "broadcast")
    return min(SEGMENTS, key=lambda segment: sum(_model_s(half, size_bytes, segment, torus) for half in both))


def _sizes(scope: Scope, least: int = 0) -> tuple[int, ...]:
    sizes = [size for size in _SIZES if size >= least]
    count = min(scope.points, len(sizes))
    return tuple(sizes[round(i * (len(sizes) - 1) / max(count - 1, 1))] for i in range(count))


def _has_segments(algorithm: str) -> bool:
    return any(parameter.name == "segment" for parameter in find(algorithm).parameters)


def _run(algorithm: str, torus: Torus, size_bytes: int, **changes: Any) -> Run:
    segment = _segment(size_bytes, torus) if _has_segments(algorithm) else None
    return Run(algorithm, torus, size_bytes, segment, tuple(changes.items()))


def _row(run: Run, time_s: float, how: str, **columns: Any) -> dict[str, Any]:
    return {
        "torus": "x".join(map(str, run.torus)),
        "algorithm": run.algorithm.partition("/")[2],
        "size_bytes": run.size_bytes,
        **columns,
        "segment_bytes": run.segment or 0,
        "time_s": time_s,
        "bandwidth_bytes_per_s": 2 * run.size_bytes / time_s,
        "how": how,
    }


_Task = Callable[[], dict[str, Any]]


def _measure(run: Run, scope: Scope, **columns: Any) -> dict[str, Any]:
    return _row(run, *measured(run, _REACH[scope.name].most_segments), **columns)


# Figures 10 to 12: bandwidth and time over the size of the message


def _bandwidth_tasks(scope: Scope) -> list[_Task]:
    reach = _REACH[scope.name]
    tasks: list[_Task] = []
    for size in _sizes(scope):
        is_whole = reach.is_whole and size == GIB
        for algorithm in (TRINARYX3, OVERLAPPED, DOUBLING, "allreduce/rabenseifner", BUCKET):
            run = _run(algorithm, reach.torus, size)
            tasks.append(partial(_whole, run) if is_whole else partial(_measure, run, scope))
        tasks.append(partial(_ring, _ring_run(reach.torus, size), is_whole))
    return tasks


def _whole(run: Run) -> dict[str, Any]:
    return _row(run, simulated(run).time_s.mean, "simulated")


def _ring_run(torus: Torus, size: int) -> Run:
    return _run(RING, torus, size, ports=1)


def _ring(run: Run, is_whole: bool) -> dict[str, Any]:
    return _whole(run) if is_whole or run.ranks <= _MOST_RANKS_OF_RING else _row(run, *_by_formula(run))


def _by_formula(run: Run) -> tuple[float, str]:
    return ring_s(run.size_bytes, run.ranks, reduce_bytes_per_s=REDUCE_BYTES_PER_S), "formula"


# Figure 13: breakdown


_REDUCTIONS = {"ideal": math.inf, "proposal": 1.0, "no-opt": 1 / UNOPTIMISED}
"""How fast the reduction is, as a part of the optimised one."""


def _breakdown_tasks(scope: Scope) -> list[_Task]:
    return [partial(_breakdown, kind, scope) for kind in _REDUCTIONS]


def _reduce_bandwidth(factor: float) -> str:
    return f"{min(REDUCE_BYTES_PER_S * factor, 1e18):.0f} B/s"


def _breakdown(kind: str, scope: Scope) -> dict[str, Any]:
    factor, reach = _REDUCTIONS[kind], _REACH[scope.name]
    changes = (("reduce_bandwidth", _reduce_bandwidth(factor)),)
    runs = {
        half: Run(f"{half}/trinaryx3", reach.torus, GIB, segment, changes) for half, segment in PAPER_SEGMENTS.items()
    }
    found = {half: measured(run, reach.most_segments) for half, run in runs.items()}
    row = {"torus": "x".join(map(str, reach.torus)), "kind": kind, "size_bytes": GIB}
    times = {f"{half}_s": time_s for half, (time_s, _) in found.items()}
    return {**row, **times, "computation_s": GIB / REDUCE_BYTES_PER_S / factor, "how": found["reduce"][1]}


# Figure 14: the best segment


def _segment_tasks(scope: Scope) -> list[_Task]:
    torus = _REACH[scope.name].torus
    sizes = _sizes(replace(scope, points=min(scope.points, 6)), least=1024)
    return [
        partial(_half, collective, Run(f"{collective}/trinaryx3", torus, size, segment), scope)
        for collective in ("reduce", "broadcast")
        for size in sizes
        for segment in SEGMENTS
        if segment <= max(size, SEGMENTS[0])
    ]


def _half(collective: str, run: Run, scope: Scope) -> dict[str, Any]:
    """Measure one half of an allreduce, beside its closed form."""
    row = _measure(run, scope, collective=collective)
    model_s = _model_s(collective, run.size_bytes, min(run.segment or math.inf, run.size_bytes / 3), run.torus)
    return {**row, "model_s": model_s, "over_model": row["time_s"] / model_s}


# Figure 15: links that wait


def _link_tasks(scope: Scope) -> list[_Task]:
    torus = _REACH["quick" if scope.name == "quick" else "full"].torus
    return [
        partial(_links, _run(algorithm, torus, MIB, protocol=protocol))
        for protocol in ("rendezvous", "eager")
        for algorithm in (DOUBLING, TRINARYX3, OVERLAPPED, BUCKET)
    ]


def _links(run: Run) -> dict[str, Any]:
    found = simulated(run)
    row = _row(run, found.time_s.mean, "simulated", protocol=dict(run.changes)["protocol"])
    if found.links is None:
        return row
    links = found.links
    counts = {"links": links.links, "used": links.used_links, "waited": links.contended_links}
    return {**row, **counts, "waited_share": links.contended_links / links.links, "waiting_s": links.waiting_s}


# Figure 16: the closed forms


def _model_tasks(scope: Scope) -> list[_Task]:
    torus = _REACH[scope.name].torus
    tasks: list[_Task] = []
    for size in (*_sizes(scope, least=1 << 16)[:-1], GIB):
        for collective, segment in PAPER_SEGMENTS.items():
            chosen = segment if size == GIB else _segment(size, torus)
            tasks.append(partial(_half, collective, Run(f"{collective}/trinaryx3", torus, size, chosen), scope))
    return tasks


# Figure 17: beyond the paper


def _beyond_tasks(scope: Scope) -> list[_Task]:
    reach = _REACH[scope.name]
    cases = [(reach.torus, (TRINARYX3, OVERLAPPED, BUCKET)), (reach.power_of_two, (TRINARYX3, OVERLAPPED, SWING))]
    return [
        partial(_beyond, algorithm, torus, factor, ports, scope)
        for torus, algorithms in cases
        for factor in (1, 8)
        for ports in (4, 6)
        for algorithm in algorithms
    ]


def bound_s(size_bytes: float, ranks: int, *, ports: int, reduce_bytes_per_s: float) -> float:
    """Return a time that no allreduce beats: that of its bytes through a node, or of its reduction by a thread.

    On average a node sends 2 N (P - 1) / P bytes at least, over its six links or as many as it has ports, and
    combines N (P - 1) / P bytes.
    """
    share = size_bytes * (ranks - 1) / ranks
    return max(2 * share / (min(ports, 6) * LINK_BYTES_PER_S), share / reduce_bytes_per_s)


def _beyond(algorithm: str, torus: Torus, factor: int, ports: int, scope: Scope) -> dict[str, Any]:
    run = _run(algorithm, torus, GIB, ports=ports, reduce_bandwidth=_reduce_bandwidth(factor))
    row = _measure(run, scope, reduction=factor, ports=ports)
    best_s = bound_s(GIB, run.ranks, ports=ports, reduce_bytes_per_s=REDUCE_BYTES_PER_S * factor)
    return {**row, "bound_s": best_s, "of_bound": best_s / row["time_s"]}


# Figure 18: what decides the ring


@dataclass(frozen=True)
class _Ring:
    """How a ring might work.

    Attributes:
        reduction: How fast the reduction is, as a part of the optimised one.
        in_turn: Whether a rank sends and receives one after the other.
        copied: Whether messages are copied out and in.
        changes: Keys of the machine file that differ.
    """

    reduction: float = 1.0
    in_turn: bool = False
    copied: bool = False
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def copy_bytes_per_s(self) -> float:
        """How fast it copies."""
        return COPY_BYTES_PER_S if self.copied else math.inf


COPY_BYTES_PER_S = 1.5 * REDUCE_BYTES_PER_S
"""A thread's, if its memory is the limit: combining moves three bytes for each byte of an operand, copying two."""
_ANYWHERE = "ranks anywhere on the torus"
_RINGS: Mapping[str, _Ring] = {
    "as stated": _Ring(),
    "four ports": _Ring(changes={"ports": 4}),
    "reduction not optimised": _Ring(1 / UNOPTIMISED),
    "messages copied out and in": _Ring(copied=True),
    "messages copied, reduction not optimised": _Ring(1 / UNOPTIMISED, copied=True),
    "sends and receives in turn": _Ring(in_turn=True),
    "sends and receives in turn, reduction not optimised": _Ring(1 / UNOPTIMISED, in_turn=True),
    "sends and receives in turn, messages copied": _Ring(in_turn=True, copied=True),
    "all three": _Ring(1 / UNOPTIMISED, in_turn=True, copied=True),
    _ANYWHERE: _Ring(changes={"permutation": True}),
}


def _ring_tasks(scope: Scope) -> list[_Task]:
    torus, large = _REACH["quick"].torus, _REACH["full"].torus
    whole = [name for name, ring in _RINGS.items() if scope.name == "full" and not (ring.in_turn or ring.copied)]
    return [
        *(partial(_ring_case, name, torus, scope) for name in _RINGS),
        *(partial(_ring_case, name, large, scope) for name in whole),
        *(partial(_ring_formula, name, large) for name in _RINGS if name not in (_ANYWHERE, *whole)),
    ]


def _ring_case(name: str, torus: Torus, scope: Scope) -> dict[str, Any]:
    ring, changes = _RINGS[name], {"ports": 1, **_RINGS[name].changes}
    if "permutation" in changes:
        changes["permutation"] = tuple(random.Random(scope.seed).sample(range(math.prod(torus)), math.prod(torus)))
    changes["reduce_bandwidth"] = _reduce_bandwidth(ring.reduction)
    run = _run(RING, torus, GIB, **changes)
    if not (ring.in_turn or ring.copied):
        return _row(run, simulated(run).time_s.mean, "simulated", case=name)
    return _row(run, blocking_ring_s(run, in_turn=ring.in_turn, copied=ring.copied), "simulated", case=name)


def blocking_ring_s(run: Run, *, in_turn: bool, copied: bool) -> float:
    """Simulate a ring that copies messages, or sends and receives in turn."""
    parameters = {"in_turn": int(in_turn), "copied": int(copied)}
    call = Call(
        ranks=run.ranks, size_bytes=run.size_bytes, element_bytes=_ELEMENT_BYTES, parameters=parameters, in_place=True
    )
    copying = {"copy_bandwidth": f"{COPY_BYTES_PER_S:.0f} B/s"}
    return simulate(blocking_ring, call, machine=machine(run.torus, {**dict(run.changes), **copying})).time_s.mean


def _ring_formula(name: str, torus: Torus) -> dict[str, Any]:
    ring, run = _RINGS[name], _run(RING, torus, GIB)
    speeds = {"reduce_bytes_per_s": REDUCE_BYTES_PER_S * ring.reduction, "copy_bytes_per_s": ring.copy_bytes_per_s}
    return _row(run, ring_s(GIB, run.ranks, **speeds, simultaneous=not ring.in_turn), "formula", case=name)


# Figure 19: extrapolation, and the ring's formula


def _check_tasks(scope: Scope) -> list[_Task]:
    reach = _REACH[scope.name]
    trees = (Run(algorithm, reach.checked, GIB, SEGMENTS[-1]) for algorithm in (TRINARYX3, OVERLAPPED))
    ring = _ring_run(reach.checked, GIB)
    return [
        *(partial(_check, run, partial(measured, run, reach.most_segments)) for run in trees),
        partial(_check, ring, partial(_by_formula, ring)),
    ]


def _check(run: Run, estimate: Callable[[], tuple[float, str]]) -> dict[str, Any]:
    estimated_s, how = estimate()
    row = _whole(run)
    return {**row, "estimated_s": estimated_s, "from": how, "error": estimated_s / row["time_s"] - 1}


# Figure 20: what decides how many links wait


def _waiting_tasks(scope: Scope) -> list[_Task]:
    torus = _REACH["quick" if scope.name == "quick" else "full"].torus
    return [partial(_waiting, case, torus) for case in cases(torus)]


def _waiting(case: Case, torus: Torus) -> dict[str, Any]:
    """Count the links that recursive doubling makes wait, on average over the placements of a case."""
    call = Call(ranks=case.ranks or math.prod(torus), size_bytes=case.size_bytes, element_bytes=_ELEMENT_BYTES)
    runs = [simulate(DOUBLING, call, machine=machine(torus, keys), keep=["links"]) for keys in case.machine_changes()]
    found = [shares(case, run.link_uses, LINK_BYTES_PER_S) for run in runs]
    columns = {name: mean(each[name] for each in found) for name in found[0]}
    of_all = [each["of_all"] for each in found]
    return {
        "torus": "x".join(map(str, torus)),
        "varied": case.varied,
        "value": case.value,
        "size_bytes": case.size_bytes,
        **columns,
        "of_all_stderr": stdev(of_all) / math.sqrt(len(of_all)) if len(of_all) > 1 else 0.0,
        "placements": len(found),
        "time_s": mean(run.time_s.mean for run in runs),
        "how": "simulated",
    }


_TASKS: Mapping[str, Callable[[Scope], Sequence[_Task]]] = {
    "bandwidth": _bandwidth_tasks,
    "breakdown": _breakdown_tasks,
    "segments": _segment_tasks,
    "links": _link_tasks,
    "model": _model_tasks,
    "beyond": _beyond_tasks,
    "ring": _ring_tasks,
    "check": _check_tasks,
    "waiting": _waiting_tasks,
}


def _do(task: _Task) -> dict[str, Any]:
    return task()


def _compute(data: str, scope: Scope, work: Work) -> Rows:
    return do_all(_do, _TASKS[data](scope), executor=work.executor, on_done=lambda *_: work.on_done())


STUDY = Study(
    title="Trinaryx3 allreduce on the K computer",
    figures=(
        Figure(10, "Bandwidth over message size", "bandwidth", pictures.bandwidths(GIB)),
        Figure(11, "Bandwidth over message size, to 32 MiB", "bandwidth", pictures.bandwidths(32 * MIB)),
        Figure(12, "Time over message size, to 32 KiB", "bandwidth", pictures.times(32 << 10)),
        Figure(13, "Where the time of 1 GiB goes", "breakdown", pictures.breakdown),
        Figure(14, "Best segment over message size", "segments", pictures.best_segments),
        Figure(15, "Share of links that something waited for, 1 MiB", "links", pictures.waiting),
        Figure(16, "Simulated over closed form", "model", pictures.over_model),
        Figure(17, "Bandwidth of 1 GiB: reduction 8 times as fast, 6 ports", "beyond", pictures.beyond),
        Figure(18, "What decides the ring: bandwidth of 1 GiB", "ring", pictures.rings),
        Figure(19, "Error of extrapolations and of the ring's formula, 1 GiB", "check", pictures.errors),
        Figure(20, "What decides how many links wait, recursive doubling", "waiting", pictures.waited),
    ),
    scopes={
        "quick": Scope("quick", most_ranks_log2=9, points=5, trials=1),
        "default": Scope("default", most_ranks_log2=14, points=14, trials=1),
        "full": Scope("full", most_ranks_log2=14, points=14, trials=1),
    },
    pieces=lambda data, scope: len(_TASKS[data](scope)),
    compute=_compute,
    claims=judged,
)
"""Points are message sizes."""
