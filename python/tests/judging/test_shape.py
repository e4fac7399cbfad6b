"""The shape of curves: laws of synthetic ones."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.judging.curves import shape_of
from hocket.measurements.measurement import Measurement, bus_share

_SIZES = [1 << exponent for exponent in range(3, 34)]
_LATENCIES_S = st.floats(1e-6, 1e-3)
_RATES = st.floats(1e9, 5e11)


def _curve(
    sizes_bytes: Sequence[int], times_s: Sequence[float], collective: str = "allreduce", ranks: int = 8
) -> list[Measurement]:
    return [Measurement(collective=collective, algorithm="default", ranks=ranks, size_bytes=size, time_s=time_s)
            for size, time_s in zip(sizes_bytes, times_s, strict=True)]  # fmt: skip


@given(_LATENCIES_S, st.floats(1e9, 5e10))
def test_latency_and_bandwidth_are_recovered(latency_s: float, bytes_per_s: float) -> None:
    shape = shape_of(_curve(_SIZES, [latency_s + size / bytes_per_s for size in _SIZES]))
    assert shape is not None
    assert shape.floor_s == pytest.approx(latency_s, rel=0.02)
    assert shape.bytes_per_s == pytest.approx(bytes_per_s, rel=0.02)
    assert shape.half_bytes == pytest.approx(latency_s * bytes_per_s, rel=0.04)
    assert shape.kinks == ()


@given(
    _LATENCIES_S,
    _RATES,
    st.lists(st.floats(0.95, 1.05), min_size=31, max_size=31),
    st.sampled_from([1, 2]),
    st.integers(1, 31),
)
def test_noise_of_five_per_cent_has_no_kinks(
    latency_s: float, bytes_per_s: float, noise: list[float], step: int, rows: int
) -> None:
    sizes = _SIZES[:rows:step]
    times = [(latency_s + size / bytes_per_s) * factor for size, factor in zip(sizes, noise, strict=False)]
    shape = shape_of(_curve(sizes, times))
    assert shape is not None
    assert shape.kinks == ()


@given(st.integers(10, 26), st.floats(2.5, 50))
def test_jumps_are_kinks(exponent: int, factor: float) -> None:
    times = [(10e-6 + size / 1e10) * (factor if size >= 1 << exponent else 1) for size in _SIZES]
    shape = shape_of(_curve(_SIZES, times))
    assert shape is not None
    assert [kink.size_bytes for kink in shape.kinks] == [1 << exponent]
    assert shape.kinks[0].factor == pytest.approx(factor, rel=0.5)


def test_falls_and_spikes_are_kinks() -> None:
    shape = shape_of(_curve([1, 2, 4, 8, 16], [90e-6, 90e-6, 30e-6, 30e-6, 30e-6]))
    assert shape is not None
    assert [(kink.before_bytes, kink.factor < 1) for kink in shape.kinks] == [(2, True)]
    shape = shape_of(_curve([1, 2, 4, 8, 16], [30e-6, 30e-6, 90e-6, 30e-6, 30e-6]))
    assert shape is not None
    assert [(kink.size_bytes, kink.is_spike) for kink in shape.kinks] == [(4, True)]


@pytest.mark.parametrize("sizes", [[1 << 20], [1 << 20, 1 << 21], [4, 1 << 30]])
def test_few_rows(sizes: list[int]) -> None:
    shape = shape_of(_curve(sizes, [1e-5 + size / 1e10 for size in sizes]))
    assert shape is not None
    assert shape.kinks == ()
    assert shape.rates[-1] <= 1e10


def test_no_rows() -> None:
    assert shape_of([]) is None


@pytest.mark.parametrize(
    ("collective", "share"),
    [
        ("allreduce", 1.75),
        ("allgather", 0.875),
        ("reduce_scatter", 0.875),
        ("alltoall", 0.875),
        ("broadcast", 1),
        ("reduce", 1),
    ],
)
def test_bus_bandwidth_is_that_of_nccl_tests(collective: str, share: float) -> None:
    assert bus_share(collective, 8) == share


def test_blocks_count_as_the_whole_vector() -> None:
    shape = shape_of(_curve([1 << 20], [1e-3], "allgather"))
    assert shape is not None
    assert shape.sizes_bytes == (8 << 20,)
