"""Reconstruction of what traces of other tools lack: the message of a receive, and the result of a test."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hocket._native import Error
from hocket.traces.agreement import check_agreement
from hocket.traces.trace import ANY, NOBODY, SELF, WORLD, Call, Communicator, RankTrace, Trace

MOST_BYTES = (1 << 63) - 1
"""The largest size and count in traces."""

UNKNOWN_OPERATOR = {"op": "MPI_OP_NULL", "commutative": True}
"""The operator of reductions in traces that do not name it."""

_GOT_NOTHING = [NOBODY, ANY, 0]


def number_in(word: str, least: float, most: float) -> float | None:
    """Return the number of a word; None if it is no number between two others."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if least <= value <= most else None


@dataclass(slots=True)
class Message:
    """A message from the sender's call: communicator, destination, tag and size."""

    comm: int
    peer: int
    tag: int
    size_bytes: int


@dataclass(slots=True)
class Receive:
    """A receive as the program posted it."""

    comm: int
    peer: int  # a rank of the communicator, or any
    tag: int  # a tag, or any
    arguments: dict[str, Any]  # the arguments of the call that started it
    room_bytes: int | None  # the size of its buffer; None if the trace does not tell it
    line: int  # the line where it was started
    # The list to store its message in, and the index there; None if nothing completed it.
    got: tuple[Any, Any] | None = None


@dataclass(slots=True)
class _Look:
    """A test of requests, which may have completed them."""

    arguments: dict[str, Any]
    requests: Sequence[Request]


@dataclass(slots=True)
class Request:
    """A request, its key in the log, and its last test."""

    number: int
    key: Hashable
    receive: Receive | None = None
    start: Callable[[], Receive | None] | None = None
    look: _Look | None = None
    is_open: bool = True


@dataclass(slots=True)
class RankLog:
    """The calls of one rank, as far as they are read."""

    place: str  # its file and its rank, for error messages
    unit: str = "line"  # what the numbers in error messages count
    host: str = ""
    clock_offset_s: tuple[float, float] = (0.0, 0.0)  # the offset of its clock at the beginning and at the end
    # Its communicators, besides MPI_COMM_WORLD and MPI_COMM_SELF.
    communicators: dict[int, Communicator] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    receives: list[Receive] = field(default_factory=list)
    requests: dict[Hashable, deque[Request]] = field(default_factory=dict)
    count: int = 0

    def error(self, line: int, message: str) -> Error:
        """Return an error at a line; 0 stands for no line."""
        return Error(f"{self.place}, {self.unit} {line}: {message}" if line else f"{self.place}: {message}")

    def check_size(self, line: int, count: int, size_bytes: int) -> None:
        """Refuse data that are larger than traces may have."""
        if count * size_bytes > MOST_BYTES:
            raise self.error(line, f"got {count} elements of {size_bytes} bytes, expected at most {MOST_BYTES} bytes")

    def send(self, arguments: dict[str, Any]) -> None:
        """Record the message that a call sends."""
        if arguments["peer"] != NOBODY:
            size_bytes = arguments["count"] * arguments["type_bytes"]
            self.messages.append(Message(arguments["comm"], arguments["peer"], arguments["tag"], size_bytes))

    def receive(self, arguments: dict[str, Any], line: int, prefix: str = "", is_sized: bool = True) -> Receive | None:
        """Record a receive; receives from MPI_PROC_NULL are ignored."""
        if arguments[f"{prefix}peer"] == NOBODY:
            return None
        room_bytes = arguments[f"{prefix}count"] * arguments[f"{prefix}type_bytes"] if is_sized else None
        peer, tag = arguments[f"{prefix}peer"], arguments[f"{prefix}tag"]
        self.receives.append(Receive(arguments["comm"], peer, tag, arguments, room_bytes, line))
        return self.receives[-1]

    def post(self, arguments: dict[str, Any], line: int, is_send: bool, is_sized: bool = True) -> Receive | None:
        """Record the send or receive of a call."""
        if not is_send:
            return self.receive(arguments, line, is_sized=is_sized)
        self.send(arguments)
        return None

    def blocking(self, arguments: dict[str, Any], receive: Receive | None) -> None:
        """Store the message of a blocking receive in the arguments of its own call."""
        arguments["got"] = list(_GOT_NOTHING)
        if receive:
            receive.got = (arguments, "got")

    def request(self, key: Hashable, receive: Receive | None = None) -> Request:
        """Give a new request the next number; it becomes the newest request of its key.

        If an earlier request of the key was tested and nothing else completed it, the test has completed it.
        """
        earlier = self.first(key)
        if earlier:
            self._settle(earlier)
        queue = self.requests.setdefault(key, deque())
        queue.append(Request(self.count, key, receive))
        self.count += 1
        return queue[-1]

    def forget(self, key: Hashable) -> None:
        """Forget the requests of a key, because the key now belongs to another request."""
        for earlier in list(self.requests.get(key, ())):
            self._settle(earlier)
        self.requests.pop(key, None)

    def first(self, key: Hashable) -> Request | None:
        """Return the oldest open request of a key."""
        return next((request for request in self.requests.get(key, ()) if request.is_open), None)

    def complete(self, requests: Sequence[Request]) -> dict[str, Any]:
        """Let a call complete requests, and return its arguments."""
        got: list[Any] = [None] * len(requests)
        for index, request in enumerate(requests):
            if request.receive:
                got[index] = list(_GOT_NOTHING)
                request.receive.got = (got, index)
            request.look, request.is_open, request.receive = None, False, None
            if not request.start:
                queue = self.requests[request.key]
                queue.remove(request)
                if not queue:
                    del self.requests[request.key]
        return {"requests": [request.number for request in requests], "got": got}

    def look(self, requests: Sequence[Request], arguments: dict[str, Any]) -> None:
        """Let a call test requests; for now the test counts as having found nothing."""
        arguments["tries"] = 1
        look = _Look(arguments, requests)
        for request in requests:
            request.look = look

    def settle(self) -> None:
        """At the end, let tests complete the requests that nothing else completed."""
        for request in self.open():
            self._settle(request)

    def open(self) -> list[Request]:
        """Return the open requests, sorted by their numbers."""
        requests_open = (request for queue in self.requests.values() for request in queue if request.is_open)
        return sorted(requests_open, key=lambda request: request.number)

    def _settle(self, request: Request) -> None:
        look = request.look
        if look and request.is_open:
            other_looks = [other for other in look.requests if other.is_open and other.look is look]
            look.arguments.clear()
            look.arguments.update(self.complete(other_looks))


