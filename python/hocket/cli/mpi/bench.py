"""`hocket mpi bench`: time algorithms under a real MPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.units import format_bytes, format_count, format_reach, format_time
from hocket.cli import options
from hocket.cli.effort import tell
from hocket.cli.mpi.options import command
from hocket.cli.output import SizeTable, hand_out, print_files, print_transposed, print_words, progress
from hocket.cli.printing import StyledText, say
from hocket.definitions.library import NATIVE_NAME, Algorithm, algorithms_named, values_of
from hocket.definitions.machine import Machine
from hocket.drawing.plot import MOST_LINES, bench_chart
from hocket.fitting.predicting import predict
from hocket.mpi import Installation
from hocket.mpi.benchmark import Bench, Measurement, Prediction, deviation
from hocket.mpi.benchmark import bench as measure
from hocket.mpi.launch import Launcher
from hocket.mpi.scene import draws
from hocket.simulating.scenes import NO_SCENE, Scene
from hocket.simulating.simulation import ONE_TRIAL, Trials
from hocket.words.simulations import played_on_clocks

if TYPE_CHECKING:
    from hocket.cli.packages import Lab

ALL = "all"
"""The name of all algorithms together."""


@dataclass(frozen=True)
class BenchRequest:
    """A measurement that the user asks for."""

    installation: Installation  # the MPI
    candidates: tuple[Algorithm | None, ...]  # the algorithms; None is the MPI's own
    call: Call  # ranks, root and parameters
    sizes_bytes: tuple[int, ...]  # the sizes
    share: float  # largest distance between a median and the ends of its interval, as a share of the median
    limit_s: float  # time limit for each size, in seconds
    scene: Scene = NO_SCENE  # when the ranks begin the call, and how often they call

    @property
    def simulated(self) -> dict[str, Any]:
        """The scene with the trials whose arrivals are measured, as arguments of a simulation."""
        trials = Trials(draws(self.call.ranks)) if self.scene.is_drawn else ONE_TRIAL
        return {"scene": self.scene, "trials": trials}

    def measure(self, *, least_s: Callable[[int], float] = lambda _: 0.0, **more: Any) -> Bench:
        """Measure, with a progress bar, and with other arguments of `hocket.mpi.benchmark.bench`.

        `least_s` returns the time of the fewest samples allowed of all algorithms at a size, if it is known.
        """
        scene = {name: self.scene.texts[name] for name in ("arrivals", "cadence")}
        more |= {"share": self.share, "limit_s": self.limit_s, **scene}
        tell(sum(max(self.limit_s, least_s(size)) for size in self.sizes_bytes), "up to ")
        with progress("measuring", len(self.sizes_bytes) * len(self.candidates)) as on_done:
            return measure(self.installation, self.candidates, self.call, self.sizes_bytes, **more, on_done=on_done)


def bench_request(
    collective: str,
    names: tuple[str, ...],
    ranks: int,
    sizes: tuple[int, ...] | None,
    root: int,
    neighbors: str | None,
    param: tuple[tuple[str, str], ...],
    scene: Scene,
    until_ci: float,
    limit_s: float,
    installation: Installation,
    *,
    usual: tuple[str, ...] = (ALL, NATIVE_NAME),
) -> BenchRequest:
    """Return what the options ask for; without names, the usual algorithms."""
    options.check_scene(scene, "isolated")
    candidates = _candidates(collective, names or usual)
    named_candidates = [one for one in candidates if one is not None]
    if root >= ranks:
        raise click.UsageError(f"--root: got {root}, expected a rank below {ranks}")
    sizes = options.sizes_of(collective, sizes, example="8B..8MiB")
    parameters = values_of(param, named_candidates)
    call = Call(ranks=ranks, size_bytes=0, root=root, neighbors=neighbors, parameters=parameters)
    return BenchRequest(installation, candidates, call, sizes, until_ci, limit_s, scene)


@command(request=bench_request, scene=options.scene_without_faults)
def bench(
    launcher_and_lab: tuple[Launcher, Lab | None],
    request: BenchRequest,
    machine: Machine | None,
    plot: str | None,
    output: str | None,
    every: bool,
    as_json: bool,
) -> None:
    """Time algorithms for a COLLECTIVE under a real MPI, in turns with the MPI's own algorithm.

    `native` is the MPI's own algorithm and `all` is the whole catalogue; without a name, both are measured. All
    algorithms run in one program. The library's own count proves that each one ran, and each result is checked. In a
    lab, times are as measured there.
    """
    launcher, lab = launcher_and_lab
    more: dict[str, Any] = {"only_by_mpi": machine is not None}
    if lab is not None:
        lab.check_scene(request.scene)
        request = replace(request, call=lab.call(request.call))
        more["least_rounds"] = lab.LEAST_ROUNDS
    results = request.measure(launcher=launcher, **more)
    predictions = predict(results, request.candidates, request.call, machine, **request.simulated) if machine else ()
    entries_of_predictions = {"predictions": [asdict(one) for one in predictions], "machine": machine and machine.name}
    hand_out(
        {**asdict(results), **entries_of_predictions, "lab": lab and lab.summary},
        plot=plot,
        output=output,
        as_json=as_json,
        draw=lambda: bench_chart(
            results, predictions, machine.name if machine else None, None if every else MOST_LINES
        ),
        show=lambda files: print_bench(results, predictions, machine, files, every=every),
    )


def _candidates(collective: str, names: Sequence[str]) -> tuple[Algorithm | None, ...]:
    """Return the named algorithms; None is the MPI's own."""
    if not set(names) - {NATIVE_NAME}:
        raise Error(f"algorithms: got {NATIVE_NAME}, expected at least one algorithm of the catalogue beside it")
    choices: list[Algorithm | None] = []
    for name in dict.fromkeys(names):
        if name == NATIVE_NAME:
            choices.append(None)
        else:
            choices += algorithms_named(collective, () if name == ALL else (name,))
    return tuple(dict.fromkeys(choices))


