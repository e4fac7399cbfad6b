"""How NCCL cuts a call into chunks: `calcCollChunking` in src/enqueue.cc of NCCL 2.27."""

from __future__ import annotations

from hocket.rules.nccl.constants import by_protocol, single
from hocket.rules.nccl.table import Job

_MANY_NODES = 4  # from which on chunks of nvls_tree are shorter
_HALF_CHUNK = 1 << 16
_FEWER = {
    "nvls": ((64, 1 << 16), (8, 1 << 15), (2, 1 << 14)),
    "nvls_tree": ((4, 1 << 16), (1, 1 << 15)),
}
"""Up to how many chunks of all ranks and channels they have at most how many bytes."""


def chunk_bytes(job: Job, algorithm: str, protocol: str, *, channels: int, size_bytes: int) -> int:
    """Return the most bytes that a rank passes on at once on one channel, in a call that so many channels share.

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
