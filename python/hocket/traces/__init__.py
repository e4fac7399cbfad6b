"""Traces of MPI programs: each rank's calls with their times and arguments; reading, writing, export and import.

`hocket mpi trace` records traces. docs/traces.md describes the formats.
"""

from __future__ import annotations

from hocket.traces.allprof import write_allprof
from hocket.traces.allprof_reading import read_allprof
from hocket.traces.chakra_lint import Gap, Lint, lint
from hocket.traces.chakra_reading import read_chakra
from hocket.traces.file import read, write
from hocket.traces.functions import FUNCTIONS, Function, Kind
from hocket.traces.loading import load
from hocket.traces.simgrid import write_simgrid
from hocket.traces.simgrid_reading import read_simgrid
from hocket.traces.trace import ANY, NOBODY, SELF, THIS_ROOT, WORLD, Call, Communicator, RankTrace, Trace

__all__ = [
    "ANY",
    "FUNCTIONS",
    "NOBODY",
    "SELF",
    "THIS_ROOT",
    "WORLD",
    "Call",
    "Communicator",
    "Function",
    "Gap",
    "Kind",
    "Lint",
    "RankTrace",
    "Trace",
    "lint",
    "load",
    "read",
    "read_allprof",
    "read_chakra",
    "read_simgrid",
    "write",
    "write_allprof",
    "write_simgrid",
]
