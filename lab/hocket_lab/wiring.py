"""The plan for a machine's network on one host: cables, next hops, and which nodes share a link. It builds nothing.

Each node or switch of the topology is a network namespace. Two opposite links are the two directions of a cable. Routes
are the same as in the simulator: each vertex knows the cable for packets to each node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from hocket._native import Error
from hocket.definitions.topology import Link, Topology, Vertex

MOST_VERTICES = 256
"""The largest number of namespaces on one host."""
MOST_QUEUES = 4096
"""The largest number of queues of a lab: one for each link and each pair of nodes whose route passes it."""


@dataclass(frozen=True)
class Cable:
    """Two links between the same vertices: `forth` from the first vertex to the second one, and `back`."""

    forth: Link
    back: Link

    @property
    def links(self) -> tuple[Link, Link]:
        """Both links."""
        return self.forth, self.back

    def link_from(self, vertex: int) -> Link:
        """Return the link over which packets leave a vertex."""
        return self.forth if self.forth.source == vertex else self.back


@dataclass(frozen=True)
class Wiring:
    """The wiring of a topology.

    Attributes:
        topology: The topology.
        vertices: Its nodes, then its switches.
        cables: Pairs of links.
        next_hops: The cable over which packets leave, by vertex and destination node.
        pairs: The pairs of nodes that share a link fairly, by the number of the link; empty if packets leave in the
            order in which they come.
        cards: How many nodes of the topology are the network cards of one node; 1 if each is a node.
    """

    topology: Topology
    vertices: tuple[Vertex, ...]
    cables: tuple[Cable, ...]
    next_hops: Mapping[tuple[int, int], int]
    pairs: Mapping[int, Sequence[tuple[int, int]]]
    cards: int = 1

    @staticmethod
    def of(topology: Topology, *, is_fair: bool, cards: int = 1) -> Wiring:
        """Return the wiring of a topology, in which so many successive nodes are the cards of one node.

        Its links are shared fairly if `is_fair`, and if that takes at most `MOST_QUEUES` queues. Otherwise, packets
        leave in the order in which they come.

        Raises:
            Error: The topology is too large for a host, a link has no opposite, or a next hop depends on the start of a
                route.
        """
        size = topology.nodes + topology.switches
        if size > MOST_VERTICES:
            raise Error(f"{topology.file}: has {size} nodes and switches, expected at most {MOST_VERTICES} for a lab")
        vertices, links = topology.parts(max(size, topology.directed_links))
        cables = _cables(topology, links)
        next_hops, pairs = _routes(topology, vertices, links, cables)
        has_queues = is_fair and sum(map(len, pairs.values())) <= MOST_QUEUES
        return Wiring(topology, vertices, cables, next_hops, pairs if has_queues else {}, cards)

    def reached(self, start: int, down: Container[int]) -> set[int]:
        """Return the vertices to which there are ways over links that are not down.

        If there are switches, no way passes through another node.
        """
        found, waiting = {start}, [start]
        while waiting:
            at = waiting.pop()
            if at == start or at >= self.topology.nodes or not self.topology.switches:
                links = (link for cable in self.cables for link in cable.links)
                ends = {link.target for link in links if link.source == at and link.id not in down}
                waiting += ends - found
                found |= ends
        return found

    @property
    def nodes(self) -> range:
        """The nodes on which ranks run."""
        return range(self.topology.nodes // self.cards)

    def cards_of(self, node: int) -> range:
        """Return the vertices that are the cards of a node; the node itself if it has none."""
        return range(node * self.cards, (node + 1) * self.cards)

    def node_of(self, rank: int) -> int:
        """Return the node of a rank.

        Raises:
            Error: The topology has no room for such a rank.
        """
        for vertex in self.vertices:
            if rank in vertex.ranks:
                return vertex.id // self.cards
        raise Error(f"{self.topology.file}: got rank {rank}, expected a rank below {self.topology.ranks}")


def _cables(topology: Topology, links: tuple[Link, ...]) -> tuple[Cable, ...]:
    """Pair opposite links, in the order of their numbers."""
    between: dict[tuple[int, int], list[Link]] = defaultdict(list)
    for link in links:
        if link.source != link.target:
            between[link.source, link.target].append(link)
    cables = []
    for (source, target), forth in between.items():
        back = between.get((target, source), [])
        if len(forth) != len(back):
            raise Error(
                f"{topology.file}: link {forth[-1].name} has no link in the opposite direction, which a cable needs"
            )
        if source < target:
            cables += [Cable(*pair) for pair in zip(forth, back, strict=True)]
    return tuple(cables)


def _routes(
    topology: Topology, vertices: tuple[Vertex, ...], links: tuple[Link, ...], cables: tuple[Cable, ...]
) -> tuple[dict[tuple[int, int], int], dict[int, list[tuple[int, int]]]]:
    """Return the next hops, and the pairs of nodes whose routes pass each link."""
    cable_of = {link.id: number for number, cable in enumerate(cables) for link in cable.links}
    nodes = [vertex for vertex in vertices if vertex.ranks]
    next_hops: dict[tuple[int, int], int] = {}
    pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for source, target in product(nodes, nodes):
        pair = (source.id, target.id)
        for hop in topology.route(source.ranks[0], target.ranks[0]):
            at, cable = links[hop.link].source, cable_of[hop.link]
            pairs[hop.link].append(pair)
            if next_hops.setdefault((at, target.id), cable) != cable:
                where = f"at {vertices[at].name} the route to {target.name} depends on its source"
                raise Error(f"{topology.file}: {where}, which a lab cannot build")
    return next_hops, pairs
