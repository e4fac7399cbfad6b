"""Intervals of calls that no fit has seen."""

import math
import random
from dataclasses import replace

import pytest

import hocket
from hocket.definitions.machine import Discrepancy
from hocket.fitting.discrepancies import (
    LARGE_BYTES,
    coverage,
    discrepancies,
    insides,
    ratio_coverage,
    with_discrepancies,
)
from hocket.fitting.result import Judgement

MACHINE = """# A machine.
name = "mine"
[network]
model = "hockney"
latency = "1 us"
bandwidth = "1 GB/s"
"""
CALL = Judgement("allreduce", "ring", "", 8, 64, "isolated", False, 1.0, 1.0, "held out", "", "")


def calls(factors: list[float], **changes: object) -> list[Judgement]:
    """Return calls of four algorithms in turn with these factors measured / simulated."""
    algorithms = ("ring", "bine", "swing", "linear")
    changed = replace(CALL, **changes)  # type: ignore[arg-type]
    return [replace(changed, measured_s=f, algorithm=algorithms[i % 4]) for i, f in enumerate(factors)]


def test_with_nineteen_calls_the_interval_ends_at_the_eighteenth_error_either_way() -> None:
    """0.9 (19 + 1) = 18, and 1 / 1.17 = 0.8547."""
    factors = [1 + 0.01 * i for i in range(19)]
    random.Random(0).shuffle(factors)
    of_collective, of_sizes, of_all = discrepancies(calls(factors))
    assert of_collective == Discrepancy("allreduce", None, 0, LARGE_BYTES, 0.854, 1.17, 1.17 / 0.854, 19, 8)
    assert of_sizes == replace(of_collective, collective=None)
    assert of_all == replace(of_sizes, below_bytes=None)
    assert discrepancies(calls(factors[:18])) == ()


def test_with_thirty_nine_calls_three_are_outside() -> None:
    """0.9 (39 + 1) = 36, and 1 / 1.35 = 0.7407. Without an algorithm, as many of its calls are inside: no widening."""
    factors = [1 + 0.01 * i for i in range(39)]
    assert {(one.low, one.high) for one in discrepancies(calls(factors))} == {(0.74, 1.35)}
    assert discrepancies(calls([1 / factor for factor in factors])) == discrepancies(calls(factors))


def test_ends_are_rounded_outwards() -> None:
    (*_, one) = discrepancies(calls([0.123456, *[1.0] * 17, 12.3456]))  # 1 / 0.123456 = 8.10005, 1 / 8.11 = 0.1233
    assert (one.low, one.high) == (0.123, 8.11)


def test_calls_of_few_programs_have_no_kind_of_their_own_collective() -> None:
    alike = [replace(one, algorithm="ring") for one in calls([1.0] * 30)]
    assert discrepancies(alike) == ()
    others = calls([2.0] * 30, collective="broadcast")
    kinds = discrepancies([*alike, *others])
    assert [(one.collective, one.algorithm, one.calls) for one in kinds] == [
        ("broadcast", None, 30),
        (None, None, 60),
        (None, None, 60),
    ]


def test_an_algorithm_that_ran_in_several_jobs_comes_before_its_collective() -> None:
    jobs = [replace(one, algorithm="ring", ranks=ranks) for ranks in (8, 16, 64) for one in calls([1.0] * 7)]
    (first, second, *_) = discrepancies([*jobs, *calls([2.0] * 20)])
    assert (first.algorithm, first.high, first.calls, first.ranks) == ("ring", 2.0, 26, 64)
    assert (second.algorithm, second.calls) == (None, 41)


def test_nine_of_ten_new_calls_are_inside() -> None:
    chance = random.Random(1)
    inside = []
    for _ in range(400):
        *seen, new = (math.exp(chance.gauss(0.1, 0.4)) for _ in range(26))
        (*_, kind) = discrepancies(calls(seen))
        inside.append(kind.low <= new <= kind.high)
    assert 0.88 <= sum(inside) / len(inside) <= 0.96  # 24 of 26 at least, by the theorem


