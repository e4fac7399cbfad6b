"""`hocket mpi calibrate`: write a machine file from measurements."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hocket.base import files
from hocket.base.units import format_bytes, format_count, format_time
from hocket.cli.mpi.options import command
from hocket.cli.output import print_facts, print_json, print_table, progress, write_picture
from hocket.cli.printing import say
from hocket.cli.values import whole
from hocket.definitions.machine import Machine
from hocket.drawing.plot import calibration_chart
from hocket.mpi import Installation

if TYPE_CHECKING:
    from hocket.cli.packages import Lab
    from hocket.mpi.calibration import Calibration, Level
    from hocket.mpi.launch import Launcher
    from hocket.mpi.machine_files import Model

_LEAST_BYTES, _MOST_BYTES, _MOST_LAB_BYTES = 2**16, 2**23, 2**18


@command(ranks=whole(2, what="number of ranks", name="P"))
def calibrate(
    ranks: int,
    output: str | None,
    model: Model,
    most: int | None,
    limit_s: float,
    installation: Installation,
    launcher_and_lab: tuple[Launcher, Lab | None],
    plot: str | None,
    as_json: bool,
) -> None:
    """Measure the cost of messages and computation, and write a machine file for `hocket simulate`.

    The samples are written beside the machine file, as JSON. In a lab, times are as measured there.
    """
    from hocket.fitting.calibrating import calibrate_library, steps
    from hocket.mpi.machine_files import machine_file

    launcher, lab = launcher_and_lab
    if most is None:
        most = _MOST_BYTES if lab is None else _MOST_LAB_BYTES
    if not _LEAST_BYTES <= most < 2**30:
        raise click.UsageError(f"--most: got {format_bytes(most)}, expected 64 KiB to less than 1 GiB")
    path = None if output is None or files.is_stdout(output) else output
    samples_path = str(Path(path).with_suffix(".json")) if path else None
    if path and samples_path == path:
        raise click.UsageError(f"--output: got {path}, expected another suffix, as the samples go to this file")
    with progress("measuring", steps()) as on_done:
        result, samples = calibrate_library(
            installation, launcher, ranks, most_bytes=most, limit_s=limit_s, model=model, on_done=on_done
        )
    text = machine_file(
        result, Path(path).stem if path else "measured", model, Path(samples_path).name if samples_path else None
    )
    Machine.parse(text, path or "machine")
    write_picture(plot, lambda: calibration_chart(result))
    if path and samples_path:
        files.write(samples_path, json.dumps({**asdict(result), "measurements": samples}) + "\n")
        files.write(path, text)
    if as_json:
        print_json({**asdict(result), "machine": path, "measurements": samples_path, "plot": plot, "text": text})
    elif path:
        _print(result, {"machine": path, "samples": samples_path, "plot": plot})
    else:
        files.write(files.STDOUT, text)


def _print(result: Calibration, files: dict[str, str | None]) -> None:
    say(f"{format_count(len(result.hosts), 'rank')}, {result.mpi}, {format_count(result.samples, 'sample')}", bold=True)
    for title, level in (("", result.between), ("within a host", result.local)):
        if level is not None:
            _print_level(title, level)
    work = [
        [
            format_bytes(one.from_bytes),
            f"{format_time(one.reduce_s.value)} + {_rate(one.reduce_s_per_byte.value)}",
            f"{format_time(one.copy_s.value)} + {_rate(one.copy_s_per_byte.value)}",
        ]
        for one in result.work
    ]
    say()
    print_table(["from", "reduce", "copy"], work, right=["reduce", "copy"])
    library = f"{format_time(result.call_s)} of a call, {format_time(result.message_s)} of a message"
    facts = {"Hocket takes": library, **files}
    print_facts([(name, value) for name, value in facts.items() if value is not None])


def _print_level(title: str, level: Level) -> None:
    say(f"\na message of n bytes{f' {title}' if title else ''}: alpha + n beta; off: root mean square deviation")
    columns = ["alpha", "1 / beta", "off"]
    rows = [
        [
            format_bytes(one.from_bytes),
            f"{format_time(one.alpha_s.value)} ({format_time(one.alpha_s.low)}-{format_time(one.alpha_s.high)})",
            f"{_rate(one.beta_s.value)} ({_rate(one.beta_s.high)}-{_rate(one.beta_s.low)})",
            f"{one.deviation:.0%}",
        ]
        for one in level.ranges
    ]
    print_table(["from", *columns], rows, right=columns)
    way_pair = level.both_ways
    print_facts(
        [
            ("both ways", f"{way_pair.value:.2f} ({way_pair.low:.2f}-{way_pair.high:.2f}) times as long as one"),
            ("eager", "all" if level.S_bytes is None else f"up to {level.S_bytes} B"),
        ]
    )


def _rate(s_per_byte: float) -> str:
    return f"{1e-9 / max(s_per_byte, 1e-15):.4g} GB/s"