def trace_of(logs: Sequence[RankLog], program: str, tracer: str, file: str, *, date: str = "") -> Trace:
    """Return the trace of all ranks, with the message of each receive, by MPI's rule that messages do not overtake.

    An Error says where ranks do not agree, a receive got no message, or a longer one than it has room for, or its
    message is ambiguous, because it is from any rank and several ranks sent messages that no other receive asks for.
    """
    sent: dict[tuple[int, int], dict[int, list[Message]]] = defaultdict(lambda: defaultdict(list))
    for number, log in enumerate(logs):
        for message in log.messages:
            to, source = (number, 0) if message.comm == SELF else (message.peer, number)
            sent[to, message.comm][source].append(message)
    for number, log in enumerate(logs):
        for comm in dict.fromkeys(receive.comm for receive in log.receives):
            receives = [receive for receive in log.receives if receive.comm == comm]
            _match_rank(log, sent[number, comm], receives)
    world = Communicator(tuple(range(len(logs))))
    ranks = []
    for number, log in enumerate(logs):
        communicators = {WORLD: world, SELF: Communicator((number,)), **log.communicators}
        ranks.append(RankTrace(log.host, log.clock_offset_s, tuple(log.calls), communicators))
    trace = Trace(program, tracer, date, tuple(ranks), file)
    check_agreement(trace)
    return trace


def _match_rank(rank: RankLog, sent: dict[int, list[Message]], receives: Sequence[Receive]) -> None:
    sources = _sources(rank, sent, receives)
    by_source: dict[int, list[Receive]] = defaultdict(list)
    for receive, source in zip(receives, sources, strict=True):
        by_source[source].append(receive)
    for source, receives_of_source in by_source.items():
        messages = _in_order(sent.get(source, []), receives_of_source)
        for receive, message in zip(receives_of_source, messages, strict=True):
            if receive.got is not None:
                _tell(rank, receive, source, message)


def _tell(rank: RankLog, receive: Receive, source: int, message: Message | None) -> None:
    if message is None:
        tag = "any tag" if receive.tag == ANY else f"tag {receive.tag}"
        what = f"a receive from rank {source} with {tag}"
        raise rank.error(receive.line, f"{what}, but the trace has no matching send")
    if receive.room_bytes is None:
        receive.arguments["count"] = message.size_bytes
    elif message.size_bytes > receive.room_bytes:
        expected = f"expected at least {message.size_bytes}, which rank {source} sent"
        raise rank.error(receive.line, f"a receive of at most {receive.room_bytes} bytes, {expected}")
    assert receive.got is not None
    container, key = receive.got
    container[key] = [source, message.tag, message.size_bytes]


def _in_order(messages: Sequence[Message], receives: Iterable[Receive]) -> Iterator[Message | None]:
    """Give the message of each receive from one rank: the first that fits it and that no earlier receive got."""
    left = OrderedDict(enumerate(messages))
    by_tag: dict[int, OrderedDict[int, Message]] = defaultdict(OrderedDict)
    for index, message in left.items():
        by_tag[message.tag][index] = message
    for receive in receives:
        first = next(iter(left if receive.tag == ANY else by_tag[receive.tag]), None)
        if first is None:
            yield None
        else:
            message = left.pop(first)
            del by_tag[message.tag][first]
            yield message


def _sources(rank: RankLog, sent: dict[int, list[Message]], receives: Sequence[Receive]) -> Iterator[int]:
    """Give the source rank of each receive.

    If exactly one rank sent more such messages than receives ask for by rank, receives from any rank get messages from
    this rank.
    """
    if all(receive.peer != ANY for receive in receives):
        return (receive.peer for receive in receives)
    spare: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    total: dict[int, int] = defaultdict(int)
    for source, messages in sent.items():
        total[source] = len(messages)
        for message in messages:
            spare[message.tag][source] += 1
    asking: dict[int, list[Receive]] = defaultdict(list)
    for receive in receives:
        if receive.peer == ANY:
            asking[receive.tag].append(receive)
        else:
            total[receive.peer] -= 1
            spare[receive.tag][receive.peer] -= 1
    sources: dict[int, int] = {}
    for tag in sorted(asking, reverse=True):
        fitting = sent if tag == ANY else [source for source, messages in spare[tag].items() if messages > 0]
        candidates = sorted(source for source in fitting if total[source] > 0)
        completed = next((receive for receive in asking[tag] if receive.got), None)
        if completed and len(candidates) != 1:
            names = " or ".join(map(str, candidates[:3])) or "nobody"
            why = f"whose message could come from {names}, expected a single possible sender"
            raise rank.error(completed.line, f"a receive from any rank, {why}")
        sources[tag] = candidates[0] if completed else ANY
        total[sources[tag]] -= len(asking[tag])
    return (sources[receive.tag] if receive.peer == ANY else receive.peer for receive in receives)
