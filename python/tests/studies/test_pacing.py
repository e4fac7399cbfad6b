"""Packet pacing: steps, their gaps, and the study."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import hocket
from hocket_studies import STUDIES
from hocket_studies import pacing_steps as pacing
from hocket_studies.pacing import GAPS, PACKET_S, Setting, machine
from hocket_studies.study import Rows, Work

EXCHANGE = "alltoall/pairwise_exchange"
RING = Setting((8,))
XOR_ON_A_RING = [1, 2, 2, 4, 2, 2, 2]  # computed by hand: see crates/hocket/tests/all/pacing.rs


def test_steps_and_their_gaps() -> None:
    steps = pacing.steps(EXCHANGE, RING.call("auto-2"), machine=machine(RING))
    assert [step.overlap for step in steps] == XOR_ON_A_RING
    assert [step.gap_packets for step in steps] == [m - 1 for m in XOR_ON_A_RING]
    assert pacing.steps(EXCHANGE, RING.call("0"), machine="cluster") == ()


def test_a_simulation_tells_its_steps_and_the_gap_it_was_given() -> None:
    found = hocket.simulate(EXCHANGE, RING.call("auto"), machine=machine(RING))
    assert list(found.steps) == [{"overlap": m, "gap_packets": m + 1} for m in XOR_ON_A_RING]
    assert found.parameters == {"pairing": "xor", "barrier": "none", "gap": "auto"}
    call = hocket.Call(ranks=8, size_bytes=65536, parameters={"gap": 2.5})
    assert {step["gap_packets"] for step in hocket.simulate(EXCHANGE, call, machine=machine(RING)).steps} == {2.5}


def test_a_step_paced_at_its_share_keeps_the_busiest_link_busy() -> None:
    """In step 4 all messages use four links in the + direction: M = 4, so that 32 packets take 128 packet times."""
    found = pacing.simulate_step(EXCHANGE, RING.call("auto-2"), 3, machine=machine(replace(RING, latency_ns=0)))
    assert (found.overlap, found.gap_packets, found.message_bytes) == (4, 3, 8 * 65536)
    assert 128 <= found.time_s / PACKET_S < 128 + 4


def test_links_carry_what_is_routed_over_them() -> None:
    """On a ring of 4, the distances 1, 2 (in the + direction) and 3 put 3 messages on a + link and 1 on a - link."""
    ring = Setting((4,))
    carried = Counter()
    for link in hocket.simulate(EXCHANGE, ring.call("auto"), machine=machine(ring), keep=["links"]).link_uses:
        carried[link.name[:2], link.bytes] += 1
    assert carried == {("+x", 3 * 65536): 4, ("-x", 65536): 4}


def test_switches_take_words() -> None:
    call = hocket.Call(ranks=8, size_bytes=64, parameters={"pairing": "shift", "barrier": "dissemination"})
    found = hocket.simulate(EXCHANGE, call)
    assert found.parameters == {"pairing": "shift", "barrier": "dissemination", "gap": "0"}
    assert found.messages == 7 * 8 + 6 * 8 * 3
    verdict = hocket.verify(EXCHANGE, [4], parameters={"barrier": "dissemination"})
    assert verdict.ok and verdict.checked < hocket.verify(EXCHANGE, [4]).checked
    line = r"parameter pairing: got {}, expected one of xor_or_shift, xor, shift"
    for value, said in (("1", line.format("'1'")), ("XOR", "parameter pairing: got 'XOR', did you mean xor?")):
        with pytest.raises(hocket.Error, match=said):
            hocket.simulate(EXCHANGE, hocket.Call(ranks=8, size_bytes=64, parameters={"pairing": value}))
    with pytest.raises(hocket.Error, match=line.format(1)):
        hocket.simulate(EXCHANGE, hocket.Call(ranks=8, size_bytes=64, parameters={"pairing": 1}))


@pytest.mark.parametrize("gap", ["fast", "-1", "auto*2", "nan", True])
def test_bad_gaps_are_refused(gap: str) -> None:
    with pytest.raises(hocket.Error, match="parameter gap: got"):
        hocket.simulate(EXCHANGE, RING.call(gap), machine=machine(RING))


def test_a_gap_is_refused_where_nobody_would_leave_it() -> None:
    with pytest.raises(hocket.Error, match="expected the model packets, or no gap"):
        hocket.simulate(EXCHANGE, RING.call("auto"), machine="cluster")
    with pytest.raises(hocket.Error, match='unknown parameter "gap"'):
        call = hocket.Call(ranks=8, size_bytes=8, parameters={"gap": 2})
        hocket.simulate("allreduce/ring", call, machine=machine(RING))
    with pytest.raises(hocket.Error, match="a schedule holds no gaps"):
        hocket.record(EXCHANGE, RING.call("1"))


def test_processors_that_are_interrupted_let_messages_leave_later() -> None:
    """One event of 0.5 us begins in each period of 1 us: it extends the software latency of 1 us by 0.5 us."""
    noise = '[noise.os]\nmodel = "periodic"\nperiod = "1 us"\nduration = "0.5 us"\noverlap = "arrival"'
    call = hocket.Call(ranks=2, size_bytes=2048)
    quiet, noisy = (
        hocket.simulate("broadcast/linear", call, machine=machine(setting, software_us=1), trials=hocket.Trials(8))
        for setting in (RING, replace(RING, keys=noise))
    )
    assert noisy.times_s == pytest.approx([quiet.time_s.mean + 0.5e-6] * 8)


def compute(data: str) -> Rows:
    """Return data of the smallest study, with two steps of each exchange."""
    study = STUDIES["pacing"]
    scope = replace(study.scopes["quick"], trials=2)
    done: list[None] = []
    with ThreadPoolExecutor(2) as executor:
        rows = study.compute(data, scope, Work(executor, lambda: done.append(None)))
    assert len(done) == study.pieces(data, scope)
    return rows


def test_speed_ups_are_those_of_the_steps_of_the_sample() -> None:
    rows = compute("torus_2d")
    assert [(row["torus"], row["gap"]) for row in rows] == [(torus, gap) for torus in ("8x8", "16x16") for gap in GAPS]
    for row in rows:
        assert row["sampled_steps"] == 2
        assert row["of_ideal"] <= 1
        unpaced = next(r for r in rows if r["torus"] == row["torus"] and r["gap"] == "0")
        assert row["speed_up"] == pytest.approx(unpaced["time_s"] / row["time_s"])
        assert (row["speed_up_stderr"] == 0) == (row["gap"] == "0")


def test_throughput_over_time_adds_up_to_all_messages() -> None:
    rows = compute("throughput")
    for gap in {row["gap"] for row in rows}:
        delivered = sum(row["delivered_bytes"] for row in rows if row["gap"] == gap)
        assert delivered == pytest.approx(64 * 63 * 65536)


def test_overlaps_count_all_steps() -> None:
    rows = compute("overlaps")
    steps = {(row["torus"], row["pairing"]): 0 for row in rows}
    for row in rows:
        steps[row["torus"], row["pairing"]] += row["steps"]
    assert steps == {
        (torus, pairing): ranks - 1
        for torus, ranks in (("8x8", 64), ("16x16", 256), ("4x4x4", 64))
        for pairing in ("XOR", "shift")
    }


@pytest.mark.parametrize("data", ["torus_3d", "sensitivity", "algorithms", "links", "jitter", "large", "exchanges"])
def test_all_data_can_be_computed_and_drawn(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if data == "exchanges":  # whole exchanges of 256 nodes take a second each
        monkeypatch.setattr("hocket_studies.pacing._LARGE_TORI", ((8, 8),))
    monkeypatch.setattr("hocket_studies.pacing._DURATIONS_US", (0, 100))
    rows = compute(data)
    for figure in STUDIES["pacing"].figures:
        if figure.data == data:
            assert figure.draw(rows, figure.title).to_dict()
    assert all(claim.claim and claim.why for claim in STUDIES["pacing"].claims({data: rows}))
