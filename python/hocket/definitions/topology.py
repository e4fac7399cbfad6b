"""Topologies: nodes, switches and links of the machines on which messages meet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hocket import _native
from hocket.base.checks import mapping, several, whole
from hocket.base.checks import text as checked_text
from hocket.base.results import Result, drawn
from hocket.definitions.machine import find_machine

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Hop", "Link", "LinkUse", "Load", "Spot", "Topology", "Vertex"]

Load: TypeAlias = Literal["bytes", "busy", "waiting"]
"""What colours a link: bytes that it carried, the time that it was busy, or the time that something waited for it."""

AXES = ("X", "Y", "Z", "W", "V", "U")
"""Parameters of algorithms for tori: the sizes along the axes, in order. Algorithms for three take the first three."""


@dataclass(frozen=True)
class Vertex:
    """A node or a switch.

    Attributes:
        id: Its number; nodes come first.
        name: Its name, such as "(3,0,1)".
        ranks: The ranks that it has room for; a switch has none.
        position: Where a drawing of the network shows it: how far from the left and from the top, neighbours about 1
            apart.
    """

    id: int
    name: str
    ranks: tuple[int, ...]
    position: tuple[float, float]


@dataclass(frozen=True)
class Spot:
    """A cell of a map of all links, in which links of one kind share a panel.

    Attributes:
        panel: The kind of the panel's links, such as "+x".
        place: Where these links are, such as "z = 3", if the links of a kind have several panels; else empty.
        column: The cell's number from the left.
        row: The cell's number from the top.
        axes: What columns and rows are; empty where there is but one.
    """

    panel: str
    place: str
    column: int
    row: int
    axes: tuple[str, str]


@dataclass(frozen=True)
class Link:
    """A directed link.

    Attributes:
        id: Its number.
        name: Its name, such as "+x from (3,0,1)".
        source: The number of the vertex that it leads from.
        target: The number of the vertex that it leads to.
        spot: Where a map of all links shows it.
    """

    id: int
    name: str
    source: int
    target: int
    spot: Spot

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, without its place on a map."""
        return {"id": self.id, "name": self.name, "from": self.source, "to": self.target}


@dataclass(frozen=True)
class LinkUse:
    """What one link carried in the first trial.

    Attributes:
        link: Its number.
        name: Its name, such as "+x from (3,0,1)".
        bytes: Bytes that went over it.
        busy_s: How long it was busy.
        waiting_s: How long messages or packets waited for it, added up.
    """

    link: int
    name: str
    bytes: float
    busy_s: float
    waiting_s: float


@dataclass(frozen=True)
class Hop:
    """A step of a route.

    Attributes:
        link: The number of the link.
        name: Its name.
        channel: The virtual channel.
        to: The name of the vertex that it leads to.
    """

    link: int
    name: str
    channel: int
    to: str


@dataclass(frozen=True)
class Topology(Result):
    """The network of a machine on which messages meet.

    Attributes:
        machine: The machine's name.
        name: The topology's name, such as "torus".
        network: The keys of the machine's section [network], those of the topology among them.
        node: The keys of its section [node].
        host: The keys of its section [host], if it has one.
        torus: The sizes of a torus along its axes; None for other topologies.
        nodes: How many nodes.
        switches: How many switches.
        directed_links: How many links, each way counted.
        channels: Virtual channels of a link.
        longest_route: Links of the longest route.
        mean_route: Links of a route, on average over all pairs of distinct nodes.
        bisection: Links from one half of the nodes to the other where they are fewest; None if that is not known.
        ranks: How many ranks it has room for.
        picture: A drawing, in which nodes are shown by the ranks that they have room for.
        text: The text of the machine file.
        file: The name of that file, for messages.
    """

    machine: str
    name: str
    network: Mapping[str, str] = field(repr=False)
    node: Mapping[str, str] = field(repr=False)
    host: Mapping[str, str] = field(repr=False)
    torus: tuple[int, ...] | None
    nodes: int
    switches: int
    directed_links: int
    channels: int
    longest_route: int
    mean_route: float
    bisection: int | None
    ranks: int
    picture: str = field(repr=False)
    text: str = field(repr=False)
    file: str = field(repr=False)

    @classmethod
    def parse(cls, text: str, file: str = "machine") -> Topology | None:
        """Read the text of a machine file; None if on that machine no message disturbs another.

        Raises:
            Error: The text is not a machine, or its topology is wrong: file, line and key.
        """
        found = _native.topology(checked_text("text", text), checked_text("file", file))
        if found is None:
            return None
        facts = json.loads(found)
        torus = None if facts["torus"] is None else tuple(facts["torus"])
        return cls(**{**facts, "torus": torus}, text=text, file=file)

    @classmethod
    def load(cls, name: str | PathLike[str]) -> Topology | None:
        """Read a preset by its name, or a machine file by its path; None if on it no message disturbs another.

        Raises:
            Error: There is neither, the file is not a machine, or its topology is wrong: file, line and key.
        """
        return cls.parse(*find_machine(name))

    @property
    def title(self) -> str:
        """The machine and its topology."""
        return f"machine {self.machine}, {self.name}"

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each link, with the numbers of the nodes or switches that it joins.

        Raises:
            Error: There are more than there is memory for.
        """
        return [link.as_dict() for link in self.parts(self.directed_links)[1]]

    def plot(self, uses: Mapping[str, Iterable[LinkUse]], *, load: Load = "bytes") -> alt.VConcatChart:
        """Return a map of the links as a chart, coloured by what each carried.

        Args:
            uses: What each link carried, as `hocket.link_uses` returns it, of each run by its name.
            load: What colours a link.

        Raises:
            Error: An unknown load, no run, or too many links.
        """
        runs = {
            name: several(f"uses of {name}", own, LinkUse, "hocket.LinkUse")
            for name, own in mapping("uses", uses).items()
        }
        chart: alt.VConcatChart = drawn(self, uses=runs, load=checked_text("load", load))
        return chart

    def _digest(self) -> list[dict[str, Any]]:
        shown = ("nodes", "switches", "directed_links", "longest_route", "mean_route", "bisection", "ranks")
        return [{name: getattr(self, name) for name in shown}]

    def parts(self, most: int) -> tuple[tuple[Vertex, ...], tuple[Link, ...]]:
        """Return the first nodes and switches, and the first links, at most so many of each.

        Raises:
            Error: Not a whole number of them.
        """
        found = json.loads(_native.topology_parts(self.text, self.file, whole("most", most)))
        vertices = (_vertex(vertex) for vertex in found["vertices"])
        links = (
            Link(link["id"], link["name"], link["from"], link["to"], _spot(link["spot"])) for link in found["links"]
        )
        return tuple(vertices), tuple(links)

    def route(self, source: int, target: int) -> tuple[Hop, ...]:
        """Return the steps from the node of one rank to that of another; none if that is the same.

        Raises:
            Error: There is no room for such a rank.
        """
        between = (whole("source", source), whole("target", target))
        found = json.loads(_native.topology_route(self.text, self.file, *between))
        return tuple(Hop(**hop) for hop in found)


def _vertex(found: Mapping[str, Any]) -> Vertex:
    across, down = found["position"]
    return Vertex(found["id"], found["name"], tuple(found["ranks"]), (across, down))


def _spot(found: Mapping[str, Any]) -> Spot:
    across, down = found["axes"]
    return Spot(**{**found, "axes": (across, down)})
