"""Writing SimGrid's time-independent traces, for `smpirun -replay`.

Source: the actions of SimGrid 3.25 and newer, https://simgrid.org/doc/latest and `smpi_replay.cpp`. Sizes are written
in bytes, as MPI_BYTE. These traces know only the communicator MPI_COMM_WORLD, and no nonblocking collectives.

SimGrid keeps sizes as an int. A receive of no bytes waits there until its message has been sent, so receives have a
byte at least. The second type of a scatterv is read from a wrong place, so a scatterv has the default, MPI_BYTE, too.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path

from hocket._native import Error
from hocket.base import checks, files
from hocket.traces.functions import FUNCTIONS, Kind
from hocket.traces.trace import NOBODY, Call, Communicator, RankTrace, Trace

_BYTE = 6  # SimGrid's number for MPI_BYTE
_FLOPS_PER_S = 1e9
_MOST_INT = (1 << 31) - 1
_LONGEST_SURE = 9  # digits of a number that is an int in any case


def write_simgrid(folder: str | PathLike[str], trace: Trace, *, flops_per_s: float = _FLOPS_PER_S) -> Path:
    """Write a file of actions for each rank into a folder, and a file that lists them, which SimGrid takes.

    The ranks of a message are written as ranks of MPI_COMM_WORLD, whatever its communicator. A receive from any rank is
    written as a receive from the rank whose message it got. One second of computation becomes `flops_per_s` flops. An
    Error names file, rank and line of a collective of only a part of the ranks, of a nonblocking one, and of a size
    larger than an int.
    """
    target = Path(checks.path("folder", folder))
    texts = {}
    for number, rank in enumerate(trace.ranks):
        actions = _Rank(trace, number, rank, flops_per_s).actions()
        texts[f"rank-{number}.txt"] = "".join(f"{number} {action}\n" for action in actions)
    files.make_folder(target)
    index = target / "trace.txt"
    index_text = "".join(f"{name}\n" for name in texts)
    files.write_all({**{str(target / name): text for name, text in texts.items()}, str(index): index_text})
    return index


class _Rank:
    def __init__(self, trace: Trace, number: int, rank: RankTrace, flops_per_s: float) -> None:
        self._trace, self._number, self._rank = trace, number, rank
        self._flops_per_s = flops_per_s
        self._requests: dict[int, Call] = {}
        self._received = _received(rank)
        self._got: dict[int, list[int] | None] = {}

    def actions(self) -> Iterator[str]:
        end_s = 0.0
        for call in self._rank.calls:
            if call.thread:
                raise self._error(call, "calls of several threads")
            if call.start_s > end_s:
                yield f"compute {round((call.start_s - end_s) * self._flops_per_s)}"
            end_s = call.end_s
            for action in self._call(call):
                if any(len(word) > _LONGEST_SURE and int(word) > _MOST_INT for word in action.split()[1:]):
                    raise self._error(call, f"sizes above {_MOST_INT} bytes")
                yield action

    def _call(self, call: Call) -> Iterator[str]:
        function = FUNCTIONS[call.function]
        kind = function.kind
        if kind in (Kind.INIT, Kind.FINALIZE):
            yield call.function.removeprefix("MPI_").lower()
        elif kind in (Kind.SEND, Kind.RECEIVE) and function.is_started:
            self._requests[call["request"]] = call
            if not function.is_persistent:
                yield from self._start(call, call["request"])
        elif kind is Kind.SEND:
            yield from self._send("send", call)
        elif kind is Kind.RECEIVE:
            yield from self._receive("recv", call, call["got"])
        elif kind is Kind.EXCHANGE:
            yield from self._receive("irecv", call, call["got"])
            yield from self._send("send", call)
            yield from self._end(call, call["got"])
        elif kind is Kind.START:
            for number in call["requests"]:
                yield from self._start(self._requests[number], number)
        elif kind is Kind.COMPLETE:
            for number in call.arguments.get("requests", ()):
                yield from self._wait(number)
        elif kind is Kind.COLLECTIVE:
            yield self._collective(call)

    def _start(self, call: Call, number: int) -> Iterator[str]:
        if FUNCTIONS[call.function].kind is Kind.SEND:
            yield from self._send("isend", call)
        else:
            got = self._got[number] = self._received[number].popleft() if self._received[number] else None
            yield from self._receive("irecv", call, got)

    def _wait(self, number: int) -> Iterator[str]:
        call = self._requests.get(number)
        if call is None:
            return
        if FUNCTIONS[call.function].kind is not Kind.SEND:
            yield from self._end(call, self._got.pop(number, None))
        elif call["peer"] != NOBODY:
            yield f"wait {self._number} {self._world(call, call['peer'])} {call['tag']}"

    def _send(self, verb: str, call: Call) -> Iterator[str]:
        if call["peer"] != NOBODY:
            yield f"{verb} {self._world(call, call['peer'])} {call['tag']} {call.size_bytes()} {_BYTE}"

    def _receive(self, verb: str, call: Call, got: Sequence[int] | None) -> Iterator[str]:
        if got and got[0] != NOBODY:
            yield f"{verb} {self._world(call, got[0])} {got[1]} {max(got[2], 1)} {_BYTE}"

    def _end(self, call: Call, got: Sequence[int] | None) -> Iterator[str]:
        """Give the end of a receive that was started."""
        if got and got[0] != NOBODY:
            yield f"wait {self._world(call, got[0])} {self._number} {got[1]}"

    def _collective(self, call: Call) -> str:
        ranks = self._communicator(call).ranks
        if ranks != tuple(range(len(self._trace.ranks))) or self._communicator(call).remote_ranks:
            raise self._error(call, f"collectives on some of the ranks, here on {len(ranks)}")
        if FUNCTIONS[call.function].is_started:
            raise self._error(call, "nonblocking collectives")
        name = call.function.removeprefix("MPI_").lower()
        blocks, recv_blocks = _blocks(call, "", len(ranks)), _blocks(call, "recv_", len(ranks))
        sent, received = call.size_bytes(), call.size_bytes("recv_")
        if call.arguments.get("in_place"):
            # If a rank gives no count, its own block is in the result, or all blocks are if each pair has one.
            if name in ("alltoallv", "alltoallw"):
                blocks, sent = recv_blocks, received
            sent = sent or (recv_blocks[self._number] if "recv_counts" in call.arguments else received)
            received = received or (blocks[self._number] if "counts" in call.arguments else sent)
        counts, recv_counts = (" ".join(map(str, each)) for each in (blocks, recv_blocks))
        values = {"sent": sent, "received": received, "counts": counts, "recv_counts": recv_counts}
        return _COLLECTIVES[name].format(**values, root=call.arguments.get("root", 0), type=_BYTE)

    def _communicator(self, call: Call) -> Communicator:
        return self._rank.communicators[call["comm"]]

    def _world(self, call: Call, peer: int) -> int:
        return self._communicator(call).peers[peer]

    def _error(self, call: Call, what: str) -> Error:
        where = self._trace.where(self._number, call)
        return Error(f"{where}: {call.function}: SimGrid's traces cannot express {what}")


_COLLECTIVES: Mapping[str, str] = {
    function: f"{row['actions']} {row['written']}".rstrip()
    for row in files.read_rows(__file__, "simgrid_actions.csv")
    for function in row["functions"].split()
}
"""How collectives are written."""


def _blocks(call: Call, prefix: str, ranks: int) -> list[int]:
    """Return the bytes of each rank's block; None if a rank other than the root does not know them."""
    size_bytes = call.arguments.get(f"{prefix}type_bytes", 0)
    if call.function == "MPI_Reduce_scatter_block":
        counts = [call["count"]] * ranks
    else:
        counts = call.arguments.get(f"{prefix}counts", [0] * ranks)
    return [count * size_bytes for count in counts]


def _received(rank: RankTrace) -> defaultdict[int, deque[list[int] | None]]:
    """Return the received messages of each request, one for each time it was started."""
    received: defaultdict[int, deque[list[int] | None]] = defaultdict(deque)
    active: set[int] = set()
    for call in rank.calls:
        function = FUNCTIONS[call.function]
        if function.kind is Kind.START:
            active.update(call["requests"])
        elif function.is_started and not function.is_persistent:
            active.add(call["request"])
        elif function.kind is Kind.COMPLETE:
            for number, got in zip(call.arguments.get("requests", ()), call.arguments.get("got", ()), strict=True):
                if number in active:
                    active.remove(number)
                    received[number].append(got)
    return received
