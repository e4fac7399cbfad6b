"""Measured times of collectives, and what the reader of a format is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias, get_args

from hocket._native import Error
from hocket.base import checks
from hocket.base.call import Call, MeasuredAs
from hocket.base.checks import among
from hocket.base.units import format_choice
from hocket.definitions.libraries import library_named
from hocket.definitions.library import REDUCTIONS, find, values_of
from hocket.definitions.machine import shape_of_job
from hocket.measurements.consistency import Table

DEFAULT = "default"  # the algorithm of a measurement whose library chose it by itself

MOST_NAME_LETTERS = 100  # how many letters of a name in JSON are read

_WAYS = get_args(MeasuredAs)
_FLOAT_BYTES = 4
_MOST_DIGITS = 15
_SHORTEST_S, _LONGEST_S = 1e-12, 365.25 * 86400
_TIMES = "of at least 1 ps and at most a year"

SpreadOf: TypeAlias = Literal["iterations", "ranks", "interval"]
"""What differs between the ends of a spread: the iterations of a run, the ranks of a call, or nothing: the ends are
those of a confidence interval."""


@dataclass(frozen=True)
class Spread:
    """How far apart times are that a benchmark gives as one.

    Attributes:
        low_s: Of iterations, the time that 10 % of them do not exceed, or their median where that is not printed; of
            ranks, the shortest time; of an interval, its lower end.
        high_s: Of iterations, the time that 90 % of them do not exceed; of ranks, the longest time; of an interval, its
            upper end.
        what: What differs. An interval is the 95 % confidence interval of the time.
        iterations: How many iterations there were, where that is known.
    """

    low_s: float
    high_s: float
    what: SpreadOf
    iterations: int | None = None

    def __post_init__(self) -> None:
        among("what", self.what, get_args(SpreadOf))
        expected = "seconds of at least 0, the shorter time first"
        checks.number("low_s", self.low_s, expected, is_right=lambda low_s: 0 <= low_s < inf)
        checks.number("high_s", self.high_s, expected, is_right=lambda high_s: self.low_s <= high_s < inf)
        if self.iterations is not None and checks.whole("iterations", self.iterations) == 0:
            raise Error("iterations: got 0, expected at least 1")


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The measured time of one call of a collective.

    Attributes:
        collective: The collective.
        algorithm: The algorithm of the catalogue that ran; "default" where the library chose by itself. The name of a
            library, such as "openmpi-5.0", stands for the algorithm that this library chooses for the call.
        ranks: Number of ranks.
        size_bytes: The size of the call, as `hocket.Call` counts it.
        time_s: How long the call took: at least 1 ps and at most a year.
        measured_as: How the benchmark measured the time, see `hocket.simulate`.
        parameters: Values of the algorithm's parameters; those left out have their defaults.
        element_bytes: Size of an element.
        dims: The shape of the job on a torus, where that is known.
        layout: How the job lies on the torus, such as "16x4, 16x4", where that is known.
        ranks_per_node: Ranks on a node, where that is known.
        in_place: Whether the input was in the result buffer.
        system: The machine, where the file names several.
        library: The library that ran, with its version, where the file names it.
        buffers: The memory of the buffers, such as "host" or "cuda", where the file names it.
        source: The file and the line.
        spread: How far apart the times are of which it is one, where the file names it.
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
    layout: str = ""
    system: str = ""
    library: str = ""
    buffers: str = ""
    source: str = ""
    spread: Spread | None = None

    def __post_init__(self) -> None:
        among("measured_as", self.measured_as, _WAYS)
        for name in ("collective", "algorithm", "layout", "system", "library", "buffers", "source"):
            checks.text(name, getattr(self, name))
        checks.number("time_s", self.time_s, f"seconds above 0, {_TIMES}", is_right=_can_be_measured)
        checks.mapping("parameters", self.parameters)
        counts = [("ranks", self.ranks), ("element_bytes", self.element_bytes)]
        counts += [("ranks_per_node", self.ranks_per_node)] if self.ranks_per_node is not None else []
        if self.dims is not None:
            object.__setattr__(self, "dims", checks.several("dims", self.dims, object, "whole numbers"))
            counts += [("dims", size) for size in self.dims]
        for name, count in counts:
            if checks.whole(name, count) == 0:
                raise Error(f"{name}: got 0, expected at least 1")
        if self.layout:
            shape_of_job(self.layout)
        checks.whole("size_bytes", self.size_bytes)
        checks.truth("in_place", self.in_place)
        if self.spread is not None:
            checks.instance("spread", self.spread, Spread, "hocket.Spread, or None")

    @property
    def label(self) -> str:
        """The algorithm and the values of its parameters: "trinaryx3 segment=4096"."""
        return format_choice(self.algorithm, sorted(self.parameters.items())) if self.parameters else self.algorithm

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
class Facts:
    """What is told of files that do not say it themselves."""

    algorithm: str | None = None
    ranks: int | None = None
    parameters: tuple[tuple[str, str], ...] = ()  # names and texts
    measured_as: MeasuredAs = "isolated"  # how the times of a plain CSV were measured
    collective: str | None = None
    ranks_per_node: int | None = None


class NoRanksError(Error):
    """A file does not tell the number of ranks."""

    def __init__(self, file: str) -> None:
        super().__init__(f"{file}: does not contain the number of ranks, expected --ranks")


@dataclass(frozen=True)
class Reading:
    """What a file has."""

    measurements: tuple[Measurement, ...]  # what Hocket can simulate, and the choices of libraries
    unknown: tuple[Measurement, ...] = ()  # what has no counterpart in Hocket, by the names of the file
    cuts: tuple[str, ...] = ()  # sentences on the rows that are left out because they lack their end
    remarks: tuple[str, ...] = ()  # sentences on what follows from the rows where the file does not tell it

    @classmethod
    def of(cls, ones: Iterable[tuple[Measurement, bool]], *sentences: Iterable[str]) -> Reading:
        """Return what a file has, given each measurement with whether it has a counterpart; then cuts and remarks."""
        lists: dict[bool, list[Measurement]] = {True: [], False: []}
        for one, is_known in ones:
            lists[is_known].append(one)
        return cls(tuple(lists[True]), tuple(lists[False]), *map(tuple, sentences))


Mark: TypeAlias = "Callable[[str], int | None]"
"""Returns where the text of a format begins in a line; None if the line has no such text."""

MOST_MARGIN_LETTERS = 200  # how many letters may stand before the text of a format in a line

_MOST_TITLE_LETTERS = 10 * MOST_MARGIN_LETTERS


class Format(NamedTuple):
    """A format of measurements."""

    name: str
    what: str  # what writes it
    title: Mark  # finds the first line of a table or file
    read: Callable[[str, str, Facts], Reading]  # from the text, the name of its file, and what is told besides
    row: Mark | None = None  # finds a row whose sizes rise, most often to twice the one before
    is_known_by_rows: bool = False  # without a title
    needs: tuple[str, ...] = ()  # what a text must have besides
    digits: int = 0  # how many digits after the point the last number of a row has, if no other row tells
    # The line of each row that lacks its end, and what it lacks, in formats without `row`.
    cuts: Callable[[str], Iterable[tuple[int, str]]] = lambda _: ()
    tables: Callable[[str], Iterable[Table]] = lambda _: ()  # their columns must not contradict each other

    def recognises(self, text: str) -> bool:
        """Return whether a text is of this format."""
        marks = (self.title, self.row) if self.is_known_by_rows and self.row is not None else (self.title,)
        if not all(each in text for each in self.needs):
            return False
        lines = text.split("\n")
        return any(mark(line) is not None for mark in marks for line in lines)


def add_size(sizes: list[int], size_bytes: int, where: tuple[str, int]) -> None:
    """Add the size of a row to those of its table, which rise, or begin again where it is repeated; refuse another."""
    if sizes and sizes[0] < size_bytes <= sizes[-1]:
        raise at(*where, f"got the size {size_bytes} after {sizes[-1]}, expected rising sizes of a single output")
    sizes.append(size_bytes)


def matching(pattern: str, word: str = "") -> Mark:
    """Return what finds a pattern in a line, behind a margin of any text. All lines that match have the word."""
    expression = re.compile(pattern)

    def mark(line: str) -> int | None:
        if word not in line:
            return None
        match = expression.search(line[:_MOST_TITLE_LETTERS])
        return None if match is None or match.start() > MOST_MARGIN_LETTERS else match.start()

    return mark


_TYPE_BYTES: Mapping[str, int] = {
    **dict.fromkeys(("byte", "char", "int8", "uint8", "int8_t", "uint8_t"), 1),
    **dict.fromkeys(("f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16", "float16", "bf16", "fp16", "int16_t"), 2),
    **dict.fromkeys(("float", "float32", "fp32", "int", "int32", "uint32", "int32_t", "uint32_t"), 4),
    **dict.fromkeys(("double", "float64", "fp64", "int64", "uint64", "int64_t", "uint64_t"), 8),
}

NCCL_NAMES: Mapping[str, str] = MappingProxyType({"all_gather": "allgather", "all_reduce": "allreduce"})
"""Collectives by their names in nccl-tests, where those differ."""

NCCL_OF_BLOCKS = frozenset({"allgather", "reduce_scatter", "alltoall", "gather", "scatter"})
"""Collectives whose count in nccl-tests is that of a block: their size is that of as many blocks as there are ranks."""

NCCL_BUS_SHARES: Mapping[str, int] = MappingProxyType({"allreduce": 2, **dict.fromkeys(NCCL_OF_BLOCKS, 1)})
"""The bandwidth of the bus is this, times (ranks - 1) / ranks, times the bandwidth of the algorithm."""


def bus_share(collective: str, ranks: int) -> float | None:
    """Return the bandwidth of the bus, divided by that of the algorithm; None if nccl-tests do not define it."""
    if collective in NCCL_BUS_SHARES:
        return NCCL_BUS_SHARES[collective] * (ranks - 1) / ranks
    return 1.0 if collective in ("broadcast", "reduce") else None


def type_bytes(name: str) -> int | None:
    """Return the size of an element of a type of MPI, NCCL, C or Python; None if it is unknown."""
    return _TYPE_BYTES.get(name.lower().removeprefix("mpi_").removeprefix("nccl"))


def floats(collective: str) -> int:
    """Return the size of an element where reductions are of floats, and all else is of bytes."""
    return _FLOAT_BYTES if collective in REDUCTIONS else 1


def at(file: str, line: int, sentence: str) -> Error:
    """Return what is wrong with a line of a file."""
    return Error(f"{file}:{line}: {sentence}")


def count(text: str, what: str, where: tuple[str, int]) -> int:
    """Return a whole number of at least 1, or refuse the text."""
    if not (text.isdecimal() and len(text) <= _MOST_DIGITS and int(text)):
        raise at(*where, f'{what}: got "{text:.60}", expected a whole number of at least 1')
    return int(text)


def positive(text: str, what: str, where: tuple[str, int]) -> float:
    """Return a number above zero, or refuse the text."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < inf:
        raise at(*where, f'{what}: got "{text:.60}", expected a number above zero')
    return value


