"""liballprof's logs, which LogGOPSim's Schedgen also reads.

Each call has a line: its name, the start in microseconds, the arguments in the order of MPI's C function, and the end,
separated by colons. A type is written as number,size,extent; a communicator as number,rank,size; a request as an
address.

Source: gencode.py, template.c and sync.c of liballprof, and process_trace.cpp of Schedgen, in LogGOPSim's repository.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from hocket._native import Error
from hocket.base import checks, files
from hocket.traces.functions import FUNCTIONS, Function, Kind
from hocket.traces.lines import Budget, lines_of, reading
from hocket.traces.reconstruction import MOST_BYTES, RankLog, Receive, Request, number_in, trace_of
from hocket.traces.trace import ANY, NOBODY, SELF, WORLD, Call, RankTrace, Trace

_NUMBERS = files.read_rows(__file__, "allprof_numbers.csv")
TYPES = {row["name"]: int(row["number"]) for row in _NUMBERS if row["kind"] == "type"}
OPERATORS = {row["name"]: int(row["number"]) for row in _NUMBERS if row["kind"] == "operator"}
"""The numbers of types and operators in liballprof's numbers.h; others are written as 0."""
_REQUEST_BYTES = 8
_NO_ADDRESS = 0


def write_allprof(folder: str | PathLike[str], trace: Trace) -> Path:
    """Write a log for each rank, `pmpi-trace-rank-N.txt`; Schedgen takes the name of the first one.

    Times are rounded to microseconds, as in liballprof. Clock differences are also in microseconds, as there, although
    liballprof labels them s. A wait for several requests is written as one wait for each. Left out are looks that found
    nothing, messages from and to MPI_PROC_NULL, persistent requests, and collectives with blocks of different sizes.
    """
    target = Path(checks.path("folder", folder))
    files.make_folder(target)
    texts = {}
    for number, rank in enumerate(trace.ranks):
        head = (
            f"# htor's PMPI Tracer Output File, as written by Hocket\n# time: {trace.date}\n# hostname: {rank.host}\n"
            f"# clockdiff: {rank.clock_offset_s[0] * 1e6:.6f} s (relative to rank 0)\n\n"
        )
        lines = "".join(f"{line}\n" for call in rank.calls for line in _lines(number, rank, call))
        texts[str(target / f"pmpi-trace-rank-{number}.txt")] = f"{head}{lines}"
    files.write_all(texts)
    return target / "pmpi-trace-rank-0.txt"


def _lines(number: int, rank: RankTrace, call: Call) -> Iterator[str]:
    function = FUNCTIONS[call.function]
    start, end = round(call.start_s * 1e6), round(call.end_s * 1e6)
    peers = {call[name] for name in ("peer", "recv_peer") if name in call.arguments}
    if function.kind is Kind.COMPLETE:
        for request in call.arguments.get("requests", ()):
            yield f"MPI_Wait:{start}:{_address(request)}:{_NO_ADDRESS}:{end}"
            start = end
        return
    if call.function == "MPI_Init":
        yield f"MPI_Init:{start}:{_NO_ADDRESS}:{_NO_ADDRESS}:{end}"
    elif call.function == "MPI_Finalize":
        yield f"# Finalize clockdiff: {rank.clock_offset_s[1] * 1e6:.6f}"
        yield f"MPI_Finalize:{start}:{end}"
    elif "tries" not in call.arguments and peers != {NOBODY}:
        name = _NAMES_IN_LOG.get(call.function, call.function)
        form = function.blocking or name
        if form in _WRITTEN_FUNCTIONS:
            texts = [_text(argument, number, rank, call) for argument in ARGUMENTS[form].split()]
            if function.is_started:
                texts.append(str(_address(call["request"])))
            yield ":".join([name, str(start), *texts, str(end)])


def _address(request: int) -> int:
    """Return the address of a request; 0 would mean no request."""
    return (request + 1) * _REQUEST_BYTES


def _text(argument: str, number: int, rank: RankTrace, call: Call) -> str:
    """Return an argument of a call by a rank, as a log has it."""
    if argument == "buffer":
        return str(_NO_ADDRESS)
    if argument == "comm":
        ranks = rank.communicators[call["comm"]].ranks
        return f"{call['comm']},{ranks.index(number)},{len(ranks)}"
    if argument in ("type", "recv_type"):
        size = call.arguments.get(f"{argument}_bytes", 0)
        return f"{TYPES.get(call.arguments.get(argument, ''), 0)},{size},{size}"
    return str(OPERATORS.get(call["op"], 0) if argument == "op" else call.arguments.get(argument, 0))