def pairs(ratios: list[float], **changes: object) -> list[Judgement]:
    """Return two algorithms at each of several sizes. The second one has so many times the factor."""
    changed = replace(CALL, **changes)  # type: ignore[arg-type]
    points = [(replace(changed, size_bytes=size, measured_s=3.0), ratio) for size, ratio in enumerate(ratios)]
    return [each for one, ratio in points for each in (one, replace(one, algorithm="bine", measured_s=3.0 * ratio))]


def test_the_ratio_holds_nine_of_ten_pairs_that_are_wrong_together() -> None:
    """All simulated times are a third of the measured ones. Of 19 pairs the 18th is the last within: 0.9 (19 + 1)."""
    ratios = [1.0 + 0.01 * i for i in range(17)] + [1 / 1.3, 2.0]
    assert all(one.ratio == 1.3 for one in discrepancies([*pairs(ratios), *calls([3.0], ranks=9)]))


def test_few_pairs_take_the_ratio_of_a_coarser_kind_or_else_of_the_intervals() -> None:
    jobs = [one for ranks in (8, 9, 10) for one in pairs([1.1] * 6, ranks=ranks)]
    others = [one for ranks in (8, 9, 10) for one in pairs([1.2] * 7, ranks=ranks, collective="broadcast")]
    found = {(one.collective, one.below_bytes): one.ratio for one in discrepancies([*jobs, *others])}
    assert found[None, None] == found[None, LARGE_BYTES] == found["allreduce", LARGE_BYTES] == 1.2
    assert found["broadcast", LARGE_BYTES] == 1.2
    (*_, alone) = discrepancies(calls([1.0, *[2.0] * 18]))
    assert alone.ratio == alone.high / alone.low == 4.0


def test_coverage_of_ratios_is_by_other_jobs() -> None:
    near, far = pairs([1.1] * 20), pairs([1.3] * 20, ranks=64)
    third = pairs([1.1] * 20, ranks=16)
    assert ratio_coverage([*near, *third, *pairs([1.1] * 20, ranks=9)]) == 1.0
    assert ratio_coverage([*near, *third, *far]) == pytest.approx(2 / 3)
    assert ratio_coverage(near) is None


def test_coverage_is_of_intervals_made_by_other_jobs() -> None:
    near, far = calls([1.0] * 20), calls([2.0] * 20, ranks=64)
    assert insides([*near, *far]) == [True] * 20 + [False] * 20
    assert coverage([*near, *far]) == 0.5
    assert coverage([*near, *calls([1.0] * 20, ranks=64)]) == 1.0
    assert coverage(near) is None and insides(near) == [None] * 20  # without one algorithm, 15 are left
    assert coverage(calls([1.0] * 40)) == 1.0


def test_sections_replace_those_of_a_file_and_are_read_again() -> None:
    kinds = discrepancies(calls([1 + 0.01 * i for i in range(19)]))
    text = with_discrepancies(MACHINE, kinds)
    assert hocket.Machine.parse(text).discrepancies == kinds
    assert with_discrepancies(text, kinds) == text
    between = text + '\n[node]\nreduce_bandwidth = "1 GB/s"\n'
    again = with_discrepancies(between, kinds[:1])
    assert hocket.Machine.parse(again).discrepancies == kinds[:1] and "[node]" in again
    assert with_discrepancies(text, ()) == MACHINE


@pytest.mark.parametrize("size_bytes", [0, LARGE_BYTES - 1, LARGE_BYTES, 1 << 40])
def test_every_size_is_of_one_kind(size_bytes: int) -> None:
    kinds = discrepancies(calls([1.0] * 20, size_bytes=size_bytes))
    assert len(kinds) == 3 and all(one.holds("allreduce", "ring", size_bytes) for one in kinds)
