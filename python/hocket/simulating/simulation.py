"""Simulating a call on a machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call, MeasuredAs
from hocket.base.checks import among, function, instance, number, quote, several, share, text, whole
from hocket.base.packages import alt
from hocket.base.processors import processors
from hocket.base.results import Later, Result, draw, parameter_columns
from hocket.base.units import format_bytes, format_count
from hocket.definitions.calls import guard, request_of
from hocket.definitions.library import Algorithm, as_algorithm, format_elements
from hocket.definitions.machine import Machine, MachineLike, as_machine, discrepancy_of, ratio_of
from hocket.definitions.topology import LinkUse
from hocket.definitions.variants import scaled
from hocket.schedules.schedule import Schedule
from hocket.simulating.arrivals import Arrivals
from hocket.simulating.faults import Faults, join
from hocket.simulating.operations import Event, Step
from hocket.simulating.scenes import NO_SCENE, Scene, SceneLike, as_scene

Engine: TypeAlias = Literal["auto", "symmetry", "dataflow", "events"]
"""The engine that keeps virtual time; "auto" lets the program decide."""

HOW = ("engine", "measured_as")
"""The arguments of `plan` that are options of commands: each has a row in `hocket/cli/options.csv`."""

Detail: TypeAlias = Literal["events", "links", "passages", "critical_path"]
"""What a simulation can keep of the first trial."""

OnTrials: TypeAlias = Callable[[int], object]
"""Progress callback: receives the number of finished trials."""


@dataclass(frozen=True)
class Trials:
    """How often to simulate a call on a machine with noise.

    Attributes:
        count: Number of trials, or the largest number if `until_interval` is given.
        seed: Seed of all random numbers; a trial depends only on the seed and its number.
        until_interval: Stop once the ends of the mean's confidence interval are within this share of the mean, a number
            or a text such as "1%". This is checked after 64, 128, 256, ... trials.
        threads: Number of threads; by default one per processor that this process may use. Results do not depend on it.
        first: Number of the first trial.
        until_decided: In a comparison: run 16, 64, 256, .. trials, at most `count`, and continue only with algorithms
            that may still be the fastest.
    """

    count: int = 1
    seed: int = 0
    until_interval: float | str | None = None
    threads: int | None = None
    first: int = 0
    until_decided: bool = False


ONE_TRIAL = Trials()  # the trials for a machine without noise

UNTIL_DECIDED = Trials(count=256, until_decided=True)
"""The trials for a comparison; on a machine without noise this means one trial."""


@dataclass(frozen=True)
class Statistics:
    """Statistics of the times over the trials of a simulation, in seconds.

    Attributes:
        mean: Their mean.
        min: The smallest.
        max: The largest.
        stderr: Standard error of the mean; 0 for a single trial.
        interval: 95 % confidence interval of the mean, assuming a normal distribution.
        quantiles: Quantiles 0.05, 0.25, 0.5, 0.75, 0.95 and 0.99, interpolated.
        histogram: Bins of equal width: "edges_s", and "counts", which has one entry fewer; a single bin if all times
            are the same.
    """

    mean: float
    min: float
    max: float
    stderr: float
    interval: tuple[float, float]
    quantiles: dict[str, float]
    histogram: dict[str, Sequence[float]]

    @property
    def reach(self) -> float:
        """Half the width of the interval, as a share of the mean; 0 if the mean is 0."""
        return (self.interval[1] - self.mean) / self.mean if self.mean > 0 else 0.0

    @classmethod
    def of(cls, times_s: Sequence[float]) -> Statistics:
        """Return the statistics of some times.

        Raises:
            Error: There are no times, or some are not finite numbers.
        """
        if isinstance(times_s, tuple) and len(times_s) == 1 and isinstance(times_s[0], float):
            (one_s,) = times_s  # most simulations have only one time, and this needs no array package
            if math.isfinite(one_s):
                quantiles = {f"{share:g}": one_s for share in _SHARES}
                histogram: dict[str, Sequence[float]] = {"edges_s": [one_s, one_s], "counts": [1]}
                return cls(one_s, one_s, one_s, 0.0, (one_s, one_s), quantiles, histogram)
        import numpy as np

        try:
            times = np.asarray(times_s, float)
        except (TypeError, ValueError):
            times = np.array([])
        if times.ndim != 1 or not len(times) or not np.isfinite(times).all():
            raise Error(f"times_s: got {quote(times_s)}, expected finite numbers, one at least")
        mean = float(np.clip(times.mean(), times.min(), times.max()))
        stderr = float(times.std(ddof=1) / np.sqrt(len(times))) if len(times) > 1 else 0.0
        least, most = float(times.min()), float(times.max())
        are_distinct = most - least > _MOST_BINS * np.spacing(most)
        counts, edges = np.histogram(times, bins=_MOST_BINS) if are_distinct else ([len(times)], [least, most])
        return cls(
            mean=mean,
            min=least,
            max=most,
            stderr=stderr,
            interval=(mean - _NORMAL_95 * stderr, mean + _NORMAL_95 * stderr),
            quantiles={
                f"{share:g}": float(value) for share, value in zip(_SHARES, np.quantile(times, _SHARES), strict=True)
            },
            histogram={"edges_s": [float(e) for e in edges], "counts": [int(c) for c in counts]},
        )

    def columns(self) -> dict[str, float]:
        """Return the statistics without the histogram, by column names of tables, such as "time_mean_s"."""
        low_s, high_s = self.interval
        return {
            "time_mean_s": self.mean,
            "time_stderr_s": self.stderr,
            "time_interval_low_s": low_s,
            "time_interval_high_s": high_s,
            "time_min_s": self.min,
            "time_max_s": self.max,
            **{f"time_q{float(share) * 100:02.0f}_s": time_s for share, time_s in self.quantiles.items()},
        }


_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_NORMAL_95 = 1.96
_MOST_BINS = 50


@dataclass(frozen=True)
class Links:
    """The load of all links in the first trial, on a machine where messages share links.

    Attributes:
        links: Number of links.
        used_links: Number of links that carried something.
        contended_links: Number of links for which something had to wait.
        most_bytes: The largest number of bytes on one link.
        most_busy_s: The longest busy time of one link.
        waiting_s: Total time that messages or packets waited for links.
    """

    links: int
    used_links: int
    contended_links: int
    most_bytes: float
    most_busy_s: float
    waiting_s: float


@dataclass(frozen=True)
class Passage:
    """Bytes that one link carried without a pause in the first trial.

    Attributes:
        link: The link's number.
        bytes: Bytes that went over it. If messages share links at equal rates, these are the bytes of one message, and
            passages over a link overlap. Otherwise they are the bytes of all messages or packets that followed without
            a pause.
        start_s: Time when the first byte went over it.
        end_s: Time when the last byte had gone over it.
    """

    link: int
    bytes: float
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Circuits:
    """The use of circuits in the first trial, on a machine that has circuits.

    Attributes:
        set_ups: Number of circuits whose set-up began.
        refused: Number of refused `connect` calls.
        cut: Number of times that a message lost its circuit on the way and began again.
    """

    set_ups: int
    refused: int
    cut: int


@dataclass(frozen=True)
class Repeated:
    """The calls of a cadence.

    Attributes:
        calls_s: The time of each call, as a mean over the trials: from when it is due, or else from when its last rank
            begins it, until its last rank ends it.
        interval_s: The mean interval between the ends of two calls in the second half of the calls, over the trials.
        isolated_s: The time of an isolated call, over the trials.
        hidden_share: The part of an isolated call that costs nothing beside a computation, from 0 to 1: the interval
            exceeds the computation by the rest of the call, as OSU's benchmarks count. None without a computation, with
            calls that are due at times, and with several calls at a time.
        calls_per_s: Calls per second, at this interval; None if calls take no time.
        bytes_per_s: The message of the MPI call, times `calls_per_s`.
    """

    calls_s: tuple[float, ...]
    interval_s: Statistics
    isolated_s: Statistics
    hidden_share: float | None
    calls_per_s: float | None
    bytes_per_s: float | None

    @classmethod
    def of(cls, data: Mapping[str, Any], size: int) -> Repeated:
        """Return what the compiled module tells of calls with messages of this size."""
        interval_s, isolated_s = (Statistics.of(data[name]) for name in ("intervals_s", "isolated_s"))
        calls_per_s = 1 / interval_s.mean if interval_s.mean > 0 else None
        bytes_per_s = None if calls_per_s is None else size * calls_per_s
        return cls(data["calls_s"], interval_s, isolated_s, data["hidden_share"], calls_per_s, bytes_per_s)


@dataclass(frozen=True)
class Simulation(Result):
    """The input and the result of a simulation: the keys that the compiled module returns, and `time_s`.

    Attributes:
        collective: The collective, or "schedule".
        algorithm: The algorithm, or the file of the schedule.
        ranks: Number of ranks.
        size_bytes: The message of the MPI call; 0 for a schedule.
        machine: The machine's name.
        engine: The engine that ran.
        measured_as: How a benchmark measures the time.
        seed: Seed of the random numbers.
        trials: Number of trials.
        time_s: Time when the last rank ended, over the trials; with a cadence, the mean time of its calls.
        messages: Number of messages of all ranks together.
        message_bytes: Bytes of these messages.
        formula_s: Time by the algorithm's formula, without noise, if it has one for this machine.
        formula_is_exact: Whether the formula is exact for this call.
        formula_is_bound: Whether the formula is an upper bound for this call; otherwise it is an approximation.
        parameters: Values of the algorithm's parameters.
        version: Version of Hocket.
        root: The root; 0 if the collective has none.
        neighbors: The neighbours in a neighbourhood collective, as in the call.
        element_bytes: Size of an element.
        in_place: Whether the input is in the result buffer.
        rank_time_s: The times when ranks ended: "min", "mean" and "max" over the ranks, each a mean over the trials.
        links: The load of links; None if messages do not share links.
        circuits: The use of circuits; None if there are none.
        steps: For an algorithm with steps on a machine with a topology: for each step "overlap", the number of messages
            that share the busiest link, and "gap_packets", the gap between two packets of a message in packet times.
        times_s: Time when the last rank ended, in each trial.
        arrivals: When the ranks began the call: the text, or the number of given times; None if all began together.
        arriving_s: With arrivals: the time from the first to the last arrival, in each trial.
        cadence: When the ranks began each of several calls; None if they made one call.
        repeated: The calls of the cadence; None without a cadence.
        faults: The faults of links, as texts.
        marks: When the last rank reached each mark, over the trials: after 0, 1, 2, ... of redundant exchanges. With
            arrivals they count from the last one, or are 0 before it; none with a cadence or another `measured_as`.
        marks_s: The same in each trial.
        events: The operations of each rank in the first trial, in order of rank and time, if kept.
        link_uses: The load of each used link in the first trial, if kept.
        passages: The load of links over time in the first trial, in order of links and starts, if kept.
        critical_path: The steps of the critical path of the first trial, in order of time, from a rank's arrival to the
            last end, if kept. If several paths are equally long, it is one of them, which prefers messages.
        measured_interval_s: Nine of ten measured calls of this kind would take a time between these two, by the
            discrepancy of the machine, around the mean time; None if the machine file says nothing of such calls.
        measured_ratio: A slower algorithm may be the faster one in measured calls, if it takes at most so many times as
            long; None without an interval.
        measured_ranks: On how many ranks at most such calls were measured.
    """

    collective: str
    algorithm: str
    ranks: int
    size_bytes: int
    machine: str
    engine: str
    measured_as: str
    arrivals: str | None
    cadence: str | None
    faults: tuple[str, ...]
    seed: int
    trials: int
    time_s: Statistics
    messages: int
    message_bytes: int
    formula_s: float | None
    formula_is_exact: bool
    formula_is_bound: bool
    parameters: dict[str, int | str]
    version: str
    root: int
    neighbors: str | None
    element_bytes: int
    in_place: bool
    rank_time_s: dict[str, float]
    links: Links | None
    circuits: Circuits | None
    steps: tuple[dict[str, float], ...]
    times_s: tuple[float, ...] = field(repr=False)
    marks: tuple[Statistics, ...]
    marks_s: tuple[tuple[float, ...], ...] = field(repr=False)
    arriving_s: tuple[float, ...] = field(repr=False)
    repeated: Repeated | None
    events: tuple[Event, ...] = field(default=(), repr=False)
    link_uses: tuple[LinkUse, ...] = field(default=(), repr=False)
    passages: tuple[Passage, ...] = field(default=(), repr=False)
    critical_path: tuple[Step, ...] = field(default=(), repr=False)
    measured_interval_s: tuple[float, float] | None = None
    measured_ratio: float | None = None
    measured_ranks: int | None = None

    @property
    def lateness_s(self) -> float | None:
        """The time from the first to the last arrival, as a mean over the trials; None if all ranks began together."""
        return sum(self.arriving_s) / len(self.arriving_s) if self.arriving_s else None

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data, without single trials and without what was kept of the first trial."""
        summary = replace(self, events=(), link_uses=(), passages=(), critical_path=())
        plain = {name: value for name, value in asdict(summary).items() if name not in _NOT_IN_DICTS}
        return {**plain, "lateness_s": self.lateness_s}

    @property
    def title(self) -> str:
        """The algorithm, ranks, size and machine."""
        size = f", {self.size}" if self.size_bytes else ""
        return f"{self.collective} {self.algorithm}, {format_count(self.ranks, 'rank')}{size}, machine {self.machine}"

    @property
    def size(self) -> str:
        """The size of the message, and of its elements where ranks combine them."""
        return format_bytes(self.size_bytes) + format_elements(self.collective, [self.element_bytes])

    def records(self) -> list[dict[str, Any]]:
        """Return the result as one row, without links, circuits, steps, marks and the times of repeated calls."""
        plain = {name: value for name, value in vars(self).items() if name not in _NOT_IN_ROWS}
        rank_times_s = {f"rank_time_{name}_s": time_s for name, time_s in self.rank_time_s.items()}
        own: dict[str, Any] = {"faults": join(self.faults), "lateness_s": self.lateness_s}
        interval_s = None if self.repeated is None else self.repeated.interval_s.mean
        if self.measured_interval_s is not None:
            own |= zip(("measured_low_s", "measured_high_s"), self.measured_interval_s, strict=True)
        return [
            {
                **plain,
                **own,
                "interval_s": interval_s,
                **self.time_s.columns(),
                **rank_times_s,
                **parameter_columns(self.parameters),
            }
        ]

    def plot(self) -> alt.LayerChart:
        """Return a chart of ranks over time if events were kept, or else of the times of all trials.

        Ranks over time show operations as bars and messages as lines, and the critical path if it was kept. Times of
        trials are a histogram, with the mean and its confidence interval.

        Raises:
            Error: For events: nothing takes time, or there are too many operations. For trials: there is only one, or
                all take the same time.
        """
        chart: alt.LayerChart = draw(self)
        return chart

    def _notebook_rows(self) -> list[dict[str, Any]]:
        (row,) = self.records()
        interval = ("time_interval_low_s", "time_interval_high_s") if self.trials > 1 else ()
        return [{name: row[name] for name in ("time_mean_s", *interval, "formula_s", "messages", "message_bytes")}]


