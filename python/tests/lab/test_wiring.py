"""Wiring: the next hops lead packets along the routes of the simulator."""

from __future__ import annotations

import pytest

from hocket import Error
from hocket.definitions.machine import Machine
from hocket_lab.wiring import MOST_VERTICES, Wiring

from .conftest import STAR, TORUS, text

DRAGONFLY = 'topology = "dragonfly"\nnodes_per_router = 2\nrouters_per_group = 2\nglobal_links_per_router = 1'
TOPOLOGIES = {
    "star": STAR,
    "torus": TORUS,
    "three dimensions": 'topology = "torus"\ndims = [3, 2, 4]',
    "split ties": 'topology = "torus"\ndims = [4, 4]\ntie = "split"',
    "mesh": 'topology = "mesh"\ndims = [3, 2]',
    "fat tree": 'topology = "fat_tree"\ndown = [4, 4]\nup = [1, 2]',
    "dragonfly": DRAGONFLY,
    "one node": 'topology = "torus"\ndims = [1]',
    "ranks of a node": f"{TORUS}\nranks_per_node = 2",
    "permuted": f"{TORUS}\npermutation = [8, 7, 6, 5, 4, 3, 2, 1, 0]",
}


def wiring(topology: str) -> Wiring:
    found = Machine.parse(text(topology)).topology
    assert found is not None
    return Wiring.of(found, is_fair=True)


@pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=TOPOLOGIES.keys())
def test_packets_take_the_routes_of_the_simulator(topology: str) -> None:
    wired = wiring(topology)
    nodes = [vertex for vertex in wired.vertices if vertex.ranks]
    for source in nodes:
        for target in nodes:
            at, links = source.id, []
            while at != target.id:
                link = wired.cables[wired.next_hops[at, target.id]].link_from(at)
                links.append(link.id)
                at = link.target
            route = wired.topology.route(source.ranks[0], target.ranks[0])
            assert links == [hop.link for hop in route]
            assert all(wired.pairs[link].count((source.id, target.id)) == 1 for link in links)


@pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=TOPOLOGIES.keys())
def test_every_link_is_a_direction_of_one_cable(topology: str) -> None:
    wired = wiring(topology)
    laid = [link for cable in wired.cables for link in (cable.forth, cable.back)]
    for cable in wired.cables:
        assert (cable.forth.source, cable.forth.target) == (cable.back.target, cable.back.source)
    expected = [link for link in wired.topology.parts(10_000)[1] if link.source != link.target]
    assert sorted(link.id for link in laid) == [link.id for link in expected]


def test_a_rank_is_at_its_node() -> None:
    assert [wiring(TOPOLOGIES["ranks of a node"]).node_of(rank) for rank in (0, 1, 2, 17)] == [0, 0, 1, 8]
    assert wiring(TOPOLOGIES["permuted"]).node_of(0) == 8
    with pytest.raises(Error, match="got rank 9, expected a rank below 9"):
        wiring(TORUS).node_of(9)


@pytest.mark.parametrize(
    ("topology", "is_shared"),
    [
        ('topology = "torus"\ndims = [6, 6]', True),
        ('topology = "torus"\ndims = [8, 8]', False),
        ('topology = "crossbar"\nnodes = 45', True),
        ('topology = "crossbar"\nnodes = 46', False),
    ],
)
def test_links_are_shared_fairly_up_to_a_number_of_queues(topology: str, is_shared: bool) -> None:
    assert bool(wiring(topology).pairs) == is_shared


def test_a_network_that_is_too_large_is_refused() -> None:
    with pytest.raises(Error, match=f"has 1024 nodes and switches, expected at most {MOST_VERTICES} for a lab"):
        wiring('topology = "torus"\ndims = [32, 32]')
