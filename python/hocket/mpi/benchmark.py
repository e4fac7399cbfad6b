"""Timing collectives under a real MPI: algorithms take turns in one program until their medians are known.

Or several calls take turns with all of them at once, each on ranks of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from hocket import _native
from hocket._native import Error, check_rules
from hocket.base.call import Call
from hocket.base.results import NoTime, Place, places
from hocket.base.units import format_choice
from hocket.definitions.calls import declared_values
from hocket.definitions.library import NATIVE_NAME, Algorithm, measured_element_bytes, unit_bytes
from hocket.mpi.installation import Installation, cached_build
from hocket.mpi.launch import Launcher, command, environment, is_crowded, launcher_environment
from hocket.mpi.scene import Director, bench_scene, play

_Z = 1.96  # the quantile for 95 %


@dataclass(frozen=True)
class Measurement:
    """The measurement of one algorithm at one size."""

    algorithm: str  # its name, or "native"
    size_bytes: int
    median_s: float  # the median of the samples
    low_s: float  # lower end of its 95 % confidence interval, from order statistics
    high_s: float  # upper end
    p90_s: float  # the smallest sample that at least 90 % of the samples do not exceed
    p99_s: float  # the same for 99 %
    calls: int  # number of all calls that were made
    # The samples, one per call, in the order in which they were taken; in a cadence, one per series of calls: their
    # mean time.
    samples_s: tuple[float, ...]
    arriving_s: tuple[float, ...] = ()  # with arrivals: the time from the first to the last arrival, of each sample
    # With a cadence: the mean time between the ends of two calls, in the second half of the calls, of each sample.
    interval_s: tuple[float, ...] = ()

    @property
    def reach(self) -> float:
        """The largest distance of the interval's ends from the median, as a share of the median."""
        return max(self.high_s - self.median_s, self.median_s - self.low_s) / self.median_s

    @staticmethod
    def of(
        algorithm: str,
        size_bytes: int,
        calls: int,
        samples_s: Sequence[float],
        arriving_s: Sequence[float] = (),
        interval_s: Sequence[float] = (),
    ) -> Measurement:
        """Return the measurement that samples give."""
        ordered, count = sorted(samples_s), len(samples_s)
        p90, p99 = (ordered[-(-share * count // 100) - 1] for share in (90, 99))
        times_s = (tuple(samples_s), tuple(arriving_s), tuple(interval_s))
        return Measurement(algorithm, size_bytes, *median_of(samples_s), p90, p99, calls, *times_s)


def median_of(samples_s: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, and the ends of its 95 % confidence interval; of few samples, the smallest and the largest."""
    ordered, count = sorted(samples_s), len(samples_s)
    reach = ceil(_Z * sqrt(count) / 2)
    return median(ordered), ordered[max(count // 2 - reach, 0)], ordered[min(count // 2 + reach, count - 1)]


@dataclass(frozen=True)
class Prediction:
    """A machine file's prediction for an algorithm at a size: simulated, and by a formula if there is one.

    A formula is exact for the call, an upper bound, or an approximation.
    """

    algorithm: str
    size_bytes: int
    time_s: float
    formula_s: float | None
    is_exact: bool | None


@dataclass(frozen=True)
class Bench:
    """The results of a benchmark."""

    collective: str
    ranks: int
    mpi: str  # the MPI's own name and version
    algorithms: tuple[str, ...]  # names of the algorithms, in the requested order
    measurements: tuple[Measurement, ...]  # one measurement for each algorithm and each size that it accepted
    not_measured: tuple[NoTime, ...]  # the other combinations, with reasons
    proving_calls: Mapping[str, int]  # for each algorithm, the number of proving calls that the library itself counted
    # When the ranks began the call: the text, or the number of given times; None if all began together.
    arrivals: str | None = None
    cadence: str | None = None  # when the ranks began each of several calls; None if they made one call
    # The largest error of a common clock of all ranks; None if the clocks were not compared.
    clock_error_s: float | None = None

    @property
    def sizes_bytes(self) -> list[int]:
        """The sizes at which something was measured."""
        return sorted({one.size_bytes for one in self.measurements})

    def at(self, size_bytes: int, algorithm: str) -> Measurement | None:
        """Return one measurement, if there is one."""
        matches = (one for one in self.measurements if (one.size_bytes, one.algorithm) == (size_bytes, algorithm))
        return next(matches, None)

    def fastest(self, size_bytes: int) -> tuple[str, ...]:
        """Return the fastest algorithms at a size, and those whose intervals overlap, sorted by median."""
        mine = sorted((m for m in self.measurements if m.size_bytes == size_bytes), key=lambda m: m.median_s)
        return tuple(one.algorithm for one in mine if one.low_s <= mine[0].high_s)

    def places(self, size_bytes: int) -> tuple[Place, ...]:
        """Return the first place, the second and so on at a size, by medians."""
        medians_s = {m.algorithm: m.median_s for m in self.measurements if m.size_bytes == size_bytes}
        return places(medians_s, self.fastest(size_bytes))


def deviation(ratios: Iterable[float]) -> tuple[float, float, float]:
    """Return the deviation of ratios from 1: median, ninth decile and maximum."""
    distances = sorted(abs(ratio - 1) for ratio in ratios)
    ninth = quantiles(distances, n=10, method="inclusive")[-1] if len(distances) > 1 else distances[0]
    return median(distances), ninth, distances[-1]


def bench(
    installation: Installation,
    candidates: Sequence[Algorithm | None],
    call: Call,
    sizes_bytes: Iterable[int],
    *,
    share: float,
    limit_s: float,
    least_rounds: int = 10,
    only_by_mpi: bool = False,
    arrivals: str | Sequence[float] | None = None,
    cadence: str | None = None,
    director: Director | None = None,
    launcher: Launcher = command,
    on_done: Callable[[], object] = lambda: None,
) -> Bench:
    """Time algorithms of one collective in one MPI program; `None` stands for the MPI's own.

    Each algorithm takes the parameters of the call that it declares. Samples are taken until the ends of all 95 %
    confidence intervals are within `share` of the medians, or until the time limit of a size, but at least
    `least_rounds` of each algorithm. With `only_by_mpi` short messages within a node also go through MPI, as in a
    calibration. Arrivals and cadence are as in `hocket.simulate`: a time counts from the last arrival; in a cadence it
    is the mean of the calls, which are nonblocking if there are several at a time, or a computation. The director tells
    the start of each sample, and what happens to the network then.

    An Error says that a parameter is invalid, that the program fails, or that a result is wrong.
    """
    collective = next(one.collective for one in candidates if one is not None)
    sizes = sorted(set(sizes_bytes))
    check_sizes(collective, sizes, call.ranks)
    names = tuple(one.name if one else NATIVE_NAME for one in candidates)
    is_plain = arrivals is None and cadence is None
    scene = bench_scene([0.0] * call.ranks if director and is_plain else arrivals, cadence, call.ranks)
    rules = [rule_of(scene.rule_of(collective), one, call) for one in candidates]
    for rule in rules:
        check_rules(rule, "--param")
    program = compiled_program(installation, "bench")
    proofs: list[dict[str, Any]] = []
    measurements: list[Measurement] = []

    def take(value: dict[str, Any]) -> None:
        name = names[value["rule"]]
        if "samples_s" in value:
            arrival_values = {key: value[key] for key in ("arriving_s", "interval_s") if key in value}
            one = Measurement.of(name, value["size"], value["made"], value["samples_s"], **arrival_values)
            measurements.append(one)
            on_done()
            return
        check_right(value, f"{collective} {name}")
        if not value["has_run"]:
            on_done()
        proofs.append(value)

    # Ranks that share processors cannot spin until a common start time without delaying others.
    starts_together = not is_crowded(installation, launcher, call.ranks)
    limits = [f"{share:g}", f"{limit_s:g}", str(least_rounds), str(int(starts_together)), scene.argument_with(director)]
    neighbors = "none"  # or with their dimensions
    if collective.startswith("neighbor_"):
        dims, _ = _native.neighbors(call.neighbors, call.ranks)
        neighbors = f"{(call.neighbors or 'torus').partition(':')[0]}:{'x'.join(map(str, dims))}"
    arguments = [collective, str(call.root), neighbors, *limits, ",".join(map(str, sizes)), *rules]
    variables = environment(installation, None) | ({"HOCKET_SHARED_MEMORY": "off"} if only_by_mpi else {})
    line = launcher(installation, call.ranks, [str(program), *arguments], variables)
    where = launcher_environment(installation, launcher, call.ranks)
    clock_error_s = play(line, where, program, take, director=director)
    refusals = [NoTime(names[proof["rule"]], proof["size"], reason(proof)) for proof in proofs if not proof["has_run"]]
    if not measurements:
        raise Error(refusals[0].sentence if refusals else f"{program.name}: printed no measurements")
    counts = {
        name: sum(proof["has_run"] for proof in proofs if proof["rule"] == number) for number, name in enumerate(names)
    }
    return Bench(
        collective,
        call.ranks,
        installation.library,
        names,
        tuple(measurements),
        tuple(refusals),
        counts,
        arrivals=arrivals if arrivals is None or isinstance(arrivals, str) else f"{len(arrivals)} times",
        cadence=cadence,
        clock_error_s=clock_error_s,
    )


def check_sizes(collective: str, sizes: Sequence[int], ranks: int, what: str = "--sizes") -> None:
    """Refuse sorted sizes that are too large, or no whole numbers of elements for each rank; `what` names them."""
    unit = unit_bytes(collective, ranks)
    odd = [size for size in sizes if size % unit]
    if odd:
        raise Error(f"{what}: got {odd[0]} B, expected multiples of {unit} B, as {collective} adds doubles")
    if sizes and sizes[-1] >= 2**31:
        raise Error(f"{what}: got {sizes[-1]} B, expected less than 2 GiB")


def rule_of(name: str, algorithm: Algorithm | None, call: Call) -> str:
    """Return a rule for a collective, or for its nonblocking form, by its name in rules."""
    if algorithm is None:
        return f"{name}: {NATIVE_NAME}"
    values = declared_values(algorithm, call.parameters).items()
    return f"{name}: {format_choice(algorithm.name, values, ', ')}"


def compiled_program(installation: Installation, name: str) -> Path:
    """Return a program that measures under the preloaded library, compiled; an Error if it cannot be."""
    helpers = ("scene", "timing", "together") if name in ("bench", "jobs") else ("timing", "together")
    sources = (f"measuring/{each}.c" for each in (name, *helpers))
    return cached_build(installation, f"hocket-{name}", " ".join(sources), ["-fno-math-errno"])


def check_right(proof: Mapping[str, Any], label: str) -> None:
    """Refuse a wrong result of a proving call; `label` names its algorithm."""
    if not proof["is_right"]:
        raise Error(f"{label}, {proof['size']} B: the result is wrong")


def reason(proof: Mapping[str, Any]) -> str:
    """Return why MPI performed a call that should have proved an algorithm, from the library's counts."""
    before = _calls_passed(proof["before"])
    new = [reason for reason, calls in _calls_passed(proof["after"]).items() if calls > before.get(reason, 0)]
    return new[0] if new else "another algorithm ran"


def _calls_passed(summary: str) -> dict[str, int]:
    lines = (line.partition(" left to MPI: ") for line in summary.splitlines())
    return {reason: int(counts.split()[0]) for counts, is_there, reason in lines if is_there}


def call_of(algorithm: Algorithm, call: Call, size_bytes: int) -> Call:
    """Return the call of an algorithm that `bench` makes."""
    return replace(
        call,
        size_bytes=size_bytes,
        element_bytes=measured_element_bytes(algorithm.collective),
        parameters=declared_values(algorithm, call.parameters),
    )


@dataclass(frozen=True)
class Part:
    """A call on the next ranks: an algorithm, the call, and its cadence if there is one."""

    algorithm: Algorithm
    call: Call
    cadence: str | None


@dataclass(frozen=True)
class PartTimes:
    """The times of a call."""

    together_s: tuple[float, ...]  # time with all calls at once, in each round
    alone_s: tuple[float, ...]


def time_together(
    installation: Installation,
    parts: Sequence[Part],
    *,
    limit_s: float,
    least_rounds: int,
    launcher: Launcher,
    director: Director | None = None,
) -> tuple[list[PartTimes], float]:
    """Time calls at once and alone, in turns, in one program; return their times, and the largest error of the clocks.

    A time counts from when the last rank begins its first call until the last rank ends its last one. Each part has the
    next ranks of the program. Limit, rounds and director are as in `bench`, and so is what is refused.
    """
    program = compiled_program(installation, "jobs")
    ranks = sum(part.call.ranks for part in parts)
    arguments = [f"{limit_s:g}", str(least_rounds), str(int(not is_crowded(installation, launcher, ranks)))]
    for part in parts:
        collective, size = part.algorithm.collective, part.call.size_bytes
        check_sizes(collective, [size], part.call.ranks, f"job {part.algorithm.label}")
        scene = bench_scene(None, part.cadence, part.call.ranks)
        rule = rule_of(scene.rule_of(collective), part.algorithm, part.call)
        check_rules(rule, f"job {part.algorithm.label}")
        arguments += [collective, str(size), scene.argument_with(director), str(part.call.ranks), rule]
    times_by_rank: dict[int, PartTimes] = {}

    def take(value: dict[str, Any]) -> None:
        if "call" in value:
            times_by_rank[value["call"]] = PartTimes(tuple(value["together_s"]), tuple(value["alone_s"]))
            return
        label = parts[value["rule"]].algorithm.label
        check_right(value, label)
        if not value["has_run"]:
            raise Error(f"{label}, {value['size']} B: has not run: {reason(value)}")

    line = launcher(installation, ranks, [str(program), *arguments], environment(installation, None))
    clock_error_s = play(line, {}, program, take, director=director)
    assert clock_error_s is not None  # the program always tells it
    return [times_by_rank[number] for number in range(len(parts))], clock_error_s
