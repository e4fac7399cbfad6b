"""Dependency graphs: an arrow per dependency and per message."""

from __future__ import annotations

import hocket


def test_tasks_dependencies_and_messages_of_a_ring() -> None:
    schedule = hocket.record("allreduce/ring", hocket.Call(ranks=4, size_bytes=64))
    lines = hocket.dependency_graph(schedule).splitlines()
    tasks = [task for rank in schedule.data["ranks"] for task in rank]
    waits = sum(len(task.get("after", ())) + len(task.get("after_start", ())) for task in tasks)
    assert sum(" [label=" in line for line in lines) == len(tasks)
    assert sum("#4c78a8" in line for line in lines) == 24
    assert sum(" -> " in line for line in lines) == waits + 24


def test_a_receive_from_any_rank_has_no_arrow() -> None:
    span = {"buffer": "result", "offset": 0, "len": 2}
    ranks = [[{"action": {"recv": {"from": None, "tag": 0, "into": span}}}]]
    ranks.append([{"action": {"send": {"to": 0, "tag": 0, "data": span}}}])
    ranks[1].append({"action": {"compute": {"time_s": 1e-6}}, "after_start": [0]})
    data = {"format": 1, "element_bytes": 4, "scratch": [0, 0], "ranks": ranks}
    graph = hocket.dependency_graph(hocket.Schedule.of("any", data))
    assert 'r0t0 [label="recv 8 B from any"];' in graph
    assert 'r1t1 [label="compute 1e-06 s"];' in graph
    assert [line.strip() for line in graph.splitlines() if "->" in line] == ["r1t0 -> r1t1 [style=dashed];"]
