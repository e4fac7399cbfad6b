"""Comparing algorithms: all are simulated, and those that may be the fastest until that is decided."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate, groupby, repeat, takewhile
from operator import mul
from statistics import median
from typing import Any

from hocket._native import Error
from hocket.base.call import Call, MeasuredAs
from hocket.base.checks import function, instance, several, several_sizes, whole
from hocket.base.parallel import ignore
from hocket.base.results import Later, NoTime
from hocket.base.units import format_bytes, format_ranks, format_value
from hocket.definitions.calls import algorithms_for, declared_values, element_of
from hocket.definitions.library import COLLECTIVES, Algorithm, Parameter, all_bytes, as_algorithm, find, is_collective
from hocket.definitions.library import algorithms as of_collective
from hocket.definitions.machine import Machine, MachineLike, as_machine
from hocket.definitions.verification import verify
from hocket.measurements.measurement import Measurement
from hocket.rules.tuning_files.deciding import LibraryDecision, library_decision
from hocket.simulating.arrivals import Arrivals
from hocket.simulating.bounds import bounds_by_size
from hocket.simulating.comparison import Comparison
from hocket.simulating.faults import Faults, as_faults, changes_of_links
from hocket.simulating.question import Answer, Contender, Outcome, Question
from hocket.simulating.ranking import Default, MeasuredTime
from hocket.simulating.scenes import SceneLike, as_scene
from hocket.simulating.simulation import UNTIL_DECIDED, Detail, Engine, Simulation, Trials, fastest_of


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
    calls = _calls(candidates, calls, ranks, sizes)
    function("on_done", on_done)
    libraries = several("defaults", defaults, str, "names of libraries")
    names = several("keep", keep, str, "names of what to keep")
    whole_scene = as_scene(scene).with_parts(arrivals=arrivals, cadence=cadence, faults=faults)
    failing = as_faults(whole_scene.faults)
    if failing:
        changes_of_links(failing, machine)
    measured = several("measured", measured, Measurement, "hocket.Measurement")
    measurements = _measured(measured, candidates[0].collective, calls[0].ranks)
    if first_places is not None and whole("first_places", first_places) == 0:
        raise Error("first_places: got 0, expected at least 1, or None for all")
    places = None if names else first_places
    question = Question(machine, (), engine, measured_as, whole_scene, trials, names, at_best, places)
    race = _Race(question, candidates, calls, libraries, measurements)
    comparison = race.run(executor, on_done, on_efforts)
    if not failing:
        return comparison
    question = replace(question, scene=replace(whole_scene, faults=None), keep=())
    without = _Race(replace(question, places=None), candidates, calls).run(executor)
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

    def __init__(
        self,
        question: Question,
        candidates: Sequence[Algorithm],
        calls: Sequence[Call],
        libraries: Sequence[str] = (),
        measurements: Sequence[Measurement] = (),
    ) -> None:
        machine, scene, collective = question.machine, question.scene, candidates[0].collective
        is_isolated = question.measured_as == "isolated" and not scene.starts
        self._question, self._measurements = question, measurements
        self._is_random, self._is_last = machine.is_random or scene.is_drawn, False
        wrong, not_verified = _verify_all(candidates)
        self._blank = Comparison(
            collective=collective,
            ranks=calls[0].ranks,
            machine=machine,
            parameters={},
            bounds=bounds_by_size(collective, calls, machine) if is_isolated else {},
            simulations=(),
            not_compared=(),
            elements_bytes=tuple({element_of(call, collective) for call in calls}),
            not_verified=not_verified,
            faults=tuple(as_faults(scene.faults)),
        )
        entries = _entries(candidates, calls, machine, libraries)
        self._entries = [one for one in entries if not one.is_unknown]
        self._unknown = [one for one in entries if one.is_unknown]
        self._of_size: dict[int, list[_Entry]] = {}
        for one in self._entries:
            self._of_size.setdefault(one.key[0], []).append(one)
        self._outcomes: dict[tuple[int, str], Outcome] = {
            one.key: wrong[one.cell.algorithm.name] for one in self._entries if one.cell.algorithm.name in wrong
        }
        self._repeats: set[tuple[int, str]] = set()

    def run(
        self,
        executor: Executor | None,
        on_done: Callable[[Comparison], object] = ignore,
        on_efforts: Callable[[Mapping[tuple[int, str], float]], object] | None = None,
    ) -> Comparison:
        """Simulate until the fastest are known; see `compare`."""
        rounds = rounds_of(self._question.trials, are_random=self._is_random)
        some = [one for one in self._entries if one.key not in self._outcomes]

        def note_efforts(efforts_s: Sequence[float]) -> None:
            if on_efforts is not None:
                on_efforts({one.key: effort_s for one, effort_s in zip(some, efforts_s, strict=True)})

        def note(answer: Answer) -> None:
            is_complete = self._note(some[answer.number], answer.outcome)
            is_due = len(some) <= _MOST_TOLD or answer.number % _TELL_EVERY == 0
            if on_done is not ignore and (is_complete or is_due):
                on_done(self._comparison())

        for number, trials in enumerate(rounds):
            is_first, self._is_last = number == 0, number == len(rounds) - 1
            if not is_first:
                some = self._entries_again()
            cells, at_best = [one.cell for one in some], self._question.at_best and is_first
            question = replace(self._question, cells=cells, trials=trials, at_best=at_best)
            question.answer(note, on_efforts=note_efforts if is_first else None, executor=executor)
        comparison = self._comparison()
        if not (comparison.simulations or comparison.faults):
            raise Error(comparison.not_compared[0].sentence)
        return comparison

    def _entries_again(self) -> list[_Entry]:
        """Return what needs more trials, with the values of parameters that it had."""
        entries = []
        for one in self._entries:
            outcome = self._outcomes[one.key]
            if one.key in self._repeats and isinstance(outcome, Simulation):
                call = replace(one.cell.call, parameters=outcome.parameters)
                entries.append(replace(one, cell=replace(one.cell, call=call)))
        return entries

    def _note(self, one: _Entry, outcome: Outcome) -> bool:
        """Take in an outcome; return whether all of its size are complete."""
        size_bytes, _ = one.key
        self._outcomes[one.key] = outcome
        self._repeats.discard(one.key)
        if self._is_random and not self._is_last:
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
        fastest = fastest_of(candidates) if candidates else []
        if len(fastest) < 2 or all(one.time_s.reach <= _CLOSE for one in fastest):
            return []
        highest_s = max(one.time_s.interval[1] for one in fastest)
        return [one.key for one, each in simulations if each.time_s.interval[0] <= highest_s]

    def _comparison(self) -> Comparison:
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
            self._blank,
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
            measured=_comparisons_with_measured(self._measurements, simulations),
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


_FIRST_TRIALS, _MORE_TRIALS = 16, 4
_MOST_TOLD, _TELL_EVERY = 200, 16
"""Of more than so many simulations, only every so many are reported, and those that complete a size."""
_CLOSE = 0.01  # if the relative error of both means is at most this, two algorithms are not distinguished further


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


def _calls(
    candidates: Sequence[Algorithm], calls: Sequence[Call] | None, ranks: int | None, sizes: Any
) -> Sequence[Call]:
    """Return the calls, or a call for each size."""
    if calls is not None and not (ranks is None and sizes is None):
        raise Error("calls: got ranks or sizes beside it, expected either calls, or ranks and sizes")
    if calls is None:
        if ranks is None:
            raise Error("ranks: missing, expected either calls, or ranks and sizes")
        if sizes is None and candidates and not COLLECTIVES[candidates[0].collective].has_size:
            sizes = 0
        if sizes is None:
            raise Error('sizes: missing, expected sizes such as "8B..64MiB"')
        calls = [Call(ranks=ranks, size_bytes=size) for size in several_sizes("sizes", sizes)]
    calls = several("calls", calls, Call, "hocket.Call")
    _only_one("collectives", {algorithm.collective for algorithm in candidates})
    _only_one("rank counts", {whole("ranks", call.ranks) for call in calls})
    if not (candidates and calls):
        raise Error("nothing to compare, expected algorithms and sizes")
    return calls


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
