"""Kinds of files that people have: a reader that gets a file of another kind says what it is, and what reads it."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple
from zlib import error as zlib_error

from hocket._native import Error

CHAKRA_JSON = (
    rb'\A\s*\{[\s\S]*?"(?:workload_graph"\s*:\s*\[|(?:ctrlDeps|dataDeps)"\s*:|type"\s*:\s*"[A-Z_]{4,13}_NODE")'
)
"""What the beginning of a Chakra trace as JSON has, as a pattern."""

_FIRST_BYTES = 1 << 16


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        readers: The kinds of readers that read it; none if Hocket does not.
        what: What it is.
        advice: What reads it.
        pattern: What the beginning of such a file has.
    """

    readers: tuple[str, ...]
    what: str
    advice: str
    pattern: re.Pattern[bytes]


_COMMANDS = {
    "measurements": "`hocket fit`",
    "schedule": "`hocket simulate schedule`",
    "trace": "`hocket replay`",
    "machine": "--machine",
    "rules": "`hocket rules`",
}


def _read(what: str, pattern: bytes, *readers: str) -> Kind:
    advice = f"which {' and '.join(_COMMANDS[reader] for reader in readers)} can read"
    return Kind(readers, what, advice, re.compile(pattern, re.MULTILINE))


def _foreign(what: str, pattern: bytes, advice: str = "which Hocket cannot read") -> Kind:
    return Kind((), what, advice, re.compile(pattern, re.MULTILINE))


_CONVERTER = "which Chakra's converter turns into files for `hocket replay`"

KINDS: tuple[Kind, ...] = (
    _read("an execution plan of MSCCL++", rb'\A(?=\s*\{)(?=[\s\S]*"gpus"\s*:)[\s\S]*"threadblocks"\s*:', "schedule"),
    _foreign("a PyTorch execution trace", rb'\A\s*\{[\s\S]*"schema"\s*:\s*"[^"]*chakra', _CONVERTER),
    _foreign("a trace of PyTorch's profiler", rb'\A\s*[\[{][\s\S]*"(?:traceEvents|distributedInfo)"\s*:', _CONVERTER),
    _read("a Chakra trace as JSON", CHAKRA_JSON, "trace"),
    _foreign("a platform of SimGrid", rb"<!DOCTYPE\s+platform|<platform\s+version"),
    _foreign("a topology of NCCL", rb"\A\s*(?:<\?xml[^>]*>\s*)?<(?:system|graphs)\s+version="),
    _foreign("a network of ASTRA-sim", rb"^npus_count\s*:"),
    _foreign("a system of ASTRA-sim", rb'\A\s*\{[\s\S]*"(?:scheduling-policy|all-reduce-implementation)"\s*:'),
    _foreign("a memory of ASTRA-sim", rb'\A\s*\{[\s\S]*"memory-type"\s*:'),
    _foreign("logical dimensions of ASTRA-sim", rb'\A\s*\{\s*"logical-dims"\s*:'),
    _read("an MSCCL algorithm", rb"\A\s*(?:<\?xml[^>]*>\s*)?<algo\s", "schedule"),
    _read("a GOAL schedule", rb"^num_ranks\s+[0-9]+", "schedule"),
    _read("a schedule", rb'\A\s*\{(?=[\s\S]*"element_bytes"\s*:)[\s\S]*"scratch"\s*:', "schedule"),
    _read("a Chakra trace", rb"\A[\x03-\x7f]\x0a[\x01-\x7f][0-9]+\.[0-9]+\.[0-9]", "trace", "schedule"),
    _read("a trace of `hocket mpi trace`", rb'\A\{"format": ?"hocket-trace"', "trace"),
    _read("a trace of liballprof", rb"\A#? ?htor's PMPI Tracer", "trace"),
    _read("a trace of SimGrid", rb"\A(?:(?:#.*|[ \t]*)\n)*[0-9]+ init\b", "trace"),
    _read("a machine file", rb"\A(?:[^\[\n]*\n)*\[network\]\s*(?:#.*)?\n(?:[^\[]*\n)?\s*model\s*=", "machine"),
    _read("a selection of MPICH", rb'\A\s*\{\s*"(?:collective|comm_type)=', "rules"),
    _read("the output of the OSU micro-benchmarks", rb"\bOSU (?:MPI|NCCL|RCCL)\S* .+ Latency Test", "measurements"),
    _read("the output of the Intel MPI Benchmarks", rb"\bBenchmarking [A-Z]\w+[ \t\r]*$", "measurements"),
    _read("the output of nccl-tests", rb"\bsize[ \t]+count[ \t]+type[ \t].*\balgbw\s+busbw", "measurements"),
    _read("`measurements.jsonl` of `hocket tune`", rb'\A\s*\{\s*"hocket":\s*"tune"', "measurements"),
    _read("the CSV of PICO", rb"\Asystem,collective,nodes,ppn,", "measurements"),
)
"""The kinds, each before those whose patterns it has, too."""


def kind_of(path: str | PathLike[str]) -> Kind | None:
    """Return the kind of a file, by its first bytes; None if it is unknown, or no regular file."""
    first = b""
    with suppress(OSError, EOFError, zlib_error):
        if Path(path).is_file():
            with open(path, "rb") as stream:
                first = stream.read(_FIRST_BYTES)
            if first.startswith(b"\x1f\x8b"):
                with gzip.open(path) as archive:
                    first = archive.read(_FIRST_BYTES)
    return next((kind for kind in KINDS if kind.pattern.search(first)), None)


@contextmanager
def expecting(path: str | PathLike[str], reader: str, what: str) -> Iterator[None]:
    """Name the kind of a file that a reader refuses because it is of another kind.

    Args:
        path: The file.
        reader: The kind of reader.
        what: What it expects.

    Raises:
        Error: The error of the reader, or the kind of the file.
    """
    try:
        yield
    except Error:
        kind = kind_of(path) if isinstance(path, str | PathLike) else None
        if kind is None or reader in kind.readers:
            raise
        raise Error(f"{fspath(path)}: is {kind.what}, {kind.advice}, expected {what}") from None
