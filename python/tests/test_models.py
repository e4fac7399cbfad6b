"""Closed forms of published performance models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.models import (
    best_segment_bytes,
    tree_broadcast_s,
    tree_reduce_s,
    trinaryx3_broadcast_s,
    trinaryx3_reduce_s,
)

# The K computer, 48 x 6 x 32 nodes.
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