def fastest_of(simulations: Sequence[Simulation]) -> list[Simulation]:
    """Return the simulation with the smallest mean and all that cannot be distinguished from it.

    They keep their order, but on a machine with discrepancies the one with the smallest mean comes first.
    """
    first = min(simulations, key=lambda one: one.time_s.mean)
    alike = [one for one in simulations if _are_alike(first, one)]
    return alike if first.measured_interval_s is None else sorted(alike, key=lambda one: one.time_s.mean)


def _are_alike(faster: Simulation, slower: Simulation) -> bool:
    """Return whether the measured order of two simulations may be the other one, or their intervals overlap."""
    if faster.measured_ratio is not None:
        return slower.time_s.mean <= faster.measured_ratio * faster.time_s.mean
    (first_s, second_s), (low_s, high_s) = faster.time_s.interval, slower.time_s.interval
    return low_s <= second_s and first_s <= high_s


_KEPT_FIELDS = ("events", "link_uses", "passages", "critical_path")
_NOT_IN_DICTS = frozenset(("times_s", "marks_s", "arriving_s", *_KEPT_FIELDS))
_NOT_IN_ROWS = _NOT_IN_DICTS.union(
    ("time_s", "rank_time_s", "parameters", "links", "circuits", "steps", "marks", "repeated"),
    ("measured_interval_s", "measured_ranks"),
)


