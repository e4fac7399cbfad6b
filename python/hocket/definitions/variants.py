"""Variants of a machine: less cost of one kind, more ports, no noise, a separate host section, or another network."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeAlias

from hocket import _native
from hocket._native import Error
from hocket.base.files import parse_toml, read_rows, read_text, toml
from hocket.definitions.machine import Machine, shape_of_job

_OVERHEADS = ("o", "o_send", "o_receive", "O", "O_send", "O_receive", "g", "new_peer")
KINDS: Mapping[str, tuple[list[str], list[str]]] = {
    row["kind"]: (row["costs"].split(), row["rates"].split()) for row in read_rows(__file__, "costs.csv")
}
"""The keys of a machine file that determine each kind of cost: keys to halve, and rates to double."""

_OF_COSTS = ("network", "node", "host", "level", "protocol")  # sections that contain costs
_OF_HOST = ("from", *_OVERHEADS, "both_ways", "S", "request", "answer")
"""The keys of a loggp network that may be in [host]."""

_MOST_PORTS = 1024  # the limit in a machine file
_QUANTITY = re.compile(r"\s*([0-9.eE+-]*[0-9.])\s*(.*)", re.DOTALL)


def halve(machine: Machine, kind: str) -> Machine | None:
    """Return the machine with half the costs of one kind of `KINDS`; None if its file has no such key."""
    costs, rates = KINDS[kind]
    factors = {**dict.fromkeys(costs, 0.5), **dict.fromkeys(rates, 2.0)}
    sections = _sections(machine)
    new_sections = {name: _times(value, factors) if name in _OF_COSTS else value for name, value in sections.items()}
    return None if new_sections == sections else _machine(machine, new_sections)


def with_more_ports(machine: Machine) -> Machine | None:
    """Return the machine with twice the ports; None if its model has no plain ports or a file cannot have so many."""
    sections = _sections(machine)
    ports = sections.get("node", {}).get("ports", 1)
    if machine.model not in ("hockney", "links", "packets") or not isinstance(ports, int) or ports > _MOST_PORTS // 2:
        return None
    return _machine(machine, {**sections, "node": {**sections.get("node", {}), "ports": 2 * ports}})


def with_host(machine: Machine) -> Machine:
    """Return the machine with the ranks' costs of messages moved to [host]; the same machine if it has that section.

    A `software_latency` becomes `o_send`; the receiver has no costs. A network model that allows no [host] is refused.
    """
    sections = _sections(machine)
    if "host" in sections:
        return machine
    if machine.model == "hockney":
        raise Error(
            f"machine {machine.name}: got the network model hockney, expected circuits, links, loggp or packets"
        )
    new_sections = _move_to_host(sections, machine.model)
    if machine.model != "loggp":
        new_sections["host"] = {"o_send": "0 s", **new_sections.get("host", {}), "o_receive": "0 s"}
    if protocols := sections.get("protocol"):
        new_sections["protocol"] = {name: _move_to_host(values, machine.model) for name, values in protocols.items()}
    return _machine(machine, new_sections)


def _move_to_host(sections: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the sections of a file or of a protocol with the ranks' costs of messages in [host], if they have some."""
    name = "network" if model == "loggp" else "node"
    names = dict(zip(_OF_HOST, _OF_HOST, strict=True)) if model == "loggp" else {"software_latency": "o_send"}
    section = sections.get(name, {})
    host = {names[key]: value for key, value in section.items() if key in names}
    others = {key: value for key, value in section.items() if key not in names}
    return {**sections, name: others, "host": host} if host else dict(sections)


def with_peers_known(machine: Machine) -> Machine | None:
    """Return the machine where the first message to a peer costs no more than others; None if that changes nothing."""
    sections = _sections(machine)
    new_sections = {name: _without(value, "new_peer") for name, value in sections.items()}
    return None if new_sections == sections else _machine(machine, new_sections)


def with_buffered_sends(machine: Machine) -> Machine:
    """Return the machine where no send waits for its receive."""
    sections = _without(_sections(machine), "S")
    if machine.model != "loggp":
        sections = {**sections, "network": {**sections["network"], "protocol": "eager"}}
    return _machine(machine, sections)


