"""Which links something waits for under recursive doubling: one assumption varied at a time, and what is counted.

The paper counts, by the statistics of the network's controllers, the share of all links at which a transfer waited. It
tells neither how ranks are numbered, how messages are routed and cut, which links "all" are, nor what counts as
waiting. The K computer's network has six axes: a job's torus of three is laid into it, each of its axes along two of
the six, there on one side and back on the other.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hocket.definitions.topology import LinkUse

Torus = tuple[int, int, int]
Place = Callable[[int, int, int], Sequence[int]]
"""The coordinates of a node, from those in the job's torus."""

PACKET_BYTES = 2048
_SEEDS = 8
_TOFU_LINKS = 10
"""Links of a node of the K computer: two along X, Y, Z and b, one along a and c."""
_KIB = 1 << 10


@dataclass(frozen=True)
class Case:
    """One assumption that differs from those of figure 15.

    Attributes:
        varied: What it is about.
        value: What is assumed.
        dims: Nodes along each axis of the network.
        changes: Keys of the machine file that differ.
        placements: The nodes in the order of the ranks, once or several times; none: in the order of their numbers.
        size_bytes: The message.
        ranks: How many, if not one on each node.
    """

    varied: str
    value: str
    dims: tuple[int, ...]
    changes: Mapping[str, Any] = field(default_factory=dict)
    placements: tuple[tuple[int, ...] | None, ...] = (None,)
    size_bytes: int = _KIB * _KIB
    ranks: int | None = None

    def machine_changes(self) -> list[dict[str, Any]]:
        """Return what differs in the machine file, for each placement."""
        base = {**self.changes, "dims": list(self.dims)}
        return [base if nodes is None else {**base, "permutation": list(nodes)} for nodes in self.placements]


def cases(torus: Torus) -> list[Case]:
    """Return all cases on a torus whose axes are even."""
    return [
        Case("nothing", "as in figure 15", torus),
        *_numberings(torus),
        *_routings(torus),
        *_physical(torus),
        *_foldings(torus),
        Case("protocol", "eager", torus, {"protocol": "eager"}),
        *(Case("ports", str(ports), torus, {"ports": ports}) for ports in (1, 6)),
        Case("link latency", "100 ns", torus, {"link_latency": "100 ns"}),
        *(Case("message", f"{kib} KiB", torus, size_bytes=kib * _KIB) for kib in (64, 256, 4 * _KIB, 16 * _KIB)),
        *_meetings(torus),
    ]


def _numberings(torus: Torus) -> list[Case]:
    """Ranks in other orders on the same torus."""
    x, y, z = torus
    orders = [order for order in itertools.permutations(range(3)) if order != (0, 1, 2)]
    blocks = {(2, y // 2, 2), (4, 2, 4), (x // 4, y, z // 4)}
    nodes = range(math.prod(torus))
    randomly = tuple(tuple(random.Random(seed).sample(nodes, len(nodes))) for seed in range(_SEEDS))
    return [
        *(Case("numbering", _named(order), torus, placements=(_sorted(torus, order),)) for order in orders),
        Case("numbering", "x, y, z backwards", torus, placements=(tuple(reversed(nodes)),)),
        *(
            Case("numbering", f"blocks of {' x '.join(map(str, block))}", torus, placements=(_blocks(torus, block),))
            for block in sorted(blocks)
        ),
        Case("numbering", f"random, seeds 0 to {_SEEDS - 1}", torus, placements=randomly),
    ]


def _named(order: Sequence[int]) -> str:
    return ", then ".join("xyz"[axis] for axis in order)


def _number(torus: Torus, at: Sequence[int]) -> int:
    return at[0] + torus[0] * (at[1] + torus[1] * at[2])


def _coordinates(torus: Torus) -> list[tuple[int, int, int]]:
    x, y, z = map(range, torus)
    return [(i, j, k) for k in z for j in y for i in x]


def _sorted(torus: Torus, order: Sequence[int]) -> tuple[int, ...]:
    """Return the nodes along one axis first, then along the others."""
    at = sorted(_coordinates(torus), key=lambda at: [at[axis] for axis in reversed(order)])
    return tuple(_number(torus, a) for a in at)


def _blocks(torus: Torus, block: Torus) -> tuple[int, ...]:
    """Return the nodes block by block, and within each along x, then y, then z."""

    def key(at: tuple[int, int, int]) -> list[int]:
        outer, inner = zip(*(divmod(a, b) for a, b in zip(at, block, strict=True)), strict=True)
        return [*reversed(outer), *reversed(inner)]

    return tuple(_number(torus, at) for at in sorted(_coordinates(torus), key=key))


def _routings(torus: Torus) -> list[Case]:
    """The same numbering, but routes along other axes first, or other ways round."""
    found = []
    for order in itertools.permutations(range(3)):
        if order == (0, 1, 2):
            continue
        dims = tuple(torus[axis] for axis in order)
        nodes = _placed(torus, dims, lambda *at, order=order: [at[axis] for axis in order])
        found.append(Case("routes", _named(order), dims, placements=(nodes,)))
    return [*found, Case("routes", 'tie "split"', torus, {"tie": "split"})]


def _placed(torus: Torus, dims: Sequence[int], place: Place, order: Sequence[int] = (0, 1, 2)) -> tuple[int, ...]:
    """Return the node in a network of these axes of each rank, ranks numbered in an order of the torus's axes."""
    at = sorted(_coordinates(torus), key=lambda at: [at[axis] for axis in reversed(order)])
    strides = [math.prod(dims[:axis]) for axis in range(len(dims))]
    return tuple(sum(c * s for c, s in zip(place(*a), strides, strict=True)) for a in at)


_TOFU_ROUTES = ("abcXYZ", "XYZabc")
_TOFU_ORDERS = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))


