"""Options that tell what files of measurements lack: once for all files, or once for each file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import click

from hocket._native import Error
from hocket.base.call import MeasuredAs
from hocket.cli.options import T
from hocket.explorer.questions import MeasuredFile
from hocket.measurements.formats import FORMATS, read_measurements
from hocket.measurements.measurement import Facts, Measurement

FORMATS_MEASURED = {"formats": ", ".join(format.what for format in FORMATS)}
"""For the help of commands that read measured times."""


def facts_of(
    collective: tuple[str, ...],
    algorithm: tuple[str, ...],
    ranks: tuple[int, ...],
    ranks_per_node: tuple[int, ...],
    measured_as: MeasuredAs,
    param: tuple[tuple[str, str], ...],
) -> Callable[[int], list[Facts]]:
    """Return what is told of each file, given their number."""
    texts = {"algorithm": algorithm, "ranks": ranks, "collective": collective, "ranks_per_node": ranks_per_node}

    def facts(files: int) -> list[Facts]:
        columns = [_of_files(f"--{name.replace('_', '-')}", values, files) for name, values in texts.items()]
        facts_with = partial(Facts, parameters=param, measured_as=measured_as)
        return [facts_with(**dict(zip(texts, values, strict=True))) for values in zip(*columns, strict=True)]

    return facts


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
    """Return what the files of --measured have; those that do not tell it are of this collective and rank count."""
    names = _of_files("--measured-algorithm", algorithms, len(files))
    facts = [Facts(name, ranks, collective=collective) for name in names]
    with _options_named("algorithm"):
        return [one for reading in map(read_measurements, files, facts) for one in reading.measurements]


def measured_files(
    measured: Sequence[str], measured_algorithm: Sequence[str], measured_ranks: Sequence[int]
) -> tuple[MeasuredFile, ...]:
    """Return the files of --measured, each of which can be read and tells what it must."""
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
