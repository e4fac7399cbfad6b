"""Making and removing the namespaces, cables, routes and shapers of a lab. Needs Linux, root and pyroute2.

Each end of a cable has a shaper: HTB at the rate of its link, with two classes. The first is for packets shorter than
128 bytes, mostly acknowledgements, which never wait behind data. The second is for all other packets. It has one
queue or, if the link is shared fairly, a queue for each pair of nodes; these queues take turns. A queue has room for
`QUEUE_PACKETS`. A packet has at most 1514 bytes, and at most 1448 of them belong to a message, so the shaper's rate is
1514/1448 of the link's rate.

Where nodes have several network cards, each card is a namespace, and so is the node, which has an interface and an
address for each card. Packets leave by the card of the address that they come from.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from hocket._native import Error
from hocket_lab.wiring import Cable, Wiring

try:
    from pyroute2 import NetNS, netns
    from pyroute2.netlink.exceptions import NetlinkError
except ImportError:  # `check_host` reports this
    netns = None

HEADER_BYTES = 66
"""Ethernet 14, IP 20, TCP 20, timestamps 12."""
FRAME_BYTES = 1514
QUEUE_PACKETS = 8192
"""More packets than can be under way, so that no packet is dropped."""
BATCH_PACKETS = 4
"""Packets that TCP passes on at once. One by one, they cost much processor time; many pass an idle link as one."""
WINDOW_BYTES = 4 << 20
"""The data of a stream that may be under way: more than a message, so that acknowledgements behind data do no harm."""
MOST_BYTES_PER_S = 12.5e6
"""The largest rate of a link: 100 Mbit/s. Above it, the processors limit the rate rather than the network."""
OPEN_BYTES_PER_S = round(2 * MOST_BYTES_PER_S)
"""The rate of a shaper that is faster than any link."""
CONTROL_INTERFACE = "control0"
_BURST_BYTES = 2 * FRAME_BYTES
"""With one packet, a link loses time whenever the host is late. With more than two, short messages pass faster than at
its rate."""
_SHORT_BYTES = 128
_FOLDER = Path("/run/netns")
_FIRST_DATA = IPv4Address("10.77.0.1")
_FIRST_CONTROL = IPv4Address("10.76.0.1")
_CONTROL = IPv4Address("10.76.255.254")
DATA_CLASS, DATA_QUEUES = 0x10020, 0x200000
_FIRST_TABLE = 100
"""The routing table of a node's first card."""
_CARD = IPv4Address("10.78.0.1")
"""The address that a node's routes have for the card behind an interface."""
_TO_NODE, _TO_CARD = 0xFFFF, 0xFFFE  # in place of the number of a cable
_ROOT, _ALL, _SHORT = 0x10000, 0x10001, 0x10010
_CONTROLLER = "control"
_SECONDS_TO_END = 2.0

# Links drop nothing, so windows only have to grow, as those of Reno do. BBR, the default of some hosts, sends at the
# rate at which a stream was last delivered, and leaves links idle when another stream has ended. Short packets overtake
# others: with SACK, TCP would take those for lost.
_SETTINGS = {
    "ipv4/ip_forward": "1",
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    "ipv6/conf/all/disable_ipv6": "1",
    "ipv6/conf/default/disable_ipv6": "1",
    "ipv4/tcp_congestion_control": "reno",
    "ipv4/tcp_sack": "0",
    "ipv4/tcp_slow_start_after_idle": "0",
    "ipv4/tcp_no_metrics_save": "1",
    "ipv4/tcp_rmem": f"4096 {WINDOW_BYTES} {WINDOW_BYTES}",
    "ipv4/tcp_wmem": f"4096 {WINDOW_BYTES} {WINDOW_BYTES}",
}


