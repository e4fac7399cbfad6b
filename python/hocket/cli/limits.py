"""Limits of the process (`ulimit`) in which a command would crash."""

from __future__ import annotations

import resource
import subprocess
import sys

_LEAST_STACK_BYTES = 1 << 20
_KIB, _MIB = 1 << 10, 1 << 20


def too_narrow() -> str | None:
    """Return what is wrong with the limits, if commands cannot work within them."""
    stack_bytes, addresses = resource.getrlimit(resource.RLIMIT_STACK)[0], addresses_in_words()
    if stack_bytes != resource.RLIM_INFINITY and stack_bytes < _LEAST_STACK_BYTES:
        return f"the stack has {stack_bytes // _KIB} KiB (ulimit -s), expected {_LEAST_STACK_BYTES // _KIB} KiB or more"
    if addresses and not _loads_numpy():
        return f"NumPy cannot be loaded within {addresses}, expected a higher limit, or fewer processors"
    return None


def _loads_numpy() -> bool:
    """Return whether NumPy can be loaded; it ends the process where there is too little room for its threads."""
    process = subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True, check=False)
    return process.returncode == 0


def addresses_in_words() -> str | None:
    """Return how many addresses the process may use; None without a limit."""
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit_bytes == resource.RLIM_INFINITY else f"{limit_bytes // _MIB} MiB of addresses (ulimit -v)"
