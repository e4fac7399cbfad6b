"""Trace files: lines of JSON, compressed by gzip; docs/replay.md describes them."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from os import PathLike, fspath
from typing import Any

from hocket._native import Error
from hocket.base import files
from hocket.traces.agreement import check_agreement
from hocket.traces.functions import FUNCTIONS, Function, Kind
from hocket.traces.lines import Lines, lines_of, reading
from hocket.traces.trace import ANY, NOBODY, SELF, THIS_ROOT, WORLD, Call, Communicator, RankTrace, Trace

_FORMAT, _VERSION = "hocket-trace", 1
_TEXTS = ("program", "mpi", "date")
_MOST_RANKS = 1 << 20
_LARGEST = (1 << 63) - 1  # limit of whole numbers
_COMPRESSION = 6


def read(path: str | PathLike[str], *, compares_ranks: bool = True) -> Trace:
    """Read a trace, compressed or not; `compares_ranks` asks to check that ranks agree, which a replay does itself.

    An Error says what is malformed or cut off, and where ranks do not agree: file, rank, line, what was expected.
    """
    name = fspath(path)
    with reading(name), lines_of(name) as lines:
        trace = _Reader(name, lines).trace()
        if compares_ranks:
            check_agreement(trace)
        return trace


def write(path: str | PathLike[str], trace: Trace) -> None:
    """Write a trace, compressed; equal traces give equal files. An Error if it cannot be written."""
    text = "".join(f"{line}\n" for line in _lines(trace))
    files.write(path, compress(text.encode()))


def compress(text: bytes) -> bytes:
    """Return the content of a trace's file, compressed; equal texts give equal files."""
    return gzip.compress(text, _COMPRESSION, mtime=0)


def _lines(trace: Trace) -> Iterator[str]:
    texts = {key: getattr(trace, key) for key in _TEXTS}
    yield _json({"format": _FORMAT, "version": _VERSION, "ranks": len(trace.ranks), **texts})
    for number, rank in enumerate(trace.ranks):
        offsets = list(rank.clock_offset_s)
        yield _json({"rank": number, "calls": len(rank.calls), "clock_offset_s": offsets, "host": rank.host})
        for call in rank.calls:
            yield _json({"call": call.function, "start_s": call.start_s, "end_s": call.end_s, **call.arguments})


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