def with_network(machine: Machine, **keys: Any) -> Machine:
    """Return the machine with other values of some keys of [network]."""
    sections = _sections(machine)
    return _machine(machine, {**sections, "network": {**sections["network"], **keys}})


def with_cards(machine: Machine, **keys: Any) -> Machine:
    """Return the machine, which has [node.cards], with other values of some of its keys."""
    sections = _sections(machine)
    node = sections["node"]
    return _machine(machine, {**sections, "node": {**node, "cards": {**node["cards"], **keys}}})


def with_layout(machine: Machine, layout: str) -> Machine:
    """Return the machine with another torus on which a job lies so, "16x4, 16x4" for 64 x 64 nodes; refuse others."""
    sections = _sections(machine)
    network = sections["network"]
    if network.get("topology") != "torus":
        raise Error(f"layout: machine {machine.name} has no torus, expected a machine with the topology torus")
    others = {key: value for key, value in network.items() if key not in ("dims", "permutation")}
    shape_of_job(layout)
    return _machine(machine, {**sections, "network": {**others, "layout": layout}})


def with_map(machine: Machine, placement: str) -> Machine:
    """Return the machine with its ranks on other nodes: "block", "cyclic", or the path of a file of hosts.

    With a word, nodes keep their numbers of ranks. A file without hosts, or for more nodes, is refused.
    """
    sections = _sections(machine)
    network = {**sections["network"]}
    if placement not in ("block", "cyclic"):
        if not os.path.exists(placement):
            raise Error(f'map: got "{placement}", expected "block", "cyclic" or the path of a file of hosts')
        other_keys = _without(_without(network, "ranks_per_node"), "ranks_on_nodes")
        nodes = _native.nodes_of_ranks(read_text(placement), placement)
        return _machine(machine, {**sections, "network": {**other_keys, "map": nodes}})
    own, network["map"] = network.get("map"), placement
    if isinstance(own, list):
        turns = sorted((turn, node) for node, count in Counter(own).items() for turn in range(count))
        network["map"] = sorted(own) if placement == "block" else [node for _, node in turns]
    return _machine(machine, {**sections, "network": network})


def quiet(machine: Machine) -> Machine | None:
    """Return the machine without noise; None if it has none."""
    sections = _sections(machine)
    return _machine(machine, {k: v for k, v in sections.items() if k != "noise"}) if machine.noise else None


PathMachines: TypeAlias = "tuple[_Variants, _Variants | None]"
"""Handles of the machines that tell what a message consists of, for first messages to peers and for later ones."""
_Variants: TypeAlias = "tuple[_native.Machine, list[_native.Machine | None]]"


def path_machines(machine: Machine) -> PathMachines:
    """Return the machine without noise, with half of some costs; and the same where first messages cost no more."""
    first = quiet(machine) or machine
    later = with_peers_known(first)
    return _variants(first), None if later is None else _variants(later)


def _variants(machine: Machine) -> _Variants:
    variants = (halve(machine, part) for part in ("latency", "overhead"))
    return machine.handle, [None if one is None else one.handle for one in variants]


def _sections(machine: Machine) -> dict[str, Any]:
    return parse_toml(machine.text, machine.file)


def _machine(machine: Machine, sections: Mapping[str, Any]) -> Machine:
    return Machine.parse(toml(sections), machine.file)


def _without(values: Any, name: str) -> Any:
    """Return a section or a value without any key of that name, also in its subsections."""
    if isinstance(values, list):
        return [_without(each, name) for each in values]
    if not isinstance(values, dict):
        return values
    return {key: _without(value, name) for key, value in values.items() if key != name}


def _times(value: Any, factors: Mapping[str, float], factor: float | None = None) -> Any:
    """Return a value times a factor, if there is one; of a section, each named key times its own."""
    if isinstance(value, dict):
        return {key: _times(each, factors, factors.get(key)) for key, each in value.items()}
    if isinstance(value, list):
        return [_times(each, factors, factor) for each in value]
    if factor is None or not isinstance(value, str):
        return value
    match = _QUANTITY.fullmatch(value)
    return value if match is None else f"{float(match[1]) * factor!r} {match[2]}"
