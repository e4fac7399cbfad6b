"""How far each value can move before a fit gets too bad: profiles of the robust sum.

A value is moved away from the best fit, step by step. At each step the other values are fitted again, and all cells are
simulated. The interval ends where the sum exceeds that of the best fit by what chance explains in 95 of 100 cases.

The other values are fitted to a linear model of the times, so that a step takes one simulation of each cell. Simulated
times are nearly linear in the machine's times and in the inverses of its rates, but they have steps where the order of
two events changes. Where a step raises the sum, values on the other side of it are searched with the cells that have
the step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from hocket.base.files import read_rows
from hocket.base.packages import optional
from hocket.fitting.cells import Cell, Floats, Simulator, TimeOverError
from hocket.fitting.result import WIDE, Pair, Value
from hocket.fitting.searching import SCALE, bounds_of, cost_of, jacobian, weights
from hocket.fitting.skeleton import Place

_QUANTILE = 0.975  # both tails beyond it have 5 %
_LEAST_VARIANCE = 1e-4  # variance of residuals: 1 % is the best accuracy of a measurement
_LEAST_SHARE = 1e-3  # of a time in the linear model
_POINTS = 7  # at most, on a side of a value
_END_SHARE = 0.15  # how far from an end, as a share of its distance from the best value, the last point may be
_FARTHEST = 3.0  # times as far is the next point at most
_STEP_EXCESS = 1.0  # more than the linear model predicts, in units of chance: there is a step
_STEP_SHARE = 1 / 3  # of the cells have a step at most; otherwise the model is not linear there
_REACHES = (0.95, 0.7, 0.45, 0.2)  # of what chance allows the other values, to search the other side of a step
_BETTER = 0.1  # in units of chance: a point is better than the best
_ROUNDS = 3  # of moving to a better point
_HIGH_CORRELATION = 0.95
_BOUND_MARGIN = 1e-3  # difference of logarithms

_ADVICE: Mapping[str, str] = {
    key: row["measurements"] for row in read_rows(__file__, "advice.csv") for key in row["keys"].split()
}
_ANY_ADVICE = "more collectives, algorithms and sizes"


@dataclass(frozen=True)
class Profile:
    """Where the profiles of values end."""

    values: Floats  # logarithms, of the best fit; `low` and `high` too
    low: Floats
    high: Floats
    spread: Floats  # the covariance of the logarithms near the best fit
    scatter: float  # the standard deviation of ln(simulated / measured)

    @classmethod
    def unknown(cls, places: Sequence[Place], values: Floats) -> Profile:
        """Return the profile of values of which nothing is known but their ranges."""
        return cls(values, *bounds_of(places), np.eye(len(values)), 0.0)


@dataclass(frozen=True)
class _Point:
    """Values, the times that were simulated with them, and the robust sum."""

    values: Floats
    times_s: Floats
    cost: float


@dataclass(frozen=True)
class _Linear:
    """Times as a linear function of costs, which are the machine's times and the inverses of its rates."""

    at: _Point  # the values and times that it goes through
    signs: Floats  # 1 of each value that is a cost, -1 of a rate
    slopes: Floats  # the derivative of each cell's time by each cost

    @classmethod
    def of(cls, at: _Point, signs: Floats, logarithmic: Floats) -> _Linear:
        """Return the model with these derivatives of the logarithms of times by the logarithms of values."""
        return cls(at, signs, at.times_s[:, None] * logarithmic * signs / np.exp(signs * at.values))

    def times_s(self, values: Floats) -> Floats:
        """Return the times with some values."""
        moved = np.exp(self.signs * values) - np.exp(self.signs * self.at.values)
        return np.asarray(np.maximum(self.at.times_s + self.slopes @ moved, _LEAST_SHARE * self.at.times_s))

    def logarithmic(self, values: Floats) -> Floats:
        """Return the derivatives of the logarithms of times by the logarithms of values."""
        return self.slopes * self.signs * np.exp(self.signs * values) / self.times_s(values)[:, None]