class _Reader:
    """Reads lines, and knows the number of the current one."""

    def __init__(self, name: str, lines: Lines) -> None:
        self._name = name
        self._lines = lines
        self._rank: int | None = None

    def trace(self) -> Trace:
        header = self._parse(self._lines.next(), "a header")
        if header.get("format") != _FORMAT:
            raise self._error(f'got {_quote(header)}, expected {{"format": "{_FORMAT}", ..}}')
        if header.get("version") != _VERSION:
            raise self._error(f"got version {_quote(header.get('version'))}, expected {_VERSION}")
        count = self._whole(header, "ranks", 1, _MOST_RANKS)
        texts = {key: self._text(header, key) for key in _TEXTS}
        world = Communicator(tuple(range(count)))
        ranks = tuple(self._rank_trace(number, world) for number in range(count))
        self._rank = None
        if self._lines.next():
            raise self._error(f"expected the end of the file after {count} ranks")
        return Trace(**texts, ranks=ranks, file=self._name)

    def _rank_trace(self, number: int, world: Communicator) -> RankTrace:
        self._rank = number
        header = self._parse(self._lines.next(), f"rank {number} of {len(world.ranks)}")
        if header.get("rank") != number or isinstance(header.get("rank"), bool):
            raise self._error(f'got {_quote(header)}, expected {{"rank": {number}, ..}}')
        count = self._whole(header, "calls", 2, _LARGEST)
        offsets = header.get("clock_offset_s")
        if not (isinstance(offsets, list) and len(offsets) == 2 and all(map(_is_number, offsets))):
            raise self._error(f"clock_offset_s: got {_quote(offsets)}, expected two times in seconds")
        host = self._text(header, "host")
        state = _State(number, world, self._error)
        calls = tuple(self._call(state, index, count) for index in range(count))
        return RankTrace(host, (offsets[0], offsets[1]), calls, state.communicators)

    def _call(self, state: _State, index: int, count: int) -> Call:
        text = self._lines.next()
        head = _HEAD.match(text)
        if head and index < count - 1 and (call := state.call_like(head, text)):
            return Call(*call, self._lines.number)
        what = f"call {index + 1} of {count}"
        values = self._parse(text, what)
        name, start_s, end_s = values.pop("call", None), values.pop("start_s", None), values.pop("end_s", None)
        function = FUNCTIONS.get(name) if isinstance(name, str) else None
        if function is None:
            raise self._error(f"call: got {_quote(name)}, expected an MPI function that traces record")
        if not (_is_number(start_s) and _is_number(end_s) and 0 <= start_s <= end_s):
            raise self._error(f"got times {_quote(start_s)} and {_quote(end_s)}, expected 0 <= start_s <= end_s")
        for kind, at in ((Kind.INIT, 0), (Kind.FINALIZE, count - 1)):
            if (function.kind is kind) != (index == at):
                where = "first" if at == 0 else "last"
                raise self._error(f"got {name} as {what}, expected MPI_{kind.name.title()} {where}")
        state.take(str(name), function, values, start_s, end_s)
        if head:
            state.remember(head, text, str(name), function, values)
        return Call(str(name), start_s, end_s, values, self._lines.number)

    def _parse(self, line: bytes, what: str) -> dict[str, Any]:
        if not line:
            raise self._error(f"the file ends, expected {what}")
        try:
            value = _DECODE(line.decode())
        except (ValueError, RecursionError):
            raise self._error(f"got {line[:40]!r}, expected {what}: a JSON object") from None
        if not isinstance(value, dict):
            raise self._error(f"got {_quote(value)}, expected {what}: a JSON object")
        return value

    def _whole(self, value: Mapping[str, Any], key: str, least: int, most: int) -> int:
        number: Any = value.get(key)
        if not _is_whole(number, least, most):
            raise self._error(f"{key}: got {_quote(number)}, expected a whole number from {least} to {most}")
        return int(number)

    def _text(self, value: Mapping[str, Any], key: str) -> str:
        text = value.get(key)
        if not isinstance(text, str):
            raise self._error(f"{key}: got {_quote(text)}, expected a text")
        return text

    def _error(self, message: str) -> Error:
        rank = f", rank {self._rank}" if self._rank is not None else ""
        return Error(f"{self._name}{rank}, line {self._lines.number}: {message}")


_OF_ANY_CALL = frozenset({"thread", "ranks", "remote_ranks", "new_ranks", "new_remote_ranks"})
_OF_LOOKS = frozenset({"tries", "thread"})

_DECODE = json.JSONDecoder().decode

_WHOLE = rb"(?:0|[1-9]\d{0,17})"
_NUMBER = rb"(" + _WHOLE + rb"(?:\.\d+)?(?:[eE][-+]?\d+)?)"
_HEAD = re.compile(
    rb'\{"call":"(\w+)","start_s":%b,"end_s":%b(?:,"requests":\[(%b(?:,%b)*)\])?' % (_NUMBER, _NUMBER, _WHOLE, _WHOLE)
)
_REQUEST = b',"request":'
_STARTING_FUNCTIONS = frozenset(name.encode() for name, function in FUNCTIONS.items() if function.is_started)
_OF_THIS_LINE = frozenset({"ranks", "new", "thread"})  # values that make a line unique
_MOST_KINDS = 1 << 16  # the number of different lines that are remembered


def _common(head: re.Match[bytes], line: bytes) -> tuple[tuple[bytes, bytes], bytes]:
    """Return a line without its times and its request, and the request."""
    rest, request = line[head.end() :], b""
    if head[1] in _STARTING_FUNCTIONS:
        rest, _, request = rest.partition(_REQUEST)
    return (head[1], rest), request


