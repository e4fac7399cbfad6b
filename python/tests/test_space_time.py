"""Space-time pictures: content and errors."""

from __future__ import annotations

import re

import pytest

import hocket
from hocket.drawing.encoding import picture_of
from hocket.drawing.space_time import space_time_chart


def _traced(label: str, ranks: int) -> hocket.Simulation:
    return hocket.simulate(label, hocket.Call(ranks=ranks, size_bytes=4096), keep=["events"])


def test_a_line_for_each_message_a_bar_for_each_reduction_and_the_path() -> None:
    call = hocket.Call(ranks=4, size_bytes=4096)
    found = hocket.explain("allreduce/ring", call)
    chart = space_time_chart(found.simulation.events, title="ring", path=found.steps).to_dict()
    messages, works, path = (chart["datasets"][layer["data"]["name"]] for layer in chart["layer"])
    assert len(messages) == found.simulation.messages == 24
    assert len(works) == 12
    assert {row["what"] for row in works} == {"reduce"}
    assert [(row["start"], row["end"]) for row in path] == [
        (step.start_s / 1e-6, pytest.approx(step.end_s / 1e-6)) for step in found.steps
    ]
    assert all(0 <= row["start"] <= row["end"] for row in messages)


@pytest.mark.parametrize(("ending", "begins"), [(".png", b"\x89PNG"), (".svg", b"<svg"), (".html", b"<!DOCTYPE html>")])
def test_files(ending: str, begins: bytes) -> None:
    picture = picture_of(lambda: space_time_chart(_traced("broadcast/binomial", 4).events, title="binomial"), ending)
    assert picture.lstrip().startswith(begins)
    if ending == ".html":
        assert not re.search(rb"<(script|link)[^>]+(src|href)=", picture)


def test_the_scene_is_below_the_title() -> None:
    call, late = hocket.Call(ranks=4, size_bytes=4096), "rank 2, 20 us"
    found = hocket.simulate("broadcast/binomial", call, scene=hocket.Scene(arrivals=late), keep=["events"])
    followed = hocket.simulate(
        "broadcast/binomial", call, scene=hocket.Scene(arrivals=late), keep=["events", "critical_path"]
    )
    assert found.plot().to_dict()["title"]["subtitle"][0] == f"arrivals: {late}"
    explained = hocket.explain("broadcast/binomial", call, arrivals=late)
    for chart in (followed.plot(), explained.plot()):
        subtitle = chart.to_dict()["title"]["subtitle"]
        assert (subtitle[0], subtitle[-1]) == (f"arrivals: {late}", "red: the critical path")


def test_tags_of_a_cadence_are_numbered() -> None:
    call = hocket.Call(ranks=4, size_bytes=4096)
    found = hocket.simulate("allreduce/ring", call, cadence="4 calls", keep=["events"])
    chart = found.plot().to_dict()
    assert chart["layer"][0]["encoding"]["color"]["scale"]["domain"] == [0, 1, 2, 3]
    rows = chart["datasets"][chart["layer"][0]["data"]["name"]]
    first = {tag: min(row["start"] for row in rows if row["tag"] == tag) for tag in range(4)}
    assert sorted(first.values()) == list(first.values()), "in the order of the calls"


def test_many_ranks_fit_a_screen_and_every_entry_of_a_legend_has_a_symbol() -> None:
    one, several = (
        _traced(label, 64).plot().to_dict() for label in ("barrier/dissemination", "allreduce/rabenseifner")
    )
    assert one["height"] == 600
    assert one["layer"][0]["encoding"]["color"]["legend"] is None, "there is one tag"
    legend = several["layer"][0]["encoding"]["color"]["legend"]
    assert legend is None or legend["symbolOpacity"] == 1


def test_nothing_to_draw() -> None:
    with pytest.raises(hocket.Error, match="nothing to draw"):
        space_time_chart(_traced("broadcast/binomial", 1).events, title="one rank")


def test_unknown_ending() -> None:
    with pytest.raises(hocket.Error, match=r'ends in ".gif", expected one of'):
        picture_of(lambda: space_time_chart((), title=""), ".gif")
