"""How far measured times are from simulated ones, by kinds of calls: intervals for calls that no fit has seen.

The interval of a kind is split-conformal (V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World",
2005). The error of a call is the factor, at least 1, between its measured and its simulated time. Of n errors, the k-th
smallest is at least that of a new call of the same kind with a probability of at least k / (n + 1). It counts either
way: that the calls of some jobs took longer than simulated does not tell that those of another one will. A call of a
kind with few calls gets the interval of a coarser kind.

The calls of a job resemble each other more than those of two jobs, and so do those of a collective or an algorithm. So
all intervals are widened by the least factor with which nine of ten calls are within intervals made without their whole
job, and without their whole algorithm. Intervals of any collective serve those that were never measured: they must also
hold nine of ten calls without their whole collective. With one job, nothing tells how far another one differs, and all
intervals are widened so.

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

_INSIDE = 0.9  # of new calls
LEAST_CALLS = 19  # the fewest calls of a kind, and the fewest pairs of algorithms

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
    of_jobs, of_collectives, of_algorithms = (_widening(cells, whole) for whole in _WHOLES)
    of_all = max(of_jobs, of_collectives, of_algorithms)
    of_one = max(of_jobs, of_algorithms) if len({cell.ranks for cell in cells}) > 1 else of_all
    kinds: list[Discrepancy] = []
    for one in reversed([_widen(kind, of_one if kind.collective else of_all) for kind in _of_kinds(cells)]):
        holds = [cell for cell in cells if one.holds(cell.collective, cell.algorithm, cell.size_bytes)]
        coarser = (kind for kind in reversed(kinds) if not kind.collective and kind.holds("", "", one.from_bytes))
        ratio = _factor_holding(error for _, error in _errors_of_ratios(holds))
        ratio = ratio or next((kind.ratio for kind in coarser), one.high / one.low)
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
    return [None if kind is None else _error(cell) <= kind.high for cell, kind in zip(cells, kinds, strict=True)]


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


def _widening(cells: Sequence[Judgement], whole: Callable[..., object]) -> float:
    """Return by how much intervals made of other wholes are widened, at least 1, to hold nine of ten calls."""
    kinds = _made_of_others(cells, _of_kinds, whole)
    ratios = sorted(_error(cell) / kind.high for cell, kind in zip(cells, kinds, strict=True) if kind is not None)
    return max(1.0, ratios[math.ceil(_INSIDE * len(ratios)) - 1]) if len(ratios) >= LEAST_CALLS else 1.0


def _of_kinds(cells: Iterable[Judgement]) -> list[Discrepancy]:
    """Return the intervals of all kinds with enough calls, not yet widened."""
    by_kind: dict[_Kind, list[Judgement]] = {}
    for cell in cells:
        for kind in _kinds(cell):
            by_kind.setdefault(kind, []).append(cell)
    return [
        Discrepancy(*kind, 1 / high, high, high**2, len(own), max(cell.ranks for cell in own))
        for kind, own in sorted(by_kind.items(), key=lambda item: _order(item[0]))
        if _has_programs(own) and (high := _factor_holding(map(_error, own)))
    ]


def _widen(kind: Discrepancy, widening: float) -> Discrepancy:
    """Return a kind whose interval is wider by a factor at each end, with ends of few digits."""
    high = _round(kind.high * widening, math.ceil)
    return replace(kind, low=_round(1 / high, math.floor), high=high)


def _factor_holding(errors: Iterable[float]) -> float | None:
    """Return the factor that holds nine of ten new errors; None if there are too few."""
    in_order = sorted(errors)
    if len(in_order) < LEAST_CALLS:
        return None
    return _round(in_order[math.ceil(_INSIDE * (len(in_order) + 1)) - 1], math.ceil)


def _errors_of_ratios(cells: Iterable[Judgement]) -> list[tuple[Judgement, float]]:
    """Return by which factor, at least 1, measured ratios of two algorithms differ from simulated ones, with a call."""
    points: dict[tuple[object, ...], dict[str, Judgement]] = {}
    for cell in cells:
        point = cell.collective, cell.ranks, cell.size_bytes, cell.measured_as, cell.in_place, cell.system
        points.setdefault(point, {}).setdefault(cell.algorithm, cell)
    pairs = [pair for point in points.values() for pair in combinations(point.values(), 2)]
    return [(one, math.exp(abs(one.residual - other.residual))) for one, other in pairs]


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


def _has_programs(cells: Sequence[Judgement]) -> bool:
    return len({(cell.collective, cell.algorithm, cell.ranks) for cell in cells}) >= _LEAST_PROGRAMS


def _round(factor: float, way: Callable[[float], int]) -> float:
    unit = 10.0 ** (math.floor(math.log10(factor)) - _DIGITS + 1)
    return float(f"{way(round(factor / unit, _ROUNDING)) * unit:.{_DIGITS}g}")


def _error(cell: Judgement) -> float:
    return math.exp(abs(cell.residual))


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