class _State:
    """The state at a point of a rank's calls: open communicators and requests, and the time.

    Most lines of a trace differ from an earlier line only in times and requests. The other values are parsed and
    checked once, and then shared.
    """

    def __init__(self, rank: int, world: Communicator, error: Callable[[str], Error]) -> None:
        self.communicators = {WORLD: world, SELF: Communicator((rank,))}
        self._rank, self._ranks = rank, len(world.ranks)
        self._error = error
        self._seen = Counter(communicator.both_sides for communicator in self.communicators.values())
        self._freed_requests: set[int] = set()
        self._requests: dict[int, bool] = {}
        self._next_request = 0
        self._ends_s: dict[int, float] = {}
        self._heads: dict[tuple[bytes, bytes], tuple[str, Function, dict[str, Any]]] = {}

    def call_like(self, head: re.Match[bytes], line: bytes) -> tuple[str, float, float, dict[str, Any]] | None:
        """If a line is like an earlier one, advance the state and return its function, times and values; else None."""
        common, request = _common(head, line)
        call = self._heads.get(common)
        start_s, end_s = float(head[2]), float(head[3])
        if call is None or not self._ends_s.get(0, 0.0) <= start_s <= end_s < math.inf:
            return None
        name, function, values = call
        if request:
            if request != b"%d}\n" % self._next_request:
                return None
            values = {**values, "request": self._next_request}
            self._request(name, function, values)
        elif head[4]:
            values = {"requests": list(map(int, head[4].split(b","))), **values}
            self._request(name, function, values)
        self._ends_s[0] = end_s
        return name, start_s, end_s, values

    def remember(
        self, head: re.Match[bytes], line: bytes, name: str, function: Function, values: Mapping[str, Any]
    ) -> None:
        """Remember the values of an accepted line for similar lines."""
        common, request = _common(head, line)
        if (
            function.kind not in (Kind.INIT, Kind.FINALIZE, Kind.FREE_COMMUNICATOR)
            and _OF_THIS_LINE.isdisjoint(values)
            and ("request" in values) == bool(request)
            and ("requests" in values) == bool(head[4])
            and len(self._heads) < _MOST_KINDS
        ):
            values_shared = {key: value for key, value in values.items() if key not in ("request", "requests")}
            self._heads[common] = name, function, values_shared

    def take(self, name: str, function: Function, values: dict[str, Any], start_s: float, end_s: float) -> None:
        """Check the values of a call, and advance the state."""
        if "tries" in values and function.is_looking:
            self._names(values, frozenset({"tries"}), _OF_LOOKS, name)
        else:
            self._names(values, function.needs, function.needs | function.may_have | _OF_ANY_CALL, name)
        are_many = function.kind is Kind.COMPLETE
        for key, value in values.items():
            check, meaning = _CHECKS["got_of_many" if key == "got" and are_many else key]
            if not check(value):
                raise self._error(f"{key}: got {_quote(value)}, expected {meaning}")
        for prefix in ("", "recv_"):
            most = max(values.get(f"{prefix}counts", ()), default=values.get(f"{prefix}count", 0))
            if most * values.get(f"{prefix}type_bytes", 0) > _LARGEST:
                raise self._error(f"got {most} elements for {prefix}type_bytes, expected at most {_LARGEST} bytes")
        thread = values.get("thread", 0)
        if start_s < self._ends_s.get(thread, 0.0):
            raise self._error(f"start_s: got {start_s}, expected at least the end of the previous call")
        self._ends_s[thread] = end_s
        if "comm" in values:
            self._communicator(function, values)
        self._request(name, function, values)

    def _names(self, values: Mapping[str, Any], needs: frozenset[str], knows: frozenset[str], name: str) -> None:
        missing, unknown = needs - values.keys(), values.keys() - knows
        if missing:
            raise self._error(f"{name}: {min(missing)} is missing")
        if unknown:
            names = ", ".join(sorted(knows)) or "times"
            raise self._error(f"{name}: got {_quote(min(unknown))}, expected only {names}")

    def _communicator(self, function: Function, values: dict[str, Any]) -> None:
        number = values["comm"]
        if "ranks" in values:
            self._define(number, "ranks", values)
        if number not in self.communicators or number in self._freed_requests:
            raise self._error(f"comm: got {number}, expected an existing communicator, or `ranks` for a new one")
        if "new_ranks" in values and "new" in values:
            self._define(values["new"], "new_ranks", values)
        elif "new_ranks" in values or "new" in values:
            raise self._error("got only one of new and new_ranks, expected both")
        communicator = self.communicators[number]
        for key in ("peer", "recv_peer", "root"):
            peer = values.get(key, 0)
            least = {"peer": NOBODY, "recv_peer": NOBODY}.get(key, THIS_ROOT if communicator.remote_ranks else 0)
            is_sent_to_any = key == "peer" and peer == ANY and function.kind in (Kind.SEND, Kind.EXCHANGE)
            if is_sent_to_any or not least <= peer < len(communicator.peers):
                expected = f"a rank below {len(communicator.peers)}, the size of the communicator"
                raise self._error(f"{key}: got {peer}, expected {expected}")
        for key in ("counts", "recv_counts"):
            if key in values and len(values[key]) != len(communicator.peers):
                got = len(values[key])
                raise self._error(f"{key}: got {got} numbers, expected {len(communicator.peers)}, one per rank")
        if function.kind is Kind.FREE_COMMUNICATOR:
            self._freed_requests.add(number)
            self._heads.clear()

    def _define(self, number: int, key: str, values: Mapping[str, Any]) -> None:
        ranks = tuple(values[key])
        remote = tuple(values.get(key.replace("ranks", "remote_ranks"), ()))
        if number in self.communicators:
            raise self._error(f"got communicator {number}, expected a number that is not in use")
        if self._rank not in ranks or len({*ranks, *remote}) != len(ranks) + len(remote):
            raise self._error(f"{key}: got {_quote(ranks)}, expected different ranks, {self._rank} among them")
        if max(*ranks, *remote, 0) >= self._ranks:
            raise self._error(f"{key}: got rank {max(*ranks, *remote, 0)}, expected less than {self._ranks}")
        both_sides = Communicator(ranks, remote).both_sides
        self.communicators[number] = Communicator(ranks, remote, self._seen[both_sides])
        self._seen[both_sides] += 1

    def _request(self, name: str, function: Function, values: Mapping[str, Any]) -> None:
        if function.is_started:
            number = values["request"]
            if number != self._next_request:
                raise self._error(f"request: got {number}, expected {self._next_request}, the next one")
            self._requests[number] = function.is_persistent
            self._next_request += 1
        if "requests" not in values:
            return
        for number in values["requests"]:
            if number not in self._requests:
                raise self._error(f"requests: got {number}, expected requests of earlier calls")
            is_freed = name == "MPI_Request_free"
            if is_freed or (function.kind is Kind.COMPLETE and not self._requests[number]):
                del self._requests[number]
        if function.kind is Kind.COMPLETE and len(values["got"]) != len(values["requests"]):
            raise self._error(f"got: has {len(values['got'])} entries, expected one per request")


