"""The ring allreduce of a library whose ranks do one thing at a time: for the study, not for the catalogue."""

from __future__ import annotations

from hocket.definitions.authoring import algorithm
from hocket.definitions.library import Parameter
from hocket.typing import Call, Rank, Span, Steps


@algorithm(
    "allreduce",
    refuses=lambda c: None if c.commutative else "needs an operator that commutes",
    parameters=[
        Parameter(
            "in_turn", default=1, least=0, meaning="whether a rank sends and receives in turn: 1, or at a time: 0"
        ),
        Parameter("copied", default=0, least=0, meaning="whether messages are copied out and in through buffers: 1"),
    ],
)
def blocking_ring(r: Rank, c: Call) -> Steps:
    """Ring: reduce_scatter once round the ring, then allgather; even ranks send first, odd ones receive first."""
    result = c.result(r)
    yield r.copy(c.input(r), result)
    out, into = (r.scratch(len(result.chunk(0, r.size))) for _ in range(2))
    for step in range(2 * (r.size - 1)):
        outgoing, incoming = (result.chunk((r.rank - step - back) % r.size, r.size) for back in (1, 2))
        is_reduced = step < r.size - 1
        target = into.part(0, len(incoming)) if is_reduced or c.parameter("copied") else incoming
        yield from _exchanged(r, c, outgoing, out, target)
        if is_reduced:
            yield r.reduce((r.rank - 1) % r.size, target, incoming)
        elif c.parameter("copied"):
            yield r.copy(target, incoming)


def _exchanged(r: Rank, c: Call, outgoing: Span, buffer: Span, target: Span) -> Steps:
    """Send a chunk to the next rank and receive one from the rank before, by way of buffers where they are copied."""
    source, to = (r.rank - 1) % r.size, (r.rank + 1) % r.size
    data = outgoing
    if c.parameter("copied"):
        data = buffer.part(0, len(outgoing))
        yield r.copy(outgoing, data)
    if not c.parameter("in_turn"):
        yield r.sendrecv(to, data, source, target)
    elif r.rank % 2 == 0:
        yield r.send(to, data)
        yield r.recv(source, target)
    else:
        yield r.recv(source, target)
        yield r.send(to, data)
