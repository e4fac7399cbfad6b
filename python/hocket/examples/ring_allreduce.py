"""A worked example of an algorithm written in Python.

hocket verify  allreduce chunked_ring --load ring_allreduce.py --ranks 1-16
hocket compare allreduce --load ring_allreduce.py --ranks 64 --sizes 8B..1MiB
"""

import hocket
from hocket.typing import Call, Rank, Steps


def needs_commutative(call: hocket.Call) -> str | None:
    """Refuse operators whose operands may not be swapped."""
    return None if call.commutative else "needs a commutative operator: it combines operands in the order of the ring"


@hocket.algorithm("allreduce", refuses=needs_commutative, cost="2*(P-1)*alpha + 2*(P-1)/P*n*beta + (P-1)/P*n*gamma")
def chunked_ring(r: Rank, c: Call) -> Steps:
    """Ring: every rank reduces one chunk of the vector, and the reduced chunks go round once more.

    Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69
    (2009).
    Needs: a commutative operator.
    Counts: 2 (P-1) rounds; each rank sends one chunk of about n/P per round.
    """
    left, right = (r.rank - 1) % r.size, (r.rank + 1) % r.size
    result = c.result(r)
    scratch = r.scratch(len(result.chunk(0, r.size)))
    yield r.copy(c.input(r), result)

    for step in range(1, r.size):
        outgoing = result.chunk((r.rank - step) % r.size, r.size)
        incoming = result.chunk((r.rank - step - 1) % r.size, r.size)
        arrived = scratch.part(0, len(incoming))
        yield r.sendrecv(right, outgoing, left, arrived)
        yield r.reduce(left, arrived, incoming)

    for step in range(r.size - 1):
        outgoing = result.chunk((r.rank - step) % r.size, r.size)
        incoming = result.chunk((r.rank - step - 1) % r.size, r.size)
        yield r.sendrecv(right, outgoing, left, incoming)
