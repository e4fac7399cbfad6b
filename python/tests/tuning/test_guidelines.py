"""Guidelines: only gains beyond the noise count."""

from __future__ import annotations

from hocket.tuning.choice import DEFAULT, Choice, Estimate, Point
from hocket.tuning.guidelines import compositions, violations
from hocket.tuning.records import PointRecord

(REDUCE_BROADCAST, _) = compositions("allreduce")


def found(ranks: int, size_bytes: int, **times: Estimate) -> PointRecord:
    choices = {"default": DEFAULT, "other": REDUCE_BROADCAST, "ring": Choice("mpi", "ring", (("x", 4),))}
    return PointRecord(Point("allreduce", ranks, size_bytes), {choices[name]: one for name, one in times.items()})


def test_a_default_is_beaten_only_beyond_the_noise() -> None:
    default, faster, noisy = Estimate(2e-6, 1.9e-6, 2.2e-6), Estimate(1e-6, 0.8e-6, 1.0e-6), Estimate(1e-6, 0, 1.9e-6)
    (one,) = violations([found(4, 8, default=default, other=faster, ring=noisy)])
    assert one.guideline == "reduce + broadcast"
    assert str(one) == (
        "allreduce on 4 ranks, 8 B: 2.00 times (1.90 to 2.75) reduce + broadcast: 2.000 us against 1.000 us"
    )
    assert violations([found(4, 8, default=faster, other=default)]) == []


def test_more_bytes_and_more_ranks_should_take_no_less() -> None:
    slow, fast = Estimate.exact(2e-6), Estimate.exact(1e-6)
    (by_size,) = violations([found(4, 8, default=slow), found(4, 64, default=fast)])
    assert (by_size.point.size_bytes, by_size.guideline) == (8, "that of 64 B")
    (by_ranks,) = violations([found(4, 8, default=slow), found(8, 8, default=fast)])
    assert (by_ranks.point.ranks, by_ranks.guideline) == (4, "that of 8 ranks")
    assert violations([found(4, 8, default=slow), found(8, 64, default=fast)]) == []
    assert violations([found(4, 8, default=fast), found(4, 64, default=slow)]) == []
