"""How NCCL cuts a call into chunks: `calcCollChunking` in src/enqueue.cc of NCCL 2.27."""

from __future__ import annotations

from hocket.rules.nccl.constants import by_protocol, single
from hocket.rules.nccl.table import Entry, Job


def chunk_bytes(job: Job, entry: Entry, channels: int, size_bytes: int) -> int:
    """Return the most bytes that a rank passes on at once.

    Args:
        job: The communicator.
        entry: The algorithm and the protocol.
        channels: How many channels share the call.
        size_bytes: The larger one of a rank's two buffers.

    Returns:
        The bytes of a chunk on one channel; for "nvls", of all channels together, which pass on their chunks at once.
    """
    step = int(by_protocol(job.version, "bytes of a step", "any", entry.protocol))
    if entry.algorithm == "nvls":
        return channels * _nvls(job, step, channels, size_bytes)
    if (entry.algorithm, entry.protocol) == ("ring", "simple") and not job.is_rooted:
        return step * int(single(job.version, "steps of a chunk", "ring"))
    if (entry.algorithm, entry.protocol) == ("tree", "ll128"):
        return _tree_ll128(job, step, channels, size_bytes)
    return step


def _nvls(job: Job, step: int, channels: int, size_bytes: int) -> int:
    at_once = channels * (job.ranks // job.nodes)
    chunk = min(step, int(single(job.version, "bytes of a step", "nvls")))
    for chunks, most in ((64, 1 << 16), (8, 1 << 15), (2, 1 << 14)):
        if size_bytes < chunks * at_once * chunk:
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
