"""Measurements in a lab compared with the simulator: times of calls, and bytes on links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

from hocket._native import Error
from hocket.base.call import Call
from hocket.definitions.library import NATIVE_NAME, Algorithm
from hocket.mpi.benchmark import Bench, call_of, deviation, median_of
from hocket.simulating.scenes import NO_SCENE, Scene
from hocket.simulating.simulation import ONE_TRIAL, Simulation, Trials, simulate
from hocket_lab.building import Sent
from hocket_lab.gates import Gates
from hocket_lab.laboratory import Lab

T = TypeVar("T", bound="ComparedTime")


@dataclass(frozen=True, kw_only=True)
class ComparedTime:
    """A measured time, compared with the simulated one. The times are times of the machine.

    Attributes:
        measured_s: The median of the samples.
        low_s: Lower end of its 95 % confidence interval, or the smallest of few samples.
        high_s: Upper end.
        samples: Number of samples.
        simulated_s: The simulated time.
    """

    measured_s: float
    low_s: float
    high_s: float
    samples: int
    simulated_s: float

    @classmethod
    def of(cls: type[T], samples_s: Sequence[float], simulated_s: float, lab: Lab, **more: Any) -> T:
        """Return the comparison of samples with a time, both measured and simulated at the speed of a lab."""
        times_s = (*median_of(samples_s), simulated_s)
        measured_s, low_s, high_s, simulated_s = (float(lab.scale) * time_s for time_s in times_s)
        ends_s = {"low_s": low_s, "high_s": high_s}
        return cls(measured_s=measured_s, **ends_s, samples=len(samples_s), simulated_s=simulated_s, **more)

    @property
    def ratio(self) -> float:
        """The ratio of the measured median to the simulated time."""
        return self.measured_s / self.simulated_s

    @property
    def reach(self) -> float:
        """The largest distance of the interval's ends from the median, as a share of the median."""
        return max(self.high_s - self.measured_s, self.measured_s - self.low_s) / self.measured_s


@dataclass(frozen=True, kw_only=True)
class Point(ComparedTime):
    """An algorithm at a size.

    Attributes:
        algorithm: Its name.
        size_bytes: The size of the call.
        measured_interval_s: With a cadence: the median of the measured intervals between the ends of two calls.
        simulated_interval_s: With a cadence: the simulated interval.
    """

    algorithm: str
    size_bytes: int
    measured_interval_s: float | None = None
    simulated_interval_s: float | None = None


@dataclass(frozen=True)
class LinkLoad:
    """The load of a link in all calls together.

    Attributes:
        link: Its number.
        name: Its name, such as "+x from (3,0)".
        measured_bytes: Bytes of messages that left over it, including MPI's own headers and retransmissions.
        simulated_bytes: Bytes of messages that it carries in the simulator.
        dropped_packets: Number of packets that found its queue full.
    """

    link: int
    name: str
    measured_bytes: int
    simulated_bytes: int
    dropped_packets: int


@dataclass(frozen=True)
class Compared:
    """A lab compared with the simulator.

    Attributes:
        lab: A description of the lab.
        collective: The collective.
        ranks: Number of ranks.
        mpi: The MPI's own name and version.
        points: One point for each algorithm of the catalogue and each size that it accepted.
        links: Links that carried something in the lab or in the simulator; empty if the MPI's own algorithm was
            measured as well.
        not_measured: The algorithms that were not measured, each with the reason.
        arrivals: When the ranks began the call: the text, or the number of given times; None if all began together.
        cadence: When the ranks began each of several calls; None if they made one call.
        clock_error_s: The largest error of a common clock of all ranks; None if the clocks were not compared. Times of
            the lab, not of the machine.
        faults: The faults of links, as texts.
        faults_late_s: How late a link changed at most; None without faults.
    """

    lab: str
    collective: str
    ranks: int
    mpi: str
    points: tuple[Point, ...]
    links: tuple[LinkLoad, ...]
    not_measured: tuple[tuple[str, str], ...]
    arrivals: str | None = None
    cadence: str | None = None
    clock_error_s: float | None = None
    faults: tuple[str, ...] = ()
    faults_late_s: float | None = None

    @property
    def deviation(self) -> tuple[float, float, float]:
        """The deviation of measured from simulated times, as a share: median, ninth decile and maximum."""
        return deviation(point.ratio for point in self.points)

    @property
    def link_ratios(self) -> tuple[float, float]:
        """The smallest and largest ratio of measured to simulated bytes, over links with simulated bytes."""
        ratios = [link.measured_bytes / link.simulated_bytes for link in self.links if link.simulated_bytes]
        return min(ratios), max(ratios)


