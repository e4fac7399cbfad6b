"""The search for values: least squares of logarithms, within bounds, from several starts.

What is made small is a robust sum over cells of ln(simulated / measured). Values, too, are searched as logarithms.
Random points, the middle of the bounds first, are compared on few cells; the best of them are improved there; and the
best of these is improved on all cells. A search stops early, with the best values so far, when its time is over or the
user presses Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from hocket.fitting.cells import Cell, spread
from hocket.fitting.simulating import Floats, Simulator, TimeOverError
from hocket.packages import optional

__all__ = ["Ended", "Found", "jacobian", "search", "weights"]

Ended: TypeAlias = Literal["converged", "steps", "time limit", "interrupted", "judged"]
"""Why a search ended: no step was an improvement, there were as many steps as allowed, the time was over, the user
pressed Ctrl-C, or there was nothing to search."""

_SCALE = 0.15
"""Residuals, as logarithms, that count less than their squares are larger than this."""
_STEP = 0.01  # of derivatives, as a logarithm
_FEW_CELLS = 48
_POINTS_PER_VALUE = 6
_LEAST_POINTS = 12
_FEW_STEPS, _STEPS = 8, 20
_TOLERANCE = 1e-4
_ALMOST = 1.05  # times the least sum: another set of values that does almost as well
_NOTHING = 5e-5  # of the sum for a cell: 1 % off


@dataclass(frozen=True)
class Found:
    """What was found.

    Attributes:
        values: The logarithms of the values.
        others: Those of other starts that do almost as well on the few cells.
        ended: Why the search ended.
    """

    values: Floats
    others: tuple[Floats, ...]
    ended: Ended


class _Best:
    """The residuals of cells, and the best point that was met."""

    def __init__(self, simulator: Simulator, cells: Sequence[Cell]) -> None:
        self.simulator, self.cells = simulator, cells
        self.measured = np.log([cell.measurement.time_s for cell in cells])
        self.values: Floats | None = None
        self.cost = np.inf

    def all_residuals(self, points: Sequence[Floats]) -> Floats:
        found: Floats = np.log(self.simulator.times_s(points, self.cells)) - self.measured
        for point, row in zip(points, found, strict=True):
            cost = _cost(row)
            if cost < self.cost:
                self.values, self.cost = point, cost
        return found

    def residuals(self, point: Floats) -> Floats:
        found: Floats = self.all_residuals([point])[0]
        return found

    def jacobian(self, point: Floats) -> Floats:
        return jacobian(self.simulator, self.cells, point)


def search(simulator: Simulator, cells: Sequence[Cell], *, seed: int, starts: int) -> Found:
    """Search for values.

    Args:
        simulator: Who simulates.
        cells: The cells.
        seed: The seed of the points.
        starts: How many points are improved.

    Raises:
        Error: SciPy is missing, or a cell takes no time.
    """
    if not simulator.skeleton.places:
        return Found(np.zeros(0), (), "judged")
    optimize = optional("scipy.optimize", extra="fit")
    few, every = _Best(simulator, spread(cells, _FEW_CELLS)), _Best(simulator, cells)
    ends: list[tuple[float, Floats]] = []
    points = _points(simulator, seed)
    ended: Ended
    try:
        costs = [_cost(row) for row in few.all_residuals(points)]
        best = [points[number] for number in np.argsort(costs, kind="stable")[:starts]]
        for point in best:
            end = _improved(optimize, few, point, _FEW_STEPS)
            ends.append((end.cost, end.x))
        ends.sort(key=lambda one: one[0])
        end = _improved(optimize, every, ends[0][1], _STEPS)
        ended = "steps" if end.status == 0 else "converged"
    except TimeOverError:
        ended = "time limit"
    except KeyboardInterrupt:
        if few.values is None:
            raise
        ended = "interrupted"
    values = next((one.values for one in (every, few) if one.values is not None), points[0])
    most = min((cost for cost, _ in ends), default=0.0) * _ALMOST + len(few.cells) * _NOTHING
    return Found(values, tuple(x for cost, x in ends[1:] if cost <= most), ended)


def jacobian(simulator: Simulator, cells: Sequence[Cell], point: Floats) -> Floats:
    """Return the derivatives of the logarithms of times: a row for each cell, a column for each value."""
    _, upper = _bounds(simulator)
    steps = np.where(point + _STEP <= upper, _STEP, -_STEP)
    times_s = simulator.times_s([point, *(point + np.diag(steps))], cells)
    found: Floats = ((np.log(times_s[1:]) - np.log(times_s[0])) / steps[:, None]).T
    return found


def weights(residuals: Floats) -> Floats:
    """Return the derivative of the robust sum by each residual, over the residual."""
    found: Floats = 1.0 / np.sqrt(1.0 + (residuals / _SCALE) ** 2)
    return found


def _improved(optimize: Any, best: _Best, point: Floats, steps: int) -> Any:
    lower, upper = _bounds(best.simulator)
    return optimize.least_squares(
        best.residuals,
        np.clip(point, lower + 1e-9, upper - 1e-9),
        jac=best.jacobian,
        bounds=(lower, upper),
        loss="soft_l1",
        f_scale=_SCALE,
        max_nfev=steps,
        xtol=_TOLERANCE,
        ftol=_TOLERANCE,
    )


def _cost(residuals: Floats) -> float:
    """Return the robust sum of residuals, as `least_squares` has it."""
    return float(_SCALE**2 * np.sum(np.sqrt(1.0 + (residuals / _SCALE) ** 2) - 1.0))


def _bounds(simulator: Simulator) -> tuple[Floats, Floats]:
    places = simulator.skeleton.places
    return np.log([place.low for place in places]), np.log([place.high for place in places])


def _points(simulator: Simulator, seed: int) -> list[Floats]:
    """Return points to begin with: the middle, and a Latin hypercube."""
    lower, upper = _bounds(simulator)
    random = np.random.default_rng(seed)
    count = max(_LEAST_POINTS, _POINTS_PER_VALUE * len(lower))
    layers = np.column_stack([random.permutation(count) for _ in lower])
    shares = (layers + random.random(layers.shape)) / count
    return [(lower + upper) / 2, *(lower + shares * (upper - lower))]