def seconds(text: str, what: str, where: tuple[str, int], unit_s: float) -> float:
    """Return the seconds of a time that is given in a unit; refuse a text that is none, or no time of a call."""
    time_s = positive(text, what, where) * unit_s
    if not _can_be_measured(time_s):
        raise at(*where, f'{what}: got "{text:.60}", which is {time_s:.3g} s, expected a time {_TIMES}')
    return time_s


def _can_be_measured(time_s: float) -> bool:
    return _SHORTEST_S <= time_s <= _LONGEST_S


def spread_of(
    low: object, high: object, what: SpreadOf, iterations: object = None, *, unit_s: float = 1.0
) -> Spread | None:
    """Return the spread between two times that a file has in a unit, the shorter first; None if they are not such."""
    if low is None or high is None:
        return None
    try:
        low_s, high_s = (float(str(value)) * unit_s for value in (low, high))
        text = str(iterations)
        return Spread(low_s, high_s, what, int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None)
    except (Error, ValueError):
        return None


@lru_cache(maxsize=64)
def call_of(collective: str, facts: Facts, file: str) -> tuple[str, dict[str, float | str]]:
    """Return the algorithm that a file is told to be of, with its parameters, or a library; refuse unknown ones."""
    if facts.algorithm is None:
        raise Error(f"{file}: does not name the algorithm, expected --algorithm")
    library = DEFAULT if facts.algorithm == DEFAULT else library_named(facts.algorithm)
    if library is not None:
        return library, {}
    algorithm = find(f"{collective}/{facts.algorithm}")
    return algorithm.name, values_of(facts.parameters, [algorithm])
