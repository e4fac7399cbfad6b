"""Replays, compared with times computed by hand and with simulations of single calls."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket
from hocket import Machine, Replay, Trials
from hocket.traces import Communicator, RankTrace, Trace, write
from tests.conftest import Ran
from tests.trace_programs import Program, traces

US = 1000  # ns
DOUBLES = {"type": "MPI_DOUBLE", "type_bytes": 8}
BYTES = {"type": "MPI_BYTE", "type_bytes": 1}
SUM = {"op": "MPI_SUM", "commutative": True}


def hockney(protocol: str = "rendezvous", noise: str = "", overhead: str = "") -> Machine:
    """A machine with 1 us, 1 ns per byte, 1 ns per reduced byte; messages do not wait for ports."""
    return Machine.parse(
        f'name = "by hand"\n[network]\nmodel = "hockney"\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
        f'protocol = "{protocol}"\n{overhead}[node]\nports = "unlimited"\nreduce_bandwidth = "1 GB/s"\n{noise}'
    )


def message(peer: int, size_bytes: int, tag: int = 0) -> dict[str, Any]:
    return {"comm": 0, "peer": peer, "tag": tag, "count": size_bytes, **BYTES}


def use(found: Replay, function: str) -> tuple[int, float, float]:
    """Calls, time and waiting of a function, in microseconds."""
    one = next(use for use in found.functions if use.function == function)
    return one.calls, pytest.approx(one.time_s * 1e6), pytest.approx(one.waiting_s * 1e6)


def ends_us(found: Replay) -> list[float]:
    return [pytest.approx(rank.time_s * 1e6) for rank in found.rank_uses]


def ping_pong() -> Program:
    """Rank 0 computes 10 us, sends 1000 B and receives them; rank 1 computes 5 us before and 3 us in between."""
    program = Program(2)
    program.call(0, "MPI_Send", 10 * US, **message(1, 1000))
    program.call(0, "MPI_Recv", 0, **message(1, 1000), got=[1, 0, 1000])
    program.call(1, "MPI_Recv", 5 * US, **message(-1, 1000), got=[0, 0, 1000])
    program.call(1, "MPI_Send", 3 * US, **message(0, 1000))
    return program


def finished(program: Program) -> Trace:
    """The trace, without computing before MPI_Finalize."""
    for rank in range(program.size):
        program.call(rank, "MPI_Finalize", 0)
    ranks = zip(program.calls, program.communicators, strict=True)
    traces = (RankTrace("host", (0.0, 0.0), tuple(calls), known) for calls, known in ranks)
    return Trace("a program", "an MPI", "2026-01-01T00:00:00Z", tuple(traces))


def test_a_ping_pong_takes_what_it_takes() -> None:
    # A message takes 1 us + 1000 B * 1 ns/B = 2 us from when both ranks are there. Rank 0 sends from 10 to 12 us; rank
    # 1 waits from 5 to 10 for it. Rank 1 sends from 15 to 17 us; rank 0 waits from 12 to 15.
    found = hocket.replay(finished(ping_pong()), hockney())
    assert ends_us(found) == [17.0, 17.0]
    assert use(found, "MPI_Send") == (2, 4.0, 0.0)
    assert use(found, "MPI_Recv") == (2, 7.0 + 5.0, 5.0 + 3.0)
    assert (found.messages, found.message_bytes) == (2, 2000)
    assert (found.waiting_share, found.mpi_share) == (pytest.approx(8 / 34), pytest.approx(16 / 34))


def test_computing_is_scaled() -> None:
    # As above with 5, 2.5 and 1.5 us: 5 + 2 + 1.5 + 2.
    assert ends_us(hocket.replay(finished(ping_pong()), hockney(), scale_compute=0.5)) == [10.5, 10.5]
    assert ends_us(hocket.replay(finished(ping_pong()), hockney(), scale_compute=0)) == [4.0, 4.0]


def stencil(side: int, steps: int) -> Program:
    """Halos of 1000 B with the neighbours on a torus, 20 us of computing, and an allreduce of 8 B."""
    program = Program(side * side)
    for _ in range(steps):
        for rank in range(side * side):
            x, y = rank % side, rank // side
            peers = [y * side + (x + d) % side for d in (1, -1)] + [(y + d) % side * side + x for d in (1, -1)]
            receives = [program.request(rank) for _ in peers]
            for number, (peer, tag) in enumerate(zip(peers, (1, 0, 3, 2), strict=True)):
                program.call(rank, "MPI_Irecv", 0, **message(peer, 1000, tag), request=receives[number])
            sends = [program.request(rank) for _ in peers]
            for number, (peer, tag) in enumerate(zip(peers, (0, 1, 2, 3), strict=True)):
                program.call(rank, "MPI_Isend", 0, **message(peer, 1000, tag), request=sends[number])
            got: list[Any] = [[peer, tag, 1000] for peer, tag in zip(peers, (1, 0, 3, 2), strict=True)]
            gap = (20 + rank) * US
            program.call(rank, "MPI_Waitall", gap, requests=[*receives, *sends], got=[*got, *([None] * 4)])
            program.call(rank, "MPI_Allreduce", 0, comm=0, count=1, **DOUBLES, **SUM)
    return program


def test_a_stencil_takes_what_it_takes() -> None:
    # Halos of 2 us overlap with 20 + r us of computing on rank r, so that MPI_Waitall takes no time. Ranks 0 and 1
    # exchange at 21 us, 2 and 3 at 23; then all at 23 + 1.016: an exchange of 8 B takes 1.008 us, adding 0.008 us.
    found = hocket.replay(finished(stencil(2, 1)), hockney(), rules="allreduce: recursive_doubling")
    assert use(found, "MPI_Waitall") == (4, 0.0, 0.0)
    assert ends_us(found) == [23 + 2 * 1.016] * 4
    # Rank r waits from 20 + r us until the last rank is there at 23 us.
    assert use(found, "MPI_Allreduce") == (4, sum(23 + 2 * 1.016 - 20 - rank for rank in range(4)), 3.0 + 2.0 + 1.0)


def test_communicators_have_ranks_of_their_own_in_their_own_order() -> None:
    # The communicator has the ranks 3 and 1 in this order; rank 3 is the root. The 1000 B take 2 us, adding them 1 us.
    program = Program(4)
    program.split(True)
    for rank in (1, 3):
        comm = program.groups[1][1][rank]
        program.call(rank, "MPI_Reduce", 0, comm=comm, root=0, count=1000, **BYTES, **SUM)
    found = hocket.replay(finished(program), hockney(), scale_compute=0)
    assert ends_us(found) == [0.0, 2.0, 0.0, 3.0]


def test_started_collectives_run_beside_each_other_and_what_is_computed() -> None:
    # A barrier of all ranks by dissemination takes two rounds of 1 us. Two allreduces of each half take an exchange of
    # 2 us and 1 us of adding. They do not disturb each other. Rank 1 starts 2 us later; all others wait for it.
    program = Program(4)
    for odd in (False, True):
        program.split(odd)
    for rank in range(4):
        comm = program.groups[1 + rank % 2][1][rank]
        requests = [program.request(rank) for _ in range(3)]
        gap = 2 * US if rank == 1 else 0
        program.call(rank, "MPI_Ibarrier", gap, comm=0, request=requests[0])
        for request in requests[1:]:
            sums = {"count": 1000, **BYTES, **SUM}
            program.call(rank, "MPI_Iallreduce", 0, comm=comm, request=request, **sums)
        program.call(rank, "MPI_Waitall", 0, requests=requests[::-1], got=[None] * 3)
    found = hocket.replay(finished(program), hockney())
    # Computing before the two splits takes 5 ns each. Rank 1 joins the barrier at 2 us; its neighbours leave the first
    # round at 3 us, all leave the second at 4. The allreduces of ranks 0 and 2 end at 3 us, the others at 2 + 3.
    assert ends_us(found) == [4.01, 5.01, 4.01, 5.01]
    assert use(found, "MPI_Waitall") == (4, 4.0 + 3.0 + 4.0 + 5.0, 2.0 + 0.0 + 2.0 + 2.0)


def test_started_collectives_share_circuits_that_programs_open_ahead() -> None:
    program = Program(2)
    sums = {"comm": 0, "count": 1000, **BYTES, **SUM}
    both = [program.request(0) for _ in range(2)]
    for request in both:
        program.call(0, "MPI_Iallreduce", 0, request=request, **sums)
    program.call(0, "MPI_Waitall", 0, requests=both, got=[None] * 2)
    for gap in (0, 50_000 * US):
        request = program.request(1)
        program.call(1, "MPI_Iallreduce", gap, request=request, **sums)
        program.call(1, "MPI_Waitall", 0, requests=[request], got=[None])
    network = 'model = "circuits"\ntopology = "crossbar"\nnodes = 2\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
    keys = 'ports = 1\npolicy = "ahead"\nreconfiguration = "10 ms"\n'
    found = hocket.replay(finished(program), Machine.parse(f'name = "optical"\n[network]\n{network}{keys}'))
    assert found.circuits is not None and found.circuits.set_ups == 2


def one_message(send: str, protocol: str) -> list[float]:
    """End times of both ranks: a message of 8 B, received 10 us late."""
    program = Program(2)
    program.call(0, send, 0, **message(1, 8))
    program.call(1, "MPI_Recv", 10 * US, **message(0, 8), got=[0, 0, 8])
    return ends_us(hocket.replay(finished(program), hockney(protocol)))


def test_each_send_waits_as_long_as_it_should() -> None:
    assert one_message("MPI_Send", "rendezvous") == [11.008, 11.008]
    assert one_message("MPI_Send", "eager") == [1.008, 10.0]
    assert one_message("MPI_Ssend", "eager") == [11.008, 11.008]
    assert one_message("MPI_Bsend", "rendezvous") == [0.0, 11.008]
    assert one_message("MPI_Rsend", "eager") == [1.008, 10.0]


def test_messages_and_computing_overlap_where_they_are_started() -> None:
    # The message takes 2 us, computing 5 us; the wait of the receiver takes no time, the wait of the sender 2 us.
    program = Program(2)
    for rank, name in enumerate(("MPI_Isend", "MPI_Irecv")):
        program.call(rank, name, 0, **message(1 - rank, 1000), request=program.request(rank))
    program.call(0, "MPI_Wait", 0, requests=[0], got=[None])
    program.call(1, "MPI_Testany", 5 * US, requests=[0], got=[[0, 0, 1000]])
    assert ends_us(hocket.replay(finished(program), hockney())) == [2.0, 5.0]


def test_looks_that_find_nothing_take_no_time_and_what_is_between_them_is_idle() -> None:
    # 5 us before the first look and 2 us after the last one count; the message takes 2 us meanwhile.
    program = Program(2)
    program.call(0, "MPI_Irecv", 0, **message(1, 1000), request=program.request(0))
    for name in ("MPI_Iprobe", "MPI_Test", "MPI_Iprobe"):
        program.call(0, name, 5 * US, tries=3)
    program.call(0, "MPI_Wait", 2 * US, requests=[0], got=[[1, 0, 1000]])
    program.call(1, "MPI_Send", 0, **message(0, 1000))
    assert ends_us(hocket.replay(finished(program), hockney())) == [7.0, 2.0]


def test_persistent_requests_are_started_again_and_again() -> None:
    program = Program(2)
    for rank, name in enumerate(("MPI_Ssend_init", "MPI_Recv_init")):
        program.call(rank, name, 0, **message(1 - rank, 1000), request=program.request(rank))
        for _ in range(3):
            program.call(rank, "MPI_Start", 0, requests=[0])
            program.call(rank, "MPI_Waitall", 0, requests=[0], got=[[0, 0, 1000] if rank else None])
        program.call(rank, "MPI_Request_free", 0, requests=[0])
    found = hocket.replay(finished(program), hockney("eager"))
    assert ends_us(found) == [6.0, 6.0] and found.messages == 3


def test_a_probe_waits_for_the_message_and_its_receive_does_not() -> None:
    # The message leaves at 5 us and arrives at 7; its receive follows after 3 us of computing. Vain looks take no time.
    for looks in (False, True):
        for probe, receive in (("MPI_Probe", "MPI_Recv"), ("MPI_Improbe", "MPI_Mrecv")):
            program = Program(2)
            program.call(0, "MPI_Send", 5 * US, **message(1, 1000))
            if looks:
                program.call(1, "MPI_Improbe", 0, tries=4000)
            program.call(1, probe, 0, comm=0, peer=-1, tag=-1, got=[0, 0, 1000])
            program.call(1, receive, 3 * US, **message(0, 1000), got=[0, 0, 1000])
            found = hocket.replay(finished(program), hockney("eager"))
            assert ends_us(found) == [7.0, 10.0]
            assert (use(found, probe)[1], use(found, receive)[1]) == (7.0, 0.0)


def test_what_nobody_takes_keeps_nobody_waiting() -> None:
    program = Program(2)
    program.call(0, "MPI_Send", 0, **message(1, 1000))
    program.call(0, "MPI_Sendrecv", 0, **message(-2, 8), **recv(-2, 8), got=[-2, -1, 0])
    program.call(1, "MPI_Irecv", 0, **message(-1, 1000), request=program.request(1))
    program.call(1, "MPI_Cancel", 0, requests=[0])
    program.call(1, "MPI_Wait", 0, requests=[0], got=[None])
    program.call(1, "MPI_Isend", 0, **message(-2, 1000), request=program.request(1))
    program.call(1, "MPI_Waitsome", 0, requests=[1], got=[None])
    assert ends_us(hocket.replay(finished(program), hockney())) == [0.0, 0.0]


def recv(peer: int, size_bytes: int, tag: int = 0) -> dict[str, Any]:
    return {"recv_peer": peer, "recv_tag": tag, "recv_count": size_bytes, "recv_type": "MPI_BYTE", "recv_type_bytes": 1}


def test_a_sendrecv_does_both_at_a_time() -> None:
    program = Program(3)
    for rank in range(3):
        to, source = (rank + 1) % 3, (rank - 1) % 3
        both = {**message(to, 1000), **recv(source, 1000)}
        program.call(rank, "MPI_Sendrecv", rank * US, **both, got=[source, 0, 1000])
    # Rank r starts at r us. A message takes 2 us from when both its ranks are there, so that all end at 2 + 2 us.
    assert ends_us(hocket.replay(finished(program), hockney())) == [4.0, 4.0, 4.0]


def exchange_of_blocks(program: Program, name: str, **more: Any) -> None:
    """Rank r sends r + s + 1 kB to rank s."""
    for rank in range(program.size):
        counts = [1000 * (rank + other + 1) for other in range(program.size)]
        received = {"recv_counts": counts, "recv_type": "MPI_BYTE", "recv_type_bytes": 1}
        program.call(rank, name, 0, comm=0, **received, **(more or {"counts": counts, **BYTES}))


@pytest.mark.parametrize("more", [{}, {"in_place": True}])
@pytest.mark.parametrize("name", ["MPI_Alltoallv", "MPI_Alltoallw"])
def test_blocks_of_different_sizes_go_from_pair_to_pair(name: str, more: dict[str, Any]) -> None:
    program = Program(3)
    exchange_of_blocks(program, name, **more)
    # Step 1: 0 to 1 is 2000 B, 1 to 2 is 4000 B, 2 to 0 is 3000 B, in 3, 5 and 4 us. A rank goes on when both its
    # messages are done: at 4, 5 and 5 us. Step 2, from 5 us: 0 to 2 is 3000 B, 1 to 0 is 2000 B, 2 to 1 is 4000 B.
    found = hocket.replay(finished(program), hockney(), scale_compute=0)
    assert ends_us(found) == [9.0, 10.0, 10.0]
    assert [(use.collective, use.algorithm) for use in found.algorithms] == [("alltoallv", "pairwise_exchange")]


NAMES = {
    "allgather": "MPI_Allgather",
    "allreduce": "MPI_Allreduce",
    "alltoall": "MPI_Alltoall",
    "alltoallv": "MPI_Alltoallv",
    "barrier": "MPI_Barrier",
    "broadcast": "MPI_Bcast",
    "gather": "MPI_Gather",
    "gatherv": "MPI_Gatherv",
    "reduce": "MPI_Reduce",
    "reduce_scatter": "MPI_Reduce_scatter_block",
    "exscan": "MPI_Exscan",
    "scan": "MPI_Scan",
    "scatter": "MPI_Scatter",
    "scatterv": "MPI_Scatterv",
}


ROOTED = ("broadcast", "gather", "gatherv", "reduce", "scatter", "scatterv")


def one_collective(collective: str, ranks: int, count: int, root: int = 0, commutative: bool = True) -> Trace:
    """Every rank calls it at once. A block, or the vector if there are no blocks, has `count` elements of 8 bytes."""
    program = Program(ranks)
    sent, received = {"count": count, **DOUBLES}, {"recv_count": count, "recv_type": "MPI_DOUBLE", "recv_type_bytes": 8}
    arguments: dict[str, Any] = {"comm": 0}
    if collective in ("alltoallv", "scatterv"):
        sent = {"counts": [count] * ranks, **DOUBLES}
    if collective in ("alltoallv", "gatherv"):
        received = {**received, "recv_counts": [count] * ranks}
    if collective in ("allgather", "alltoall"):
        arguments |= received
    elif collective != "barrier":
        arguments |= sent
    if collective in ("allreduce", "exscan", "reduce", "reduce_scatter", "scan"):
        arguments |= {"op": "user", "commutative": commutative}
    if collective in ROOTED:
        arguments["root"] = root
    if collective in ("alltoallv", "gather", "gatherv", "scatter", "scatterv"):
        arguments |= received
    for rank in range(ranks):
        program.call(rank, NAMES[collective], 0, **arguments)
    return finished(program)


NETWORKS = {
    "hockney": '[network]\nmodel = "hockney"\nlatency = "1 us"\nbandwidth = "1 GB/s"',
    "loggp": '[network]\nmodel = "loggp"\nL = "2 us"\no = "0.7 us"\ng = "1.1 us"\nG = "0.3 ns/B"\nO = "0.1 ns/B"',
}
NETWORKS["two levels"] = (
    f'{NETWORKS["hockney"]}\nranks_per_node = 3\nlocal.latency = "0.2 us"\nlocal.bandwidth = "5 GB/s"'
)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(
    "algorithm", [a for a in hocket.catalogue() if a.collective in NAMES], ids=lambda algorithm: algorithm.label
)
def test_a_replayed_collective_takes_as_long_as_a_simulated_one(algorithm: hocket.Algorithm, network: str) -> None:
    machine = Machine.parse(f'name = "any"\n{NETWORKS[network]}\n[node]\nreduce_bandwidth = "3 GB/s"\n')
    for ranks, root in ((1, 0), (4, 3), (6, 1), (8, 0)):
        collective = algorithm.collective
        root = root if collective in ROOTED else 0
        total = 8 * 13 * (ranks if collective == "reduce_scatter" else 1)
        size_bytes = 0 if collective == "barrier" else total
        call = hocket.Call(ranks=ranks, size_bytes=size_bytes, element_bytes=8, root=root)
        try:
            simulated = hocket.simulate(algorithm, call, machine=machine)
        except hocket.Error as error:
            assert "needs" in str(error)
            continue
        trace = one_collective(collective, ranks, 13, root)
        found = hocket.replay(trace, machine, rules=f"{collective}: {algorithm.name}")
        assert [use.algorithm for use in found.algorithms] == [algorithm.name]
        assert found.time_s.mean == pytest.approx(simulated.time_s.mean, rel=1e-12), (ranks, root)
        assert (found.messages, found.message_bytes) == (simulated.messages, simulated.message_bytes)


@given(st.sampled_from(sorted(NAMES)), st.integers(1, 9), st.integers(0, 10**6), st.integers(0, 8), st.booleans())
def test_there_is_a_default_rule_for_any_call(
    collective: str, ranks: int, count: int, root: int, commutative: bool
) -> None:
    found = hocket.replay(one_collective(collective, ranks, count, root % ranks, commutative), hockney())
    assert [use.collective for use in found.algorithms] == [collective]


def test_started_collectives_have_rules_of_their_own() -> None:
    program = Program(2)
    for rank in range(2):
        program.call(rank, "MPI_Iallreduce", 0, comm=0, count=1, **DOUBLES, **SUM, request=program.request(rank))
        program.call(rank, "MPI_Wait", 0, requests=[0], got=[None])
        program.call(rank, "MPI_Allreduce", 0, comm=0, count=1, **DOUBLES, **SUM)
    found = hocket.replay(finished(program), hockney(), rules="iallreduce: ring\nallreduce: linear")
    assert [(use.algorithm, use.calls) for use in found.algorithms] == [("linear", 1), ("ring", 1)]
    found = hocket.replay(finished(program), hockney(), rules="allreduce: native\nallreduce: ring")
    assert [(use.algorithm, use.calls) for use in found.algorithms] == [("recursive_doubling", 2)]


def test_automatic_values_of_rules_are_those_for_the_machine_of_the_replay() -> None:
    rules = "allreduce: redundant_butterfly, T={}"
    noisy = hockney(noise='[noise.network]\nmodel = "poisson"\ninterval = "1 ms"\nduration = "1 us"\n')
    of = {t: hocket.replay(finished(stencil(2, 1)), noisy, rules=rules.format(t)).messages for t in ("auto", 0, 2)}
    assert of["auto"] == of[2] != of[0]  # copies are free for their senders
    gaussian = hockney(noise='[noise.network]\nmodel = "gaussian"\nmean = "1 us"\ndeviation = "1 us"\n')
    line = "^rules:1: T=auto: machine by hand has the network noise model gaussian, expected poisson$"
    with pytest.raises(hocket.Error, match=line):
        hocket.replay(finished(stencil(2, 1)), gaussian, rules=rules.format("auto"))


EAGER = hockney("eager")


@given(traces())
def test_any_trace_is_replayed_the_same_again(trace: Trace) -> None:
    found = hocket.replay(trace, EAGER)
    assert hocket.replay(trace, EAGER) == found
    assert all(0 <= function.waiting_s <= function.time_s for function in found.functions)
    for rank, spent in zip(trace.ranks, found.rank_uses, strict=True):
        # Between two successive vain looks the program waits.
        computing_s = sum(
            later.start_s - call.end_s
            for call, later in pairwise(rank.calls)
            if not ("tries" in call.arguments and "tries" in later.arguments)
        )
        assert spent.time_s - spent.mpi_s == pytest.approx(computing_s, abs=1e-9 * spent.time_s)


MEETING = (
    'name = "meeting"\n[network]\nmodel = "{model}"\ntopology = "torus"\ndims = [2, 2]\nlink_bandwidth = "1 GB/s"\n'
    'link_latency = "1 us"\n{keys}[node]\nsoftware_latency = "1 us"\n{noise}'
)


def test_messages_meet_where_the_machine_has_links() -> None:
    # Ranks 0 and 1 send to rank 3 at once. The route from rank 0 passes the node of rank 1, whose link carries both
    # messages one after the other. A message has 1 us of software, two links and 10 us of data; rank 1 uses the link 1
    # us earlier.
    program = Program(4)
    for rank in (0, 1):
        program.call(rank, "MPI_Isend", 0, **message(3, 10000, rank), request=program.request(rank))
    receives = [program.request(3) for _ in range(2)]
    for source in (0, 1):
        program.call(3, "MPI_Irecv", 0, **message(source, 10000, source), request=receives[source])
    program.call(3, "MPI_Waitall", 0, requests=receives, got=[[0, 0, 10000], [1, 1, 10000]])
    machine = Machine.parse(MEETING.format(model="links", keys='sharing = "queue"\n', noise=""))
    found = hocket.replay(finished(program), machine)
    alone = one_way(machine)
    assert found.links is not None and found.links.contended_links == 1
    assert max(rank.time_s for rank in found.rank_uses) > alone + 8e-6


@pytest.mark.parametrize("model", ["links", "packets"])
def test_buffered_sends_do_not_wait_for_each_other_where_messages_meet(model: str) -> None:
    # Both ranks go on at once and receive: 1 us of software, 1 us of link, 1000 B at 1 ns each.
    program = Program(2)
    for rank in (0, 1):
        program.call(rank, "MPI_Bsend", 0, **message(1 - rank, 1000))
        program.call(rank, "MPI_Recv", 0, **message(1 - rank, 1000), got=[1 - rank, 0, 1000])
    machine = Machine.parse(MEETING.format(model=model, keys='protocol = "rendezvous"\n', noise=""))
    assert ends_us(hocket.replay(finished(program), machine)) == [3.0, 3.0]


@pytest.mark.parametrize("model", ["links", "packets"])
def test_hosts_are_those_of_the_machine_and_peers_are_new_once(model: str) -> None:
    # The first message is injected at 1 us and leaves its port 1 us later; the second is injected at 3 us. Each arrives
    # 1 + 1 us after its injection, the first one another 5 us later, and occupies rank 1 for 2 us.
    program = Program(2)
    for _ in range(2):
        program.call(0, "MPI_Send", 0, **message(1, 1000))
        program.call(1, "MPI_Recv", 0, **message(0, 1000), got=[0, 0, 1000])
    text = MEETING.format(model=model, keys="", noise="").replace("software_latency", "reduce_latency")
    machine = Machine.parse(text + '[host]\no_send = "1 us"\no_receive = "2 us"\nnew_peer = "5 us"\n')
    assert ends_us(hocket.replay(finished(program), machine)) == [4.0, 12.0]


def one_way(machine: Machine) -> float:
    """The time of a message from rank 0 to rank 3 alone, in seconds."""
    program = Program(4)
    program.call(0, "MPI_Send", 0, **message(3, 10000))
    program.call(3, "MPI_Recv", 0, **message(0, 10000), got=[0, 0, 10000])
    return hocket.replay(finished(program), machine).time_s.mean


@pytest.mark.parametrize("model", ["links", "packets"])
def test_a_stencil_is_replayed_where_messages_meet(model: str) -> None:
    machine = Machine.parse(MEETING.format(model=model, keys="", noise=""))
    found = hocket.replay(finished(stencil(2, 3)), machine)
    assert found == hocket.replay(finished(stencil(2, 3)), machine)
    # Rank 3 computes 23 us three times; each is followed by an allreduce.
    assert 69e-6 < found.time_s.mean < 120e-6 and found.links is not None


@pytest.mark.parametrize("network", ["hockney", "links"])
def test_noise_delays_computing_by_seed_and_trial(network: str) -> None:
    noise = '[noise.os]\nmodel = "gaussian"\nmean = "1 us"\ndeviation = "0.3 us"\n'
    machine = (
        hockney(noise=noise)
        if network == "hockney"
        else Machine.parse(MEETING.format(model="links", keys="", noise=noise))
    )
    trace = finished(stencil(2, 2))
    quiet = hocket.replay(
        trace, hockney() if network == "hockney" else Machine.parse(MEETING.format(model="links", keys="", noise=""))
    )
    found = hocket.replay(trace, machine, trials=Trials(8, seed=3))
    assert hocket.replay(trace, machine, trials=Trials(8, seed=3)) == found
    assert len(set(found.times_s)) == 8 and min(found.times_s) > quiet.time_s.mean
    assert hocket.replay(trace, machine, trials=Trials(8, seed=4)).times_s != found.times_s
    # Calls and ranks are reported for the first trial, which gives the same result alone.
    alone = hocket.replay(trace, machine, trials=Trials(1, seed=3))
    assert alone.times_s == found.times_s[:1]
    assert (alone.rank_uses, alone.functions) == (found.rank_uses, found.functions)
    assert max(rank.time_s for rank in found.rank_uses) == found.times_s[0]


Edit = Callable[[Program], object]


def change(rank: int, index: int, **arguments: Any) -> Edit:
    """Change arguments of a call."""

    def edit(program: Program) -> None:
        call = program.calls[rank][index]
        program.calls[rank][index] = replace(call, arguments={**call.arguments, **arguments})

    return edit


def told() -> Program:
    """Two ranks: a message, and collectives of each kind."""
    program = ping_pong()
    for name, arguments in (
        ("MPI_Allreduce", {"count": 3, **DOUBLES, **SUM}),
        ("MPI_Bcast", {"count": 3, **DOUBLES, "root": 1}),
        (
            "MPI_Gatherv",
            {"count": 3, **DOUBLES, "root": 0, **(received := {"recv_counts": [3, 3], "recv_type_bytes": 8})},
        ),
        ("MPI_Alltoallv", {"counts": [3, 3], **DOUBLES, **received}),
    ):
        for rank in range(2):
            program.call(rank, name, 0, comm=0, **arguments)
    return program


def start_a_barrier_on_one_rank(program: Program) -> None:
    program.call(0, "MPI_Ibarrier", 0, comm=0, request=program.request(0))
    program.call(1, "MPI_Barrier", 0, comm=0)


WRONG: list[tuple[Edit, str]] = [
    (
        change(0, 1, tag=9),
        "rank 1, line 9: MPI_Recv received a message from rank 0 with tag 0, but the trace has no matching send",
    ),
    (lambda program: program.calls[1].pop(), "rank 0, line 6: MPI_Alltoallv, expected the same call on rank 1"),
    (change(1, 3, count=4), "rank 1, line 11: MPI_Allreduce: got 32 B, expected 24 B as on rank 0, line 3"),
    (change(1, 4, root=0), "got MPI_Bcast with root 0, expected MPI_Bcast with root 1 as on rank 0, line 4"),
    (change(1, 5, count=4), "rank 1, line 13: MPI_Gatherv: got 32 B, expected 24 B as on rank 0, line 5"),
    (change(1, 6, counts=[4, 3]), "rank 0, line 6: MPI_Alltoallv: got 24 B, expected 32 B as on rank 1, line 14"),
    (change(1, 4, count=2**60), "rank 1, line 12: MPI_Bcast: got "),
    (change(1, 4, thread=1), "rank 1, line 12: MPI_Bcast by thread 1, expected calls of a single thread"),
    (change(1, 1, got=[2, 0, 0]), "rank 1, line 9: MPI_Recv got a message from rank 2, expected an existing rank"),
    (change(1, 1, got=[-1, 0, 0]), "rank 1, line 9: MPI_Recv got a message from rank -1, expected an existing rank"),
    (
        start_a_barrier_on_one_rank,
        "rank 1, line 15: MPI_Barrier: got MPI_Barrier, expected MPI_Ibarrier as on rank 0, line 7",
    ),
    (change(0, 1, count=2**60), "rank 0, line 1: MPI_Send of 1152921504606846976 B, expected at most 2^50 B"),
]


@pytest.mark.parametrize(("edit", "message"), WRONG, ids=range(len(WRONG)))
def test_what_does_not_fit_together_is_refused_with_its_place(edit: Edit, message: str) -> None:
    program = told()
    hocket.replay(with_lines(program), hockney())
    program = told()
    edit(program)
    with pytest.raises(hocket.Error) as error:
        hocket.replay(with_lines(program), hockney())
    assert message in str(error.value) and "\n" not in str(error.value)


def with_lines(program: Program) -> Trace:
    """The trace with a line per call: from 0 on for rank 0, from 8 on for rank 1."""
    trace = finished(program)
    ranks = []
    for number, rank in enumerate(trace.ranks):
        calls = tuple(replace(call, line=8 * number + index) for index, call in enumerate(rank.calls))
        ranks.append(replace(rank, calls=calls))
    return replace(trace, ranks=tuple(ranks))


def test_collectives_of_intercommunicators_are_refused() -> None:
    program = Program(2)
    for rank in range(2):
        program.communicators[rank][2] = Communicator((rank,), (1 - rank,))
        program.call(rank, "MPI_Barrier", 0, comm=2)
    with pytest.raises(
        hocket.Error, match="rank 0: MPI_Barrier on an intercommunicator, expected an intracommunicator"
    ):
        hocket.replay(finished(program), hockney())


def unsafe() -> Trace:
    """Both send before they receive."""
    program = Program(2)
    for rank in range(2):
        program.call(rank, "MPI_Send", 0, **message(1 - rank, 1000))
        program.call(rank, "MPI_Recv", 0, **message(1 - rank, 1000), got=[1 - rank, 0, 1000])
    return with_lines(program)


def test_a_deadlock_is_told_with_the_calls_of_ranks() -> None:
    assert ends_us(hocket.replay(unsafe(), hockney("eager"))) == [2.0, 2.0]
    expected = "trace, rank 0, line 1: MPI_Send waits for ever, and so does trace, rank 1, line 9: MPI_Send"
    with pytest.raises(hocket.Error, match=expected):
        hocket.replay(unsafe(), hockney())


def test_a_deadlock_in_the_network_is_told_with_what_is_missing() -> None:
    network = 'model = "circuits"\ntopology = "crossbar"\nnodes = 2\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
    keys = 'ports = 1\npolicy = "naive"\nreconfiguration = "1 us"\nchanges = ["0 s: node 1 has 0 ports"]\n'
    with pytest.raises(
        hocket.Error, match=r"MPI_Send waits for ever.*: deadlock: node 0 .*: node 1 has no working port"
    ):
        hocket.replay(finished(ping_pong()), Machine.parse(f'name = "dark"\n[network]\n{network}{keys}'))


def test_a_machine_may_be_too_small() -> None:
    with pytest.raises(hocket.Error, match="9"):
        hocket.replay(finished(stencil(3, 1)), Machine.parse(MEETING.format(model="links", keys="", noise="")))


@pytest.mark.parametrize("scale", [-1.0, float("nan"), float("inf")])
def test_a_factor_is_a_factor(scale: float) -> None:
    with pytest.raises(hocket.Error, match=r"scale_compute: got .*, expected a factor, at least 0"):
        hocket.replay(finished(ping_pong()), hockney(), scale_compute=scale)


def test_times_stay_below_infinity() -> None:
    program = Program(1)
    program.call(0, "MPI_Barrier", 3 * 10**9, comm=0)
    with pytest.raises(hocket.Error, match=r"scale_compute: got 1e\+308, expected a factor that keeps 3"):
        hocket.replay(finished(program), hockney(), scale_compute=1e308)


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    write(tmp_path / "a.hktrace", finished(ping_pong()))
    (tmp_path / "m.toml").write_text(f'name = "by hand"\n{NETWORKS["hockney"]}\n')
    return tmp_path


def test_the_command_prints_what_was_found(traced: Path, hocket_command: Callable[..., Ran]) -> None:
    line = f"replay {traced}/a.hktrace --machine {traced}/m.toml"
    out = hocket_command(line).out
    assert "17.00 us until the last rank is done" in out and "MPI_Recv" in out
    found = hocket_command(f"{line} --json --scale-compute 0.5").json
    assert found["time_s"]["mean"] == pytest.approx(10.5e-6)
    assert (found["scale_compute"], found["ranks"], found["calls"]) == (0.5, 2, 8)


def test_a_timeline_has_calls_and_messages(traced: Path, hocket_command: Callable[..., Ran]) -> None:
    out = hocket_command(f"replay {traced}/a.hktrace --machine {traced}/m.toml --timeline {traced}/t.json").out
    assert f"timeline: {traced}/t.json" in out
    rows = json.loads((traced / "t.json").read_text())["traceEvents"]
    slices = [(row["pid"], row["name"], row["ts"], row["dur"]) for row in rows if row["ph"] == "X"]
    assert (1, "MPI_Recv", 5.0, 7.0) in slices and (1, "recv from 0", 5.0, 7.0) in slices
    assert sum(row["ph"] == "s" for row in rows) == 2


def test_a_timeline_does_not_replace_the_trace(traced: Path, bad_input: Callable[..., str]) -> None:
    before = (traced / "a.hktrace").read_bytes()
    assert "the trace itself" in bad_input("replay", traced / "a.hktrace", "--timeline", traced / "." / "a.hktrace")
    assert (traced / "a.hktrace").read_bytes() == before


def test_rules_are_read_from_the_command_line_and_from_a_file(
    traced: Path, hocket_command: Callable[..., Ran], bad_input: Callable[..., str]
) -> None:
    write(traced / "b.hktrace", one_collective("allreduce", 4, 10))
    (traced / "all.rules").write_text("allreduce: linear\n")
    line = ["replay", traced / "b.hktrace", "--json", "--rules", traced / "all.rules"]
    assert [use["algorithm"] for use in hocket_command(*line).json["algorithms"]] == ["linear"]
    found = hocket_command(*line, "--rule", "allreduce: ring", "--rule", "allreduce: swing").json
    assert [use["algorithm"] for use in found["algorithms"]] == ["ring"]
    assert "--rule:2: unknown allreduce algorithm" in bad_input(
        *line, "--rule", "alltoall: linear", "--rule", "allreduce: x"
    )
    assert "expected a factor, at least 0" in bad_input("replay", traced / "b.hktrace", "--scale-compute", "-1")
    assert "No such file" in bad_input("replay", traced / "none.hktrace")
