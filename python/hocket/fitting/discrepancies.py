"""How far measured times are from simulated ones, by kinds of calls: intervals for calls that no fit has seen.

The interval of a kind is split-conformal (V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World",
2005). Of n calls, the k-th smallest and the k-th largest factor measured / simulated hold the factor of a new call of
the same kind with a probability of at least (n + 1 - 2 k) / (n + 1). A call of a kind with too few calls for nine of
ten gets the interval of a coarser kind.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from hocket.base.units import format_bytes
from hocket.definitions.discrepancies import Discrepancy, discrepancy_of
from hocket.fitting.result import Judgement

_INSIDE = 0.9  # of new calls
LEAST_CALLS = 19
"""The fewest calls of a kind: their smallest and their largest factor hold nine of ten new calls."""

_LEAST_PROGRAMS = 3  # of a kind of one collective: the calls of a program in a job are much alike
LARGE_BYTES = 64 << 10
"""A kind has the calls of sizes below, where latencies decide, or from here on, where bandwidths do."""

_SIZES: tuple[tuple[int, int | None], ...] = ((0, LARGE_BYTES), (LARGE_BYTES, None))
_DIGITS = 3
_SECTION = re.compile(r"\n*^\s*\[\[discrepancy\]\].*?(?=^\s*\[(?!\[discrepancy\]\])|\Z)", re.MULTILINE | re.DOTALL)

_Kind: TypeAlias = "tuple[str | None, str | None, int, int | None]"
"""The collective, the algorithm and the sizes of a kind, as in `Discrepancy`."""


def discrepancies(cells: Iterable[Judgement]) -> tuple[Discrepancy, ...]:
    """Return the intervals of all kinds with enough calls, the most specific kinds first.

    Args:
        cells: Calls that the machine was not fitted to.
    """
    by_kind: dict[_Kind, list[Judgement]] = {}
    for cell in cells:
        for kind in _kinds(cell):
            by_kind.setdefault(kind, []).append(cell)
    return tuple(_discrepancy(kind, by_kind[kind]) for kind in sorted(by_kind, key=_order) if _is_enough(by_kind[kind]))


def coverage(cells: Sequence[Judgement]) -> float | None:
    """Return the share of calls that are within intervals made without them; None if there are too few calls."""
    are_inside = [one for one in insides(cells) if one is not None]
    return sum(are_inside) / len(are_inside) if are_inside else None


def insides(cells: Sequence[Judgement]) -> list[bool | None]:
    """Return whether each call is within an interval that is made without it; None if it then has none.

    The intervals are made of the calls of other jobs, or, if there is only one job, of other algorithms.
    """
    by_job = len({cell.ranks for cell in cells}) > 1
    groups = [cell.ranks if by_job else cell.algorithm for cell in cells]
    kinds = {
        group: discrepancies(cell for cell, its_group in zip(cells, groups, strict=True) if its_group != group)
        for group in dict.fromkeys(groups)
    }
    return [_is_inside(kinds[group], cell) for cell, group in zip(cells, groups, strict=True)]


def _is_inside(kinds: Iterable[Discrepancy], cell: Judgement) -> bool | None:
    kind = discrepancy_of(kinds, cell.collective, cell.algorithm, cell.size_bytes)
    return None if kind is None else kind.low <= _factor(cell) <= kind.high


def with_discrepancies(text: str, kinds: Iterable[Discrepancy]) -> str:
    """Return the text of a machine file with these discrepancies in place of its own."""
    others = _SECTION.sub("\n\n", text).rstrip()
    return "\n".join([f"{others}\n", *map(_section, kinds)])


def _kinds(cell: Judgement) -> list[_Kind]:
    (sizes,) = (
        each for each in _SIZES if each[0] <= cell.size_bytes and (each[1] is None or cell.size_bytes < each[1])
    )
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
    low, high = _rounded(factors[left_out], math.floor), _rounded(factors[-1 - left_out], math.ceil)
    return Discrepancy(*kind, low, high, len(cells), max(cell.ranks for cell in cells))


def _rounded(factor: float, way: Callable[[float], int]) -> float:
    """Return a factor with few digits, rounded so that the interval does not shrink."""
    unit = 10.0 ** (math.floor(math.log10(factor)) - _DIGITS + 1)
    return float(f"{way(factor / unit) * unit:.{_DIGITS}g}")


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
        "calls": kind.calls,
        "ranks": kind.ranks,
    }
    lines = (f"{key} = {json.dumps(value)}\n" for key, value in keys.items() if value is not None)
    return f"[[discrepancy]]\n{''.join(lines)}"
