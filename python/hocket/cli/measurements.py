"""Options that tell what files of measurements lack: once for all files, or once for each file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

import click

from hocket._native import Error
from hocket.base.call import MeasuredAs
from hocket.cli import options
from hocket.cli.options import F, T
from hocket.explorer.questions import MeasuredFile
from hocket.measurements.formats import read_measurements
from hocket.measurements.measurement import Facts, Measurement

_EACH = "once, or once for each file"


def facts_options(command: F) -> F:
    """Add the options; pass `facts_of`, which returns what is told of each file, given their number."""

    @wraps(command)
    def collect(measured_as: MeasuredAs, param: tuple[tuple[str, str], ...], **rest: Any) -> Any:
        texts = {name: rest.pop(name) for name in _OF_A_FILE}

        def facts_of(files: int) -> list[Facts]:
            columns = [_of_files(f"--{name.replace('_', '-')}", values, files) for name, values in texts.items()]
            facts = partial(Facts, parameters=param, measured_as=measured_as)
            return [facts(**dict(zip(texts, values, strict=True))) for values in zip(*columns, strict=True)]

        return command(facts_of=facts_of, **rest)

    return options.with_options(_OPTIONS, collect)


def _of_files(option: str, values: Sequence[T], files: int) -> Sequence[T | None]:
    """Return the value of each file."""
    if values and not files:
        raise click.UsageError(f"{option}: got {values[0]}, expected --measured beside it")
    if len(values) <= 1:
        return [*values, None][:1] * files
    if len(values) != files:
        raise click.UsageError(
            f"{option}: got {len(values)} values for {files} files, expected one, or one for each file"
        )
    return values


def read_measured(
    files: Sequence[str], algorithms: Sequence[str], *, collective: str | None, ranks: int | None
) -> list[Measurement]:
    """Return what the files of --measured have; those that do not tell it are of this collective and rank count.

    Raises:
        UsageError: There are algorithms without files, or not one for each file.
        Error: A file cannot be read, or does not tell what it must.
    """
    names = _of_files("--measured-algorithm", algorithms, len(files))
    facts = [Facts(name, ranks, collective=collective) for name in names]
    with _options_named("algorithm"):
        return [one for reading in map(read_measurements, files, facts) for one in reading.measurements]


def measured_files(
    measured: Sequence[str], measured_algorithm: Sequence[str], measured_ranks: Sequence[int]
) -> tuple[MeasuredFile, ...]:
    """Return the files of --measured, which can be read.

    Raises:
        UsageError: There are algorithms or ranks without files, or not one for each file.
        Error: A file cannot be read, or does not tell what it must.
    """
    names = _of_files("--measured-algorithm", measured_algorithm, len(measured))
    counts = _of_files("--measured-ranks", measured_ranks, len(measured))
    files_measured = tuple(map(MeasuredFile, measured, names, counts))
    with _options_named("algorithm", "ranks"):
        for file in files_measured:
            _ = file.measurements
    return files_measured


@contextmanager
def _options_named(*names: str) -> Iterator[None]:
    """Name the options of --measured in errors, where `hocket fit` has others."""
    try:
        yield
    except Error as error:
        text = str(error)
        for name in names:
            text = text.replace(f"expected --{name}", f"expected --measured-{name}")
        raise Error(text) from None


_OF_A_FILE = ("algorithm", "ranks", "collective", "ranks_per_node")
"""The facts that may differ from file to file."""

_OPTIONS = (
    click.option(
        "--collective",
        metavar="NAME",
        multiple=True,
        help=f"The collective measured in nccl-tests output or a table that has no name; {_EACH}.",
    ),
    click.option(
        "--algorithm",
        metavar="NAME",
        multiple=True,
        help="The algorithm measured in OSU, IMB or nccl-tests output or in a table; a library, such as openmpi-5.0, "
        f"for what it chooses; or `default`; {_EACH}.",
    ),
    options.ranks(multiple=True, help=f"Number of ranks of output that does not tell it; {_EACH}."),
    click.option(
        "--ranks-per-node",
        type=options.whole(),
        multiple=True,
        help=f"Number of ranks on a node of output that does not tell it; {_EACH}.",
    ),
    options.measured_as(help="How the times of plain CSV files were measured."),
    options.parameter,
)