def expected(
    lab: Lab,
    candidates: Iterable[Algorithm | None],
    call: Call,
    sizes_bytes: Iterable[int],
    *,
    scene: Scene = NO_SCENE,
    trials: Trials = ONE_TRIAL,
) -> tuple[dict[tuple[str, int], Simulation], dict[str, str]]:
    """Simulate the planned measurements on the machine as built.

    Returns:
        The simulations by algorithm and size, and the reasons of algorithms that refuse a call.

    Raises:
        Error: The lab has a scale, and there is a scene; or one rank sends nothing.
    """
    lab.check_scene(scene)
    if call.ranks == 1:
        raise Error("ranks: got 1, expected 2 or more in a lab")
    machine, sizes = lab.built, list(sizes_bytes)
    found: dict[tuple[str, int], Simulation] = {}
    refused: dict[str, str] = {}
    for algorithm in candidates:
        if algorithm is None:
            continue
        try:
            for size in sizes:
                made = call_of(algorithm, call, size)
                found[algorithm.name, size] = simulate(
                    algorithm, made, machine=machine, scene=scene, trials=trials, keep=["links"]
                )
        except Error as error:
            refused[algorithm.name] = str(error)
    return found, refused


def compare_with_lab(
    lab: Lab,
    found: Bench,
    simulated: Mapping[tuple[str, int], Simulation],
    refused: Mapping[str, str],
    before: Mapping[int, Sent],
    gates: Gates | None = None,
) -> Compared:
    """Compare measurements with the simulations and the refusals that `expected` returned.

    `before` is the data that had left over each link before the measurement; `gates` made the faults.

    Raises:
        Error: Only the MPI's own algorithm was measured.
    """
    points, loads = [], Counter[int]()
    for one in found.measurements:
        seen = simulated.get((one.algorithm, one.size_bytes))
        if seen is None:
            continue
        calls = len(seen.repeated.calls_s) if seen.repeated else 1
        points.append(
            Point.of(
                one.samples_s,
                seen.time_s.quantiles["0.5"],
                lab,
                algorithm=one.algorithm,
                size_bytes=one.size_bytes,
                measured_interval_s=median(one.interval_s) if seen.repeated else None,
                simulated_interval_s=seen.repeated.interval_s.mean if seen.repeated else None,
            )
        )
        for use in seen.link_uses:
            loads[use.link] += round(use.bytes * one.calls / calls)
    if not points:
        raise Error("nothing to compare, expected at least one measured algorithm of the catalogue")
    not_measured = dict(refused) | {one.algorithm: one.sentence for one in found.not_measured}
    links = () if NATIVE_NAME in found.algorithms else _links(lab, loads, before)
    reasons = tuple(not_measured.items())
    return Compared(
        lab.summary,
        found.collective,
        found.ranks,
        found.mpi,
        tuple(points),
        links,
        reasons,
        arrivals=found.arrivals,
        cadence=found.cadence,
        clock_error_s=found.clock_error_s,
        faults=next(iter(simulated.values())).faults,
        faults_late_s=None if gates is None else gates.late_s,
    )


def _links(lab: Lab, loads: Mapping[int, int], before: Mapping[int, Sent]) -> tuple[LinkLoad, ...]:
    names = {link.id: link.name for cable in lab.wiring.cables for link in cable.links}
    found = []
    for number, after in sorted(lab.sent().items()):
        sent = after - before[number]
        if loads.get(number, 0) or sent.payload_bytes:
            found.append(LinkLoad(number, names[number], sent.payload_bytes, loads.get(number, 0), sent.dropped))
    return tuple(found)
