"""The dependency graph of a schedule: its tasks, what each of them waits for, and its messages."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from hocket._native import Error
from hocket.schedules.schedule import Schedule, length_bytes

T = TypeVar("T")

_MOST_TASKS = 20_000


def dependency_graph(schedule: Schedule) -> str:
    """Return the graph as DOT text for Graphviz and other tools: a cluster for each rank.

    An arrow leads from a task to a task that waits for it: solid if it waits for the end, dashed if it waits for the
    start. A blue arrow leads from a send to its receive; receives from any rank have none.

    Raises:
        Error: There are too many tasks to draw.

    Examples:
        >>> import hocket
        >>> call = hocket.Call(ranks=2, size_bytes=8)
        >>> print(hocket.dependency_graph(hocket.record("broadcast/binomial", call)), end="")
        digraph "broadcast/binomial" {
          rankdir=LR; node [shape=box, fontname="sans-serif"];
          subgraph cluster_0 { label="rank 0";
            r0t0 [label="send 8 B to 1"];
          }
          subgraph cluster_1 { label="rank 1";
            r1t0 [label="recv 8 B from 0"];
          }
          r0t0 -> r1t0 [color="#4c78a8"];
        }
    """
    data = schedule.data
    count = sum(map(len, data["ranks"]))
    if count > _MOST_TASKS:
        raise Error(f"a graph of {count} tasks, expected at most {_MOST_TASKS}")
    lines = [f"digraph {json.dumps(schedule.name)} {{", '  rankdir=LR; node [shape=box, fontname="sans-serif"];']
    for rank, tasks in enumerate(data["ranks"]):
        lines.append(f'  subgraph cluster_{rank} {{ label="rank {rank}";')
        labels = (_label(task["action"], data["element_bytes"]) for task in tasks)
        lines += [f'    r{rank}t{number} [label="{label}"];' for number, label in enumerate(labels)]
        for number, task in enumerate(tasks):
            for key, style in (("after", ""), ("after_start", " [style=dashed]")):
                lines += [f"    r{rank}t{earlier} -> r{rank}t{number}{style};" for earlier in task.get(key, ())]
        lines.append("  }")
    names = ([f"r{rank}t{number}" for rank, number in ends] for ends in messages_of(data["ranks"]))
    lines += [f'  {send} -> {recv} [color="#4c78a8"];' for send, recv in names]
    return "\n".join([*lines, "}\n"])


def ends_awaited(tasks: Sequence[Mapping[str, Any]], *, exempt: Container[int] = ()) -> list[set[int]]:
    """Return for each task of a rank the tasks whose ends it waits for, with waits for starts resolved.

    Each task comes after those it waits for. A wait for the start of another task, or for the end of an exempt one,
    which does nothing, is a wait for the ends that the other task waits for.
    """
    awaited_ends: list[set[int]] = []
    for task in tasks:
        ends = set(task.get("after", ()))
        through = [number for number in ends if number in exempt]
        others = (*through, *task.get("after_start", ()))
        awaited_ends.append(ends.difference(through).union(*(awaited_ends[number] for number in others)))
    return awaited_ends


def _label(action: Mapping[str, Any], element_bytes: int) -> str:
    kind, keys = next(iter(action.items()))
    length = length_bytes(keys, element_bytes)
    size = f" {keys['time_s']:g} s" if length is None else f" {length} B"
    if kind == "send":
        return f"send{size} to {keys['to']}"
    if kind == "recv":
        return f"recv{size} from {'any' if keys['from'] is None else keys['from']}"
    return kind + size


def messages_of(ranks: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Give the send and the receive of each message, each as its rank and task; receives from any rank have none."""
    ends = []
    for rank, tasks in enumerate(ranks):
        for number, task in enumerate(tasks):
            kind, keys = next(iter(task["action"].items()))
            peer = keys.get("to" if kind == "send" else "from")
            if peer is not None:
                ends.append((kind, rank, peer, keys["tag"], (rank, number)))
    return pair_ends(ends)


def pair_ends(ends: Iterable[tuple[str, int, int, int, T]]) -> Iterator[tuple[T, T]]:
    """Pair the k-th send with the k-th receive of each source, destination and tag.

    An end has the kind of its operation, its rank, its peer, its tag, and what to pair. Other kinds do not count.
    """
    channels: dict[tuple[int, int, int], tuple[list[T], list[T]]] = defaultdict(lambda: ([], []))
    for kind, rank, peer, tag, end in ends:
        if kind == "send":
            channels[rank, peer, tag][0].append(end)
        elif kind == "recv":
            channels[peer, rank, tag][1].append(end)
    for sends, receives in channels.values():
        yield from zip(sends, receives, strict=False)