def print_bench(
    results: Bench,
    predictions: tuple[Prediction, ...],
    machine: Machine | None,
    files: Mapping[str, str | None],
    *,
    every: bool,
) -> None:
    """Print the measurements, of the fastest or of every algorithm, and their ratio to a machine's predictions."""
    say(f"{results.collective} on {format_count(results.ranks, 'rank')}, {results.mpi}", bold=True)
    for words in played_on_clocks(results):
        print_words(words)
    names = [name for name in results.algorithms if any(one.algorithm == name for one in results.measurements)]
    predictions_by_call = {(one.size_bytes, one.algorithm): one for one in predictions}
    ratios: list[tuple[str, _Ratio]] = []
    if NATIVE_NAME in names:
        ratios.append((f"over {NATIVE_NAME}", partial(_over_native, results)))
    if machine is not None:
        ratios.append((f"over {machine.name}", partial(_over_machine, predictions_by_call)))
    if results.arrivals:
        ratios.append(("last arrival", lambda one: format_time(median(one.arriving_s))))
    if results.cadence:
        ratios.append(("interval", lambda one: format_time(median(one.interval_s))))
    (_print_every if every else _print_fastest)(results, names, ratios)
    ours = [name for name in names if name != NATIVE_NAME]
    if machine is not None and ours:
        middle, ninth, worst = deviation(
            one.median_s / predictions_by_call[one.size_bytes, one.algorithm].time_s
            for one in results.measurements
            if one.algorithm in ours and predictions_by_call[one.size_bytes, one.algorithm].time_s > 0
        )
        print_words(
            f"deviation from {machine.name}: median {middle:.1%}, nine of ten within {ninth:.1%}, worst {worst:.1%}"
        )
    call_counts = ", ".join(f"{name} {calls}" for name, calls in results.proving_calls.items())
    say()
    print_words(f"the library counted one proving call per size: {call_counts}")
    for name, sentence in dict.fromkeys((one.algorithm, one.sentence) for one in results.not_measured):
        print_words(f"not measured: {name}: {sentence}")
    print_files(files)


_Ratio = Callable[[Measurement], str]
"""Returns the ratio of a measurement to something else, as text."""


def _print_fastest(results: Bench, names: Sequence[str], ratios: Sequence[tuple[str, _Ratio]]) -> None:
    say(f"\n{_MEDIAN}")
    table = SizeTable(results.sizes_bytes, len(names), {what: _WIDEST_OVER for what, _ in ratios}, with_reach=True)
    for size in results.sizes_bytes:
        first = results.places(size)[0].names[0]
        one = results.at(size, first)
        cells = ["-" if one is None else text_of(one) for _, text_of in ratios]
        table.print_row(size, results.places(size), cells, reach=None if one is None else one.reach)


def _print_every(results: Bench, names: Sequence[str], ratios: Sequence[tuple[str, _Ratio]]) -> None:
    tables: dict[str, _Ratio] = {
        f"{_MEDIAN}; fastest as far as intervals tell (*)": partial(_median, results),
        "90th and 99th percentile of the samples": lambda one: f"{format_time(one.p90_s)} {format_time(one.p99_s)}",
    }
    rows = [[results.at(size, name) for size in results.sizes_bytes] for name in names]
    for what, text_of in (*tables.items(), *ratios):
        say()
        print_words(what)
        cells = [["-" if one is None else text_of(one) for one in row] for row in rows]
        print_transposed(names, [*map(format_bytes, results.sizes_bytes)], cells)


def _median(results: Bench, one: Measurement) -> str:
    text = f"{format_time(one.median_s)} {format_reach(one.reach)}"
    is_fastest = one.algorithm in results.fastest(one.size_bytes)
    return StyledText(f"{text} *", fg="green", bold=True) if is_fastest else text


def _over_native(results: Bench, ours: Measurement) -> str:
    """Return a time over the MPI's own, with the interval of the ratio."""
    native = results.at(ours.size_bytes, NATIVE_NAME)
    if native is None or native == ours:
        return "-"
    low, high = ours.low_s / native.high_s, ours.high_s / native.low_s
    return f"{ours.median_s / native.median_s:.2f} ({low:.2f}-{high:.2f})"


def _over_machine(predictions: Mapping[tuple[int, str], Prediction], ours: Measurement) -> str:
    """Return a time over the simulated time, and over the formula's."""
    one = predictions.get((ours.size_bytes, ours.algorithm))
    if one is None:
        return "-"
    formula = f"{ours.median_s / one.formula_s:.2f}" if one.formula_s else "-"
    return f"{ours.median_s / one.time_s:.2f} / {formula}" if one.time_s else "-"


_MEDIAN = "median, and how far its 95 % interval reaches"
_WIDEST_OVER = "0.53 (0.52-0.55)"