@dataclass(frozen=True)
class Sent:
    """The data that left over a link.

    Attributes:
        payload_bytes: Bytes of messages, including MPI's own headers and retransmissions.
        dropped: Number of packets that found the queue full.
    """

    payload_bytes: int
    dropped: int

    def __add__(self, other: Sent) -> Sent:
        """Return the sum of two counts."""
        return Sent(self.payload_bytes + other.payload_bytes, self.dropped + other.dropped)

    def __sub__(self, before: Sent) -> Sent:
        """Return the difference to an earlier count."""
        return Sent(self.payload_bytes - before.payload_bytes, self.dropped - before.dropped)


def check_host() -> None:
    """Check that a lab can be made here.

    Raises:
        Error: The host lacks something; the message says what.
    """
    if not Path("/proc/self/ns/net").exists():
        raise Error("hocket lab: the host has no network namespaces, expected Linux with network namespaces")
    if os.geteuid() != 0:
        raise Error("hocket lab: needs root to create network namespaces")
    if netns is None:
        raise Error("hocket lab: needs pyroute2: run pip install pyroute2")


def prefix(lab: str) -> str:
    """Return the prefix of a lab's namespaces."""
    return f"hocket-lab.{lab}."


def controller(lab: str) -> str:
    """Return the name of the namespace from which jobs are started."""
    return prefix(lab) + _CONTROLLER


def vertex_namespace(lab: str, vertex: int) -> str:
    """Return the name of a vertex's namespace."""
    return f"{prefix(lab)}{vertex}"


def node_namespace(lab: str, wiring: Wiring, node: int) -> str:
    """Return the name of the namespace in which the ranks of a node run."""
    return vertex_namespace(lab, node) if wiring.cards == 1 else f"{prefix(lab)}node{node}"


def data_interface(card: int = 0) -> str:
    """Return the name of the interface for messages by a card of a node."""
    return f"data{card}"


def data_address(vertex: int) -> str:
    """Return the address of a vertex for messages."""
    return str(_FIRST_DATA + vertex)


def control_address(vertex: int) -> str:
    """Return the address of a node for starting jobs."""
    return str(_FIRST_CONTROL + vertex)


def namespaces(lab: str) -> list[str]:
    """Return the names of a lab's namespaces."""
    return sorted(name for name in os.listdir(_FOLDER) if name.startswith(prefix(lab))) if _FOLDER.exists() else []


def labs_built() -> set[str]:
    """Return the names of the labs that have namespaces."""
    parts = [name.split(".") for name in os.listdir(_FOLDER)] if _FOLDER.exists() else []
    return {part[1] for part in parts if part[0] == prefix("").split(".")[0] and len(part) > 2}


def build(lab: str, wiring: Wiring, rate_bytes_per_s: float, on_done: Callable[[], object] = lambda: None) -> None:
    """Make a lab. If that fails, the finished parts stay.

    Args:
        lab: Its name, which no other lab has.
        wiring: Its wiring.
        rate_bytes_per_s: Message bytes per second that a link carries.
        on_done: Called after each vertex.

    Raises:
        Error: The kernel refuses.
    """
    _make_namespace(controller(lab))
    vertices = {vertex_namespace(lab, vertex.id) for vertex in wiring.vertices}
    for name in sorted(vertices | {node_namespace(lab, wiring, node) for node in wiring.nodes}):
        _make_namespace(name)
    _lay_control(lab, wiring)
    for node in wiring.nodes:
        _lay_cards(lab, wiring, node)
    for number, cable in enumerate(wiring.cables):
        _lay(lab, number, cable)
    for vertex in wiring.vertices:
        _furnish(lab, wiring, vertex.id, rate_bytes_per_s)
        on_done()


@contextmanager
def kernel(what: str) -> Iterator[None]:
    """Turn an error of the kernel into one line."""
    try:
        yield
    except (NetlinkError, OSError) as error:
        raise Error(f"hocket lab: the kernel refuses {what}: {error}") from None


def _make_namespace(name: str) -> None:
    with kernel(f"namespace {name}"):
        netns.create(name)
        netns.pushns(name)
        try:
            for setting, value in _SETTINGS.items():
                path = Path("/proc/sys/net", setting)
                if path.exists():
                    path.write_text(value)
        finally:
            netns.popns()


