"""Variants of a machine: less cost of one kind, more ports, no noise, a separate host section, or another network."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hocket import _native
from hocket._native import Error
from hocket.base.files import read_rows, read_text
from hocket.definitions.machine import Machine, shape_of_job

_OVERHEADS = ("o", "o_send", "o_receive", "O", "O_send", "O_receive", "g", "new_peer")
KINDS: Mapping[str, tuple[list[str], list[str]]] = {
    row["kind"]: (row["costs"].split(), row["rates"].split()) for row in read_rows(__file__, "costs.csv")
}
"""The keys of a machine file that determine each kind of cost: keys to halve, and rates to double."""

COST_KEYS = tuple(name for names in KINDS.values() for each in names for name in each)
"""The names of all keys that are costs or rates."""

_OF_COSTS = ("network", "node", "host", "level", "protocol")  # sections that contain costs
_OF_HOST = ("from", *_OVERHEADS, "both_ways", "S", "request", "answer")
"""The keys of a loggp network that may be in [host]."""

_MOST_PORTS = 1024  # the limit in a machine file


def variant(
    machine: Machine,
    values: Mapping[str, Any] = {},
    *,
    without: Iterable[str] = (),
    moves: Iterable[tuple[Sequence[str], Sequence[str]]] = (),
    factors: Mapping[str, float] = {},
    sections: Sequence[str] = _OF_COSTS,
) -> Machine | None:
    """Return a machine with other values of some keys, without others; None if that changes nothing.

    Args:
        machine: The machine.
        values: The values by key, such as "network.L".
        without: Keys that go; "*.S" goes from all sections.
        moves: Keys that move before, with the names of their sections, and where to.
        factors: By which factor values of keys with these names rise, in some sections.
        sections: These sections; by default all that contain costs.
    """
    lines = (
        f"{'.'.join(map(json.dumps, key.split('.')))} = {json.dumps(value, ensure_ascii=False)}\n"
        for key, value in values.items()
    )
    paths = [key.split(".") for key in without]
    handle = machine.handle.variant(list(moves), paths, "".join(lines), (sections, factors))
    return handle and Machine.of(handle, machine.file)


def scaled(kind: str) -> tuple[Sequence[str], dict[str, float]]:
    """Return sections of costs, and the factors of keys in them that halve the costs of one kind of `KINDS`."""
    costs, rates = KINDS[kind]
    return _OF_COSTS, {**dict.fromkeys(costs, 0.5), **dict.fromkeys(rates, 2.0)}


def halve(machine: Machine, kind: str) -> Machine | None:
    """Return the machine with half the costs of one kind of `KINDS`; None if its file has no such key."""
    return variant(machine, factors=scaled(kind)[1])


def with_more_ports(machine: Machine) -> Machine | None:
    """Return the machine with twice the ports; None if its model has no plain ports or a file cannot have so many."""
    ports = machine.quantities.get("node.ports", 1)
    if machine.model not in ("hockney", "links", "packets") or not isinstance(ports, int) or ports > _MOST_PORTS // 2:
        return None
    return variant(machine, {"node.ports": 2 * ports})


def with_host(machine: Machine) -> Machine:
    """Return the machine with the ranks' costs of messages moved to [host]; the same machine if it has that section.

    A `software_latency` becomes `o_send`; the receiver has no costs. A network model that allows no [host] is refused.
    """
    if machine.host:
        return machine
    if machine.model == "hockney":
        raise Error(
            f"machine {machine.name}: got the network model hockney, expected circuits, links, loggp or packets"
        )
    is_loggp = machine.model == "loggp"
    keys = [("network", key, key) for key in _OF_HOST] if is_loggp else [("node", "software_latency", "o_send")]
    places = [[], *(["protocol", name] for name in machine.protocols)]
    moves = [([*place, section, key], [*place, "host", name]) for place in places for section, key, name in keys]
    values = {} if is_loggp else {"host.o_receive": "0 s"}
    if not is_loggp and "software_latency" not in machine.node:
        values["host.o_send"] = "0 s"
    return variant(machine, values, moves=moves) or machine


def with_buffered_sends(machine: Machine) -> Machine:
    """Return the machine where no send waits for its receive."""
    values = {} if machine.model == "loggp" else {"network.protocol": "eager"}
    return variant(machine, values, without=["*.S"]) or machine


def with_network(machine: Machine, **keys: Any) -> Machine:
    """Return the machine with other values of some keys of [network]."""
    return variant(machine, {f"network.{key}": value for key, value in keys.items()}) or machine


def with_layout(machine: Machine, layout: str) -> Machine:
    """Return the machine with another torus on which a job lies so, "16x4, 16x4" for 64 x 64 nodes; refuse others."""
    if machine.network.get("topology") != "torus":
        raise Error(f"layout: machine {machine.name} has no torus, expected a machine with the topology torus")
    shape_of_job(layout)
    return variant(machine, {"network.layout": layout}, without=["network.dims", "network.permutation"]) or machine


def with_routing(machine: Machine, routing: str) -> Machine:
    """Return the machine with another routing, without the keys of its own policy; refuse one with no way for it."""
    if machine.model not in ("links", "packets"):
        expected = "a machine with the model links or packets"
        raise Error(f"routing: machine {machine.name} has the model {machine.model}, expected {expected}")
    of_policies = [] if routing == machine.network.get("routing") else ["network.flows_per_pair", "network.threshold"]
    return variant(machine, {"network.routing": routing}, without=of_policies) or machine


def with_map(machine: Machine, placement: str) -> Machine:
    """Return the machine with its ranks on other nodes: "block", "cyclic", the path of a file of hosts, or a node list.

    A node list of Slurm names hosts of the network, one rank on each. With a word, nodes keep their numbers of ranks. A
    file without hosts, or for more nodes, is refused.
    """
    if placement not in ("block", "cyclic"):
        others = ["network.ranks_per_node", "network.ranks_on_nodes"]
        if machine.network.get("topology") == "file":
            is_list = not os.path.exists(placement)
            values = {"network.hosts": placement} if is_list else {"network.map": os.path.abspath(placement)}
            return variant(machine, values, without=[*others, "network.map", "network.hosts"]) or machine
        if not os.path.exists(placement):
            raise Error(f'map: got "{placement}", expected "block", "cyclic" or the path of a file of hosts')
        nodes = _native.nodes_of_ranks(read_text(placement), placement)
        return variant(machine, {"network.map": nodes}, without=others) or machine
    own = machine.quantities.get("network.map")
    if isinstance(own, tuple):
        turns = sorted((turn, node) for node, count in Counter(own).items() for turn in range(count))
        nodes = sorted(own) if placement == "block" else [node for _, node in turns]
        return with_network(machine, map=nodes)
    return with_network(machine, map=placement)


def quiet(machine: Machine) -> Machine | None:
    """Return the machine without noise; None if it has none."""
    return variant(machine, without=["noise"]) if machine.noise else None
