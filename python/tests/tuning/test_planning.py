"""Plans: the interval between sizes with different choices is halved until they are near; sizes between all are held
out.
"""

from __future__ import annotations

from pathlib import Path

from hocket.tuning.choice import DEFAULT, Choice, Estimate, Point
from hocket.tuning.pairing import SECOND_DEFAULT
from hocket.tuning.planning import Plan, plan_of, points_to_refine, points_unsettled
from hocket.tuning.records import PointRecord, Records

A, B = Choice("catalogue", "ring"), Choice("catalogue", "swing")


def test_where_choices_change_sizes_are_halved_until_they_are_near(tmp_path: Path) -> None:
    plan = plan_of(["allreduce"], [4], [64, 1024, 65536], confirms=True)
    with Records(tmp_path / "records", {}) as records:

        def find(points: tuple[Point, ...]) -> None:
            for point in points:
                is_short = point.size_bytes < 5000
                times = {A: Estimate.exact(1.0 if is_short else 2.0), B: Estimate.exact(2.0 if is_short else 1.0)}
                records.add(PointRecord(point, times))

        find(plan.training)
        found = []
        while more := points_to_refine(plan, records, 0.03):
            find(more)
            plan = plan.with_points(more)
            found += [point.size_bytes for point in more]
    # The middle of 1024 and 65536, then of 1024 and 8192, and so on, until 4872 and 5552 are near.
    assert found == [8192, 2896, 4872, 6320, 5552]
    middles = [256, 1720, 3760, 5200, 5920, 7192, 23168]
    assert [p.size_bytes for p in plan.confirming if p not in plan.training] == middles
    assert [p.size_bytes for p in plan_of(["allreduce"], [4], [64, 256, 1024]).judging] == [128, 512]
    # The middles of 64 and 256, 1720 and 2896, 2896 and 3760, 5200 and 5552, and so on.
    assert [point.size_bytes for point in plan.judging] == [128, 2232, 3296, 5376, 5736, 7672, 13776]


def test_where_confirmed_choices_change_middles_are_raced_until_they_are_near(tmp_path: Path) -> None:
    """Races choose the same at 4 and 32 KiB; the comparison with the default prefers another up to 20000 bytes."""

    def confirm(plan: Plan, records: Records) -> None:
        for point in plan.confirming:
            best, other = (A, B) if point.size_bytes < 20_000 else (B, A)
            ratios = {best: (0.5,) * 12, other: (0.8,) * 12, SECOND_DEFAULT: (1.0,) * 12}
            records.add(PointRecord(point, {A: Estimate.exact(1.0), DEFAULT: Estimate.exact(2.0)}, ratios=ratios))

    plan = plan_of(["allreduce"], [4], [4096, 32768], confirms=True)
    with Records(tmp_path / "records", {}) as records:
        confirm(plan, records)
        assert points_to_refine(plan, records, 0.03) == ()
        found = []
        while more := points_unsettled(plan, records, 0.03):
            plan = plan.with_points(more)
            found += [point.size_bytes for point in more]
            confirm(plan, records)
    # The middle of 4096 and 32768, of 11584 and 32768, and so on. The next middle, 22184, is near both its neighbours.
    assert found == [11584, 19480, 25264]
