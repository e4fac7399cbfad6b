"""NCCL's table: a latency and a bandwidth for each algorithm and protocol, the hardware that it asks for, and times.

The method is the one of `src/graph/tuning.cc`, retold; `constants.csv` names the versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from hocket.base.files import read_rows
from hocket.definitions.libraries import BY_MACHINE
from hocket.rules.tuning_files.counterparts import ALGORITHMS, LIBRARIES, PROTOCOLS

Version: TypeAlias = Literal["2.20", "2.27"]
"""A version of NCCL whose constants are known: 2.20 also has those of the versions up to 2.22."""

VERSION: Version = "2.27"
"""The version whose decisions are nccl-2's."""

_FIRST_OF_OLD, _LAST_OF_OLD, _LAST_OF_NEW = 20, 22, 27
"""The minor versions to which the constants of 2.20 apply, and the last one to which those of 2.27 do."""

Values: TypeAlias = tuple[float, ...]


@cache
def constants(version: Version = VERSION) -> Mapping[tuple[str, str], Values]:
    """Return the values of a version by table and key."""
    return {
        (row["table"], row["key"]): tuple(map(float, row["values"].split()))
        for row in read_rows(__file__, "constants.csv")
        if version in row["version"].split()
    }


def by_protocol(version: Version, table: str, key: str, protocol: str) -> float:
    """Return the value for a protocol: "ll", "ll128" or "simple"."""
    return constants(version)[table, key][PROTOCOLS.index(protocol)]


def by_nodes(version: Version, table: str, key: str, nodes: int) -> float:
    """Return the value for a number of nodes: one, two, or more."""
    return constants(version)[table, key][min(nodes, 3) - 1]


def single(version: Version, table: str, key: str) -> float:
    """Return the only value of a key."""
    return constants(version)[table, key][0]


def nearest(minor: int) -> tuple[Version, bool]:
    """Return the version whose constants are nearest to those of NCCL 2.`minor`, and whether they are its own."""
    is_old = minor <= _LAST_OF_OLD
    return ("2.20" if is_old else VERSION), minor >= _FIRST_OF_OLD if is_old else minor <= _LAST_OF_NEW


@dataclass(frozen=True)
class Graph:
    """The channels that NCCL finds for an algorithm, before it doubles them."""

    channels: int
    within_gb_s: float  # the rate of one within a node, in GB/s
    between_gb_s: float  # the rate of one between nodes, in GB/s; that within a node for a job on one node


@dataclass(frozen=True)
class Hardware:
    """What a job runs on."""

    generation: str  # of the accelerators: "volta", "ampere", "hopper" or "blackwell"
    ring: Graph  # the channels of rings
    tree: Graph  # those of trees
    nvls: Graph | None = None  # those of reductions in NVLink switches; none if there are none
    links: str = "nvswitch"  # between the accelerators of a node: "nvswitch", "nvlink" or "pcie"
    processor: str = "intel"  # who made the processors of the hosts: "intel", "amd" or "other"
    has_simple_trees: bool = False  # whether one accelerator of a node has all messages of a tree to other nodes
    has_one_order: bool = True  # whether all rings visit the accelerators in the same order
    has_near_cards: bool = True  # whether no messages between accelerators and network cards pass the host's processor

    @property
    def is_hopper_or_later(self) -> bool:
        """Whether the accelerators are of the generation that brought reductions in switches, or a later one."""
        return self.generation in ("hopper", "blackwell")


(LIBRARY,) = BY_MACHINE
"""The library of these tables."""

_SMALLEST = 64  # bytes at which shares of trees by size begin
_FEWEST_FOR_NVLS = 3


@dataclass(frozen=True)
class Entry:
    """A line of the table."""

    algorithm: str  # in NCCL's words, in small letters: "ring", "nvls_tree"
    protocol: str  # "ll", "ll128" or "simple"
    latency_us: float = 0.0  # what a call takes without data, in microseconds
    bandwidth_gb_s: float = 0.0  # the bytes of a call over the rest of its time, in GB/s
    why_not: str = ""  # why NCCL does not take it here; empty if it can

    def __str__(self) -> str:
        return f"{self.algorithm}/{self.protocol}"


