"""The processors of this host."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

_THREAD_BYTES = 1 << 27  # addresses that a thread reserves for its stack and for its memory


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def room_for_threads(count: int) -> int:
    """Return how many of these threads fit into half of the addresses that are left to the process, at least one."""
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit_bytes == resource.RLIM_INFINITY or sys.platform != "linux":
        return count
    used_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return max(1, min(count, (limit_bytes - used_bytes) // (2 * _THREAD_BYTES)))