def profile_fit(simulator: Simulator, cells: Sequence[Cell], values: Floats, *, limit_s: float = inf) -> Profile:
    """Return where the profiles end, around logarithms of the best values so far; after the limit, by derivatives."""
    simulator.until_s = inf
    profiler = _Profiler(simulator, cells, values)
    simulator.until_s = monotonic() + limit_s
    return profiler.profile()


def covariance(derivatives: Floats, variance: float, places: Sequence[Place]) -> Floats:
    """Return the covariance of the logarithms of values.

    Derivatives of residuals have a row for each cell and a column for each value. The bounds of a value count as what
    was known before: a normal distribution that has them at two standard deviations.
    """
    lower, upper = bounds_of(places)
    precision = derivatives.T @ derivatives / variance + np.diag(16.0 / (upper - lower) ** 2)
    return np.asarray(np.linalg.inv(precision), dtype=np.float64)


class _Profiler:
    """The best fit so far, a linear model there, and what chance allows."""

    def __init__(self, simulator: Simulator, cells: Sequence[Cell], values: Floats) -> None:
        self._simulator, self._cells = simulator, cells
        self._places = simulator.skeleton.places
        self._lower, self._upper = bounds_of(self._places)
        self._free = np.array([not place.choices for place in self._places])
        self._signs = np.array([-1.0 if place.is_rate else 1.0 for place in self._places])
        self._measured = np.log([cell.measurement.time_s for cell in cells])
        self._least_squares = optional("scipy.optimize", extra="fit").least_squares
        freedom = max(len(cells) - len(self._places), 1)
        self._limit = float(optional("scipy.special", extra="fit").stdtrit(freedom, _QUANTILE)) ** 2
        (self._best,) = self._simulated([values])
        self._look_around()

    def profile(self) -> Profile:
        """Return where the profiles end."""
        reach = np.sqrt(self._limit * np.diag(self._spread)) * self._free
        ends = np.clip(self._best.values + reach * [[-1], [1]], self._lower, self._upper)
        with suppress(TimeOverError):
            self._settle()
            for _ in range(_ROUNDS):
                base = self._best
                with self._simulator.display("finding intervals", ends.size) as on_done:
                    for number in range(len(self._places)):
                        for side, sign in enumerate((-1, 1)):
                            ends[side, number] = self._end(number, sign)
                            on_done()
                if self._excess(base.cost) < _STEP_EXCESS:
                    break
                self._look_around()
        values = self._best.values
        scatter = float(np.sqrt(self._variance))
        return Profile(values, np.minimum(ends[0], values), np.maximum(ends[1], values), self._spread, scatter)

    def _simulated(self, points: Sequence[Floats]) -> list[_Point]:
        rows = self._simulator.times_s(points, self._cells)
        return [_Point(values, row, self._cost(row)) for values, row in zip(points, rows, strict=True)]

    def _point(self, values: Floats) -> _Point:
        """Simulate with some values, which may be better than the best."""
        (point,) = self._simulated([values])
        if point.cost < self._best.cost:
            self._best = point
        return point

    def _cost(self, times_s: Floats) -> float:
        return cost_of(np.log(times_s) - self._measured)

    def _excess(self, cost: float) -> float:
        """Return how much larger a sum is than the least, in units of chance."""
        return 2.0 * (cost - self._best.cost) / self._chance

    def _look_around(self) -> None:
        """Make the linear model at the best point."""
        residuals = np.log(self._best.times_s) - self._measured
        weight = weights(residuals)
        # The variance of residuals of a robust fit: section 7.6 of P. J. Huber, "Robust statistics" (1981).
        pulls = float(np.sum((weight * residuals) ** 2)) / max(len(residuals) - len(self._places), 1)
        self._variance = max(pulls / float(np.mean(weight**3)) ** 2, _LEAST_VARIANCE)
        self._chance = self._variance * float(np.mean(weight**3))
        # Of the derivatives of both sides the smaller, as one may have a step.
        left, right = (jacobian(self._simulator, self._cells, self._best.values, way=way) for way in (-1, 1))
        logarithmic = np.where(np.abs(left) < np.abs(right), left, right)
        self._linear = _Linear.of(self._best, self._signs, logarithmic)
        self._spread = covariance(logarithmic, self._variance, self._places)

    def _settle(self) -> None:
        """Move to better points, as long as the linear model has them."""
        for _ in range(_ROUNDS):
            start = self._best
            self._refit(self._linear, start.values, self._free)
            if self._excess(start.cost) < _BETTER:
                return
            self._look_around()

    def _end(self, number: int, sign: int) -> float:
        """Return where the profile of a value ends on a side."""
        if self._places[number].choices:
            return self._end_of_size(number, sign)
        first = float(self._best.values[number])
        bound = abs(float((self._upper if sign > 0 else self._lower)[number]) - first)
        inside, outside, at = 0.0, np.inf, self._best
        reach = float(np.sqrt(self._limit * self._spread[number, number]))
        end = bound
        for _ in range(_POINTS):
            distance = min(reach, bound)
            if distance == 0.0:
                break
            point = self._moved(number, first + sign * distance, at)
            excess = max(self._excess(point.cost), self._limit / _FARTHEST**2)
            end = distance * float(np.sqrt(self._limit / excess))
            if excess > self._limit:
                outside = distance
            else:
                inside, at = distance, point
            if inside == bound or abs(end - distance) <= _END_SHARE * distance:
                break
            if outside - inside <= _END_SHARE * distance:
                end = outside
                break
            reach = end if inside < end < outside else (inside + outside) / 2
        return first + sign * min(max(end, inside), outside, bound)

    def _end_of_size(self, number: int, sign: int) -> float:
        """Return the last size, on a side, that the profile allows."""
        at = self._best
        end = float(at.values[number])
        choices = np.log(self._places[number].choices)
        for choice in sorted((each for each in choices if sign * (each - end) > 1e-9), key=lambda each: sign * each):
            is_it = np.arange(len(at.values)) == number
            point = self._point(np.where(is_it, choice, at.values))
            if self._excess(point.cost) > self._limit:
                point = self._moved(number, float(choice), point)
            if self._excess(point.cost) > self._limit:
                break
            at, end = point, float(choice)
        return end

    def _moved(self, number: int, x: float, at: _Point) -> _Point:
        """Return the best fit with a value there, starting from a point nearby."""
        is_it = np.arange(len(at.values)) == number
        return self._refit(replace(self._linear, at=at), np.where(is_it, x, at.values), self._free & ~is_it)

    def _refit(self, linear: _Linear, values: Floats, free: Any) -> _Point:
        """Return the best fit with some values free, by a linear model and across steps."""
        values = self._fit(linear, values, free)
        predicted = linear.times_s(values)
        point = self._point(values)
        expected = self._excess(self._cost(predicted))
        excess = self._limit - expected
        if not free.any() or excess <= 0 or self._excess(point.cost) - expected < _STEP_EXCESS:
            return point
        has_step = self._has_step(point.times_s, predicted)
        if 0 < has_step.mean() <= _STEP_SHARE:
            other = self._search_steps(linear, values, free, has_step, excess)
        else:
            other = self._fit(replace(linear, at=point), values, free)
        return min(point, self._point(other), key=lambda each: each.cost)

    def _has_step(self, times_s: Floats, predicted_s: Floats) -> Any:
        """Return which times are far from those of a linear model."""
        return np.abs(np.log(times_s / predicted_s)) > np.sqrt(self._chance) / 4

    def _fit(self, linear: _Linear, values: Floats, free: Any) -> Floats:
        """Return the best values by a linear model."""
        if not free.any():
            return values

        def whole(part: Floats) -> Floats:
            full = values.copy()
            full[free] = part
            return full

        lower, upper = self._lower[free], self._upper[free]
        end = self._least_squares(
            lambda part: np.log(linear.times_s(whole(part))) - self._measured,
            np.clip(values[free], lower + 1e-9, upper - 1e-9),
            jac=lambda part: linear.logarithmic(whole(part))[:, free],
            bounds=(lower, upper),
            loss="soft_l1",
            f_scale=SCALE,
        )
        return whole(end.x)

    def _search_steps(self, linear: _Linear, values: Floats, free: Any, has_step: Any, excess: float) -> Floats:
        """Return the best of the values around some; only the cells that have a step there are simulated."""
        slopes = linear.logarithmic(values)[:, free]
        spread = covariance(slopes, self._chance, [p for p, is_free in zip(self._places, free, strict=True) if is_free])
        axes = np.linalg.cholesky(spread).T
        axis_directions = [*axes, *-axes]
        some = [cell for cell, is_stepped in zip(self._cells, has_step, strict=True) if is_stepped]

        def try_directions(
            directions: Sequence[Floats], reach: float
        ) -> tuple[list[tuple[float, Floats]], list[Floats]]:
            """Return sums and values in some directions, and the directions in which most cells have no step."""
            points = []
            for direction in directions:
                full = values.copy()
                full[free] += direction * reach * np.sqrt(excess)
                points.append(np.clip(full, self._lower, self._upper))
            predicted = np.array([linear.times_s(point) for point in points])
            rows = predicted.copy()
            rows[:, has_step] = self._simulator.times_s(points, some)
            is_before = np.mean(self._has_step(rows, predicted)[:, has_step], axis=1) < 0.5
            sums = [(self._cost(row), point) for row, point in zip(rows, points, strict=True)]
            return sums, [each for each, is_it in zip(directions, is_before, strict=True) if is_it]

        sums, good = try_directions(axis_directions, _REACHES[0])
        if good:
            middle = np.sum(good, axis=0)
            size = float(np.sqrt(middle @ np.linalg.solve(spread, middle)))
            for reach in _REACHES:
                sums += try_directions([*good, middle / max(size, 1.0)], reach)[0]
        return min(sums, key=lambda each: each[0])[1]


