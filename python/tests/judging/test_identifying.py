"""Which program took measured times: synthetic times of known programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.judging.identifying import guess, probabilities

SIZES = [8 << step for step in range(0, 20, 2)]
LATENCIES_S = {"few rounds": (6e-6, 2e-9), "many rounds": (60e-6, 1e-9), "linear": (20e-6, 8e-9)}
LABELS = [*LATENCIES_S]
SPREAD = 0.25
SIMULATED_S = np.array([[a + size * b for size in SIZES] for a, b in LATENCIES_S.values()])


def shares_of(times_s: np.ndarray, spread: float = SPREAD) -> np.ndarray:
    return probabilities(SIZES, list(times_s), SIMULATED_S, spread, [1.0] * len(LABELS))


@pytest.mark.parametrize("program", range(len(LABELS)))
def test_times_of_a_program_with_the_error_of_a_machine_are_of_this_program(program: int) -> None:
    random = np.random.default_rng(58)
    for _ in range(20):
        error = random.normal(0, 0.15) + random.normal(0, 0.05, len(SIZES))
        found = guess(LABELS, shares_of(SIMULATED_S[program] * np.exp(error)), SIMULATED_S, SPREAD)
        assert found.programs[:1] == (LABELS[program],)


def test_a_switch_between_programs_is_found_where_it_is() -> None:
    times_s = np.where(np.arange(len(SIZES)) < 5, SIMULATED_S[0], SIMULATED_S[1]) * 1.05
    shares = shares_of(times_s)
    assert guess(LABELS, shares[:5], SIMULATED_S[:, :5], SPREAD).programs == ("few rounds",)
    assert guess(LABELS, shares[5:], SIMULATED_S[:, 5:], SPREAD).programs == ("many rounds",)
    assert shares[3, 0] > 0.9
    assert shares[7, 1] > 0.9


def test_times_far_above_all_programs_are_of_none() -> None:
    found = guess(LABELS, shares_of(100 * SIMULATED_S.max(axis=0)), SIMULATED_S, SPREAD)
    assert found.programs == ()
    assert found.probability > 0.9


def test_a_program_at_three_times_its_times_is_not_told_to_be_another_one() -> None:
    times_s = SIMULATED_S[0] * 3
    roughly = times_s * np.exp(0.25 * np.sign(np.arange(len(SIZES)) - 4.5))
    found = guess(["own", "other"], probabilities(SIZES, list(times_s), np.stack([SIMULATED_S[0], roughly]), SPREAD,
                                                  [1.0, 1.0]), np.stack([SIMULATED_S[0], roughly]), SPREAD)  # fmt: skip
    assert not (found.is_told and found.programs == ("other",))


def test_programs_with_the_same_times_are_named_together() -> None:
    simulated_s = np.vstack([SIMULATED_S, SIMULATED_S[0] * 1.01])
    shares = probabilities(SIZES, list(SIMULATED_S[0]), simulated_s, SPREAD, [1.0] * 4)
    found = guess([*LABELS, "twin"], shares, simulated_s, SPREAD)
    assert set(found.programs) == {"few rounds", "twin"}
    assert found.is_told


@pytest.mark.parametrize(("share", "are_alike"), [(0.07, True), (0.09, False)])
def test_programs_are_alike_within_the_error_of_a_size(share: float, are_alike: bool) -> None:
    """The error of a size is sqrt(0.1) times the spread of 0.25, which is 0.079."""
    other_s = SIMULATED_S[0] * np.exp(share * np.where(np.arange(len(SIZES)) % 2, 1, -1))
    simulated_s = np.stack([SIMULATED_S[0], other_s])
    shares = probabilities(SIZES, list(SIMULATED_S[0]), simulated_s, SPREAD, [1.0] * 2)
    assert (len(guess(["own", "other"], shares, simulated_s, SPREAD).programs) == 2) == are_alike


def test_a_program_that_refuses_a_size_is_not_of_that_size() -> None:
    simulated_s = SIMULATED_S.copy()
    simulated_s[0, 4] = np.nan
    shares = probabilities(SIZES, list(SIMULATED_S[0]), simulated_s, SPREAD, [1.0] * 3)
    assert shares[4, 0] == 0
    assert np.allclose(shares.sum(axis=1), 1.0)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(1e-7, 1.0), min_size=len(SIZES), max_size=len(SIZES)),
    st.permutations(range(len(LABELS))),
    st.floats(0.05, 2.0),
)
def test_probabilities_add_up_and_do_not_depend_on_the_order_of_programs(
    times_s: list[float], order: list[int], spread: float
) -> None:
    shares = shares_of(np.array(times_s), spread)
    assert np.allclose(shares.sum(axis=1), 1.0)
    permuted = probabilities(SIZES, times_s, SIMULATED_S[order], spread, [1.0] * len(LABELS))
    assert np.allclose(permuted[:, :-1], shares[:, :-1][:, order], atol=1e-9)
