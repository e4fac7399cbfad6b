"""Maps of links: cells, colours and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import hocket
from hocket.drawing.encoding import picture_of
from hocket.drawing.link_map import activity_chart, link_chart
from hocket.simulating.simulation import LinkUse

TOPOLOGIES = {
    "torus": "dims = [3, 2, 2]",
    "mesh": "dims = [4, 3]",
    "fat_tree": "down = [4, 4]\nup = [1, 2]",
    "dragonfly": "nodes_per_router = 2\nrouters_per_group = 2\nglobal_links_per_router = 1",
    "crossbar": "nodes = 5",
}


def text(topology: str, keys: str | None = None) -> str:
    keys = keys or TOPOLOGIES[topology]
    network = f'[network]\nmodel = "links"\ntopology = "{topology}"\n{keys}\nlink_bandwidth = "1 GB/s"\n'
    return f'name = "mine"\n{network}'


def network(topology: str, keys: str | None = None) -> hocket.Topology:
    found = hocket.Machine.parse(text(topology, keys)).topology
    assert found is not None
    return found


def panels(chart: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The innermost charts of a concatenation, row by row."""
    inner = chart.get("vconcat") or chart.get("hconcat")
    for one in inner or ():
        yield from panels(one)
    if not inner:
        yield chart


def cells(panel: dict[str, Any], chart: dict[str, Any]) -> list[dict[str, Any]]:
    values = chart["datasets"][panel["data"]["name"]] if "name" in panel["data"] else panel["data"]["values"]
    found: list[dict[str, Any]] = json.loads(values)
    return found


def legend(panel: dict[str, Any]) -> str:
    labels: str = panel["encoding"]["color"]["legend"]["labelExpr"]
    return labels


def test_a_cell_is_coloured_by_its_share_of_the_most_that_any_link_of_any_run_carried() -> None:
    torus = network("torus", "dims = [2, 2]")
    runs = {
        "one": [LinkUse(0, "", 100.0, 2e-6, 0.0), LinkUse(5, "", 25.0, 1e-6, 0.0)],
        "other": [LinkUse(0, "", 4096.0, 8e-6, 3e-6)],
    }
    chart = link_chart(runs, torus, title="two").to_dict()
    of_run = [{cell["link"]: cell for panel in panels(run) for cell in cells(panel, chart)} for run in chart["vconcat"]]
    assert [run["title"]["text"] for run in chart["vconcat"]] == ["one", "other"]
    assert [len(run) for run in of_run] == [16, 16]
    one, other = of_run
    assert {link: cell["bytes"] for link, cell in one.items() if cell["bytes"]} == {
        "+x from (0,0)": 100 / 4096,
        "-x from (1,0)": 25 / 4096,
    }
    assert other["+x from (0,0)"] == {
        **{"link": "+x from (0,0)", "column": 0, "row": 0, "bytes": 1.0, "busy": 1.0, "waiting": 1.0},
        **{"size": "4 KiB", "busy for": "8.000 us", "waited for": "3.000 us"},
    }
    assert one["+x from (0,0)"]["busy"] == pytest.approx(0.25)
    assert all('["0 B", "1 KiB", "2 KiB", "3 KiB", "4 KiB"]' in legend(panel) for panel in panels(chart))


@pytest.mark.parametrize(("load", "most"), [("bytes", "640 B"), ("busy", "640.0 ns"), ("waiting", "1.280 us")])
def test_the_legend_tells_the_most_of_what_colours(load: Any, most: str) -> None:
    uses = [LinkUse(0, "", 640.0, 640e-9, 1.28e-6)]
    panel = next(panels(link_chart({"": uses}, network("torus"), title="", load=load).to_dict()))
    assert f', "{most}"]' in legend(panel)
    assert panel["transform"] == [{"as": "shown", "calculate": f"datum.{load}"}]
    assert panel["encoding"]["color"]["title"] == load


