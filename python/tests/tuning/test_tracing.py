"""Rules for an application: the calls of its trace that are tuned, and the rules that are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import hocket
from hocket import Call, Machine, Trials
from hocket.traces import Communicator, RankTrace, Trace
from hocket.tuning.choice import Point
from hocket.tuning.simulating import Simulated
from hocket.tuning.tracing import Application, Proposal, TracedTuning, fewest_rules, propose, traced_calls
from tests.trace_programs import Program

SUM: dict[str, Any] = {"op": "MPI_SUM", "commutative": True}
INTS: dict[str, Any] = {"recv_type": "MPI_INT", "recv_type_bytes": 4}
DOUBLES: dict[str, Any] = {"type": "MPI_DOUBLE", "type_bytes": 8}
NOISE = '[noise.network]\nmodel = "gaussian"\nmean = "1 us"\ndeviation = "1 us"\n'
MACHINE = Machine.parse(
    'name = "by hand"\n[network]\nmodel = "hockney"\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
    'protocol = "rendezvous"\n[node]\nports = 1\n'
)
FIXED = Simulated(MACHINE, order_is_fixed=True)


def program(ranks: int) -> Program:
    """Twenty allreduces of 8 MB, one of 8 B, and a broadcast of 800 B from rank 1."""
    found = Program(ranks)
    for rank in range(ranks):
        for _ in range(20):
            found.call(rank, "MPI_Allreduce", comm=0, count=1_000_000, **DOUBLES, **SUM)
        found.call(rank, "MPI_Allreduce", comm=0, count=1, **DOUBLES, **SUM)
        found.call(rank, "MPI_Bcast", comm=0, count=100, root=1, **DOUBLES)
    return found


def trace_of(found: Program) -> Trace:
    for rank in range(found.size):
        found.call(rank, "MPI_Finalize", 0)
    ranks = zip(found.calls, found.communicators, strict=True)
    traces = tuple(RankTrace("host", (0.0, 0.0), tuple(calls), known) for calls, known in ranks)
    return Trace("a program", "an MPI", "2026-01-01T00:00:00Z", traces)


def tuned(application: Application, threshold: float = 0.01) -> TracedTuning:
    before = application.replay([])
    return fewest_rules(propose(traced_calls(application.trace), application, 0.03), application, before, threshold)


def test_calls_are_counted_once_for_all_ranks_as_their_root_tells_them() -> None:
    found = traced_calls(trace_of(program(4)))
    assert [(one.point, one.calls, one.example.root) for one in found] == [
        (Point("allreduce", 4, 8), 1, 0),
        (Point("allreduce", 4, 8_000_000), 20, 0),
        (Point("broadcast", 4, 800), 1, 1),
    ]
    assert found[0].example == Call(ranks=4, size_bytes=8, element_bytes=8)


@pytest.mark.parametrize(
    ("function", "arguments", "collective", "size_bytes"),
    [
        ("MPI_Barrier", {}, "barrier", 0),
        ("MPI_Reduce_scatter_block", {"count": 5, **DOUBLES, **SUM}, "reduce_scatter", 2 * 40),
        ("MPI_Reduce_scatter", {"counts": [5, 6], **DOUBLES, **SUM}, "reduce_scatter", 88),
        (
            "MPI_Iallgather",
            {"request": 0, "recv_count": 3, **INTS},
            "allgather",
            12,
        ),
        ("MPI_Allgatherv", {"recv_counts": [3, 9], **INTS}, "allgather", 12),
    ],
)
def test_sizes_are_those_of_rules(function: str, arguments: dict[str, Any], collective: str, size_bytes: int) -> None:
    found = Program(2)
    for rank in range(2):
        found.call(rank, function, comm=0, **arguments)
    (one,) = traced_calls(trace_of(found))
    assert (one.point, one.is_started) == (Point(collective, 2, size_bytes), function == "MPI_Iallgather")


def test_the_root_tells_the_size() -> None:
    found = Program(2)
    found.call(0, "MPI_Gather", comm=0, root=1, count=3, **DOUBLES)
    found.call(1, "MPI_Gather", comm=0, root=1, in_place=True, recv_count=6, **INTS)
    (one,) = traced_calls(trace_of(found))
    assert (one.point, one.example.element_bytes) == (Point("gather", 2, 24), 4)


def test_the_rule_that_matters_is_left() -> None:
    application = Application(
        trace_of(program(8)), Simulated(MACHINE), "allreduce: reduce_broadcast\nbroadcast: linear"
    )
    found = tuned(application)
    kept = [one for one in found.effects if one.is_kept]
    assert [one.proposal.calls for one in kept] == [21]
    assert found.rules.startswith("allreduce[ranks=8, size=")
    assert len(found.effects) > 1
    # The report agrees with replays, and the rule has the whole gain.
    again = application.replay(found.rules.splitlines()).time_s.mean
    assert found.few_rules.time_s.mean == again
    assert kept[0].gain.mean_s == pytest.approx(found.baseline.time_s.mean - again)
    assert again - found.all_rules.time_s.mean <= 0.01 * (found.baseline.time_s.mean - found.all_rules.time_s.mean)


def test_without_a_threshold_nothing_that_gains_is_dropped() -> None:
    application = Application(trace_of(program(8)), Simulated(MACHINE), "allreduce: reduce_broadcast")
    found = tuned(application, threshold=0.0)
    assert found.few_rules.time_s.mean == pytest.approx(found.all_rules.time_s.mean, rel=1e-12)
    assert tuned(application, threshold=1.0).rules == ""


def test_rules_that_lose_are_dropped_all() -> None:
    application = Application(trace_of(program(8)), Simulated(MACHINE))
    worse = [Proposal("allreduce[size=1MiB..]: reduce_broadcast", 20), Proposal("broadcast: linear", 1)]
    found = fewest_rules(worse, application, application.replay([]), 0.01)
    assert (found.rules, found.few_rules, found.gain.mean_s) == ("", found.baseline, 0.0)
    assert [one.is_kept for one in found.effects] == [False, False]


def test_nonblocking_calls_get_rules_of_their_own() -> None:
    application = Application(_started(8), Simulated(MACHINE), "iallreduce: reduce_broadcast")
    found = tuned(application)
    assert found.rules.startswith("iallreduce[ranks=8, size=8000000]: ")
    assert found.gain.mean_s > 0


def test_with_a_fixed_order_the_rules_of_a_reduction_stand_or_fall_together() -> None:
    found = program(8)
    for rank in range(8):
        found.call(rank, "MPI_Iallreduce", comm=0, request=0, count=100_000, **DOUBLES, **SUM)
        found.call(rank, "MPI_Wait", requests=[0], got=[None])
    application = Application(trace_of(found), FIXED, "allreduce: reduce_broadcast")
    kept = tuned(application)
    (of_allreduce,) = [one for one in kept.effects if one.is_kept]
    assert of_allreduce.proposal.calls == 22 and of_allreduce.proposal.rule.count("\n") == 1
    written = application.complete(kept.rules)
    orders = set()
    for size in (8, 800_000, 8_000_000):
        chosen = hocket.choose(written, "allreduce", Call(ranks=8, size_bytes=size, element_bytes=8))
        assert chosen is not None
        orders.add(chosen[0].order)
    assert len(orders) == 1 and None not in orders
    assert hocket.replay(application.trace, MACHINE, rules=written).time_s.mean == kept.few_rules.time_s.mean


def test_a_baseline_must_have_a_fixed_order_too() -> None:
    application = Application(trace_of(program(8)), FIXED, "allreduce: ring")
    with pytest.raises(hocket.Error, match=r"^baseline:1: allreduce: the order of ring depends on the element"):
        application.replay([])
    own = "allreduce: bine\niallreduce: bine"
    assert tuned(replace(application, baseline=own)).rules == ""  # others would need rules for both forms


def _started(ranks: int) -> Trace:
    found = Program(ranks)
    for rank in range(ranks):
        found.call(rank, "MPI_Iallreduce", comm=0, request=0, count=1_000_000, **DOUBLES, **SUM)
        found.call(rank, "MPI_Wait", requests=[0], got=[None])
    return trace_of(found)


def test_an_operator_that_does_not_commute_gets_what_takes_it() -> None:
    found = Program(8)
    for rank in range(8):
        found.call(rank, "MPI_Allreduce", comm=0, count=1_000_000, **DOUBLES, op="mine", commutative=False)
    application = Application(trace_of(found), Simulated(MACHINE), "allreduce: reduce_broadcast")
    (one,) = traced_calls(application.trace)
    assert not one.example.commutative
    rules = tuned(application).rules
    chosen = hocket.choose(rules, "allreduce", one.example)
    assert chosen is not None
    ran = application.replay(rules.splitlines()).algorithms
    assert [use.algorithm for use in ran] == [chosen[0].name]


def test_communicators_have_points_of_their_own() -> None:
    found = program(4)
    half = Communicator((1, 3))
    for rank in half.ranks:
        found.communicators[rank][2] = half
        found.call(rank, "MPI_Bcast", comm=2, count=100, root=1, **DOUBLES)
    assert Point("broadcast", 2, 800) in [one.point for one in traced_calls(trace_of(found))]


def test_noise_gives_gains_an_interval_and_the_same_seed_the_same() -> None:
    noisy = Machine.parse(MACHINE.text + NOISE)
    application = Application(trace_of(program(4)), Simulated(noisy, Trials(5, 3)), "allreduce: reduce_broadcast")
    found = tuned(application)
    assert found.gain.low_s < found.gain.mean_s < found.gain.high_s
    assert found.as_dict() == tuned(application).as_dict()
    other = replace(application, settings=Simulated(noisy, Trials(5, 4)))
    assert found.gain != tuned(other).gain
