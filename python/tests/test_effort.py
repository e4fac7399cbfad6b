"""Predicted times of work, compared with the work that is done."""

import pytest

import hocket
from hocket import Call
from hocket.definitions.calls import algorithms_for
from hocket.definitions.library import catalogue
from hocket.simulating.effort import recording_s, simulation_s
from hocket.simulating.simulation import Engine
from hocket.typing import Rank, Steps

PACKETS = """
name = "packets"
[network]
model = "packets"
topology = "torus"
dims = [4, 4]
packet = "1 KiB"
link_bandwidth = "4 GB/s"
link_latency = "100 ns"
[node]
software_latency = "1 us"
reduce_bandwidth = "10 GB/s"
"""
MACHINE = hocket.Machine.parse(PACKETS, "packets.toml")
MESSAGE_S, PACKET_S = 2.5e-6, 2e-7


def test_messages_and_packets_of_all_algorithms_are_about_those_of_the_simulation() -> None:
    """Also of algorithms for the switch of a node: elsewhere their messages cost what others do."""
    compared = 0
    through_switches = [algorithm for algorithm in catalogue() if algorithm.topology == "switch"]
    for algorithm in (*algorithms_for(MACHINE, catalogue()), *through_switches):
        call = hocket.Call(ranks=16, size_bytes=0 if algorithm.collective == "barrier" else 1 << 16)
        try:
            found = hocket.simulate(algorithm, call, machine=MACHINE)
        except hocket.Error:
            continue
        exact_s = found.messages * MESSAGE_S + found.message_bytes / 1024 * PACKET_S
        ratio = simulation_s(algorithm, call, machine=MACHINE) / exact_s
        assert 0.7 < ratio < 6, f"{algorithm.label}: {ratio}"
        compared += 1
    assert compared > 90


def test_long_pipelines_are_estimated_from_their_first_steps() -> None:
    def effort_s(size_bytes: int) -> float:
        call = hocket.Call(ranks=8, size_bytes=size_bytes, parameters={"segment": 64})
        return simulation_s(hocket.find("allreduce/dual_root"), call, machine=hocket.Machine.load("cluster"))

    assert effort_s(1 << 30) == pytest.approx(effort_s(1 << 20) * 1024, rel=0.04)


def test_trials_are_counted_where_there_is_noise() -> None:
    call = hocket.Call(ranks=1024, size_bytes=8)
    noisy, quiet = hocket.Machine.load("jitter-paper"), hocket.Machine.load("cluster")
    ring = hocket.find("allreduce/ring")

    def effort_s(machine: hocket.Machine, count: int) -> float:
        return simulation_s(ring, call, machine=machine, trials=hocket.Trials(count, threads=1))

    messages = 2 * 1024 * 1023
    begun_s, worked_s = 1024 * 1e-7, 1024 * (1 + 1023) * 3e-8
    assert effort_s(quiet, 1) == effort_s(quiet, 1000) == pytest.approx(messages * 1.4e-7 + begun_s + worked_s)
    assert effort_s(noisy, 1000) - effort_s(noisy, 1) == pytest.approx(messages * 3e-9 * 999)


def test_copies_count_as_far_as_they_take_time() -> None:
    """A rank has few messages here, but copies each block twice."""
    sparbit, ranks = hocket.find("allgather/sparbit"), 512
    call = hocket.Call(ranks=ranks, size_bytes=1024)
    copying, other = hocket.Machine.load("fugaku"), hocket.Machine.load("k_computer")
    for machine, copy_s in ((copying, 2e-7), (other, 3e-8)):
        expected_s = ranks * (9 * MESSAGE_S + 1e-7 + (2 * (ranks - 1) + 1) * copy_s)
        assert simulation_s(sparbit, call, machine=machine) == pytest.approx(expected_s)


def test_messages_are_events_where_a_rank_has_several_at_a_time() -> None:
    linear = hocket.find("alltoall/linear")
    cluster, loggp = hocket.Machine.load("cluster"), hocket.Machine.load("loggp-infiniband")

    def effort_s(machine: hocket.Machine, engine: Engine = "auto", **parameters: str) -> float:
        call = hocket.Call(ranks=200, size_bytes=1600, parameters=parameters)
        return simulation_s(linear, call, machine=machine, engine=engine)

    by_events_s = effort_s(cluster, "events")
    assert by_events_s > 4 * effort_s(cluster, "dataflow")
    assert effort_s(cluster, sends="together") == effort_s(loggp) == by_events_s


def test_one_rank_stands_for_all_where_they_do_the_same() -> None:
    ring, cluster = hocket.find("allreduce/ring"), hocket.Machine.load("cluster")
    equal, other = (hocket.Call(ranks=200, size_bytes=size_bytes) for size_bytes in (1600, 1604))
    assert 100 * simulation_s(ring, equal, machine=cluster) < simulation_s(ring, other, machine=cluster)


def test_a_rank_of_a_tree_costs_about_as_much_as_its_message() -> None:
    """2^24 ranks take 2.4 s to 5 s."""
    call = hocket.Call(ranks=1 << 24, size_bytes=8)
    time_s = simulation_s(hocket.find("broadcast/binomial"), call, machine=hocket.Machine.load("cluster"))
    assert 5 / 3 < time_s < 2.4 * 3


def test_what_is_not_known_takes_nothing() -> None:
    @hocket.algorithm("allreduce")
    def own(r: Rank, c: Call) -> Steps:
        """Does nothing."""
        yield r.compute(0.0)

    call = hocket.Call(ranks=4, size_bytes=8)
    assert simulation_s(own, call, machine=MACHINE) == recording_s(own, call) == 0.0
    assert simulation_s(hocket.find("allreduce/swing_torus"), call, machine=MACHINE) == 0.0
    assert recording_s(hocket.find("allreduce/ring"), call) == pytest.approx(24 * 5e-7)
