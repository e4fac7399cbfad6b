"""`hocket mpi calibrate`: a machine file from measurements."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from hocket import files
from hocket.cli.mpi.options import launch_options, working
from hocket.cli.options import Read, as_json_option, output_option
from hocket.cli.output import print_facts, print_json
from hocket.machine import Machine
from hocket.mpi import Installation
from hocket.units import format_bytes, format_time, parse_bytes

if TYPE_CHECKING:
    from hocket.mpi.calibration import Calibration
    from hocket.mpi.fits import Estimate

__all__ = ["calibrate"]

_LEAST_BYTES = 64 * 1024


@click.command()
@click.option(
    "-n", "--ranks", type=click.IntRange(min=2), required=True, help="Number of ranks; rank 0 with each other."
)
@output_option
@click.option(
    "--model",
    type=click.Choice(["hockney", "loggp"]),
    default="hockney",
    show_default=True,
    help="The network model of the file; comments give the other one.",
)
@click.option(
    "--most",
    type=Read(parse_bytes, name="SIZE"),
    default="4MiB",
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
@launch_options
@as_json_option
def calibrate(
    ranks: int,
    installation: Installation,
    output: str | None,
    model: Literal["hockney", "loggp"],
    most: int,
    time_limit: float,
    as_json: bool,
) -> None:
    """Measure what messages and computing cost, and write a machine file that `hocket simulate` takes.

    The samples are written beside it, as JSON.
    """
    from hocket.mpi.calibration import calibrate as fit
    from hocket.mpi.calibration import machine_file, measured

    if not _LEAST_BYTES <= most < 2**30:
        raise click.UsageError(f"--most: got {format_bytes(most)}, expected 64 KiB to less than 1 GiB")
    output = None if output is None or files.is_stdout(output) else output
    recorded = str(Path(output).with_suffix(".json")) if output else None
    if output and recorded == str(Path(output)):
        raise click.UsageError(f"--output: got {output}, expected another suffix: the samples go there")
    with working("measuring"):
        samples, hosts = measured(installation, ranks, most_bytes=most, limit_s=time_limit)
    found = fit(samples, mpi=installation.library, hosts=hosts)
    name = Path(output).stem if output else "measured"
    text = machine_file(found, name, model, Path(recorded).name if recorded else None)
    Machine.parse(text, output or "machine")
    if output and recorded:
        files.write(recorded, json.dumps({**_entry(found), "measurements": samples}) + "\n")
        files.write(output, text)
    if as_json:
        print_json({**_entry(found), "machine": output, "measurements": recorded, "text": text})
    elif output and recorded:
        _print(found, output, recorded)
    else:
        click.echo(text, nl=False)


def _entry(found: Calibration) -> dict[str, Any]:
    return asdict(found)


def _print(found: Calibration, machine: str, recorded: str) -> None:
    click.secho(f"{len(found.hosts)} ranks, {found.mpi}, {found.samples} samples", bold=True)
    facts = [
        (
            f"{format_bytes(one.first_bytes)} to {format_bytes(one.last_bytes)}",
            f"alpha {_time(one.alpha_s)}, beta {_time(one.beta_s)} per byte, {one.deviation:.1%} off",
        )
        for one in found.ranges
    ]
    both = found.exchange_factor
    facts += [
        ("both ways", f"{both.value:.2f} ({both.low:.2f}-{both.high:.2f}) times as long as one"),
        ("o", f"{_time(found.o_send_s)} to send, {_time(found.o_receive_s)} to receive"),
        ("L", _time(found.L_s)),
        ("g, G", f"{_time(found.g_s)}, {_time(found.G_s)} per byte"),
        ("reduce", _rate(found.gamma_s)),
        ("copy", _rate(found.copy_s)),
        ("machine", machine),
        ("samples", recorded),
    ]
    print_facts(facts)


def _time(estimate: Estimate) -> str:
    return f"{format_time(estimate.value)} ({format_time(estimate.low)}-{format_time(estimate.high)})"


def _rate(per_byte: Estimate) -> str:
    fast, slow = (1e-9 / max(bound, 1e-15) for bound in (per_byte.low, per_byte.high))
    return f"{1e-9 / max(per_byte.value, 1e-15):.4g} GB/s ({slow:.4g}-{fast:.4g})"
