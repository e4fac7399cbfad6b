"""Critical paths of the whole catalogue add up; texts of explanations."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import pytest

import hocket
from hocket.definitions.variants import halve, quiet, with_host, with_more_ports
from hocket.simulating.operations import PARTS, total

_TORUS = """
name = "torus"
[network]
model = "{model}"
topology = "torus"
dims = [4, 4]
link_bandwidth = "4 GB/s"
link_latency = "100 ns"
[node]
ports = 2
software_latency = "1 us"
reduce_bandwidth = "10 GB/s"
"""
_NOISY = """
[noise.os]
model = "periodic"
period = "100 us"
duration = "10 us"
[noise.network]
model = "poisson"
interval = "20 us"
duration = "5 us"
"""
_SENDER = 'software_latency = "1 us"\n'
_HOST = """
[host]
o_send = "1 us"
o_receive = "0.4 us"
O = "0.1 ns/B"
g = "0.5 us"
G = "0.1 ns/B"
S = "4 KiB"
new_peer = "2 us"
"""
_MACHINES = {
    "hockney": hocket.Machine.load("cluster"),
    "loggp": hocket.Machine.load("loggp-infiniband"),
    "links": hocket.Machine.parse(_TORUS.format(model="links")),
    "packets": hocket.Machine.parse(_TORUS.format(model="packets")),
    "noise": hocket.Machine.parse(_TORUS.format(model="links") + _NOISY),
    "host": hocket.Machine.parse(_TORUS.format(model="links").replace(_SENDER, "") + _HOST),
}


_EAGER = hocket.Machine.parse(hocket.Machine.load("cluster").text.replace('"rendezvous"', '"eager"'))


def test_a_reduction_waits_for_a_busy_processor() -> None:
    """A reduction takes its bytes at 10 GB/s; what is longer, it waits while messages keep the processor busy."""
    host = '[host]\no = "1 us"\nO = "0.5 ns/B"\n'
    machine = hocket.Machine.parse(_TORUS.format(model="links").replace(_SENDER, "") + host)
    call = hocket.Call(ranks=16, size_bytes=1 << 16)
    found = hocket.simulate("reduce_scatter/torus_bucket", call, machine=machine, keep=["critical_path"])
    reductions = [step for step in found.critical_path if step.event.kind == "reduce"]
    for step in reductions:
        taken_s, work_s = step.event.end_s - step.event.start_s, step.event.bytes / 10e9
        assert step.parts_s == pytest.approx({"computation": work_s, "waiting": taken_s - work_s})
    assert max(step.parts_s["waiting"] for step in reductions) > 1e-6


def _size_bytes(algorithm: hocket.Algorithm, size_bytes: int) -> int:
    return 0 if algorithm.collective == "barrier" else size_bytes


@pytest.mark.parametrize("model", _MACHINES)
def test_paths_of_the_whole_catalogue_add_up(model: str) -> None:
    checked = 0
    # Each algorithm is on 5 ranks on every other machine, and on 8 on the rest.
    for turn, algorithm in enumerate(hocket.catalogue(), start=[*_MACHINES].index(model)):
        for ranks in (1, (5, 8)[turn % 2]):
            call = hocket.Call(ranks=ranks, size_bytes=_size_bytes(algorithm, 10_000))
            try:
                found = hocket.simulate(algorithm, call, machine=_MACHINES[model], keep=["critical_path"])
            except hocket.Error:
                continue  # refused
            steps = found.critical_path
            (time_s,) = found.times_s
            parts_s = total(steps)
            assert math.isclose(math.fsum(parts_s.values()), time_s, rel_tol=1e-9), algorithm.label
            assert min(parts_s.values()) >= -1e-9 * time_s, algorithm.label
            assert not steps or steps[0].start_s == 0
            for one, other in pairwise(steps):
                assert (one.end_s, one.event.rank) == (other.start_s, other.from_rank), algorithm.label
            checked += 1
    assert checked > 150


@pytest.mark.parametrize(("model", "half"), [("hockney", 1), ("loggp", 0), ("links", 1), ("packets", 0), ("host", 1)])
def test_paths_with_late_ranks_begin_where_a_rank_arrives(model: str, half: int) -> None:
    arrivals_s = [0.0, 2.9e-6, 0.5e-6, 0.0, 3e-6, 1e-6, 2e-6, 3e-6]
    begun = set()
    # Half of the algorithms, by name, so that further ones leave it as it is: the others are on other machines.
    for algorithm in (one for one in hocket.catalogue() if crc32(one.label.encode()) % 2 == half):
        try:
            call = hocket.Call(ranks=8, size_bytes=_size_bytes(algorithm, 10_000))
            scene = {"machine": _MACHINES[model], "arrivals": arrivals_s}
            found = hocket.simulate(algorithm, call, **scene, keep=["critical_path"])
        except hocket.Error:
            continue  # refused
        steps = found.critical_path
        if not steps:
            continue  # nothing after the last arrival
        assert steps[0].start_s == arrivals_s[steps[0].from_rank], algorithm.label
        assert steps[-1].end_s == pytest.approx(3e-6 + found.times_s[0], rel=1e-9), algorithm.label
        parts_s = total(steps)
        assert math.fsum(parts_s.values()) == pytest.approx(steps[-1].end_s - steps[0].start_s, rel=1e-9)
        assert min(parts_s.values()) >= -1e-9 * steps[-1].end_s, algorithm.label
        begun.add(steps[0].from_rank)
    assert begun >= {0, 4}, "with one rank late, some wait for it, and some for the root"


def test_a_path_begins_at_the_late_rank_if_the_others_wait_for_it() -> None:
    call = hocket.Call(ranks=8, size_bytes=10_000)
    found = hocket.explain("broadcast/binomial", call, arrivals="rank 4, 20 us")
    assert [(step.from_rank, step.event.rank) for step in found.steps] == [(4, 4), (4, 6), (6, 7)]
    assert found.path_s == pytest.approx(found.time_s) == pytest.approx(6e-6)
    assert found.bound is None
    assert all(
        one.time_s
        == hocket.simulate(
            f"broadcast/{one.change}", replace(call, parameters=one.parameters), arrivals="rank 4, 20 us"
        ).times_s[0]
        for one in found.faster
    )
    # The last arrival ends the call: its message has come before.
    last = hocket.explain("broadcast/chain", call, machine=_EAGER, arrivals="rank 7, 1 ms")
    assert (last.steps, last.time_s, last.path_s) == ((), 0.0, 0.0)


def test_what_a_fault_takes_is_a_part() -> None:
    machine, call = _MACHINES["links"], hocket.Call(ranks=2, size_bytes=4_000_000)
    slow = ["link 0 -> 1, 0 us.., 50 %", "link 5 -> 6, 0 us.., 10 %"]
    found = hocket.explain("broadcast/linear", call, machine=machine, faults=slow)
    # 4 MB at 4 GB/s take 1 ms, and at half of that 2 ms.
    assert found.parts_s["fault"] == pytest.approx(1e-3)
    assert found.parts_s["bandwidth"] == pytest.approx(1e-3)
    assert found.parts_s["waiting"] == 0
    times_s = {remedy.change: remedy.time_s for remedy in found.remedies}
    assert times_s["without link 0 -> 1, 0 us.., 50 %"] == pytest.approx(found.time_s - 1e-3)
    assert times_s["without link 5 -> 6, 0 us.., 10 %"] == found.time_s


def test_messages_behind_a_slow_one_wait_for_it() -> None:
    machine, call = _MACHINES["links"], hocket.Call(ranks=3, size_bytes=4_000_000)
    found = hocket.explain("broadcast/linear", call, machine=machine, faults="node 0, 0..0.5 ms, down")
    alone = hocket.explain("broadcast/linear", call, machine=machine)
    assert found.time_s > alone.time_s
    assert math.fsum(found.parts_s.values()) == pytest.approx(found.time_s)
    assert found.parts_s["fault"] + found.parts_s["waiting"] == pytest.approx(
        found.time_s - alone.time_s + alone.parts_s["waiting"]
    )


def test_faults_and_noise_are_told_apart() -> None:
    call = hocket.Call(ranks=8, size_bytes=100_000)
    found = hocket.explain("broadcast/binomial", call, machine=_MACHINES["noise"], faults="node 4, 0 us.., 20 %")
    assert min(found.parts_s["noise"], found.parts_s["fault"]) > 0
    assert math.fsum(found.parts_s.values()) == pytest.approx(found.time_s, rel=1e-9)


def test_a_cadence_is_refused() -> None:
    with pytest.raises(hocket.Error, match="cadence: got several calls, expected none"):
        hocket.explain("allreduce/ring", hocket.Call(ranks=4, size_bytes=8), scene=hocket.Scene(cadence="3 calls"))


def test_parts_of_a_tree_on_a_hockney_machine_are_those_of_its_formula() -> None:
    found = hocket.explain("broadcast/binomial", hocket.Call(ranks=8, size_bytes=10_000))
    # 3 successive messages, each of 1 us and 10 kB at 10 GB/s.
    expected = {part: 3e-6 if part in ("latency", "bandwidth") else 0.0 for part in PARTS}
    assert found.parts_s == pytest.approx(expected, abs=1e-15)
    assert [step.event.rank for step in found.steps] == [4, 6, 7]
    times_s = {remedy.change: remedy.time_s for remedy in found.remedies}
    assert times_s["half the latency"] == times_s["twice the bandwidth"] == pytest.approx(4.5e-6)


def test_messages_that_wait_for_a_port_wait() -> None:
    found = hocket.explain("broadcast/linear", hocket.Call(ranks=3, size_bytes=10_000), machine="loggp-infiniband")
    # The second message of m bytes waits until the interface has sent the first one, for o + (m - 1) G. Of this time, o
    # is the time of the processor for the second message.
    assert found.parts_s["latency"] == pytest.approx(1.2e-6)
    assert found.parts_s["waiting"] > 2e-6


def test_hosts_are_overheads() -> None:
    call = hocket.Call(ranks=2, size_bytes=1)
    found = hocket.explain("broadcast/binomial", call, machine=_MACHINES["host"])
    assert found.parts_s["overhead"] == pytest.approx(2e-6 + 1e-6 + 0.4e-6)
    assert found.parts_s["latency"] == pytest.approx(100e-9)
    twice = hocket.explain("allreduce/reduce_broadcast", call, machine=_MACHINES["host"])
    assert twice.parts_s["overhead"] == pytest.approx(2 * (2e-6 + 1e-6 + 0.4e-6)), "each rank sends to the other once"
    segments = hocket.Call(ranks=2, size_bytes=3, parameters={"segment": 1})
    thrice = hocket.explain("broadcast/chain", segments, machine=_MACHINES["host"])
    assert thrice.parts_s["overhead"] == pytest.approx(2e-6 + 1e-6 + 3 * 0.4e-6), (
        "the other messages are there before the first one"
    )
    (faster,) = [remedy.time_s for remedy in found.remedies if remedy.change == "half the overheads"]
    assert faster == pytest.approx(found.time_s - found.parts_s["overhead"] / 2)


def test_noise_is_a_part() -> None:
    call = hocket.Call(ranks=8, size_bytes=100_000)
    found = hocket.explain("broadcast/binomial", call, machine=_MACHINES["noise"])
    assert found.parts_s["noise"] > 0
    assert math.fsum(found.parts_s.values()) == pytest.approx(found.time_s, rel=1e-9)
    assert {remedy.change for remedy in found.remedies} >= {"no noise", "twice the ports"}


def test_the_call_itself_is_computation() -> None:
    text = hocket.Machine.load("cluster").text + 'call_overhead = "2 us"\n'
    call = hocket.Call(ranks=4, size_bytes=1000)
    found = hocket.explain("broadcast/binomial", call, machine=hocket.Machine.parse(text))
    plain = hocket.explain("broadcast/binomial", call)
    assert found.parts_s["computation"] == pytest.approx(2e-6)
    assert found.time_s == pytest.approx(plain.time_s + 2e-6)
    remedies = {remedy.change: remedy.time_s for remedy in found.remedies}
    assert remedies["computation twice as fast"] == pytest.approx(found.time_s - 1e-6)


def test_faster_algorithms_are_faster() -> None:
    call = hocket.Call(ranks=16, size_bytes=65_536)
    found = hocket.explain("allreduce/ring", call)
    assert found.faster
    for one in found.faster:
        alone = hocket.simulate(f"allreduce/{one.change}", replace(call, parameters=one.parameters))
        assert alone.times_s == (one.time_s,)
        assert one.time_s < found.time_s


def test_a_grid_keeps_the_lists_and_numbers_of_a_machine_whose_noise_it_changes(tmp_path: Path) -> None:
    (tmp_path / "torus.toml").write_text(_MACHINES["links"].text)
    spec = 'ranks = 4\nsizes = "8B"\nmachine = ["torus.toml"]\n[algorithms]\n"allreduce/ring" = {}\n'
    noise = '[noises.quiet.noise.os]\nmodel = "periodic"\nperiod = "1 ms"\nduration = "1 us"\n'
    (tmp_path / "grid.toml").write_text(spec + noise)
    (cell,) = hocket.Grid.load(tmp_path / "grid.toml").cells
    assert cell.setting.machine.quantities["network.dims"] == (4, 4)


def test_variants_change_what_they_say() -> None:
    machine = _MACHINES["noise"]
    assert quiet(machine).quantities == _MACHINES["links"].quantities  # type: ignore[union-attr]
    assert quiet(_MACHINES["links"]) is None
    assert with_more_ports(machine).node["ports"] == "4"  # type: ignore[union-attr]
    less = halve(machine, "bandwidth")
    assert less is not None
    assert less.quantities["network.link_bandwidth_bytes_per_s"] == 8e9
    assert less.quantities["network.dims"] == (4, 4)
    less = halve(_MACHINES["host"], "overhead")
    assert less is not None
    assert less.quantities["host.o_send_s"] == 0.5e-6
    assert less.quantities["host.new_peer_s"] == 1e-6


def test_variants_change_levels_and_cards() -> None:
    level = '[[level]]\nL = ["1 us", "2 us"]\nfrom = ["0 B", "1 KiB"]\no = "1 us"\nshared_bandwidth = "1 GB/s"\n'
    text = 'name = "levels"\n[network]\nmodel = "loggp"\nL = "2 us"\no = "1 us"\nranks_per_node = 2\n'
    machine = hocket.Machine.parse(f'{text}[node.cards]\ncount = 2\nbandwidth = "3 GB/s"\n{level}')
    faster, nearer = halve(machine, "bandwidth"), halve(machine, "latency")
    assert faster is not None
    assert nearer is not None
    assert faster.quantities["level[0].shared_bandwidth_bytes_per_s"] == 2e9
    assert faster.quantities["node.cards.bandwidth_bytes_per_s"] == 6e9
    assert nearer.quantities["level[0].L_s"] == (0.5e-6, 1e-6)


def test_a_loggp_machine_is_the_same_with_its_host_apart() -> None:
    together = _MACHINES["loggp"]
    apart = with_host(together)
    assert set(apart.network) == {"model", "L", "G"}
    assert {*apart.network, *apart.host} == {*together.network}
    assert with_host(apart) is apart
    call = hocket.Call(ranks=8, size_bytes=100_000)
    for algorithm in ("allreduce/ring", "gather/linear", "alltoall/pairwise_exchange"):
        one, other = (hocket.simulate(algorithm, call, machine=each) for each in (together, apart))
        assert one.times_s == other.times_s


@pytest.mark.parametrize("model", ["links", "packets"])
def test_a_software_latency_is_the_host_of_a_sender(model: str) -> None:
    before = _MACHINES[model]
    after = with_host(before)
    assert (after.host, after.node["ports"]) == ({"o_send": "1 us", "o_receive": "0 s"}, "2")
    call = hocket.Call(ranks=8, size_bytes=10_000)
    one, other = (hocket.simulate("broadcast/binomial", call, machine=each) for each in (before, after))
    assert one.times_s == pytest.approx(other.times_s)
    with pytest.raises(hocket.Error, match="machine cluster: got the network model hockney, expected circuits, links"):
        with_host(_MACHINES["hockney"])


def test_circuits_are_refused() -> None:
    text = '[network]\nmodel = "circuits"\ntopology = "crossbar"\nnodes = 4\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
    machine = hocket.Machine.parse('name = "c"\n' + text + 'ports = 1\nreconfiguration = "1 us"\npolicy = "naive"\n')
    with pytest.raises(hocket.Error, match="got the network model circuits, expected hockney"):
        hocket.explain("broadcast/linear", hocket.Call(ranks=4, size_bytes=8), machine=machine)
