"""Lower bounds."""

import pytest

import hocket

COLLECTIVES = sorted({algorithm.collective for algorithm in hocket.catalogue()})
ONE_PORT = hocket.Machine.parse('name = "m"\n[network]\nmodel = "hockney"\nlatency = "1 us"\nbandwidth = "1 GB/s"\n')


def test_a_bound_is_the_greatest_of_its_parts() -> None:
    found = hocket.bound("allreduce", hocket.Call(ranks=8, size_bytes=8000), machine=ONE_PORT)
    assert found.latency_s == pytest.approx(3e-6, rel=1e-12)
    assert found.bandwidth_s == pytest.approx(1e-6 + 14_000e-9, rel=1e-12)
    assert (found.computation_s, found.time_s) == (0.0, found.bandwidth_s)


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("machine", hocket.presets())
def test_the_catalogue_is_not_below_its_bounds(collective: str, machine: str) -> None:
    sizes = (0,) if collective == "barrier" else (8, 64 << 10)
    calls = [hocket.Call(ranks=64, size_bytes=size) for size in sizes]
    found = hocket.compare(hocket.algorithms(collective), calls, machine=machine, trials=hocket.Trials(2))
    assert set(found.bounds) == set(sizes)
    for size in sizes:
        ratio = found.times_the_bound(size)
        assert ratio is not None and ratio > 1 - 1e-9


def test_more_bytes_or_ranks_never_lower_a_bound() -> None:
    bounds_s = [
        [hocket.bound("allreduce", hocket.Call(ranks=p, size_bytes=n)).time_s for n in (0, 8, 1000, 10**6)]
        for p in (1, 2, 3, 17, 1024)
    ]
    assert all(row == sorted(row) for row in bounds_s)
    assert all(list(column) == sorted(column) for column in zip(*bounds_s, strict=True))


@pytest.mark.parametrize(
    ("collective", "call", "message"),
    [
        ("allsum", hocket.Call(ranks=4, size_bytes=8), 'unknown collective "allsum"'),
        (3, hocket.Call(ranks=4, size_bytes=8), "collective: got 3, expected a text"),
        ("allreduce", 7, "call: got 7, expected hocket.Call"),
        ("allreduce", hocket.Call(ranks=0, size_bytes=8), "ranks: got 0, expected 1 to "),
        ("broadcast", hocket.Call(ranks=4, size_bytes=8, root=4), "expected a rank below 4"),
        ("allreduce", hocket.Call(ranks=2.5, size_bytes=8), "ranks: got 2.5, expected a whole number"),  # type: ignore[arg-type]
    ],
)
def test_calls_that_make_no_sense_are_refused(collective: str, call: hocket.Call, message: str) -> None:
    with pytest.raises(hocket.Error) as refused:
        hocket.bound(collective, call)
    assert message in str(refused.value) and "\n" not in str(refused.value)
