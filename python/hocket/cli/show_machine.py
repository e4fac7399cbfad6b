"""`hocket show machine`: the network of a machine, as facts and as a drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from hocket.base import files
from hocket.base.units import format_count
from hocket.cli.output import print_facts, print_json, print_table
from hocket.cli.printing import say
from hocket.definitions.machine import Machine
from hocket.definitions.topology import Hop, Topology
from hocket.drawing.encoding import picture_of
from hocket.drawing.network_picture import network_chart

_MOST_LISTED = 65536  # limits of JSON: nodes and switches, and links


def show_machine(name: str, *, route: tuple[int, int] | None, plot: str | None, as_json: bool) -> None:
    """Show the network of a preset or of a machine file, and the route between two ranks if requested.

    Raises:
        Error: There is no such machine, its file has a mistake, it has no room for a rank, or its network is too large
            to draw.
        UsageError: A route or a picture is requested, but the machine has none.
    """
    machine = Machine.load(name)
    topology = machine.topology
    if topology is None:
        if route is not None or plot is not None:
            option = "--plot" if route is None else "--route"
            raise click.UsageError(
                f"{option}: machine {machine.name} has no topology, expected a machine with a topology"
            )
        _show_contention_free(machine, as_json=as_json)
        return
    hops = topology.route(*route) if route else None
    if plot is not None:
        files.write(plot, picture_of(lambda: network_chart(topology, route=route), Path(plot).suffix))
    if as_json:
        entry = {} if hops is None else {"route": [vars(hop) for hop in hops]}
        print_json({**_entry(machine, topology), **entry, "plot": plot})
        return
    say(topology.machine, bold=True)
    print_facts(_facts(machine, topology))
    say(f"\n{topology.picture.rstrip()}")
    if route and hops is not None:
        _print_route(route, hops)
    if plot is not None:
        say(f"\nplot: {plot}")


def _show_contention_free(machine: Machine, *, as_json: bool) -> None:
    if as_json:
        facts = {"network": machine.network, "node": machine.node, "host": machine.host, "noise": machine.noise}
        print_json({"machine": machine.name, "topology": None, **facts})
        return
    say(machine.name, bold=True)
    noise = [(f"noise.{kind}", _text(keys)) for kind, keys in machine.noise.items()]
    print_facts([*_keys(machine), *noise])
    say("\nno topology: messages share no links")


def _entry(machine: Machine, topology: Topology) -> dict[str, Any]:
    vertices, links = topology.parts(_MOST_LISTED)
    count = topology.nodes + topology.switches
    return {
        "machine": machine.name,
        "topology": topology.name,
        "network": machine.network,
        "node": machine.node,
        "host": machine.host,
        **{key: value for key, value in vars(topology).items() if key not in ("machine", "name", "file", "handle")},
        "vertices": [vars(vertex) for vertex in vertices],
        "links": [link.as_dict() for link in links],
        "is_complete": max(count, topology.directed_links) <= _MOST_LISTED,
    }


def _facts(machine: Machine, topology: Topology) -> Iterator[tuple[str, str]]:
    yield "topology", topology.name
    yield from _keys(machine)
    yield "nodes", f"{topology.nodes}, with room for {format_count(topology.ranks, 'rank')}"
    yield "switches", str(topology.switches)
    yield "directed links", f"{topology.directed_links}, each of {format_count(topology.channels, 'virtual channel')}"
    yield "longest route", format_count(topology.longest_route, "link")
    yield "mean route", f"{topology.mean_route:.4g} links, over all pairs of nodes"
    if topology.bisection is not None:
        yield "bisection", f"{format_count(topology.bisection, 'link')} each way"


def _print_route(route: tuple[int, int], hops: Sequence[Hop]) -> None:
    source, target = route
    say(f"\nfrom rank {source} to rank {target}: {format_count(len(hops), 'link')}")
    if hops:
        rows = [(hop.name, hop.to, str(hop.link), str(hop.channel)) for hop in hops]
        print_table(["link", "to", "number", "channel"], rows, right=["number", "channel"])


def _keys(machine: Machine) -> Iterator[tuple[str, str]]:
    if "model" in machine.network:
        yield "model", machine.network["model"]
    yield "network", _text({key: value for key, value in machine.network.items() if key not in ("model", "topology")})
    for section, keys in (("node", machine.node), ("host", machine.host)):
        if keys:
            yield section, _text(keys)


def _text(keys: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in keys.items())
