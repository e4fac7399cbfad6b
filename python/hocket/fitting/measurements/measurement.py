"""Measured times of collectives, and what the reader of a format is told."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, get_args

from hocket._native import Error
from hocket.base import checks
from hocket.base.call import Call
from hocket.base.names import among
from hocket.definitions.library import REDUCTIONS, find
from hocket.definitions.parameters import values_of
from hocket.rules.tuning_files.decisions import library_named
from hocket.simulating.simulation import MeasuredAs

DEFAULT = "default"
"""The algorithm of a measurement whose library chose it by itself."""

MOST_NAME_LETTERS = 100
"""How many letters of a name in JSON are read."""

_FLOAT_BYTES = 4
_MOST_DIGITS, _MOST_LETTERS = 15, 300


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The measured time of one call of a collective.

    Attributes:
        collective: The collective.
        algorithm: The algorithm of the catalogue that ran; "default" where the library chose by itself. The name of a
            library, such as "openmpi-5.0", stands for the algorithm that this library chooses for the call.
        ranks: Number of ranks.
        size_bytes: The size of the call, as `hocket.Call` counts it.
        time_s: How long the call took.
        measured_as: How the benchmark measured the time, see `hocket.simulate`.
        parameters: Values of the algorithm's parameters; those left out have their defaults.
        element_bytes: Size of an element.
        dims: The sizes of the torus that the job ran on, where that is known.
        ranks_per_node: Ranks on a node, where that is known.
        in_place: Whether the input was in the result buffer.
        system: The machine, where the file names several.
        source: The file and the line.
    """

    collective: str
    algorithm: str
    ranks: int
    size_bytes: int
    time_s: float
    measured_as: MeasuredAs = "isolated"
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    element_bytes: int = 1
    dims: tuple[int, ...] | None = None
    ranks_per_node: int | None = None
    in_place: bool = False
    system: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        """Check the values, and copy the sizes of the torus.

        Raises:
            Error: A value is invalid.
        """
        among("measured_as", self.measured_as, get_args(MeasuredAs))
        for name in ("collective", "algorithm", "system", "source"):
            checks.text(name, getattr(self, name))
        checks.number("time_s", self.time_s, "seconds above 0", is_right=lambda time_s: 0 < time_s < inf)
        checks.mapping("parameters", self.parameters)
        counts = [("ranks", self.ranks), ("element_bytes", self.element_bytes)]
        counts += [("ranks_per_node", self.ranks_per_node)] if self.ranks_per_node is not None else []
        if self.dims is not None:
            object.__setattr__(self, "dims", checks.several("dims", self.dims, object, "whole numbers"))
            counts += [("dims", size) for size in self.dims]
        for name, count in counts:
            if checks.whole(name, count) == 0:
                raise Error(f"{name}: got 0, expected at least 1")
        checks.whole("size_bytes", self.size_bytes)
        checks.truth("in_place", self.in_place)

    @property
    def label(self) -> str:
        """The algorithm and the values of its parameters: "trinaryx3 segment=4096"."""
        return " ".join([self.algorithm, *(f"{name}={value}" for name, value in sorted(self.parameters.items()))])

    @property
    def call(self) -> Call:
        """The call."""
        return Call(
            ranks=self.ranks,
            size_bytes=self.size_bytes,
            element_bytes=self.element_bytes,
            in_place=self.in_place,
            parameters=self.parameters,
        )


@dataclass(frozen=True)
class Told:
    """What is told of files that do not say it themselves.

    Attributes:
        algorithm: The algorithm.
        ranks: Number of ranks.
        parameters: Names and texts of parameters.
        measured_as: How the times of a plain CSV were measured.
        collective: The collective.
        ranks_per_node: Ranks on a node.
    """

    algorithm: str | None = None
    ranks: int | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    measured_as: MeasuredAs = "isolated"
    collective: str | None = None
    ranks_per_node: int | None = None


