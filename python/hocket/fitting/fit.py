"""A machine file fitted to measured times of collectives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date
from math import inf
from os import PathLike, fspath
from time import monotonic
from typing import TypeAlias

from hocket._native import Error
from hocket.base.checks import function, instance, number, several, whole
from hocket.base.parallel import ProgressDisplay, ignore, no_display, workers
from hocket.base.units import format_count
from hocket.base.version import VERSION
from hocket.definitions.machine import Machine, find_machine
from hocket.fitting.cells import Cell, Cells, Floats, Point, Simulator, point_of, spread
from hocket.fitting.conditions import Condition
from hocket.fitting.discrepancies import coverage, discrepancies, ratio_coverage, with_discrepancies
from hocket.fitting.explaining import diagnose
from hocket.fitting.profiling import Profile, minima_of, others_of, pairs_of, profile_fit, values_of
from hocket.fitting.result import Ended, Fit, Judgement, Regret, Use, Value, deviation
from hocket.fitting.searching import ENDED, search
from hocket.fitting.skeleton import Skeleton
from hocket.measurements.formats import read_measurements
from hocket.measurements.measurement import Measurement

Measurements: TypeAlias = "Iterable[Measurement] | Iterable[str | PathLike[str]] | str | PathLike[str]"
"""Measurements, or files of them."""

DEFAULT_CELLS = 300
LEAST_STARTS = 3  # with fewer starts, a search may end in another minimum unnoticed


def fit(
    measurements: Measurements,
    *,
    machine: Machine | str | PathLike[str],
    only: Iterable[str] = (),
    hold_out: Iterable[str] = (),
    cells: int = DEFAULT_CELLS,
    starts: int = LEAST_STARTS,
    seed: int = 0,
    time_limit_s: float | None = None,
    has_intervals: bool = True,
    has_diagnosis: bool = False,
    executor: Executor | None = None,
    on_done: Callable[[], object] = ignore,
    display: ProgressDisplay = no_display,
) -> Fit:
    """Fit a machine file to measured times of collectives, or judge it where nothing is to be fitted.

    Args:
        measurements: Measurements, or files of them.
        machine: The machine file, in which values to be fitted are "?" or ranges such as "0.1 us..20 us".
        only: Conditions such as "system=lumi" that measurements must meet, each of them.
        hold_out: Conditions such as "ranks>64"; measurements that meet one are not fitted, but judge the fit.
        cells: To how many measured calls at most values are fitted.
        starts: From how many points the search begins; at least 3.
        seed: The seed of these points.
        time_limit_s: Seconds after which the search ends with the best values so far. The intervals take as many
            seconds at most; those that are not found by then follow from derivatives.
        has_intervals: Whether to look for the intervals of values, which takes most of the time; otherwise they are the
            ranges of the machine file.
        has_diagnosis: Whether to try which keys would take away most of the residuals, on at most `cells` calls.
        executor: Who simulates, any of `concurrent.futures`; one thread per processor by default.
        on_done: Called after each simulation.
        display: Shows the progress of each stage: given a label and the number of pieces, it is a context that yields a
            function to call after each piece.

    Raises:
        Error: A file, condition or machine makes no sense, no measurement is left, the time was over before the first
            step, or SciPy is missing.
    """
    function("on_done", on_done)
    source = (machine.text, machine.file) if isinstance(machine, Machine) else find_machine(machine)
    skeleton = Skeleton.parse(*source)
    conditions = [Condition.parse(one) for one in several("only", only, str, "conditions")]
    measurements_taken = [one for one in _as_list(measurements) if all(each.holds(one) for each in conditions)]
    split = _Split.of(measurements_taken, skeleton, hold_out, whole("cells", cells))
    starts = max(LEAST_STARTS, whole("starts", starts))
    allowed_s = inf
    if time_limit_s is not None:
        allowed_s = number("time_limit_s", time_limit_s, "seconds above 0, or None", is_right=lambda time_s: time_s > 0)
    with workers() if executor is None else nullcontext(executor) as each:
        simulator = Simulator(skeleton, each, monotonic() + allowed_s, on_done, display)
        match = search(simulator, split.fitted_cells, seed=whole("seed", seed), starts=starts)
        if has_intervals and skeleton.places:
            profile = profile_fit(simulator, split.fitted_cells, match.values, limit_s=allowed_s)
        else:
            profile = Profile.unknown(skeleton.places, match.values)
        simulator.until_s = inf
        judgements = split.judge_all(simulator, profile.values)
        diagnosis = diagnose(simulator, split.all, profile.values, most=cells, seed=seed) if has_diagnosis else None
    values = values_of(skeleton.places, profile)
    others = others_of(values, match.others)
    minima = tuple(minima_of(skeleton.places, values, others))
    files = sorted({one.source.partition(":")[0] for one in measurements_taken if one.source})
    return Fit(
        machine=_machine(skeleton, values, minima, judgements, match.ended, files, [*only], [*hold_out]),
        values=values,
        pairs=pairs_of(skeleton.places, profile.spread),
        others=others,
        minima=minima,
        cells=judgements,
        regrets=tuple(_regrets(split.all.cells, judgements, split.all.defaults)),
        left_out=split.all.left_out,
        coverage=coverage([one for one in judgements if one.use == "held out"]),
        ratio_coverage=ratio_coverage([one for one in judgements if one.use == "held out"]),
        scatter=profile.scatter,
        noise=split.all.noise,
        ended=match.ended,
        seed=seed,
        diagnosis=diagnosis,
    )


@dataclass(frozen=True)
class _Split:
    """The cells to fit, the cells held out, and the rest."""

    all: Cells
    fitted_cells: tuple[Cell, ...]
    held_out_ids: frozenset[int]

    @classmethod
    def of(cls, measurements: Sequence[Measurement], skeleton: Skeleton, hold_out: Iterable[str], most: int) -> _Split:
        conditions = [Condition.parse(one) for one in several("hold_out", hold_out, str, "conditions")]
        unmet = [one.text for one in conditions if not any(map(one.holds, measurements))]
        if unmet:
            expected = "a condition that at least one measurement meets"
            raise Error(f'hold_out: no measurement meets "{unmet[0]}", expected {expected}')
        for name, of_one in (("system", "machine"), ("library", "library"), ("buffers", "kind of buffers")):
            values = sorted({str(getattr(one, name)) for one in measurements})
            if len(values) > 1:
                texts = ", ".join(value or f"a {of_one} without a name" for value in values)
                expected = f"measurements of one {of_one}, as with only {name}={values[-1]}"
                raise Error(f"got measurements of {texts}, expected {expected}")
        cells = Cells.of(measurements, skeleton)
        judging = {id(cell) for cell in cells.cells if any(each.holds(cell.measurement) for each in conditions)}
        rest = [cell for cell in cells.cells if id(cell) not in judging]
        if not rest and (skeleton.places or not judging):
            why = "".join(f": {one}" for one in sorted(cells.left_out)[:1])
            raise Error(f"no measurement is left to fit{why}, expected calls that the machine can run")
        cells_fitted = spread(rest, most) if skeleton.places else ()
        if 0 < len(cells_fitted) < len(skeleton.places):
            calls = format_count(len(cells_fitted), "measured call")
            raise Error(f"got {calls} to fit {len(skeleton.places)} values, expected at least as many calls as values")
        return cls(cells, cells_fitted, frozenset(judging))

    def judge_all(self, simulator: Simulator, point: Floats) -> tuple[Judgement, ...]:
        """Return all cells with their simulated times."""
        cells_used = {id(cell) for cell in self.fitted_cells}
        with simulator.stage("judging", len(self.all.cells)):
            times_s = simulator.times_s([point], self.all.cells)[0].tolist()

        def use(cell: Cell) -> Use:
            return "fitted" if id(cell) in cells_used else "held out" if id(cell) in self.held_out_ids else "not used"

        return tuple(_judge(cell, time_s, use(cell)) for cell, time_s in zip(self.all.cells, times_s, strict=True))


def _as_list(measurements: Measurements) -> list[Measurement]:
    if isinstance(measurements, str | PathLike):
        measurements = [measurements]
    measurements_taken: list[Measurement] = []
    for one in several("measurements", measurements, object, "measurements or files"):
        if isinstance(one, str | PathLike):
            measurements_taken += read_measurements(fspath(one)).measurements
        else:
            expected = "hocket.Measurement or the path of a file"
            measurements_taken.append(instance("measurements", one, Measurement, expected))
    return measurements_taken


def _machine(
    skeleton: Skeleton,
    values: Sequence[Value],
    minima: Iterable[str],
    judgements: Sequence[Judgement],
    ended: Ended,
    files: Sequence[str],
    only: Sequence[str],
    hold_out: Sequence[str],
) -> Machine:
    """Return the machine with these values; comments give their intervals and their source."""
    fitted_calls, held_out_calls = ([one for one in judgements if one.use == use] for use in ("fitted", "held out"))
    kinds = discrepancies(held_out_calls)
    if not values:
        return Machine.parse(with_discrepancies(skeleton.text, kinds) if kinds else skeleton.text, skeleton.file)
    comments = []
    for one in values:
        bound = "; at the bound of its range" if one.is_at_bound else ""
        comments.append(one.interval + bound + ("" if one.is_known else f"; not known well: measure {one.advice}"))
    text = skeleton.render([one.value for one in values], comments)
    where = f"of {', '.join(files)}" if files else "given in Python"
    condition = f", only {' and '.join(only)}" if only else ""
    lines = [
        f"# Fitted on {date.today()} by hocket fit (Hocket {VERSION}) to {len(fitted_calls)} measured calls",
        f"# {where}{condition}.",
        *([f"# Note: {ENDED[ended]}."] if ended in ENDED else []),
        f"# {_sentence('Fitted calls', fitted_calls)}",
        *([f"# {_sentence('Held out: ' + ' or '.join(hold_out), held_out_calls)}"] if held_out_calls else []),
        *(f"# {sentence[0].upper()}{sentence[1:]}." for sentence in minima),
        "# A line above a value has its 95 % confidence interval.",
    ]
    parts = text.split("\n")
    head = next(i for i, line in enumerate(parts) if not line.startswith("#"))
    return Machine.parse(with_discrepancies("\n".join([*parts[:head], *lines, *parts[head:]]), kinds), skeleton.file)


def _sentence(what: str, cells: Sequence[Judgement]) -> str:
    deviations = deviation(cells)
    return f"{what}: median of |ln(simulated / measured)| {deviations.median:.3f} over {deviations.cells}."


def _judge(cell: Cell, simulated_s: float, use: Use) -> Judgement:
    """Return a cell beside its simulated time."""
    one = cell.measurement
    same = ("collective", "measured_as", "in_place", "algorithm", "ranks", "size_bytes", "system", "source")
    parameters = one.label.partition(" ")[2]
    values = {name: getattr(one, name) for name in same}
    return Judgement(**values, parameters=parameters, measured_s=one.time_s, simulated_s=simulated_s, use=use)


def _regrets(
    cells: Sequence[Cell], simulated: Sequence[Judgement], defaults: Mapping[Point, float]
) -> Iterator[Regret]:
    """Give what choices lose at each point with two algorithms or more; `defaults` are times of libraries."""
    points: dict[Point, list[tuple[Cell, Judgement]]] = {}
    for cell, one in zip(cells, simulated, strict=True):
        points.setdefault(point_of(cell.measurement), []).append((cell, one))
    for point, rivals in sorted(points.items()):
        if len(rivals) < 2:
            continue
        rival = min(rivals, key=lambda pair: (pair[1].simulated_s, pair[0].measurement.label))[0].measurement
        best = min(rivals, key=lambda pair: (pair[1].measured_s, pair[0].measurement.label))[0].measurement
        uses = {one.use for _, one in rivals}
        yield Regret(
            collective=rival.collective,
            ranks=rival.ranks,
            size_bytes=rival.size_bytes,
            choice=rival.label,
            best=best.label,
            choice_s=rival.time_s,
            best_s=best.time_s,
            default_s=defaults.get(point),
            is_held_out="fitted" not in uses and "held out" in uses,
        )