def simulate(
    what: Algorithm | Schedule | str,
    call: Call | None = None,
    *,
    machine: MachineLike = "cluster",
    engine: Engine = "auto",
    measured_as: MeasuredAs = "isolated",
    arrivals: Arrivals | None = None,
    cadence: str | None = None,
    faults: Faults | None = None,
    scene: SceneLike | None = None,
    trials: Trials = ONE_TRIAL,
    keep: Iterable[Detail] = (),
    on_trials: OnTrials | None = None,
) -> Simulation:
    """Simulate a call of an algorithm, or a schedule, on a machine.

    Args:
        what: An algorithm, its label such as "allreduce/ring", or a recorded schedule.
        call: The call; None for a schedule, which already is a call.
        machine: A machine, the name of a preset, or the path of a machine file.
        engine: The engine that keeps virtual time.
        measured_as: How a benchmark measures the time, see `MeasuredAs`. Messages and kept events include those of the
            barrier, or of all calls of a loop.
        arrivals: When the ranks begin the call; by default, at the same time. The time of the call then counts
            from the last arrival, and the time of a rank from its own arrival.
        cadence: When the ranks begin each of several calls: "16 calls" back to back, "16 calls, every 100 us", "16
            calls, 4 at a time" or "16 calls, every 100 us, 2 at a time"; by default they make one call. Messages, links
            and kept events are those of all calls.
        faults: Links that are slow or down for a time, such as "link 0 -> 1, 20..80 us, 10 %" or "node 3, 0 us..,
            down", on a machine with a topology.
        scene: A scene, or the path of a scene file, instead of arrivals, a cadence or faults.
        trials: The trials on a machine with noise, or with arrivals that are drawn.
        keep: What to keep of the first trial: "events", the operations of each rank; "links", the load of each link;
            "passages", the load of links over time; and "critical_path", the chain of operations and messages that
            determines the time of a single call on a machine without circuits.
        on_trials: Called now and then with the number of finished trials.

    Raises:
        Error: The algorithm or machine is unknown; the algorithm refuses the call; there is a deadlock; a fault is not
            understood, or a message waits for ever for a link that is down; the engine does not apply; ranks, messages
            or trials do not fit into memory; links are to be kept although messages share none; or there are passages
            of circuits, or more than a million passages.

    Examples:
        >>> import hocket
        >>> found = hocket.simulate("allreduce/ring", hocket.Call(ranks=4, size_bytes=4096))
        >>> found.messages
        24
    """
    combined = as_scene(scene).with_parts(arrivals=arrivals, cadence=cadence, faults=faults)
    return plan(
        what,
        call,
        machine=as_machine(machine),
        engine=engine,
        measured_as=measured_as,
        scene=combined,
        trials=trials,
        keep=keep,
    ).run(on_trials)