@dataclass(frozen=True)
class Reading:
    """What a file has.

    Attributes:
        measurements: What Hocket can simulate, and the choices of libraries.
        unknown: Measurements of what has no counterpart in Hocket; their algorithms have the names of the file.
    """

    measurements: tuple[Measurement, ...]
    unknown: tuple[Measurement, ...] = ()


class Format(NamedTuple):
    """A format of measurements.

    Attributes:
        name: What it is called.
        what: What writes it.
        recognises: Whether a text is of it.
        read: Returns what a text has: the text, the name of its file, and what is told besides.
    """

    name: str
    what: str
    recognises: Callable[[str], bool]
    read: Callable[[str, str, Told], Reading]


def floats(collective: str) -> int:
    """Return the size of an element where reductions are of floats, and all else is of bytes."""
    return _FLOAT_BYTES if collective in REDUCTIONS else 1


def at(file: str, line: int, sentence: str) -> Error:
    """Return what is wrong with a line of a file."""
    return Error(f"{file}:{line}: {sentence}")


def has_columns(text: str, columns: Sequence[str]) -> bool:
    """Return whether the first line of a CSV names all of these columns."""
    return set(columns) <= {name.strip() for name in text.partition("\n")[0].split(",")}


def rows_of(text: str, file: str, columns: Sequence[str]) -> Iterator[tuple[dict[str, str], tuple[str, int]]]:
    """Give the rows of a CSV by the columns that its first line names, and where they are; no blanks around values.

    Raises:
        Error: The text is no CSV, a value is too long, or one of `columns` has none.
    """
    rows = csv.DictReader(text.splitlines())
    try:
        for row in rows:
            cells = {name.strip(): value.strip() for name, value in row.items() if name and isinstance(value, str)}
            longest = max(cells, key=lambda name: len(cells[name]), default="")
            if len(cells.get(longest, "")) > _MOST_LETTERS:
                raise at(
                    file,
                    rows.line_num,
                    f"{longest:.60}: got {len(cells[longest])} letters, expected at most {_MOST_LETTERS}",
                )
            missing = [name for name in columns if not cells.get(name)]
            if missing:
                raise at(file, rows.line_num, f"{missing[0]}: is empty, expected a value")
            yield cells, (file, rows.line_num)
    except csv.Error as error:
        raise at(file, rows.line_num, f"not CSV: {error}") from None


def count(text: str, what: str, where: tuple[str, int]) -> int:
    """Return a whole number of at least 1.

    Raises:
        Error: The text is none.
    """
    if not (text.isdecimal() and len(text) <= _MOST_DIGITS and int(text)):
        raise at(*where, f'{what}: got "{text:.60}", expected a whole number of at least 1')
    return int(text)


def positive(text: str, what: str, where: tuple[str, int]) -> float:
    """Return a number above zero.

    Raises:
        Error: The text is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise at(*where, f'{what}: got "{text:.60}", expected a number above zero')
    return value


def call_of(collective: str, told: Told, file: str) -> tuple[str, dict[str, float | str]]:
    """Return the algorithm that a file is told to be of, and the values of its parameters.

    Raises:
        Error: None is told, or the collective has no such algorithm or parameter.
    """
    if told.algorithm is None:
        raise Error(f"{file}: does not name the algorithm, expected --algorithm")
    return program_of(collective, told.algorithm, told.parameters)


def program_of(collective: str, name: str, parameters: Iterable[tuple[str, str]]) -> tuple[str, dict[str, float | str]]:
    """Return the algorithm of a name, and the values of its parameters; of a library only its name.

    Raises:
        Error: The collective has no such algorithm or parameter.
    """
    if name == DEFAULT:
        return DEFAULT, {}
    library = library_named(name)
    if library is not None:
        return library, {}
    algorithm = find(f"{collective}/{name}")
    return algorithm.name, values_of(parameters, [algorithm])
