"""`hocket show machine`: what a machine file says, and its network as facts and as a drawing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import click

from hocket.base.files import parse_toml
from hocket.base.units import format_bytes, format_count, format_rate, format_time
from hocket.cli.output import NO_BREAK, print_facts, print_json, print_table, write_picture
from hocket.cli.printing import say
from hocket.definitions.machine import Machine
from hocket.definitions.topology import Topology
from hocket.drawing.network_picture import network_chart

_MOST_LISTED = 65536  # limits of JSON: nodes and switches, and links
_MOST_WHOLE = 60  # letters that stay in one line


def show_machine(name: str, *, route: tuple[int, int] | None, plot: str | None, as_json: bool) -> None:
    """Show what a preset or a machine file says, its network, and the route between two ranks if requested.

    A UsageError refuses the route and the picture of a machine without a network.
    """
    machine = Machine.load(name)
    topology = machine.topology
    if topology is None and (route is not None or plot is not None):
        option = "--plot" if route is None else "--route"
        raise click.UsageError(f"{option}: machine {machine.name} has no topology, expected a machine with a topology")
    hops = topology.route(*route) if topology and route else None
    if topology is not None:
        write_picture(plot, partial(network_chart, topology, route=route))
    if as_json:
        steps = {} if hops is None else {"route": [vars(hop) for hop in hops]}
        files_written = {} if topology is None else {"plot": plot}
        print_json({**_entry(machine, topology), **steps, **files_written})
        return
    say(machine.name, bold=True)
    if topology is None:
        print_facts(_keys(machine))
        say("\nno topology: messages share no links")
        return
    print_facts([("topology", topology.name), *_keys(machine), *_facts(topology)])
    for remark in topology.remarks:
        say(f"note: {remark}")
    say(f"\n{topology.picture.rstrip()}")
    if route and hops is not None:
        source, target = route
        say(f"\nfrom rank {source} to rank {target}: {format_count(len(hops), 'link')}")
        if hops:
            rows = [(hop.name, hop.to, str(hop.link), str(hop.channel)) for hop in hops]
            print_table(["link", "to", "number", "channel"], rows, right=["number", "channel"])
    if plot is not None:
        say(f"\nplot: {plot}")


def _entry(machine: Machine, topology: Topology | None) -> dict[str, Any]:
    entry = {
        "machine": machine.name,
        "topology": None if topology is None else topology.name,
        **{name: getattr(machine, name) for name in ("network", "node", "host", "noise", "quantities")},
        "sections": dict(_sections(parse_toml(machine.text, machine.file))),
    }
    if topology is None:
        return entry
    vertices, links = topology.parts(_MOST_LISTED)
    count = topology.nodes + topology.switches
    return {
        **entry,
        **{key: value for key, value in vars(topology).items() if key not in ("machine", "name", "file", "handle")},
        "vertices": [vars(vertex) for vertex in vertices],
        "links": [link.as_dict() for link in links],
        "is_complete": max(count, topology.directed_links) <= _MOST_LISTED,
    }


def _facts(topology: Topology) -> Iterator[tuple[str, str]]:
    yield "nodes", f"{topology.nodes}, with room for {format_count(topology.ranks, 'rank')}"
    yield "switches", str(topology.switches)
    yield "directed links", f"{topology.directed_links}, each of {format_count(topology.channels, 'virtual channel')}"
    yield "longest route", format_count(topology.longest_route, "link")
    yield "mean route", f"{topology.mean_route:.4g} links, over all pairs of nodes"
    if topology.bisection is not None:
        yield "bisection", f"{format_count(topology.bisection, 'link')} each way"


def _keys(machine: Machine) -> Iterator[tuple[str, str]]:
    """Give the sections of the file in their order, with what other units mean."""
    yield "model", machine.model
    for section, keys in _sections(parse_toml(machine.text, machine.file)):
        texts = (
            _whole(f"{key} {_text(value)}") + _meaning(machine, f"{section}.{key}", value)
            for key, value in keys.items()
        )
        yield section, ", ".join(texts)


def _whole(text: str) -> str:
    """Return a text that stays in one line if it is short, and is broken behind commas if it is long."""
    return re.sub(" " if len(text) <= _MOST_WHOLE else "(?<!,) ", NO_BREAK, text)


def _sections(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the path of each section and its own keys, except those that the first lines show."""
    first = {"": ("name",), "network": ("model", "topology")}.get(path, ())
    tables: list[tuple[str, Mapping[str, Any]]] = []
    keys: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            tables.append((name, value))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            tables += [(f"{name}[{number}]", each) for number, each in enumerate(value)]
        elif key not in first:
            keys[key] = value
    if keys:
        yield path, keys
    for name, table in tables:
        yield from _sections(table, name)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _meaning(machine: Machine, name: str, value: Any) -> str:
    """Return quantities in the units in which Hocket shows them, if these differ from the units in the file."""
    unit = next((unit for unit in _UNITS if f"{name}{unit}" in machine.quantities), None)
    if unit is None:
        return ""
    texts = [_UNITS[unit](quantity) for quantity in _each(machine.quantities[name + unit])]
    is_same = all(_unit(text) == _unit(str(word)) for text, word in zip(texts, _each(value), strict=False))
    return "" if is_same else f" {_whole('= ' + ', '.join(texts))}"


def _each(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _unit(text: str) -> str:
    return text.rpartition(" ")[2]


_UNITS: Mapping[str, Callable[[Any], str]] = {
    "_s": format_time,
    "_bytes": format_bytes,
    "_bytes_per_s": format_rate,
    "_s_per_byte": lambda time_s: format_rate(1 / time_s) if time_s else "no limit",
}