def simulate_until(
    what: Algorithm | Schedule | str,
    call: Call | None = None,
    *,
    until_s: float,
    machine: MachineLike = "cluster",
    engine: Engine = "auto",
    faults: Faults | None = None,
    trials: Trials = ONE_TRIAL,
) -> Simulation | Later:
    """Simulate an isolated call that all ranks begin together, with a deadline.

    Args:
        what: An algorithm, its label such as "allreduce/ring", or a recorded schedule.
        call: The call; None for a schedule, which already is a call.
        until_s: The deadline, in seconds of virtual time. If the call takes longer, in any trial, the simulation ends
            soon after the deadline.
        machine: A machine, the name of a preset, or the path of a machine file.
        engine: The engine that keeps virtual time.
        faults: Links that are slow or down for a time; see `hocket.simulate`.
        trials: The trials on a machine with noise.

    Raises:
        Error: As `hocket.simulate`, or the deadline is not a number of seconds.

    Examples:
        >>> import hocket
        >>> call = hocket.Call(ranks=4, size_bytes=4096)
        >>> hocket.simulate("allreduce/ring", call).time_s.mean
        6.9216e-06
        >>> hocket.simulate_until("allreduce/ring", call, until_s=5e-6)
        Later(until_s=5e-06)
    """
    deadline_s = number("until_s", until_s, "seconds, 0 or more", is_right=lambda seconds: seconds >= 0)
    scene = Scene().with_parts(faults=faults)
    request = plan(what, call, machine=as_machine(machine), engine=engine, scene=scene, trials=trials)
    return request.run_until(deadline_s)


