"""The type of all traces: the MPI calls of each rank, with the time between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

WORLD, SELF = 0, 1
"""The numbers of MPI_COMM_WORLD and MPI_COMM_SELF at every rank."""

ANY, NOBODY, THIS_ROOT = -1, -2, -3
"""MPI_ANY_SOURCE and MPI_ANY_TAG, MPI_PROC_NULL, and MPI_ROOT, as peers, tags and roots."""


@dataclass(frozen=True)
class Communicator:
    """A communicator, equal for all of its ranks."""

    ranks: tuple[int, ...]  # its ranks, in order, as ranks of MPI_COMM_WORLD
    remote_ranks: tuple[int, ...] = ()  # for an intercommunicator, the ranks of the other group
    occurrence: int = 0  # the number of earlier communicators with the same ranks

    @property
    def peers(self) -> tuple[int, ...]:
        """The ranks to which peers and roots refer."""
        return self.remote_ranks or self.ranks

    @property
    def both_sides(self) -> Communicator:
        """A value that is equal on both sides of an intercommunicator, for comparisons between ranks."""
        if not self.remote_ranks or self.ranks < self.remote_ranks:
            return self
        return Communicator(self.remote_ranks, self.ranks, self.occurrence)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Computed only once: there may be as many communicators as ranks."""
        return hash((self.ranks, self.remote_ranks, self.occurrence))


@dataclass(frozen=True, slots=True)
class Call:
    """An MPI call, or several looks that found nothing.

    Attributes:
        function: The MPI function, without `_c`.
        start_s: Time when it began, by this rank's clock, since the start of tracing.
        end_s: Time when it returned.
        arguments: Its arguments and results, as docs/replay.md lists them for the function.
        line: Its line in the file.
    """

    function: str
    start_s: float
    end_s: float
    arguments: Mapping[str, Any] = field(default_factory=dict)
    line: int = field(default=0, compare=False)

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    @property
    def thread(self) -> int:
        """The thread of its process that called."""
        return int(self.arguments.get("thread", 0))

    def size_bytes(self, prefix: str = "") -> int:
        """Return the size of its data: the message, one block, or all blocks if their sizes differ.

        Args:
            prefix: `recv_` for received data, if a call has both.
        """
        counts = self.arguments.get(f"{prefix}counts")
        count = self.arguments.get(f"{prefix}count", 0) if counts is None else sum(counts)
        return int(count * self.arguments.get(f"{prefix}type_bytes", 0))


@dataclass(frozen=True)
class RankTrace:
    """The calls of one rank, in the order in which they returned."""

    host: str  # the name of the host it ran on
    clock_offset_s: tuple[float, float]  # rank 0's clock minus this rank's clock, at the beginning and at the end
    calls: tuple[Call, ...] = field(repr=False)  # its calls, from MPI_Init to MPI_Finalize
    communicators: Mapping[int, Communicator] = field(repr=False)  # its communicators, by the numbers in its calls

    @property
    def end_s(self) -> float:
        """Time when it called MPI_Finalize."""
        return self.calls[-1].start_s

    @cached_property
    def mpi_s(self) -> float:
        """The time that its first thread spent inside MPI."""
        return sum(call.end_s - call.start_s for call in self.calls if call.thread == 0)

    def on_rank_0_s(self, time_s: float) -> float:
        """Convert a time of this rank to rank 0's clock; the clocks drift evenly."""
        first, last = self.clock_offset_s
        return time_s + first + (last - first) * (time_s / self.end_s if self.end_s else 0.0)


@dataclass(frozen=True)
class Trace:
    """The calls of an MPI program."""

    program: str  # its name
    mpi: str  # the MPI's own name and version
    date: str  # the end of the program, in ISO 8601 format
    ranks: tuple[RankTrace, ...] = field(repr=False)  # each rank's calls
    file: str = field(default="trace", compare=False)  # the file it was read from

    @property
    def calls(self) -> int:
        """Number of calls of all ranks."""
        return sum(len(rank.calls) for rank in self.ranks)

    def where(self, rank: int, call: Call | None = None) -> str:
        """Return the place of a rank or a call for error messages: "app.hktrace, rank 3, line 17"."""
        return f"{self.file}, rank {rank}" + (f", line {call.line}" if call and call.line else "")
