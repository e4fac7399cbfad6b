"""The common part of all results: data frames, pictures, display in notebooks, tables in words, and places.

This module does not import the drawing code. `hocket` itself names it, in `draw_with`; the first result that is drawn
loads it, and it registers how to draw each class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from hocket._native import Error
from hocket.base.packages import optional
from hocket.base.units import format_bytes, format_count, format_time

if TYPE_CHECKING:
    import pandas
    import polars

_MOST_ROWS = 10  # in a notebook
_NOTHING: tuple[object, ...] = (None, "", [])
_STYLE = 'style="text-align: left; white-space: pre-wrap"'


class Result(ABC):
    """A result: rows with a title."""

    @property
    @abstractmethod
    def title(self) -> str:
        """A description in one line."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return the rows by column, named as in JSON and in the tables of sweeps, with units in the names."""

    def to_pandas(self) -> pandas.DataFrame:
        """Return `records` as a data frame of pandas.

        Raises:
            Error: The package `pandas` is missing.
        """
        frame: pandas.DataFrame = optional("pandas").DataFrame(self.records())
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Return `records` as a data frame of Polars. A column with both numbers and words becomes text.

        Raises:
            Error: The package `polars` is missing.
        """
        frame: polars.DataFrame = optional("polars").DataFrame(self.records(), infer_schema_length=None, strict=False)
        return frame

    def plot(self) -> Any:
        """Return the picture as a chart of Altair, for notebooks and files.

        Raises:
            Error: There is nothing to draw, too much, or no picture of such a result; or the drawing packages are
                missing.
        """
        return draw(self)

    def _notebook_rows(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows from which a notebook shows the first few."""
        return self.records()

    def _repr_html_(self) -> str:
        rows = self._notebook_rows()
        first, left = rows[:_MOST_ROWS], len(rows) - _MOST_ROWS
        names = dict.fromkeys(name for row in first for name in row)
        columns = [name for name in names if any(row.get(name) not in _NOTHING for row in first)]
        body = [_line("td", (_format_value(name, row.get(name)) for name in columns)) for row in first]
        more = f"<small>and {format_count(left, 'more row')}</small>" if left > 0 else ""
        heads = (name.removesuffix("_s").replace("_", " ") for name in columns)
        table = f"<table><thead>{_line('th', heads)}</thead><tbody>{''.join(body)}</tbody></table>"
        return f"<div><strong>{escape(self.title)}</strong>{table}{more}</div>"


_drawings: list[Callable[[], object]] = []


@dataclass(frozen=True)
class Later:
    """The result of a simulation that its deadline ended: the time is later.

    Attributes:
        until_s: The deadline.
    """

    until_s: float


@dataclass(frozen=True)
class NoTime:
    """Why an algorithm has no time at a size."""

    algorithm: str
    size_bytes: int
    sentence: str


ORPHANS: list[int] = []
"""Programs of the user that still run in threads which Python does not know, after an interruption."""


def draw_with(load: Callable[[], object]) -> None:
    """Name what loads the drawing code."""
    _drawings.append(load)


@singledispatch
def draw(result: Result, **options: Any) -> Any:
    """Return the chart of a result; an Error if there is nothing to draw, or an option is invalid."""
    for load in _drawings:
        load()
    if draw.dispatch(type(result)) is draw.dispatch(object):
        raise Error(f"plot: {type(result).__name__} has no picture")
    return draw(result, **options)


def parameter_columns(parameters: Mapping[str, int | str]) -> dict[str, Any]:
    """Return values of parameters as columns: one column with all values as text, and one column for each parameter."""
    text = " ".join(f"{name}={value}" for name, value in parameters.items())
    return {"parameters": text, **{f"param_{name}": value for name, value in parameters.items()}}


def _line(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag} {_STYLE}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _format_value(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name.endswith("_s"):
        return format_time(value)
    if name.endswith("bytes"):
        return format_bytes(round(value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Place:
    """The contestants that share a place, and the shortest time of them."""

    names: tuple[str, ...]
    time_s: float


def places(times_s: Mapping[str, float], fastest: Collection[str]) -> tuple[Place, ...]:
    """Return the places, the fastest first: `fastest` share the first, and other names with equal times one each."""
    if not fastest:
        return ()
    first = Place(tuple(fastest), min(times_s[name] for name in fastest))
    others = sorted((name for name in times_s if name not in fastest), key=times_s.__getitem__)
    return first, *(Place(tuple(names), time_s) for time_s, names in groupby(others, key=times_s.__getitem__))


@dataclass(frozen=True)
class TextTable:
    """A table in words."""

    columns: tuple[str, ...]  # the titles of its columns
    rows: tuple[tuple[str, ...], ...]  # the cells of each row
    right: tuple[str, ...] = ()  # the right-aligned columns