@dataclass(frozen=True)
class Plan:
    """A simulation that is planned: its request, an object of the compiled module, has been checked."""

    request: _native.Request
    algorithm: Algorithm
    machine: Machine

    @property
    def effort_s(self) -> float:
        """The estimated seconds on one core, right to a factor of about three; 0 if unknown.

        They are unknown for an algorithm written in Python, and for a schedule. Only the trials count that run in any
        case: with `until_interval`, the first 64.
        """
        return self.request.effort_s

    @property
    def messages(self) -> float:
        """The number of messages of a call, by the formula of its algorithm; 0 if unknown, as `effort_s`."""
        return self.request.messages

    def run(self, on_trials: OnTrials | None = None) -> Simulation:
        """Simulate; see `simulate`."""
        callback = None if on_trials is None else function("on_trials", on_trials)
        return simulation_of(guard(self.algorithm, lambda: self.request.simulate(callback)), self.machine)

    def run_until(self, until_s: float) -> Simulation | Later:
        """Simulate with a deadline; see `simulate_until`."""
        answer = guard(self.algorithm, lambda: self.request.simulate_until(until_s))
        return Later(until_s) if answer is None else simulation_of(answer, self.machine)


def plan(
    what: Algorithm | Schedule | str,
    call: Call | None = None,
    *,
    machine: Machine,
    engine: Engine = "auto",
    measured_as: MeasuredAs = "isolated",
    scene: Scene = NO_SCENE,
    trials: Trials = ONE_TRIAL,
    keep: Iterable[Detail] = (),
) -> Plan:
    """Return a planned simulation; see `simulate`."""
    if isinstance(what, Schedule):
        _check_schedule(measured_as, scene.cadence)
    how = how_request(machine, engine, measured_as, scene, trials, keep)
    if (how["links"] or how["passages"]) and machine.topology is None:
        name = "links" if how["links"] else "passages"
        raise Error(f"{name}: machine {machine.name} has no topology, expected a machine with a topology")
    if isinstance(what, Schedule):
        if call is not None:
            raise Error("call: expected None, as a schedule describes one call")
        name = text("schedule: name", what.name)
        content = instance("schedule: content", what.content, _native.Schedule, "that of another schedule")
        request = _native.Request.of_schedule(machine.handle, content, name, how)
        return Plan(request, Algorithm("schedule", name), machine)
    algorithm = as_algorithm(what)
    call_request, own = request_of(algorithm, instance("call", call, Call, "hocket.Call"))
    request = guard(algorithm, lambda: _native.Request(machine.handle, call_request, own, how))
    return Plan(request, algorithm, machine)


