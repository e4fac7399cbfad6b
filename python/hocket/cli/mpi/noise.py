"""`hocket mpi noise`: record how the operating system interrupts programs."""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from pathlib import Path

import click

from hocket._native import Error
from hocket.base.units import format_time, parse_ranks, parse_time
from hocket.cli.command import command
from hocket.cli.output import answer, print_facts, print_table, write_all
from hocket.cli.printing import say
from hocket.cli.values import Read
from hocket.mpi.noise import Kinds, Recording, by_duration, noise_trace, record


def _processors(text: str) -> tuple[int, ...]:
    usable = os.sched_getaffinity(0)
    if not all(number.isdecimal() for number in re.split("[-,]", text)):
        raise Error(f'got "{text}", expected processors such as 0-3 or 0,2')
    # Counted from 1, they read as a list of rank counts.
    one_more = re.sub(r"\d+", lambda number: str(int(number[0]) + 1), text)
    numbers = tuple(sorted({number - 1 for number in parse_ranks(one_more)}))
    missing = set(numbers) - usable
    if missing:
        raise Error(f'got "{text}", expected processors of {", ".join(map(str, sorted(usable)))}')
    return numbers


_LENGTH = Read(parse_time, name="TIME")


@command(length_s=_LENGTH, threshold_s=_LENGTH, processors=Read(_processors, name="LIST"))
def noise(
    length_s: float, threshold_s: float, processors: tuple[int, ...] | None, output: str | None, as_json: bool
) -> None:
    """Record interruptions of programs on every processor of this machine."""
    if not 0 < length_s <= 3600:
        raise click.UsageError(f"--time: got {format_time(length_s)}, expected more than 0 s and no more than an hour")
    from rich.console import Console

    with Console(stderr=True).status("recording"):
        recordings = record(processors or sorted(os.sched_getaffinity(0)), length_s=length_s, threshold_s=threshold_s)
    kinds = by_duration(recordings)
    text, all_s = noise_trace(recordings)
    if write_all([(output, lambda _: text)]):
        return
    entry = {
        "processors": [
            {**asdict(one), "share": one.share, "period_s": one.period_s, "events": len(one.events)}
            for one in recordings
        ],
        "kinds": [{**asdict(one), "most_s": min(one.most_s, length_s)} for one in kinds],
        "trace": output,
        "length_s": all_s,
    }
    answer(entry, _print, recordings, kinds, output, all_s, as_json=as_json)


def _print(recordings: tuple[Recording, ...], kinds: tuple[Kinds, ...], output: str | None, all_s: float) -> None:
    rows = [
        [
            str(one.processor),
            str(len(one.events)),
            format_time(one.period_s) if one.period_s else "-",
            format_time(sum(duration for _, duration in one.events) / max(len(one.events), 1)),
            format_time(max((duration for _, duration in one.events), default=0.0)),
            f"{one.share:.3%}",
        ]
        for one in recordings
    ]
    columns = ["processor", "events", "period", "duration", "longest", "share"]
    print_table(columns, rows, right=columns[1:])
    say()
    rows = [
        [
            f"up to {format_time(one.most_s)}" if one.most_s < float("inf") else f"from {format_time(one.least_s)}",
            str(one.events),
            format_time(one.period_s),
            format_time(one.duration_s),
            f"{one.share:.3%}",
        ]
        for one in kinds
    ]
    columns = ["interruptions", "events", "period", "duration", "share"]
    print_table(columns, rows, right=columns[1:])
    if output is not None:
        say()
        print_facts([("trace", output)])
        say(
            f'in a machine file beside it:\n[noise.os]\nmodel = "trace"\nfile = "{Path(output).name}"\n'
            f'length = "{all_s:.9f} s"'
        )
