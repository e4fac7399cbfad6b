"""Packet pacing for all-to-all on tori: figures 1 to 3, what they depend on, and what goes beyond them.

Source: K. Yoshida, H. Shibamura, K. Inoue, K. Murakami, "Packet injection timing for alltoall communication using
packet pacing".

Reading. The paper gives neither buffers, packets per message, latencies nor how steps are kept apart. Here all-to-all
is pairwise exchange with XOR pairing, 32 packets of 2 KiB a message, input buffers of 2 packets for each of the two
virtual channels, links of 4 GB/s and 100 ns, one port per node, and ties that go in the + direction. Steps are kept
apart by an ideal barrier: each is simulated by itself, from an idle network, and the time of the exchange is P - 1
times their mean. Of large tori a sample of the steps is taken at random, the same for all gaps. The ideal time of a
step is that of its busiest link, M_i messages. gp is G_i = (M_i - 1) + 2; gp-2 is M_i - 1, the link's fair share.
`sensitivity` varies all of this.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import mean, stdev
from typing import Any

from hocket.base.call import Call
from hocket.base.parallel import do_all
from hocket.definitions.machine import Machine
from hocket.simulating.operations import Event
from hocket.simulating.simulation import ONE_TRIAL, Simulation, Trials, simulate
from hocket_studies import pacing_pictures as pictures
from hocket_studies.pacing_claims import judged
from hocket_studies.pacing_steps import StepTime, simulate_step, steps
from hocket_studies.study import Figure, Rows, Scope, Study, Work

EXCHANGE = "alltoall/pairwise_exchange"
LINEAR = "alltoall/linear"
BRUCK = "alltoall/bruck"
GAPS: Mapping[str, str] = {"0": "0", "gp-2": "auto-2", "gp-1": "auto-1", "gp": "auto", "gp+1": "auto+1"}
"""The paper's gaps, and how Hocket calls them."""

_PAIRINGS: Mapping[str, str] = {"xor": "XOR", "shift": "shift"}

PACKET_BYTES = 2048
LINK_BYTES_PER_S = 4e9
PACKET_S = PACKET_BYTES / LINK_BYTES_PER_S
"""How long a packet takes over a link: 0.512 us."""


@dataclass(frozen=True)
class Setting:
    """What the paper's figures take for granted, and this study varies.

    Attributes:
        dims: Nodes along each axis of the torus.
        buffer: Packets per input buffer and virtual channel.
        packets: Packets of a message.
        latency_ns: Latency of a link, in nanoseconds.
        tie: Which way round a ring to its opposite node.
        ports: Messages that a node sends, and packets that it takes in, at a time.
        pairing: As the parameter of this name: "xor" or "shift".
        keys: Further lines of the machine file's network section, and sections behind it.
    """

    dims: tuple[int, ...]
    buffer: int = 2
    packets: int = 32
    latency_ns: int = 100
    tie: str = "plus"
    ports: int = 1
    pairing: str = "xor"
    keys: str = ""

    @property
    def ranks(self) -> int:
        """Number of nodes."""
        return math.prod(self.dims)

    @property
    def torus(self) -> str:
        """The torus as people write it: "8x8"."""
        return "x".join(map(str, self.dims))

    def call(self, gap: str, **parameters: str) -> Call:
        """Return the exchange with a gap."""
        given: dict[str, float | str] = {"pairing": self.pairing, **parameters, "gap": gap}
        return Call(ranks=self.ranks, size_bytes=self.packets * PACKET_BYTES, parameters=given)


def machine(setting: Setting, *, software_us: float = 0.0) -> Machine:
    """Return the machine of a setting, whose processors are busy for so long with each message."""
    s = setting
    return Machine.parse(
        f"""name = "pacing"
[node]
ports = {s.ports}
software_latency = "{software_us} us"
[network]
model = "packets"
topology = "torus"
dims = {list(s.dims)}
tie = "{s.tie}"
link_bandwidth = "{LINK_BYTES_PER_S} B/s"
link_latency = "{s.latency_ns} ns"
packet = "{PACKET_BYTES} B"
buffer = {s.buffer}
{s.keys}
"""
    )


_TORI_2D = ((8, 8), (16, 16), (32, 32), (64, 64))
_TORI_3D = ((4, 4, 4), (8, 8, 8), (16, 16, 16))


def _within(tori: Sequence[tuple[int, ...]], scope: Scope) -> list[Setting]:
    return [Setting(dims) for dims in tori if math.prod(dims) <= 1 << scope.most_ranks_log2]


# Steps by themselves