def _physical(torus: Torus) -> list[Case]:
    """Networks of six axes.

    The job's x goes along X, and back on the other side of a; z along Z and back by c, y along b and back by Y.
    """
    x, y, z = torus
    sizes = {"X": x // 2, "a": 2, "b": y // 2, "Y": 2, "Z": z // 2, "c": 2}

    def there_and_back(at: int, length: int) -> tuple[int, int]:
        return (at, 0) if at < length else (2 * length - 1 - at, 1)

    def place(route: str) -> Place:
        def of(i: int, j: int, k: int) -> list[int]:
            pairs = [there_and_back(at, n // 2) for at, n in zip((i, j, k), torus, strict=True)]
            at = dict(zip("XabYZc", itertools.chain(*pairs), strict=True))
            return [at[axis] for axis in route]

        return of

    found = []
    for route in _TOFU_ROUTES:
        dims = tuple(sizes[axis] for axis in route)
        for order in _TOFU_ORDERS:
            nodes = _placed(torus, dims, place(route), order)
            found.append(Case("six axes", f"routes {route}, ranks {_named(order)}", dims, placements=(nodes,)))
        slowest = tuple(sorted(range(math.prod(dims)), key=_key(dims, route, "XYZabc")))
        found.append(Case("six axes", f"routes {route}, ranks X, Y, Z, then a, b, c", dims, placements=(slowest,)))
        fastest = tuple(sorted(range(math.prod(dims)), key=_key(dims, route, "abcXYZ")))
        found.append(Case("six axes", f"routes {route}, ranks a, b, c, then X, Y, Z", dims, placements=(fastest,)))
    return found


def _key(dims: Sequence[int], axes: str, order: str) -> Callable[[int], list[int]]:
    """Return the key by which nodes are sorted along axes in an order, the first one fastest."""
    strides = {axis: (math.prod(dims[:index]), dims[index]) for index, axis in enumerate(axes)}
    return lambda node: [node // strides[axis][0] % strides[axis][1] for axis in reversed(order)]


def _foldings(torus: Torus) -> list[Case]:
    """What becomes of the ranks beyond the power of two."""
    ranks = math.prod(torus)
    active = 1 << ranks.bit_length() - 1
    nodes = [0] * ranks
    for extra in range(ranks - active):
        nodes[2 * extra], nodes[2 * extra + 1] = active + extra, extra
    for rank in range(2 * (ranks - active), ranks):
        nodes[rank] = rank - (ranks - active)
    return [
        Case("fold", f"rank r from {active} on with r - {active}", torus, placements=(tuple(nodes),)),
        Case("fold", f"none: {active} ranks", torus, ranks=active),
    ]


def _meetings(torus: Torus) -> list[Case]:
    """How messages share links, and what blocks whom."""
    size_bytes = 64 * _KIB
    packets = {"model": "packets", "packet": f"{PACKET_BYTES} B"}
    return [
        Case("sharing", "fair, 64 KiB", torus, {"sharing": "fair"}, size_bytes=size_bytes),
        Case("switching", "wormhole", torus, {"switching": "wormhole"}),
        *(
            Case("packets", f"2 KiB, buffers of {b}, 64 KiB", torus, {**packets, "buffer": b}, size_bytes=size_bytes)
            for b in (4, 16)
        ),
    ]


def shares(case: Case, uses: Sequence[LinkUse], link_bytes_per_s: float) -> dict[str, float]:
    """Return the shares of links that something waited for, by what is counted.

    Args:
        case: The case.
        uses: What the links carried that were used.
        link_bytes_per_s: Their bandwidth.
    """
    nodes = math.prod(case.dims)
    links = nodes * sum(min(size, 3) - 1 for size in case.dims)  # an axis of two nodes has one link a node, not two
    waited = [use for use in uses if use.waiting_s > 0]

    def longer_than(bytes_: int) -> float:
        return sum(use.waiting_s > bytes_ / link_bytes_per_s for use in waited) / links

    return {
        "links": links,
        "used_share": len(uses) / links,
        "of_all": len(waited) / links,
        "of_used": len(waited) / len(uses),
        "of_ten_per_node": len(waited) / (nodes * _TOFU_LINKS),
        "longer_than_packet": longer_than(PACKET_BYTES),
        "longer_than_message": longer_than(case.size_bytes),
        "longer_than_8_messages": longer_than(8 * case.size_bytes),
    }
