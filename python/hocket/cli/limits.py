"""Limits of the process (`ulimit`) in which a command would crash; the end of one that cannot do what was asked."""

from __future__ import annotations

import importlib
import resource
import subprocess
import sys
from contextlib import suppress

_LEAST_STACK_BYTES = 1 << 20
_KIB, _MIB = 1 << 10, 1 << 20
_HEADROOM_BYTES = 1 << 25  # more than this process has used already, beyond a bare Python
_TRY = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2); import numpy"


def too_narrow() -> str | None:
    """Return what is wrong with the limits, if commands cannot work within them."""
    stack_bytes, addresses = resource.getrlimit(resource.RLIMIT_STACK)[0], describe_address_limit()
    if stack_bytes != resource.RLIM_INFINITY and stack_bytes < _LEAST_STACK_BYTES:
        return f"the stack has {stack_bytes // _KIB} KiB (ulimit -s), expected {_LEAST_STACK_BYTES // _KIB} KiB or more"
    if addresses and not _load_numpy():
        return f"NumPy cannot be loaded within {addresses}, expected a higher limit, or fewer processors"
    return None


def _load_numpy() -> bool:
    """Load NumPy, before anything else needs room, and return whether a subprocess can load it.

    Where there is too little room for its threads, it would end the process.
    """
    limit_bytes = max(0, resource.getrlimit(resource.RLIMIT_AS)[0] - _HEADROOM_BYTES)
    process = subprocess.run([sys.executable, "-c", _TRY, str(limit_bytes)], capture_output=True, check=False)
    if process.returncode == 0:
        importlib.import_module("numpy")
    return process.returncode == 0


def describe_address_limit() -> str | None:
    """Return how many addresses the process may use; None without a limit."""
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit_bytes == resource.RLIM_INFINITY else f"{limit_bytes // _MIB} MiB of addresses (ulimit -v)"


_BAD_INPUT = 2


def bad_input(line: str) -> int:
    """Print a line that says what is wrong, and return the exit status, which stays if nobody can read the line."""
    with suppress(OSError):
        print(f"hocket: error: {line}", file=sys.stderr, flush=True)
    return _BAD_INPUT
