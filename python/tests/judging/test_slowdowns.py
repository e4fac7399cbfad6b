"""Healthy times with the error of a machine file, and the same times made worse in a known way."""

import random
from collections.abc import Callable

import pytest

from hocket.judging.assessment import Row
from hocket.judging.identifying import Guess
from hocket.judging.slowdowns import slowdown_of

SIZES = [16 << (2 * place) for place in range(11)]
Change = Callable[[int, float], float]


def rows(seed: int, change: Change) -> list[Row]:
    """Return rows whose machine file is some constant factor off, and 10 % at each size."""
    drawn = random.Random(seed)
    level = drawn.lognormvariate(0, 0.2)
    expected_s = [7e-6 + 3 * size / 9e9 for size in SIZES]
    measured_s = [
        change(place, time_s) * level * drawn.lognormvariate(0, 0.1) for place, time_s in enumerate(expected_s)
    ]
    nothing = Guess((), 0.0)
    return [
        Row(size, time_s, expected, 0.6 * expected, 1.6 * expected, "ring", "", None, nothing, None)
        for size, time_s, expected in zip(SIZES, measured_s, expected_s, strict=True)
    ]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda _, time_s: time_s, "nothing"),
        (lambda _, time_s: time_s + 14e-6, "latency"),
        (lambda place, time_s: time_s * (2.2 if place > 5 else 1.0), "rate"),
        (lambda _, time_s: 2.2 * time_s - 7e-6, "rate"),
    ],
)
def test_what_is_slow_is_told(change: Change, what: str) -> None:
    found = [slowdown_of(rows(seed, change)) for seed in range(40)]
    assert sum(each == what for each, _ in found) >= 34
    assert sum(odd is not None for _, odd in found) <= 2


@pytest.mark.parametrize("place", [1, 4, 9])
def test_a_single_size_is_odd_and_nothing_else_is_slow(place: int) -> None:
    found = [slowdown_of(rows(seed, lambda at, time_s: time_s * (1 + (at == place)))) for seed in range(40)]
    assert sum(odd is not None and odd.size_bytes == SIZES[place] for _, odd in found) >= 34
    assert sum(what == "nothing" for what, _ in found) >= 34
