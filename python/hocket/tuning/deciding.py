"""From times at points to decisions: acceptable choices at each size, few intervals over sizes, and regrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import ceil, exp, inf, log
from operator import add
from typing import TypeAlias

from hocket.definitions.library import REDUCTIONS
from hocket.rules.tuning_files.counterparts import programs_of_libraries
from hocket.tuning.choice import DEFAULT, Choice, Decision, Estimate, Point, choice_at

Times = Mapping[Choice, Estimate]  # the time of each choice at a point


def fastest(times: Times) -> Choice:
    """Return the choice with the shortest time; the MPI's default if there is none."""
    return min(times, key=lambda choice: (times[choice].median_s, choice), default=DEFAULT)


def acceptable(times: Times, tolerance: float) -> frozenset[Choice]:
    """Return the acceptable choices at a point; if the default is acceptable, only the default and what equals it.

    A choice is acceptable if its interval overlaps the fastest one's, or if it is slower than the fastest by at most
    the tolerance, as a share. So no rule is made for a gain within the noise. A choice with exactly the default's time
    is what the default runs.
    """
    if not times:
        return frozenset((DEFAULT,))
    best = min(times.values(), key=lambda one: one.median_s)
    limit_s = (1 + tolerance) * best.median_s
    choices = frozenset(c for c, one in times.items() if one.median_s <= limit_s or one.low_s <= best.high_s)
    return frozenset(c for c in choices if times[c] == times[DEFAULT]) if DEFAULT in choices else choices


def merge(collective: str, points: Sequence[Times], tolerance: float) -> list[Choice]:
    """Return an acceptable choice for each point, with the fewest changes; the points are in order of size.

    Among several ways with the fewest changes, the one with the smallest total loss wins. Among equal ones, it is the
    one that names the default most often, then algorithms that libraries have, then the fewest parameters. The loss of
    a choice is the logarithm of its time over the fastest time.
    """
    common = programs_of_libraries(collective)
    ways: dict[Choice, tuple[_Costs, tuple[Choice, ...]]] = {}
    for times in points:
        (least_changes, *least_costs), least_way = min(ways.values()) if ways else (_NOTHING, ())
        merged_ways = {}
        for choice in acceptable(times, tolerance):
            kept_way = ways.get(choice, ((inf, *_NOTHING[1:]), ()))
            costs, way = min(kept_way, ((least_changes + 1, *least_costs), least_way))
            is_uncommon = choice != DEFAULT and choice.name not in common
            own = 0, _loss(times, choice), choice != DEFAULT, is_uncommon, len(choice.parameters)
            merged_ways[choice] = tuple(map(add, costs, own)), (*way, choice)
        ways = merged_ways
    return list(min(ways.values())[-1]) if ways else []


_Costs: TypeAlias = tuple[float, ...]
"""Changes, the loss, choices other than the default, those that no library has, and parameters."""
_NOTHING: _Costs = (0, 0.0, 0, 0, 0)


def _loss(times: Times, choice: Choice) -> float:
    if choice not in times:
        return 0.0
    best_s = min(one.median_s for one in times.values())
    return round(log(times[choice].median_s / best_s), _DIGITS) if best_s > 0 else 0.0


_DIGITS = 9  # times that differ by less than so many digits are equal


def decide(times: Mapping[Point, Times], tolerance: float) -> list[Decision]:
    """Return decisions for points: by collective, then by ranks, then by size.

    Sizes between two measured sizes are divided where the times of the two choices cross, assuming that times are
    powers of the size in between. If one of the choices is the default, all sizes in between get the default. Ranks
    between two measured counts belong to the nearer count, by ratio. Outside the measured range nothing is decided.
    Rank counts with the same decisions share them.
    """
    decisions = []
    for collective, of_collective in groupby(sorted(times), key=lambda point: point.collective):
        rows = []
        for ranks, of_ranks in groupby(of_collective, key=lambda point: point.ranks):
            points = list(of_ranks)
            rows.append((ranks, _intervals(points, [times[point] for point in points], tolerance)))
        for (first, end), row in _rank_ranges(rows):
            decisions += [Decision(collective, (first, end), sizes, choice) for sizes, choice in row]
    return decisions


def in_one_order(times: Mapping[Point, Times], order_of: Callable[[Point, Choice], object]) -> dict[Point, Times]:
    """Return the times of choices that combine in one order, for each reduction and number of ranks.

    The order with the smallest total loss is kept, where the loss of an order is the logarithm of the time of its
    fastest choice over the fastest time. Other collectives keep all choices.
    """
    times_by_point: dict[Point, Times] = {}
    for (collective, _), of_row in groupby(sorted(times), key=lambda point: (point.collective, point.ranks)):
        row = list(of_row)
        if collective not in REDUCTIONS:
            times_by_point |= {point: times[point] for point in row}
            continue
        order = {(point, choice): order_of(point, choice) for point in row for choice in times[point]}
        times_of_order = {
            one: {point: {c: t for c, t in times[point].items() if order[point, c] == one} for point in row}
            for one in set(order.values()) - {None}
        }
        losses = {
            one: sum(_loss(times[point], fastest(times_at_point)) for point, times_at_point in of_one.items())
            for one, of_one in times_of_order.items()
            if all(of_one.values())
        }
        times_by_point |= times_of_order[min(losses, key=lambda one: (losses[one], str(one)))] if losses else {}
    return times_by_point


