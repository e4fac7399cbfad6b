"""Lower bounds."""

from pathlib import Path

import pytest

import hocket
from hocket.cli.run import run

COLLECTIVES = sorted({algorithm.collective for algorithm in hocket.catalogue()})
ONE_PORT = hocket.Machine.parse('name = "m"\n[network]\nmodel = "hockney"\nlatency = "1 us"\nbandwidth = "1 GB/s"\n')


def test_a_bound_is_the_greatest_of_its_parts() -> None:
    found = hocket.bound("allreduce", hocket.Call(ranks=8, size_bytes=8000), machine=ONE_PORT)
    assert found.latency_s == pytest.approx(3e-6, rel=1e-12)
    assert found.bandwidth_s == pytest.approx(1e-6 + 14_000e-9, rel=1e-12)
    assert (found.computation_s, found.time_s) == (0.0, found.bandwidth_s)


@pytest.mark.parametrize("ranks", [24, pytest.param(64, marks=pytest.mark.long)])
@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("machine", hocket.presets())
def test_the_catalogue_is_not_below_its_bounds(collective: str, machine: str, ranks: int) -> None:
    sizes = (0,) if collective == "barrier" else (8, 64 << 10)
    calls = [hocket.Call(ranks=ranks, size_bytes=size) for size in sizes]
    found = hocket.compare(hocket.algorithms(collective), calls, machine=machine, trials=hocket.Trials(2))
    has_ports = machine != "jitter-paper"  # unlimited ports there: nothing is known of bytes
    assert set(found.bounds) == ({*sizes} if has_ports or collective == "barrier" else set())
    for size in found.bounds:
        ratio = found.times_the_bound(size)
        assert ratio is not None and ratio > 1 - 1e-9


GPUS = """
name = "gpus"
[network]
model = "loggp"
L = "6 us"
o = "0 s"
G = "0.02 ns/B"
ranks_per_node = 8
[[level]]
L = "0.5 us"
o = "0 s"
G = "2.9 ps/B"
"""


def test_the_bound_of_gpus_is_near_to_what_their_algorithms_take() -> None:
    """2 * 7 / 8 of 1 GiB at 2.948 ps/B, or 1 GiB at 310 GB/s through the switch; neither algorithm is below."""
    call = hocket.Call(ranks=8, size_bytes=1 << 30)
    found = hocket.compare(["allreduce/nvls", "allreduce/multi_ring"], [call], machine="hgx-h100")
    bound_s = found.bounds[1 << 30].time_s
    assert bound_s == pytest.approx(4.589e-6 + (1 << 30) / 310e9, rel=1e-3)
    assert 1 <= found.times_s[1 << 30, "nvls"] / bound_s < 1.05
    assert 1.5 < found.times_s[1 << 30, "multi_ring"] / bound_s < 1.7


def test_nothing_is_said_where_bytes_have_no_known_time(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Messages of one byte take no time here, so the bound knows the latency only: thousands of times too low."""
    (tmp_path / "gpus.toml").write_text(GPUS)
    machine = hocket.Machine.load(tmp_path / "gpus.toml")
    call = hocket.Call(ranks=8, size_bytes=1 << 30, element_bytes=1)
    found = hocket.bound("allreduce", call, machine=machine)
    assert (found.bandwidth_s, found.time_s) == (None, found.latency_s)
    assert hocket.explain("allreduce/ring", call, machine=machine).bound is None
    for command in ("explain allreduce ring --element 1B", "compare allreduce --element 1B"):
        words = f"{command} --ranks 8 --size 1MiB --machine {tmp_path / 'gpus.toml'}"
        assert run(words.split()) == 0
        assert "lower bound" not in capsys.readouterr().out
    floats = hocket.Call(ranks=8, size_bytes=1 << 30, element_bytes=4)
    assert hocket.bound("allreduce", floats, machine=machine).bandwidth_s == pytest.approx(
        0.5e-6 + 0.75 * 1.75 * (1 << 30) * 2.9e-12, rel=1e-6
    )


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
