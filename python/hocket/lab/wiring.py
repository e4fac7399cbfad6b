"""How the network of a machine is wired on one host: cables, addresses, and next hops. Nothing is made here.

A node or switch of the topology is a network namespace, and two links that lead there and back are the two directions
of a cable. The routes are those of the simulator: each vertex knows by which cable packets for a node leave.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from hocket._native import Error
from hocket.definitions.topology import Link, Topology, Vertex

__all__ = ["MOST_VERTICES", "Cable", "Wiring"]

MOST_VERTICES = 256
"""Namespaces that one host is asked to hold."""


@dataclass(frozen=True)
class Cable:
    """Two links between the same vertices, one each way.

    Attributes:
        forth: The link that leads from the cable's first vertex to the second one.
        back: The link that leads back.
    """

    forth: Link
    back: Link

    def link_from(self, vertex: int) -> Link:
        """Return the link by which packets leave a vertex."""
        return self.forth if self.forth.source == vertex else self.back


@dataclass(frozen=True)
class Wiring:
    """The wiring of a topology.

    Attributes:
        topology: The topology.
        vertices: Its nodes, then its switches.
        cables: Pairs of links.
        next_hops: For a vertex and the node that packets are for: the cable by which they leave.
    """

    topology: Topology
    vertices: tuple[Vertex, ...]
    cables: tuple[Cable, ...]
    next_hops: Mapping[tuple[int, int], int]

    @staticmethod
    def of(topology: Topology) -> Wiring:
        """Return how to wire a topology.

        Raises:
            Error: It is too large for a host, a link has none back, or a next hop depends on where a route begins.
        """
        size = topology.nodes + topology.switches
        if size > MOST_VERTICES:
            raise Error(f"{topology.file}: has {size} nodes and switches, expected at most {MOST_VERTICES} for a lab")
        vertices, links = topology.parts(max(size, topology.directed_links))
        cables = _cables(topology, links)
        return Wiring(topology, vertices, cables, _next_hops(topology, vertices, links, cables))

    def node_of(self, rank: int) -> int:
        """Return the node of a rank.

        Raises:
            Error: There is no room for such a rank.
        """
        for vertex in self.vertices:
            if rank in vertex.ranks:
                return vertex.id
        raise Error(f"{self.topology.file}: has room for {self.topology.ranks} ranks, not for rank {rank}")


def _cables(topology: Topology, links: tuple[Link, ...]) -> tuple[Cable, ...]:
    """Pair links that lead there and back, in the order of their numbers."""
    between: dict[tuple[int, int], list[Link]] = defaultdict(list)
    for link in links:
        if link.source != link.target:
            between[link.source, link.target].append(link)
    cables = []
    for (source, target), forth in between.items():
        back = between.get((target, source), [])
        if len(forth) != len(back):
            raise Error(f"{topology.file}: link {forth[-1].name} has no link back, which a cable needs")
        if source < target:
            cables += [Cable(*pair) for pair in zip(forth, back, strict=True)]
    return tuple(cables)


def _next_hops(
    topology: Topology, vertices: tuple[Vertex, ...], links: tuple[Link, ...], cables: tuple[Cable, ...]
) -> dict[tuple[int, int], int]:
    cable_of = {link.id: number for number, cable in enumerate(cables) for link in (cable.forth, cable.back)}
    nodes = [vertex for vertex in vertices if vertex.ranks]
    found: dict[tuple[int, int], int] = {}
    for source in nodes:
        for target in nodes:
            for hop in topology.route(source.ranks[0], target.ranks[0]):
                at, cable = links[hop.link].source, cable_of[hop.link]
                if found.setdefault((at, target.id), cable) != cable:
                    where = f"at {vertices[at].name} the route to {target.name} depends on where it begins"
                    raise Error(f"{topology.file}: {where}, which a lab cannot build")
    return found
