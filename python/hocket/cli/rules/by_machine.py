"""Libraries that decide by the machine, for `hocket rules defaults` and `hocket rules explain`."""

from __future__ import annotations

from os import path

import click

from hocket._native import Error
from hocket.base.units import format_bytes, format_count, format_time
from hocket.cli.output import print_json, print_table
from hocket.cli.printing import say
from hocket.definitions.libraries import BY_MACHINE
from hocket.definitions.machine import Machine
from hocket.rules.nccl.choosing import Alternative, Decision
from hocket.rules.nccl.defaults import decision_on
from hocket.rules.nccl.table import LIBRARY
from hocket.rules.tuning_files.counterparts import LIBRARIES


def decides_by_machine(name: str) -> bool:
    """Return whether a name is that of a library which decides by the machine, and not that of a file."""
    return name in BY_MACHINE and not path.exists(name)


def given_machine(machine: Machine | None, library: str) -> Machine:
    """Return the machine, which is needed."""
    if machine is None:
        raise click.UsageError(f"--machine: expected a machine with a section [gpu], by which {library} decides")
    return machine


def explain_by_machine(machine: Machine, ranks: int, size: int, function: str | None, *, as_json: bool) -> None:
    """Print what NCCL chooses for calls of a function, or of all that it has, and the lines of its table."""
    functions = sorted(LIBRARIES[LIBRARY].measures)
    if function is not None and function not in functions:
        raise Error(f'--collective: {LIBRARY} has no "{function}", expected {", ".join(functions)}')
    decisions = {each: decision_on(machine, each, ranks, size) for each in ([function] if function else functions)}
    if as_json:
        entries = [
            {"collective": each, "ranks": ranks, "size_bytes": size, **decision.as_dict()}
            for each, decision in decisions.items()
        ]
        print_json(entries)
        return
    for number, (each, decision) in enumerate(decisions.items()):
        if number:
            say()
        say(f"{each} on {format_count(ranks, 'rank')}, {format_bytes(size)}", bold=True)
        _print(decision)


def _print(decision: Decision) -> None:
    rows = [_row(each, decision) for each in decision.alternatives]
    columns = ["algorithm", "protocol", "time", "latency", "bandwidth", "why"]
    print_table(columns, rows, right=["time", "latency", "bandwidth"])
    channels, threads = format_count(decision.channels, "channel"), format_count(decision.threads, "thread")
    say(f"{LIBRARY}: {decision.entry} with {channels} of {threads}")


def _row(one: Alternative, decision: Decision) -> tuple[str, ...]:
    entry = one.entry
    if entry.why_not:
        return entry.algorithm, entry.protocol, "", "", "", entry.why_not
    why = "decides" if entry == decision.entry else f"{one.time_us / decision.time_us:.2f} times as long"
    latency, time = (format_time(time_us * 1e-6) for time_us in (entry.latency_us, one.time_us))
    return entry.algorithm, entry.protocol, time, latency, f"{entry.bandwidth_gb_s:.1f} GB/s", why
