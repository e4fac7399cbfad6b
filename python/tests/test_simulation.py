"""Times of calls."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hocket
from tests.conftest import refusals_rejected

# On few ports, messages that a rank sends at once wait for each other, in an order that rounding decides.
UNLIMITED = {
    protocol: hocket.Machine.parse(
        f'name = "unlimited"\n[network]\nmodel = "hockney"\nprotocol = "{protocol}"\nlatency = "1 us"\n'
        'bandwidth = "10 GB/s"\n[node]\nports = "unlimited"\nreduce_bandwidth = "10 GB/s"\n'
    )
    for protocol in ("rendezvous", "eager")
}


def test_a_ring_on_the_cluster_takes_what_its_formula_says() -> None:
    # 2 (P-1) alpha + 2 (P-1)/P n beta + (P-1)/P n gamma, alpha = 1 us, beta = gamma = 0.1 ns/B, P = 4, n = 4000 B
    found = hocket.simulate("allreduce/ring", hocket.Call(ranks=4, size_bytes=4000))
    assert found.time_s.mean == pytest.approx(6e-6 + 6000 * 1e-10 + 3000 * 1e-10, rel=1e-12)
    assert found.formula_s == pytest.approx(found.time_s.mean, rel=1e-12)
    assert found.formula_is_exact
    assert (found.messages, found.message_bytes) == (24, 24 * 1000)


def test_without_noise_one_trial_tells_all() -> None:
    found = hocket.simulate("allreduce/ring", hocket.Call(ranks=4, size_bytes=4000))
    assert (found.trials, found.seed, found.time_s.stderr) == (1, 0, 0.0)
    assert found.time_s.min == found.time_s.mean == found.time_s.max


@given(
    algorithm=st.sampled_from(hocket.catalogue()),
    ranks=st.integers(1, 33),
    sizes=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
    protocol=st.sampled_from(sorted(UNLIMITED)),
)
@settings(max_examples=300)
def test_more_bytes_are_never_faster_on_a_quiet_machine(
    algorithm: hocket.Algorithm, ranks: int, sizes: tuple[int, int], protocol: str
) -> None:
    calls = (hocket.Call(ranks=ranks, size_bytes=size, element_bytes=1) for size in sorted(sizes))
    with refusals_rejected(algorithm):
        less, more = (hocket.simulate(algorithm, call, machine=UNLIMITED[protocol]) for call in calls)
    assert less.time_s.mean <= more.time_s.mean * (1 + 1e-12)
    assert less.message_bytes <= more.message_bytes


@given(
    algorithm=st.sampled_from(hocket.catalogue()),
    ranks=st.integers(1, 20),
    size=st.integers(0, 10**5),
    machine=st.sampled_from(hocket.presets()),
)
@settings(max_examples=30)
def test_the_engines_agree_to_the_last_bit(algorithm: hocket.Algorithm, ranks: int, size: int, machine: str) -> None:
    call = hocket.Call(ranks=ranks, size_bytes=size)
    with refusals_rejected(algorithm):
        any_engine = hocket.simulate(algorithm, call, machine=machine)
    events = hocket.simulate(algorithm, call, machine=machine, engine="events")
    assert any_engine.time_s == events.time_s
    assert any_engine.rank_time_s == events.rank_time_s


def test_tracing_does_not_change_the_result() -> None:
    call = hocket.Call(ranks=7, size_bytes=1000)
    traced = hocket.simulate("allreduce/ring", call, keep=["events"])
    assert replace(traced, events=()) == hocket.simulate("allreduce/ring", call)


def test_a_trace_tells_what_each_rank_did() -> None:
    traced = hocket.simulate("broadcast/binomial", hocket.Call(ranks=2, size_bytes=1000), keep=["events"])
    time_s = 1e-6 + 1000 * 1e-10
    assert [(e.rank, e.kind, e.peer, e.bytes) for e in traced.events if e.kind != "copy"] == [
        (0, "send", 1, 1000.0),
        (1, "recv", 0, 1000.0),
    ]
    assert [e.end_s for e in traced.events if e.kind != "copy"] == pytest.approx([time_s, time_s], rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (hocket.Call(ranks=0, size_bytes=8), "ranks: got 0, expected 1"),
        (hocket.Call(ranks=4, size_bytes=9, element_bytes=8), "expected a whole number of elements of 8 B"),
        (hocket.Call(ranks=4, size_bytes=8, root=1), "allreduce has no root"),
        (hocket.Call(ranks=4, size_bytes=8, parameters={"a": 1}), 'unknown parameter "a", expected none'),
        (hocket.Call(ranks=4, size_bytes=8, commutative=False), "needs a commutative operator"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(call: hocket.Call, message: str) -> None:
    with pytest.raises(hocket.Error, match=message):
        hocket.simulate("allreduce/ring", call)


def test_what_is_no_call_and_no_trials_is_refused() -> None:
    call: Any = None
    trials: Any = 3
    with pytest.raises(hocket.Error, match="call: got None"):
        hocket.simulate("allreduce/ring", call)
    with pytest.raises(hocket.Error, match="trials: got 3"):
        hocket.simulate("allreduce/ring", hocket.Call(ranks=4, size_bytes=8), trials=trials)


def test_the_share_of_calls_that_an_operating_system_hits() -> None:
    # docs/scenes.md: a rank is hit for sure by an event under way when it begins (d / T), and only if an
    # event meets the t of the call ((d + t) / T).
    network = "[network]\nmodel = 'loggp'\nL = '1 us'\no = '0.25 us'\ng = '0.25 us'\nG = '0.1 ns/B'\n"
    noise = "[noise.os]\nmodel = 'periodic'\nperiod = '1 ms'\nduration = '25 us'\n"
    quiet, noisy = (hocket.Machine.parse(f"name = 'm'\n{network}{more}") for more in ("", noise))
    count = 4000
    for ranks in (2, 16):
        call = hocket.Call(ranks=ranks, size_bytes=8)
        t_s = hocket.simulate("allreduce/recursive_doubling", call, machine=quiet).time_s.mean
        found = hocket.simulate("allreduce/recursive_doubling", call, machine=noisy, trials=hocket.Trials(count))
        share = sum(time_s > t_s * (1 + 1e-9) for time_s in found.times_s) / count
        low, high = (1 - (1 - hit_s / 1e-3) ** ranks for hit_s in (25e-6, 25e-6 + t_s))
        error = 5 * (high * (1 - high) / count) ** 0.5
        assert low - error < share < high + error
