"""Replays, against times worked out by hand, and against simulations of single calls."""

from typing import Any

import pytest

import hocket
from hocket import Machine, Replay
from hocket.traces import RankTrace, Trace
from tests.trace_programs import Program

US = 1000  # ns
DOUBLES = {"type": "MPI_DOUBLE", "type_bytes": 8}
BYTES = {"type": "MPI_BYTE", "type_bytes": 1}
SUM = {"op": "MPI_SUM", "commutative": True}


def hockney(protocol: str = "rendezvous", noise: str = "", overhead: str = "") -> Machine:
    """1 us and 1 ns per byte, reductions at 1 ns per byte."""
    return Machine.parse(
        f'name = "by hand"\n[network]\nmodel = "hockney"\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
        f'protocol = "{protocol}"\n{overhead}[node]\nreduce_bandwidth = "1 GB/s"\n{noise}'
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
    """Computes 10 us, sends 1000 B, gets them back; the other computes 5 us before and 3 us in between."""
    program = Program(2)
    program.call(0, "MPI_Send", 10 * US, **message(1, 1000))
    program.call(0, "MPI_Recv", 0, **message(1, 1000), got=[1, 0, 1000])
    program.call(1, "MPI_Recv", 5 * US, **message(-1, 1000), got=[0, 0, 1000])
    program.call(1, "MPI_Send", 3 * US, **message(0, 1000))
    return program


def finished(program: Program) -> Trace:
    """The trace, with no computing before MPI_Finalize."""
    for rank in range(program.size):
        program.call(rank, "MPI_Finalize", 0)
    ranks = zip(program.calls, program.communicators, strict=True)
    traces = (RankTrace("host", (0.0, 0.0), tuple(calls), known) for calls, known in ranks)
    return Trace("a program", "an MPI", "2026-01-01T00:00:00Z", tuple(traces))


def test_a_ping_pong_takes_what_it_takes() -> None:
    # A message takes 1 us + 1000 B * 1 ns/B = 2 us, from when both are there. Rank 0 sends from 10 to 12; rank 1 has waited
    # since 5, until 10 for somebody late. It sends from 15 to 17, and rank 0 waits from 12 to 15 for that.
    found = hocket.replay(finished(ping_pong()), hockney())
    assert ends_us(found) == [17.0, 17.0]
    assert use(found, "MPI_Send") == (2, 4.0, 0.0)
    assert use(found, "MPI_Recv") == (2, 7.0 + 5.0, 5.0 + 3.0)
    assert (found.messages, found.message_bytes, found.engine) == (2, 2000, "dataflow")
    assert found.waiting_share == pytest.approx(8 / 34)


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
    # Halos of 2 us are exchanged while the rank computes 20 us and its number; a waitall takes no time. The allreduce, by
    # recursive doubling, begins when the last of 9 is there, at 28: rank 8 folds into rank 0, three rounds, and back. Of
    # the nine, 8 is a power of two; ranks 0 and 1 are a pair, and 2 to 8 are alone. The pair begins at 21, so rounds
    # begin with rank 8 at 28: three rounds of 1.008 us and 0.008 us of adding; and then the result for rank 0.
    found = hocket.replay(finished(stencil(3, 1)), hockney(), rules="allreduce: recursive_doubling")
    assert use(found, "MPI_Waitall") == (9, 0.0, 0.0)
    round_us = 1.008 + 0.008
    assert max(rank.time_s for rank in found.rank_uses) * 1e6 == pytest.approx(28 + 3 * round_us + 1.008)
    # Rank r waits from 20 + r until 28.
    assert use(found, "MPI_Allreduce")[2] == sum(28.0 - 20 - rank for rank in range(9))
