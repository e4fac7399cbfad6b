"""A simulation as a timeline for ui.perfetto.dev and chrome://tracing.

The format is Chrome's trace events: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
Times are first rounded to picoseconds, the finest unit of a machine file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from hocket.base.checks import memory
from hocket.schedules.dependencies import pair_ends
from hocket.simulating.operations import Event

_EVENT_BYTES = 1000.0  # the least memory of an event until it is written

_PS_PER_NS = 1000
_PS_PER_US = 1_000_000


def timeline(events: Iterable[Event], other: Mapping[str, Any]) -> str:
    """Return events, sorted by rank and time, as JSON text: a process for each rank, an arrow for each message.

    `other` has further data of the file, by key. A text that does not fit into memory is refused.
    """
    events = tuple(events)
    memory(f"a timeline of {len(events)} operations", len(events) * _EVENT_BYTES)
    bars = [bar for _, own in groupby(events, key=lambda e: e.rank) for bar in _lay_out(own)]
    rows = [*_names(bars), *(_slice(bar) for bar in bars), *_arrows(bars)]
    return json.dumps({"traceEvents": rows, "displayTimeUnit": "ns", "otherData": other}) + "\n"


class _Bar(NamedTuple):
    """An event with its rank and lane: the lane shows no other event of its rank at that time."""

    event: Event
    place: dict[str, int]
    start_ps: int
    end_ps: int


def _lay_out(events: Iterable[Event]) -> Iterator[_Bar]:
    """Put each event of one rank into the first free lane, in order of time."""
    free_ps: list[int] = []
    for event in events:
        start_ps, end_ps = round(event.start_s * 1e12), round(event.end_s * 1e12)
        lane = next((i for i, until_ps in enumerate(free_ps) if until_ps <= start_ps), len(free_ps))
        free_ps[lane:] = [end_ps, *free_ps[lane + 1 :]]
        yield _Bar(event, {"pid": event.rank, "tid": lane}, start_ps, end_ps)


def _names(bars: Iterable[_Bar]) -> Iterator[dict[str, Any]]:
    for rank, lane in sorted({(bar.event.rank, bar.place["tid"]) for bar in bars}):
        place = {"ph": "M", "pid": rank, "tid": lane}
        if lane == 0:
            yield {**place, "name": "process_name", "args": {"name": f"rank {rank}"}}
            yield {**place, "name": "process_sort_index", "args": {"sort_index": rank}}
        yield {**place, "name": "thread_name", "args": {"name": f"lane {lane + 1}"}}


def _slice(bar: _Bar) -> dict[str, Any]:
    event = bar.event
    preposition = {"send": " to ", "recv": " from "}.get(event.kind)
    message = {"peer": event.peer, "tag": event.tag} if preposition else {}
    return {
        "ph": "X",
        **bar.place,
        "name": event.kind + (f"{preposition}{event.peer}" if preposition else ""),
        "cat": event.kind,
        "ts": bar.start_ps / _PS_PER_US,
        "dur": (bar.end_ps - bar.start_ps) / _PS_PER_US,
        "args": {"bytes": int(event.bytes), **message},
    }


def _arrows(bars: Iterable[_Bar]) -> Iterator[dict[str, Any]]:
    """Connect each send and its receive by an arrow."""
    ends = ((bar.event.kind, bar.event.rank, bar.event.peer, bar.event.tag, bar) for bar in bars)
    for number, (send, recv) in enumerate(pair_ends(ends)):
        arrow = {"name": "message", "cat": "message", "id": number}
        yield {**arrow, "ph": "s", **send.place, "ts": send.start_ps / _PS_PER_US}
        # The arrow ends within the slice of the receive, also for viewers that round to nanoseconds. At the end of the
        # slice it would belong to the next one.
        inside_ps = max(recv.start_ps, recv.end_ps - _PS_PER_NS)
        yield {**arrow, "ph": "f", "bp": "e", **recv.place, "ts": inside_ps / _PS_PER_US}
