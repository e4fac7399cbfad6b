"""Closed forms of published performance models."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_studies import optical_model as optical
from hocket_studies.trinaryx3_model import (
    best_segment_bytes,
    tree_broadcast_s,
    tree_reduce_s,
    trinaryx3_broadcast_s,
    trinaryx3_reduce_s,
)

# The K computer: 48 x 6 x 32 nodes.
LINKS = {"height_links": 84, "latency_s": 1.27e-6, "link_bytes_per_s": 11.6e9 / 3}
BOTH = {**LINKS, "reduce_bytes_per_s": 6.58e9}
GIB = 1 << 30


def test_trinaryx3_takes_what_the_paper_says_for_1_gib() -> None:
    assert float(trinaryx3_broadcast_s(GIB, 64 << 10, **LINKS)) == pytest.approx(94.1e-3, rel=5e-4)
    assert float(trinaryx3_reduce_s(GIB, 48 << 10, **BOTH)) == pytest.approx(193e-3, rel=2e-3)


def test_one_tree_sends_all_over_one_link_after_another() -> None:
    # 84 hops of 18.219 us, 16384 segments of 16.949 us, and 1.27 us
    assert float(tree_broadcast_s(GIB, 64 << 10, **LINKS)) == pytest.approx(279.224e-3, rel=1e-5)
    # 84 hops of 21.452 us, 21845.33 segments of max(1.27 + 7.470, 12.712) us, and 1.27 us
    assert float(tree_reduce_s(GIB, 48 << 10, **BOTH)) == pytest.approx(279.495e-3, rel=1e-5)


def test_models_take_arrays() -> None:
    sizes = np.array([1 << 20, 1 << 30])
    assert trinaryx3_reduce_s(sizes, 48 << 10, **BOTH).shape == (2,)
    assert tree_broadcast_s(1 << 20, sizes, **LINKS).shape == (2,)


@pytest.mark.parametrize("collective", ["broadcast", "reduce", "allreduce"])
@given(
    size=st.integers(1, 1 << 32),
    height=st.integers(1, 200),
    latency_ns=st.integers(1, 100_000),
    link=st.floats(1e7, 1e12),
    combine=st.floats(1e7, 1e12),
)
def test_no_other_segment_is_better(
    collective: str, size: int, height: int, latency_ns: int, link: float, combine: float
) -> None:
    links = {"height_links": height, "latency_s": latency_ns * 1e-9, "link_bytes_per_s": link}
    both = {**links, "reduce_bytes_per_s": combine}
    best = best_segment_bytes(collective, size, **both)  # type: ignore[arg-type]
    assert 0 < best <= size / 3
    segments = np.append(np.geomspace(min(1e-3, best), size / 3, 2000), [best])
    times = np.zeros_like(segments)
    if collective != "reduce":
        times += trinaryx3_broadcast_s(size, segments, **links)
    if collective != "broadcast":
        times += trinaryx3_reduce_s(size, segments, **both)
    assert times[-1] <= times.min() * (1 + 1e-12)


def test_the_best_segment_grows_with_the_message_on_the_k_computer() -> None:
    sizes = [1 << exponent for exponent in range(10, 31, 2)]
    for collective in ("broadcast", "reduce", "allreduce"):
        best = [best_segment_bytes(collective, size, **BOTH) for size in sizes]  # type: ignore[arg-type]
        assert best == sorted(best)
    # sqrt(N L BWc / H) until 3 L BWc
    assert best_segment_bytes("broadcast", 1 << 20, **BOTH) == pytest.approx((2**20 * 1.27e-6 * 11.6e9 / 3 / 84) ** 0.5)
    assert best_segment_bytes("broadcast", GIB, **BOTH) == pytest.approx(1.27e-6 * 11.6e9)


ALPHA, BETA, GAMMA = Fraction(1, 10**4), Fraction(8, 10**9), Fraction(1, 100)
OPTICAL = {"latency_s": 1e-4, "s_per_byte": 8e-9, "reconfiguration_s": 1e-2}


@pytest.mark.parametrize("ports", range(1, 9))
@pytest.mark.parametrize("steps", range(1, 11))
@pytest.mark.parametrize("size", [1, 1000, 10**6])
def test_optical_is_the_papers_equations(steps: int, size: int, ports: int) -> None:
    ranks, message, batches = 1 << steps, ALPHA + size * BETA, -(-steps // ports)
    equations = {
        optical.linear_naive_s(ranks, size, **OPTICAL): (ranks - 1) * (message + GAMMA),
        optical.linear_ahead_s(ranks, size, ports, **OPTICAL): (ranks - 1) * message + -(-(ranks - 1) // ports) * GAMMA,
        optical.ring_naive_s(ranks, size, **OPTICAL): 2 * (ranks - 1) * (message + GAMMA),
        optical.ring_ahead_s(ranks, size, **OPTICAL): (ranks - 1) * message + GAMMA,
        optical.recursive_doubling_naive_s(ranks, size, **OPTICAL): steps * (ALPHA + GAMMA) + (ranks - 1) * size * BETA,
        optical.recursive_doubling_ahead_s(ranks, size, ports, **OPTICAL): steps * ALPHA
        + (ranks - 1) * size * BETA
        + batches * GAMMA,
        optical.binomial_naive_s(ranks, size, **OPTICAL): steps * (message + GAMMA),
        optical.binomial_ahead_s(ranks, size, ports, **OPTICAL): steps * message + batches * GAMMA,
    }
    for found, expected in equations.items():
        assert abs(Fraction(float(found)) / expected - 1) < 1e-12


def test_the_last_release_costs_one_more_where_it_is_waited_for() -> None:
    for ranks, more_s in ((16, 1e-2), (1, 0)):
        merged = optical.binomial_ahead_s(ranks, 8, 4, **OPTICAL)
        waited = optical.binomial_ahead_s(ranks, 8, 4, **OPTICAL, final_release="waited")
        assert float(waited - merged) == pytest.approx(more_s)


def test_optical_models_take_arrays() -> None:
    assert optical.linear_ahead_s(32, np.arange(1, 5)[:, None], np.array([2, 3]), **OPTICAL).shape == (4, 2)
