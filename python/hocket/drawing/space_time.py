"""A space-time picture: ranks over time, with operations as bars, messages as lines, and the critical path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hocket._native import Error
from hocket.base.packages import alt
from hocket.base.units import axis_unit, format_bytes, format_time
from hocket.drawing.plot import by_kind, frame
from hocket.schedules.dependencies import pair_ends
from hocket.simulating.operations import Event, Step
from hocket.words.explanations import parts_of

_MOST_OPERATIONS = 100_000
_WIDTH = 1000  # pixels
_MOST_LABELS = 32
_LEAST_HEIGHT, _RANK_HEIGHT, _MOST_HEIGHT = 240, 22, 600  # pixels
_PATH_COLOUR = "#d62728"
_KINDS = {"reduce": "#54a24b", "copy": "#b79a20", "compute": "#9d755d", "connect": "#b279a2", "disconnect": "#ff9da6"}
_MOST_TAG = 9999  # shown as it is
_TAGS = ("#4c78a8", "#f58518", "#72b7b2", "#b279a2", "#9d755d", "#eeca3b", "#1f3a5f", "#9ccc65")


def check_operations(count: float) -> None:
    """Refuse a picture of more operations than a browser draws in a few seconds."""
    if count > _MOST_OPERATIONS:
        raise Error(f"a picture of {count:.0f} operations, expected at most {_MOST_OPERATIONS}: fewer ranks or bytes")


def space_time_chart(
    events: Iterable[Event], *, title: str, scene: Sequence[str] = (), path: Sequence[Step] = ()
) -> alt.LayerChart:
    """Return the picture as a chart; as HTML it zooms with the mouse wheel.

    Lines below the title tell of the scene, and the critical path is marked if it is given. Nothing or too much to draw
    is refused.
    """
    event_list = tuple(events)
    end_s = max((event.end_s for event in event_list), default=0.0)
    if not end_s > 0:
        raise Error("nothing to draw, expected operations that take time")
    check_operations(len(event_list))
    scale, unit = axis_unit(end_s)
    ranks = max(event.rank for event in event_list) + 1
    x = alt.X("start:Q").title(f"time ({unit})").scale(domain=[0, end_s / scale], nice=False)
    labels = list(range(0, ranks, -(-ranks // _MOST_LABELS)))
    scale_y = alt.Scale(domain=[-0.5, ranks - 0.5], nice=False, zero=False, reverse=True)
    y = alt.Y("rank:Q", title="rank", scale=scale_y, axis=alt.Axis(values=labels, format="d"))
    tooltip = ["what:N", "size:N", "tag:Q", "from:N", "to:N", "time:N"]

    def layer(rows: Iterable[dict[str, Any]]) -> alt.Chart:
        return alt.Chart(alt.InlineData(values=list(rows))).encode(x=x, x2="end:Q", y=y, tooltip=tooltip)

    works = [_row(event, scale) for event in event_list if event.kind in _KINDS and event.end_s > event.start_s]
    messages = list(_messages(event_list, scale))
    tags = sorted({row["tag"] for row in messages})
    if tags and tags[-1] > _MOST_TAG:  # calls of a cadence have tags of many digits: number them in their order
        places = {tag: place for place, tag in enumerate(tags)}
        messages = [{**row, "tag": places[row["tag"]]} for row in messages]
        tags = list(range(len(tags)))
    colours = (
        alt.Color("tag:O")
        .scale(domain=tags, range=[_TAGS[i % len(_TAGS)] for i in range(len(tags))])
        .legend(alt.Legend(symbolOpacity=1, symbolStrokeWidth=2) if len(tags) > 1 else None)
    )
    kind_colours = alt.Color("what:N", title="work", scale=by_kind(_KINDS, {row["what"] for row in works}))
    thick = max(1.5, min(6.0, _RANK_HEIGHT * 6 / max(ranks, 6)))
    layers = [
        layer(messages)
        .mark_rule(strokeWidth=1, opacity=max(0.3, min(0.6, 300 / (len(messages) or 1))))
        .encode(y2="to_rank:Q", color=colours if len(tags) <= len(_TAGS) else alt.value(_TAGS[0])),
        layer(works).mark_rule(strokeWidth=thick).encode(color=kind_colours),
        layer(_path(path, scale)).mark_rule(strokeWidth=2.5, color=_PATH_COLOUR).encode(y2="to_rank:Q"),
    ]
    layers_used = [one for one, rows in zip(layers, (messages, works, path), strict=True) if rows]
    subtitle = [*scene, "lines: messages, from the start of the send to the end of the receive"]
    if path:
        subtitle.append("red: the critical path")
    height = min(_MOST_HEIGHT, max(_LEAST_HEIGHT, _RANK_HEIGHT * ranks))
    chart = frame(layers_used, title, subtitle, width=_WIDTH, height=height)
    drawing: alt.LayerChart = chart.resolve_scale(color="independent").interactive()
    return drawing


def _row(event: Event, scale: float) -> dict[str, Any]:
    return {
        "rank": event.rank,
        "start": event.start_s / scale,
        "end": event.end_s / scale,
        "what": event.kind,
        "size": format_bytes(int(event.bytes)),
        "time": format_time(event.end_s - event.start_s),
    }


def _messages(events: Sequence[Event], scale: float) -> Iterator[dict[str, Any]]:
    for send, recv in pair_ends((event.kind, event.rank, event.peer, event.tag, event) for event in events):
        yield {
            **_row(send, scale),
            "what": "message",
            "from": f"rank {send.rank}",
            "to": f"rank {recv.rank}",
            "to_rank": recv.rank,
            "tag": send.tag,
            "end": recv.end_s / scale,
            "time": format_time(recv.end_s - send.start_s),
        }


def _path(steps: Iterable[Step], scale: float) -> Iterator[dict[str, Any]]:
    for step in steps:
        yield {
            **_row(step.event, scale),
            "rank": step.from_rank,
            "to_rank": step.event.rank,
            "start": step.start_s / scale,
            "what": f"critical path: {step.event.kind}",
            "time": parts_of(step),
        }
