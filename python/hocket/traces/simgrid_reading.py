"""Reading SimGrid's time-independent traces, which `smpirun -replay` reads.

Source: smpi_replay.cpp and xbt_replay.cpp of SimGrid 3.25 to 3.32; for the numbers of types, smpi_datatype.cpp.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from hocket._native import Error
from hocket.base.files import read_rows
from hocket.traces.lines import Budget, lines_of, reading
from hocket.traces.reconstruction import MOST_BYTES, UNKNOWN_OPERATOR, RankLog, number_in, trace_of
from hocket.traces.trace import ANY, WORLD, Call, Trace

_FLOPS_PER_S = 1e9
_MOST_RANKS = 1 << 20
_WORDS_OF_ANY: Mapping[str, Sequence[str]] = {"source": ("-555", "-333"), "source_tag": ("-444",)}
"""As in SimGrid's mpi.h. In traces that SimGrid wrote, any source is MPI_UNDEFINED, -333."""

_MOST_KNOWN = 1 << 12  # the number of different lines that are remembered
_LONGEST_NUMBER = 400  # of a line, in characters
_LARGEST_NUMBER = sys.float_info.max

_ACTIONS: Mapping[str, str] = {
    action: row["values"] for row in read_rows(__file__, "simgrid_actions.csv") for action in row["actions"].split()
}
_TYPES: Mapping[str, tuple[str, int]] = {
    str(number): (row["type"], int(row["bytes"])) for number, row in enumerate(read_rows(__file__, "simgrid_types.csv"))
}
"""SimGrid's types by number: name and size in bytes."""

_BYTE, _DOUBLE = ("MPI_BYTE", 1), ("MPI_DOUBLE", 8)


def _is_action(line: bytes) -> bool:
    """Return whether a line is an action of a rank; otherwise it is the name of a file of actions."""
    words = line.split(None, 2)
    return len(words) > 1 and words[0].isdigit() and words[1].decode(errors="replace") in _ACTIONS


def read_simgrid(index: str | PathLike[str], *, flops_per_s: float = _FLOPS_PER_S) -> Trace:
    """Read SimGrid's time-independent traces, whose `flops_per_s` take one second.

    The file lists a file of actions for each rank, or one for all, beside it or in the current folder; or it has the
    actions of all ranks. Ranks compute between calls; the calls themselves take no time. The message of a receive
    follows from MPI's rules. At the end each rank waits for its open requests, as in SimGrid. An Error says what is
    malformed, or where ranks do not agree: file, rank, line, what was expected.
    """
    if not (math.isfinite(flops_per_s) and flops_per_s > 0):
        raise Error(f"flops_per_s: got {flops_per_s}, expected a number above 0")
    name = fspath(index)
    with reading(name):
        files = _Files(name)
        logs = [_Rank(files, number, flops_per_s).log() for number in range(files.ranks)]
        return trace_of(logs, Path(name).stem, "SimGrid", name)


class _Files:
    """Which file has the actions of a rank, and the number of ranks."""

    def __init__(self, name: str) -> None:
        self._budget = Budget()
        self._merged: dict[int, list[tuple[int, bytes]]] | None = None
        with lines_of(name, self._budget) as lines:
            first = next(filter(is_meant, lines), None)
            if first is None:
                raise Error(f"{name}: the file ends, expected actions of ranks, or names of files with actions")
            lines_listed = [] if _is_action(first) else [first, *filter(is_meant, lines)]
            self.names = [_path(name, number, line) for number, line in enumerate(lines_listed, 1)] or [name]
        if len(set(self.names)) == 1:
            self._merge(self.names[0])
        self.ranks = len(self.names) if self._merged is None else len(self._merged)

    def _merge(self, name: str) -> None:
        by_rank: dict[int, list[tuple[int, bytes]]] = {}
        for rank, number, line in self._actions(name):
            by_rank.setdefault(rank, []).append((number, line))
        if not by_rank:
            raise Error(f"{name}: the file ends, expected actions of ranks")
        missing = next((rank for rank in range(max(by_rank)) if rank not in by_rank), None)
        if missing is not None:
            has = f"has actions of rank {max(by_rank)}, but none of rank {missing}"
            raise Error(f"{name}: {has}, expected actions of all ranks")
        self._merged = by_rank

    def name(self, rank: int) -> str:
        return self.names[0 if self._merged else rank]

    def lines(self, rank: int) -> Generator[tuple[int, bytes], None, None]:
        if self._merged is not None:
            yield from self._merged[rank]
            return
        name = self.names[rank]
        with closing(self._actions(name)) as actions:
            for rank_of_line, number, line in actions:
                if rank_of_line != rank:
                    raise Error(f"{name}, line {number}: an action of rank {rank_of_line}, expected rank {rank}")
                yield number, line

    def _actions(self, name: str) -> Generator[tuple[int, int, bytes], None, None]:
        """Give the actions of a file, each with its rank and the number of its line."""
        with lines_of(name, self._budget) as lines:
            for line in filter(is_meant, lines):
                word = line.split(None, 1)[0]
                if not (word.isdigit() and len(word) <= 7 and int(word) < _MOST_RANKS):
                    got = f"got {excerpt(line)}, expected a rank below {_MOST_RANKS} and its action"
                    raise Error(f"{name}, line {lines.number}: {got}")
                yield int(word), lines.number, line


