"""Lower bounds: what no algorithm for a collective can beat on a machine."""

from __future__ import annotations

from dataclasses import dataclass

from hocket import _native
from hocket.base.call import Call
from hocket.definitions.calls import made_of_any
from hocket.simulating.simulation import MachineLike, as_machine

__all__ = ["Bound", "bound"]


@dataclass(frozen=True)
class Bound:
    """Times that no algorithm can beat, in seconds: each by itself, not their sum.

    Attributes:
        latency_s: By messages that have to follow each other, and the ways that they go.
        bandwidth_s: By bytes that have to pass a rank, its node, or a cut through the network.
        computation_s: By elements that have to be combined.
    """

    latency_s: float
    bandwidth_s: float
    computation_s: float

    @property
    def time_s(self) -> float:
        """The greatest of them."""
        return max(self.latency_s, self.bandwidth_s, self.computation_s)


def bound(collective: str, call: Call, *, machine: MachineLike = "cluster") -> Bound:
    """Return what no algorithm for a call can beat on a machine, with noise or without.

    Args:
        collective: The collective, such as "allreduce".
        call: The call; its parameters, which belong to algorithms, do not matter.
        machine: A machine, the name of a preset, or the path of a machine file.

    Raises:
        Error: An unknown collective or machine, a call that makes no sense, or more ranks than the machine has room
            for.

    Examples:
        One port of 10 GB/s takes 13.4 ms for the 2 (P - 1) / P n bytes that some rank has to send.

        >>> import hocket
        >>> call = hocket.Call(ranks=1024, size_bytes=64 << 20)
        >>> f"{hocket.bound('allreduce', call, machine='cluster').time_s * 1e3:.1f} ms"
        '13.4 ms'
    """
    return Bound(*_native.bound(as_machine(machine).parsed, made_of_any(collective, call)))
