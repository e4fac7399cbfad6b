"""The timeline for Perfetto and chrome://tracing."""

import json
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest

import hocket
from hocket.drawing.timeline import timeline

LABELS = ["allreduce/ring", "allreduce/recursive_doubling", "broadcast/binomial"]


def rows_of(label: str, machine: str = "cluster") -> tuple[hocket.Simulation, list[dict[str, Any]]]:
    found = hocket.simulate(label, hocket.Call(ranks=6, size_bytes=6000), machine=machine, keep=["events"])
    return found, json.loads(timeline(found.events, found.as_dict()))["traceEvents"]


@pytest.mark.parametrize("label", LABELS)
def test_every_rank_is_a_process_with_a_name(label: str) -> None:
    _, rows = rows_of(label)
    names = {row["pid"]: row["args"]["name"] for row in rows if row["name"] == "process_name"}
    assert names == {rank: f"rank {rank}" for rank in range(6)}


@pytest.mark.parametrize("label", LABELS)
def test_every_event_is_a_slice_in_microseconds(label: str) -> None:
    found, rows = rows_of(label)
    slices = [row for row in rows if row["ph"] == "X"]
    assert len(slices) == len(found.events)
    for row, event in zip(slices, found.events, strict=True):
        assert (row["pid"], row["cat"], row["args"]["bytes"]) == (event.rank, event.kind, event.bytes)
        assert row["ts"] == pytest.approx(event.start_s * 1e6, abs=1e-6)
        assert row["ts"] + row["dur"] == pytest.approx(event.end_s * 1e6, abs=1e-6)
        assert type(row["args"]["bytes"]) is int
        assert ("peer" in row["args"]) == ("tag" in row["args"]) == (event.kind in ("send", "recv"))


@pytest.mark.parametrize("machine", ["cluster", "loggp-infiniband"])
@pytest.mark.parametrize("label", LABELS)
def test_slices_of_a_lane_never_overlap(label: str, machine: str) -> None:
    _, rows = rows_of(label, machine)
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        if row["ph"] == "X":
            start_ps = round(row["ts"] * 1_000_000)
            lanes[row["pid"], row["tid"]].append((start_ps, start_ps + round(row["dur"] * 1_000_000)))
    assert lanes
    for spans in lanes.values():
        spans.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(spans))


@pytest.mark.parametrize("label", LABELS)
def test_every_message_is_an_arrow_from_its_send_to_its_receive(label: str) -> None:
    found, rows = rows_of(label)
    starts = {row["id"]: row for row in rows if row["ph"] == "s"}
    ends = {row["id"]: row for row in rows if row["ph"] == "f"}
    assert len(starts) == len(ends) == found.messages
    slices = [row for row in rows if row["ph"] == "X"]

    def under(arrow: dict[str, Any], kind: str) -> dict[str, Any]:
        (found,) = (
            row
            for row in slices
            if (row["pid"], row["tid"], row["cat"]) == (arrow["pid"], arrow["tid"], kind)
            and row["ts"] <= arrow["ts"] < row["ts"] + row["dur"]
        )
        return found

    for number, start in starts.items():
        send, recv = under(start, "send"), under(ends[number], "recv")
        assert (send["args"]["peer"], recv["args"]["peer"]) == (recv["pid"], send["pid"])
        assert start["ts"] <= ends[number]["ts"]
        assert ends[number]["bp"] == "e"
