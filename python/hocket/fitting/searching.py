"""The search for values: least squares of logarithms, within bounds, from several starts.

What is made small is a robust sum over cells of ln(simulated / measured). Values, too, are searched as logarithms.
Random points, the middle of the bounds first, are compared on few cells; the best of them are improved there; and the
best of these is improved on all cells. A search stops early, with the best values so far, when its time is over or the
user presses Ctrl-C. Values that were only compared, and not improved, are no result.

Times do not depend smoothly on sizes, such as the largest eager message: powers of two are tried for each, and then the
other values are improved anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from hocket._native import Error
from hocket.base.packages import optional
from hocket.fitting.cells import Cell, Floats, Simulator, TimeOverError, spread
from hocket.fitting.result import Ended
from hocket.fitting.skeleton import Place

ENDED: Mapping[Ended, str] = {
    "steps": "the search reached its largest number of steps",
    "time limit": "the search reached the time limit; more time may find better values",
    "interrupted": "the search was interrupted; more time may find better values",
}
"""What a search that did not converge tells the user."""

SCALE = 0.15  # residuals (logarithms) above this count less than their squares
_STEP = 0.01  # of finite differences, in logarithms
_FEW_CELLS = 48
_POINTS_PER_VALUE = 6
_COMPARING = 0.25  # share of the time limit after which no more random points are compared
_LEAST_POINTS = 12
_FEW_STEPS, _STEPS = 8, 20
_TOLERANCE = 1e-4
_INSIDE = 1e-9  # least distance of a start from its bounds
_ROUNDS = 3  # of scanning the sizes and refitting the other values
_ALMOST = 1.05  # times the least sum: a set of values is almost as good
_NOTHING = 5e-5  # the sum of a cell with a deviation of 1 %


@dataclass(frozen=True)
class Match:
    """The result of a search."""

    values: Floats  # their logarithms
    others: tuple[Floats, ...]  # those of other starts that do almost as well on the few cells
    ended: Ended  # why the search ended


class _Best:
    """The residuals of cells, and the best point so far."""

    def __init__(self, simulator: Simulator, cells: Sequence[Cell]) -> None:
        self.cells = cells
        self.values: Floats | None = None
        self.cost = np.inf
        self._simulator = simulator
        self._places = simulator.skeleton.places
        self._measured = np.log([cell.measurement.time_s for cell in cells])
        self._free = np.array([not place.choices for place in self._places])

    def costs(self, points: Sequence[Floats]) -> list[float]:
        """Return the robust sums at points."""
        return [cost_of(row) for row in self._residuals(points)]

    def simulations(self, steps: int) -> int:
        """Return how many simulations so many steps of a search take at most."""
        return steps * (1 + int(self._free.sum()) + 1) * len(self.cells)

    def improve(self, optimize: Any, point: Floats, steps: int) -> tuple[float, Floats, bool]:
        """Search from a point; return the final robust sum and point, and whether the search converged."""
        cost, point, has_converged = self._descend(optimize, point, steps)
        for _ in range(_ROUNDS):
            point_scanned = self._scan_sizes(point, cost)
            if (point_scanned == point).all():
                break
            cost, point, has_converged = self._descend(optimize, point_scanned, steps)
        return cost, point, has_converged

    def _residuals(self, points: Sequence[Floats]) -> Floats:
        values: Floats = np.log(self._simulator.times_s(points, self.cells)) - self._measured
        for point, row in zip(points, values, strict=True):
            cost = cost_of(row)
            if cost < self.cost:
                self.values, self.cost = point, cost
        return values

    def _descend(self, optimize: Any, point: Floats, steps: int) -> tuple[float, Floats, bool]:
        """Improve all values except sizes: times do not depend smoothly on sizes."""
        free = self._free
        if not free.any():
            return self.costs([point])[0], point, True
        lower, upper = (bound[free] for bound in bounds_of(self._places))

        def whole(part: Floats) -> Floats:
            full = point.copy()
            full[free] = part
            return full

        end = optimize.least_squares(
            lambda part: self._residuals([whole(part)])[0],
            np.clip(point[free], lower + _INSIDE, upper - _INSIDE),
            jac=lambda part: jacobian(self._simulator, self.cells, whole(part))[:, free],
            bounds=(lower, upper),
            loss="soft_l1",
            f_scale=SCALE,
            max_nfev=steps,
            xtol=_TOLERANCE,
            ftol=_TOLERANCE,
        )
        return float(end.cost), whole(end.x), end.status != 0

    def _scan_sizes(self, point: Floats, cost: float) -> Floats:
        """Try all sizes of one place after the other; return the point with the improvements."""
        for number, place in enumerate(self._places):
            points = [np.where(np.arange(len(point)) == number, np.log(choice), point) for choice in place.choices]
            costs = self.costs(points) if points else []
            if costs and min(costs) < cost:
                point, cost = points[int(np.argmin(costs))], min(costs)
        return point


def search(simulator: Simulator, cells: Sequence[Cell], *, seed: int, starts: int) -> Match:
    """Search for values: compare points, drawn by a seed, and improve the best ones, so many as there are starts.

    SciPy must be there, each cell must take time, and the first step must be done within the time.
    """
    if not simulator.skeleton.places:
        return Match(np.zeros(0), (), "judged")
    optimize = optional("scipy.optimize", extra="fit")
    few, every = _Best(simulator, spread(cells, _FEW_CELLS)), _Best(simulator, cells)
    ends: list[tuple[float, Floats]] = []
    points = _points(simulator.skeleton.places, seed)
    cost_compared = np.inf
    ended: Ended
    try:
        costs = _compare(few, points, simulator)
        cost_compared = few.cost
        for start, number in enumerate(np.argsort(costs, kind="stable")[:starts], start=1):
            with simulator.stage(f"improving start {start}", few.simulations(_FEW_STEPS)):
                cost, end, _ = few.improve(optimize, points[number], _FEW_STEPS)
            ends.append((cost, end))
        ends.sort(key=lambda one: one[0])
        with simulator.stage("improving on all calls", every.simulations(_STEPS)):
            _, _, has_converged = every.improve(optimize, ends[0][1], _STEPS)
        ended = "converged" if has_converged else "steps"
    except TimeOverError:
        if not few.cost < cost_compared < np.inf:
            raise Error("the time limit was over before the first step of the search, expected more time") from None
        ended = "time limit"
    except KeyboardInterrupt:
        if not few.cost < cost_compared < np.inf:
            raise
        ended = "interrupted"
    values = few.values if every.values is None else every.values
    assert values is not None  # a step was done
    most = min((cost for cost, _ in ends), default=0.0) * _ALMOST + len(few.cells) * _NOTHING
    return Match(values, tuple(point for cost, point in ends[1:] if cost <= most), ended)


def _compare(few: _Best, points: Sequence[Floats], simulator: Simulator) -> list[float]:
    """Return the robust sums at points, as far as a part of the time suffices; one after the other, so that it does."""
    until_s = monotonic() + _COMPARING * (simulator.until_s - monotonic())
    costs: list[float] = []
    with simulator.stage("comparing random values", len(points) * len(few.cells)):
        for point in points:
            if costs and monotonic() > until_s:
                break
            costs += few.costs([point])
    return costs


def jacobian(simulator: Simulator, cells: Sequence[Cell], point: Floats, *, way: int = 1) -> Floats:
    """Return d ln(time) by d ln(value), moved up or down: a row for each cell, a column for each value; 0 of sizes."""
    places = simulator.skeleton.places
    lower, upper = bounds_of(places)
    free = [number for number, place in enumerate(places) if not place.choices]
    step = way * _STEP
    steps = np.where((lower <= point + step) & (point + step <= upper), step, -step)
    moved = [point + steps * (np.arange(len(places)) == number) for number in free]
    times = np.log(simulator.times_s([point, *moved], cells))
    slopes = np.zeros((len(cells), len(places)))
    slopes[:, free] = ((times[1:] - times[0]) / steps[free][:, None]).T
    return slopes


def weights(residuals: Floats) -> Floats:
    """Return the derivative of the robust sum by each residual, over the residual."""
    return np.asarray(1.0 / np.sqrt(1.0 + (residuals / SCALE) ** 2))


def bounds_of(places: Sequence[Place]) -> tuple[Floats, Floats]:
    """Return the logarithms of the least and the largest values."""
    return np.log([place.low for place in places]), np.log([place.high for place in places])


def cost_of(residuals: Floats) -> float:
    """Return the robust sum of residuals, as in `least_squares`."""
    return float(SCALE**2 * np.sum(np.sqrt(1.0 + (residuals / SCALE) ** 2) - 1.0))


def _points(places: Sequence[Place], seed: int) -> list[Floats]:
    """Return starting points: the middle, and a Latin hypercube."""
    lower, upper = bounds_of(places)
    random = np.random.default_rng(seed)
    count = max(_LEAST_POINTS, _POINTS_PER_VALUE * len(lower))
    layers = np.column_stack([random.permutation(count) for _ in lower])
    shares = (layers + random.random(layers.shape)) / count
    return [_with_choices(point, places) for point in [(lower + upper) / 2, *(lower + shares * (upper - lower))]]


def _with_choices(point: Floats, places: Sequence[Place]) -> Floats:
    """Return the point with each size rounded to the nearest allowed one."""
    return np.array(
        [
            min(np.log(place.choices), key=lambda choice: abs(choice - value)) if place.choices else value
            for place, value in zip(places, point.tolist(), strict=True)
        ]
    )
