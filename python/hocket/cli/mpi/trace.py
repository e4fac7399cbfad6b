"""`hocket mpi trace`: record the MPI calls of a program."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

import click

from hocket import traces
from hocket.base import files
from hocket.base.units import format_bytes, format_count, format_time
from hocket.cli.mpi.options import program_command, say_what_root_lacks
from hocket.cli.output import answer, print_facts, print_table
from hocket.cli.printing import say
from hocket.mpi import Installation
from hocket.mpi.tracing import program_name
from hocket.mpi.tracing import trace as trace_program
from hocket.traces import Trace


@program_command()
def trace(
    ranks: int,
    output: str | None,
    simgrid: str | None,
    allprof: str | None,
    installation: Installation,
    as_json: bool,
    program: tuple[str, ...],
) -> int:
    """Run PROGRAM under MPI, and write a trace of its MPI calls.

    Options after PROGRAM are the program's.
    """
    if not program:
        raise click.UsageError("no program, expected a program after --")
    if output is not None and files.is_stdout(output):
        raise click.UsageError(f"--output: got {output}, expected a file, as the program writes to stdout")
    path = output or f"{program_name(program)}.hktrace"
    if output is None:
        if os.path.lexists(path):  # it may be the trace of another program
            raise click.UsageError(f"{path} exists, expected --output {path} to overwrite it, or another file")
        files.writable(path)
    say_what_root_lacks(installation)
    trace_read, status = trace_program(installation, ranks, program, path)
    output_files = {"trace": path}
    if simgrid is not None:
        output_files["simgrid"] = str(traces.write_simgrid(simgrid, trace_read))
    if allprof is not None:
        output_files["allprof"] = str(traces.write_allprof(allprof, trace_read))
    summary = _summary(trace_read)
    answer({**summary, **output_files, "exit_status": status}, _print, summary, output_files, as_json=as_json)
    return status


def _summary(trace: Trace) -> dict[str, Any]:
    functions: dict[str, dict[str, float]] = defaultdict(lambda: {"calls": 0, "time_s": 0.0, "bytes": 0})
    for rank in trace.ranks:
        for call in rank.calls:
            row = functions[call.function]
            row["calls"] += call.arguments.get("tries", 1)
            row["time_s"] += call.end_s - call.start_s
            is_alltoall = call.function in ("MPI_Alltoall", "MPI_Ialltoall")
            blocks = len(rank.communicators[call["comm"]].peers) if is_alltoall else 1  # one for each rank
            row["bytes"] += blocks * (call.size_bytes() or call.size_bytes("recv_"))
    ends_s = [rank.on_rank_0_s(rank.end_s) for rank in trace.ranks]
    return {
        "program": trace.program,
        "mpi": trace.mpi,
        "ranks": len(trace.ranks),
        "calls": trace.calls,
        "time_s": max(ends_s),
        "mpi_share": sum(rank.mpi_s for rank in trace.ranks) / max(sum(rank.end_s for rank in trace.ranks), 1e-9),
        "clock_offset_s": max(abs(offset) for rank in trace.ranks for offset in rank.clock_offset_s),
        "functions": dict(sorted(functions.items(), key=lambda item: -item[1]["time_s"])),
    }


def _print(summary: dict[str, Any], files: dict[str, str]) -> None:
    say(
        f"{summary['program']}, {format_count(summary['ranks'], 'rank')}, {format_count(summary['calls'], 'call')}",
        bold=True,
    )
    print_facts(
        [
            ("mpi", summary["mpi"]),
            ("time", f"{format_time(summary['time_s'])} from MPI_Init to the last MPI_Finalize"),
            ("inside MPI", f"{summary['mpi_share']:.1%}, mean over the ranks"),
            ("clocks", f"at most {format_time(summary['clock_offset_s'])} apart"),
        ]
    )
    rows = [
        [name, f"{row['calls']:.0f}", format_time(row["time_s"]), format_bytes(int(row["bytes"]))]
        for name, row in summary["functions"].items()
        if name not in ("MPI_Init", "MPI_Finalize")
    ]
    print_table(["function", "calls", "time", "data"], rows, right=["calls", "time", "data"])
    say()
    print_facts(files.items())