_NAMES_IN_LOG = {"MPI_Mrecv": "MPI_Recv", "MPI_Imrecv": "MPI_Irecv", "MPI_Sendrecv_replace": "MPI_Sendrecv"}
"""Receives of probed messages, which liballprof does not know; each is written as an equivalent function."""

_ROWS = files.read_rows(__file__, "allprof.csv")
ARGUMENTS = {function: row["arguments"] for row in _ROWS for function in row["functions"].split()}
"""The arguments of functions."""
_WRITTEN_FUNCTIONS = frozenset(function for row in _ROWS if row["is_written"] for function in row["functions"].split())


_FIRST = re.compile(r"^(.*-)(0+)(\D.*|)$")
_LONGEST_NUMBER = 20  # the most characters of an address: 64 bits
_LARGEST_TIME_US = 1e18
_MPICH_WORLD = f":{0x44000000},"
"""MPICH's MPI_COMM_WORLD. In MPICH's logs -1 is MPI_PROC_NULL and -2 any source; elsewhere it is the reverse."""

_IN_PLACE = frozenset({"1", str((1 << 64) - 1)})  # MPI_IN_PLACE as an address: in Open MPI, and in MPICH
_NAMES = {number: name for name, number in TYPES.items()}
_OPERATOR_NAMES = {number: name for name, number in OPERATORS.items()}

_COUNTS = ("counts", "recv_counts", "displacements")
_BEFORE = frozenset({"MPI_Init", "MPI_Init_thread"})


def _form(name: str) -> str:
    """Return the function whose values this function has."""
    return FUNCTIONS[name].blocking or name


def is_log(line: bytes) -> bool:
    """Return whether a line may be the first line of liballprof's logs."""
    return line.startswith((b"# htor's PMPI Tracer", b"MPI_Init"))


def read_allprof(first: str | PathLike[str]) -> Trace:
    """Read liballprof's logs, given that of rank 0, such as `pmpi-trace-rank-0.txt`, which Schedgen also takes.

    The other logs are beside it, with numbers of the same width. The message of a receive follows from MPI's rules. A
    communicator as large as MPI_COMM_WORLD counts as MPI_COMM_WORLD, and one with a single rank as MPI_COMM_SELF; the
    logs do not say which ranks other communicators have. Probes and functions that make communicators are left out. An
    Error says where a log is missing, malformed or ambiguous, or ranks do not agree: file, rank, line, what was
    expected.
    """
    name = fspath(first)
    with reading(name):
        budget, names = Budget(), _logs(name)
        logs = [_Rank(log, number, len(names), budget) for number, log in enumerate(names)]
        for log in logs:
            log.read()
        for log in logs:
            log.log.clock_offset_s = log.clock_offset_s(logs[0])
        return trace_of([log.log for log in logs], Path(name).stem, logs[0].tracer, name, date=logs[0].date)


def _logs(first: str) -> list[str]:
    """Return the names of the logs of all ranks."""
    folder, base = os.path.split(first)
    parts = _FIRST.match(base)
    if not parts:
        raise Error(f"{first}: expected the log of rank 0, with a name such as pmpi-trace-rank-0.txt")
    before, zeros, after = parts.groups()
    try:
        file_names = set(os.listdir(folder or "."))
    except OSError as error:
        raise Error(f"{first}: {error.strerror}") from None
    pattern = re.compile(re.escape(before) + r"([0-9]{1,9})" + re.escape(after))
    numbers = [int(match[1]) for name in file_names if (match := pattern.fullmatch(name))]
    names = [f"{before}{number:0{len(zeros)}d}{after}" for number in range(len(numbers))]
    for number, name in enumerate(names):
        if name not in file_names:
            largest = f"rank {max(numbers)} has one"
            raise Error(f"{os.path.join(folder, name)}: no such log, expected a log of rank {number}, as {largest}")
    return [os.path.join(folder, name) for name in names] or [first]


