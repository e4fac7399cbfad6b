"""Lower bounds: times that no algorithm for a collective can beat on a machine."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call
from hocket.definitions.calls import request_of_any
from hocket.definitions.machine import MachineLike, as_machine


@dataclass(frozen=True)
class Bound:
    """Times that no algorithm can beat, in seconds. Each holds by itself; they do not add up.

    Attributes:
        latency_s: The bound from messages that must follow each other, with their costs at the ranks, and from the
            length of their routes.
        bandwidth_s: The bound from bytes that must pass a rank, what its group of ranks shares, or a cut through the
            network, with the costs of the messages that carry them; None if it is not known how long they take. Then
            the other two can be far too low.
        computation_s: The bound from elements that must be combined.
    """

    latency_s: float
    bandwidth_s: float | None
    computation_s: float

    @property
    def time_s(self) -> float:
        """The greatest of the three bounds."""
        return max(self.latency_s, self.bandwidth_s or 0.0, self.computation_s)


def bound(collective: str, call: Call, *, machine: MachineLike = "cluster") -> Bound:
    """Return the lower bound for a call on a machine; it holds with and without noise.

    Args:
        collective: The collective, such as "allreduce".
        call: The call. Its parameters belong to algorithms and are ignored.
        machine: A machine, the name of a preset, or the path of a machine file.

    Raises:
        Error: The collective or machine is unknown, the call is invalid, or the machine has no room for so many ranks.

    Examples:
        One port of 10 GB/s takes 13.4 ms for the 2 (P - 1) / P n bytes that some rank has to send.

        >>> import hocket
        >>> call = hocket.Call(ranks=1024, size_bytes=64 << 20)
        >>> f"{hocket.bound('allreduce', call, machine='cluster').time_s * 1e3:.1f} ms"
        '13.4 ms'
    """
    (values,) = _native.bounds(as_machine(machine).handle, [request_of_any(collective, call)])
    if isinstance(values, str):
        raise Error(values)
    return Bound(*values)


def bounds_by_size(collective: str, calls: Iterable[Call], machine: MachineLike) -> dict[int, Bound]:
    """Return the known lower bounds of valid calls by size; the algorithms report what is wrong with the others."""
    requests = {}
    for call in calls:
        with suppress(Error):
            requests[call.size_bytes] = request_of_any(collective, call)
    answers = _native.bounds(as_machine(machine).handle, list(requests.values()))
    bounds = {size: Bound(*each) for size, each in zip(requests, answers, strict=True) if not isinstance(each, str)}
    return {size_bytes: each for size_bytes, each in bounds.items() if each.bandwidth_s is not None}
