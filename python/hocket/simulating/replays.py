"""Replaying the trace of an MPI application in virtual time on a machine."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from os import PathLike
from typing import Any

from hocket import _native
from hocket._native import Error
from hocket.base import checks
from hocket.base.results import Result
from hocket.base.units import format_count
from hocket.definitions.machine import MachineLike, as_machine
from hocket.simulating.library_rules import rules_of_library
from hocket.simulating.operations import Event
from hocket.simulating.simulation import ONE_TRIAL, Circuits, Links, Statistics, Trials, trials_request, values_of
from hocket.traces import load
from hocket.traces.functions import FUNCTIONS, Kind
from hocket.traces.trace import NOBODY, Call, RankTrace, Trace

DEFAULT_RULES = _native.replay_rules()
"""The rules of collective calls that no other rule decides; they choose much as MPICH does."""


@dataclass(frozen=True)
class FunctionUse:
    """The time of the calls of one function, added up over all ranks.

    Attributes:
        function: The MPI function.
        calls: Number of calls; several looks that found nothing count as one call.
        time_s: Time inside these calls.
        waiting_s: The part of this time that ranks waited for others.
    """

    function: str
    calls: int
    time_s: float
    waiting_s: float


@dataclass(frozen=True)
class RankUse:
    """The time of one rank.

    Attributes:
        time_s: Time of its call of MPI_Finalize.
        mpi_s: Time inside MPI calls.
        waiting_s: The part of this time that it waited for others.
    """

    time_s: float
    mpi_s: float
    waiting_s: float


@dataclass(frozen=True)
class AlgorithmUse:
    """How often an algorithm ran; a collective call of all ranks of a communicator counts once in `calls`."""

    collective: str
    algorithm: str
    calls: int


@dataclass(frozen=True)
class Replay(Result):
    """The result of a replay. Functions, ranks, links and circuits are of the first trial.

    `plot` draws each rank's time: computing, in MPI calls, and waiting for others there.
    The attributes are the keys that the compiled module returns, and `time_s`; `traced_s` comes from the trace.

    Attributes:
        program: The traced program's name.
        ranks: Number of ranks.
        calls: Number of MPI calls of all ranks.
        machine: Name of the machine.
        scale_compute: The factor by which traced computation time was multiplied.
        seed: The seed.
        trials: Number of trials.
        time_s: Time when the last rank was done.
        traced_s: Time when the last rank called MPI_Finalize in the traced run, by rank 0's clock.
        messages: Number of messages of all ranks, including messages of collectives.
        message_bytes: Bytes of these messages.
        functions: The time of calls by function, the longest first.
        rank_uses: The time of each rank.
        algorithms: The algorithms that did the collectives.
        links: The load of links; None if messages do not share links.
        circuits: The use of circuits; None if there are none.
        version: Version of Hocket.
        times_s: Time when the last rank was done, in each trial.
    """

    program: str
    ranks: int
    calls: int
    machine: str
    scale_compute: float
    seed: int
    trials: int
    time_s: Statistics
    traced_s: float
    messages: int
    message_bytes: int
    functions: tuple[FunctionUse, ...]
    rank_uses: tuple[RankUse, ...]
    algorithms: tuple[AlgorithmUse, ...]
    links: Links | None
    circuits: Circuits | None
    version: str
    times_s: tuple[float, ...] = field(repr=False)

    @property
    def title(self) -> str:
        """The program, ranks and machine."""
        return f"{self.program}, {format_count(self.ranks, 'rank')}, machine {self.machine}"

    @property
    def mpi_share(self) -> float:
        """The share of all ranks' time inside MPI calls."""
        return self._share(rank.mpi_s for rank in self.rank_uses)

    @property
    def waiting_share(self) -> float:
        """The share of all ranks' time spent waiting for others."""
        return self._share(rank.waiting_s for rank in self.rank_uses)

    def _share(self, times_s: Iterable[float]) -> float:
        total_s = sum(rank.time_s for rank in self.rank_uses)
        return sum(times_s) / total_s if total_s else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data, without the single trials."""
        plain = {name: value for name, value in asdict(self).items() if name != "times_s"}
        return {**plain, "mpi_share": self.mpi_share, "waiting_share": self.waiting_share}

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each of `functions`."""
        return [dict(vars(use)) for use in self.functions]