def test_links_with_faults_have_red_frames_above_the_others() -> None:
    machine = hocket.Machine.parse(text("torus", "dims = [4]"), "mine.toml")
    faults = ["link 2 <-> 3, 0 us.., 50 %"]
    found = hocket.simulate(
        "allreduce/ring", hocket.Call(ranks=4, size_bytes=64), machine=machine, faults=faults, keep=["links"]
    )
    charts = [link_chart({"": found.link_uses}, network("torus", "dims = [4]"), title="", faults=faults)]
    charts.append(activity_chart((), network("torus", "dims = [4]"), title="", end_s=1.0, faults=faults))
    for chart in (one.to_dict() for one in charts):
        assert chart["title"]["subtitle"][1:] == ["red frame: link 2 <-> 3, 0 us.., 50 %"]
        framed = []
        for panel in panels(chart["vconcat"][0]):
            stroke = panel["encoding"]["stroke"]["condition"]
            assert stroke["value"] == "#d62728"
            names = json.loads(stroke["test"].partition("(")[2].partition(", datum")[0])
            assert [cell["link"] for cell in cells(panel, chart)][-1] == names[-1]
            framed += names
        assert framed == ["+x from (2)", "-x from (3)"]


def test_where_nothing_was_carried_the_legend_ends_with_nothing() -> None:
    chart = link_chart({"": ()}, network("torus"), title="").to_dict()
    assert all('["0 B", "", "", "", ""]' in legend(panel) for panel in panels(chart))
    assert all(cell["bytes"] == 0 for panel in panels(chart) for cell in cells(panel, chart))


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_link_is_a_cell_of_its_own(topology: str) -> None:
    shape = network(topology)
    chart = link_chart({"": ()}, shape, title="").to_dict()
    found = [
        (panel["title"]["text"], cell["column"], cell["row"], cell["link"])
        for panel in panels(chart)
        for cell in cells(panel, chart)
    ]
    _, links = shape.parts(shape.directed_links)
    assert {cell[3] for cell in found} == {link.name for link in links if link.source != link.target}
    assert len({cell[:3] for cell in found}) == len(found) == len({cell[3] for cell in found})


def test_the_panels_of_a_plane_are_beside_each_other() -> None:
    chart = link_chart({"": ()}, network("torus"), title="").to_dict()
    lines = [[panel["title"]["text"] for panel in line["hconcat"]] for line in chart["vconcat"][0]["vconcat"]]
    kinds = ("+x", "-x", "+y", "-y", "+z", "-z")
    assert lines == [[f"{kind}, z = {z}" for kind in kinds] for z in (0, 1)]


@pytest.mark.parametrize("keys", ["dims = [700]", "dims = [20, 300]", "dims = [2]"])
def test_maps_fit_a_page(keys: str) -> None:
    for panel in panels(link_chart({"": ()}, network("torus", keys), title="").to_dict()):
        assert 8 <= panel["width"] <= 1000
        assert 8 <= panel["height"] <= 700


@pytest.mark.parametrize(("ending", "begins"), [(".png", b"\x89PNG"), (".svg", b"<svg"), (".html", b"<!DOCTYPE html>")])
def test_files(ending: str, begins: bytes) -> None:
    machine = hocket.Machine.parse(text("crossbar"), "mine.toml")
    uses = hocket.simulate(
        "allreduce/ring", hocket.Call(ranks=4, size_bytes=4096), machine=machine, keep=["links"]
    ).link_uses
    is_choosable = ending == ".html"
    chart = link_chart({"ring": uses}, network("crossbar"), title="links", is_choosable=is_choosable)
    picture = picture_of(lambda: chart, ending)
    assert picture.lstrip().startswith(begins)
    if ending == ".html":
        assert not re.search(rb"<(script|link)[^>]+(src|href)=", picture)
        assert b'"options": ["bytes", "busy", "waiting"]' in picture


def test_what_cannot_be_drawn_is_refused() -> None:
    torus = network("torus")
    with pytest.raises(hocket.Error, match=r'ends in ".gif", expected one of'):
        picture_of(lambda: link_chart({"": ()}, torus, title=""), ".gif")
    with pytest.raises(hocket.Error, match="load: got 'colour', expected one of bytes, busy, waiting"):
        link_chart({"": ()}, torus, title="", load="colour")  # type: ignore[arg-type]
    with pytest.raises(hocket.Error, match="nothing to draw, expected at least one run"):
        link_chart({}, torus, title="")
    with pytest.raises(hocket.Error, match="nothing to draw"):
        link_chart({"": ()}, network("torus", "dims = [1]"), title="")
    with pytest.raises(hocket.Error, match="a map of 32768 links, expected at most 30000"):
        link_chart({"": (), "other": ()}, network("torus", "dims = [64, 64]"), title="")
