"""Explaining the time of a call: its critical path, and changes that would shorten it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.results import Result
from hocket.base.units import format_choice
from hocket.definitions.calls import algorithms_for
from hocket.definitions.library import Algorithm, algorithms, as_algorithm
from hocket.definitions.machine import Machine, MachineLike, as_machine
from hocket.definitions.variants import halve, quiet, with_more_ports
from hocket.simulating.arrivals import Arrivals
from hocket.simulating.bounds import Bound, bounds_by_size
from hocket.simulating.collisions import Collisions, collisions_of, may_collide, other_routings
from hocket.simulating.effort import simulation_s
from hocket.simulating.faults import Faults, as_faults
from hocket.simulating.operations import PARTS, Step, total
from hocket.simulating.question import Contender, Question
from hocket.simulating.race import compare, of_algorithm
from hocket.simulating.scenes import Scene, SceneLike, as_scene
from hocket.simulating.simulation import ONE_TRIAL, Engine, Simulation, Trials, simulate

MOST_FASTER = 5  # so many faster algorithms are named
_MOST_TIMES, _SHORT_S = 10, 5.0
"""A routing or an algorithm is left out if its simulation takes, by estimates, more than so many times as long as that
of the call, and more than so many seconds."""
_REMEDIES: tuple[tuple[str, Callable[[Machine], Machine | None]], ...] = (
    ("half the latency", partial(halve, kind="latency")),
    ("twice the bandwidth", partial(halve, kind="bandwidth")),
    ("half the overheads", partial(halve, kind="overhead")),
    ("computation twice as fast", partial(halve, kind="computation")),
    ("twice the ports", with_more_ports),
    ("no noise", quiet),
)


@dataclass(frozen=True)
class Remedy:
    """A change, and the time of the call with the change.

    Attributes:
        change: A change of the machine, such as "half the latency"; or the name of another algorithm.
        time_s: The simulated time of the call with the change, in seconds.
        parameters: Values of the other algorithm's parameters, as far as they are not its defaults.
    """

    change: str
    time_s: float
    parameters: Mapping[str, int | str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The change, and values of parameters: "circulant segment=32768"."""
        return format_choice(self.change, self.parameters.items())


