"""What NCCL chooses for a call: the line of its table with the least time, with channels, threads and chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hocket.base.units import format_count, format_time
from hocket.rules.nccl.table import Entry, Job, by_protocol, cost_table, single
from hocket.rules.tuning_files.form import Choice

_WARP = 32
_MOST_THREADS = 640
_FEWEST_WARPS = 3
_SLOWEST_GB_S = 12.0  # rings up to the rate of a PCIe port have half of the threads

COLLNET = ("collnet_direct", "collnet_chain")
"""Algorithms that need a plugin: that they are not taken is no news."""

_MICRO = 1e-6


@dataclass(frozen=True)
class Alternative:
    """A line of the table with its time for a call, in microseconds; infinite if NCCL does not take it."""

    entry: Entry
    time_us: float

    def as_dict(self) -> dict[str, Any]:
        """Return the line as values for JSON; those that NCCL does not take have no times."""
        entry, is_taken = self.entry, not self.entry.why_not
        return {
            "algorithm": entry.algorithm,
            "protocol": entry.protocol,
            "latency_s": entry.latency_us * _MICRO if is_taken else None,
            "bandwidth_bytes_per_s": entry.bandwidth_gb_s * 1e9 if is_taken else None,
            "time_s": self.time_us * _MICRO if is_taken else None,
            "why_not": entry.why_not,
        }


@dataclass(frozen=True)
class Decision:
    """What NCCL chooses for a call."""

    entry: Entry  # the line of its table
    channels: int  # how many channels it uses at most
    threads: int  # how many threads run in each
    time_us: float  # the time by the table, in microseconds
    alternatives: tuple[Alternative, ...]  # all lines, the fastest first; those that NCCL does not take come last

    @property
    def choice(self) -> Choice:
        """The decision as rules write it."""
        return Choice(self.entry.algorithm, (("protocol", self.entry.protocol), ("channels", self.channels)))

    @property
    def sentence(self) -> str:
        """The decision with the next ones, and with what NCCL does not take."""
        others = [each for each in self.alternatives[1:] if not each.entry.why_not][:2]
        next_ones = "".join(f"; {each.entry} {format_time(each.time_us * _MICRO)}" for each in others)
        entries = [each.entry for each in self.alternatives if each.entry.why_not]
        refused = {str(one) if one.protocol == "ll128" else one.algorithm: one.why_not for one in entries}
        not_taken = "".join(f"; not {name}, which {why}" for name, why in refused.items() if name not in COLLNET)
        channels, time = format_count(self.channels, "channel"), format_time(self.time_us * _MICRO)
        return f"{self.entry} with {channels}, {time} by NCCL's table{next_ones}{not_taken}"

    def as_dict(self) -> dict[str, Any]:
        """Return the decision as values for JSON."""
        return {
            "algorithm": self.entry.algorithm,
            "protocol": self.entry.protocol,
            "channels": self.channels,
            "threads": self.threads,
            "time_s": self.time_us * _MICRO,
            "alternatives": [each.as_dict() for each in self.alternatives],
        }


def decide(job: Job, size_bytes: int) -> Decision:
    """Return what NCCL chooses on 2 ranks or more for a size, that of the larger one of a rank's two buffers."""
    times_us = ((one, float("inf") if one.why_not else job.time_us(one, size_bytes)) for one in cost_table(job))
    alternatives = sorted((Alternative(*each) for each in times_us), key=lambda each: each.time_us)
    best = alternatives[0]
    channels, threads = sharing(job, best.entry, size_bytes)
    return Decision(best.entry, channels, threads, best.time_us, tuple(alternatives))


def sharing(job: Job, entry: Entry, size_bytes: int) -> tuple[int, int]:
    """Return the channels and threads among which NCCL shares a call, so that each has enough to do."""
    if entry.algorithm.startswith("nvls"):
        era = "on blackwell" if job.hardware.generation == "blackwell" else "before blackwell"
        return int(single(job.version, "channels", f"nvls {era}")), _MOST_THREADS
    key, ring = entry.algorithm if entry.algorithm in ("ring", "tree") else "other", job.hardware.ring
    threads = int(by_protocol(job.version, "threads", key, entry.protocol))
    if (key, entry.protocol) == ("ring", "simple") and ring.channels * ring.within_gb_s <= _SLOWEST_GB_S:
        threads //= 2
    least_bytes = int(by_protocol(job.version, "bytes for a thread", "any", entry.protocol))
    if (entry.algorithm, entry.protocol) == ("ring", "ll"):
        least_bytes *= job.ranks
    channels = max(1, min(job.channels, size_bytes // (threads * least_bytes)))
    while size_bytes < channels * threads * least_bytes and threads % (4 * _WARP) == 0:
        threads //= 2
    if entry.algorithm in ("tree", "pat"):
        return channels, _MOST_THREADS
    if entry.protocol == "simple":
        threads += _WARP
    return channels, max(threads, _FEWEST_WARPS * _WARP)


_MANY_NODES = 4  # from which on chunks of nvls_tree are shorter
_HALF_CHUNK = 1 << 16
_FEWER = {
    "nvls": ((64, 1 << 16), (8, 1 << 15), (2, 1 << 14)),
    "nvls_tree": ((4, 1 << 16), (1, 1 << 15)),
}
"""Up to how many chunks of all ranks and channels they have at most how many bytes."""


def chunk_bytes(job: Job, algorithm: str, protocol: str, *, channels: int, size_bytes: int) -> int:
    """Return the most bytes that a rank passes on at once on one channel, in a call that so many channels share.

    As `calcCollChunking` in src/enqueue.cc of NCCL 2.27.

    For "nvls", those of all channels together, which pass on their chunks at once; for "nvls_tree", those of the half
    of the channels that have the same trees. The size of the call is that of the larger one of a rank's two buffers.
    """
    step = int(by_protocol(job.version, "bytes of a step", "any", protocol))
    if algorithm in ("nvls", "nvls_tree"):
        same = channels if algorithm == "nvls" else channels // 2
        return same * _in_switch(job, algorithm, channels, size_bytes)
    if (algorithm, protocol) == ("ring", "simple") and not job.is_rooted:
        return step * int(single(job.version, "steps of a chunk", "ring"))
    if (algorithm, protocol) == ("tree", "ll128"):
        return _tree_ll128(job, step, channels, size_bytes)
    return step


def _in_switch(job: Job, algorithm: str, channels: int, size_bytes: int) -> int:
    buffers = channels * (job.ranks // job.nodes)
    chunk = int(single(job.version, "bytes of a step", "nvls"))
    if algorithm == "nvls_tree" and job.nodes >= _MANY_NODES:
        chunk = _HALF_CHUNK
    for chunks, most in _FEWER[algorithm]:
        if size_bytes < chunks * buffers * chunk:
            chunk = min(chunk, most)
    return chunk


def _tree_ll128(job: Job, step: int, channels: int, size_bytes: int) -> int:
    per_node = job.ranks / job.nodes
    steps = 1 + job.doublings + 0.1 * per_node
    chunk = step
    for chunks, least in ((64, 1 << 17), (16, 1 << 15)):
        while size_bytes // (channels * chunk) < steps * chunks / per_node and chunk > least:
            chunk //= 2
    grain = int(single(job.version, "bytes of a step", "grain of ll128"))
    return chunk // grain * grain