def _up(ns: Any, name: str) -> int:
    index = int(ns.link_lookup(ifname=name)[0])
    ns.link("set", index=index, state="up")
    return index


def _stub(ns: Any, name: str, address: IPv4Address) -> None:
    """Make an interface with an address of the namespace: a cable from the namespace to itself."""
    ns.link("add", ifname=name, kind="veth", peer={"ifname": f"{name}-end"})
    _up(ns, f"{name}-end")
    ns.addr("add", index=_up(ns, name), address=str(address), prefixlen=32)


def _lay_control(lab: str, wiring: Wiring) -> None:
    """Lay cables from the controller to all nodes, over which jobs are started."""
    with kernel("virtual cables (veth)"), NetNS(controller(lab)) as ns:
        _up(ns, "lo")
        _stub(ns, CONTROL_INTERFACE, _CONTROL)
        for node in wiring.nodes:
            peer = {"ifname": CONTROL_INTERFACE, "net_ns_fd": node_namespace(lab, wiring, node)}
            ns.link("add", ifname=f"node{node}", kind="veth", peer=peer)
            ns.route("add", dst=f"{control_address(node)}/32", oif=_up(ns, f"node{node}"), prefsrc=str(_CONTROL))
    for node in wiring.nodes:
        with NetNS(node_namespace(lab, wiring, node)) as ns:
            _up(ns, "lo")
            control = _up(ns, CONTROL_INTERFACE)
            ns.addr("add", index=control, address=control_address(node), prefixlen=32)
            ns.route("add", dst=f"{_CONTROL}/32", oif=control)
            ns.route("add", dst="10.76.0.0/16", oif=control, gateway=str(_CONTROL), flags=["onlink"])


def _lay_cards(lab: str, wiring: Wiring, node: int) -> None:
    """Give a node an interface for messages, or one for each of its cards."""
    with kernel("virtual cables (veth)"), NetNS(node_namespace(lab, wiring, node)) as ns:
        if wiring.cards == 1:
            _stub(ns, data_interface(), _FIRST_DATA + node)
            return
        for card, vertex in enumerate(wiring.cards_of(node)):
            of_node, of_card = _mac(_TO_NODE, vertex), _mac(_TO_CARD, vertex)
            inner = {"ifname": "node", "net_ns_fd": vertex_namespace(lab, vertex), "address": of_card}
            ns.link("add", ifname=data_interface(card), kind="veth", address=of_node, peer=inner)
            index = _up(ns, data_interface(card))
            ns.link("set", index=index, gso_max_segs=BATCH_PACKETS)
            ns.addr("add", index=index, address=data_address(vertex), prefixlen=32)
            ns.neigh("add", dst=str(_CARD), lladdr=of_card, ifindex=index, state="permanent")
            table = _FIRST_TABLE + card
            ns.route("add", dst="10.77.0.0/16", oif=index, gateway=str(_CARD), flags=["onlink"], table=table)
            ns.rule("add", src=data_address(vertex), src_len=32, table=table, priority=table)
            with NetNS(vertex_namespace(lab, vertex)) as own:
                own_index = _up(own, "node")
                own.neigh("add", dst=data_address(vertex), lladdr=of_node, ifindex=own_index, state="permanent")
                own.route("add", dst=f"{data_address(vertex)}/32", oif=own_index, scope="link")


def _lay(lab: str, number: int, cable: Cable) -> None:
    first, second = cable.forth.source, cable.forth.target
    with kernel("virtual cables (veth)"), NetNS(vertex_namespace(lab, first)) as ns:
        far = {"ifname": f"c{number}", "net_ns_fd": vertex_namespace(lab, second), "address": _mac(number, second)}
        ns.link("add", ifname=f"c{number}", kind="veth", address=_mac(number, first), peer=far)


def _mac(cable: int, vertex: int) -> str:
    """Return the MAC address of a cable's end."""
    return f"02:00:{cable >> 8:02x}:{cable & 255:02x}:{vertex >> 8:02x}:{vertex & 255:02x}"


