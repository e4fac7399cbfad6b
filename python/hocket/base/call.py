"""A call of a collective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from typing import Literal, TypeAlias

from hocket._native import Error
from hocket.base.checks import size_bytes

MeasuredAs: TypeAlias = Literal["isolated", "pico", "osu", "imb"]
"""How a benchmark measures the time of a call.

- isolated: all ranks call at the same time; the time until the last rank is done. So measures `hocket mpi bench`.
- pico: a rank starts its timer after a barrier (that of the machine, or a dissemination); the longest time of a rank.
- osu: the same, but the mean time of the ranks (`Avg Latency` of the OSU micro-benchmarks).
- imb: 20 calls back to back, and each rank measures the last 16; the longest time of a rank, divided by 16 (`t_max` of
  the Intel MPI Benchmarks). A rank begins the next call when its program has ended.
"""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a collective, the same on every rank.

    A size is a number of bytes, or a text such as "64KiB".

    Attributes:
        ranks: Number of ranks.
        size: The size as a number or a text; replaces `size_bytes`.
        size_bytes: The message of the MPI call: the whole vector of an allreduce, reduce, broadcast, scan, exscan or
            reduce_scatter; one rank's contribution to an allgather or gather; one block of an alltoall or scatter.
        root: The root, if the collective has one.
        neighbors: The neighbours in a neighbourhood collective: "torus", "mesh" (a grid with borders) or "moore" (a
            torus with its diagonals). Dimensions may follow, as in "torus:4x4x4"; the last one changes first from rank
            to rank. Without dimensions there are two nearly equal ones. The default is "torus".
        element_bytes: Size of an element. Algorithms cut messages between elements only. None is the usual size: in
            reductions 4 B, or if these do not divide the message, 2 B or 1 B; elsewhere 1 B.
        in_place: Whether the input is in the result buffer.
        commutative: Whether the operator commutes.
        parameters: Values of the algorithm's parameters; the others have their defaults. "auto" asks for the automatic
            value of a parameter that has one: see `hocket.definitions.calls`. A gap between packets is a number, or a
            text such as "auto-2".
    """

    ranks: int
    size_bytes: int = None  # type: ignore[assignment]  # a call that is made has one
    root: int = 0
    neighbors: str | None = None
    element_bytes: int | None = None
    in_place: bool = False
    commutative: bool = True
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    size: InitVar[int | str | None] = None

    def __post_init__(self, size: int | str | None) -> None:
        """Convert the size to a number of bytes.

        Raises:
            Error: A text is not a size, there is no size, or both `size` and `size_bytes` are given.
        """
        if (size is None) == (self.size_bytes is None):
            raise Error(
                f"call: got {'no size' if size is None else 'size and size_bytes'}, expected either size or size_bytes"
            )
        size_argument = self.size_bytes if size is None else size
        for name, value in (("size_bytes", size_argument), ("element_bytes", self.element_bytes)):
            object.__setattr__(self, name, size_bytes(name, value) if isinstance(value, str) else value)
