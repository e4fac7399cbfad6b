"""Random programs as traces: calls of ranks in a possible order."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from hocket.traces import WORLD, Call, Communicator, RankTrace, Trace

DATA = {"count": 3, "type": "MPI_DOUBLE", "type_bytes": 8}
SUM = {"op": "MPI_SUM", "commutative": True}


class Program:
    """The calls of ranks, added one after another; a call takes at least a nanosecond."""

    def __init__(self, ranks: int) -> None:
        self.size = ranks
        self.calls: list[list[Call]] = [[Call("MPI_Init", 0.0, 0.0)] for _ in range(ranks)]
        self.communicators = [{0: Communicator(tuple(range(ranks))), 1: Communicator((rank,))} for rank in range(ranks)]
        self.requests = [0] * ranks
        self.groups: list[tuple[tuple[int, ...], list[int]]] = [(tuple(range(ranks)), [WORLD] * ranks)]

    def call(self, rank: int, name: str, gap_ns: int = 5, **arguments: Any) -> None:
        """Append a call of a rank."""
        start_s = round(self.calls[rank][-1].end_s + gap_ns * 1e-9, 9)
        self.calls[rank].append(Call(name, start_s, round(start_s + 7e-9, 9), arguments))

    def request(self, rank: int) -> int:
        """Return the number of a new request."""
        self.requests[rank] += 1
        return self.requests[rank] - 1

    def send(
        self, source: int, to: int, tag: int, count: int, is_started: bool, gap_ns: int, is_named: bool = False
    ) -> None:
        """Add a message; its receive names the source, or any."""
        data = {**DATA, "count": count}
        got = [source, tag, 8 * count]
        if is_started:
            number = self.request(source)
            self.call(source, "MPI_Isend", gap_ns, comm=0, peer=to, tag=tag, **data, request=number)
            receive = self.request(to)
            peer, asked = (source, tag) if is_named else (-1, -1)
            self.call(to, "MPI_Irecv", comm=0, peer=peer, tag=asked, **data, request=receive)
            self.call(to, "MPI_Waitall", requests=[receive], got=[got])
            self.call(source, "MPI_Wait", requests=[number], got=[None])
        else:
            self.call(source, "MPI_Send", gap_ns, comm=0, peer=to, tag=tag, **data)
            self.call(to, "MPI_Recv", comm=0, peer=source, tag=tag, **data, got=got)

    def collective(self, group: int, name: str, gap_ns: int) -> None:
        """Add a collective of a group."""
        ranks, numbers = self.groups[group % len(self.groups)]
        arguments: dict[str, Any] = {
            "MPI_Barrier": {},
            "MPI_Bcast": {**DATA, "root": len(ranks) - 1},
            "MPI_Allreduce": {**DATA, **SUM},
            "MPI_Alltoallv": {
                "counts": [1] * len(ranks),
                "type": "derived",
                "type_bytes": 4,
                "recv_counts": [1] * len(ranks),
                "recv_type": "MPI_INT",
                "recv_type_bytes": 4,
            },
        }[name]
        for rank in ranks:
            self.call(rank, name, gap_ns, comm=numbers[rank], **arguments)

    def split(self, odd: bool) -> None:
        """Add a communicator of the ranks with even or odd numbers, in reverse order."""
        ranks = tuple(rank for rank in reversed(range(self.size)) if rank % 2 == odd)
        numbers = [len(self.communicators[rank]) for rank in range(self.size)]
        for rank in range(self.size):
            if rank not in ranks:
                self.call(rank, "MPI_Comm_split", comm=0)
                continue
            occurrence = sum(known.ranks == ranks for known in self.communicators[rank].values())
            self.communicators[rank][numbers[rank]] = Communicator(ranks, (), occurrence)
            self.call(rank, "MPI_Comm_split", comm=0, new=numbers[rank], new_ranks=list(ranks))
        if ranks:
            self.groups.append((ranks, numbers))

    def trace(self) -> Trace:
        """Return the trace of the calls."""
        for rank in range(self.size):
            self.call(rank, "MPI_Finalize")
        return Trace(
            "a program",
            "an MPI",
            "2026-01-01T00:00:00Z",
            tuple(
                RankTrace(f"host{rank}", (0.5 * rank, -1e-7), tuple(self.calls[rank]), self.communicators[rank])
                for rank in range(self.size)
            ),
        )


@st.composite
def traces(draw: st.DrawFn, parts: bool = True, wildcards: bool = True, most_elements: int = 2**40) -> Trace:
    """Draw the trace of a program; optionally without communicators of a part of the ranks, without receives from any
    rank, or with smaller messages.
    """
    program = Program(draw(st.integers(1, 4)))
    ranks, gaps = st.integers(0, program.size - 1), st.integers(0, 1000)
    names = st.sampled_from(["MPI_Barrier", "MPI_Bcast", "MPI_Allreduce", "MPI_Alltoallv"])
    for step in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["send", "collective", "looks", *(["split"] if parts else [])]))
        if kind == "send":
            size, is_started = draw(st.integers(0, most_elements)), draw(st.booleans())
            program.send(draw(ranks), draw(ranks), step, size, is_started, draw(gaps), not wildcards)
        elif kind == "collective":
            program.collective(draw(st.integers(0, 5)), draw(names), draw(gaps))
        elif kind == "split":
            program.split(draw(st.booleans()))
        else:
            program.call(draw(ranks), "MPI_Iprobe", draw(gaps), tries=draw(st.integers(1, 10**9)))
    return program.trace()
