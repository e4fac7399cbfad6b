"""Times of long pipelines, estimated from a part of their segments."""

from __future__ import annotations

from dataclasses import replace

import pytest

import hocket
from hocket.definitions.machine import Machine
from hocket.definitions.variants import with_layout
from hocket.simulating import estimates

_MIB = 1 << 20
_CHAIN = hocket.Call(ranks=16, size_bytes=126 * _MIB, parameters={"segment": 16 << 10})
_TORUS = Machine.parse(
    """name = "torus"
[network]
model = "links"
topology = "torus"
dims = [4, 4]
link_bandwidth = "4 GB/s"
link_latency = "100 ns"
sharing = "fair"
[host]
o_send = "1 us"
o_receive = "1 us"
[node]
ports = 4
"""
)


def test_a_pipeline_that_repeats_exactly() -> None:
    found = hocket.estimate("broadcast/chain", _CHAIN)
    time_s = hocket.simulate("broadcast/chain", _CHAIN).time_s.mean
    assert found.time_s == pytest.approx(time_s, rel=1e-12)
    assert found.interval_s == pytest.approx((time_s, time_s), rel=1e-12)
    assert not found.is_exact
    assert found.simulated[-1]["size_bytes"] < _CHAIN.size_bytes / 4


@pytest.mark.parametrize("label", ["allreduce/edge_disjoint_trees", "allreduce/trinaryx3", "allreduce/dual_root"])
def test_the_interval_has_the_time_of_a_pipeline_that_nearly_repeats(label: str) -> None:
    found = hocket.estimate(label, _CHAIN, machine=_TORUS, within="5%")
    time_s = hocket.simulate(label, _CHAIN, machine=_TORUS).time_s.mean
    low_s, high_s = found.interval_s
    assert low_s * (1 - 1e-12) <= time_s <= high_s * (1 + 1e-12)
    assert high_s - low_s <= 0.1 * found.time_s
    assert not found.is_exact


@pytest.mark.parametrize("size_bytes", [128 * _MIB, 128 * _MIB + 1, 127 * _MIB - 1])
def test_a_rest_that_is_shared_unevenly_is_in_the_interval(size_bytes: int) -> None:
    machine = with_layout(Machine.load("k_computer"), "4, 4, 4")
    call = replace(_CHAIN, ranks=64, size_bytes=size_bytes)
    found = hocket.estimate("broadcast/trinaryx3", call, machine=machine)
    low_s, high_s = found.interval_s
    assert not found.is_exact
    assert low_s < hocket.simulate("broadcast/trinaryx3", call, machine=machine).time_s.mean < high_s
    assert high_s - low_s < 0.001 * found.time_s


def test_a_pipeline_that_changes_late_is_not_taken_for_one_that_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    change_bytes = 10 * _MIB

    def time_s(_: object, size_bytes: int) -> float:
        return 1.0 + size_bytes / _MIB + max(size_bytes - change_bytes, 0) / _MIB

    monkeypatch.setattr(estimates._Runs, "_time_s", time_s)
    found = hocket.estimate("broadcast/chain", replace(_CHAIN, size_bytes=1 << 30))
    assert found.time_s == pytest.approx(time_s(None, 1 << 30))


def test_few_segments_are_simulated() -> None:
    call = replace(_CHAIN, size_bytes=_MIB)
    found = hocket.estimate("broadcast/chain", call)
    assert found.is_exact
    assert found.time_s == hocket.simulate("broadcast/chain", call).time_s.mean
    assert found.simulated == ({"size_bytes": _MIB, "time_s": found.time_s},)


def test_automatic_segments_are_those_of_the_call() -> None:
    call = replace(_CHAIN, ranks=1024, size_bytes=1 << 30, parameters={"segment": "auto"})
    found = hocket.estimate("broadcast/chain", call)
    assert found.parameters == hocket.simulate("broadcast/chain", call).parameters
    assert found.simulated[0]["size_bytes"] == 96 * int(found.parameters["segment"])


def test_a_row() -> None:
    (row,) = hocket.estimate("broadcast/chain", _CHAIN).records()
    assert row["interval_low_s"] <= row["time_s"] <= row["interval_high_s"]
    assert row["param_segment"] == 16 << 10


@pytest.mark.parametrize(
    ("label", "machine", "within", "expected"),
    [
        ("allreduce/ring", "cluster", "1%", "allreduce/ring: has no segments"),
        ("broadcast/chain", "jitter-paper", "1%", "machine: jitter-paper has noise"),
        ("broadcast/chain", "cluster", 1.5, "within: got 1.5"),
        ("broadcast/chain", "cluster", "2", 'got "2", expected a share'),
    ],
)
def test_refused(label: str, machine: str, within: float | str, expected: str) -> None:
    with pytest.raises(hocket.Error, match=expected):
        hocket.estimate(label, replace(_CHAIN, parameters={}), machine=machine, within=within)