def _furnish(lab: str, wiring: Wiring, vertex: int, rate_bytes_per_s: float) -> None:
    """Give a vertex its shapers, neighbours and routes, and a switch its address."""
    with NetNS(vertex_namespace(lab, vertex)) as ns:
        _up(ns, "lo")
        if vertex >= wiring.topology.nodes:
            _stub(ns, data_interface(), _FIRST_DATA + vertex)
        indices = {}
        for number, cable in enumerate(wiring.cables):
            if vertex in (cable.forth.source, cable.forth.target):
                indices[number] = _furnish_cable(ns, wiring, number, vertex, rate_bytes_per_s)
        _add_routes(ns, wiring, vertex, indices)


def _furnish_cable(ns: Any, wiring: Wiring, number: int, vertex: int, rate_bytes_per_s: float) -> int:
    index = int(ns.link_lookup(ifname=f"c{number}")[0])
    # HTB makes queues of txqlen packets.
    ns.link("set", index=index, gso_max_segs=BATCH_PACKETS, txqlen=QUEUE_PACKETS, state="up")
    link = wiring.cables[number].link_from(vertex)
    ns.neigh("add", dst=data_address(link.target), lladdr=_mac(number, link.target), ifindex=index, state="permanent")
    pairs = wiring.pairs.get(link.id, ())
    with kernel("shaping (HTB, u32, pfifo)"):
        _shape(ns, index, rate_bytes_per_s, pairs)
    return index


