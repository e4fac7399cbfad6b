"""Topologies: nodes, switches and links of machines where messages share links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hocket import _native
from hocket.base.checks import mapping, several, whole
from hocket.base.checks import text as checked_text
from hocket.base.packages import alt
from hocket.base.results import Result, draw

Load: TypeAlias = Literal["bytes", "busy", "waiting"]
"""What the colour of a link means: the bytes that it carried, the time that it was busy, or the waiting time for it."""


@dataclass(frozen=True)
class Vertex:
    """A node or a switch."""

    id: int  # its number; nodes come first
    name: str  # its name, such as "(3,0,1)"
    ranks: tuple[int, ...]  # the ranks that run on it; a switch has none
    # Its place in a drawing of the network: distance from the left and from the top; neighbours are about 1 apart.
    position: tuple[float, float]


@dataclass(frozen=True)
class Spot:
    """A cell of a map of all links; links of one kind share a panel."""

    panel: str  # the kind of the panel's links, such as "+x"
    place: str  # the place of the panel's links, such as "z = 3", if a kind of links has several panels; else empty
    column: int  # the cell's number from the left
    row: int  # the cell's number from the top
    axes: tuple[str, str]  # the titles of columns and rows; empty if there is only one column or row


@dataclass(frozen=True)
class Link:
    """A directed link."""

    id: int  # its number
    name: str  # its name, such as "+x from (3,0,1)"
    source: int  # the number of the vertex where it begins
    target: int  # the number of the vertex where it ends
    spot: Spot  # its place in a map of all links

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, without its place in a map."""
        return {"id": self.id, "name": self.name, "from": self.source, "to": self.target}


@dataclass(frozen=True)
class LinkUse:
    """The load of one link in the first trial.

    Attributes:
        link: Its number.
        name: Its name, such as "+x from (3,0,1)".
        bytes: Bytes that it carried.
        busy_s: Total time that it was busy.
        waiting_s: Total time that messages or packets waited for it.
    """

    link: int
    name: str
    bytes: float
    busy_s: float
    waiting_s: float


@dataclass(frozen=True)
class Hop:
    """A step of a route."""

    link: int  # the number of the link
    name: str
    channel: int  # the virtual channel
    to: str  # the name of the vertex at its end


@dataclass(frozen=True)
class Topology(Result):
    """The network of a machine where messages share links.

    Attributes:
        machine: The machine's name.
        name: The topology's name, such as "torus".
        torus: The sizes of a torus along its axes; None for other topologies.
        nodes: Number of nodes.
        switches: Number of switches.
        directed_links: Number of links; the two directions count as two.
        channels: Number of virtual channels of a link.
        longest_route: Number of links of the longest route.
        mean_route: Number of links of a route, on average over all pairs of distinct nodes.
        bisection: Smallest number of links from one half of the nodes to the other; None if it is not known.
        ranks: Number of ranks that fit.
        remarks: What is lopsided in a network from a file, and its taper; a sentence each.
        picture: A drawing that shows each node by its ranks.
        file: The name of the machine file, for error messages.
        handle: The machine as an object of the compiled module.
    """

    machine: str
    name: str
    torus: tuple[int, ...] | None
    nodes: int
    switches: int
    directed_links: int
    channels: int
    longest_route: int
    mean_route: float
    bisection: int | None
    ranks: int
    remarks: tuple[str, ...]
    picture: str = field(repr=False)
    file: str = field(repr=False)
    handle: _native.Machine = field(repr=False, compare=False)

    @property
    def title(self) -> str:
        """The machine and its topology."""
        return f"machine {self.machine}, {self.name}"

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each link, with the numbers of the nodes or switches that it connects.

        Raises:
            Error: The rows do not fit into memory.
        """
        return [link.as_dict() for link in self.parts(self.directed_links)[1]]

    def plot(  # type: ignore[override]
        self, uses: Mapping[str, Iterable[LinkUse]], *, load: Load = "bytes"
    ) -> alt.VConcatChart:
        """Return a map of the links as a chart, coloured by load.

        Args:
            uses: By name of the run, the load of each link, as `hocket.link_uses` returns it.
            load: The load that the colours show.

        Raises:
            Error: The load is unknown, there is no run, or there are too many links.
        """
        runs = {
            name: several(f"uses of {name}", own, LinkUse, "hocket.LinkUse")
            for name, own in mapping("uses", uses).items()
        }
        chart: alt.VConcatChart = draw(self, uses=runs, load=checked_text("load", load))
        return chart

    def _notebook_rows(self) -> list[dict[str, Any]]:
        field_names = ("nodes", "switches", "directed_links", "longest_route", "mean_route", "bisection", "ranks")
        return [{name: getattr(self, name) for name in field_names}]

    def parts(self, most: int) -> tuple[tuple[Vertex, ...], tuple[Link, ...]]:
        """Return at most `most` nodes and switches and at most `most` links, the first ones.

        Raises:
            Error: The limit is not a whole number.
        """
        data = self.handle.topology_parts(whole("most", most))
        return tuple(Vertex(**vertex) for vertex in data["vertices"]), tuple(map(_link, data["links"]))

    def route(self, source: int, target: int) -> tuple[Hop, ...]:
        """Return the steps from one rank's node to another's; none if it is the same node.

        Raises:
            Error: The network has no room for such a rank.
        """
        hops = self.handle.topology_route(whole("source", source), whole("target", target))
        return tuple(Hop(**hop) for hop in hops)


def _link(data: Mapping[str, Any]) -> Link:
    return Link(data["id"], data["name"], data["from"], data["to"], Spot(**data["spot"]))
