"""Comparisons in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from hocket.base.results import TextTable
from hocket.base.units import format_bytes, format_count, format_time, format_value, from_to, span
from hocket.simulating.comparison import algorithm_if_known

if TYPE_CHECKING:
    from hocket.simulating.comparison import Comparison, Use
    from hocket.simulating.ranking import MeasuredTime
    from hocket.simulating.simulation import Simulation, Trials

INTERVALS_NOTE = "times are means, with 95 % intervals; = joins algorithms whose intervals overlap"
EXPECTED_NOTE = "nine of ten measured calls are within such intervals; = joins what measurements may not tell apart"
ONE_SAMPLE = "each time is one sample: with another seed others may be the fastest"


def expected_lines(comparison: Comparison) -> list[tuple[str, str]]:
    """Return what the intervals of measured calls are, if the machine file says how far off it is."""
    has_intervals = any(one.measured_interval_s for one in comparison.simulations)
    return [("measured", EXPECTED_NOTE)] if has_intervals else []


def trials_words(trials: Trials) -> str:
    """Return the number of trials of a comparison, in words."""
    most = "until the fastest is known, at most " if trials.until_decided else ""
    return f"{most}{format_count(trials.count, 'trial')}, seed {trials.seed}"


def answer_words(collective: str, uses: Sequence[Use]) -> str:
    """Return which algorithm to use for which sizes: "recursive_doubling to 2 KiB, ring (segment 8 KiB) above: ..."."""
    names = [f"{one.algorithm}{_parameters_words(collective, one)}" for one in uses]
    parts = [f"{name} to {format_bytes(one.last_bytes)}" for name, one in zip(names[:-1], uses, strict=False)]
    return f"{', '.join([*parts, names[-1] + (' above' if parts else '')])}: {_slower_words(uses)}"


def _parameters_words(collective: str, use: Use) -> str:
    """Return the chosen values other than the defaults; of several of a parameter, the first and the last.

    Values that the machine gives, such as the sides of a torus, are not chosen.
    """
    algorithm = algorithm_if_known(collective, use.algorithm)
    parameters, topology = (algorithm.parameters, algorithm.topology) if algorithm else ((), None)
    units = {each.name: each.unit for each in parameters}
    given_names = {each.name for each in parameters if topology and not each.is_choosable}
    values: dict[str, list[str]] = {}
    for of_size in use.parameters.values():
        for name in (name for name in of_size if name not in given_names):
            values.setdefault(name, []).append(format_value(of_size[name], units.get(name, "count")))
    words = [
        f"{name} {texts[0] if len(set(texts)) == 1 else f'{texts[0]} to {texts[-1]}'}" for name, texts in values.items()
    ]
    return f" ({', '.join(words)})" if words else ""


def _slower_words(uses: Sequence[Use]) -> str:
    """Return how much slower than the fastest these algorithms are, in words."""
    most = max(one.slower for one in uses)
    share = f"within {math.ceil(100 * most - 1e-6)} % of the fastest" if most > 1e-6 else "the fastest"
    return f"{share} at each size" if any(one.first_bytes < one.last_bytes for one in uses) or len(uses) > 1 else share


def default_lines(comparison: Comparison, library: str) -> list[str]:
    """Return one line for each range of sizes with the same choice of a library, with its ratio to the fastest."""
    mine = sorted((one for one in comparison.defaults if one.library == library), key=lambda one: one.size_bytes)
    lines = []
    for (choice, sentence, costs), group in groupby(mine, key=lambda one: (one.choice, one.sentence, one.costs)):
        alike = list(group)
        ratios = [ratio for ratio in map(comparison.times_the_fastest, alike) if ratio is not None]
        far = f", {span(ratios)} times the fastest" if ratios else ""
        lines.append(
            f"{from_to(alike[0].size_bytes, alike[-1].size_bytes)}: {sentence or choice}{costs and f', {costs}'}{far}"
        )
    if any((one.choice or "").startswith("han ") for one in mine):
        lines.append("OMPI_MCA_coll_han_priority=0 gives these calls to tuned, which chooses as openmpi-4.1 does")
    return lines


def measured_table(comparison: Comparison) -> TextTable:
    """Return measured times beside simulated ones; "-" where nothing was simulated."""
    columns = ("size", "measured", "simulated", "simulated / measured")
    rows = (
        (one.algorithm, format_bytes(one.size_bytes), format_time(one.measured_s), *_simulated(one))
        for one in comparison.measured
    )
    return TextTable(("algorithm", *columns), tuple(rows), columns)


def _simulated(one: MeasuredTime) -> tuple[str, str]:
    """Return the simulated time, and it over the measured time."""
    if one.simulated_s is None:
        return "-", "-"
    return format_time(one.simulated_s), f"{one.simulated_s / one.measured_s:.2f}"


def not_compared_lines(comparison: Comparison) -> list[tuple[str, str]]:
    """Return algorithms that were not compared, with the sizes unless all were refused, and the reason."""
    sizes_by_refusal: dict[tuple[str, str], list[int]] = {}
    for one in comparison.not_compared:
        sizes_by_refusal.setdefault((one.algorithm, one.sentence), []).append(one.size_bytes)
    lines = []
    for (name, sentence), sizes in sorted(sizes_by_refusal.items()):
        where = "" if name not in comparison.algorithms else f" at {', '.join(map(format_bytes, sizes))}"
        lines.append((f"{name}{where}", sentence))
    return lines


def times_table(comparison: Comparison) -> TextTable:
    """Return the times by size and algorithm, and the lower bound."""
    simulations = {(one.size_bytes, one.algorithm): one for one in comparison.simulations}
    columns = ("size", *comparison.algorithms, *(["lower bound"] if comparison.bounds else []))
    bounds_s = {size_bytes: bound.time_s for size_bytes, bound in comparison.bounds.items()}
    rows = (
        (
            format_bytes(size_bytes),
            *(_cell(simulations.get((size_bytes, name)), comparison) for name in comparison.algorithms),
            *([format_time(bounds_s[size_bytes]) if size_bytes in bounds_s else "-"] if bounds_s else []),
        )
        for size_bytes in comparison.sizes_bytes
    )
    return TextTable(columns, tuple(rows), columns[1:])


def _cell(one: Simulation | None, comparison: Comparison) -> str:
    """Return a time, with half the width of its interval; a mark shows the fastest."""
    if one is None:
        return "-"
    reach_s = one.time_s.mean - one.time_s.interval[0]
    reach = f" ± {format_time(reach_s)}" if one.trials > 1 else ""
    is_fastest = one.algorithm in comparison.fastest(one.size_bytes)
    return f"{format_time(one.time_s.mean)}{reach}{' *' if is_fastest else ''}"
