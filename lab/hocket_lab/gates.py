"""Gates: links of a lab that are slow or down for a time after the start of each measured call.

A gate is a second shaper (TBF) of a link, between its HTB and its queues. An open gate passes packets faster than any
link. A gate keeps packets back and loses none. Packets shorter than 128 bytes, mostly acknowledgements, pass beside it.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import groupby

from hocket._native import Error
from hocket.base.units import format_time
from hocket.simulating.faults import Faults, changes_of_links
from hocket_lab import building
from hocket_lab.building import FRAME_BYTES, OPEN_BYTES_PER_S, QUEUE_PACKETS
from hocket_lab.laboratory import Lab
from hocket_lab.wiring import Wiring

with suppress(ImportError):  # `building.check_host` reports this
    from pyroute2 import NetNS

LEAST_S = 5e-3
"""The shortest time between two changes of a link: a change takes about 1 ms."""
_LEAD_S, _MOST_LEAD_S = 50e-3, 3.2
"""From naming a start to the start: all ranks must know it by then. A missed start doubles it, others halve it."""
_HANDLE, _QUEUES = 0x300000, 0x400000
_BURST_BYTES = 1600
"""One packet, which passes at once after a change; TBF cuts batches of packets."""
_DOWN_BYTES_PER_S = 500.0
"""One packet in 3 s. TBF has no lower rate."""
_DISCARD = 9  # a port


class Gate:
    """The gate of a link.

    It is open until `let` says something else.
    """

    def __init__(self, lab: Lab, link: int) -> None:
        cables = enumerate(lab.wiring.cables)
        number, way = next((number, way) for number, cable in cables for way in cable.links if way.id == link)
        namespace = building.vertex_namespace(lab.name, way.source)
        self._full_bytes_per_s = building.frame_rate(lab.rate_bytes_per_s)
        self._part = 1.0
        self._far = building.data_address(way.target)
        self._pairs = lab.wiring.pairs.get(link, ())
        with ExitStack() as stack:
            self._kick = stack.enter_context(_socket(lab.name, way.source, f"c{number}"))
            self._ns = stack.enter_context(NetNS(namespace))
            self._index = int(self._ns.link_lookup(ifname=f"c{number}")[0])
            self._shape("replace")
            stack.callback(self._add_queues, building.DATA_CLASS, building.DATA_QUEUES)  # without the gate
            self._add_queues(_HANDLE + 1, _QUEUES)
            self._cleanup = stack.pop_all()

    def let(self, part: float) -> None:
        """Let so large a part of the link's bandwidth pass from now on."""
        if part == self._part:
            return
        self._part = part
        self._shape("change")
        self._kick.sendto(b"", (self._far, _DISCARD))  # TBF looks at its new rate when a packet comes

    def close(self) -> None:
        """Remove the gate."""
        self._cleanup.close()

    def _add_queues(self, shaper: int, handle: int) -> None:
        with building.kernel("shaping (HTB, u32, pfifo)"):
            building.add_queues(self._ns, self._index, shaper, handle, self._pairs)

    def _shape(self, command: str) -> None:
        rate = self._part * self._full_bytes_per_s if self._part < 1 else OPEN_BYTES_PER_S
        rate = max(round(rate), _DOWN_BYTES_PER_S)
        limit = QUEUE_PACKETS * FRAME_BYTES
        where = {"handle": _HANDLE, "parent": building.DATA_CLASS}
        with building.kernel("shaping (TBF)"):
            self._ns.tc(command, "tbf", self._index, **where, rate=rate, burst=_BURST_BYTES, limit=limit)


def _socket(lab: str, vertex: int, interface: str) -> socket.socket:
    """Return a socket that sends over an interface of a vertex."""
    found = building.datagrams(lab, vertex)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
    return found


