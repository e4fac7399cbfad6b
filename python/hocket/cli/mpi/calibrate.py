"""`hocket mpi calibrate`: a machine file from measurements."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hocket.base import files
from hocket.base.units import format_bytes, format_time, parse_bytes, parse_duration
from hocket.cli.mpi.options import measuring_options
from hocket.cli.options import OneOf, Read, as_json_option, output_option, plot_option
from hocket.cli.output import print_facts, print_json, print_table, progress
from hocket.definitions.machine import Machine
from hocket.mpi import Installation

if TYPE_CHECKING:
    from hocket.mpi.calibration import Calibration, Level
    from hocket.mpi.fits import Estimate
    from hocket.mpi.launch import Launcher
    from hocket.mpi.machine_files import Model

__all__ = ["Wanted", "calibrate", "calibrate_options"]

F = TypeVar("F", bound=Callable[..., Any])

_LEAST_BYTES = 64 * 1024


@dataclass(frozen=True)
class Wanted:
    """What to measure, and what to write.

    Attributes:
        ranks: Number of ranks.
        installation: The MPI.
        output: The machine file, if it is not to be printed.
        model: The network model of that file.
        most: The largest message, in bytes.
        time_limit: Seconds to measure for.
        plot: Where to draw what was measured, if anywhere.
        as_json: Whether to print JSON.
    """

    ranks: int
    installation: Installation
    output: str | None
    model: Model
    most: int
    time_limit: float
    plot: str | None
    as_json: bool

    def write(self, launcher: Launcher) -> None:
        """Measure, and write the machine file, with the samples beside it as JSON."""
        from hocket.fitting.calibrating import calibrated, steps
        from hocket.mpi.machine_files import machine_file

        if not _LEAST_BYTES <= self.most < 2**30:
            raise click.UsageError(f"--most: got {format_bytes(self.most)}, expected 64 KiB to less than 1 GiB")
        output = None if self.output is None or files.is_stdout(self.output) else self.output
        recorded = str(Path(output).with_suffix(".json")) if output else None
        if output and recorded == output:
            raise click.UsageError(f"--output: got {output}, expected another suffix: the samples go there")
        name = Path(output).stem if output else "measured"
        with progress("measuring", steps()) as on_done:
            found, samples = calibrated(
                self.installation,
                launcher,
                self.ranks,
                most_bytes=self.most,
                limit_s=self.time_limit,
                model=self.model,
                on_done=on_done,
            )
        text = machine_file(found, name, self.model, Path(recorded).name if recorded else None)
        Machine.parse(text, output or "machine")
        if self.plot is not None:
            from hocket.drawing.plot import calibration_chart, encode

            files.write(self.plot, encode(calibration_chart(found), Path(self.plot).suffix))
        if output and recorded:
            files.write(recorded, json.dumps({**asdict(found), "measurements": samples}) + "\n")
            files.write(output, text)
        if self.as_json:
            entry = {**asdict(found), "machine": output, "measurements": recorded, "plot": self.plot, "text": text}
            print_json(entry)
        elif output:
            _print(found, {"machine": output, "samples": recorded, "plot": self.plot})
        else:
            click.echo(text, nl=False)


def calibrate_options(*, most: str, by: Callable[[F], F]) -> Callable[[F], F]:
    """Add what to measure, up to this message, and options `by` which the MPI is found; the command gets `wanted`."""

    def decorate(command: F) -> F:
        @click.option(
            "-n", "--ranks", type=click.IntRange(min=2), required=True, help="Number of ranks; rank 0 with each other."
        )
        @output_option
        @click.option(
            "--model",
            type=OneOf(["loggp", "hockney"]),
            default="loggp",
            show_default=True,
            help="The network model of the file: with ranges of sizes, or one line for all.",
        )
        @click.option(
            "--most",
            type=Read(parse_bytes, name="SIZE"),
            default=most,
            show_default=True,
            help="The largest message.",
        )
        @click.option(
            "--time-limit",
            "time_limit",
            type=Read(parse_duration, name="TIME"),
            default="10s",
            show_default=True,
            help="How long to measure; longer, if measuring each size ten times takes longer.",
        )
        @plot_option
        @as_json_option
        @wraps(command)
        def with_wanted(
            *arguments: Any,
            ranks: int,
            installation: Installation,
            output: str | None,
            model: Model,
            most: int,
            time_limit: float,
            plot: str | None,
            as_json: bool,
            **more: Any,
        ) -> Any:
            wanted = Wanted(ranks, installation, output, model, most, time_limit, plot, as_json)
            return command(*arguments, wanted=wanted, **more)

        return by(with_wanted)  # type: ignore[arg-type]

    return decorate


@click.command()
@calibrate_options(most="8MiB", by=measuring_options)
def calibrate(wanted: Wanted, launcher: Launcher) -> None:
    """Measure what messages and computing cost, and write a machine file that `hocket simulate` takes.

    The samples are written beside it, as JSON.
    """
    wanted.write(launcher)


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
