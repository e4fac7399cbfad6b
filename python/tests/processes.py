"""Processes of which a test waits until they are at work."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

__all__ = ["needs_proc", "until", "until_at_work"]

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


def until(is_so: Callable[[], bool], process: "subprocess.Popen[Any]") -> None:
    """Wait until something is so while a process runs, for a minute at most."""
    end_s = time.monotonic() + 60
    while not is_so():
        assert process.poll() is None and time.monotonic() < end_s
        time.sleep(0.01)


def until_at_work(process: "subprocess.Popen[Any]", *, used_s: float) -> float:
    """Wait until a process has used so many seconds of processors; return how many it has used."""
    ticks = os.sysconf("SC_CLK_TCK")

    def found_s() -> float:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / ticks  # in user mode, and in the kernel

    until(lambda: found_s() >= used_s, process)
    return found_s()
