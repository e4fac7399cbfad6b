"""The one trace type: the MPI calls of each rank, with the time between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

__all__ = ["ANY", "NOBODY", "SELF", "THIS_ROOT", "WORLD", "Call", "Communicator", "RankTrace", "Trace"]

WORLD, SELF = 0, 1
"""Every rank's numbers of MPI_COMM_WORLD and MPI_COMM_SELF."""

ANY, NOBODY, THIS_ROOT = -1, -2, -3
"""MPI_ANY_SOURCE and MPI_ANY_TAG, MPI_PROC_NULL, and MPI_ROOT, as peers, tags and roots."""


@dataclass(frozen=True)
class Communicator:
    """A communicator, the same for all of its ranks.

    Attributes:
        ranks: Its ranks, in order, by their numbers in MPI_COMM_WORLD.
        remote_ranks: Of an intercommunicator, the ranks of the other group.
        occurrence: How many communicators with these ranks were made before it.
    """

    ranks: tuple[int, ...]
    remote_ranks: tuple[int, ...] = ()
    occurrence: int = 0

    @property
    def peers(self) -> tuple[int, ...]:
        """The ranks that peers and roots are numbers of."""
        return self.remote_ranks or self.ranks

    @property
    def both_sides(self) -> Communicator:
        """The same from either side, to be compared with what other ranks know."""
        if not self.remote_ranks or self.ranks < self.remote_ranks:
            return self
        return Communicator(self.remote_ranks, self.ranks, self.occurrence)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Worked out once: there may be as many ranks as there are communicators."""
        return hash((self.ranks, self.remote_ranks, self.occurrence))


@dataclass(frozen=True, slots=True)
class Call:
    """An MPI call, or several looks that found nothing.

    Attributes:
        function: The MPI function, without `_c`.
        start_s: When it began, by this rank's clock, since tracing began.
        end_s: When it returned.
        arguments: What it was called with and what it gave, as docs/traces.md lists it for the function.
        line: The line of the file that it was read from.
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
        """Which thread of its process called."""
        return int(self.arguments.get("thread", 0))

    def size_bytes(self, prefix: str = "") -> int:
        """Return the size of its data: of the message, or of one block, or of all blocks where they differ.

        Args:
            prefix: `recv_` for what is received, where a call tells both.
        """
        counts = self.arguments.get(f"{prefix}counts")
        count = self.arguments.get(f"{prefix}count", 0) if counts is None else sum(counts)
        return int(count * self.arguments.get(f"{prefix}type_bytes", 0))


@dataclass(frozen=True)
class RankTrace:
    """The calls of one rank, in the order in which they returned.

    Attributes:
        host: The name of the host it ran on.
        clock_offset_s: What its times lack to be those of rank 0, at the beginning and at the end.
        calls: Its calls, MPI_Init first, MPI_Finalize last.
        communicators: Its communicators, by the numbers that its calls have for them.
    """

    host: str
    clock_offset_s: tuple[float, float]
    calls: tuple[Call, ...] = field(repr=False)
    communicators: Mapping[int, Communicator] = field(repr=False)

    @property
    def end_s(self) -> float:
        """When it called MPI_Finalize."""
        return self.calls[-1].start_s

    @cached_property
    def mpi_s(self) -> float:
        """The time that its first thread was inside of MPI."""
        return sum(call.end_s - call.start_s for call in self.calls if call.thread == 0)

    def on_rank_0_s(self, time_s: float) -> float:
        """Return a time of this rank as rank 0's clock has it; clocks drift evenly in between."""
        first, last = self.clock_offset_s
        return time_s + first + (last - first) * (time_s / self.end_s if self.end_s else 0.0)


@dataclass(frozen=True)
class Trace:
    """What an MPI program called.

    Attributes:
        program: Its name.
        mpi: What the MPI calls itself.
        date: When it ended, as in ISO 8601.
        ranks: Each rank's calls.
        file: The file it was read from.
    """

    program: str
    mpi: str
    date: str
    ranks: tuple[RankTrace, ...] = field(repr=False)
    file: str = field(default="trace", compare=False)

    @property
    def calls(self) -> int:
        """How many calls all ranks made."""
        return sum(len(rank.calls) for rank in self.ranks)

    def where(self, rank: int, call: Call | None = None) -> str:
        """Return how errors name a rank, or a call of it: "app.hktrace, rank 3, line 17"."""
        return f"{self.file}, rank {rank}" + (f", line {call.line}" if call and call.line else "")