def how_request(
    machine: Machine, engine: Engine, measured_as: MeasuredAs, scene: Scene, trials: Trials, keep: Iterable[Detail]
) -> dict[str, Any]:
    """Return how to simulate, in the form of the compiled module; an Error says which value is wrong."""
    names = (keep,) if isinstance(keep, str) else several("keep", keep, str, "names of what to keep")
    kinds = {among("keep", name, get_args(Detail)) for name in names}
    return {
        "engine": among("engine", engine, get_args(Engine)),
        **scene.as_request(among("measured_as", measured_as, get_args(MeasuredAs))),
        "trials": trials_request(trials),
        **{name: name in kinds for name in get_args(Detail)},
        "path": (machine.handle, [*map(scaled, ("latency", "overhead"))]) if "critical_path" in kinds else None,
    }


def _check_schedule(measured_as: MeasuredAs, cadence: str | None) -> None:
    if measured_as != "isolated":
        raise Error(f"measured_as: got {quote(measured_as)}, expected 'isolated', as a schedule describes one call")
    if cadence is not None:
        raise Error(f"cadence: got {quote(cadence)}, expected none, as a schedule describes one call")


def trials_request(trials: Trials) -> dict[str, Any]:
    """Return trials in the form of the compiled module; an Error says which value is wrong, and what was expected."""
    threads = instance("trials", trials, Trials, "hocket.Trials").threads
    thread_count = processors() if threads is None else whole("threads", threads)
    if thread_count == 0:
        raise Error("threads: got 0, expected at least 1, or None for one per processor")
    width = trials.until_interval
    return {
        "count": whole("trials", trials.count),
        "seed": whole("seed", trials.seed, limit=1 << 64),
        "until_interval": None if width is None else share("until_interval", width, "a share between 0 and 1, or None"),
        "threads": thread_count,
        "first": whole("first trial", trials.first),
    }


