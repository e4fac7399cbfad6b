"""Comparing algorithms: which one is fastest at each size."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import accumulate, groupby, repeat, takewhile
from operator import mul
from statistics import median
from typing import Any

from hocket._native import Error
from hocket.base.call import Call, MeasuredAs
from hocket.base.checks import function, instance, several, several_sizes, whole
from hocket.base.packages import alt
from hocket.base.parallel import ignore
from hocket.base.results import Later, NoTime, Place, Result, draw, places
from hocket.base.units import format_bytes, format_count, format_ranks, format_value, from_to
from hocket.definitions.calls import algorithms_for, declared_values, element_of
from hocket.definitions.library import (
    COLLECTIVES,
    Algorithm,
    Parameter,
    all_bytes,
    as_algorithm,
    find,
    format_elements,
    is_collective,
)
from hocket.definitions.library import algorithms as of_collective
from hocket.definitions.machine import Machine, MachineLike, as_machine
from hocket.definitions.verification import verify
from hocket.measurements.measurement import Measurement
from hocket.rules.tuning_files.deciding import LibraryDecision, library_decision
from hocket.simulating.answers import WITHIN, Use, answer_of
from hocket.simulating.arrivals import Arrivals
from hocket.simulating.bounds import Bound, bounds_by_size
from hocket.simulating.faults import Faults, as_faults, changes_of_links
from hocket.simulating.question import Answer, Contender, Outcome, Question
from hocket.simulating.scenes import SceneLike, as_scene
from hocket.simulating.simulation import UNTIL_DECIDED, Detail, Engine, Simulation, Trials


@dataclass(frozen=True)
class Best:
    """A range of sizes with the same fastest algorithms."""

    first_bytes: int
    last_bytes: int
    algorithms: tuple[str, ...]


@dataclass(frozen=True)
class Loss:
    """What an algorithm loses by faults at a size.

    Attributes:
        algorithm: The algorithm.
        without_faults_s: The mean time without faults.
        time_s: The mean time with faults; None if the call cannot end.
    """

    algorithm: str
    without_faults_s: float
    time_s: float | None

    @property
    def ratio(self) -> float | None:
        """The time with faults as a multiple of the time without; None if the call cannot end, or takes no time."""
        if self.time_s is None or self.without_faults_s == 0:
            return None
        return self.time_s / self.without_faults_s


@dataclass(frozen=True)
class Default:
    """The choice of a library at a size without tuning.

    Attributes:
        library: The library with its version, such as "mpich-5.0".
        size_bytes: The size.
        choice: Its algorithm, in the library's words; None if unknown.
        algorithm: The equivalent algorithm of Hocket; None if there is none.
        time_s: The mean time of this algorithm; None if it could not be simulated.
        sentence: Why it could not be simulated.
        costs: In words, whether it has the costs of a protocol of the machine, if the library names one.
    """

    library: str
    size_bytes: int
    choice: str | None
    algorithm: str | None
    time_s: float | None
    sentence: str = ""
    costs: str = ""


@dataclass(frozen=True)
class MeasuredTime:
    """A measured time beside the simulated one.

    Attributes:
        algorithm: The algorithm and the values of its parameters, as measured.
        size_bytes: The size.
        measured_s: The measured time, the median of several.
        simulated_s: The mean simulated time of this algorithm with these values; None if it was not simulated.
    """

    algorithm: str
    size_bytes: int
    measured_s: float
    simulated_s: float | None


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
        return tuple(simulation.algorithm for simulation in _fastest(matches))

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
        return answer_of([one for one in self.simulations if one.size_bytes in self.finished_bytes], within)

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


def compare(
    algorithms: Iterable[Algorithm | str] | str,
    calls: Sequence[Call] | None = None,
    *,
    ranks: int | None = None,
    sizes: Iterable[int | str] | int | str | None = None,
    machine: MachineLike = "cluster",
    engine: Engine = "auto",
    measured_as: MeasuredAs = "isolated",
    arrivals: Arrivals | None = None,
    cadence: str | None = None,
    faults: Faults | None = None,
    scene: SceneLike | None = None,
    trials: Trials = UNTIL_DECIDED,
    defaults: Iterable[str] = (),
    measured: Iterable[Measurement] = (),
    keep: Iterable[Detail] = (),
    at_best: bool = False,
    first_places: int | None = None,
    executor: Executor | None = None,
    on_efforts: Callable[[Mapping[tuple[int, str], float]], object] | None = None,
    on_done: Callable[[Comparison], object] = ignore,
) -> Comparison:
    """Simulate several algorithms for one collective on calls that differ in size.

    Args:
        algorithms: The algorithms, as `hocket.algorithms("allreduce")` gives them, or their labels; or the name of a
            collective. The name stands for all its algorithms except those made for a topology that the machine does
            not have.
        calls: The calls. Each algorithm takes only the parameters that it declares.
        ranks: Instead of calls: the number of ranks.
        sizes: Instead of calls: sizes in bytes, or as texts such as "64KiB" and "8B..64MiB"; a barrier needs none.
        machine: A machine, the name of a preset, or the path of a machine file.
        engine: The engine that keeps virtual time.
        measured_as: How a benchmark measures the times; see `hocket.simulate`. Only isolated calls have lower
            bounds.
        arrivals: When the ranks begin the call; see `hocket.simulate`. There are no lower bounds then.
        cadence: When the ranks begin each of several calls; see `hocket.simulate`. The times are then the mean times of
            these calls, without lower bounds.
        faults: Links that are slow or down for a time; see `hocket.simulate`. The algorithms are simulated without the
            faults, too, and those that cannot end with them are in `not_compared`.
        scene: A scene, or the path of a scene file, instead of arrivals, a cadence or faults.
        trials: The trials on a machine with noise, or with arrivals that are drawn, with the same seed for all; by
            default until the fastest is known.
        defaults: Libraries whose default choices are also simulated: "mpich-5.0", "openmpi-5.0", "ucc-1".
        measured: Measured times to show beside the simulated ones, such as `hocket.read_measurements` returns; those of
            other collectives and rank counts are left out.
        keep: What to keep of the first trial of each simulation; see `hocket.simulate`.
        at_best: Whether simulations search the parameters with which an isolated call without noise is fastest, for
            each algorithm and size. Otherwise its formula chooses them. Parameters that the call sets, and those of
            libraries' choices, stay.
        first_places: If only so many places matter, a simulation of an isolated call without noise and faults ends when
            the algorithm cannot come in; on a machine with discrepancies, also not share the first one.
        executor: The executor that does the work; by default threads, one per processor.
        on_efforts: Called before the first simulation, with the estimated seconds of each on one core, by size and
            name; 0 if unknown.
        on_done: Called after each simulation, with the results so far; if there are hundreds, after each size and now
            and then.

    Raises:
        Error: An algorithm, machine or library is unknown; the algorithms are for different collectives; the calls have
            different rank counts; no algorithm accepts the calls; or no measured time is of such a call.
    """
    machine = as_machine(machine)
    candidates = _candidates(algorithms, machine)
    if calls is None:
        calls = _calls(candidates, ranks, sizes)
    elif ranks is not None or sizes is not None:
        raise Error("calls: got ranks or sizes beside it, expected either calls, or ranks and sizes")
    calls = several("calls", calls, Call, "hocket.Call")
    function("on_done", on_done)
    _only_one("collectives", {algorithm.collective for algorithm in candidates})
    _only_one("rank counts", {whole("ranks", call.ranks) for call in calls})
    libraries = several("defaults", defaults, str, "names of libraries")
    names = several("keep", keep, str, "names of what to keep")
    if not (candidates and calls):
        raise Error("nothing to compare, expected algorithms and sizes")
    whole_scene = as_scene(scene).with_parts(arrivals=arrivals, cadence=cadence, faults=faults)
    failing, plain = as_faults(whole_scene.faults), replace(whole_scene, faults=None)
    if failing:
        changes_of_links(failing, machine)
    collective = candidates[0].collective
    measured = several("measured", measured, Measurement, "hocket.Measurement")
    measurements = _measured(measured, collective, calls[0].ranks)
    if first_places is not None and whole("first_places", first_places) == 0:
        raise Error("first_places: got 0, expected at least 1, or None for all")
    wrong, not_verified = _verify_all(candidates)
    entries = _entries(candidates, calls, machine, libraries)
    is_isolated = measured_as == "isolated" and not whole_scene.starts
    race = _Race(entries, is_random=bool(machine.noise) or whole_scene.is_drawn)
    blank = Comparison(
        collective=collective,
        ranks=calls[0].ranks,
        machine=machine,
        parameters={},
        bounds=bounds_by_size(collective, calls, machine) if is_isolated else {},
        simulations=(),
        not_compared=(),
        elements_bytes=tuple({element_of(call, collective) for call in calls}),
        not_verified=not_verified,
        faults=tuple(failing),
    )

    def assemble() -> Comparison:
        result = race.comparison(blank)
        return replace(result, measured=_comparisons_with_measured(measurements, result.simulations))

    def note_efforts(efforts_s: Sequence[float]) -> None:
        if on_efforts is not None:
            on_efforts({one.key: effort_s for one, effort_s in zip(race.entries(), efforts_s, strict=True)})

    race.refuse(wrong)
    question = Question(machine, (), scene=whole_scene, keep=names, engine=engine, measured_as=measured_as)
    rounds = rounds_of(trials, are_random=race.is_random)
    for number, round_trials in enumerate(rounds):
        is_first, race.is_last = number == 0, number == len(rounds) - 1
        some = race.entries() if is_first else race.entries_again()

        def note(answer: Answer, some: Sequence[_Entry] = some) -> None:
            is_complete = race.note(some[answer.number], answer.outcome)
            is_due = len(some) <= _MOST_TOLD or answer.number % _TELL_EVERY == 0
            if on_done is not ignore and (is_complete or is_due):
                on_done(assemble())

        replace(
            question,
            cells=[one.cell for one in some],
            trials=round_trials,
            at_best=at_best and is_first,
            places=first_places if is_first and is_isolated and not (race.is_random or failing or names) else None,
        ).answer(note, on_efforts=note_efforts if is_first else None, executor=executor)
    comparison = assemble()
    if not (comparison.simulations or failing):
        raise Error(comparison.not_compared[0].sentence)
    if not failing:
        return comparison
    without = compare(
        candidates,
        calls,
        machine=machine,
        engine=engine,
        measured_as=measured_as,
        scene=plain,
        trials=trials,
        at_best=at_best,
        executor=executor,
    )
    return replace(comparison, without_faults=without.simulations)


@dataclass(frozen=True)
class _Entry:
    """A row and a column of a comparison: a call; if a library chose its algorithm, which one, and its decision."""

    cell: Contender
    library: str | None = None
    decision: LibraryDecision | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether its library has decided for an algorithm that the catalogue does not have."""
        return self.decision is not None and self.decision.equivalent is None

    @cached_property
    def key(self) -> tuple[int, str]:
        """The size, and the name of the library or the algorithm."""
        return self.cell.call.size_bytes, self.library or self.cell.algorithm.name


