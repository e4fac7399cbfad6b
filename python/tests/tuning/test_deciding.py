"""Decisions from times: no rule within the noise, few intervals, a reproducible file."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket
from hocket.tuning.choice import DEFAULT, Choice, Decision, Estimate, Point, choice_at, choice_of, rules_of
from hocket.tuning.deciding import Times, acceptable, decide, merge, middle_sizes, regrets

A, B, C = (Choice("catalogue", name) for name in ("recursive_doubling", "ring", "swing"))
TOLERANCE = 0.03


def exact(**times_s: float) -> Times:
    names = {"a": A, "b": B, "c": C, "native": DEFAULT}
    return {names[name]: Estimate.exact(time_s) for name, time_s in times_s.items()}


def at(*sizes: int, ranks: int = 8) -> list[Point]:
    return [Point("allreduce", ranks, size) for size in sizes]


times_at_points = st.lists(
    st.dictionaries(
        st.sampled_from([A, B, C, DEFAULT]),
        st.tuples(st.floats(0.1, 10), st.floats(0, 0.5)).map(
            lambda one: Estimate(one[0], one[0] * (1 - one[1]), one[0] * (1 + one[1]))
        ),
        min_size=1,
    ),
    min_size=1,
    max_size=12,
)


def test_what_overlaps_the_fastest_is_good_enough_and_the_default_then_alone() -> None:
    fastest, noisy, slow = Estimate(1.0, 0.9, 1.1), Estimate(1.5, 1.05, 2.0), Estimate(1.2, 1.15, 1.25)
    assert acceptable({A: fastest, B: noisy, C: slow}, TOLERANCE) == {A, B}
    assert acceptable({A: fastest, B: noisy, DEFAULT: Estimate(1.4, 1.05, 2.0)}, TOLERANCE) == {DEFAULT}
    assert acceptable({A: fastest, B: noisy, DEFAULT: noisy}, TOLERANCE) == {DEFAULT, B}  # the default runs B
    assert acceptable({A: fastest, DEFAULT: slow}, TOLERANCE) == {A}
    assert acceptable(exact(a=1.0, b=1.02, c=1.04), TOLERANCE) == {A, B}
    assert acceptable({}, TOLERANCE) == {DEFAULT}


def test_a_rule_stays_where_the_default_runs_the_same() -> None:
    """One rule is shorter than a rule, the default, and the rule again."""
    times = [exact(native=1.0, a=0.5), exact(native=1.0, a=1.0), exact(native=1.0, a=0.5), exact(native=1.0, b=1.0)]
    decisions = decide(dict(zip(at(64, 256, 1024, 4096), times, strict=True)), TOLERANCE)
    assert [(d.sizes_bytes, d.choice) for d in decisions] == [((64, 1025), A), ((1025, 4097), DEFAULT)]
    assert merge("allreduce", [exact(native=1.0, a=1.0)] * 2, TOLERANCE) == [DEFAULT, DEFAULT]


def test_sizes_between_a_choice_and_the_default_are_the_defaults() -> None:
    times = [exact(native=1.0, a=1.1), exact(native=1.0, a=0.5), exact(native=1.0, a=0.6), exact(native=1.0, a=1.1)]
    decisions = decide(dict(zip(at(64, 256, 1024, 4096), times, strict=True)), TOLERANCE)
    assert [(d.sizes_bytes, d.choice) for d in decisions] == [
        ((64, 256), DEFAULT),
        ((256, 1025), A),
        ((1025, 4097), DEFAULT),
    ]


def test_a_choice_stays_as_long_as_it_is_good_enough() -> None:
    points = [exact(a=1.0, b=1.1), exact(a=1.02, b=1.0), exact(a=1.0, b=1.01), exact(a=1.5, b=1.0)]
    assert merge("allreduce", points, TOLERANCE) == [A, B, B, B]
    assert merge("allreduce", points, 0.001) == [A, B, A, B]


def test_of_as_few_changes_the_smallest_loss_is_taken() -> None:
    points = [exact(a=1.0, b=2.0), exact(a=1.02, b=1.0), exact(a=2.0, b=1.0)]
    assert merge("allreduce", points, TOLERANCE) == [A, B, B]


def test_of_equal_choices_one_that_libraries_have_is_taken_and_the_plainest() -> None:
    names = ("bine", "multi_lane", "recursive_doubling")
    times = {Choice("catalogue", name): Estimate.exact(1.0 + 1e-14 * number) for number, name in enumerate(names)}
    times[Choice("catalogue", "recursive_doubling", (("segment", 4),))] = Estimate.exact(1.0)
    assert merge("allreduce", [times, times], TOLERANCE) == [Choice("catalogue", "recursive_doubling")] * 2


@given(times_at_points)
def test_merging_keeps_to_what_is_good_enough_with_no_more_intervals_than_points(points: list[Times]) -> None:
    choices = merge("allreduce", points, TOLERANCE)
    assert len(choices) == len(points)
    for choice, times in zip(choices, points, strict=True):
        assert choice in acceptable(times, TOLERANCE)
        assert DEFAULT not in acceptable(times, TOLERANCE) or times.get(choice) == times.get(DEFAULT)


@given(times_at_points)
def test_no_way_has_fewer_changes(points: list[Times]) -> None:
    """The greedy choice, each as far as possible, has the fewest changes."""
    sets, changes, here = [acceptable(times, TOLERANCE) for times in points], 0, frozenset[Choice]()
    for found in sets:
        changes += not here & found
        here = here & found or found
    choices = merge("allreduce", points, TOLERANCE)
    assert 1 + sum(a != b for a, b in pairwise(choices)) == changes


@given(times_at_points)
def test_merging_again_changes_nothing(points: list[Times]) -> None:
    choices = merge("allreduce", points, TOLERANCE)
    assert merge("allreduce", [{choice: Estimate.exact(1.0)} for choice in choices], TOLERANCE) == choices


def test_sizes_are_divided_where_times_cross() -> None:
    low, high = at(1024, 4096)
    # Between 1024 and 4096 one time grows from 1 to 4, the other stays 2: on logarithmic axes they cross in the middle.
    found = decide({low: exact(a=1.0, b=2.0), high: exact(a=4.0, b=2.0)}, TOLERANCE)
    assert found == [
        Decision("allreduce", (8, 9), (1024, 2048), A),
        Decision("allreduce", (8, 9), (2048, 4097), B),
    ]
    # The middle as well if a choice is unknown at one of the sizes.
    assert decide({low: exact(a=1.0), high: exact(b=2.0)}, TOLERANCE)[0].sizes_bytes == (1024, 2048)


def test_rank_counts_that_are_decided_alike_share_a_decision() -> None:
    alike = {point: exact(a=1.0, b=2.0) for ranks in (2, 4) for point in at(8, ranks=ranks)}
    others = {point: exact(a=2.0, b=1.0) for point in at(8, ranks=16)}
    assert decide(alike | others, TOLERANCE) == [
        Decision("allreduce", (2, 8), (8, 9), A),
        Decision("allreduce", (8, 17), (8, 9), B),
    ]


@given(times_at_points)
def test_rules_say_what_decisions_say(points: list[Times]) -> None:
    known = dict(zip(at(*(8 * 4**i for i in range(len(points)))), points, strict=True))
    decisions = decide(known, TOLERANCE)
    text = rules_of(decisions)
    for point in [*known, *at(7, 20, 100, 1 << 30), *at(8, ranks=7)]:
        call = hocket.Call(ranks=point.ranks, size_bytes=point.size_bytes)
        found = hocket.choose(text, "allreduce", call)
        assert choice_at(decisions, point).name == (found[0].name if found else DEFAULT.name)


def test_regret_is_over_the_fastest_and_noise_decides_who_is_slower() -> None:
    (point,) = at(64)
    decisions = [Decision("allreduce", (8, 9), (8, 128), B)]
    (one,) = regrets(decisions, {point: exact(a=1.0, b=1.25, native=1.2)})
    assert (one.choice, one.best, one.share, one.is_slower_than_default) == (B, A, 0.25, True)
    noisy = {B: Estimate(1.25, 1.1, 1.4), DEFAULT: Estimate(1.2, 1.0, 1.15)}
    assert not regrets(decisions, {point: noisy})[0].is_slower_than_default
    assert regrets([], {point: exact(a=1.0, native=1.5)})[0].share == pytest.approx(0.5)
    assert regrets(decisions, {point: exact(a=1.0)}) == []


def test_held_out_sizes_are_between_the_others() -> None:
    assert middle_sizes([8, 32, 128], 8) == (16, 64)
    assert middle_sizes([8, 16], 8) == () and middle_sizes([0], 1) == ()


def test_choices_survive_as_plain_data() -> None:
    for choice in (DEFAULT, A, Choice("mpi", "ring", (("x", 4),)), Choice("catalogue", "chain", (("segment", 4096),))):
        assert choice_of(choice.as_dict()) == choice
