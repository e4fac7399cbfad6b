"""`hocket compare`: which algorithm is fastest at each size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import click

from hocket.base.call import Call, MeasuredAs
from hocket.base.executors import ExecutorKind, open_executor
from hocket.base.units import format_bytes, format_ratio, format_time
from hocket.base.version import VERSION
from hocket.cli import options
from hocket.cli.command import command
from hocket.cli.effort import announce
from hocket.cli.output import (
    MOST_PLACES,
    Bar,
    SizeTable,
    factor,
    print_csv,
    print_files,
    print_json,
    print_table,
    print_transposed,
    print_words,
    progress,
    write_all,
)
from hocket.cli.printing import StyledText, note, say
from hocket.cli.trials import bound_of, compared_trials
from hocket.cli.values import Read
from hocket.definitions.calls import algorithms_for
from hocket.definitions.libraries import BY_MACHINE, DEFAULTS, MPI_DEFAULTS, defaults_named
from hocket.definitions.library import Algorithm, algorithms_named
from hocket.definitions.machine import Machine
from hocket.definitions.topology import Topology
from hocket.drawing.encoding import picture_of
from hocket.drawing.link_map import drawn_links, link_chart
from hocket.drawing.plot import MOST_LINES
from hocket.simulating.comparison import WITHIN, Comparison
from hocket.simulating.race import compare as compare_algorithms
from hocket.simulating.race import rounds_of
from hocket.simulating.ranking import Default
from hocket.simulating.scenes import Scene
from hocket.simulating.simulation import HOW, UNTIL_DECIDED, Trials
from hocket.tuning.choice import Choice, rule_of
from hocket.words.comparisons import (
    INTERVALS_NOTE,
    ONE_SAMPLE,
    answer_words,
    default_lines,
    expected_lines,
    measured_table,
    not_compared_lines,
)
from hocket.words.simulations import alike, measured, played_words

if TYPE_CHECKING:
    from hocket.measurements.measurement import Measurement
    from hocket.simulating.comparison import Use


@command(
    fields={
        "most_trials": UNTIL_DECIDED.count,
        "mpi_defaults": " and ".join(MPI_DEFAULTS),
        "defaults": ", ".join((*DEFAULTS, *BY_MACHINE)),
        "within": f"{100 * WITHIN:g}%",
    },
    call_of=options.call_of,
    machine=options.machine,
    how=HOW,
    scene=options.scene,
    defaults_of=Read(defaults_named, name="LIST"),
    rules=click.Path(dir_okay=False),
    algorithms=options.algorithms,
    data_form=options.data_form,
)
def compare(
    collective: str,
    names: tuple[str, ...],
    ranks: int,
    sizes: tuple[int, ...] | None,
    call_of: partial[Call],
    machine: Machine,
    how: dict[str, Any],
    scene: Scene,
    trials: int | None,
    seed: int,
    until_ci: float | None,
    plot: str | None,
    links: str | None,
    defaults: bool,
    defaults_of: tuple[str, ...] | None,
    at_best: bool,
    within: float,
    rules: str | None,
    measured: tuple[str, ...],
    measured_algorithm: tuple[str, ...],
    algorithms: tuple[Algorithm, ...],
    executor: ExecutorKind,
    jobs: int,
    yes: bool,
    every: bool,
    data_form: options.DataForm,
) -> None:
    """Simulate algorithms for a COLLECTIVE, all or the named ones, and find the fastest at each size.

    Algorithms made for a topology take part if the machine has that topology, or if they are named.
    """
    candidates = algorithms_named(collective, names, among=algorithms)
    if not names:
        candidates = algorithms_for(machine, candidates)
    sizes = options.sizes_of(collective, sizes, example="8B..64MiB")
    if plot is not None and not any(sizes):
        raise click.UsageError("--plot: got sizes of 0 B only, expected one that a logarithmic axis can show")
    options.check_executor(executor, candidates)
    most_maps = None if every or names else _MOST_MAPS
    topology = None if links is None else _topology(machine, sizes, len(candidates[:most_maps]))
    options.check_files({"--plot": plot, "--links": links, "--rules": rules})
    measurements = _measurements(measured, measured_algorithm, candidates[0].collective, ranks)
    calls = [call_of(candidates, ranks=ranks, size_bytes=size) for size in sizes]
    of_machine = BY_MACHINE if machine.has_gpus and not names else ()
    libraries = tuple(dict.fromkeys((*of_machine, *(MPI_DEFAULTS if defaults else ()), *(defaults_of or ()))))
    options.check_scene(scene, how["measured_as"])
    if measured and scene.parts:
        raise click.UsageError("--measured: expected none beside a scene, as files have times of isolated calls")
    threads = max(1, jobs // (len(calls) * (len(candidates) + len(libraries))))
    repeated = replace(compared_trials(trials, seed, until_ci, machine, is_drawn=scene.is_drawn), threads=threads)
    screen = _Screen(
        data_form or ("losses" if scene.faults else "all" if every else "rows"),
        candidates,
        libraries,
        sizes,
        machine,
        scene,
        repeated,
        within=within,
        jobs=jobs,
        yes=yes,
        is_answer_last=bool(of_machine),
        remarks=_remarks(measurements, how["measured_as"]),
    )
    shows_all = bool(data_form or every or links or measured or (plot and names))
    try:
        with open_executor(executor, jobs=jobs, say=note) as pool, screen.bars:
            comparison = compare_algorithms(
                candidates,
                calls,
                machine=machine,
                scene=scene,
                trials=repeated,
                defaults=libraries,
                measured=measurements,
                keep=[] if links is None else ["links"],
                at_best=at_best,
                first_places=None if shows_all else MOST_PLACES,
                executor=pool,
                on_efforts=screen.begin,
                on_done=screen.show,
                **how,
            )
        most_lines = None if every or names else MOST_LINES
        write_all(
            [
                (plot, partial(picture_of, partial(comparison.plot, most=most_lines, within=within))),
                (links, partial(_links, comparison, topology, most_maps)),
                (rules, lambda _: _rules(comparison, within)),
            ]
        )
    except KeyboardInterrupt:
        if screen.latest is not None:
            screen.end(screen.latest, {"plot": None, "links": None, "rules": None})
        raise
    screen.end(comparison, {"plot": plot, "links": links, "rules": rules})


_Form = Literal["json", "csv", "all", "losses", "rows"]
"""How a comparison is printed: as data, the times of all algorithms, what faults cost, or the fastest of each size."""


@dataclass
class _Screen:
    """What is printed of a comparison: a bar, and rows that are known while it goes on, and in the end the others."""

    form: _Form
    candidates: Sequence[Algorithm]
    libraries: Sequence[str]
    sizes: Sequence[int]
    machine: Machine
    scene: Scene
    trials: Trials
    within: float
    jobs: int
    yes: bool
    is_answer_last: bool
    remarks: Sequence[str]
    latest: Comparison | None = None

    def __post_init__(self) -> None:
        self.bars, self._bar = ExitStack(), Bar(None)
        self._is_random = self.machine.is_random or self.scene.is_drawn
        self._efforts_s: dict[tuple[int, str], float] = {}
        names = (*(each.name for each in self.candidates), *self.libraries)
        self._keys = [(size, name) for size in self.sizes for name in names]
        self._waits = all(algorithm.program is None for algorithm in self.candidates)
        self._left = list(self.sizes)
        self._table: SizeTable | None = None
        self._further = {_EXPECTED: _WIDEST_EXPECTED} if self.machine.discrepancies and not self.scene.starts else {}
        kinds = [library.partition("-")[0] for library in self.libraries]
        for library, kind in zip(self.libraries, kinds, strict=True):
            self._further[library if kinds.count(kind) > 1 else kind] = _WIDEST_DEFAULT

    def begin(self, estimates_s: Mapping[tuple[int, str], float]) -> None:
        """Say how long it will take, and show a bar."""
        self._efforts_s.update(estimates_s)
        self._waits = self._waits and sum(self._efforts_s.values()) / self.jobs < _SOON_S
        runs = 2 if self.scene.faults else 1
        bound = bound_of(*rounds_of(self.trials, are_random=self._is_random))
        announce((runs * effort_s for effort_s in self._efforts_s.values()), bound, jobs=self.jobs, yes=self.yes)
        self._bar = self.bars.enter_context(progress("simulating", self._work(self._keys)))

    def show(self, comparison: Comparison) -> None:
        """Show how far it is, and the rows that are known."""
        self.latest = comparison
        self._bar.reach(self._work(self._keys) - self._work(comparison.missing))
        if self.form == "rows" and not self._waits and self._has_next(comparison):
            with self._bar.hide():
                self._print_rows(comparison, comparison.answer(within=self.within), all_left=False)

    def _work(self, keys: Iterable[tuple[int, str]]) -> float:
        return sum(_LEAST_S + self._efforts_s.get(key, 0.0) for key in keys)

    def end(self, comparison: Comparison, pictures: dict[str, str | None]) -> None:
        """Print what is not printed yet."""
        if self.form == "json":
            print_json({**_entry(comparison, self.within), **pictures})
            return
        if self.form == "csv":
            print_csv(_records(comparison))
            return
        if self.form == "losses":
            _print_losses(comparison, self.sizes)
        elif self.form == "all":
            _print_all(comparison, self.candidates, self.libraries)
        uses = comparison.answer(within=self.within)
        answer = f"use {answer_words(comparison.collective, uses)}" if uses else None
        if self.form == "rows":
            say_first = self._waits and answer is not None and not self.is_answer_last
            self._print_rows(comparison, uses, answer if say_first else None, all_left=True)
            answer = None if say_first else answer
        _print_summary(comparison, pictures, uses, answer, is_random=self._is_random)
        for remark in self.remarks:
            print_words(remark)

    def _has_next(self, comparison: Comparison) -> bool:
        """Return whether the next row is complete."""
        return bool(self._left) and all(size_bytes != self._left[0] for size_bytes, _ in comparison.missing)

    def _print_rows(
        self, comparison: Comparison, uses: Sequence[Use], above: str | None = None, *, all_left: bool
    ) -> None:
        """Print the next rows as far as they are complete, or all that are left; `above` stands above the first row."""
        while self._left and (all_left or self._has_next(comparison)):
            self._print_row(comparison, self._left.pop(0), uses, above)

    def _print_row(self, comparison: Comparison, size_bytes: int, uses: Sequence[Use], above: str | None) -> None:
        """Print a row. Of algorithms that share a place, it names one of the answer, if there is one."""
        if size_bytes not in comparison.sizes_bytes:
            return
        has_trials = self._is_random and self.trials.count > 1
        if self._table is None:
            say(comparison.title, bold=True)
            if above is not None:
                print_words(above)
            self._further |= {_BOUND: _WIDEST_BOUND} if comparison.bounds else {}
            self._table = SizeTable(self.sizes, len(self.candidates), self._further, with_reach=has_trials)
        names = {use.algorithm for use in uses}
        places = [
            replace(place, names=tuple(sorted(place.names, key=lambda name: name not in names)))
            for place in comparison.places(size_bytes)
        ]
        defaults = {default.library: default for default in comparison.defaults if default.size_bytes == size_bytes}
        cells = [_expected_cell(comparison, size_bytes)] if _EXPECTED in self._further else []
        cells += [_default_cell(defaults.get(name), places[0].time_s) for name in self.libraries]
        if _BOUND in self._further:
            bound = comparison.bounds.get(size_bytes)
            cells.append(f"{format_time(bound.time_s)} {factor(places[0].time_s, bound.time_s):>5}" if bound else "")
        self._table.print_row(
            size_bytes,
            places,
            cells,
            reach=comparison.reach(size_bytes) if has_trials else None,
            note="" if size_bytes in comparison.finished_bytes else _SO_FAR,
            alike=comparison.fastest(size_bytes) if comparison.machine.discrepancies else (),
        )


def _links(comparison: Comparison, topology: Topology | None, most: int | None, ending: str) -> bytes:
    """Return the maps of the fastest algorithms."""
    assert topology is not None  # as the file is asked for
    runs = sorted(comparison.simulations, key=lambda one: one.time_s.mean)[:most]
    maps = {f"{one.algorithm}, {format_time(one.time_s.mean)}": one.link_uses for one in runs}
    title = f"{comparison.title}, {format_bytes(comparison.sizes_bytes[0])}"
    draw = partial(link_chart, maps, topology, title=title, faults=runs[0].faults)
    return picture_of(partial(draw, is_choosable=ending == ".html"), ending)


def _remarks(measurements: Iterable[Measurement], measured_as: MeasuredAs) -> list[str]:
    """Say what measured otherwise than is simulated."""
    return [
        f"times were measured as {way}, and simulated as {measured_as}: --measured-as {way} simulates them alike"
        for way in sorted({one.measured_as for one in measurements} - {measured_as})
    ]


def _measurements(files: Sequence[str], algorithms: Sequence[str], collective: str, ranks: int) -> list[Measurement]:
    """Return the measurements of files; those that do not tell it are of this collective and this number of ranks."""
    if not (files or algorithms):
        return []
    from hocket.cli.measurements import read_measured

    measurements = read_measured(files, algorithms, collective=collective, ranks=ranks)
    if not measurements:
        raise click.UsageError(f"--measured: got no time of {collective} on {ranks} ranks, expected at least one")
    return measurements


def _topology(machine: Machine, sizes: Sequence[int], runs: int) -> Topology:
    """Return the network whose links will be drawn for several runs; refuse several sizes, or a machine without it."""
    if len(sizes) != 1:
        raise click.UsageError(f"--links: got {len(sizes)} sizes, expected one")
    topology = machine.topology
    if topology is None:
        raise click.UsageError(f"--links: machine {machine.name} has no topology, expected a machine with a topology")
    drawn_links(topology, runs)
    return topology


def _expected_cell(comparison: Comparison, size_bytes: int) -> str:
    """Return between which multiples of the fastest time its measured calls are expected."""
    simulations = (one for one in comparison.simulations if one.size_bytes == size_bytes)
    first = min(simulations, key=lambda one: one.time_s.mean)
    if first.measured_interval_s is None:
        return "-"
    low, high = (factor(time_s, first.time_s.mean) for time_s in first.measured_interval_s)
    return f"{low} to {high}"


def _default_cell(default: Default | None, fastest_s: float) -> str:
    if default is None:
        return "?"
    return "-" if default.time_s is None else factor(default.time_s, fastest_s)


def _print_all(comparison: Comparison, candidates: Sequence[Algorithm], libraries: Sequence[str]) -> None:
    """Print the times of all algorithms, one row each."""
    say(comparison.title, bold=True)
    names = [*(algorithm.name for algorithm in candidates), *([_BOUND] if comparison.bounds else []), *libraries]
    sizes = comparison.sizes_bytes
    times_s: dict[tuple[int, str], float | None] = {**comparison.times_s}
    times_s |= {(size_bytes, _BOUND): bound.time_s for size_bytes, bound in comparison.bounds.items()}
    times_s |= {(default.size_bytes, default.library): default.time_s for default in comparison.defaults}

    def cell(size_bytes: int, name: str) -> str:
        key = size_bytes, name
        if key in comparison.missing:
            return "?"
        time_s = times_s.get(key)
        if time_s is None:
            return "-"
        is_fastest = size_bytes in comparison.finished_bytes and name in comparison.fastest(size_bytes)
        return StyledText(f"{format_time(time_s)} *", fg="green", bold=True) if is_fastest else format_time(time_s)

    cells = [[cell(size_bytes, name) for size_bytes in sizes] for name in names]
    print_transposed(names, [*map(format_bytes, sizes)], cells)


def _print_losses(comparison: Comparison, sizes: Sequence[int]) -> None:
    """Print the times with faults and without, one row for each algorithm at each size."""
    say(comparison.title, bold=True)
    for size_bytes in sizes:
        rows = [
            (
                loss.algorithm,
                "cannot end" if loss.time_s is None else format_time(loss.time_s),
                format_time(loss.without_faults_s),
                "-" if loss.ratio is None else format_ratio(loss.ratio),
            )
            for loss in comparison.losses(size_bytes)
        ]
        columns = ("with faults", "without", "loss")
        print_table([format_bytes(size_bytes), *columns], rows, right=columns)


_MOST_MAPS = 3
"""Of links in a picture, unless algorithms are named or all are asked for: as many as a row of the table has places."""

_SOON_S = 5.0  # if all simulations take longer, rows are printed as soon as they are known, and the answer below them
_LEAST_S = 0.001  # simulations cost at least this many seconds

_EXPECTED = "nine of ten"
_WIDEST_EXPECTED = "0.99x to 99.9x"
_BOUND = "lower bound"
_WIDEST_BOUND = "999.9 us 99.9x"
_WIDEST_DEFAULT = "99.9x"
_SO_FAR = ", as far as it is known"


def _rules(comparison: Comparison, within: float) -> str:
    """Return the answer as rules: each decides the sizes below the first one of the next."""
    values = [
        (size_bytes, Choice("catalogue", use.algorithm, tuple(of_size.items())))
        for use in comparison.answer(within=within)
        for size_bytes, of_size in use.parameters.items()
    ]
    groups = [(choice, [size for size, _ in group]) for choice, group in groupby(values, key=lambda pair: pair[1])]
    lines = [f"# By hocket compare {VERSION}: {comparison.title}, within {100 * within:g} % of the fastest."]
    for number, (choice, _) in enumerate(groups):
        end = f", size=..{groups[number + 1][1][0]}" if number + 1 < len(groups) else ""
        lines.append(rule_of(comparison.collective, choice, f"[ranks={comparison.ranks}{end}]"))
    return "".join(f"{line}\n" for line in lines)


def _entry(comparison: Comparison, within: float) -> dict[str, Any]:
    return {
        "collective": comparison.collective,
        "ranks": comparison.ranks,
        "machine": comparison.machine.name,
        "sizes_bytes": comparison.sizes_bytes,
        "algorithms": comparison.algorithms,
        "answer": [vars(use) for use in comparison.answer(within=within)],
        "best": [vars(best) for best in comparison.best()],
        "parameters": comparison.parameters,
        "bounds": [
            {"size_bytes": size_bytes, "time_s": bound.time_s, **vars(bound)}
            for size_bytes, bound in comparison.bounds.items()
        ],
        "defaults": [
            {**vars(one), "times_the_fastest": comparison.times_the_fastest(one)} for one in comparison.defaults
        ],
        "results": [simulation.as_dict() for simulation in comparison.simulations],
        "faults": comparison.faults,
        "losses": [
            {"size_bytes": size_bytes, **vars(loss), "ratio": loss.ratio}
            for size_bytes in dict.fromkeys(one.size_bytes for one in comparison.without_faults)
            for loss in comparison.losses(size_bytes)
        ],
        "not_verified": comparison.not_verified,
        "not_compared": [vars(refused) for refused in comparison.not_compared],
        "missing": [{"algorithm": name, "size_bytes": size_bytes} for size_bytes, name in comparison.missing],
        "measured": [vars(one) for one in comparison.measured],
        "version": VERSION,
    }


def _records(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a row for each algorithm and library at each size, including algorithms that refuse the size."""
    bounds_s = {size_bytes: bound.time_s for size_bytes, bound in comparison.bounds.items()}
    without_s = {(one.size_bytes, one.algorithm): one.time_s.mean for one in comparison.without_faults}
    simulated = [
        {
            **row,
            "lower_bound_s": bounds_s.get(row["size_bytes"]),
            "time_without_faults_s": without_s.get((row["size_bytes"], row["algorithm"])),
        }
        for row in comparison.records()
    ]
    names = ("library", "choice", "algorithm", "size_bytes", "sentence", "costs")
    defaults = [
        {**{name: getattr(one, name) for name in names}, "time_mean_s": one.time_s} for one in comparison.defaults
    ]
    return [*simulated, *defaults, *map(vars, comparison.not_compared)]