class Gates:
    """Changes links of a lab in each sample; a `hocket.mpi.scene.Director`.

    Attributes:
        late_s: How late a change of a link was at most.
    """

    def __init__(
        self, changes: Sequence[tuple[float, int, float]], gates: dict[int, Gate], executor: ThreadPoolExecutor
    ) -> None:
        self.late_s = 0.0
        self._changes, self._gates, self._executor = changes, gates, executor
        self._lead_s = _LEAD_S
        self._is_over = threading.Event()
        self._playing: Future[None] | None = None

    def begin(self) -> float:
        """Make the changes at 0 s, and return the start of the others."""
        first = {link: part for time_s, link, part in self._changes if time_s == 0}
        for link, part in first.items():
            self._gates[link].let(part)
        start_s = time.monotonic() + self._lead_s
        self._is_over.clear()
        self._playing = self._executor.submit(self._play, start_s)
        return start_s

    def end(self, *, is_missed: bool) -> None:
        """Make no more changes, and open all gates.

        Raises:
            Error: Ranks have missed a start with the longest lead.
        """
        self.open()
        if not is_missed:
            self._lead_s = max(self._lead_s / 2, _LEAD_S)
        elif self._lead_s < _MOST_LEAD_S:
            self._lead_s *= 2
        else:
            told = f"ranks missed a start that was told {format_time(self._lead_s)} before"
            raise Error(f"faults: {told}, expected a host with less other work")

    def open(self) -> None:
        """Make no more changes, and open all gates."""
        self._is_over.set()
        if self._playing is not None:
            self._playing.result()
        for gate in self._gates.values():
            gate.let(1.0)

    def _play(self, start_s: float) -> None:
        for time_s, link, part in (change for change in self._changes if change[0] > 0):
            due_s = start_s + time_s
            if self._is_over.wait(max(due_s - time.monotonic(), 0)):
                return
            self._gates[link].let(part)
            self.late_s = max(self.late_s, time.monotonic() - due_s)


def _hurry() -> None:
    """Let this thread run before the ranks, which keep all processors busy."""
    with suppress(PermissionError):
        os.sched_setscheduler(threading.get_native_id(), os.SCHED_FIFO, os.sched_param(1))


@contextmanager
def gates(lab: Lab, faults: Faults | None) -> Iterator[Gates | None]:
    """Give links that have faults their gates, and remove them afterwards; None without faults.

    Raises:
        Error: The machine cannot have the faults, the lab cannot make them, or it has gates already.
    """
    if slow := building.queues(lab.name, lab.wiring, _HANDLE):
        whose = "of another command, or of one that was killed"
        raise Error(
            f"lab {lab.name}: links of {slow[0]} have a gate {whose}; hocket lab down {lab.name} removes the lab"
        )
    if faults is None:
        yield None
        return
    changes = changes_of_links(faults, lab.machine)
    check(changes, lab.wiring, lab.rate_bytes_per_s)
    with ExitStack() as stack:
        made: dict[int, Gate] = {}
        for link in {link for _, link, _ in changes}:
            made[link] = Gate(lab, link)
            stack.callback(made[link].close)
        played = Gates(changes, made, stack.enter_context(ThreadPoolExecutor(1, initializer=_hurry)))
        stack.callback(played.open)
        yield played


def check(changes: Sequence[tuple[float, int, float]], wiring: Wiring, rate_bytes_per_s: float) -> None:
    """Check that a lab whose links have this rate can make these changes.

    Raises:
        Error: There are no changes, one follows too soon, a link is too slow, or messages would go around links.
    """
    if not changes:
        raise Error("faults: change no link, expected links with less than 100 % of their bandwidth")
    parts: dict[int, float] = {}
    last_s: dict[int, float] = {}
    for time_s, together in groupby(changes, key=lambda change: change[0]):
        for _, link, part in together:
            if 0 < time_s < last_s.get(link, 0.0) + LEAST_S:
                least = f"at least {format_time(LEAST_S)} after the start, and after the link's previous change"
                raise Error(f"faults: got a change at {format_time(time_s)}, expected {least}, as it takes about 1 ms")
            if 0 < part * rate_bytes_per_s < _DOWN_BYTES_PER_S:
                least = f"at least {_DOWN_BYTES_PER_S:g} B/s, or down"
                raise Error(f"faults: got a link of {part * rate_bytes_per_s:g} B/s, expected {least}")
            parts[link], last_s[link] = part, time_s
        _check_ways({link for link, part in parts.items() if part == 0}, wiring)


def _check_ways(down: set[int], wiring: Wiring) -> None:
    """Check that there is no way around links that are down: the routes of a lab are fixed."""
    names = {link.id: link.name for cable in wiring.cables for link in cable.links}
    for (at, target), cable in wiring.next_hops.items():
        link = wiring.cables[cable].link_from(at).id
        if link in down and target in wiring.reached(at, down):
            what = f"faults: got {names[link]} down, but there is another way to {wiring.vertices[target].name}"
            raise Error(f"{what}; routes of a lab do not change, expected a part of the bandwidth, such as 1 %")
