"""The result of a sweep: a tidy table, one row per cell, as CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from hocket import checks, files
from hocket._native import Error
from hocket.sweeps.executors import optional

__all__ = ["FORMATS", "QUANTILES", "Row", "Table", "check_format"]

QUANTILES = {
    "time_q05_s": "0.05",
    "time_q25_s": "0.25",
    "time_q50_s": "0.5",
    "time_q75_s": "0.75",
    "time_q95_s": "0.95",
    "time_q99_s": "0.99",
}
"""Columns of quantiles, and how the statistics name them."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One cell: what was asked, and what was found or the refusal.

    Attributes:
        algorithm: The algorithm.
        collective: Its collective.
        parameters: Values of all its parameters.
        ranks: Number of ranks.
        size_bytes: The message of the MPI call.
        machine: The machine's name.
        noise: The noise's name; "" where it is what the machine file says.
        seed: Seed of all randomness.
        trials: Number of trials; 0 if the call was refused.
        time_mean_s: When the last rank ended, mean over the trials; None, like all that follows, if it was refused.
        time_stderr_s: Standard error of the mean.
        time_interval_low_s: Lower end of the confidence interval of the mean, 95 %.
        time_interval_high_s: Upper end.
        time_min_s: The smallest time.
        time_max_s: The largest time.
        time_q05_s: The quantile 0.05 of the times; the others likewise.
        time_q25_s: The quantile 0.25.
        time_q50_s: The median.
        time_q75_s: The quantile 0.75.
        time_q95_s: The quantile 0.95.
        time_q99_s: The quantile 0.99.
        messages: Messages of all ranks together.
        message_bytes: Bytes of these messages.
        engine: The engine that ran.
        refusal: Why there is no result, in a sentence; None if there is one.
        version: Version of Hocket.
    """

    algorithm: str
    collective: str
    parameters: dict[str, int | str]
    ranks: int
    size_bytes: int
    machine: str
    noise: str
    seed: int
    trials: int
    time_mean_s: float | None = None
    time_stderr_s: float | None = None
    time_interval_low_s: float | None = None
    time_interval_high_s: float | None = None
    time_min_s: float | None = None
    time_max_s: float | None = None
    time_q05_s: float | None = None
    time_q25_s: float | None = None
    time_q50_s: float | None = None
    time_q75_s: float | None = None
    time_q95_s: float | None = None
    time_q99_s: float | None = None
    messages: int | None = None
    message_bytes: int | None = None
    engine: str | None = None
    refusal: str | None = None
    version: str


@dataclass(frozen=True)
class Table:
    """The rows of a sweep, in the order of its grid."""

    rows: tuple[Row, ...]

    @cached_property
    def columns(self) -> dict[str, str]:
        """The names of the columns and their types: "str", "int" or "float".

        After `parameters`, which holds all values as text, each parameter has a column of its own.
        """
        values = {name: value for row in self.rows for name, value in row.parameters.items()}
        columns: dict[str, str] = {}
        for column in fields(Row):
            if column.name == "parameters":
                columns |= {"parameters": "str", **{f"param_{name}": _type(value) for name, value in values.items()}}
            else:
                columns[column.name] = str(column.type).removesuffix(" | None")
        return columns

    def records(self) -> list[dict[str, Any]]:
        """Return the rows by column, the same columns in each."""
        return [{column: record.get(column) for column in self.columns} for record in map(_record, self.rows)]

    def as_csv(self) -> str:
        """Return the table as CSV; what is None is empty, and numbers are written to the last digit."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(self.columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records())
        return text.getvalue()

    def as_parquet(self) -> bytes:
        """Return the table as Parquet.

        Raises:
            Error: The package `pyarrow` is missing.
        """
        arrow, parquet = _pyarrow("pyarrow"), _pyarrow("pyarrow.parquet")
        types = {"str": arrow.string(), "int": arrow.int64(), "float": arrow.float64()}
        schema = {name: types[kind] for name, kind in self.columns.items()} | {"seed": arrow.uint64()}
        content = io.BytesIO()
        parquet.write_table(arrow.Table.from_pylist(self.records(), schema=arrow.schema(list(schema.items()))), content)
        return content.getvalue()

    def write(self, path: str | PathLike[str]) -> None:
        """Write the table to a file that ends in `.csv` or `.parquet`: all of it, or none.

        Raises:
            Error: Another ending, a file that cannot be written, or `pyarrow` is missing.
        """
        check_format(path)
        files.write(path, _FORMATS[Path(path).suffix](self))


_FORMATS: dict[str, Callable[[Table], str | bytes]] = {".csv": Table.as_csv, ".parquet": Table.as_parquet}

FORMATS = tuple(_FORMATS)
"""The endings of files that a table can be written to."""


def check_format(path: str | PathLike[str]) -> None:
    """Check that a table can be written to a file of this name: before long work, rather than after.

    Raises:
        Error: Another ending than those of tables, or a package is missing for it.
    """
    file = checks.path("table", path)
    suffix = Path(file).suffix
    if suffix not in FORMATS:
        raise Error(f'got "{file}", expected a file that ends in {" or ".join(FORMATS)}')
    if suffix == ".parquet":
        _pyarrow("pyarrow.parquet")


def _pyarrow(module: str) -> Any:
    return optional(module, extra="parquet")


def _type(value: int | str) -> str:
    return "int" if isinstance(value, int) else "str"


def _record(row: Row) -> dict[str, Any]:
    values = asdict(row)
    text = " ".join(f"{name}={value}" for name, value in row.parameters.items())
    return {**values, "parameters": text, **{f"param_{name}": value for name, value in row.parameters.items()}}