def replay(
    trace: Trace | str | PathLike[str],
    machine: MachineLike = "cluster",
    *,
    rules: str | Mapping[str, str] = "",
    scale_compute: float = 1.0,
    trials: Trials = ONE_TRIAL,
) -> Replay:
    """Replay a trace on a machine.

    Args:
        trace: A trace, or the path of its file.
        machine: A machine, the name of a preset, or the path of a machine file.
        rules: Rules that choose the algorithms of collectives, one per line; they come before `DEFAULT_RULES`. Or
            several such texts, by the names that error messages give them. The text "nccl-2" stands for NCCL's
            choices on a machine with a section [gpu], "openmpi-5.0" for those of Open MPI on the nodes of the machine.
        scale_compute: The factor by which computation time between calls is multiplied.
        trials: The trials on a machine with noise.

    Raises:
        Error: The trace cannot be read or is inconsistent, an algorithm or machine is unknown, or there is a deadlock:
            file, rank, line.
    """
    return _replay(trace, machine, rules, scale_compute, trials, is_traced=False)[0]


def replay_events(
    trace: Trace | str | PathLike[str],
    machine: MachineLike = "cluster",
    *,
    rules: str | Mapping[str, str] = "",
    scale_compute: float = 1.0,
    trials: Trials = ONE_TRIAL,
) -> tuple[Replay, tuple[Event, ...]]:
    """Replay a trace, and also return each rank's MPI calls and messages over time in the first trial."""
    return _replay(trace, machine, rules, scale_compute, trials, is_traced=True)


def _replay(
    trace: Trace | str | PathLike[str],
    machine: MachineLike,
    rules: str | Mapping[str, str],
    scale_compute: float,
    trials: Trials,
    *,
    is_traced: bool,
) -> tuple[Replay, tuple[Event, ...]]:
    loaded_machine = as_machine(machine)
    scale_compute = checks.number(
        "scale_compute", scale_compute, "a factor, at least 0", is_right=lambda factor: 0 <= factor < float("inf")
    )
    if not isinstance(trace, Trace):
        trace = load(trace, compares_ranks=False)
    texts = {"rules": rules} if isinstance(rules, str) else checks.mapping("rules", rules)
    for file, text in texts.items():
        own = rules_of_library(text, trace, loaded_machine)
        texts[file] = checks.text("rules", text) if own is None else own
    longest_s = max(rank.end_s for rank in trace.ranks)
    if not scale_compute * longest_s < float("inf"):
        raise Error(f"scale_compute: got {scale_compute}, expected a factor that keeps {longest_s} s finite")
    encoder = _Encoder(trace)
    columns = [encoder.columns(number) for number in range(len(trace.ranks))]
    request = {
        "tables": encoder.tables(),
        "trials": trials_request(trials),
        "rules": [(text, file) for file, text in texts.items()],
        "scale_compute": scale_compute,
        "trace": is_traced,
    }
    answer = _native.replay(loaded_machine.handle, request, columns)
    return _result(trace, answer["replay"]), _events(answer)


def _result(trace: Trace, data: Mapping[str, Any]) -> Replay:
    classes = {"functions": FunctionUse, "rank_uses": RankUse, "algorithms": AlgorithmUse}
    rows = {name: tuple(of(**row) for row in data[name]) for name, of in classes.items()}
    return Replay(
        program=trace.program,
        calls=trace.calls,
        traced_s=max(rank.on_rank_0_s(rank.end_s) for rank in trace.ranks),
        **{**data, **rows, **values_of(data)},
    )


def _events(answer: Mapping[str, Any]) -> tuple[Event, ...]:
    calls = [
        Event(row["rank"], row["function"], row["rank"], 0, 0.0, row["start_s"], row["end_s"])
        for row in answer["calls"]
    ]
    operations = (Event(**row) for row in answer["events"])
    # A call begins before its operations and ends after them.
    return tuple(sorted([*calls, *operations], key=lambda event: (event.rank, event.start_s, -event.end_s)))


_NOTHING, _SEND, _RECEIVE, _EXCHANGE, _PROBE, _WAIT, _COLLECTIVE, _START, _RECEIVE_PROBED = range(9)
"""The first word of a call; the others follow it:

nothing; send: to, channel, bytes, mode, request; receive: from, channel, request; exchange: a send's but the request,
a receive's but the request; probe: from, channel, whether it is matched; wait: count, requests; collective:
communicator, what the rank says, request; start: count, what is started; receive of a matched probe: as a receive.

A call with request -1 returns when it is done. A receive from -1 is never completed.
"""

