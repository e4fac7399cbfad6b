"""A space-time picture as text: the messages of each round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from hocket.base.call import Call
from hocket.base.units import runs
from hocket.definitions.library import COLLECTIVES, Algorithm
from hocket.definitions.machine import Machine
from hocket.schedules.schedule import Schedule
from hocket.simulating.operations import Event
from hocket.simulating.simulation import simulate

_UNIT_MACHINE = """
name = "one round per message"
[network]
model = "hockney"
latency = "1 s"
bandwidth = "1e300 B/s"
[node]
ports = "unlimited"
"""

_SEGMENTS = 4


def picture(algorithm: Algorithm, *, ranks: int = 8, width: int = 100) -> str:
    """Draw the messages of an algorithm on a machine where every message takes one round.

    Rounds beyond the width continue below.
    """
    segment_bytes = max((int(p.default) for p in algorithm.parameters if p.unit == "bytes"), default=ranks)
    call = Call(ranks=ranks, size_bytes=_SEGMENTS * segment_bytes if COLLECTIVES[algorithm.collective].has_size else 0)
    result = simulate(algorithm, call, machine=Machine.parse(_UNIT_MACHINE), keep=["events"])
    return space_time(result.events, ranks=ranks, width=width)


def messages_in_rounds(schedule: Schedule) -> tuple[Event, ...]:
    """Return the events of a schedule on a machine where every message takes one second and all else takes no time."""
    data = schedule.data
    for task in (task for tasks in data["ranks"] for task in tasks if "compute" in task["action"]):
        task["action"] = {"compute": {"time_s": 0.0}}
    alike, machine = Schedule.of(schedule.name, data), Machine.parse(_UNIT_MACHINE)
    return simulate(alike, machine=machine, keep=["events"]).events


def space_time(events: Iterable[Event], *, ranks: int, width: int) -> str:
    """Draw messages that take one second each, with a row for each rank and a column for each second."""
    peers: dict[tuple[int, int], tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    for event in events:
        if event.kind in ("send", "recv"):
            peers[event.rank, round(event.end_s)][event.kind == "recv"].add(event.peer)
    rounds = range(1, max((column for _, column in peers), default=0) + 1)
    columns = [[str(column), *(_cell(*peers[rank, column]) for rank in range(ranks))] for column in rounds]
    first = ["rank", *map(str, range(ranks))]
    return "\n\n".join(_rows(first, band) for band in _bands(columns, width - 4))


def _cell(to: set[int], source: set[int]) -> str:
    """Return "↔1" for an exchange, "→3 ←1" for messages to and from others, "·" for a pause."""
    parts = (("↔", to & source), ("→", to - source), ("←", source - to))
    return " ".join(arrow + _ranges(peers) for arrow, peers in parts if peers) or "·"


def _ranges(peers: Iterable[int]) -> str:
    ranges = [[first, last] if first < last else [first] for first, last in runs(peers)]
    return ",".join(("-" if run[-1] > run[0] + 1 else ",").join(map(str, run)) for run in ranges)


def _bands(columns: Sequence[Sequence[str]], width: int) -> list[list[Sequence[str]]]:
    """Split columns into bands that fit the width."""
    bands: list[list[Sequence[str]]] = [[]]
    row_count = 0
    for column in columns:
        row_width = 2 + max(map(len, column))
        if bands[-1] and row_count + row_width > width:
            bands.append([])
            row_count = 0
        bands[-1].append(column)
        row_count += row_width
    return bands


def _rows(first: Sequence[str], band: Sequence[Sequence[str]]) -> str:
    columns = [first, *band]
    widths = [max(map(len, column)) for column in columns]
    rows = zip(*columns, strict=True)
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