_Row = list[tuple[tuple[int, int], Choice]]  # ranges of sizes, each with its choice


def _intervals(points: Sequence[Point], times: Sequence[Times], tolerance: float) -> _Row:
    """Return ranges of sizes from the smallest to the largest point."""
    choices = merge(points[0].collective, times, tolerance)
    changes = [i for i in range(1, len(points)) if choices[i] != choices[i - 1]]
    starts = [0, *changes]
    bounds = [points[0].size_bytes, *(_crossing(points, times, choices, i) for i in changes), points[-1].size_bytes + 1]
    return [((low, high), choices[start]) for start, (low, high) in zip(starts, pairwise(bounds), strict=True)]


def _crossing(points: Sequence[Point], times: Sequence[Times], choices: Sequence[Choice], change: int) -> int:
    """Return the size at which the choice before a change becomes slower; the default gets all sizes in between."""
    before, after = choices[change - 1], choices[change]
    low, high = points[change - 1].size_bytes, points[change].size_bytes
    if DEFAULT in (before, after):
        return high if before == DEFAULT else low + 1
    ahead, behind = (_ahead(times[i], before, after) for i in (change - 1, change))
    share = ahead / (ahead - behind) if ahead > 0 > behind else 0.5
    crossing = exp(log(max(low, 1)) * (1 - share) + log(high) * share)
    return min(max(ceil(crossing), low + 1), high)


def _ahead(times: Times, before: Choice, after: Choice) -> float:
    """Return how much faster one choice is than another, as a logarithm; 0 if unknown."""
    if before not in times or after not in times:
        return 0.0
    return log(max(times[after].median_s, 1e-12) / max(times[before].median_s, 1e-12))


def _rank_ranges(rows: Sequence[tuple[int, _Row]]) -> list[tuple[tuple[int, int], _Row]]:
    """Return ranges of ranks with their rows; neighbours with equal rows share a range."""
    groups = [list(group) for _, group in groupby(rows, key=lambda row: row[1])]
    counts = [(group[0][0], group[-1][0]) for group in groups]
    middles = [max(ceil((low * high) ** 0.5), low + 1) for (_, low), (high, _) in pairwise(counts)]
    bounds = [counts[0][0], *middles, counts[-1][1] + 1]
    return [(ranks, group[0][1]) for ranks, group in zip(pairwise(bounds), groups, strict=True)]


def middle_sizes(sizes_bytes: Iterable[int], unit: int) -> tuple[int, ...]:
    """Return the geometric means of neighbouring sizes, in whole units."""
    sizes = sorted(set(sizes_bytes))
    middles = (round((max(low, 1) * high) ** 0.5 / unit) * unit for low, high in pairwise(sizes))
    return tuple(m for m, (low, high) in zip(middles, pairwise(sizes), strict=True) if low < m < high)


@dataclass(frozen=True)
class Regret:
    """The quality of decisions at a size that was not used for deciding."""

    point: Point
    choice: Choice  # the choice of the decisions
    best: Choice  # the fastest measured choice at the point
    time_s: float  # the time of the choice
    best_s: float  # the time of the fastest
    default_s: float | None  # the time of the MPI's default; None if unknown
    # Whether it is slower than the default beyond the noise: their intervals do not overlap.
    is_slower_than_default: bool
    is_beyond_noise: bool  # whether it is slower than the fastest beyond the noise

    @property
    def share(self) -> float:
        """How much longer the choice takes than the fastest, as a share of the fastest time."""
        return self.time_s / self.best_s - 1 if self.best_s > 0 else 0.0


def regrets(decisions: Sequence[Decision], times: Mapping[Point, Times]) -> list[Regret]:
    """Return the regrets of decisions at points. A choice not measured there counts as the default, or is left out."""
    each_regret = []
    for point in sorted(times):
        times_at_point = times[point]
        choice = choice_at(decisions, point)
        choice = choice if choice in times_at_point else DEFAULT
        if choice not in times_at_point:
            continue
        best, default = fastest(times_at_point), times_at_point.get(DEFAULT)
        each_regret.append(
            Regret(
                point,
                choice,
                best,
                time_s=times_at_point[choice].median_s,
                best_s=times_at_point[best].median_s,
                default_s=None if default is None else default.median_s,
                is_slower_than_default=default is not None and times_at_point[choice].low_s > default.high_s,
                is_beyond_noise=times_at_point[choice].low_s > times_at_point[best].high_s,
            )
        )
    return each_regret