def values_of(places: Sequence[Place], profile: Profile) -> tuple[Value, ...]:
    """Return fitted values with their intervals."""
    ends = (np.exp(each).tolist() for each in (profile.low, profile.high))
    return tuple(map(_value, places, profile.values.tolist(), *ends))


def pairs_of(places: Sequence[Place], spread: Floats) -> tuple[Pair, ...]:
    """Return the pairs of values that the measurements cannot tell apart."""
    deviations: Floats = np.sqrt(np.diag(spread))
    correlations = spread / np.outer(deviations, deviations)
    return tuple(
        Pair(one.name, other.name, float(correlations[i, j]), _advice(one, other))
        for (i, one), (j, other) in combinations(enumerate(places), 2)
        if abs(correlations[i, j]) > _HIGH_CORRELATION
    )


def others_of(values: Sequence[Value], points: Iterable[Floats]) -> tuple[Mapping[str, float], ...]:
    """Return other values (`points` has logarithms) that do almost as well, where one is far from a known value."""
    several = (dict(zip((one.name for one in values), np.exp(point).tolist(), strict=True)) for point in points)
    return tuple(other for other in several if any(one.is_known and not one.is_near(other[one.name]) for one in values))


def minima_of(places: Sequence[Place], values: Sequence[Value], others: Iterable[Mapping[str, float]]) -> Iterator[str]:
    """Give a sentence for each set of other values that does almost as well: what differs, and what would decide."""
    for other in others:
        far = [(place, one) for place, one in zip(places, values, strict=True) if not one.is_near(other[one.name])]
        texts = (f"{one.name} = {place.unit.format(other[one.name])} instead of {one.text}" for place, one in far)
        advice = _advice(*(place for place, _ in far))
        yield f"almost as good on a part of the calls: {', '.join(texts)}; to decide, measure {advice}"


def _value(place: Place, logarithm: float, low: float, high: float) -> Value:
    is_near = (abs(logarithm - np.log(bound)) < _BOUND_MARGIN for bound in (place.low, place.high))
    is_known = high / low <= WIDE
    return Value(
        name=place.name,
        value=float(np.exp(logarithm)),
        low=low,
        high=high,
        text=place.unit.format(float(np.exp(logarithm))),
        interval=f"{place.unit.format(low)} to {place.unit.format(high)}",
        is_at_bound=any(is_near),
        is_known=is_known,
        advice="" if is_known else _advice(place),
    )


def _advice(*places: Place) -> str:
    return "; ".join(dict.fromkeys(_ADVICE.get(place.key, _ANY_ADVICE) for place in places))
