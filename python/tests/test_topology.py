"""Topologies of machines."""

from typing import Any

import pytest

import hocket
from hocket.definitions.topology import Hop, Link, Spot, Vertex

TEXT = """name = "mine"
[network]
model = "links"
topology = "torus"
dims = [4, 2]
ranks_per_node = 2
link_bandwidth = "1 GB/s"
"""


def test_a_topology_has_parts_and_routes() -> None:
    topology = hocket.Machine.parse(TEXT).topology
    assert topology is not None
    assert (topology.nodes, topology.switches, topology.ranks, topology.directed_links) == (8, 0, 16, 32)
    vertices, links = topology.parts(2)
    assert vertices == (Vertex(0, "(0,0)", (0, 1), (0, 0)), Vertex(1, "(1,0)", (2, 3), (1, 0)))
    plus, minus = (Spot(panel, "", 0, 0, ("x", "y")) for panel in ("+x", "-x"))
    assert links == (Link(0, "+x from (0,0)", 0, 1, plus), Link(1, "-x from (0,0)", 0, 3, minus))
    assert topology.route(1, 2) == (Hop(0, "+x from (0,0)", 0, "(1,0)"),)
    assert topology.route(0, 1) == ()


def test_a_machine_on_which_messages_do_not_meet_has_none() -> None:
    assert hocket.Machine.load("cluster").topology is None


def test_a_rank_that_has_no_room_is_refused() -> None:
    topology = hocket.Machine.parse(TEXT).topology
    assert topology is not None
    with pytest.raises(hocket.Error, match="route: got rank 16, expected a rank from 0 to 15"):
        topology.route(16, 0)


@pytest.mark.parametrize("rank", [-1, 1.5, "0", None, 1 << 64])
def test_what_is_no_rank_is_refused(rank: Any) -> None:
    topology = hocket.Machine.parse(TEXT).topology
    assert topology is not None
    with pytest.raises(hocket.Error, match="target: got"):
        topology.route(0, rank)
    with pytest.raises(hocket.Error, match="most: got"):
        topology.parts(rank)
