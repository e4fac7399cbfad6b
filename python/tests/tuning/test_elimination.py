"""Successive elimination: it finds the fastest with the claimed probability, and stops once it is known."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.tuning.choice import DEFAULT, Choice, Estimate
from hocket.tuning.elimination import CONFIDENCE, Race, estimate, rank_of_bound, share_of_check

TOLERANCE = 0.03


def choice(number: int) -> Choice:
    return Choice("catalogue", f"algorithm_{number}")


def raced(medians_s: list[float], spread: float, seed: int, most: int = 40, copies: int = 1) -> Race:
    """Race choices whose times are their medians times skewed noise with median 1; each sample counts several times."""
    draw = random.Random(seed)
    race = Race([[choice(i) for i in range(len(medians_s))]], tolerance=TOLERANCE)
    for batch in range(most):
        if race.is_decided:
            break
        count = 16 * 2 ** min(batch, 5)
        race.add(
            {
                c: [medians_s[int(c.name[10:])] * draw.lognormvariate(0, spread) for _ in range(count)] * copies
                for c in race.running
            }
        )
    return race


def leader(race: Race) -> int:
    return int(min(race.estimates, key=lambda c: race.estimates[c].median_s).name[10:])


def test_ranks_of_bounds_are_those_of_the_binomial_distribution() -> None:
    # 2 P(Bin(10, 1/2) <= 1) = 2 * 11 / 1024 = 0.0215; with <= 2, 2 * 56 / 1024 = 0.109.
    assert rank_of_bound(10, 0.05) == 2
    assert rank_of_bound(10, 0.0214) == 1 and rank_of_bound(10, 0.11) == 3
    assert rank_of_bound(5, 0.05) == 0 and rank_of_bound(6, 0.05) == 1  # 2 / 2^6 = 0.031
    assert estimate([3.0, 1.0, 2.0], 0.05) == Estimate(2.0, 0.0, math.inf)
    assert estimate([float(k) for k in range(1, 11)], 0.05) == Estimate(5.5, 2.0, 9.0)


def test_all_checks_of_all_choices_together_may_be_wrong_as_often_as_claimed() -> None:
    total = sum(7 * share_of_check(check, 7) for check in range(1, 100_000))
    assert total == pytest.approx(1 - CONFIDENCE, rel=1e-4) and total < 1 - CONFIDENCE


def test_an_interval_holds_as_often_as_claimed() -> None:
    draw, wrong, outside, runs = random.Random(7), 0.05, 0, 4000
    for _ in range(runs):
        one = estimate([draw.lognormvariate(0, 1) for _ in range(25)], wrong)
        outside += not one.low_s <= 1 <= one.high_s
    # 2 P(Bin(25, 1/2) <= 7) = 0.0433. The share must be within four standard deviations: too short bounds fail.
    assert abs(outside / runs - 0.0433) < 4 * math.sqrt(0.0433 / runs)


def test_what_wins_is_within_the_tolerance_as_often_as_claimed() -> None:
    """Near ties of 1 % to 6 %, noise of 15 %. A winner is wrong if it is slower by more than the tolerance."""
    medians = [1.0, 1.01, 1.04, 1.06, 1.3]
    runs = [raced(medians, 0.15, seed) for seed in range(120)]
    assert all(race.is_decided for race in runs)
    wrong = sum(medians[leader(race)] > 1 + TOLERANCE for race in runs)
    assert wrong <= (1 - CONFIDENCE) * len(runs)


def test_a_race_whose_bounds_are_too_short_is_found_out() -> None:
    """The test above can fail: it does with intervals of a quarter of the length, for samples that count 16 times."""
    medians = [1.0, 1.01, 1.04, 1.06, 1.3]
    wrong = sum(medians[leader(raced(medians, 0.15, seed, copies=16))] > 1 + TOLERANCE for seed in range(120))
    assert wrong > (1 - CONFIDENCE) * 120


def test_what_is_far_behind_is_measured_least() -> None:
    race = raced([1.0, 1.005, 3.0], 0.1, 1)
    counts = [len(race.samples_s[choice(i)]) for i in range(3)]
    assert counts[2] < counts[0] / 4 and counts[0] == counts[1]


def test_families_are_decided_apart_and_share_their_members() -> None:
    own = Choice("mpi", "ring")
    race = Race([[DEFAULT, choice(0)], [DEFAULT, own]], tolerance=TOLERANCE)
    race.add({DEFAULT: [1.0] * 30, choice(0): [2.0] * 30, own: [1.5, 0.6] * 15})
    assert set(race.running) == {DEFAULT, own}
    race.add({DEFAULT: [1.0] * 30, own: [1.5] * 90})
    assert race.is_decided


def test_what_cannot_be_measured_leaves_the_race() -> None:
    race = Race([[DEFAULT, choice(0)]], tolerance=TOLERANCE)
    race.drop(choice(0))
    race.add({DEFAULT: [1.0, 2.0]})
    assert race.is_decided and set(race.estimates) == {DEFAULT}


@settings(max_examples=50)
@given(st.lists(st.floats(0.5, 2.0), min_size=1, max_size=6), st.integers(0, 1000))
def test_without_noise_the_fastest_always_wins(medians: list[float], seed: int) -> None:
    race = raced(medians, 0.0, seed)
    assert race.is_decided and medians[leader(race)] <= min(medians) * (1 + TOLERANCE)
