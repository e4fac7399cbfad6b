"""What a rank program written in Python sees: its rank, the call, and the spans of its buffers.

A verb makes a step; `yield` takes it, and gives back what the step got::

    def answer(r: Rank, c: Call) -> Steps:
        question, result = r.scratch(1), c.result(r)
        got = yield r.recv_any(question)
        yield r.join(r.send(got.source, result), r.recv(got.source, question))

A generator of steps is a step too: `yield part(r, c)` does a part, `r.join(part(r, c), other(r, c))` two side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeAlias

__all__ = ["Call", "Program", "Rank", "Received", "Span", "Step", "Steps"]

Step: TypeAlias = Any
"""The value of a verb, or a generator of such values. Yield it, or pass it to `join` or `first`."""

Steps: TypeAlias = Generator[Step, Any, None]
"""What a rank program is: a generator of steps."""


class Span(Protocol):
    """A piece of one of a rank's buffers; offsets and lengths count elements."""

    def __len__(self) -> int:
        """Return the number of elements."""

    def __getitem__(self, elements: slice) -> Span:
        """Return some elements, as of a sequence: `span[2:5]`, `span[:half]`, `span[-1:]`."""

    def part(self, offset: int, length: int) -> Span:
        """Return `length` elements of this span, from its element `offset` on; refused where it has fewer."""

    def chunk(self, index: int, chunks: int) -> Span:
        """Return chunk `index` of the span cut into `chunks` parts as even as possible."""

    def chunks(self, first: int, count: int, chunks: int) -> Span:
        """Return the `count` consecutive chunks from `first` on, of the span cut into `chunks`."""


class Received(Protocol):
    """What a receive got."""

    @property
    def source(self) -> int:
        """The sender."""

    @property
    def length(self) -> int:
        """Number of elements; at most the length of the receiving span."""


class Call(Protocol):
    """One call of a collective, the same on every rank."""

    @property
    def root(self) -> int:
        """The root, 0 where there is none."""

    def input(self, r: Rank) -> Span:
        """Return where the contribution of the running rank lies."""

    def result(self, r: Rank) -> Span:
        """Return where the result of the running rank goes."""

    def count(self, block: int) -> int:
        """Return the number of elements of block `block`; in gatherv and scatterv only the root knows all."""

    def block(self, span: Span, block: int) -> Span:
        """Return block `block` of a span that holds all blocks."""

    def blocks(self, span: Span, first: int, count: int) -> Span:
        """Return the blocks `first .. first + count` of a span that holds all blocks."""

    def sends(self, r: Rank) -> list[tuple[int, Span]]:
        """Return what the running rank sends in alltoall, alltoallv and to neighbours: ranks, and blocks of its input.

        Itself is among them; a neighbour may be several times.
        """

    def receives(self, r: Rank) -> list[tuple[int, Span]]:
        """Return what it receives there: ranks, and blocks of its result.

        The blocks from one rank are in the order in which that rank has them.
        """

    def parameter(self, name: str) -> int:
        """Return the value of a declared parameter."""


class Rank(Protocol):
    """One rank, as its program sees it. Verbs make steps: nothing happens until they are yielded."""

    @property
    def rank(self) -> int:
        """The rank's number, `0 .. size`."""

    @property
    def size(self) -> int:
        """Number of ranks."""

    @property
    def ports(self) -> int | None:
        """How many circuits to open ahead of messages, 0 where they come by themselves; None where there are none."""

    def scratch(self, length: int) -> Span:
        """Return `length` fresh elements of working memory; their values are undefined."""

    def send(self, to: int, data: Span, tag: int = 0) -> Step:
        """Send `data` to rank `to`; done when the span may be changed again."""

    def recv(self, source: int, into: Span, tag: int = 0) -> Step:
        """Receive from rank `source` a message of at most the length of `into`; gives a `Received`."""

    def recv_any(self, into: Span, tag: int = 0) -> Step:
        """Receive from whichever rank's message comes first; gives a `Received`."""

    def sendrecv(self, to: int, data: Span, source: int, into: Span) -> Step:
        """Send to `to` while receiving from `source`."""

    def reduce(self, peer: int, source: Span, target: Span) -> Step:
        """Combine `source`, which came from `peer`, into `target` in rank order."""

    def combine(self, source: Span, target: Span, side: str) -> Step:
        """Combine `source` into `target`, without overlap; `side` says where the source stands, "left" or "right"."""

    def copy(self, source: Span, target: Span) -> Step:
        """Copy `source` to `target`, of the same length and without overlap. A span may be copied onto itself."""

    def compute(self, time_s: float) -> Step:
        """Compute for `time_s` seconds."""

    def connect(self, peer: int) -> Step:
        """Open a circuit to `peer` ahead of the messages to it; gives whether it is open.

        It is not when it was refused: then messages get theirs as they come. Free where the network has no circuits.
        """

    def disconnect(self, peer: int) -> Step:
        """Do without the circuit to `peer`; done when it is released. Free where the network has no circuits."""

    def join(self, *branches: Step) -> Step:
        """Do all of these side by side; done when all are. Gives a list of what each got."""

    def first(self, a: Step, b: Step) -> Step:
        """Start both; done when the earlier one is. Gives 0 or 1 for the winner, what it got, and the other's rest.

        The rest is a step: yield it to let the other finish, or drop it to withdraw the other (`del rest`, or let its
        variable go out of scope).
        """


Program: TypeAlias = Callable[[Any, Any], Steps]
"""What every rank does in one collective call: a generator function over its rank and the call."""
