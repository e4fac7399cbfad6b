"""Pictures of networks: places of vertices and lines, and errors."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

import hocket
from hocket.drawing.encoding import picture_of
from hocket.drawing.network_picture import network_chart
from tests.test_link_map import TOPOLOGIES, network


def layers(topology: hocket.Topology, route: tuple[int, int] | None = None) -> list[list[dict[str, Any]]]:
    """The rows of each layer: lines, lines of the route, vertices, and optional labels."""
    chart = network_chart(topology, route=route).to_dict()
    return [chart["datasets"][layer["data"]["name"]] for layer in chart["layer"]]


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_there_is_a_line_between_each_two_vertices_with_links(topology: str) -> None:
    shape = network(topology)
    lines, route, vertices, *_ = layers(shape)
    known, links = shape.parts(shape.directed_links)
    names: dict[frozenset[int], list[str]] = {}
    for link in links:
        if link.source != link.target:
            names.setdefault(frozenset((link.source, link.target)), []).append(link.name)
    assert len({row["line"] for row in lines}) == len(names)
    assert {row["links"] for row in lines} == {", ".join(between) for between in names.values()}
    assert route == []
    assert [(row["x"], row["y"], row["name"]) for row in vertices] == [(*v.position, v.name) for v in known]
    assert {row["kind"] for row in vertices if not row["ranks"]} <= {"switch"}


def test_a_line_bows_around_a_vertex_in_its_way_and_no_other_does() -> None:
    lines, _, vertices, *_ = layers(network("torus", "dims = [4, 2]"))
    bowed = {row["links"] for row in lines if row["place"] > 1}
    assert bowed == {"-x from (0,0), +x from (3,0)", "-x from (0,1), +x from (3,1)"}
    for row in lines:
        if 0 < row["place"] < 12 and row["links"] in bowed:
            assert all(math.dist((row["x"], row["y"]), (spot["x"], spot["y"])) > 0.1 for spot in vertices)


def test_a_route_is_marked_link_by_link() -> None:
    torus = network("torus", "dims = [4, 3]")
    _, route, _, labels = layers(torus, (0, 11))
    assert {row["links"] for row in route} == {"-x from (0,0), +x from (3,0)", "-y from (3,0), +y from (3,2)"}
    assert [row["ranks"] for row in labels] == [str(rank) for rank in range(12)]
    subtitle = network_chart(torus, route=(0, 11)).to_dict()["title"]["subtitle"]
    assert subtitle == [
        "torus of 12 nodes, 48 directed links; numbers are ranks",
        "red: the route from rank 0 to rank 11, 2 links",
    ]


def test_labels_are_left_out_where_there_is_no_room() -> None:
    assert len(layers(network("crossbar", "nodes = 300"))) == 3
    wide = network("crossbar", "nodes = 4\nranks_per_node = 1000")
    assert len(layers(wide)) == 3
    assert "numbers" not in network_chart(wide).to_dict()["title"]["subtitle"][0]


@pytest.mark.parametrize(("ending", "begins"), [(".png", b"\x89PNG"), (".svg", b"<svg"), (".html", b"<!DOCTYPE html>")])
def test_files(ending: str, begins: bytes) -> None:
    picture = picture_of(lambda: network_chart(network("dragonfly"), route=(0, 5)), ending)
    assert picture.lstrip().startswith(begins)
    if ending == ".html":
        assert not re.search(rb"<(script|link)[^>]+(src|href)=", picture)


def test_a_network_of_one_node_is_a_point() -> None:
    lines, _, vertices, *_ = layers(network("torus", "dims = [1]"))
    assert (lines, len(vertices)) == ([], 1)


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(hocket.Error, match="a picture of 16384 links, expected at most 6000"):
        network_chart(network("torus", "dims = [64, 64]"))
    with pytest.raises(hocket.Error, match="route: got rank 5, expected a rank from 0 to 4"):
        network_chart(network("crossbar"), route=(0, 5))
    with pytest.raises(hocket.Error, match=r'ends in ".gif", expected one of'):
        picture_of(lambda: network_chart(network("crossbar")), ".gif")
