"""The check that the ranks of a trace agree on collectives and messages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from hocket._native import Error
from hocket.traces.functions import FUNCTIONS, Kind
from hocket.traces.trace import NOBODY, Call, Communicator, RankTrace, Trace


def check_agreement(trace: Trace) -> None:
    """Check that ranks of a communicator call the same collectives, and that every received message was sent.

    An Error says where ranks do not agree: file, rank, line, what was expected.
    """
    _check_collectives(trace)
    _check_messages(trace)


def _check_collectives(trace: Trace) -> None:
    story: dict[Communicator, dict[int, list[Call]]] = defaultdict(dict)
    for number, rank in enumerate(trace.ranks):
        own: dict[int, list[Call]] = defaultdict(list)
        for call in rank.calls:
            if FUNCTIONS[call.function].is_collective:
                own[call["comm"]].append(call)
        for comm, calls in own.items():
            story[rank.communicators[comm].both_sides][number] = calls
    for communicator, by_rank in story.items():
        members = (*communicator.ranks, *communicator.remote_ranks)
        first = members[0]
        for other in members[1:]:
            _compare(trace, first, other, by_rank, is_inter=bool(communicator.remote_ranks))


def _compare(trace: Trace, first: int, other: int, by_rank: Mapping[int, Sequence[Call]], *, is_inter: bool) -> None:
    ours, theirs = by_rank.get(first, []), by_rank.get(other, [])
    for index, (mine, yours) in enumerate(zip(ours, theirs, strict=False)):
        differs = _short(mine.function) != _short(yours.function)
        if differs or (not is_inter and mine.arguments.get("root") != yours.arguments.get("root")):
            got = f"{_call_name(yours)} as collective {index + 1} of its communicator"
            expected = f"{_call_name(mine)} as on rank {first}, line {mine.line}"
            raise Error(f"{trace.where(other, yours)}: got {got}, expected {expected}")
    if len(ours) != len(theirs):
        more, less = ((first, ours), (other, theirs)) if len(ours) > len(theirs) else ((other, theirs), (first, ours))
        call = more[1][len(less[1])]
        raise Error(f"{trace.where(more[0], call)}: {_call_name(call)}, expected the same call on rank {less[0]}")


def _short(function: str) -> str:
    """Return a name of the collective: some MPIs make one communicator function out of another."""
    return "a communicator" if FUNCTIONS[function].kind is Kind.NEW_COMMUNICATOR else function


def _call_name(call: Call) -> str:
    root = call.arguments.get("root")
    return call.function if root is None else f"{call.function} with root {root}"


def _check_messages(trace: Trace) -> None:
    # Communicators by a number that all ranks share, because they may have many ranks.
    numbers_by_side: dict[Communicator, int] = {}
    numbers = [
        {
            own: numbers_by_side.setdefault(communicator.both_sides, len(numbers_by_side))
            for own, communicator in rank.communicators.items()
        }
        for rank in trace.ranks
    ]
    sent: Counter[tuple[int, int, int, int]] = Counter()
    for number, rank in enumerate(trace.ranks):
        for comm, peer, tag in _sends(rank):
            if peer != NOBODY:
                sent[numbers[number][comm], number, rank.communicators[comm].peers[peer], tag] += 1
    for number, rank in enumerate(trace.ranks):
        for call, comm, source, tag in _receives(rank):
            peers = rank.communicators[comm].peers
            if not 0 <= source < len(peers):
                where = trace.where(number, call)
                raise Error(f"{where}: got a message from rank {source}, expected a rank below {len(peers)}")
            key = (numbers[number][comm], peers[source], number, tag)
            sent[key] -= 1
            if sent[key] < 0:
                received = f"{call.function} received a message from rank {key[1]} with tag {tag}"
                raise Error(f"{trace.where(number, call)}: {received}, but the trace has no matching send")


def _sends(rank: RankTrace) -> Iterator[tuple[int, int, int]]:
    """Give the communicator, peer and tag of each send."""
    persistent: dict[int, Call] = {}
    for call in rank.calls:
        function = FUNCTIONS[call.function]
        if function.kind is Kind.START:
            requests_started = [persistent[number] for number in call["requests"] if number in persistent]
        elif function.kind in (Kind.SEND, Kind.EXCHANGE):
            if function.is_persistent:
                persistent[call["request"]] = call
            requests_started = [] if function.is_persistent else [call]
        else:
            continue
        for send in requests_started:
            yield send["comm"], send["peer"], send["tag"]


def _receives(rank: RankTrace) -> Iterator[tuple[Call, int, int, int]]:
    """Give the call that completes each receive, with communicator, source and tag."""
    waiting: dict[int, Call] = {}
    for call in rank.calls:
        function = FUNCTIONS[call.function]
        if function.kind is Kind.RECEIVE and function.is_started:
            waiting[call["request"]] = call
        elif function.kind is Kind.COMPLETE and "requests" in call.arguments:
            for number, got in zip(call["requests"], call["got"], strict=True):
                if number in waiting and got is not None and got[0] != NOBODY:
                    yield call, waiting[number]["comm"], got[0], got[1]
        elif function.kind in (Kind.RECEIVE, Kind.EXCHANGE):
            got = call["got"]
            if got is not None and got[0] != NOBODY:
                yield call, call["comm"], got[0], got[1]
