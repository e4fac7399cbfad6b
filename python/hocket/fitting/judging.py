"""Simulated beside measured times: how far they are apart, and what choices by simulation lose."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias, get_args

from hocket.fitting.cells import Cell, Point

Use: TypeAlias = Literal["fitted", "not used", "held out"]
"""What a cell was for: values were fitted to it, or not because there were enough others, or it judges them."""

_USES: tuple[Use, ...] = get_args(Use)

AS_FAST = 1.001
"""Below how many times as long a time is the same."""

BANDS = (0.15, 0.25, 0.40)
"""How far apart simulated and measured times may be, for the shares of cells that are told."""


@dataclass(frozen=True)
class Judged:
    """A measured call, simulated.

    Attributes:
        collective: The collective.
        algorithm: The algorithm.
        parameters: The values of its parameters that were given, as "name=value".
        ranks: Number of ranks.
        size_bytes: The size of the call.
        measured_as: How the benchmark measured the time, see `hocket.simulate`.
        in_place: Whether the input was in the result buffer.
        measured_s: The measured time.
        simulated_s: The simulated time.
        use: What the cell was for.
        system: The machine, where the file names several.
        source: The file and the line of the measurement.
    """

    collective: str
    algorithm: str
    parameters: str
    ranks: int
    size_bytes: int
    measured_as: str
    in_place: bool
    measured_s: float
    simulated_s: float
    use: Use
    system: str
    source: str

    @classmethod
    def of(cls, cell: Cell, simulated_s: float, use: Use) -> Judged:
        """Return a cell beside its simulated time."""
        one = cell.measurement
        return cls(
            collective=one.collective,
            measured_as=one.measured_as,
            in_place=one.in_place,
            algorithm=one.algorithm,
            parameters=one.label.partition(" ")[2],
            ranks=one.ranks,
            size_bytes=one.size_bytes,
            measured_s=one.time_s,
            simulated_s=simulated_s,
            use=use,
            system=one.system,
            source=one.source,
        )

    @property
    def residual(self) -> float:
        """ln(simulated / measured)."""
        return math.log(self.simulated_s / self.measured_s)


@dataclass(frozen=True)
class Deviation:
    """How far simulated times are from measured ones.

    Attributes:
        cells: Over how many cells.
        median: The median of abs(ln(simulated / measured)).
        bias: The median of ln(simulated / measured).
        within: The shares of cells whose times are apart by a factor of at most 1.15, 1.25 and 1.40.
    """

    cells: int
    median: float
    bias: float
    within: tuple[float, float, float]


@dataclass(frozen=True)
class Regret:
    """What the algorithm that is the fastest in simulation loses at a point where several were measured.

    Attributes:
        collective: The collective.
        ranks: Number of ranks.
        size_bytes: The size of the call.
        chosen: The algorithm that is the fastest in simulation, with its parameters.
        best: The one that was the fastest when it was measured.
        chosen_s: The measured time of the chosen one.
        best_s: The measured time of the best one.
        default_s: The measured time of what the library chose by itself, if it was measured.
        is_held_out: Whether no cell of the point was fitted.
    """

    collective: str
    ranks: int
    size_bytes: int
    chosen: str
    best: str
    chosen_s: float
    best_s: float
    default_s: float | None
    is_held_out: bool

    @property
    def regret(self) -> float:
        """How many times as long as the best one the chosen one takes."""
        return self.chosen_s / self.best_s

    @property
    def is_right(self) -> bool:
        """Whether the chosen one is as fast as the best one."""
        return self.regret < AS_FAST


def deviation(cells: Iterable[Judged]) -> Deviation | None:
    """Return how far cells are off; nothing of no cells."""
    residuals = [one.residual for one in cells]
    if not residuals:
        return None
    away = [abs(one) for one in residuals]
    first, second, third = (sum(each <= math.log1p(band) for each in away) / len(away) for band in BANDS)
    return Deviation(len(away), median(away), median(residuals), (first, second, third))


def deviations(cells: Sequence[Judged]) -> dict[Use, Deviation]:
    """Return how far cells are off, by what they were for."""
    found = {use: deviation(one for one in cells if one.use == use) for use in _USES}
    return {use: one for use, one in found.items() if one is not None}


def regrets(cells: Sequence[Cell], judged: Sequence[Judged], defaults: Mapping[Point, float]) -> tuple[Regret, ...]:
    """Return what choices lose at each point at which at least two algorithms were measured.

    Args:
        cells: The cells.
        judged: The same cells, simulated.
        defaults: What the choices of libraries took, by point.
    """
    points: dict[Point, list[tuple[Cell, Judged]]] = {}
    for cell, one in zip(cells, judged, strict=True):
        points.setdefault(cell.point, []).append((cell, one))
    found = []
    for point, rivals in sorted(points.items()):
        if len(rivals) < 2:
            continue
        chosen, _ = min(rivals, key=lambda pair: (pair[1].simulated_s, pair[0].measurement.label))
        best, _ = min(rivals, key=lambda pair: (pair[1].measured_s, pair[0].measurement.label))
        found.append(
            Regret(
                collective=chosen.measurement.collective,
                ranks=chosen.measurement.ranks,
                size_bytes=chosen.measurement.size_bytes,
                chosen=chosen.measurement.label,
                best=best.measurement.label,
                chosen_s=chosen.measurement.time_s,
                best_s=best.measurement.time_s,
                default_s=defaults.get(point),
                is_held_out=all(one.use != "fitted" for _, one in rivals)
                and any(one.use == "held out" for _, one in rivals),
            )
        )
    return tuple(found)