def _shape(ns: Any, index: int, rate_bytes_per_s: float, pairs: Sequence[tuple[int, int]]) -> None:
    rate = frame_rate(rate_bytes_per_s)
    ns.tc("add", "htb", index, handle=_ROOT, default=DATA_CLASS & 0xFFFF)
    ns.tc("add-class", "htb", index, handle=_ALL, parent=_ROOT, **_at_most(rate, rate))
    ns.tc("add-class", "htb", index, handle=_SHORT, parent=_ALL, prio=0, **_at_most(rate // 10, rate))
    ns.tc("add-class", "htb", index, handle=DATA_CLASS, parent=_ALL, prio=1, **_at_most(rate - rate // 10, rate))
    is_short = f"0x0000/{0x10000 - _SHORT_BYTES:#06x}+2"  # the total length in the IP header
    ns.tc("add-filter", "u32", index, parent=_ROOT, prio=1, protocol=0x0800, target=_SHORT, keys=[is_short])
    add_queues(ns, index, DATA_CLASS, DATA_QUEUES, pairs)


def frame_rate(rate_bytes_per_s: float) -> int:
    """Return the bytes of full packets per second that carry so many bytes of messages."""
    return round(rate_bytes_per_s * FRAME_BYTES / (FRAME_BYTES - HEADER_BYTES))


def add_queues(ns: Any, index: int, shaper: int, handle: int, pairs: Sequence[tuple[int, int]]) -> None:
    """Put queues behind a shaper: one for each of these pairs of nodes, or a single one if there are no pairs.

    HTB cannot be changed: with pairs, the shaper must not have queues of this handle yet.
    """
    if not pairs:
        ns.tc("replace", "pfifo", index, handle=handle, parent=shaper, limit=QUEUE_PACKETS)
        return
    ns.tc("replace", "htb", index, handle=handle, parent=shaper, default=0)
    for queue, nodes in enumerate(pairs, start=handle + 1):
        # Faster than the shaper, so that all queues with packets may send, and do so in turns of a quantum.
        turns = {"quantum": BATCH_PACKETS * FRAME_BYTES, **_at_most(OPEN_BYTES_PER_S, OPEN_BYTES_PER_S)}
        ns.tc("add-class", "htb", index, handle=queue, parent=handle, **turns)
        # The ends of a packet, in its IP header.
        ends = [f"{int(_FIRST_DATA) + node}/0xffffffff+{place}" for node, place in zip(nodes, (12, 16), strict=True)]
        ns.tc("add-filter", "u32", index, parent=handle, prio=1, protocol=0x0800, target=queue, keys=ends)


def _at_most(rate: int, ceil: int) -> dict[str, int]:
    return {"rate": rate, "ceil": ceil, "burst": _BURST_BYTES, "cburst": _BURST_BYTES}


def _add_routes(ns: Any, wiring: Wiring, vertex: int, indices: Mapping[int, int]) -> None:
    is_card = wiring.cards > 1 and vertex < wiring.topology.nodes
    own = {} if is_card else {"prefsrc": data_address(vertex)}
    for (at, target), cable in wiring.next_hops.items():
        if at == vertex:
            next_hop = data_address(wiring.cables[cable].link_from(vertex).target)
            ends = {"dst": f"{data_address(target)}/32", **own}
            ns.route("add", **ends, oif=indices[cable], gateway=next_hop, flags=["onlink"])


def sent(lab: str, wiring: Wiring) -> dict[int, Sent]:
    """Return the data that left over each link since the lab was made."""
    counts = {}
    for vertex in wiring.vertices:
        with NetNS(vertex_namespace(lab, vertex.id)) as ns:
            names = {link["index"]: link.get_attr("IFLA_IFNAME") for link in ns.get_links()}
            for number, cable in enumerate(wiring.cables):
                if vertex.id in (cable.forth.source, cable.forth.target):
                    index = next(index for index, name in names.items() if name == f"c{number}")
                    counts[cable.link_from(vertex.id).id] = _counted(ns, index)
    return counts


def _counted(ns: Any, index: int) -> Sent:
    classes = {each["handle"]: each.get_attr("TCA_STATS2") for each in ns.get_classes(index)}
    data = classes[DATA_CLASS].get_attr("TCA_STATS_BASIC")
    dropped = classes[DATA_CLASS].get_attr("TCA_STATS_QUEUE")["drops"]
    return Sent(data["bytes"] - HEADER_BYTES * data["packets"], dropped)


def queues(lab: str, wiring: Wiring, handle: int) -> list[str]:
    """Return the vertices that have a queue with this handle."""
    found = []
    for vertex in wiring.vertices:
        with NetNS(vertex_namespace(lab, vertex.id)) as ns:
            if any(queue["handle"] == handle for queue in ns.get_qdiscs()):
                found.append(vertex.name)
    return found


def interfaces(wiring: Wiring, vertex: int) -> list[str]:
    """Return the names of the interfaces of a vertex that carry messages."""
    cables = enumerate(wiring.cables)
    own = [f"c{number}" for number, cable in cables if vertex in (cable.forth.source, cable.forth.target)]
    is_card = wiring.cards > 1 and vertex < wiring.topology.nodes
    return ["node" if is_card else data_interface(), *own]


def datagrams(lab: str, vertex: int) -> socket.socket:
    """Return a socket in the namespace of a vertex."""
    netns.pushns(vertex_namespace(lab, vertex))
    try:
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    finally:
        netns.popns()


def remove(lab: str) -> None:
    """End all processes in a lab and remove its namespaces; the kernel then removes the rest."""
    end_processes(lab)
    for name in namespaces(lab):
        netns.remove(name)


def processes(lab: str) -> list[int]:
    """Return the ids of the processes that run in a lab."""
    names = namespaces(lab)
    spaces = {(_FOLDER / name).stat().st_ino for name in names}
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{process}/ns/net").st_ino in spaces:
                found.append(int(process))
        except OSError:
            continue  # the process has ended
    return [process for process in found if process != os.getpid()]


def end_processes(lab: str, *, most_s: float = _SECONDS_TO_END) -> None:
    """End all processes in a lab; after a time, without asking them."""
    end = time.monotonic() + most_s
    kind = signal.SIGTERM if most_s > 0 else signal.SIGKILL
    while running := processes(lab):
        for process in running:
            try:
                os.kill(process, kind)
            except ProcessLookupError:
                continue
        if time.monotonic() > end:
            kind = signal.SIGKILL
        time.sleep(0.05)