def _print_defaults(comparison: Comparison, library: str) -> None:
    say(f"\n{library} without tuning")
    for line in default_lines(comparison, library):
        print_words(f"  {line}")


def _print_summary(
    comparison: Comparison,
    pictures: dict[str, str | None],
    uses: Sequence[Use],
    answer: str | None,
    *,
    is_random: bool,
) -> None:
    """Print what follows the table; the answer, unless it is above the table."""
    for name in dict.fromkeys(use.algorithm for use in uses):
        if name in comparison.parameters:
            print_words(f" {name}: {comparison.parameters[name]}")
    libraries = list(dict.fromkeys(default.library for default in comparison.defaults))
    own = [library for library in libraries if library in BY_MACHINE and comparison.machine.has_gpus]
    for library in own:
        _print_defaults(comparison, library)
    if answer is not None:
        say()
        print_words(f"{answer}{f', also of what {own[0]} cannot run' if own else ''}")
    if is_random and comparison.simulations:
        remark = INTERVALS_NOTE if comparison.with_intervals else ONE_SAMPLE
        print_words(f"  {alike(comparison.simulations, comparison.machine) or remark}; {comparison.trials}")
    for _, sentence in expected_lines(comparison):
        print_words(f"  {sentence}")
    first = next(iter(comparison.simulations), None)
    if first is not None and (first.measured_as != "isolated" or played_words(first)):
        print_words(f"  times of a call {measured(first)}{played_words(first)}")
    for fault in comparison.faults:
        print_words(f"  fault: {fault}")
    for name in comparison.not_verified:
        print_words(f"  {name} is not verified: it refuses the small numbers of ranks that comparisons verify first")
    for library in libraries:
        if library not in own:
            _print_defaults(comparison, library)
    if comparison.measured:
        table = measured_table(comparison)
        say()
        print_table(table.columns, table.rows, right=table.right)
    if comparison.not_compared:
        say("\nnot compared")
        for name, sentence in not_compared_lines(comparison):
            print_words(f"  {name}: {sentence}")
    if comparison.missing:
        count = len(comparison.simulations) + len(comparison.not_compared) + len(comparison.too_late)
        say(f"\n? not known yet: {len(comparison.missing)} of {len(comparison.missing) + count} simulations")
    if any(pictures.values()):
        say()
    print_files(pictures)