_STANDARD_MODE, _SYNCHRONOUS_MODE, _BUFFERED_MODE = range(3)
_BLOCKING = -1
_MOST_BYTES = 1 << 50
_NOWHERE = -1


class _Encoder:
    """Encodes a trace as columns of numbers, one call after the other, for crates/replay."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._functions = {name: number for number, name in enumerate(FUNCTIONS)}
        self._communicators: dict[Any, int] = {}
        self._channels: dict[tuple[int, int], int] = {}
        self._numbers_by_text: dict[str, int] = {}
        self._numbers_by_call: dict[tuple[str, int], int] = {}

    def tables(self) -> dict[str, Any]:
        """Return the meaning of the numbers."""
        return {
            "file": self._trace.file,
            "functions": list(self._functions),
            "communicators": [communicator.ranks for communicator in self._communicators],
            "tags": [tag for _, tag in self._channels],
            "collectives": [json.loads(text) for text in self._numbers_by_text],
        }

    def columns(self, number: int) -> list[bytes]:
        """Return four columns for a rank's calls: computing time before the call, function, line, and words."""
        rank = self._trace.ranks[number]
        own = _RankEncoder(self, self._trace, number, rank)
        compute_s, functions, lines = array("d"), array("q"), array("q")
        before_s, was_looking = 0.0, False
        for call in rank.calls:
            own.encode(call)
            is_looking = "tries" in call.arguments
            compute_s.append(0.0 if was_looking and is_looking else max(call.start_s - before_s, 0.0))
            before_s, was_looking = max(call.end_s, before_s), is_looking
            functions.append(self._functions[call.function])
            lines.append(call.line)
        return [column.tobytes() for column in (compute_s, functions, lines, own.words)]

    def communicator(self, rank: RankTrace, number: int) -> int:
        """Return the number of a communicator, which is the same at all ranks."""
        return self._communicators.setdefault(rank.communicators[number].both_sides, len(self._communicators))

    def channel(self, communicator: int, tag: int) -> int:
        """Return the number of a pair of communicator and tag."""
        return self._channels.setdefault((communicator, tag), len(self._channels))

    def arguments_of(self, call: Call) -> int:
        """Return the number of a rank's arguments of a collective call."""
        number = self._numbers_by_call.get((call.function, id(call.arguments)))
        if number is None:
            data = {name: call.arguments[name] for name in _ARGUMENTS if name in call.arguments}
            data["function"] = FUNCTIONS[call.function].blocking
            data["is_started"] = FUNCTIONS[call.function].is_started
            number = self._numbers_by_text.setdefault(json.dumps(data), len(self._numbers_by_text))
            self._numbers_by_call[call.function, id(call.arguments)] = number
        return number


_ARGUMENTS = (
    *("root", "count", "counts", "type_bytes", "recv_count", "recv_counts", "recv_type_bytes"),
    *("commutative", "in_place"),
)