@dataclass(frozen=True)
class Explanation(Result):
    """The parts of the time of a call; `plot` draws ranks over time, with the critical path in red.

    Attributes:
        simulation: The simulation, with the operations of each rank over time.
        bound: The lower bound; None with late ranks, or if it is not known how long bytes take.
        remedies: The call on changed machines.
        faster: The fastest algorithms of the catalogue that are faster on this machine, at most `MOST_FASTER`.
        collisions: Flows that share a link while a parallel one has fewer; None if there are none, or if messages do
            not share links at equal rates, each on one way.
    """

    simulation: Simulation
    bound: Bound | None
    remedies: tuple[Remedy, ...]
    faster: tuple[Remedy, ...]
    collisions: Collisions | None = None
    left_out_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title of the simulation."""
        return self.simulation.title

    @property
    def steps(self) -> tuple[Step, ...]:
        """The critical path, in order of time."""
        return self.simulation.critical_path

    @property
    def time_s(self) -> float:
        """End of the last rank after the last arrival, in seconds."""
        return self.simulation.times_s[0]

    @property
    def path_s(self) -> float:
        """The length of the critical path: the time of the call, unless another rank than the last begins it."""
        return self.steps[-1].end_s - self.steps[0].start_s if self.steps else 0.0

    @property
    def parts_s(self) -> dict[str, float]:
        """The parts of the path in seconds, by the names of `hocket.simulating.operations.PARTS`."""
        return total(self.steps)

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data, with only the operations on the critical path."""
        return {
            "simulation": self.simulation.as_dict(),
            "parts_s": self.parts_s,
            "steps": [asdict(step) for step in self.steps],
            "bound": self.bound and {**asdict(self.bound), "time_s": self.bound.time_s},
            "remedies": [asdict(remedy) for remedy in self.remedies],
            "faster": [asdict(remedy) for remedy in self.faster],
            "collisions": self.collisions and asdict(self.collisions),
            "left_out_s": self.left_out_s,
        }

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each of `steps`: its operation, its start, and the parts of its time."""
        return [
            {
                **vars(step.event),
                "from_rank": step.from_rank,
                "start_s": step.start_s,
                **{f"{part}_s": step.parts_s.get(part, 0.0) for part in PARTS},
            }
            for step in self.steps
        ]

    def _notebook_rows(self) -> list[dict[str, Any]]:
        return [
            {"on_the_critical_path": part, "time_s": time_s, "share": time_s / self.path_s}
            for part, time_s in self.parts_s.items()
            if time_s > 0
        ]


def explain(
    algorithm: Algorithm | str,
    call: Call,
    *,
    machine: MachineLike = "cluster",
    engine: Engine = "auto",
    arrivals: Arrivals | None = None,
    faults: Faults | None = None,
    scene: SceneLike | None = None,
    trials: Trials = ONE_TRIAL,
    among: Iterable[Algorithm] | None = None,
) -> Explanation:
    """Explain the time of a call on a machine, and find changes that would shorten it.

    Algorithms and routings are left out that take much longer to simulate than the call: see `Explanation.left_out_s`.

    Args:
        algorithm: An algorithm, or its label such as "allreduce/ring".
        call: The call.
        machine: A machine, the name of a preset, or the path of a machine file.
        engine: The engine that keeps virtual time.
        arrivals: When the ranks begin the call; see `hocket.simulate`.
        faults: Links that are slow or down for a time; see `hocket.simulate`.
        scene: A scene without a cadence, or the path of a scene file, instead of arrivals or faults.
        trials: Only the first trial is explained; the seed chooses its noise, and arrivals that are drawn.
        among: The algorithms to compare with; by default the catalogue.

    Raises:
        Error: As `hocket.simulate`; or the machine has circuits, or the scene a cadence.

    Examples:
        A message of a binomial broadcast takes 1 us and its bytes; three follow each other.

        >>> import hocket
        >>> found = hocket.explain("broadcast/binomial", hocket.Call(ranks=8, size_bytes=10000))
        >>> f"{found.parts_s['latency'] * 1e6:.1f} us + {found.parts_s['bandwidth'] * 1e6:.1f} us"
        '3.0 us + 3.0 us'
    """
    loaded_machine, loaded_algorithm = as_machine(machine), as_algorithm(algorithm)
    whole_scene = as_scene(scene).with_parts(arrivals=arrivals, faults=faults)
    one_trial = Trials(count=1, seed=trials.seed)
    run = partial(simulate, loaded_algorithm, call, engine=engine, trials=one_trial)
    simulation = run(machine=loaded_machine, scene=whole_scene, keep=["events", "critical_path"])
    work = _Work(loaded_algorithm, call, loaded_machine, among)
    collisions = _collisions(work, partial(run, scene=whole_scene))
    routings_s = {f'routing = "{name}"': each_s for name, each_s in work.left_out_routings_s.items() if collisions}
    bounds = {} if whole_scene.starts else bounds_by_size(loaded_algorithm.collective, [call], loaded_machine)
    return Explanation(
        simulation,
        bounds.get(call.size_bytes),
        tuple(_remedies(run, loaded_machine, whole_scene)),
        tuple(_faster(work, whole_scene, simulation.times_s[0], one_trial)),
        collisions,
        work.left_out_s | routings_s,
    )


def effort_s(algorithm: Algorithm, call: Call, *, machine: Machine, among: Iterable[Algorithm] | None = None) -> float:
    """Return the estimated seconds of an explanation on one core."""
    return _Work(algorithm, call, machine, among).effort_s


class _Work:
    """What is simulated besides the call itself and remedies, with estimates in seconds."""

    def __init__(self, algorithm: Algorithm, call: Call, machine: Machine, among: Iterable[Algorithm] | None) -> None:
        self.call, self.machine = call, machine
        own_effort_s = partial(simulation_s, algorithm, of_algorithm(algorithm, call))
        own_s = own_effort_s(machine=machine)
        others = algorithms_for(machine, algorithms(algorithm.collective, among=among))
        candidates = list(dict.fromkeys([algorithm, *others]))
        cells = [Contender(0, each, of_algorithm(each, call)) for each in candidates]
        efforts_s = Question(machine, cells, places=MOST_FASTER).efforts_s()
        algorithms_s = {one.name: each_s for one, each_s in zip(candidates, efforts_s, strict=True)}
        routings = other_routings(machine)
        routings_s = {name: own_effort_s(machine=other) for name, other in routings.items()}
        most_s = max(_SHORT_S, _MOST_TIMES * own_s)
        self.left_out_s, self.left_out_routings_s = (
            {name: each_s for name, each_s in all_s.items() if each_s > most_s} for all_s in (algorithms_s, routings_s)
        )
        short_s = (each_s for each_s in (*algorithms_s.values(), *routings_s.values()) if each_s <= most_s)
        self.effort_s = (2 + len(_REMEDIES)) * own_s + sum(short_s)
        self.algorithms = [one for one in candidates if one.name not in self.left_out_s]
        self.routings = {name: other for name, other in routings.items() if name not in self.left_out_routings_s}


def _collisions(work: _Work, run: Callable[..., Simulation]) -> Collisions | None:
    """Return the collisions of the call; None where there are none, or more passages than are kept."""
    collisions, times_s = None, dict[str, float]()
    with suppress(Error):
        if may_collide(work.machine):
            collisions = collisions_of(work.machine, run(machine=work.machine, keep=["passages"]).passages)
    for routing, machine in work.routings.items() if collisions else ():
        with suppress(Error):  # with which the call cannot end
            times_s[routing] = run(machine=machine).times_s[0]
    return collisions and replace(collisions, times_s=times_s)


def _remedies(run: Callable[..., Simulation], machine: Machine, scene: Scene) -> Iterator[Remedy]:
    """Give the call on changed machines, and without each fault; leave out changes with which it cannot end."""
    faults = as_faults(scene.faults)
    machines = ((change, make(machine), scene) for change, make in _REMEDIES)
    scenes = (
        (f"without {fault}", machine, replace(scene, faults=[*faults[:number], *faults[number + 1 :]]))
        for number, fault in enumerate(faults)
    )
    for change, changed_machine, changed_scene in (*machines, *scenes):
        if changed_machine is not None:
            with suppress(Error):
                yield Remedy(change, run(machine=changed_machine, scene=changed_scene).times_s[0])


def _faster(work: _Work, scene: Scene, time_s: float, trials: Trials) -> list[Remedy]:
    """Return the faster algorithms; they have the parameters of the call that they declare, and others by formula."""
    if not work.algorithms:
        return []
    comparison = compare(
        work.algorithms, [work.call], machine=work.machine, scene=scene, trials=trials, first_places=MOST_FASTER
    )
    defaults = {(one.name, each.name): each.default for one in work.algorithms for each in one.parameters}
    times = []
    for one in comparison.simulations:
        values = {name: value for name, value in one.parameters.items() if value != defaults[one.algorithm, name]}
        times.append(Remedy(one.algorithm, one.times_s[0], values))
    return sorted((one for one in times if one.time_s < time_s), key=lambda one: one.time_s)[:MOST_FASTER]
