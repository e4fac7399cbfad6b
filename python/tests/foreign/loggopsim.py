"""GOAL, as LogGOPSim and its converter read it. Both return the tasks of each rank, so that they can be compared."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

_ANY = (1 << 32) - 1  # means any source or any tag
_SIZE_LIMIT = 1 << 64
_KEYWORDS = {"send", "recv", "calc", "rank", "num_ranks"}
_BLANK = r"[ \t]+"
_LABEL = r"[a-zA-Z][a-zA-Z0-9_]*"
_PLACE = rf"(?:{_BLANK}cpu{_BLANK}(?P<cpu>\d+))?(?:{_BLANK}nic{_BLANK}(?P<nic>\d+))?"
_TASK = re.compile(
    rf"(?:(?P<label>{_LABEL}):[ \t]*)?(?:calc{_BLANK}(?P<time>\d+)(?:{_BLANK}cpu{_BLANK}\d+)?"
    rf"|(?P<kind>send|recv){_BLANK}(?P<size>\d+)b{_BLANK}(?P<way>to|from){_BLANK}(?P<peer>-1|\d+)"
    rf"(?:{_BLANK}tag{_BLANK}(?P<tag>-1|\d+))?{_PLACE})[ \t]*"
)
_WAIT = re.compile(rf"({_LABEL}){_BLANK}(requires|irequires){_BLANK}({_LABEL})[ \t]*")

_MAGIC = 4223
_HEAD = struct.Struct("<QIBB")
_NODE = struct.Struct("<IBIQIBBIIII")
_SEND, _RECEIVE, _CALCULATE = 1, 2, 3


@dataclass
class Task:
    """A task: its kind by number, and the tasks of its rank for whose end or start it waits."""

    kind: int
    size: int
    peer: int = 0
    tag: int = 0
    after: set[int] = field(default_factory=set)
    after_start: set[int] = field(default_factory=set)


def read_by_txt2bin(text: str) -> list[list[Task]]:
    """Read GOAL text as LogGOPSim's converter does.

    The ranks have to follow each other from 0 on, each with a block. A label belongs to one rank, and is defined above
    its use. Numbers too large for their type would be cut off without a word.

    Source: `src/LogGOPSim/txt2bin.re` and `Goal.hpp` in spcl/LogGOPSim.
    """
    lines = [line for line in text.removesuffix("\n").split("\n") if line.strip(" \t")]
    head = re.fullmatch(rf"num_ranks{_BLANK}(\d+)[ \t]*", lines[0])
    assert head is not None and 0 < int(head[1]) < _ANY, lines[0]
    ranks: list[list[Task]] = []
    labels: dict[str, int] | None = None
    for line in lines[1:]:
        if labels is None:
            begin = re.fullmatch(rf"rank{_BLANK}(\d+)[ \t]*\{{[ \t]*", line)
            assert begin is not None and int(begin[1]) == len(ranks), line
            ranks.append([])
            labels = {}
        elif line.strip() == "}":
            labels = None
        elif wait := _WAIT.fullmatch(line):
            assert wait[1] not in _KEYWORDS
            task = ranks[-1][labels[wait[1]]]
            (task.after if wait[2] == "requires" else task.after_start).add(labels[wait[3]])
        else:
            ranks[-1].append(_task(line, labels, len(ranks[-1]), int(head[1])))
    assert labels is None and len(ranks) == int(head[1])
    for tasks in ranks:
        _assert_all_run(tasks)
    return ranks


def _task(line: str, labels: dict[str, int], number: int, ranks: int) -> Task:
    parts = _TASK.fullmatch(line)
    assert parts is not None, line
    if label := parts["label"]:
        assert label not in labels and label not in _KEYWORDS, line
        labels[label] = number
    if parts["time"]:
        assert int(parts["time"]) < _SIZE_LIMIT, line
        return Task(_CALCULATE, int(parts["time"]))
    kind = _SEND if parts["kind"] == "send" else _RECEIVE
    peer, tag = (_ANY if word == "-1" else int(word) for word in (parts["peer"], parts["tag"] or "0"))
    assert parts["way"] == ("to" if kind == _SEND else "from"), line
    assert peer < ranks or (peer == _ANY and kind == _RECEIVE), line
    assert int(parts["size"]) < _SIZE_LIMIT and (tag < _ANY or parts["tag"] == "-1"), line
    assert all(int(parts[place] or 0) < 256 for place in ("cpu", "nic")), line
    return Task(kind, int(parts["size"]), peer, tag)


def read_by_loggopsim(content: bytes) -> list[list[Task]]:
    """Read GOAL's binary form as LogGOPSim does.

    Places are counted from behind the magic number. The tasks that wait for nothing are the roots. The count of waits
    is what the simulator counts down, so it has to be the number of times that others name the task.

    Source: `SerializedGraph` and `Parser` in `src/LogGOPSim/Parser.hpp` in spcl/LogGOPSim.
    """
    magic, count, _, _ = _HEAD.unpack_from(content)
    assert magic == _MAGIC and 0 < count < _ANY
    body = content[8:]
    end = _HEAD.size - 8 + 16 * count
    ranks = []
    for rank in range(count):
        first, last = struct.unpack_from("<QQ", body, _HEAD.size - 8 + 16 * rank)
        assert first == end and last <= len(body)
        ranks.append(_tasks(body[first:last], count))
        end = last
    assert end == len(body)
    return ranks


def _tasks(part: bytes, ranks: int) -> list[Task]:
    count, root_count = struct.unpack_from("<II", part)
    roots = struct.unpack_from(f"<{root_count}I", part, 8)
    start = 8 + 4 * root_count
    nodes = [_NODE.unpack_from(part, start + _NODE.size * number) for number in range(count)]
    rest = part[start + _NODE.size * count :]
    appendix = struct.unpack(f"<{len(rest) // 4}I", rest)
    tasks = [Task(kind, size, peer, tag) for _, kind, peer, size, tag, *_ in nodes]
    waits = [0] * count
    for number, (*_, ends, ends_at, starts, starts_at) in enumerate(nodes):
        assert ends_at + ends <= len(appendix) and starts_at + starts <= len(appendix)
        for later in appendix[ends_at : ends_at + ends]:
            tasks[later].after.add(number)
            waits[later] += 1
        for later in appendix[starts_at : starts_at + starts]:
            tasks[later].after_start.add(number)
            waits[later] += 1
    assert [node[0] for node in nodes] == waits
    assert sorted(roots) == [number for number, waiting in enumerate(waits) if not waiting]
    for task in tasks:
        assert task.kind in (_SEND, _RECEIVE, _CALCULATE)
        assert task.peer < ranks or (task.peer == _ANY and task.kind == _RECEIVE)
    _assert_all_run(tasks)
    return tasks


def _assert_all_run(tasks: Sequence[Task]) -> None:
    """Fail if tasks wait for each other, as the simulator would then end without them."""
    ended: set[int] = set()
    while ready := {
        number
        for number, task in enumerate(tasks)
        if number not in ended and task.after <= ended and task.after_start <= ended
    }:
        ended |= ready
    assert len(ended) == len(tasks)