class _RankEncoder:
    """Encodes the calls of one rank."""

    def __init__(self, all_ranks: _Encoder, trace: Trace, number: int, rank: RankTrace) -> None:
        self.words = array("q")
        self._all = all_ranks
        self._trace, self._number, self._rank = trace, number, rank
        self._peers = {comm: communicator.peers for comm, communicator in rank.communicators.items()}
        self._communicator = cache(partial(all_ranks.communicator, rank))
        self._channel = cache(lambda comm, tag: all_ranks.channel(self._communicator(comm), tag))
        self._persistent: dict[int, Call] = {}
        # By request: the position of a receive's words whose message is not known yet, and its communicator.
        self._open: dict[int, tuple[int, int]] = {}

    def encode(self, call: Call) -> None:
        """Append the words of a call."""
        function = FUNCTIONS[call.function]
        if call.thread != 0:
            raise self._refused(call, f"by thread {call.thread}, expected calls of a single thread")
        request = call.arguments.get("request", _BLOCKING) if function.is_started else _BLOCKING
        if "tries" in call.arguments:
            self.words.append(_NOTHING)
        elif function.kind in (Kind.SEND, Kind.RECEIVE) and function.is_persistent:
            self._persistent[call["request"]] = call
            self.words.append(_NOTHING)
        elif function.kind is Kind.SEND:
            self._send(call, request)
        elif function.kind is Kind.RECEIVE:
            self._receive(call, _RECEIVE_PROBED if "mrecv" in call.function.lower() else _RECEIVE, request)
        elif function.kind is Kind.COMPLETE:
            self._complete(call)
        elif function.kind is Kind.COLLECTIVE:
            self._collective(call, request)
        elif function.kind is Kind.EXCHANGE:
            self._exchange(call)
        elif function.kind is Kind.PROBE:
            message = self._origin(call, call["comm"], call["got"])
            is_matched = "mprobe" in call.function.lower()
            self.words.extend((_NOTHING,) if message is None else (_PROBE, *message, is_matched))
        elif function.kind is Kind.START:
            self._start(call)
        else:
            self.words.append(_NOTHING)

    def _refused(self, call: Call, why: str) -> Error:
        return Error(f"{self._trace.where(self._number, call)}: {call.function} {why}")

    def _send(self, call: Call, request: int) -> None:
        if call["peer"] == NOBODY:
            self.words.append(_NOTHING)
        else:
            self.words.extend((_SEND, *self._sent(call), request))

    def _sent(self, call: Call) -> tuple[int, int, int, int]:
        arguments = call.arguments
        comm = arguments["comm"]
        to = self._peers[comm][arguments["peer"]]
        size_bytes = arguments["count"] * arguments["type_bytes"]
        if size_bytes > _MOST_BYTES:
            raise self._refused(call, f"of {size_bytes} B, expected at most 2^50 B")
        return to, self._channel(comm, arguments["tag"]), size_bytes, _MODE[call.function]

    def _receive(self, call: Call, code: int, request: int) -> None:
        if request == _BLOCKING:
            message = self._origin(call, call["comm"], call["got"])
            self.words.extend((_NOTHING,) if message is None else (code, *message, request))
        else:
            self.words.extend((code, _NOWHERE, _NOWHERE, request))
            self._open[request] = len(self.words) - 3, call["comm"]

    def _origin(self, call: Call, comm: int, got: list[int] | None) -> tuple[int, int] | None:
        """Return the sender and the channel of a received message; None if there is no message."""
        if got is None or got[0] == NOBODY:
            return None
        source, tag, _ = got
        if not 0 <= source < len(self._peers[comm]):
            raise self._refused(call, f"got a message from rank {source}, expected an existing rank")
        return self._peers[comm][source], self._channel(comm, tag)

    def _complete(self, call: Call) -> None:
        requests = call["requests"]
        for request, got in zip(requests, call["got"], strict=True):
            if request in self._open:
                place, comm = self._open.pop(request)
                if message := self._origin(call, comm, got):
                    self.words[place], self.words[place + 1] = message
        self.words.extend((_WAIT, len(requests), *requests))

    def _collective(self, call: Call, request: int) -> None:
        communicator = self._rank.communicators[call["comm"]]
        if communicator.remote_ranks:
            raise self._refused(call, "on an intercommunicator, expected an intracommunicator")
        self.words.extend((_COLLECTIVE, self._communicator(call["comm"]), self._all.arguments_of(call), request))

    def _exchange(self, call: Call) -> None:
        message = self._origin(call, call["comm"], call["got"])
        if message is None:
            self._send(call, _BLOCKING)
        elif call["peer"] == NOBODY:
            self.words.extend((_RECEIVE, *message, _BLOCKING))
        else:
            self.words.extend((_EXCHANGE, *self._sent(call), *message))

    def _start(self, call: Call) -> None:
        requests_started = [
            (number, self._persistent[number]) for number in call["requests"] if number in self._persistent
        ]
        self.words.extend((_START, len(requests_started)))
        for number, message in requests_started:
            if FUNCTIONS[message.function].kind is Kind.SEND:
                self._send(message, number)
            else:
                self._receive(message, _RECEIVE, number)


_MODE = {
    key: _SYNCHRONOUS_MODE if "ssend" in key.lower() else _BUFFERED_MODE if "bsend" in key.lower() else _STANDARD_MODE
    for key, function in FUNCTIONS.items()
    if function.kind in (Kind.SEND, Kind.EXCHANGE)
}
