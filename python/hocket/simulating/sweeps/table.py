"""The result of a sweep: a tidy table, one row per cell, as CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any

from hocket._native import Error
from hocket.base import checks, files
from hocket.base.packages import alt, optional
from hocket.base.results import Result, draw, parameter_columns
from hocket.base.units import format_count
from hocket.simulating.sweeps.reading import rows_of
from hocket.simulating.sweeps.row import CONDITIONS, Row


@dataclass(frozen=True)
class Table(Result):
    """The rows of a sweep, in the order of its grid."""

    rows: tuple[Row, ...]

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Table:
        """Read a table that `write` wrote, from a file that ends in `.csv` or `.parquet`.

        Raises:
            Error: The ending is unknown; the file cannot be read or is not the table of a sweep (the message names
                file, row and column); or `pyarrow` is missing.
        """
        check_format(path)
        file = checks.path("table", path)
        records = _from_csv(file) if Path(file).suffix == ".csv" else _from_parquet(file)
        return cls(rows_of(records, file))

    @property
    def title(self) -> str:
        """The number of simulations and of refused calls."""
        return f"{format_count(len(self.rows), 'simulation')}, {self.refused} refused"

    @property
    def refused(self) -> int:
        """The number of refused calls."""
        return sum(row.refusal is not None for row in self.rows)

    @cached_property
    def columns(self) -> dict[str, str]:
        """The names of the columns and their types: "str", "int" or "float".

        The column `parameters` holds all values as text; after it, each parameter has its own column.
        """
        values = {f"param_{name}": value for row in self.rows for name, value in row.parameters.items()}
        types = {name: "int" if isinstance(value, int) else "str" for name, value in values.items()}
        columns: dict[str, str] = {}
        for column in fields(Row):
            columns[column.name] = str(column.type).removesuffix(" | None")
            if column.name == "parameters":
                columns |= {"parameters": "str", **types}
        return columns

    def records(self) -> list[dict[str, Any]]:
        """Return the rows by column; all rows have the same columns."""
        entries = ({**asdict(row), **parameter_columns(row.parameters)} for row in self.rows)
        return [{column: record.get(column) for column in self.columns} for record in entries]

    def plot(
        self, *, x: str | None = None, color: str | None = None, facet: str | None = None
    ) -> alt.LayerChart | alt.FacetChart:
        """Return a chart of the mean time with its confidence interval; refused calls are left out.

        Args:
            x: The column of the horizontal axis, with numbers. By default the size, the ranks or a parameter, whichever
                has several values.
            color: The column with a line for each value; by default the algorithm with its parameters.
            facet: The column with a panel for each value; by default each combination of the other varying columns has
                a panel.

        Raises:
            Error: There is no such column, no time above zero, or too much to draw.
        """
        chart: alt.LayerChart | alt.FacetChart = draw(self, x=x, color=color, facet=facet)
        return chart

    def _notebook_rows(self) -> list[dict[str, Any]]:
        call = ("algorithm", "parameters", "ranks", "size_bytes", "machine")
        field_names = (*call, *CONDITIONS, "time_mean_s", "refusal")
        return [{name: record[name] for name in field_names} for record in self.records()]

    def as_csv(self) -> str:
        """Return the table as CSV; None becomes an empty cell, and numbers have all digits."""
        return files.csv_text(self.columns, self.records())

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
        """Write the table to a file that ends in `.csv` or `.parquet`, completely or not at all.

        Raises:
            Error: The ending is unknown, the file cannot be written, or `pyarrow` is missing.
        """
        check_format(path)
        files.write(path, _FORMATS[Path(path).suffix](self))


_FORMATS: dict[str, Callable[[Table], str | bytes]] = {".csv": Table.as_csv, ".parquet": Table.as_parquet}

FORMATS = tuple(_FORMATS)  # the endings of table files

_pyarrow = partial(optional, extra="parquet")

_MOST_BYTES = 1 << 28
_ROW_BYTES = 3000.0


def check_format(path: str | PathLike[str]) -> None:
    """Refuse the name of a file whose ending is unknown, or needs a package that is missing, before long work."""
    file = checks.path("table", path)
    suffix = Path(file).suffix
    if suffix not in FORMATS:
        raise Error(f'got "{file}", expected a file that ends in {" or ".join(FORMATS)}')
    if suffix == ".parquet":
        _pyarrow("pyarrow.parquet")


def _from_csv(file: str) -> list[dict[str, Any]]:
    """Return the lines of a table by column."""
    text = files.read_text(file, most_bytes=_MOST_BYTES)
    checks.memory(file, text.count("\n") * _ROW_BYTES)
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", strict=True)
    try:
        return list(reader)
    except csv.Error as error:
        raise Error(f"{file}:{reader.reader.line_num}: not CSV: {error}") from error


def _from_parquet(file: str) -> list[dict[str, Any]]:
    arrow, parquet = _pyarrow("pyarrow"), _pyarrow("pyarrow.parquet")
    try:
        parquet_file = parquet.ParquetFile(file)
        checks.memory(file, parquet_file.metadata.num_rows * _ROW_BYTES)
        return list(parquet_file.read().to_pylist())
    except (OSError, arrow.ArrowException) as error:
        raise Error(f"{file}: not a Parquet file that can be read: {error}") from error
