"""SimGrid: the same messages on the same links in both simulators, in one run."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

from hocket import typing
from hocket.base.call import Call
from hocket.base.version import VERSION
from hocket.definitions.authoring import algorithm
from hocket.definitions.library import Algorithm, as_algorithm
from hocket.definitions.machine import Machine
from hocket.simulating.simulation import simulate
from hocket_studies.validation.comparison import Case, Comparison, not_run

Step: TypeAlias = "tuple[list[tuple[int, int]], list[int]]"
"""What a rank sends, pairs of a rank and bytes, and from whom it receives, at a time."""

_LATENCY_S, _BYTES_PER_S = 1e-6, 1e9
_SIZES_BYTES = (8, 65536, 1 << 20)
_SECONDS = 120
_INCOMPARABLE = (
    "SimGrid lets a message wait for the latencies of its route first and shares bandwidth afterwards, by weights of "
    "one over round-trip times: where messages of unlike routes meet, rates differ; its defaults for TCP (factors 0.97 "
    "and 13.01, window, weight-S) are switched off"
)


@algorithm("broadcast")
def star_at_once(r: typing.Rank, c: typing.Call) -> typing.Steps:
    """The root sends to all at a time."""
    if r.rank == c.root:
        yield r.join(*(r.send(peer, c.result(r)) for peer in range(r.size) if peer != c.root))
    else:
        yield r.recv(c.root, c.result(r))


@algorithm("alltoall")
def all_at_once(r: typing.Rank, c: typing.Call) -> typing.Steps:
    """Every rank sends all its blocks, and receives all, at a time."""
    block, result = c.input(r), c.result(r)
    others = [peer for peer in range(r.size) if peer != r.rank]
    yield r.copy(c.block(block, r.rank), c.block(result, r.rank))
    sends = [r.send(peer, c.block(block, peer)) for peer in others]
    yield r.join(*sends, *(r.recv(peer, c.block(result, peer)) for peer in others))


_ALGORITHMS: dict[str, Algorithm] = {
    "one to all": star_at_once,
    "to the right neighbour": as_algorithm("allgather/ring"),
    "all to all": all_at_once,
}


@dataclass(frozen=True)
class _Work:
    """Messages on links."""

    pattern: str
    topology: str
    sizes: tuple[int, ...]
    ranks: int
    size_bytes: int

    @property
    def name(self) -> str:
        """What it is."""
        shape = "x".join(map(str, self.sizes))
        return f"{self.pattern}, {self.ranks} ranks, {self.topology} {shape}, {self.size_bytes} B"

    def steps(self) -> list[list[Step]]:
        """Return what each rank does; ranks that take no part do nothing."""
        ranks, size = range(self.ranks), self.size_bytes
        last = self.ranks - 1
        by_pattern: dict[str, list[list[Step]]] = {
            "one to all": [
                [([(peer, size) for peer in ranks[1:]], [])] if rank == 0 else [([], [0])] for rank in ranks
            ],
            "to the right neighbour": [
                [([((rank + 1) % self.ranks, size)], [(rank - 1) % self.ranks])] * last for rank in ranks
            ],
            "all to all": [
                [([(peer, size) for peer in ranks if peer != rank], [peer for peer in ranks if peer != rank])]
                for rank in ranks
            ],
        }
        return by_pattern[self.pattern] + [[]] * (prod(self.sizes) - self.ranks)

    def as_data(self) -> dict[str, Any]:
        """Return it as SimGrid's side reads it."""
        where = {"topology": self.topology, "sizes": self.sizes, "latency_s": _LATENCY_S, "bandwidth": _BYTES_PER_S}
        return {**where, "steps": self.steps()}

    def simulated_s(self) -> float:
        """Return its time in Hocket."""
        nodes = prod(self.sizes)
        shape = f"dims = {list(self.sizes)}" if self.topology == "torus" else f"nodes = {nodes}"
        machine = Machine.parse(
            f"""name = "fair"
[network]
model = "links"
topology = "{"crossbar" if self.topology == "star" else self.topology}"
{shape}
link_bandwidth = "{_BYTES_PER_S!r} B/s"
link_latency = "{_LATENCY_S!r} s"
protocol = "rendezvous"
sharing = "fair"
[node]
ports = 1024
"""
        )
        call = Call(ranks=self.ranks, size_bytes=self.size_bytes)
        return simulate(_ALGORITHMS[self.pattern], call, machine=machine).time_s.mean


def _works() -> Iterator[_Work]:
    """Give single messages, messages that do not meet, and messages that do."""
    for size in _SIZES_BYTES:
        yield _Work("one to all", "star", (4,), 2, size)
        yield _Work("one to all", "torus", (3, 3), 2, size)
        yield _Work("one to all", "star", (8,), 8, size)
        yield _Work("one to all", "torus", (3, 3), 9, size)
        for nodes in (4, 8):
            yield _Work("to the right neighbour", "star", (nodes,), nodes, size)
            yield _Work("all to all", "star", (nodes,), nodes, size)
        yield _Work("to the right neighbour", "torus", (5,), 5, size)
        for sizes in ((5,), (3, 3)):
            yield _Work("all to all", "torus", sizes, prod(sizes), size)


def simgrid(python: str | None) -> Comparison:
    """Compare with SimGrid, by a Python that has it, or by this one."""
    source = "SimGrid"
    if python is None and importlib.util.find_spec("simgrid") is None:
        return not_run(
            source, _INCOMPARABLE, "this Python has no package simgrid, expected a Python that has it by --simgrid"
        )
    works = list(_works())
    try:
        found = _asked(python or sys.executable, works)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return not_run(source, _INCOMPARABLE, f"{python or sys.executable}: {error}")
    cases = [Case(work.name, work.simulated_s(), time_s) for work, time_s in zip(works, found["times_s"], strict=True)]
    return Comparison(
        source,
        tuple(cases),
        _INCOMPARABLE,
        {"Hocket": VERSION, "SimGrid": found["version"]},
        "single messages, neighbours, one to all, all to all; links shared fairly",
    )


def _asked(python: str, works: Sequence[_Work]) -> Any:
    ran = subprocess.run(
        [python, "-W", "ignore", str(Path(__file__).with_name("flows.py"))],
        input=json.dumps([work.as_data() for work in works]),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if ran.returncode:
        raise ValueError((ran.stderr.strip().splitlines() or ["it says nothing"])[-1])
    return json.loads(ran.stdout.splitlines()[-1])
