"""Comparisons of algorithms: which one is fastest at each size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

from hocket._native import Error
from hocket.base.checks import number, whole
from hocket.base.packages import alt
from hocket.base.results import NoTime, Place, Result, draw, places
from hocket.base.units import format_count, from_to
from hocket.definitions.library import Algorithm, all_bytes, find, format_elements, other_values
from hocket.definitions.machine import Machine
from hocket.rules.tuning_files.counterparts import programs_of_libraries
from hocket.simulating.bounds import Bound
from hocket.simulating.ranking import Best, Default, Loss, MeasuredTime
from hocket.simulating.simulation import Simulation, fastest_of

WITHIN = 0.05  # the usual share by which the algorithms of an answer may be slower than the fastest


@dataclass(frozen=True)
class Use:
    """An algorithm for a range of sizes."""

    algorithm: str
    first_bytes: int
    last_bytes: int  # included
    slower: float  # how much slower than the fastest it is at most, as a share
    parameters: Mapping[int, Mapping[str, int | str]]  # values other than the defaults, by size


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Algorithms for one collective, simulated at the same sizes.

    Attributes:
        collective: The collective.
        ranks: Number of ranks.
        machine: The machine.
        parameters: Values of parameters as text, for each algorithm that has some; of values that differ between sizes,
            each with the first size that it is for.
        bounds: Lower bounds by size, where they are known.
        simulations: The simulations, by size and then by algorithm.
        not_compared: Algorithms and sizes that could not be simulated.
        missing: The sizes and algorithms or libraries that are still to be simulated, while a comparison runs.
        defaults: The default choices of libraries, by size and then by library, as far as known.
        not_verified: The user's programs that refuse all of the few rank counts at which programs are verified first.
        measured: Measured times of this collective on as many ranks, beside simulated ones; by algorithm and size.
        faults: The faults of links, as texts.
        without_faults: With faults: the simulations without them, by size and then by algorithm.
        too_late: The time of the last place that matters, by sizes and algorithms that are later.
        elements_bytes: The sizes of the elements of all calls.
    """

    collective: str
    ranks: int
    machine: Machine
    parameters: dict[str, str]
    bounds: Mapping[int, Bound]
    simulations: tuple[Simulation, ...]
    not_compared: tuple[NoTime, ...]
    missing: tuple[tuple[int, str], ...] = ()
    defaults: tuple[Default, ...] = ()
    not_verified: tuple[str, ...] = ()
    measured: tuple[MeasuredTime, ...] = ()
    faults: tuple[str, ...] = ()
    without_faults: tuple[Simulation, ...] = ()
    too_late: Mapping[tuple[int, str], float] = field(default_factory=dict)
    elements_bytes: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """The collective, ranks, elements and machine."""
        elements = format_elements(self.collective, self.elements_bytes)
        return f"{self.collective} on {format_count(self.ranks, 'rank')}{elements}, machine {self.machine.name}"

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms that were simulated, in the order given."""
        return tuple(dict.fromkeys(s.algorithm for s in self.simulations))

    @property
    def sizes_bytes(self) -> tuple[int, ...]:
        """The sizes, in the order given."""
        return tuple(dict.fromkeys(s.size_bytes for s in self.simulations))

    @cached_property
    def finished_bytes(self) -> tuple[int, ...]:
        """The sizes at which every simulation is finished."""
        sizes_unfinished = {size_bytes for size_bytes, _ in self.missing}
        return tuple(size_bytes for size_bytes in self.sizes_bytes if size_bytes not in sizes_unfinished)

    @cached_property
    def times_s(self) -> dict[tuple[int, str], float]:
        """Mean time by size and algorithm."""
        return {(s.size_bytes, s.algorithm): s.time_s.mean for s in self.simulations}

    def losses(self, size_bytes: int) -> tuple[Loss, ...]:
        """Return what each algorithm loses by the faults at a size, the fastest with faults first.

        Algorithms that cannot end with the faults come last.
        """
        names_unfinished = {name for size, name in self.missing if size == size_bytes}
        all_losses = [
            Loss(one.algorithm, one.time_s.mean, self.times_s.get((size_bytes, one.algorithm)))
            for one in self.without_faults
            if one.size_bytes == size_bytes and one.algorithm not in names_unfinished
        ]
        return tuple(sorted(all_losses, key=lambda loss: math.inf if loss.time_s is None else loss.time_s))

    @property
    def trials(self) -> str:
        """The number of trials, such as "16 to 256 trials, seed 0"."""
        counts = [simulation.trials for simulation in self.simulations]
        several = "" if min(counts) == max(counts) else f"{min(counts)} to "
        return f"{several}{format_count(max(counts), 'trial')}, seed {self.simulations[0].seed}"

    @property
    def with_intervals(self) -> bool:
        """Whether some times are means of several trials."""
        return any(simulation.trials > 1 for simulation in self.simulations)

    def fastest(self, size_bytes: int) -> tuple[str, ...]:
        """Return the algorithm with the smallest mean time at a size, and all that cannot be distinguished from it.

        On a machine with discrepancies, these are the algorithms that may be the fastest in measured calls, as the
        ratio of two measured times is not that of the simulated ones. They come in the order of their mean times.
        Otherwise their 95 % intervals of the mean overlap, or without noise their times are equal.

        Raises:
            Error: The size was not compared.
        """
        if whole("size_bytes", size_bytes) not in self.sizes_bytes:
            sizes = ", ".join(map(str, self.sizes_bytes))
            raise Error(f"size_bytes: got {size_bytes}, expected one of the compared sizes: {sizes}")
        matches = [simulation for simulation in self.simulations if simulation.size_bytes == size_bytes]
        return tuple(simulation.algorithm for simulation in fastest_of(matches))

    def places(self, size_bytes: int) -> tuple[Place, ...]:
        """Return the first place, the second and so on at a size by simulated time, as far as they are known.

        Raises:
            Error: The size was not compared.
        """
        fastest = self.fastest(size_bytes)
        times_s = {a: time_s for (size, a), time_s in self.times_s.items() if size == size_bytes}
        if self.machine.discrepancies:
            least_s = min(times_s.values())
            fastest = tuple(name for name in fastest if times_s[name] == least_s)
        return places(times_s, fastest)

    def reach(self, size_bytes: int) -> float | None:
        """Return half the width of the fastest time's 95 % interval, as a share of this time; None if it is zero."""
        name = self.fastest(size_bytes)[0]
        (time_s,) = (s.time_s for s in self.simulations if (s.size_bytes, s.algorithm) == (size_bytes, name))
        return time_s.reach if time_s.mean > 0 else None

    def times_the_bound(self, size_bytes: int) -> float | None:
        """Return the fastest time at a size as a multiple of the lower bound; None if the bound is zero or unknown."""
        bound = self.bounds.get(size_bytes)
        if bound is None or bound.time_s == 0:
            return None
        return min(self.times_s[size_bytes, a] for a in self.fastest(size_bytes)) / bound.time_s

    def times_the_fastest(self, default: Default) -> float | None:
        """Return the time of a library's choice as a multiple of the fastest time; None if it is unknown."""
        if default.size_bytes not in self.finished_bytes:
            return None
        least_s = min(self.times_s[default.size_bytes, a] for a in self.fastest(default.size_bytes))
        return default.time_s / least_s if default.time_s is not None and least_s > 0 else None

    def best(self) -> tuple[Best, ...]:
        """Return the fastest algorithms for each range of finished sizes."""
        ranges = (tuple(group) for _, group in groupby(sorted(self.finished_bytes), key=self.fastest))
        return tuple(Best(sizes[0], sizes[-1], self.fastest(sizes[0])) for sizes in ranges)

    def answer(self, *, within: float = WITHIN) -> tuple[Use, ...]:
        """Return the fewest algorithms and ranges of sizes that are at most this share slower than the fastest.

        Of several such answers, it is one with algorithms that MPI libraries have, then with fewer parameters, then
        with less time. It is empty as long as no size is finished.

        Raises:
            Error: It is no share.
        """
        number("within", within, "a share, from 0 to less than 1", is_right=lambda share: 0 <= share < 1)
        runs: dict[int, dict[str, Simulation]] = {size_bytes: {} for size_bytes in sorted(self.finished_bytes)}
        for one in self.simulations:
            if one.size_bytes in runs:
                runs[one.size_bytes][one.algorithm] = one
        slower = {size_bytes: _slower(of_size, within) for size_bytes, of_size in runs.items()}
        names = fewest_changes(list(slower.values()), self.collective)
        uses = []
        for name, group in groupby(zip(runs, names, strict=True), key=lambda pair: pair[1]):
            sizes = [size_bytes for size_bytes, _ in group]
            parameters = {size_bytes: _parameters(runs[size_bytes][name]) for size_bytes in sizes}
            most = max(slower[size_bytes][name] for size_bytes in sizes)
            uses.append(Use(name, sizes[0], sizes[-1], most, parameters))
        return tuple(uses)

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each simulation, by size and then by algorithm; see `Simulation.records`."""
        return [row for simulation in self.simulations for row in simulation.records()]

    def plot(self, *, most: int | None = 10, within: float = WITHIN) -> alt.LayerChart:
        """Return a chart of time over size: the algorithms of the answer in colour, others grey, and the lower bound.

        Args:
            most: How many lines of algorithms to draw: those that come nearest to the fastest at some size. None draws
                all.
            within: How much slower than the fastest the algorithms of the answer may be, as a share.

        Raises:
            Error: No simulation has a size and a time above zero, or as `answer`.
        """
        chart: alt.LayerChart = draw(self, most=most, within=within)
        return chart

    def __repr__(self) -> str:
        """Return the title, and the fastest algorithms for each range of sizes."""
        best = (f"{from_to(one.first_bytes, one.last_bytes)}: {' = '.join(one.algorithms)}" for one in self.best())
        return "\n".join([f"<Comparison: {self.title}>", *(f"  {line}" for line in best)])

    def _notebook_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "size_bytes": size,
                "fastest": " = ".join(self.fastest(size)),
                "time_s": self.times_s[size, self.fastest(size)[0]],
                "times_the_bound": self.times_the_bound(size),
            }
            for size in self.finished_bytes
        ]


def _slower(runs: Mapping[str, Simulation], within: float) -> dict[str, float]:
    """Return the algorithms that are fast enough at a size, with how much slower than the fastest they are."""
    least_s = min(one.time_s.mean for one in runs.values())
    shares = {name: one.time_s.mean / least_s - 1 if least_s > 0 else 0.0 for name, one in runs.items()}
    return {name: share for name, share in shares.items() if share <= within + 1e-9}


def fewest_changes(choices: Sequence[Mapping[str, float]], collective: str) -> list[str]:
    """Return one name of each choice, such that few differ from the one before, and of those the ones preferred."""
    of_libraries = programs_of_libraries(collective)

    def cost(name: str, share: float) -> tuple[int, int, float]:
        algorithm = algorithm_if_known(collective, name)
        return name not in of_libraries, len(algorithm.parameters) if algorithm else 0, share

    best: dict[str, tuple[tuple[float, ...], list[str]]] = {}
    for choice in choices:
        (changes, *before), names = min(best.values(), key=lambda each: each[0], default=((0, 0, 0, 0.0), []))
        change = (changes + 1, *before), names
        following = {}
        for name, share in choice.items():
            (changes, *before), names = min(best.get(name, change), change, key=lambda each: each[0])
            costs = (old + new for old, new in zip(before, cost(name, share), strict=True))
            following[name] = (changes, *costs), [*names, name]
        best = following
    return min(best.values(), key=lambda each: each[0])[1] if best else []


def _parameters(one: Simulation) -> dict[str, int | str]:
    algorithm = algorithm_if_known(one.collective, one.algorithm)
    if algorithm is None:
        return dict(one.parameters)
    return other_values(algorithm, one.parameters, all_bytes(algorithm, one.ranks, one.size_bytes))


def algorithm_if_known(collective: str, name: str) -> Algorithm | None:
    """Return an algorithm of the catalogue; None for one of the user."""
    with suppress(Error):
        return find(f"{collective}/{name}")
    return None