def _entries(
    candidates: Sequence[Algorithm], calls: Sequence[Call], machine: Machine, libraries: Sequence[str]
) -> list[_Entry]:
    """Return all calls: at each size those of the algorithms, then those that libraries choose."""
    with_costs_of = cache(machine.with_protocol)
    entries = []
    for row, call in enumerate(calls):
        entries += [_Entry(Contender(row, one, of_algorithm(one, call))) for one in candidates]
        for name in libraries:
            choice = library_decision(name, candidates[0].collective, call, machine=machine)
            algorithm, own_call = choice.equivalent or (candidates[0], call)
            costs = None if choice.protocol is None else with_costs_of(choice.protocol)
            own_call = of_algorithm(algorithm, own_call)
            entries.append(_Entry(Contender(row, algorithm, own_call, costs, "beside"), name, choice))
    return entries


class _Race:
    """The state of a comparison: what is simulated, what came out, and what needs more trials."""

    def __init__(self, entries: Sequence[_Entry], *, is_random: bool) -> None:
        self._entries = [one for one in entries if not one.is_unknown]
        self._unknown = [one for one in entries if one.is_unknown]
        self._of_size: dict[int, list[_Entry]] = {}
        for one in self._entries:
            self._of_size.setdefault(one.key[0], []).append(one)
        self._outcomes: dict[tuple[int, str], Outcome] = {}
        self._repeats: set[tuple[int, str]] = set()
        self.is_random, self.is_last = is_random, False

    def refuse(self, sentences: Mapping[str, str]) -> None:
        """Refuse algorithms of these names."""
        for one in self._entries:
            if (sentence := sentences.get(one.cell.algorithm.name)) is not None:
                self._outcomes[one.key] = sentence

    def entries(self) -> list[_Entry]:
        """Return what has no outcome yet."""
        return [one for one in self._entries if one.key not in self._outcomes]

    def entries_again(self) -> list[_Entry]:
        """Return what needs more trials, with the values of parameters that it had."""
        entries = []
        for one in self._entries:
            outcome = self._outcomes[one.key]
            if one.key in self._repeats and isinstance(outcome, Simulation):
                call = replace(one.cell.call, parameters=outcome.parameters)
                entries.append(replace(one, cell=replace(one.cell, call=call)))
        return entries

    def note(self, one: _Entry, outcome: Outcome) -> bool:
        """Take in an outcome; return whether all of its size are complete."""
        size_bytes, _ = one.key
        self._outcomes[one.key] = outcome
        self._repeats.discard(one.key)
        if self.is_random and not self.is_last:
            self._repeats.update(self._open_keys(size_bytes))
        return self._is_complete(size_bytes)

    def _is_complete(self, size_bytes: int) -> bool:
        keys = [one.key for one in self._of_size[size_bytes]]
        return all(key in self._outcomes and key not in self._repeats for key in keys)

    def _open_keys(self, size_bytes: int) -> list[tuple[int, str]]:
        """Return the calls that need more trials to find the fastest at a size, once all of the size are done."""
        if not self._is_complete(size_bytes):
            return []
        entries = self._of_size[size_bytes]
        simulations = [(one, each) for one in entries if isinstance(each := self._outcomes[one.key], Simulation)]
        candidates = [each for one, each in simulations if one.library is None]
        fastest = _fastest(candidates) if candidates else []
        if len(fastest) < 2 or all(one.time_s.reach <= _CLOSE for one in fastest):
            return []
        highest_s = max(one.time_s.interval[1] for one in fastest)
        return [one.key for one, each in simulations if each.time_s.interval[0] <= highest_s]

    def comparison(self, blank: Comparison) -> Comparison:
        """Return the results so far, in the order of the calls."""
        entries = [one for one in self._entries if one.key in self._outcomes and one.library is None]
        simulations, refused, late = [], [], {}
        for one in entries:
            outcome, (size_bytes, name) = self._outcomes[one.key], one.key
            if isinstance(outcome, Simulation):
                simulations.append(outcome)
            elif isinstance(outcome, Later):
                late[one.key] = outcome.until_s
            else:
                refused.append(NoTime(name, size_bytes, outcome))
        algorithms = {one.key[1]: one.cell.algorithm for one in self._entries if one.library is None}
        values = {name: _values(algorithm, name, simulations) for name, algorithm in algorithms.items()}
        return replace(
            blank,
            parameters={name: text for name, text in values.items() if text},
            simulations=tuple(simulations),
            not_compared=tuple(refused),
            too_late=late,
            missing=tuple(
                one.key for one in self._entries if one.key not in self._outcomes or one.key in self._repeats
            ),
            defaults=tuple(
                _default(one, self._outcomes.get(one.key))
                for one in (*self._entries, *self._unknown)
                if one.decision is not None and (one.key in self._outcomes or one.is_unknown)
            ),
        )


