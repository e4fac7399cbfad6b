"""Chakra execution traces, as ASTRA-sim runs them: one file for each rank."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hocket._native import Error
from hocket.base import files
from hocket.definitions.machine import Machine
from hocket.schedules.dependencies import ends_awaited
from hocket.schedules.formats.format import Format
from hocket.schedules.schedule import Schedule, length_bytes
from hocket.traces.chakra import COLLECTIVE, COMPUTE, RECEIVE, SEND, Node, begins, encode, graphs_of
from hocket.traces.lines import reading

_ENDING = ".et"
_MOST_BYTES = 1 << 53
_MOST_TAG = (1 << 31) - 1  # ASTRA-sim's tags are ints


def _save(schedule: Schedule, file: str, machine: Machine | None) -> tuple[str, ...]:
    prefix = file.removesuffix(_ENDING)
    names = [f"{prefix}.{rank}{_ENDING}" for rank in range(schedule.content.ranks)]
    if os.path.exists(next_path := f"{prefix}.{len(names)}{_ENDING}"):
        why = f"as the schedule has {len(names)} ranks"
        raise Error(f"{next_path}: belongs to another trace, {why}, expected another PREFIX")
    with tempfile.TemporaryDirectory() as folder:  # GOAL has reductions and copies as computation of the machine's time
        goal = Path(folder) / "schedule.bin"
        schedule.save(goal, format="goal_binary", machine=machine)
        ranks = Schedule.load(goal).data["ranks"]
    contents = [encode(list(_nodes(schedule, tasks))) for tasks in ranks]
    files.write_all(dict(zip(names, contents, strict=True)))
    return tuple(names)


def _nodes(schedule: Schedule, tasks: Sequence[Mapping[str, Any]]) -> Iterator[Node]:
    for number, (task, after) in enumerate(zip(tasks, ends_awaited(tasks), strict=True)):
        ((action, values),) = task["action"].items()
        waits = sorted(after)
        if action == "compute":
            yield Node(number, action, COMPUTE, waits, round(values["time_s"] * 1e6), {"is_cpu_op": False})
            continue
        kind, key, peer, span = (
            (SEND, "comm_dst", values["to"], values["data"])
            if action == "send"
            else (RECEIVE, "comm_src", values["from"], values["into"])
        )
        refusal = f"{schedule.name} cannot be written in chakra: got"
        if peer is None:
            raise Error(f"{refusal} a receive from any rank, expected receives from a given rank")
        if values["tag"] > _MOST_TAG:
            raise Error(f"{refusal} tag {values['tag']}, expected tags up to {_MOST_TAG}")
        size = max(span["len"], 1)  # ASTRA-sim fails at messages of no bytes
        attributes = {"is_cpu_op": False, key: peer, "comm_size": size, "comm_tag": values["tag"]}
        yield Node(number, action, kind, waits, 0, attributes)


def _read(file: str, _size_bytes: int | None) -> Schedule:
    with reading(file):
        graphs = graphs_of(file)
        ranks = [[*_tasks(nodes, name, len(graphs))] for name, nodes in graphs.items()]
    actions = ([keys for task in tasks for keys in task["action"].values()] for tasks in ranks)
    longest = [max((length_bytes(keys, 1) or 0 for keys in of_rank), default=0) for of_rank in actions]
    read = Schedule.of(file, {"format": 1, "element_bytes": 1, "scratch": longest, "ranks": ranks})
    return replace(read, name=Path(file).name)


def _tasks(nodes: Sequence[Node], file: str, ranks: int) -> Iterator[dict[str, Any]]:
    numbers: dict[int, int] = {}
    for node in nodes:
        after = sorted({numbers[earlier] for earlier in node.after})
        numbers[node.id] = len(numbers)
        yield {"action": _action(node, file, ranks), **({"after": after} if after else {})}


def _action(node: Node, file: str, ranks: int) -> dict[str, Any]:
    if node.kind == COLLECTIVE:
        expected = "only messages; `hocket replay` accepts collectives"
        raise Error(f"{file}, node {node.id}: got a collective, expected {expected}")
    if node.kind not in (SEND, RECEIVE):
        return {"compute": {"time_s": node.duration_us / 1e6}}
    span = {"buffer": "scratch", "offset": 0, "len": node.whole("comm_size", _MOST_BYTES, file)}
    tag = node.whole("comm_tag", (1 << 32) - 1, file, 0)
    if node.kind == SEND:
        return {"send": {"to": node.whole("comm_dst", ranks - 1, file), "tag": tag, "data": span}}
    return {"recv": {"from": node.whole("comm_src", ranks - 1, file), "tag": tag, "into": span}}


FORMAT = Format(
    name="chakra",
    ending=_ENDING,
    is_text=False,
    begins=begins,
    read=_read,
    save=_save,
    as_bytes=None,
    lacks="Chakra has no data",
)