def _is_number(value: Any) -> bool:
    return (isinstance(value, float) and math.isfinite(value)) or _is_whole(value, -_LARGEST)


def _is_whole(value: Any, least: int = 0, most: int = _LARGEST) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_got(value: Any) -> bool:
    is_triple = isinstance(value, list) and len(value) == 3
    return value is None or (is_triple and all(map(_is_whole, value, (NOBODY, ANY, 0))))


def _are(value: Any, check: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(check, value))


_are_whole = partial(_are, check=_is_whole)
_FORMS: Iterable[tuple[str, Callable[[Any], bool], str]] = (
    ("comm new request count type_bytes recv_count recv_type_bytes thread tries", _is_whole, "a whole number"),
    ("peer recv_peer root", partial(_is_whole, least=THIS_ROOT), "a rank, or one of -1, -2, -3"),
    ("tag recv_tag", partial(_is_whole, least=ANY), "a tag, or -1"),
    ("type recv_type op", lambda value: isinstance(value, str), "a text"),
    ("commutative in_place", lambda value: isinstance(value, bool), "true or false"),
    ("counts recv_counts requests", _are_whole, "a list of whole numbers"),
    ("ranks remote_ranks new_ranks new_remote_ranks", _are_whole, "a list of ranks of MPI_COMM_WORLD"),
    ("got", _is_got, "[source, tag, bytes], or null"),
    ("got_of_many", partial(_are, check=_is_got), "a list of [source, tag, bytes] or null"),
)
_CHECKS = {name: (check, meaning) for names, check, meaning in _FORMS for name in names.split()}


def _quote(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
