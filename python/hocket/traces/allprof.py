"""Writing logs in liballprof's format, which LogGOPSim's Schedgen reads.

Each call has a line: its name, the start in microseconds, the arguments in the order of MPI's C function, and the end,
separated by colons. A type is written as number,size,extent; a communicator as number,rank,size; a request as an
address.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from hocket.base import checks, files
from hocket.traces.functions import FUNCTIONS, Kind
from hocket.traces.trace import NOBODY, Call, RankTrace, Trace

_NUMBERS = files.read_rows(__file__, "allprof_numbers.csv")
TYPES = {row["name"]: int(row["number"]) for row in _NUMBERS if row["kind"] == "type"}
OPERATORS = {row["name"]: int(row["number"]) for row in _NUMBERS if row["kind"] == "operator"}
"""The numbers of types and operators in liballprof's numbers.h; others are written as 0."""
_REQUEST_BYTES = 8
_NO_ADDRESS = 0


def write_allprof(folder: str | PathLike[str], trace: Trace) -> Path:
    """Write a log for each rank, `pmpi-trace-rank-N.txt`; Schedgen takes the name of the first one.

    Times are rounded to microseconds, as in liballprof. Clock differences are also in microseconds, as there, although
    liballprof labels them s. A wait for several requests is written as one wait for each. Left out are looks that found
    nothing, messages from and to MPI_PROC_NULL, persistent requests, and collectives with blocks of different sizes.
    """
    target = Path(checks.path("folder", folder))
    files.make_folder(target)
    texts = {}
    for number, rank in enumerate(trace.ranks):
        head = (
            f"# htor's PMPI Tracer Output File, as written by Hocket\n# time: {trace.date}\n# hostname: {rank.host}\n"
            f"# clockdiff: {rank.clock_offset_s[0] * 1e6:.6f} s (relative to rank 0)\n\n"
        )
        lines = "".join(f"{line}\n" for call in rank.calls for line in _lines(number, rank, call))
        texts[str(target / f"pmpi-trace-rank-{number}.txt")] = f"{head}{lines}"
    files.write_all(texts)
    return target / "pmpi-trace-rank-0.txt"


def _lines(number: int, rank: RankTrace, call: Call) -> Iterator[str]:
    function = FUNCTIONS[call.function]
    start, end = round(call.start_s * 1e6), round(call.end_s * 1e6)
    peers = {call[name] for name in ("peer", "recv_peer") if name in call.arguments}
    if function.kind is Kind.COMPLETE:
        for request in call.arguments.get("requests", ()):
            yield f"MPI_Wait:{start}:{_address(request)}:{_NO_ADDRESS}:{end}"
            start = end
        return
    if call.function == "MPI_Init":
        yield f"MPI_Init:{start}:{_NO_ADDRESS}:{_NO_ADDRESS}:{end}"
    elif call.function == "MPI_Finalize":
        yield f"# Finalize clockdiff: {rank.clock_offset_s[1] * 1e6:.6f}"
        yield f"MPI_Finalize:{start}:{end}"
    elif "tries" not in call.arguments and peers != {NOBODY}:
        name = _NAMES_IN_LOG.get(call.function, call.function)
        form = function.blocking or name
        if form in _WRITTEN_FUNCTIONS:
            texts = [_text(argument, number, rank, call) for argument in ARGUMENTS[form].split()]
            if function.is_started:
                texts.append(str(_address(call["request"])))
            yield ":".join([name, str(start), *texts, str(end)])


def _address(request: int) -> int:
    """Return the address of a request; 0 would mean no request."""
    return (request + 1) * _REQUEST_BYTES


def _text(argument: str, number: int, rank: RankTrace, call: Call) -> str:
    """Return an argument of a call by a rank, as a log has it."""
    if argument == "buffer":
        return str(_NO_ADDRESS)
    if argument == "comm":
        ranks = rank.communicators[call["comm"]].ranks
        return f"{call['comm']},{ranks.index(number)},{len(ranks)}"
    if argument in ("type", "recv_type"):
        size = call.arguments.get(f"{argument}_bytes", 0)
        return f"{TYPES.get(call.arguments.get(argument, ''), 0)},{size},{size}"
    return str(OPERATORS.get(call["op"], 0) if argument == "op" else call.arguments.get(argument, 0))


_NAMES_IN_LOG = {"MPI_Mrecv": "MPI_Recv", "MPI_Imrecv": "MPI_Irecv", "MPI_Sendrecv_replace": "MPI_Sendrecv"}
"""Receives of probed messages, which liballprof does not know; each is written as an equivalent function."""

_ROWS = files.read_rows(__file__, "allprof.csv")
ARGUMENTS = {function: row["arguments"] for row in _ROWS for function in row["functions"].split()}
"""The arguments of functions."""
_WRITTEN_FUNCTIONS = frozenset(function for row in _ROWS if row["is_written"] for function in row["functions"].split())