@dataclass(frozen=True)
class Job:
    """Calls of one communicator."""

    function: str  # in MPI's words: "allreduce", "allgather", "reduce_scatter", "bcast" or "reduce"
    ranks: int  # the ranks, one on each accelerator
    nodes: int  # the nodes that they are on
    hardware: Hardware  # what they run on
    version: Version = VERSION  # whose constants count

    @property
    def has_two_phases(self) -> bool:
        """Whether results are reduced and then spread."""
        return self.function == "allreduce"

    @property
    def is_rooted(self) -> bool:
        """Whether a rank has all of the data."""
        return self.function in ("bcast", "reduce")

    @property
    def steps(self) -> int:
        """How many steps a ring takes."""
        if self.is_rooted:
            return self.ranks
        return (2 if self.has_two_phases else 1) * (self.ranks - 1)

    @property
    def doublings(self) -> int:
        """How many levels of a binary tree the nodes are, but for the lowest one."""
        return self.nodes.bit_length() - 1

    @property
    def is_lone(self) -> bool:
        """Whether each node has one rank."""
        return self.ranks == self.nodes

    @property
    def channels(self) -> int:
        """How many channels NCCL opens: two for each one found, and on some jobs four."""
        ring, most = self.hardware.ring, int(single(self.version, "channels", "most"))
        count = min(most, 2 * ring.channels)
        is_fast = self.hardware.is_hopper_or_later and self.nodes > 1 and ring.within_gb_s > 45
        return min(most, 2 * count) if is_fast and count < 16 else count

    def time_us(self, entry: Entry, size_bytes: int) -> float:
        """Return the time of a call by a line that NCCL can take, in microseconds.

        The size is that of the larger one of a rank's two buffers.
        """
        latency_us, bandwidth_gb_s = entry.latency_us, entry.bandwidth_gb_s
        if entry.algorithm == "tree":
            shares = constants(self.version)["tree share by size", entry.protocol]
            doublings = (size_bytes // _SMALLEST).bit_length() - 1
            bandwidth_gb_s *= shares[doublings] if 0 <= doublings < len(shares) else 1.0
        is_ring = (entry.algorithm, entry.protocol) == ("ring", "simple")
        if is_ring and self.has_two_phases and self.nodes > 1 and size_bytes >= self.plateau_bytes:
            latency_us *= single(self.version, "plateau of the ring", self.hardware.generation)
        return latency_us + size_bytes / (1000 * bandwidth_gb_s)

    @property
    def plateau_bytes(self) -> int:
        """The size from which on a ring between nodes has longer latencies without flags, in bytes."""
        return _SMALLEST * self.channels * self.ranks


def cost_table(job: Job) -> Iterator[Entry]:
    """Give NCCL's table for a communicator, in NCCL's order, with the lines that it does not take."""
    algorithms = {each.name: each for each in LIBRARIES[LIBRARY].algorithms.get(job.function, ())}
    for name in ALGORITHMS:
        for protocol in algorithms[name].protocols if name in algorithms else ():
            if why_not := _why_not(job, name, protocol):
                yield Entry(name, protocol, why_not=why_not)
            else:
                yield Entry(name, protocol, _latency_us(job, name, protocol), _bandwidth_gb_s(job, name, protocol))


def _why_not(job: Job, algorithm: str, protocol: str) -> str:
    hardware, nodes, version = job.hardware, job.nodes, job.version
    is_pat, is_nvls, is_ll128 = algorithm == "pat", algorithm.startswith("nvls"), protocol == "ll128"
    is_off = not single(version, "switch", "ll128 on blackwell") and hardware.generation == "blackwell"
    reasons = (
        (algorithm.startswith("collnet"), "needs a collnet plugin, which machine files do not have"),
        (is_pat and not job.is_lone, "needs one rank on each node"),
        (is_pat and ("share", "pat") not in constants(version), f"NCCL {version} does not have it"),
        (is_nvls and not hardware.is_hopper_or_later, f"needs hopper or later, the machine has {hardware.generation}"),
        (is_nvls and (hardware.links != "nvswitch" or hardware.nvls is None), "needs NVLink switches"),
        (is_nvls and job.ranks < _FEWEST_FOR_NVLS * nodes, f"needs {_FEWEST_FOR_NVLS} ranks and more on each node"),
        (algorithm == "nvls_tree" and nodes == 1, "needs 2 nodes and more"),
        (algorithm == "nvls" and nodes > 1, "needs a collnet plugin on several nodes"),
        (is_ll128 and hardware.links == "pcie" and not job.is_lone, "needs NVLink within a node"),
        (
            is_ll128 and nodes > 1 and not hardware.has_near_cards,
            "needs network cards that are not behind the host's processor",
        ),
        (is_ll128 and is_off, f"NCCL {version} does not take it on blackwell"),
    )
    return next((why for is_refused, why in reasons if is_refused), "")


def _bandwidth_gb_s(job: Job, algorithm: str, protocol: str) -> float:
    if algorithm == "ring":
        return _of_ring(job, protocol) * job.ranks / job.steps
    if algorithm == "tree":
        return _of_tree(job, protocol) / 2
    if algorithm == "pat":
        return _rate(job, job.hardware.tree) * single(job.version, "share", "pat")
    return _of_nvls(job, algorithm)


def _rate(job: Job, graph: Graph) -> float:
    return graph.channels * (graph.within_gb_s if job.nodes <= 2 else graph.between_gb_s)


def _most(job: Job, table: str) -> float:
    return by_nodes(job.version, table, job.hardware.generation, job.nodes)


def _most_ll(job: Job) -> float:
    if job.nodes == 1:
        return single(job.version, "ll rate on a node", job.hardware.generation)
    return by_nodes(job.version, "ll rate", job.hardware.processor, job.nodes)


def _of_ring(job: Job, protocol: str) -> float:
    graph, rate = job.hardware.ring, _rate(job, job.hardware.ring)
    if protocol == "ll":
        is_other = job.nodes == 1 and job.function not in ("allreduce", "reduce")
        share = single(job.version, "share", f"ring ll{' on a node without two phases' if is_other else ''}")
        return min(_most_ll(job), rate * share)
    if protocol == "ll128":
        share = single(job.version, "share", f"ring ll128{' of a lone rank' if job.ranks < 2 * job.nodes else ''}")
        return min(rate * share, graph.channels * _most(job, "ring ll128 rate"))
    return rate


def _of_tree(job: Job, protocol: str) -> float:
    graph, version = job.hardware.tree, job.version
    rate = min(_rate(job, graph) * single(version, "share", "tree"), graph.channels * _most(job, "tree rate"))
    if protocol == "ll":
        rate = min(rate * single(version, "share", "tree ll"), _most_ll(job))
    if protocol == "ll128":
        share = by_nodes(version, "share", "tree ll128", job.nodes)
        rate = min(rate * share, graph.channels * _most(job, "tree ll128 rate"))
    return rate * (single(version, "share", "simple tree") if job.hardware.has_simple_trees else 1.0)


def _of_nvls(job: Job, algorithm: str) -> float:
    graph = job.hardware.nvls
    assert graph is not None  # lines without one are not taken
    within_gb_s, between_gb_s = graph.within_gb_s, graph.between_gb_s
    if algorithm == "nvls_tree" and job.nodes > 2:
        between_gb_s /= 2
    if not job.has_two_phases and single(job.version, "switch", "nvls spares the own block"):
        within_gb_s *= 1 - job.nodes / job.ranks
        between_gb_s *= single(job.version, "share", "nvls between nodes without two phases")
        return graph.channels * min(within_gb_s, between_gb_s)
    return graph.channels * min(within_gb_s, between_gb_s) * single(job.version, "share", "nvls")


def _latency_us(job: Job, algorithm: str, protocol: str) -> float:
    base_us = by_protocol(job.version, "base latency", algorithm, protocol)
    within_us = by_protocol(job.version, f"{_links(job)} latency", algorithm, protocol)
    is_exposed = job.is_lone and single(job.version, "switch", "a lone rank has the latency of trees")
    between_us = by_protocol(job.version, "network latency", "tree" if is_exposed else algorithm, protocol)
    if algorithm == "ring":
        return base_us + _of_steps_us(job, protocol, within_us, between_us)
    if algorithm == "tree":
        return base_us + 2 * ((job.ranks // job.nodes - 1) * within_us + job.doublings * between_us)
    if algorithm == "pat":
        per_doubling, per_rank_us = constants(job.version)["pat", "per doubling of nodes and per rank"]
        return base_us + job.doublings * between_us * per_doubling + job.ranks * per_rank_us
    return base_us + within_us + (2 * job.doublings * between_us if algorithm == "nvls_tree" else 0.0)


def _links(job: Job) -> str:
    return "pcie" if job.hardware.links == "pcie" else "nvlink"


def _of_steps_us(job: Job, protocol: str, within_us: float, between_us: float) -> float:
    version, hardware = job.version, job.hardware
    if job.is_rooted:
        table = f"{_links(job) if job.nodes == 1 else 'network'} latency"
        if hardware.has_one_order:
            return by_protocol(version, table, "ring", protocol)
        return job.steps * by_protocol(version, table, "tree" if protocol == "simple" else "ring", protocol)
    if job.nodes == 1:
        return job.steps * within_us
    overhead_us = single(version, "overhead of a network step", hardware.processor) * (3 if protocol == "simple" else 1)
    network_steps = job.nodes - 1
    if job.has_two_phases:
        network_steps = 2 * network_steps + int(single(version, "switch", "more network steps of a ring"))
    return (job.steps - network_steps) * max(within_us, overhead_us) + network_steps * between_us
