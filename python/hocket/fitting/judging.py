"""Simulated beside measured times: how far they are apart, and what choices by simulation lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hocket.fitting.cells import Cell, Point
from hocket.fitting.result import Judgement, Regret, Use


def judge(cell: Cell, simulated_s: float, use: Use) -> Judgement:
    """Return a cell beside its simulated time."""
    one = cell.measurement
    return Judgement(
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


def regrets(
    cells: Sequence[Cell], simulated: Sequence[Judgement], defaults: Mapping[Point, float]
) -> tuple[Regret, ...]:
    """Return what choices lose at each point at which at least two algorithms were measured.

    Args:
        cells: The cells.
        simulated: The same cells, simulated.
        defaults: What the choices of libraries took, by point.
    """
    points: dict[Point, list[tuple[Cell, Judgement]]] = {}
    for cell, one in zip(cells, simulated, strict=True):
        points.setdefault(cell.point, []).append((cell, one))
    each_regret = []
    for point, rivals in sorted(points.items()):
        if len(rivals) < 2:
            continue
        rival, _ = min(rivals, key=lambda pair: (pair[1].simulated_s, pair[0].measurement.label))
        best, _ = min(rivals, key=lambda pair: (pair[1].measured_s, pair[0].measurement.label))
        each_regret.append(
            Regret(
                collective=rival.measurement.collective,
                ranks=rival.measurement.ranks,
                size_bytes=rival.measurement.size_bytes,
                choice=rival.measurement.label,
                best=best.measurement.label,
                choice_s=rival.measurement.time_s,
                best_s=best.measurement.time_s,
                default_s=defaults.get(point),
                is_held_out=all(one.use != "fitted" for _, one in rivals)
                and any(one.use == "held out" for _, one in rivals),
            )
        )
    return tuple(each_regret)