class _Rank:
    """Reads the log of one rank."""

    def __init__(self, name: str, number: int, ranks: int, budget: Budget) -> None:
        self._name, self._number, self._ranks, self._budget = name, number, ranks, budget
        self.log = RankLog(f"{name}, rank {number}")
        self.tracer, self.date = "liballprof", ""
        self._differences_us = [0.0, 0.0]
        self._origin_us: float | None = None
        self._end_s = 0.0
        self._line = 0
        self._is_finished = False
        self._is_mpich = False
        self._handle_bytes = 8

    def clock_offset_s(self, first: _Rank) -> tuple[float, float]:
        """Return the difference between rank 0's clock and the clock of this rank's log."""
        began_us = (self._origin_us or 0.0) - (first._origin_us or 0.0)
        begin_us, end_us = (difference + began_us for difference in self._differences_us)
        return begin_us / 1e6, end_us / 1e6

    def read(self) -> None:
        """Read the whole log."""
        calls = self._calls()
        self._is_mpich = any(_MPICH_WORLD in text for _, text in calls)
        addresses = (address for _, text in calls for address in _addresses(*text.split(":")))
        self._handle_bytes = 4 if any(address % 8 == 4 for address in addresses) else 8
        for line, text in calls:
            self._line = line
            self._take(*text.split(":"))
        if not self._is_finished:
            raise self._error("the file ends, expected MPI_Finalize")
        self.log.settle()

    def _error(self, message: str) -> Error:
        return self.log.error(self._line, message)

    def _calls(self) -> list[tuple[int, str]]:
        """Return the lines with calls, and their numbers."""
        calls: list[tuple[int, str]] = []
        with lines_of(self._name, self._budget) as lines:
            for line in lines:
                self._line = lines.number
                text = line.decode("ascii", errors="replace").strip()
                if text.startswith("#"):
                    self._head(text[1:].strip())
                elif text.startswith("MPI_"):
                    calls.append((self._line, text))
                elif text:
                    raise self._error(f"got {text[:40]!r}, expected a comment or an MPI call")
        return calls

    def _head(self, text: str) -> None:
        key, _, value = text.partition(": ")
        if key == "hostname":
            self.log.host = value
        elif key == "time":
            self.date = value
        elif key in ("clockdiff", "Finalize clockdiff"):
            difference_us = _number(value.split(" ")[0])
            if difference_us is None:
                raise self._error(f"{key}: got {value[:40]!r}, expected a number")
            self._differences_us[key == "Finalize clockdiff"] = difference_us
        elif text.startswith("htor's PMPI Tracer"):
            self.tracer = text.removeprefix("htor's ").partition(" Output")[0]

    def _take(self, name: str, *words: str) -> None:
        function = FUNCTIONS.get("MPI_Init" if name in _BEFORE else name)
        if function is None or function.kind in (Kind.PROBE, Kind.NEW_COMMUNICATOR, Kind.FREE_COMMUNICATOR):
            return
        if self._is_finished:
            raise self._error(f"got {name}, expected nothing after MPI_Finalize")
        if (function.kind is Kind.INIT) != (self._origin_us is None):
            raise self._error(f"got {name}, expected MPI_Init exactly once, as the first call")
        if function.kind is Kind.INIT:
            self._init(words)
        elif function.kind is Kind.FINALIZE:
            self._is_finished = True
            self.log.settle()
            self._call(name, [words[0], words[0]] if words else [], {})
        elif _form(name) not in ARGUMENTS:
            why = "liballprof does not record its arguments"
            raise self._error(f"{name}: {why}, expected a function with recorded arguments")
        else:
            self._add_call(name, function, words)

    def _init(self, words: Sequence[str]) -> None:
        began_us, ended_us = (_number(word) for word in (words[0], words[-1])) if words else (None, None)
        if ended_us is None:
            raise self._error("MPI_Init: expected a time, in microseconds, as its last value")
        self._origin_us = ended_us if began_us is None else began_us
        self._call("MPI_Init", [str(self._origin_us), words[-1]], {})

    def _call(self, name: str, words: Sequence[str], arguments: dict[str, Any]) -> None:
        """Append a call; its times are the first and the last word."""
        times_us = [_number(word) for word in (words[0], words[-1])] if len(words) > 1 else [None]
        if None in times_us or self._origin_us is None:
            raise self._error(f"{name}: expected two times, in microseconds, as its first and its last value")
        start_s, end_s = ((time_us - self._origin_us) / 1e6 for time_us in times_us if time_us is not None)
        if not self._end_s <= start_s <= end_s:
            times = f"times {words[0][:40]} and {words[-1][:40]}"
            raise self._error(f"{name}: got {times}, expected times after the previous call")
        self._end_s = end_s
        self.log.calls.append(Call(name, start_s, end_s, arguments, self._line))

    def _add_call(self, name: str, function: Function, words: Sequence[str]) -> None:
        values = self._values(name, function, words)
        arguments: dict[str, Any] = {}
        if function.kind in (Kind.SEND, Kind.RECEIVE, Kind.EXCHANGE):
            self._message(name, function, values, arguments)
        elif function.kind is Kind.COLLECTIVE:
            self._collective(name, values, arguments)
            if function.is_started:
                arguments["request"] = self._request(values["request"]).number
        elif not self._completion(name, function, values, arguments):
            return
        self._call(name, words, arguments)

    def _values(self, name: str, function: Function, words: Sequence[str]) -> dict[str, Any]:
        """Return the values of a call by name."""
        names = ARGUMENTS[_form(name)].split() + (["request"] if function.is_started else [])
        fields = [field for field in names for _ in range(1 + (field in _COUNTS))]
        expected = f"{name}: got {len(words)} values, expected start, {', '.join(fields)}, end"
        if len(words) < len(fields) + 2 or (function.kind is not Kind.COMPLETE and len(words) != len(fields) + 2):
            raise self._error(expected)
        values: dict[str, Any] = {}
        rest = iter(words[1:-1])
        for field in names:
            word = next(rest)
            if field in _COUNTS:  # after their address
                word = next(rest)
            values[f"second_{field}" if field in values else field] = word
        return values

    def _whole(self, word: str, name: str, least: int = 0, most: int = MOST_BYTES) -> int:
        value = int(word) if _is_whole(word) else least - 1
        if not least <= value <= most:
            raise self._error(f"{name}: got {word[:40]!r}, expected a whole number from {least} to {most}")
        return value

    def _numbers(self, values: Mapping[str, str], name: str, many: int) -> list[int]:
        words = values[name].split(",")
        if len(words) != many:
            raise self._error(f"{name}: got {len(words)} numbers, expected {many}")
        return [self._whole(word, name, 0, 1 << 64) for word in words]

    def _communicator(self, values: Mapping[str, str]) -> int:
        _, rank, size = self._numbers(values, "comm", 3)
        if (rank, size) == (self._number, self._ranks):
            return WORLD
        if (rank, size) == (0, 1):
            return SELF
        world = f"rank {self._number} of {self._ranks} as in MPI_COMM_WORLD"
        raise self._error(f"comm: got rank {rank} of {size}, expected MPI_COMM_SELF, or {world}")

    def _data(self, values: Mapping[str, str], prefix: str = "", ranks: int = 1) -> dict[str, Any]:
        number, size_bytes, _ = self._numbers(values, f"{prefix}type", 3)
        one, many = f"{prefix}count", f"{prefix}counts"
        counts = self._numbers(values, many, ranks) if many in values else [self._whole(values[one], one)]
        self.log.check_size(self._line, max(counts), size_bytes)
        is_letter = number == TYPES["MPI_CHARACTER"] and size_bytes == 1
        name = "MPI_CHARACTER" if is_letter else _NAMES.get(number, "derived")
        own = {many: counts} if many in values else {one: counts[0]}
        return {**own, f"{prefix}type": name, f"{prefix}type_bytes": size_bytes}

    def _peer(self, values: Mapping[str, str], name: str, comm: int, is_source: bool) -> int:
        peer = self._whole(values[name], name, -2, (1 if comm else self._ranks) - 1)
        if peer >= 0:
            return peer
        return ANY if is_source and peer == (-2 if self._is_mpich else -1) else NOBODY

    def _message(self, name: str, function: Function, values: dict[str, str], arguments: dict[str, Any]) -> None:
        is_receive = function.kind is Kind.RECEIVE
        arguments["comm"] = comm = self._communicator(values)
        arguments["peer"] = self._peer(values, "peer", comm, is_receive)
        arguments["tag"] = self._whole(values["tag"], "tag", -1 if is_receive or arguments["peer"] == NOBODY else 0)
        arguments.update(self._data(values))
        log, line = self.log, self._line
        if function.kind is Kind.EXCHANGE:
            arguments["recv_peer"] = self._peer(values, "recv_peer", comm, True)
            arguments["recv_tag"] = self._whole(values["recv_tag"], "recv_tag", -1)
            same = {f"recv_{key}": values[key] for key in ("count", "type")}
            arguments.update(self._data({**same, **values}, "recv_"))
            log.send(arguments)
            log.blocking(arguments, log.receive(arguments, line, "recv_"))
        elif function.is_persistent:
            request = self._request(values["request"])
            request.is_open = False
            request.start = lambda: log.post(arguments, line, not is_receive)
            arguments["request"] = request.number
        else:
            receive = log.post(arguments, line, not is_receive)
            if function.is_started:
                arguments["request"] = self._request(values["request"], receive).number
            elif is_receive:
                log.blocking(arguments, receive)

    def _request(self, word: str, receive: Receive | None = None) -> Request:
        address = self._whole(word, "request", 0, 1 << 64)
        self.log.forget(address)
        return self.log.request(address, receive)

    def _collective(self, name: str, values: dict[str, str], arguments: dict[str, Any]) -> None:
        kind = _form(name).removeprefix("MPI_")
        arguments["comm"] = comm = self._communicator(values)
        size = 1 if comm else self._ranks
        is_root = True
        if "root" in values:
            arguments["root"] = self._whole(values["root"], "root", 0, size - 1)
            is_root = arguments["root"] == (0 if comm else self._number)
        if "op" in values:
            operator = _OPERATOR_NAMES.get(self._whole(values["op"], "op", 0, 1 << 64))
            arguments.update(op=operator or "user", commutative=operator is not None)
        if kind == "Barrier":
            return
        is_scatter, has_both = kind.startswith("Scatter"), "recv_type" in values
        buffer_name = values["second_buffer" if is_scatter else "buffer"] if kind != "Bcast" else ""
        in_place = buffer_name in _IN_PLACE
        if in_place:
            arguments["in_place"] = True
        if not has_both or (is_root if is_scatter else not in_place):
            arguments.update(self._data(values, "", size))
        if has_both and (not in_place if is_scatter else is_root or not kind.startswith("Gather")):
            arguments.update(self._data(values, "recv_", size))

    def _completion(self, name: str, function: Function, values: dict[str, str], arguments: dict[str, Any]) -> bool:
        """Let a call complete, start, cancel or free requests; return whether the call should be kept."""
        requests = self._requests(values)
        if function.kind is Kind.START:
            if len(requests) < int(values.get("requests", 1)):
                raise self._error(f"{name}: got an unknown request, expected requests of earlier calls")
            for request in requests:
                if request.start is None:
                    raise self._error(f"{name}: got a nonpersistent request, expected persistent requests")
                request.receive, request.is_open = request.start(), True
        elif function.kind is Kind.COMPLETE:
            requests = [request for request in requests if request.is_open]
            if name.endswith(("any", "some")) and len(requests) > 1:
                why = "as the log does not record which one completed"
                raise self._error(f"{name}: got {len(requests)} open requests, expected one, {why}")
            if not function.is_looking:
                arguments.update(self.log.complete(requests))
            elif requests:
                self.log.look(requests, arguments)
            return not function.is_looking or bool(requests)
        else:
            for request in requests:
                if name == "MPI_Request_free":
                    self.log.forget(request.key)
        arguments["requests"] = [request.number for request in requests]
        return bool(requests)

    def _requests(self, values: dict[str, str]) -> list[Request]:
        """Return the requests at an address or in an array of addresses, without null requests."""
        address = self._whole(values["request"], "request", 0, 1 << 64)
        count = self._whole(values["requests"], "requests") if "requests" in values else 1
        requests = self.log.requests
        addresses: Sequence[Any] = range(address, address + count * self._handle_bytes, self._handle_bytes)
        if count > len(requests):
            addresses = sorted(key for key in requests if key in addresses)
        return [requests[key][0] for key in addresses if key in requests]


def _addresses(name: str, *words: str) -> Iterator[int]:
    """Give the address of the request that a function starts or uses."""
    function = FUNCTIONS.get(name)
    if function and (function.is_started or "requests" in function.needs) and len(words) > 2:
        at = -2 if function.is_started else len(ARGUMENTS.get(name, "request").split())
        if _is_whole(words[at]):
            yield int(words[at])


def _is_whole(word: str) -> bool:
    return len(word) <= _LONGEST_NUMBER and word.removeprefix("-").isdecimal()


def _number(word: str) -> float | None:
    return number_in(word, -_LARGEST_TIME_US, _LARGEST_TIME_US)