def _measured(measurements: Sequence[Measurement], collective: str, ranks: int) -> list[Measurement]:
    """Return the measured times of a collective on so many ranks; refuse times of which none is of such a call."""
    matches = [one for one in measurements if (one.collective, one.ranks) == (collective, ranks)]
    if measurements and not matches:
        raise Error(f"measured: got no time of {collective} on {ranks} ranks, expected at least one")
    return matches


def _comparisons_with_measured(
    measured: Iterable[Measurement], simulations: Sequence[Simulation]
) -> tuple[MeasuredTime, ...]:
    """Return measured times beside simulated ones, by algorithm in the order given, then by size."""
    groups: dict[str, dict[int, list[Measurement]]] = {}
    for one in measured:
        groups.setdefault(one.label, {}).setdefault(one.size_bytes, []).append(one)
    return tuple(
        MeasuredTime(label, size_bytes, median(one.time_s for one in group), _simulated_s(group[0], simulations))
        for label, sizes in groups.items()
        for size_bytes, group in sorted(sizes.items())
    )


def _simulated_s(one: Measurement, simulations: Iterable[Simulation]) -> float | None:
    parameter_texts = {name: str(value) for name, value in one.parameters.items()}
    for simulation in simulations:
        values = {name: str(value) for name, value in simulation.parameters.items()}
        is_same = (simulation.algorithm, simulation.size_bytes) == (one.algorithm, one.size_bytes)
        if is_same and parameter_texts.items() <= values.items():
            return simulation.time_s.mean
    return None


