"""Profiles end where those of a dense grid end."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from hocket.fitting.cells import Floats, Simulator
from hocket.fitting.profiling import profile_fit
from hocket.fitting.searching import bounds_of
from hocket.fitting.skeleton import Skeleton

LEVELS = """name = "a"
[network]
model = "loggp"
L = "0.1 us..10 us"
o = "1 us"
ranks_per_node = 4
[[level]]
ranks = 2
L = ["0.1 us", "?"]
from = ["0 B", "1 KiB"]
o = "1 us"
[[level]]
L = "1 us..2 us"
o = "1 us"
shared_bandwidth = "?"
"""
SKELETON = Skeleton.parse('name = "a"\n[network]\nmodel = "loggp"\nL = "0.1 s..10 s"\no = "0.1 s..10 s"\n', "a.toml")
TRUTH = np.log([3.0, 1.0])
CHANCE_95 = 2.10**2  # of Student's t with 18 degrees of freedom


def smooth(points: Floats) -> Floats:
    """Return the times of 20 cells, with several shares of L and o."""
    latency, overhead = np.exp(points).T
    share = np.linspace(0, 1, 20)
    return np.outer(latency, share) + np.outer(overhead, 1 - share)


def stepped(points: Floats) -> Floats:
    """Return times of which some fall by 12 % where L exceeds 3.01 o."""
    is_beyond = (points[:, 0] - points[:, 1] > np.log(3.01))[:, None]
    return smooth(points) * np.where(is_beyond & (np.arange(20) % 4 == 1), 0.88, 1.0)


def together(points: Floats) -> Floats:
    """Return times that are all L + 2 o."""
    return np.outer(np.exp(points) @ [1.0, 2.0], np.ones(20))


def profile_of(times: Callable[[Floats], Floats], seed: int, reach: float) -> tuple[Any, Floats, Floats, int]:
    """Return the profile, the ends of the values of a dense grid that chance allows, and the number of points."""
    noise = np.random.default_rng(seed).normal(0, 0.03, 20)
    measured = times(TRUTH[None])[0] * np.exp(noise)
    cells = [SimpleNamespace(measurement=SimpleNamespace(time_s=each), number=n) for n, each in enumerate(measured)]
    simulated = 0

    def times_s(points: Sequence[Floats], some: Sequence[Any]) -> Floats:
        nonlocal simulated
        simulated += len(points) * len(some)
        return times(np.array(points))[:, [cell.number for cell in some]]

    simulator = Simulator(SKELETON, cast(Any, None), np.inf, lambda: None)
    simulator.times_s = times_s  # type: ignore[method-assign, assignment]
    found = profile_fit(simulator, cast(Any, cells), TRUTH)
    ends = bounds_of(SKELETON.places)
    near = np.clip(TRUTH + reach * np.array([[-1.0], [1.0]]), *ends)
    grid = np.array(np.meshgrid(*np.linspace(near[0], near[1], 600).T)).reshape(2, -1).T
    away = np.concatenate(
        [np.sum((np.log(times(part)) - np.log(measured)) ** 2, 1) for part in np.array_split(grid, 30)]
    )
    good = grid[away <= away.min() * (1 + CHANCE_95 / 18)]
    return found, good.min(0), good.max(0), simulated // 20


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("times", [smooth, stepped])
def test_a_profile_ends_where_chance_does(times: Callable[[Floats], Floats], seed: int) -> None:
    found, low, high, points = profile_of(times, seed, 0.2)
    width = high - low
    assert (np.abs(found.low - low) < 0.1 * width).all(), (found, low, high)
    assert (np.abs(found.high - high) < 0.1 * width).all(), (found, low, high)
    assert points <= (20 if times is smooth else 60)


def test_a_profile_follows_values_that_cannot_be_told_apart() -> None:
    found, low, high, points = profile_of(together, 0, 9.0)
    assert found.low == pytest.approx(low, abs=0.1)
    assert found.high == pytest.approx(high, abs=0.1)
    assert points <= 60


def test_values_of_levels_can_be_fitted() -> None:
    skeleton = Skeleton.parse(LEVELS, "a.toml")
    names = ["network.L", "level[0].L[1]", "level[1].L", "level[1].shared_bandwidth"]
    assert [place.name for place in skeleton.places] == names
    machine = skeleton.with_values([1e-6, 2e-6, 1.5e-6, 1e10])
    assert machine.quantities["level[0].L_s"] == (1e-7, 2e-6)
    assert machine.quantities["level[1].shared_bandwidth_bytes_per_s"] == 1e10