def simulation_of(data: Mapping[str, Any], machine: Machine) -> Simulation:
    """Return an answer of the compiled module as an object, with the interval that the machine's discrepancies give."""
    repeated = data["repeated"]
    classes = {"events": Event, "link_uses": LinkUse, "passages": Passage}
    own = {
        "critical_path": tuple(Step(**{**step, "event": Event(**step["event"])}) for step in data["critical_path"]),
        "repeated": None if repeated is None else Repeated.of(repeated, data["size_bytes"]),
        "marks": tuple(map(Statistics.of, data["marks_s"])),
        **{name: tuple(of(**row) for row in data[name]) for name, of in classes.items()},
    }
    result = Simulation(**{**data, **values_of(data), **own})
    if result.arrivals or result.cadence or result.collective == "schedule":
        return result
    kinds, mean_s = machine.discrepancies, result.time_s.mean
    kind = discrepancy_of(kinds, result.collective, result.algorithm, result.size_bytes, ranks=result.ranks)
    if kind is None:
        return result
    ratio = ratio_of(kinds, result.collective, result.size_bytes, ranks=result.ranks)
    interval_s = kind.low * mean_s, kind.high * mean_s
    return replace(result, measured_interval_s=interval_s, measured_ratio=ratio, measured_ranks=kind.ranks)


def values_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statistics, links and circuits of an answer of the compiled module, as objects of their classes."""
    links, circuits = data["links"], data["circuits"]
    return {
        "time_s": Statistics.of(data["times_s"]),
        "links": None if links is None else Links(**links),
        "circuits": None if circuits is None else Circuits(**circuits),
    }
