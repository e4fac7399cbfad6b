"""Collisions: links that carry more flows at once than the parallel links of their switch would if all were even."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from hocket._native import Error
from hocket.definitions.machine import Machine
from hocket.definitions.topology import Link
from hocket.definitions.variants import with_routing
from hocket.simulating.simulation import Passage

ROUTINGS = ("fixed", "s-mod-k", "ecmp", "spray", "adaptive", "valiant", "ugal")
"""The simplest first; "d-mod-k" is fixed."""
_OF_ONE_WAY = ("fixed", "d-mod-k", "s-mod-k", "ecmp")
"""Here a message takes one way; under other policies it is on many links at once, with a part on each."""

Bundle: TypeAlias = tuple[int, bool]
"""Parallel links: the switch at their lower end, and whether they lead away from the nodes."""


@dataclass(frozen=True)
class Collisions:
    """Flows that share a link while a parallel link has fewer.

    Attributes:
        link: The link with the most flows over its even share, by the names of its ends: "switch 1.0 > switch 2.3".
        flows: Messages on it at once, at worst.
        even: The most on any of its parallel links at that moment, if the flows were spread evenly over them.
        links: Number of links that carry more than their even share at some moment.
        parallel_links: Number of links between switches that have parallel ones.
        times_s: By routing, the time of the call with it, in seconds; of `"ecmp"`, by the seed.
    """

    link: str
    flows: int
    even: int
    links: int
    parallel_links: int
    times_s: Mapping[str, float]


def may_collide(machine: Machine) -> bool:
    """Return whether collisions are looked for: on fair links, with a routing that gives a message one way."""
    network = machine.network
    is_fair = machine.model == "links" and network.get("sharing") == "fair"
    return is_fair and machine.topology is not None and network.get("routing", "fixed") in _OF_ONE_WAY


def collisions_of(machine: Machine, passages: Iterable[Passage]) -> Collisions | None:
    """Return the collisions of a call, without times of routings; None if flows are spread evenly.

    Args:
        machine: A machine that `may_collide`.
        passages: The load of its links over time, of one trial.
    """
    topology = machine.topology
    if topology is None:
        return None
    vertices, links = topology.parts(topology.nodes + topology.switches + topology.directed_links)
    bundles = _bundles(topology.nodes, links)
    of_bundle: dict[Bundle, list[Passage]] = defaultdict(list)
    for passage in passages:
        if passage.link in bundles:
            of_bundle[bundles[passage.link]].append(passage)
    sizes = Counter(bundles.values())
    loads = sorted((load for bundle, own in of_bundle.items() for load in _uneven(own, sizes[bundle])), reverse=True)
    if not loads:
        return None
    _, flows, even, worst = loads[0]
    name = next(f"{vertices[one.source].name} > {vertices[one.target].name}" for one in links if one.id == worst)
    uneven_links = len({link for *_, link in loads})
    return Collisions(name, flows, even, uneven_links, len(bundles), {})


def _bundles(nodes: int, links: Iterable[Link]) -> dict[int, Bundle]:
    """Return the bundle of each link between switches that has parallel ones.

    Of links away from the nodes, those of one switch are parallel; of links towards them, those to one switch.
    """
    levels = _levels(nodes, links)
    bundles = {}
    for link in links:
        lower, upper = sorted((link.source, link.target), key=lambda vertex: levels.get(vertex, 0))
        if 0 < levels.get(lower, 0) < levels[upper]:
            bundles[link.id] = (lower, lower == link.source)
    sizes = Counter(bundles.values())
    return {link: bundle for link, bundle in bundles.items() if sizes[bundle] > 1}


def _levels(nodes: int, links: Iterable[Link]) -> dict[int, int]:
    """Return the number of links from each node or switch to the nearest node."""
    neighbors = defaultdict(list)
    for link in links:
        neighbors[link.target].append(link.source)
    levels = dict.fromkeys(range(nodes), 0)
    queue = list(levels)
    for vertex in queue:
        fresh = [each for each in dict.fromkeys(neighbors[vertex]) if each not in levels]
        levels.update(dict.fromkeys(fresh, levels[vertex] + 1))
        queue.extend(fresh)
    return levels


def _uneven(passages: Iterable[Passage], links: int) -> Iterator[tuple[float, int, int, int]]:
    """Give loads above the even share in a bundle: flows over that share, both numbers, and the link."""
    changes = [(time_s, change, one.link) for one in passages for time_s, change in ((one.start_s, 1), (one.end_s, -1))]
    flows: Counter[int] = Counter()
    for _, of_moment in groupby(sorted(changes), key=lambda change: change[0]):
        for _, change, link in of_moment:
            flows[link] += change
        even = -(-flows.total() // links)
        yield from ((number / even, number, even, link) for link, number in flows.items() if number > even)


def other_routings(machine: Machine) -> dict[str, Machine]:
    """Return the machine with each other routing that its topology allows; none unless it `may_collide`."""
    own = machine.network.get("routing", "fixed").replace("d-mod-k", "fixed")
    machines = {}
    for routing in ROUTINGS if may_collide(machine) else ():
        if routing != own:
            with suppress(Error):
                machines[routing] = with_routing(machine, routing)
    return machines
