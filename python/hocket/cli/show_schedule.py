"""`hocket show schedule`: the tasks of a schedule's ranks, as facts and as pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hocket._native import Error
from hocket.base.units import format_bytes, format_count
from hocket.cli.options import check_files
from hocket.cli.output import answer, print_facts, print_files, width, with_version, write_all
from hocket.cli.printing import say
from hocket.cli.schedules import read_schedule
from hocket.definitions.machine import Machine
from hocket.drawing.encoding import picture_of
from hocket.drawing.picture import messages_in_rounds, space_time
from hocket.schedules.dependencies import dependency_graph
from hocket.schedules.formats import format_of
from hocket.schedules.schedule import Schedule

_MOST_RANKS = 64  # the most ranks of a picture
_MOST_ROUNDS = 1000  # the most rounds of a picture
_KINDS = {"send": "sends", "recv": "receives", "combine": "reductions", "copy": "copies", "compute": "computations"}


def show_schedule(
    names: tuple[str, ...],
    size_bytes: int | None,
    *,
    machine: Machine | None,
    plot: str | None,
    graph: str | None,
    as_json: bool,
) -> None:
    """Show the schedule of a file, and write the requested pictures, if they are not too large."""
    check_files({"--plot": plot, "--graph": graph})
    schedule = read_schedule(names, size_bytes)
    entry = {"name": schedule.name, "format": format_of(names[1]).name, **_entry(schedule)}
    draw = partial(schedule.plot, machine=machine or Machine.load("cluster"))
    if write_all([(graph, lambda _: dependency_graph(schedule)), (plot, partial(picture_of, draw))]):
        return
    files = {"plot": plot, "graph": graph}
    answer(with_version({**entry, **files}), _print, entry, files, as_json=as_json)


def _entry(schedule: Schedule) -> dict[str, Any]:
    data = schedule.data
    actions = [[next(iter(task["action"].items())) for task in tasks] for tasks in data["ranks"]]
    counts = [Counter(kind for kind, _ in own) for own in actions]
    sent = sum(values["data"]["len"] for own in actions for kind, values in own if kind == "send")
    return {
        "ranks": len(actions),
        "messages": sum(count["send"] for count in counts),
        "message_bytes": sent * data["element_bytes"],
        "tasks": {name: [count[kind] for count in counts] for kind, name in _KINDS.items()},
        **_draw(schedule),
    }


def _draw(schedule: Schedule) -> dict[str, Any]:
    """Return the length of the longest chain of messages, and the picture, or why there is none."""
    try:
        events = messages_in_rounds(schedule)
    except Error as error:
        return {"depth": None, "picture": None, "why_no_picture": str(error)}
    ranks, depth = schedule.content.ranks, round(max((event.end_s for event in events), default=0.0))
    if ranks > _MOST_RANKS or depth > _MOST_ROUNDS:
        why = f"got {ranks} ranks and {depth} rounds, expected at most {_MOST_RANKS} and {_MOST_ROUNDS}"
        return {"depth": depth, "picture": None, "why_no_picture": why}
    return {"depth": depth, "picture": space_time(events, ranks=ranks, width=width()), "why_no_picture": None}


def _print(entry: Mapping[str, Any], files: Mapping[str, str | None]) -> None:
    say(f"schedule {entry['name']}", bold=True)
    depth = "unknown" if entry["depth"] is None else f"{format_count(entry['depth'], 'message')}, one after another"
    tasks = [f"{name} {_spread(counts)}" for name, counts in entry["tasks"].items() if any(counts)]
    print_facts(
        [
            ("format", entry["format"]),
            ("ranks", str(entry["ranks"])),
            ("messages", f"{entry['messages']}, {format_bytes(entry['message_bytes'])} in all"),
            ("depth", depth),
            ("a rank has", ", ".join(tasks) or "nothing to do"),
        ]
    )
    if entry["picture"] is None:
        say(f"\nno picture: {entry['why_no_picture']}")
    elif entry["depth"]:
        say("\n→ to, ← from, ↔ exchange with, · pause; one column per round")
        say(entry["picture"])
    print_files(files)


def _spread(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    return str(least) if least == most else f"{least} to {most}"
