"""How far measured times are from simulated ones, by kinds of calls: intervals for calls that no fit has seen.

The interval of a kind is split-conformal (V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World",
2005). Of n calls, the k-th smallest and the k-th largest factor measured / simulated hold the factor of a new call of
the same kind with a probability of at least (n + 1 - 2 k) / (n + 1). A call of a kind with too few calls for nine of
ten gets the interval of a coarser kind.

The calls of a job resemble each other more than those of two jobs, and those of a collective more than those of two,
so that such intervals are too narrow for what was never measured. Their ends are therefore moved by one factor, as by
Y. Romano, E. Patterson, E. Candes, "Conformalized Quantile Regression", 2019. It is the least with which intervals made
without a whole job hold nine of ten calls, and eight of ten of each class: a collective at small or at large sizes.
Intervals of any collective, which serve those never measured, must do so without a whole collective, too.

Two simulated times on one machine are wrong together. So a kind also has the error of their ratio: nine of ten pairs of
algorithms, measured in one job at one size, have a ratio that differs from the simulated ratio by at most this factor.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from operator import attrgetter
from typing import TypeAlias

from hocket.base.units import format_bytes
from hocket.definitions.machine import Discrepancy, discrepancy_of, ratio_of
from hocket.fitting.result import Judgement

_INSIDE, _INSIDE_CLASS = 0.9, 0.8  # of new calls; of those of one collective and of small or large sizes
_LEAST_OF_CLASS = 8  # the fewest calls of a class that tell this share
LEAST_CALLS = 19  # the fewest calls of a kind: their smallest and their largest factor hold nine of ten new calls

_LEAST_PROGRAMS = 3  # of a kind of one collective: the calls of a program in a job are much alike
LARGE_BYTES = 64 << 10
"""A kind has the calls of sizes below, where latencies decide, or from here on, where bandwidths do."""

_WHOLES: tuple[Callable[[Judgement], object], ...] = (
    attrgetter("ranks"),
    attrgetter("collective"),
    attrgetter("algorithm"),
)
"""What is left out as a whole, so that intervals hold for calls of others: jobs, collectives, algorithms."""

_DIGITS, _ROUNDING = 3, 6  # of the ends of intervals; decimals below which a difference is an error of rounding
_SECTION = re.compile(r"\n*^\s*\[\[discrepancy\]\].*?(?=^\s*\[(?!\[discrepancy\]\])|\Z)", re.MULTILINE | re.DOTALL)

_Kind: TypeAlias = "tuple[str | None, str | None, int, int | None]"
"""The collective, the algorithm and the sizes of a kind, as in `Discrepancy`."""


def discrepancies(cells: Iterable[Judgement]) -> tuple[Discrepancy, ...]:
    """Return the intervals of all kinds with enough calls, which are not fitted ones; the most specific kinds first."""
    cells = list(cells)
    of_one, of_all = _widenings(cells)
    kinds: list[Discrepancy] = []
    for one in reversed([_widen(kind, of_one if kind.collective else of_all) for kind in _of_kinds(cells)]):
        holds = [cell for cell in cells if one.holds(cell.collective, cell.algorithm, cell.size_bytes)]
        coarser = (kind for kind in reversed(kinds) if not kind.collective and kind.holds("", "", one.from_bytes))
        ratio = _ratio(holds) or next((kind.ratio for kind in coarser), one.high / one.low)
        kinds.append(replace(one, ratio=ratio))
    return tuple(reversed(kinds))


def coverage(cells: Sequence[Judgement]) -> float | None:
    """Return the share of calls that are within intervals made without them; None if there are too few calls."""
    are_inside = [one for one in insides(cells) if one is not None]
    return sum(are_inside) / len(are_inside) if are_inside else None


def ratio_coverage(cells: Sequence[Judgement]) -> float | None:
    """Return the share of pairs of algorithms whose ratio is within what other jobs give; None without other jobs."""
    are_inside = []
    for ranks in {cell.ranks for cell in cells}:
        kinds = discrepancies(cell for cell in cells if cell.ranks != ranks)
        for call, error in _errors_of_ratios(cell for cell in cells if cell.ranks == ranks):
            if any(kind.holds(call.collective, "", call.size_bytes) for kind in kinds):
                are_inside.append(error <= ratio_of(kinds, call.collective, call.size_bytes, ranks=ranks))
    return sum(are_inside) / len(are_inside) if are_inside else None


def insides(cells: Sequence[Judgement]) -> list[bool | None]:
    """Return whether each call is within an interval that is made without it; None if it then has none.

    The intervals are made of the calls of other jobs; if there is only one job, of other collectives, or algorithms.
    """
    several = (whole for whole in _WHOLES if len(set(map(whole, cells))) > 1)
    kinds = _made_of_others(cells, discrepancies, next(several, _WHOLES[-1]))
    return [
        None if kind is None else kind.low <= _factor(cell) <= kind.high
        for cell, kind in zip(cells, kinds, strict=True)
    ]


def _made_of_others(
    cells: Sequence[Judgement], make: Callable[[list[Judgement]], Sequence[Discrepancy]], whole: Callable[..., object]
) -> list[Discrepancy | None]:
    """Return the kind of each call, made of the calls of other wholes, such as jobs; None where they have none."""
    wholes = set(map(whole, cells))
    kinds = {one: make([cell for cell in cells if whole(cell) != one]) for one in wholes}
    return [
        discrepancy_of(kinds[whole(cell)], cell.collective, cell.algorithm, cell.size_bytes, ranks=cell.ranks)
        for cell in cells
    ]


def _widenings(cells: Sequence[Judgement]) -> tuple[float, float]:
    """Return by how much intervals of one collective, and of all, are widened, at least 1.

    With one job, nothing tells how much another differs, so that intervals of one collective are widened as the others.
    """
    of_jobs, of_collectives = (_widening(cells, whole) for whole in _WHOLES[:2])
    of_all = max(of_jobs, of_collectives)
    return of_jobs if len({cell.ranks for cell in cells}) > 1 else of_all, of_all


def _widening(cells: Sequence[Judgement], whole: Callable[..., object]) -> float:
    """Return the least widening with which intervals made of other wholes hold nine of ten calls and most of a class.

    A class is the calls of one collective of small, or of large, sizes.
    """
    reaches: dict[_Kind, list[float]] = {}
    for cell, one in zip(cells, _made_of_others(cells, _of_kinds, whole), strict=True):
        if one is not None:
            for kind in _kinds(cell)[1::2]:
                reaches.setdefault(kind, []).append(_reach(one, _factor(cell)))
    widening = 1.0
    for kind, several in reaches.items():
        share, least = (_INSIDE_CLASS, _LEAST_OF_CLASS) if kind[0] else (_INSIDE, LEAST_CALLS)
        if len(several) >= least:
            widening = max(widening, sorted(several)[math.ceil(share * len(several)) - 1])
    return widening


def _of_kinds(cells: Iterable[Judgement]) -> list[Discrepancy]:
    """Return the intervals of all kinds with enough calls, not yet widened."""
    by_kind: dict[_Kind, list[Judgement]] = {}
    for cell in cells:
        for kind in _kinds(cell):
            by_kind.setdefault(kind, []).append(cell)
    return [_discrepancy(kind, by_kind[kind]) for kind in sorted(by_kind, key=_order) if _is_enough(by_kind[kind])]


def _reach(kind: Discrepancy, factor: float) -> float:
    """Return by which factor the ends of an interval must move to hold this factor; below 1 if it is inside."""
    return max(kind.low / factor, factor / kind.high)


def _widen(kind: Discrepancy, widening: float) -> Discrepancy:
    """Return a kind whose interval ends farther out by this factor, with ends of few digits."""
    return replace(kind, low=_round(kind.low / widening, math.floor), high=_round(kind.high * widening, math.ceil))


def _ratio(cells: Iterable[Judgement]) -> float | None:
    """Return the factor that holds the errors of nine of ten ratios; None if there are too few."""
    errors = sorted(error for _, error in _errors_of_ratios(cells))
    if len(errors) < LEAST_CALLS:
        return None
    return _round(errors[math.ceil(_INSIDE * (len(errors) + 1)) - 1], math.ceil)


def _errors_of_ratios(cells: Iterable[Judgement]) -> list[tuple[Judgement, float]]:
    """Return by which factor, at least 1, measured ratios of two algorithms differ from simulated ones, with a call."""
    points: dict[tuple[object, ...], dict[str, Judgement]] = {}
    for cell in cells:
        point = cell.collective, cell.ranks, cell.size_bytes, cell.measured_as, cell.in_place, cell.system
        points.setdefault(point, {}).setdefault(cell.algorithm, cell)
    pairs = [pair for point in points.values() for pair in combinations(point.values(), 2)]
    ratios = [(one, _factor(one) / _factor(other)) for one, other in pairs]
    return [(one, max(ratio, 1 / ratio)) for one, ratio in ratios]


def with_discrepancies(text: str, kinds: Iterable[Discrepancy]) -> str:
    """Return the text of a machine file with these discrepancies in place of its own."""
    others = _SECTION.sub("\n\n", text).rstrip()
    return "\n".join([f"{others}\n", *map(_section, kinds)])


def _kinds(cell: Judgement) -> list[_Kind]:
    sizes = (LARGE_BYTES, None) if cell.size_bytes >= LARGE_BYTES else (0, LARGE_BYTES)
    names = ((cell.collective, cell.algorithm), (cell.collective, None), (None, None))
    return [*((*each, *sizes) for each in names), (None, None, 0, None)]


def _order(kind: _Kind) -> tuple[object, ...]:
    """Return what puts specific kinds before coarser ones."""
    collective, algorithm, from_bytes, below_bytes = kind
    covers_all_sizes = from_bytes == 0 and below_bytes is None
    return collective is None, algorithm is None, covers_all_sizes, collective or "", algorithm or "", from_bytes


def _is_enough(cells: Sequence[Judgement]) -> bool:
    programs = {(cell.collective, cell.algorithm, cell.ranks) for cell in cells}
    return len(cells) >= LEAST_CALLS and len(programs) >= _LEAST_PROGRAMS


def _discrepancy(kind: _Kind, cells: Sequence[Judgement]) -> Discrepancy:
    factors = sorted(map(_factor, cells))
    left_out = math.floor((1 - _INSIDE) / 2 * (len(factors) + 1) + 1e-9) - 1  # on each side
    ranks = max(cell.ranks for cell in cells)
    low, high = factors[left_out], factors[-1 - left_out]
    return Discrepancy(*kind, low, high, high / low, len(cells), ranks)


def _round(factor: float, way: Callable[[float], int]) -> float:
    unit = 10.0 ** (math.floor(math.log10(factor)) - _DIGITS + 1)
    return float(f"{way(round(factor / unit, _ROUNDING)) * unit:.{_DIGITS}g}")


def _factor(cell: Judgement) -> float:
    return cell.measured_s / cell.simulated_s


def _section(kind: Discrepancy) -> str:
    keys: dict[str, object] = {
        "collective": kind.collective,
        "algorithm": kind.algorithm,
        "from": format_bytes(kind.from_bytes) if kind.from_bytes else None,
        "below": None if kind.below_bytes is None else format_bytes(kind.below_bytes),
        "low": kind.low,
        "high": kind.high,
        "ratio": kind.ratio if kind.ratio != kind.high / kind.low else None,
        "calls": kind.calls,
        "ranks": kind.ranks,
    }
    lines = (f"{key} = {json.dumps(value)}\n" for key, value in keys.items() if value is not None)
    return f"[[discrepancy]]\n{''.join(lines)}"
