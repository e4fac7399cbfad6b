"""`hocket mpi calibrate`: a machine file from measurements."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hocket import files
from hocket.cli.mpi.options import measuring_options, working
from hocket.cli.options import Read, as_json_option, output_option, plot_option
from hocket.cli.output import print_facts, print_json, print_table
from hocket.machine import Machine
from hocket.mpi import Installation
from hocket.units import format_bytes, format_time, parse_bytes

if TYPE_CHECKING:
    from hocket.mpi.calibration import Calibration, Level
    from hocket.mpi.fits import Estimate
    from hocket.mpi.launch import Launcher
    from hocket.mpi.machine_files import Model

__all__ = ["calibrate"]

_LEAST_BYTES = 64 * 1024


@click.command()
@click.option(
    "-n", "--ranks", type=click.IntRange(min=2), required=True, help="Number of ranks; rank 0 with each other."
)
@output_option
@click.option(
    "--model",
    type=click.Choice(["loggp", "hockney"]),
    default="loggp",
    show_default=True,
    help="The network model of the file: with ranges of sizes, or one line for all.",
)
@click.option(
    "--most",
    type=Read(parse_bytes, name="SIZE"),
    default="8MiB",
    show_default=True,
    help="The largest message.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    help="Seconds to measure for, if it takes no longer to measure each size ten times.",
)
@measuring_options
@plot_option
@as_json_option
def calibrate(
    ranks: int,
    installation: Installation,
    launcher: Launcher,
    output: str | None,
    model: Model,
    most: int,
    time_limit: float,
    plot: str | None,
    as_json: bool,
) -> None:
    """Measure what messages and computing cost, and write a machine file that `hocket simulate` takes.

    The samples are written beside it, as JSON.
    """
    from hocket.mpi.calibration import calibrate as fit
    from hocket.mpi.calibration import measured
    from hocket.mpi.machine_files import machine_file
    from hocket.mpi.overheads import overheads

    if not _LEAST_BYTES <= most < 2**30:
        raise click.UsageError(f"--most: got {format_bytes(most)}, expected 64 KiB to less than 1 GiB")
    output = None if output is None or files.is_stdout(output) else output
    recorded = str(Path(output).with_suffix(".json")) if output else None
    if output and recorded == str(Path(output)):
        raise click.UsageError(f"--output: got {output}, expected another suffix: the samples go there")
    with working("measuring"):
        samples, hosts = measured(installation, ranks, most_bytes=most, limit_s=time_limit, launcher=launcher)
        found = fit(samples, mpi=installation.library, hosts=hosts)
        name = Path(output).stem if output else "measured"

        def slower(extra_s: float) -> Machine:
            return Machine.parse(machine_file(replace(found, message_s=extra_s), name, model, None))

        call_s, message_s = overheads(installation, launcher, ranks, slower)
    found = replace(found, call_s=call_s, message_s=message_s)
    text = machine_file(found, name, model, Path(recorded).name if recorded else None)
    Machine.parse(text, output or "machine")
    if plot is not None:
        from hocket.plot import calibration_chart, encode

        files.write(plot, encode(calibration_chart(found), Path(plot).suffix))
    if output and recorded:
        files.write(recorded, json.dumps({**asdict(found), "measurements": samples}) + "\n")
        files.write(output, text)
    if as_json:
        entry = {**asdict(found), "machine": output, "measurements": recorded, "plot": plot, "text": text}
        print_json(entry)
    elif output and recorded:
        _print(found, {"machine": output, "samples": recorded, "plot": plot})
    else:
        click.echo(text, nl=False)


def _print(found: Calibration, written: dict[str, str | None]) -> None:
    click.secho(f"{len(found.hosts)} ranks, {found.mpi}, {found.samples} samples", bold=True)
    for title, level in (("", found.between), ("within a host", found.local)):
        if level is not None:
            _print_level(title, level)
    work = [
        [
            format_bytes(one.from_bytes),
            f"{_time(one.reduce_s)} + {_rate(one.reduce_s_per_byte)}",
            f"{_time(one.copy_s)} + {_rate(one.copy_s_per_byte)}",
        ]
        for one in found.work
    ]
    click.echo()
    print_table(["from", "reduce", "copy"], work, right=["reduce", "copy"])
    library = f"{format_time(found.call_s)} of a call, {format_time(found.message_s)} of a message"
    facts = {"Hocket takes": library, **written}
    print_facts([(name, value) for name, value in facts.items() if value is not None])


def _print_level(title: str, level: Level) -> None:
    click.echo(
        f"\na message of n bytes{f' {title}' if title else ''}: alpha + n beta; how far that is off, root mean square"
    )
    columns = ["alpha", "1 / beta", "off"]
    rows = [
        [
            format_bytes(one.from_bytes),
            f"{_time(one.alpha_s)} ({_time(one.alpha_s, 'low')}-{_time(one.alpha_s, 'high')})",
            f"{_rate(one.beta_s)} ({_rate(one.beta_s, 'high')}-{_rate(one.beta_s, 'low')})",
            f"{one.deviation:.0%}",
        ]
        for one in level.ranges
    ]
    print_table(["from", *columns], rows, right=columns)
    both = level.both_ways
    print_facts(
        [
            ("both ways", f"{both.value:.2f} ({both.low:.2f}-{both.high:.2f}) times as long as one"),
            ("eager", "all" if level.S_bytes is None else f"up to {level.S_bytes} B"),
        ]
    )


def _time(estimate: Estimate, part: str = "value") -> str:
    return format_time(getattr(estimate, part))


def _rate(per_byte: Estimate, part: str = "value") -> str:
    return f"{1e-9 / max(getattr(per_byte, part), 1e-15):.4g} GB/s"
