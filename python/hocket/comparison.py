"""Which algorithm is fastest for which size."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby

from hocket._native import Error
from hocket.call import Call
from hocket.checks import function, several, whole
from hocket.library import Algorithm, as_algorithm
from hocket.machine import Machine
from hocket.parallel import do_all, ignore
from hocket.requests import declared_by
from hocket.simulation import ONE_TRIAL, Engine, MachineLike, Simulation, Trials, as_machine, simulate

__all__ = ["Best", "Comparison", "NotCompared", "compare"]


@dataclass(frozen=True)
class NotCompared:
    """An algorithm that did not take a size, and why."""

    algorithm: str
    size_bytes: int
    sentence: str


@dataclass(frozen=True)
class Best:
    """Neighbouring sizes for which the same algorithms are fastest."""

    first_bytes: int
    last_bytes: int
    algorithms: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Algorithms for one collective, simulated at the same sizes.

    Attributes:
        collective: The collective.
        ranks: Number of ranks.
        machine: The machine.
        parameters: For people, the values of the parameters of each algorithm that takes some.
        simulations: What was found, by size and then by algorithm.
        not_compared: What could not be simulated.
    """

    collective: str
    ranks: int
    machine: Machine
    parameters: dict[str, str]
    simulations: tuple[Simulation, ...]
    not_compared: tuple[NotCompared, ...]

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms that were simulated, in the order given."""
        return tuple(dict.fromkeys(s.algorithm for s in self.simulations))

    @property
    def sizes_bytes(self) -> tuple[int, ...]:
        """The sizes, in the order given."""
        return tuple(dict.fromkeys(s.size_bytes for s in self.simulations))

    @cached_property
    def times_s(self) -> dict[tuple[int, str], float]:
        """Mean time by size and algorithm."""
        return {(s.size_bytes, s.algorithm): s.time_s.mean for s in self.simulations}

    def fastest(self, size_bytes: int) -> tuple[str, ...]:
        """Return the algorithms of the smallest mean time at a size; several when they tie.

        Raises:
            Error: The size was not compared.
        """
        if whole("size_bytes", size_bytes) not in self.sizes_bytes:
            sizes = ", ".join(map(str, self.sizes_bytes))
            raise Error(f"size_bytes: got {size_bytes}, expected one of those compared: {sizes}")
        times_s = {a: self.times_s[size_bytes, a] for a in self.algorithms if (size_bytes, a) in self.times_s}
        least_s = min(times_s.values())
        return tuple(algorithm for algorithm, time_s in times_s.items() if time_s == least_s)

    def best(self) -> tuple[Best, ...]:
        """Return the fastest algorithms, one entry for each range of sizes."""
        ranges = (tuple(group) for _, group in groupby(sorted(self.sizes_bytes), key=self.fastest))
        return tuple(Best(sizes[0], sizes[-1], self.fastest(sizes[0])) for sizes in ranges)


def compare(
    algorithms: Iterable[Algorithm | str],
    calls: Sequence[Call],
    *,
    machine: MachineLike = "cluster",
    engine: Engine = "auto",
    trials: Trials = ONE_TRIAL,
    executor: Executor | None = None,
    on_done: Callable[[], object] = ignore,
) -> Comparison:
    """Simulate several algorithms for one collective on calls that differ in size.

    Args:
        algorithms: The algorithms, as `hocket.algorithms("allreduce")` gives them, or their labels.
        calls: The calls. Each algorithm takes the parameters that it declares.
        machine: A machine, the name of a preset, or the path of a machine file.
        engine: How to keep virtual time.
        trials: How often, on a machine with noise; the same seed for all.
        executor: Who does the work; one thread per processor by default.
        on_done: Called after each simulation.

    Raises:
        Error: An unknown algorithm or machine, algorithms for different collectives, calls of different rank counts, or
            calls that none of the algorithms takes.
    """
    candidates = tuple(map(as_algorithm, several("algorithms", algorithms, Algorithm | str, "algorithms or labels")))
    calls = several("calls", calls, Call, "hocket.Call")
    function("on_done", on_done)
    _only_one("collectives", {algorithm.collective for algorithm in candidates})
    _only_one("rank counts", {whole("ranks", call.ranks) for call in calls})
    machine = as_machine(machine)
    tasks = [(algorithm, call) for call in calls for algorithm in candidates]
    work = partial(_try_to_simulate, machine=machine, engine=engine, trials=trials)
    results = do_all(work, tasks, executor=executor, on_done=lambda *_: on_done())
    simulations = tuple(r for r in results if isinstance(r, Simulation))
    not_compared = tuple(r for r in results if isinstance(r, NotCompared))
    if not simulations:
        raise Error(not_compared[0].sentence if not_compared else "nothing to compare, expected algorithms and sizes")
    values = {found.algorithm: found.parameters for found in simulations if found.parameters}
    return Comparison(
        collective=simulations[0].collective,
        ranks=simulations[0].ranks,
        machine=machine,
        parameters={a.name: a.format(values[a.name]) for a in candidates if a.name in values},
        simulations=simulations,
        not_compared=not_compared,
    )


def _only_one(what: str, found: Collection[object]) -> None:
    if len(found) > 1:
        raise Error(f"got several {what} ({', '.join(sorted(map(str, found)))}), expected one to compare within")


def _try_to_simulate(
    task: tuple[Algorithm, Call], *, machine: Machine, engine: Engine, trials: Trials
) -> Simulation | NotCompared:
    algorithm, call = task
    mine = replace(call, parameters=declared_by(algorithm, call.parameters))
    try:
        return simulate(algorithm, mine, machine=machine, engine=engine, trials=trials)
    except Error as error:
        return NotCompared(algorithm.name, call.size_bytes, str(error))