@dataclass(frozen=True)
class _Point:
    """Some steps of an exchange, and what it is called in a table."""

    labels: Mapping[str, Any]
    setting: Setting
    steps: tuple[int, ...]


def _sample(setting: Setting, scope: Scope) -> tuple[int, ...]:
    """Return the numbers of the steps that are simulated: all, or so many at random."""
    count = setting.ranks - 1
    return tuple(sorted(random.Random(scope.seed).sample(range(count), min(count, scope.trials))))


def _point(setting: Setting, scope: Scope, **labels: Any) -> _Point:
    return _Point(labels, setting, _sample(setting, scope))


def _step(task: tuple[_Point, int]) -> dict[str, StepTime]:
    """Simulate one step with each gap."""
    point, step = task
    of = machine(point.setting)
    return {name: simulate_step(EXCHANGE, point.setting.call(gap), step, machine=of) for name, gap in GAPS.items()}


def _rows_of(points: Sequence[_Point], scope: Scope, work: Work) -> list[dict[str, Any]]:
    tasks = [(point, step) for point in points for step in point.steps]
    found = do_all(_step, tasks, executor=work.executor, on_done=lambda *_: work.on_done())
    rows: list[dict[str, Any]] = []
    for point in points:
        times, found = found[: len(point.steps)], found[len(point.steps) :]
        rows += [_row(point, times, gap, scope) for gap in GAPS]
    return rows


def _row(point: _Point, times: Sequence[Mapping[str, StepTime]], gap: str, scope: Scope) -> dict[str, Any]:
    """Put together what the steps say about a gap."""
    setting = point.setting
    own, unpaced, standard = ([step[name].time_s for step in times] for name in (gap, "0", "gp"))
    ideal = [step[gap].overlap * setting.packets * PACKET_S for step in times]
    all_steps = setting.ranks - 1
    return {
        **point.labels,
        "torus": setting.torus,
        "ranks": setting.ranks,
        "gap": gap,
        "time_s": mean(own) * all_steps,
        "time_stderr_s": _stderr(own, all_steps) * all_steps,
        "speed_up": mean(unpaced) / mean(own),
        "speed_up_stderr": _ratio_stderr(unpaced, own, all_steps),
        "over_gp": mean(standard) / mean(own),
        "over_gp_stderr": _ratio_stderr(standard, own, all_steps),
        "of_ideal": mean(ideal) / mean(own),
        "mean_overlap": mean(step[gap].overlap for step in times),
        "steps": all_steps,
        "sampled_steps": len(times),
        "buffer": setting.buffer,
        "packets": setting.packets,
        "latency_ns": setting.latency_ns,
        "tie": setting.tie,
        "pairing": _PAIRINGS[setting.pairing],
        "ports": setting.ports,
        "seed": scope.seed,
    }


def _stderr(values: Sequence[float], population: int) -> float:
    """Return the standard error of the mean of a sample without replacement; 0 if it is everything."""
    if len(values) in (1, population):
        return 0.0
    return stdev(values) * math.sqrt((1 - len(values) / population) / len(values))


def _ratio_stderr(numerators: Sequence[float], denominators: Sequence[float], population: int) -> float:
    """Return the standard error of a ratio of means of pairs, to first order."""
    ratio = mean(numerators) / mean(denominators)
    residuals = [n - ratio * d for n, d in zip(numerators, denominators, strict=True)]
    return _stderr(residuals, population) / mean(denominators)


# Figures 2 and 3, and sensitivity


def _speed_points(tori: Sequence[tuple[int, ...]], scope: Scope) -> list[_Point]:
    return [_point(setting, scope) for setting in _within(tori, scope)]


_VARIED: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "buffer": [{"buffer": buffer} for buffer in (1, 2, 3, 4, 8, 16)],
    "packets per message": [{"packets": packets} for packets in (4, 8, 16, 32, 64, 128)],
    "pairing": [{"pairing": pairing} for pairing in _PAIRINGS],
    "tie": [{"tie": tie} for tie in ("plus", "split")],
    "pairing and tie": [{"pairing": "shift", "tie": "split"}],
    "link latency (ns)": [{"latency_ns": latency} for latency in (0, 100, 500)],
    "ports (lanes in and out)": [{"ports": ports} for ports in (1, 2, 4)],
}


def _sensitivity_base(scope: Scope) -> Setting:
    return Setting((16, 16) if scope.most_ranks_log2 > 8 else (8, 8))


