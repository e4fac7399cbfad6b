"""Tracing an MPI program: a preloaded library writes one line per call."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import dropwhile
from pathlib import Path

from hocket import traces
from hocket._native import Error
from hocket.base import files
from hocket.mpi.installation import Installation, cached_build
from hocket.mpi.jobs import wait_for
from hocket.mpi.launch import command, launcher_environment
from hocket.traces import Trace
from hocket.traces.file import compress


def trace(installation: Installation, ranks: int, program: Sequence[str], path: str) -> tuple[Trace, int]:
    """Run a program and write a trace of its calls; return the trace and the program's exit status.

    An Error says why the program leaves none: it failed, or did not reach MPI_Finalize of this MPI.
    """
    tracer = cached_build(installation, "libhocket_trace.so", "tracing/*.c", ["-shared", "-pthread"])
    preload = " ".join([str(tracer), *os.environ.get("LD_PRELOAD", "").split()])
    folder_of_trace = next(parent for parent in Path(path).absolute().parents if parent.exists())
    with tempfile.TemporaryDirectory(dir=folder_of_trace, prefix=".hocket-trace-") as folder:
        raw = Path(folder, "trace.jsonl")
        variables = {"LD_PRELOAD": preload, "HOCKET_TRACE": str(raw)}
        line = command(installation, ranks, program, variables)
        status = wait_for(line, launcher_environment(installation, command, ranks))
        if not raw.exists() or not raw.stat().st_size:
            did = f"ended with status {status}" if status else f"did not reach MPI_Finalize of {installation.library}"
            raise Error(f"no trace: {program[0]} {did}")
        trace_read = replace(traces.read(raw), file=path)
        files.write(path, compress(raw.read_bytes()))
    return trace_read, status


def program_name(program: Sequence[str]) -> str:
    """Return the name of a program; for Python, the name of the script or the module."""
    name, *words = (Path(word).name for word in program)
    if not name.startswith("python"):
        return name
    rest = list(dropwhile(lambda word: word.startswith("-") and word != "-m", words))
    if rest[:1] == ["-m"]:
        return rest[1] if rest[1:] else name
    return Path(rest[0]).stem if rest else name