def _fastest(simulations: Sequence[Simulation]) -> list[Simulation]:
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


_FIRST_TRIALS, _MORE_TRIALS = 16, 4
_MOST_TOLD, _TELL_EVERY = 200, 16
"""Of more than so many simulations, only every so many are reported, and those that complete a size."""
_CLOSE = 0.01
"""If the relative error of both means is at most this, two algorithms are not distinguished further."""


def rounds_of(trials: Trials, *, are_random: bool) -> list[Trials]:
    """Return the numbers of trials for possibly fastest algorithms, in rising order."""
    if not instance("trials", trials, Trials, "hocket.Trials").until_decided:
        return [trials]
    if not are_random:
        return [replace(trials, count=1)]
    counts = takewhile(lambda count: count < trials.count, accumulate(repeat(_MORE_TRIALS), mul, initial=_FIRST_TRIALS))
    return [replace(trials, count=count) for count in (*counts, trials.count)]


_VERIFIED_RANKS = (2, 3, 4, 5)


def _verify_all(algorithms: Iterable[Algorithm]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return errors of the user's programs by name, and the programs that few ranks cannot verify."""
    wrong, unknown = {}, []
    for algorithm in (one for one in algorithms if one.program is not None):
        try:
            verdict = verify(algorithm, _VERIFIED_RANKS)
        except Error:
            unknown.append(algorithm.name)
            continue
        ranks = [finding.ranks for finding in verdict.findings if finding.counterexamples]
        if ranks:
            words = f"{algorithm.collective} {algorithm.name}"
            wrong[algorithm.name] = f"wrong at P = {format_ranks(ranks)}, as `hocket verify {words}` shows"
    return wrong, tuple(unknown)


def _candidates(algorithms: Iterable[Algorithm | str] | str, machine: Machine) -> tuple[Algorithm, ...]:
    """Return the algorithms of labels, or all algorithms of a collective, given its name."""
    if isinstance(algorithms, str):
        return algorithms_for(machine, of_collective(algorithms)) if is_collective(algorithms) else (find(algorithms),)
    return tuple(map(as_algorithm, several("algorithms", algorithms, Algorithm | str, "algorithms or labels")))


def _calls(candidates: Sequence[Algorithm], ranks: int | None, sizes: Any) -> list[Call]:
    """Return a call for each size."""
    if ranks is None:
        raise Error("ranks: missing, expected either calls, or ranks and sizes")
    if sizes is None and candidates and not COLLECTIVES[candidates[0].collective].has_size:
        sizes = 0
    if sizes is None:
        raise Error('sizes: missing, expected sizes such as "8B..64MiB"')
    return [Call(ranks=ranks, size_bytes=size) for size in several_sizes("sizes", sizes)]


_WHOLE = "whole"


def _values(algorithm: Algorithm, name: str, simulations: Iterable[Simulation]) -> str:
    """Return the values of an algorithm's parameters as text; after the first value, each with its first size."""
    mine = sorted((one for one in simulations if one.algorithm == name), key=lambda one: one.size_bytes)
    values: dict[str, int | str] = {}
    for parameter in algorithm.parameters:
        with_value = [one for one in mine if parameter.name in one.parameters]
        if len({one.parameters[parameter.name] for one in with_value}) > 1:
            texts = [(one.size_bytes, _value(parameter, algorithm, one)) for one in with_value]
            first, *changes = (next(group) for _, group in groupby(texts, key=lambda text: text[1]))
            later = (f"{text} from {format_bytes(size_bytes)}" for size_bytes, text in changes)
            values[parameter.name] = "; ".join([first[1], *later])
        elif with_value:
            is_whole = _value(parameter, algorithm, with_value[-1]) == _WHOLE
            values[parameter.name] = _WHOLE if is_whole else with_value[0].parameters[parameter.name]
    return algorithm.format(values)


def _value(parameter: Parameter, algorithm: Algorithm, one: Simulation) -> str:
    """Return the value of a parameter in a simulation; `_WHOLE` for pieces that are as large as all data."""
    value = one.parameters[parameter.name]
    if (
        parameter.unit == "bytes"
        and isinstance(value, int)
        and value >= all_bytes(algorithm, one.ranks, one.size_bytes)
    ):
        return _WHOLE
    return str(format_value(value, parameter.unit))


def _default(one: _Entry, outcome: Outcome | None) -> Default:
    size_bytes, library = one.key
    choice = one.decision
    assert choice is not None
    algorithm = choice.equivalent and choice.equivalent[0].name
    time_s = outcome.time_s.mean if isinstance(outcome, Simulation) else None
    sentence = outcome if isinstance(outcome, str) else choice.sentence
    costs = choice.costs if time_s is not None else ""
    return Default(library, size_bytes, choice.choice, algorithm, time_s, sentence, costs)


def of_algorithm(algorithm: Algorithm, call: Call) -> Call:
    """Return a call with only the parameters that an algorithm declares."""
    return replace(call, parameters=declared_values(algorithm, call.parameters))


def _only_one(what: str, items: Collection[object]) -> None:
    if len(items) > 1:
        raise Error(f"got several {what} ({', '.join(sorted(map(str, items)))}), expected one")