def _sensitivity_points(scope: Scope) -> list[_Point]:
    base, few = _sensitivity_base(scope), replace(scope, trials=min(scope.trials, 64))
    return [
        _point(replace(base, **change), few, varied=varied, value=" ".join(map(str, change.values())))
        for varied, changes in _VARIED.items()
        for change in changes
    ]


# Which gap is best on large tori


_LARGE_TORI = ((16, 16), (32, 32), (16, 16, 16), (64, 64))
_CONDITIONS: Sequence[Mapping[str, Any]] = [
    {},
    *({"buffer": buffer} for buffer in (1, 3, 8)),
    {"latency_ns": 500},
    {"pairing": "shift"},
    {"tie": "split"},
]
_LARGE_STEPS = {256: 1, 1024: 4, 4096: 16}
"""Steps of a torus of so many nodes take so long that a part of the trials has to do: one of so many."""


def _large_points(scope: Scope) -> list[_Point]:
    return [
        _point(replace(setting, **change), _fewer(scope, setting), condition=_told(change))
        for setting in _within(_LARGE_TORI, scope)
        for change in _CONDITIONS
    ]


def _fewer(scope: Scope, setting: Setting) -> Scope:
    return replace(scope, trials=max(scope.trials // _LARGE_STEPS[setting.ranks], 2))


def _told(change: Mapping[str, Any]) -> str:
    return " ".join(f"{name} {value}" for name, value in change.items()) or "as in figures 2 and 3"


# Whole exchanges


@dataclass(frozen=True)
class _Run:
    """A whole call, and what it is called in a table."""

    labels: Mapping[str, Any]
    algorithm: str
    call: Call
    setting: Setting
    trials: Trials = ONE_TRIAL
    software_us: float = 0.0


def _simulated(run: _Run) -> Simulation:
    of = machine(run.setting, software_us=run.software_us)
    return simulate(run.algorithm, run.call, machine=of, trials=run.trials)


def _whole_rows(runs: Sequence[_Run], work: Work) -> list[dict[str, Any]]:
    """Simulate calls; each is compared with the last one before it, or itself, that has no gap."""
    found = do_all(_simulated, runs, executor=work.executor, on_done=lambda *_: work.on_done())
    rows: list[dict[str, Any]] = []
    unpaced_s = math.nan
    for run, simulation in zip(runs, found, strict=True):
        time_s = simulation.time_s.mean
        unpaced_s = time_s if run.labels["gap"] == "0" else unpaced_s
        rows.append(
            {
                "torus": run.setting.torus,
                "algorithm": run.algorithm.partition("/")[2],
                **run.labels,
                "time_s": time_s,
                "time_stderr_s": simulation.time_s.stderr,
                "speed_up": unpaced_s / time_s,
                "of_ideal": _ideal_s(simulation, run) / time_s,
                "trials": simulation.trials,
                "seed": simulation.seed,
            }
        )
    return rows


def _ideal_s(simulation: Simulation, run: _Run) -> float:
    """Return how long the busiest links of all steps take for their messages, one step after another."""
    return sum(step["overlap"] for step in simulation.steps) * run.setting.packets * PACKET_S


_SYNCHRONISATION = {"none": "none", "dissemination barrier": "dissemination"}


def _algorithm_runs(scope: Scope) -> list[_Run]:
    tori = _within(((8, 8), (16, 16)), replace(scope, most_ranks_log2=scope.most_ranks_log2 - 2))
    return _every_algorithm(tori, GAPS)


_EXCHANGE_GAPS = {name: GAPS[name] for name in ("0", "gp-2", "gp-1", "gp")}
_EXCHANGE_PACKETS = 4


def _exchange_runs(scope: Scope) -> list[_Run]:
    """Every algorithm on large tori, with short messages; those of 4096 nodes for hours, in the full scope only."""
    most = scope.most_ranks_log2 if scope.name != "default" else 10
    settings = _within(_LARGE_TORI, replace(scope, most_ranks_log2=most))
    return _every_algorithm([replace(setting, packets=_EXCHANGE_PACKETS) for setting in settings], _EXCHANGE_GAPS)


def _every_algorithm(settings: Sequence[Setting], gaps: Mapping[str, str]) -> list[_Run]:
    """Pairwise exchange with and without barriers, linear, and bruck with blocks such that its messages are as long."""
    runs = []
    for setting in settings:
        plain = Call(ranks=setting.ranks, size_bytes=setting.packets * PACKET_BYTES)
        bruck = replace(plain, size_bytes=plain.size_bytes * 2 // setting.ranks)
        calls: list[tuple[str, str, Callable[[str], Call]]] = [
            *((EXCHANGE, name, partial(setting.call, barrier=barrier)) for name, barrier in _SYNCHRONISATION.items()),
            (LINEAR, "none", partial(_paced, plain)),
            (BRUCK, "none", partial(_paced, bruck)),
        ]
        adaptive = replace(setting, keys='pacing = "adaptive"')
        for algorithm, synchronisation, call in calls:
            labels = {"synchronisation": synchronisation}
            runs += [_Run({**labels, "gap": name}, algorithm, call(gap), setting) for name, gap in gaps.items()]
            runs.append(_Run({**labels, "gap": "adaptive"}, algorithm, call("0"), adaptive))
    return runs


def _paced(call: Call, gap: str) -> Call:
    return replace(call, parameters={"gap": gap})


_DURATIONS_US = (0, 10, 100)
_SOFTWARE_US = 1.0


def _jitter_runs(scope: Scope) -> list[_Run]:
    """The exchange on 8x8 while operating systems hold up the processors, which need 1 us per message."""
    runs = []
    trials = Trials(max(scope.trials // 16, 2), seed=scope.seed, threads=1)
    for duration_us in _DURATIONS_US:
        noise = (
            f'[noise.os]\nmodel = "poisson"\ninterval = "1 ms"\nduration = "{duration_us} us"\noverlap = "arrival"'
            if duration_us
            else ""
        )
        setting = Setting((8, 8), keys=noise)
        for synchronisation, barrier in _SYNCHRONISATION.items():
            labels = {"synchronisation": synchronisation, "os_duration_us": duration_us}
            runs += [
                _Run(
                    {**labels, "gap": name}, EXCHANGE, setting.call(gap, barrier=barrier), setting, trials, _SOFTWARE_US
                )
                for name, gap in GAPS.items()
            ]
    return runs


# Figure 1: throughput over time


_THROUGHPUT_GAPS = ("0", "gp-2", "gp-1", "gp")


def _throughput(task: tuple[Setting, str, int]) -> list[dict[str, Any]]:
    """Return what arrives in each bin of time, over what does on average if the busiest links never idle."""
    setting, gap, bins = task
    found = simulate(EXCHANGE, setting.call(GAPS[gap]), machine=machine(setting), keep=["events"])
    width_s = found.time_s.mean / bins
    ideal_s = sum(step["overlap"] for step in found.steps) * setting.packets * PACKET_S
    all_bytes = (setting.ranks - 1) * setting.ranks * setting.packets * PACKET_BYTES
    delivered = _delivered([event for event in found.events if event.kind == "recv"], width_s, bins)
    return [
        {
            "torus": setting.torus,
            "gap": gap,
            "time_us": (index + 0.5) * width_s * 1e6,
            "delivered_bytes": bytes_,
            "of_ideal": bytes_ / width_s / (all_bytes / ideal_s),
        }
        for index, bytes_ in enumerate(delivered)
    ]


def _delivered(receives: Sequence[Event], width_s: float, bins: int) -> list[float]:
    """Return the bytes of each bin, those of a message spread evenly from the receive's start to its end."""
    delivered = [0.0] * bins
    for event in receives:
        first, last = (min(int(time_s / width_s), bins - 1) for time_s in (event.start_s, event.end_s))
        length_s = event.end_s - event.start_s
        for index in range(first, last + 1):
            inside_s = min(event.end_s, (index + 1) * width_s) - max(event.start_s, index * width_s)
            share = inside_s / length_s if first < last and length_s > 0 else 1.0
            delivered[index] += event.bytes * share
    return delivered


def _throughput_tasks(scope: Scope) -> list[tuple[Setting, str, int]]:
    return [(Setting((8, 8)), gap, scope.points) for gap in _THROUGHPUT_GAPS]


# M_i, and the links of the torus


def _overlap_tasks(scope: Scope) -> list[Setting]:
    tori = _within((*_TORI_2D, *_TORI_3D), scope)
    return [replace(setting, pairing=pairing) for setting in tori for pairing in _PAIRINGS]


def _overlaps(setting: Setting) -> list[dict[str, Any]]:
    """Return how many steps have which M_i."""
    counts = Counter(step.overlap for step in steps(EXCHANGE, setting.call("auto"), machine=machine(setting)))
    pairing = _PAIRINGS[setting.pairing]
    average = sum(overlap * count for overlap, count in counts.items()) / counts.total()
    return [
        {
            "torus": setting.torus,
            "pairing": pairing,
            "overlap": overlap,
            "gap_packets": overlap + 1,
            "steps": counts[overlap],
            "mean_overlap": average,
        }
        for overlap in sorted(counts)
    ]


_HEAT_GAPS = ("0", "gp-2")


def _heat(task: tuple[Setting, str]) -> list[dict[str, Any]]:
    """Return what each link carried, and how long packets waited for it."""
    setting, gap = task
    call = setting.call(GAPS[gap], barrier="dissemination")
    found = simulate(EXCHANGE, call, machine=machine(setting), keep=["links"])
    rows = []
    for link in found.link_uses:
        direction, _, place = link.name.partition(" from ")
        x, y = map(int, place.strip("()").split(","))
        rows.append(
            {
                "torus": setting.torus,
                "gap": gap,
                "direction": direction,
                "x": x,
                "y": y,
                "bytes": link.bytes,
                "busy_us": link.busy_s * 1e6,
                "waiting_us": link.waiting_s * 1e6,
            }
        )
    return rows


def _heat_tasks(_: Scope) -> list[tuple[Setting, str]]:
    return [(Setting((8, 8)), gap) for gap in _HEAT_GAPS]


# The data by name


def _flat(work: Work, cell: Callable[[Any], list[dict[str, Any]]], tasks: Sequence[Any]) -> list[dict[str, Any]]:
    found = do_all(cell, tasks, executor=work.executor, on_done=lambda *_: work.on_done())
    return [row for rows in found for row in rows]


_POINTS: Mapping[str, Callable[[Scope], list[_Point]]] = {
    "torus_2d": partial(_speed_points, _TORI_2D),
    "torus_3d": partial(_speed_points, _TORI_3D),
    "sensitivity": _sensitivity_points,
    "large": _large_points,
}
_RUNS: Mapping[str, Callable[[Scope], list[_Run]]] = {
    "algorithms": _algorithm_runs,
    "exchanges": _exchange_runs,
    "jitter": _jitter_runs,
}
_CELLS: Mapping[str, tuple[Callable[[Any], list[dict[str, Any]]], Callable[[Scope], Sequence[Any]]]] = {
    "throughput": (_throughput, _throughput_tasks),
    "overlaps": (_overlaps, _overlap_tasks),
    "links": (_heat, _heat_tasks),
}


def _pieces(data: str, scope: Scope) -> int:
    if data in _POINTS:
        return sum(len(point.steps) for point in _POINTS[data](scope))
    return len(_RUNS[data](scope)) if data in _RUNS else len(_CELLS[data][1](scope))


def _compute(data: str, scope: Scope, work: Work) -> Rows:
    if data in _POINTS:
        return _rows_of(_POINTS[data](scope), scope, work)
    if data in _RUNS:
        return _whole_rows(_RUNS[data](scope), work)
    cell, tasks = _CELLS[data]
    return _flat(work, cell, tasks(scope))


_FIGURES = (
    Figure(1, "Throughput over time, 8x8", "throughput", pictures.lines),
    Figure(2, "Time and speed-up, 2-D tori", "torus_2d", pictures.bars),
    Figure(3, "Time and speed-up, 3-D tori", "torus_3d", pictures.bars),
    Figure(4, "How many steps have which M_i", "overlaps", pictures.histogram),
    Figure(5, "Links of the 8x8 torus", "links", pictures.heatmap),
    Figure(6, "What the speed-up depends on", "sensitivity", partial(pictures.grouped, "varied")),
    Figure(
        7,
        "Other algorithms, and adaptive gaps",
        "algorithms",
        partial(pictures.grouped, "torus algorithm synchronisation"),
    ),
    Figure(
        8,
        "Pacing while operating systems interrupt, 8x8",
        "jitter",
        partial(pictures.grouped, "synchronisation os_duration_us"),
    ),
    Figure(9, "Which gap is best on large tori", "large", partial(pictures.grouped, "torus condition")),
    Figure(
        10,
        "Which gap is best for whole calls on large tori, messages of 4 packets",
        "exchanges",
        partial(pictures.grouped, "torus algorithm synchronisation"),
    ),
)


STUDY = Study(
    title="Packet pacing for all-to-all on tori",
    figures=_FIGURES,
    scopes={
        "quick": Scope("quick", most_ranks_log2=8, points=60, trials=16),
        "default": Scope("default", most_ranks_log2=12, points=120, trials=64),
        "full": Scope("full", most_ranks_log2=12, points=120, trials=512),
    },
    pieces=_pieces,
    compute=_compute,
    claims=judged,
)
"""Trials are steps: of an exchange with more, so many are simulated, at random."""