def is_meant(line: bytes) -> bool:
    """Return whether a line is neither empty nor a comment."""
    text = line.strip()
    return bool(text) and not text.startswith(b"#")


def begins_trace(index: str, line: bytes) -> bool:
    """Return whether the first line with content may begin a trace: an action, or the name of a file."""
    return line.split(None, 1)[0].isdigit() or _file_of(index, line) is not None


def _path(index: str, number: int, line: bytes) -> str:
    path = _file_of(index, line)
    if path is None:
        raise Error(f"{index}: got {excerpt(line)} as file {number}, expected an existing file")
    return path


def _file_of(index: str, line: bytes) -> str | None:
    """Return the path of the file that a line names, if it exists beside the index or in the current folder."""
    name = os.fsdecode(line.strip())
    path_beside = os.path.join(os.path.dirname(index), name)
    return next((path for path in (path_beside, name) if "\0" not in path and os.path.isfile(path)), None)


def excerpt(line: bytes) -> str:
    """Return the beginning of a line, for error messages."""
    return repr(line.strip()[:40].decode(errors="replace"))


class _Rank:
    """Reads the actions of one rank."""

    def __init__(self, files: _Files, number: int, flops_per_s: float) -> None:
        self._files, self._number, self._ranks = files, number, files.ranks
        self._flops_per_s = flops_per_s
        self._flops, self._slept_s = 0.0, 0.0
        self._line = 0
        self._default = _BYTE
        self._log = RankLog(f"{files.name(number)}, rank {number}")

    def log(self) -> RankLog:
        """Read all actions."""
        calls = self._log.calls
        cache: dict[bytes, tuple[str, dict[str, Any]]] = {}
        with closing(self._files.lines(self._number)) as lines:
            for self._line, line in lines:
                action, values = cache.get(line) or self._parse(line)
                if (action == "init") != (not calls):
                    raise self._error(f"got {action}, expected init exactly once, as the first action")
                if calls and calls[-1].function == "MPI_Finalize":
                    raise self._error(f"got {action}, expected nothing after finalize")
                self._take(action, values)
                if len(cache) < _MOST_KNOWN:
                    cache[line] = action, values
        if not calls or calls[-1].function != "MPI_Finalize":
            raise self._error("the file ends, expected finalize")
        return self._log

    def _error(self, message: str) -> Error:
        return self._log.error(self._line, message)

    def _parse(self, line: bytes) -> tuple[str, dict[str, Any]]:
        """Return the action of a line, and its values by name."""
        words = line.decode("ascii", errors="replace").split()
        if len(words) < 2 or words[1] not in _ACTIONS:
            raise self._error(f"got {excerpt(line)}, expected an action that SimGrid replays")
        return words[1], self._values(words[1], words[2:])

    def _values(self, action: str, words: list[str]) -> dict[str, Any]:
        """Return the values of an action by name."""
        names, values = _ACTIONS[action].split(), dict[str, Any]()
        if names == ["ignored?"]:
            return values
        rest = words
        for name in names:
            key = name.rstrip("?")
            many = self._ranks if key.endswith("sizes") else 1
            if len(rest) < many and key != name:
                break
            if len(rest) < many:
                raise self._refusal(action, names, words)
            if key.endswith("sizes"):
                values[key] = [self._value("size", word) for word in rest[:many]]
            else:
                values[key] = self._value(key, rest[0])
            rest = rest[many:]
            if action == "allgatherv" and name == "recv_sizes" and len(rest) > 2:
                rest = rest[: len(rest) - self._ranks]  # displacements follow the types
        if rest:
            raise self._refusal(action, names, words)
        if action == "allgatherv" and "type" in values:
            values.setdefault("recv_type", values["type"])
        return values

    def _refusal(self, action: str, names: list[str], words: list[str]) -> Error:
        expected = " ".join(f"{name}*{self._ranks}" if name.endswith("sizes") else name for name in names) or "none"
        return self._error(f"{action}: got {len(words)} values, expected {expected}")

    def _value(self, key: str, word: str) -> Any:
        kind = key.removeprefix("recv_")
        if kind in ("file", "line", "default"):
            return word
        words_of_any = _WORDS_OF_ANY.get(kind, ())
        if word in words_of_any:
            return ANY
        or_any = "".join(f", or {one}" for one in words_of_any[:1])
        value: Any
        if kind == "type":
            value, expected = _TYPES.get(word), f"the number of a type that SimGrid has, 0 to {len(_TYPES) - 1}"
        elif kind in ("flops", "seconds"):
            value, expected = number_in(word, 0.0, _LARGEST_NUMBER), "a number, at least 0"
        elif kind in ("size", "room", "buffer"):
            value, expected = _whole(word, -1 if kind == "room" else 0), f"a whole number, at most {MOST_BYTES}"
        elif kind in ("tag", "source_tag"):
            value, expected = _whole(word, 0), f"a tag{or_any}"
        else:
            value, expected = _whole(word, 0, self._ranks - 1), f"a rank below {self._ranks}{or_any}"
        if value is None:
            raise self._error(f"{key}: got {excerpt(word.encode())}, expected {expected}")
        return value

    def _take(self, action: str, values: dict[str, Any]) -> None:
        if action in ("compute", "sleep"):
            self._flops += values.get("flops", 0.0)
            self._slept_s += values.get("seconds", 0.0)
        elif action == "init":
            self._default = _DOUBLE if "default" in values else _BYTE
            self._call("Init", {})
        elif action == "finalize":
            self._log.settle()
            if waiting := self._log.open():
                self._call("Waitall", self._log.complete(waiting))
            self._call("Finalize", {})
        elif action in ("send", "isend", "recv", "irecv", "sendRecv"):
            self._message(action, values)
        elif action in ("wait", "test"):
            self._wait(action, values)
        elif action == "waitall":
            self._call("Waitall", self._log.complete(self._log.open()))
        elif action != "location" and not action.startswith("comm_"):
            self._collective(action, values)

    def _call(self, name: str, arguments: dict[str, Any]) -> None:
        now_s = self._flops / self._flops_per_s + self._slept_s
        if not math.isfinite(now_s):
            raise self._error("the computing time exceeds the range of numbers, expected less computing")
        self._log.calls.append(Call(f"MPI_{name}", now_s, now_s, arguments, self._line))

    def _data(self, values: Mapping[str, Any], prefix: str = "", size: str = "size") -> dict[str, Any]:
        """Return the number of elements, or the numbers for each rank, and their type."""
        name, size_bytes = values.get(f"{prefix}type", self._default)
        many = f"{prefix}{size}s"
        counts = {f"{prefix}counts": values[many]} if many in values else {f"{prefix}count": values[f"{prefix}{size}"]}
        for count in values[many] if many in values else counts.values():
            self._log.check_size(self._line, count, size_bytes)
        return {**counts, f"{prefix}type": name, f"{prefix}type_bytes": size_bytes}

    def _message(self, action: str, values: dict[str, Any]) -> None:
        log, line = self._log, self._line
        if action == "sendRecv":
            arguments = {"comm": WORLD, "peer": values["rank"], "tag": 0, **self._data(values)}
            arguments.update(recv_peer=values["source"], recv_tag=0, **self._data(values, "recv_"))
            log.send(arguments)
            log.blocking(arguments, log.receive(arguments, line, "recv_"))
            self._call("Sendrecv", arguments)
            return
        is_send = action in ("send", "isend")
        peer, tag = (values["rank"], values["tag"]) if is_send else (values["source"], values["source_tag"])
        is_sized = is_send or values["room"] >= 0
        data = self._data(values, size="size" if is_send else "room") if is_sized else dict(_UNKNOWN)
        arguments = {"comm": WORLD, "peer": peer, "tag": tag, **data}
        receive = log.post(arguments, line, is_send, is_sized)
        if action in ("isend", "irecv"):
            ends = (self._number, peer) if is_send else (peer, self._number)
            arguments["request"] = log.request((*ends, tag), receive).number
        elif not is_send:
            log.blocking(arguments, receive)
        self._call(action.title(), arguments)

    def _wait(self, action: str, values: dict[str, Any]) -> None:
        key = (values["source"], values["rank"], values["source_tag"])
        request = self._log.first(key)
        if request is None:
            raise self._error(f"{action}: got {key[0]} {key[1]} {key[2]}, expected an isend or irecv before it")
        if action == "wait":
            self._call("Wait", self._log.complete([request]))
        else:
            arguments: dict[str, Any] = {}
            self._log.look([request], arguments)
            self._call("Test", arguments)

    def _collective(self, action: str, values: dict[str, Any]) -> None:
        arguments: dict[str, Any] = {"comm": WORLD}
        is_root = True
        if "root?" in _ACTIONS[action]:
            arguments["root"] = values.get("root", 0)
            is_root = arguments["root"] == self._number
        if "flops" in values:
            arguments.update(UNKNOWN_OPERATOR)
        if values.keys() & {"size", "sizes"} and (is_root or not action.startswith("scatter")):
            arguments.update(self._data(values))
        if values.keys() & {"recv_size", "recv_sizes"} and (is_root or not action.startswith("gather")):
            arguments.update(self._data(values, "recv_"))
        self._call("Reduce_scatter" if action == "reducescatter" else action.title(), arguments)
        self._flops += values.get("flops", 0.0)


_UNKNOWN: Mapping[str, Any] = {"count": 0, "type": "MPI_BYTE", "type_bytes": 1}
"""The data of a receive whose buffer size is not in the trace: as much as it gets."""


def _whole(word: str, least: int, most: int = MOST_BYTES) -> int | None:
    """Return a whole number, which may be written as 1e6."""
    if len(word) > _LONGEST_NUMBER:
        return None
    try:
        value = int(word)
    except ValueError:
        number = number_in(word, least, _LARGEST_NUMBER)
        if number is None or number != int(number):
            return None
        value = int(number)
    return value if least <= value <= most else None
