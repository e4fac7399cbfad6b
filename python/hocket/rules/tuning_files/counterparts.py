"""Libraries (`libraries.csv`), and which of their algorithms is which of Hocket's (`counterparts.csv`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hocket.base.checks import unknown
from hocket.base.files import read_rows
from hocket.base.units import parse_choice
from hocket.rules.tuning_files.form import Choice

WHOLE_BYTES = 1 << 40
"""Hocket's size of a segment that is the whole message: 1 TiB; libraries write 0."""


@dataclass(frozen=True)
class Short:
    """What a library runs in place of an algorithm if the vector has too few elements."""

    name: str  # the algorithm that it runs
    condition: str = "count<ranks"  # when the vector has too few, one of `fewest_elements`

    def is_for(self, elements: int, ranks: int) -> bool:
        """Return whether a vector has too few elements."""
        return elements < fewest_elements(ranks)[self.condition]

    def __str__(self) -> str:
        return f"with fewer elements than {LIMITS[self.condition]}"


LIMITS = {"count<ranks": "ranks", "count<pow2": "the largest power of two of ranks"}
"""The conditions on few elements, and what there are fewer than."""


def fewest_elements(ranks: int) -> Mapping[str, int]:
    """Return the numbers of elements below which libraries may take another algorithm, by conditions of rules."""
    return {"count<ranks": ranks, "count<pow2": 1 << max(ranks.bit_length() - 1, 0)}


@dataclass(frozen=True)
class Counterpart:
    """An algorithm of a library."""

    name: str  # in the library's words
    number: int | None = None  # the number that Open MPI or Intel MPI has for it
    hocket: str | None = None  # the algorithm of Hocket that does the same; none if there is none
    fixed: Mapping[str, int | str] = field(default_factory=dict)  # parameters of Hocket's algorithm with which it does
    own: Mapping[str, int | str] = field(default_factory=dict)  # parameters of the library's with which it does
    # The library's parameters that are parameters of Hocket's, and their names there.
    parameter_names: Mapping[str, str] = field(default_factory=dict)
    what: str = ""  # what it is, where Hocket has none such
    # The algorithm of Hocket that does the same with several channels; none if `hocket` does.
    in_channels: str | None = None
    needs: tuple[tuple[str, str], ...] = ()  # the conditions that the library does not check by itself
    needs_power_of_two: bool = False  # whether it is for a power of two of ranks only
    # What the library runs in its place for too few elements; none if it always runs the algorithm itself.
    short: Short | None = None
    ranks: int | None = None  # the only number of ranks that it takes, if there is one
    asks: tuple[str, ...] = ()  # other parameters that the library has to be given
    own_segments: bool = False  # whether the library chooses the size of segments by itself
    # Another algorithm of Hocket, with its parameters, that is nearly the same: rules for it become rules for this one.
    similar: tuple[str, Mapping[str, int | str]] | None = None
    protocols: tuple[str, ...] = ()  # NCCL's protocols with which it runs
    fewest_nodes: int = 1  # the least number of nodes that it takes
    fewest_per_node: int = 1  # the least number of ranks on each node
    is_lone: bool = False  # whether it takes only one rank on each node
    # The number of nodes from which on it needs a plugin of the network; none if it needs none.
    plugin_nodes: int | None = None

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms of Hocket that do the same: with one channel, and with several."""
        return tuple(name for name in (self.hocket, self.in_channels) if name is not None)

    def names_in(self, ours: str) -> Mapping[str, str]:
        """Return the library's parameters that one of these algorithms has, and their names there."""
        return {**self.parameter_names, **({"channels": "channels"} if ours == self.in_channels else {})}

    def takes(self, ranks: int) -> bool:
        """Return whether it takes calls on a number of ranks."""
        return self.ranks in (None, ranks) and not (self.needs_power_of_two and ranks & (ranks - 1))


@dataclass(frozen=True)
class Library:
    """What a version of a library has."""

    name: str  # with the version: "openmpi-5.0"
    algorithms: Mapping[str, tuple[Counterpart, ...]]  # those of each function, in the library's order
    measures: Mapping[str, str]  # what sizes count for each function
    kin: str = ""  # libraries of one kin have the same names or numbers of algorithms
    most_channels: int | None = None  # how many channels it opens at most, if it has any
    # The library whose algorithms its `tuned` stands for, whichever of them; empty if it has no such choice.
    flat: str = ""

    def find(self, function: str, name: str) -> Counterpart | None:
        """Return an algorithm by its name or, as text, its number."""
        candidates = self.algorithms.get(function, ())
        return next((each for each in candidates if name in (each.name, str(each.number))), None)

    def choice(self, function: str, number: str, parameters: tuple[tuple[str, int | str], ...] = ()) -> Choice:
        """Return the algorithm of a number or name, which stays as it is if no algorithm has it."""
        own = self.find(function, number)
        return Choice(own.name if own else number, parameters)


FUNCTIONS_OF: Mapping[str, tuple[str, ...]] = {
    "allgather": ("allgather", "allgatherv"),
    "broadcast": ("bcast",),
    "reduce_scatter": ("reduce_scatter", "reduce_scatter_block"),
}
"""The functions that Hocket's rules for a collective are for, where it is not the one of its name; the first stands for
the collective where rules are turned into Hocket's."""

ALGORITHMS = ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat")
"""The algorithms of NCCL in its order: of two with equal times, the first one runs."""

PROTOCOLS = ("ll", "ll128", "simple")
"""The protocols of NCCL: with flags in every 8 bytes, in every 128 bytes, or without flags in the data."""

NCCL = "nccl"
"""The kin of libraries that pass over a line whose algorithm they do not have, or not with its protocol."""

_ROWS = read_rows(__file__, "counterparts.csv")
_MEASURES = ("size", "total", "share", "nothing", "type")


def _algorithms(library: str) -> Mapping[str, tuple[Counterpart, ...]]:
    """Return the algorithms of a library by function, in the order of their rows."""
    kin, _, version = library.partition("-")
    names = {library} if "-" in version else {library, kin}
    rows = [row for row in _ROWS if names & {*row["libraries"].split()}]
    functions = sorted({function for row in rows for function in row["functions"].split()})
    return {
        function: tuple(_counterpart(row, function) for row in rows if function in row["functions"].split())
        for function in functions
    }


def _counterpart(row: Mapping[str, str], function: str) -> Counterpart:
    (name, own), (hocket, parameters), (similar, values_of_similar) = (
        parse_choice(row[column]) for column in ("algorithm", "hocket", "similar")
    )
    names = {str(value)[1:-1]: key for key, value in parameters.items() if str(value).startswith("<")}
    return Counterpart(
        name.format(function.capitalize()),
        int(row["number"]) if row["number"] else None,
        hocket or None,
        fixed={key: value for key, value in parameters.items() if key not in names.values()},
        own=own,
        parameter_names=names,
        what=row["what"],
        similar=(similar, values_of_similar) if similar else None,
        **dict(_terms(row["terms"])),
    )


def _terms(text: str) -> Iterator[tuple[str, Any]]:
    for name, *words in map(str.split, text.split(";") if text else ()):
        if name == "short":
            yield name, Short(*words)
        elif name in ("asks", "protocols"):
            yield name, tuple(words)
        elif name == "needs":
            yield name, tuple((key, value) for key, _, value in (word.partition("=") for word in words))
        elif name == "in_channels":
            yield name, words[0]
        else:
            yield name, int(words[0]) if words else True


def _library(row: Mapping[str, str]) -> Library:
    measures = {function: each for each in _MEASURES for function in row[each].split()}
    most_channels = int(row["channels"]) if row["channels"] else None
    return Library(row["library"], _algorithms(row["library"]), measures, row["kin"], most_channels, row["flat"])


LIBRARIES: Mapping[str, Library] = {row["library"]: _library(row) for row in read_rows(__file__, "libraries.csv")}
"""The libraries by name; Hocket itself is none of them."""


def library_of(name: str) -> Library:
    """Return a library by its name, which needs no version where one version alone is known; refuse none, or several.

    A library whose choices only hand calls on is none.
    """
    names = [each for each in LIBRARIES if not LIBRARIES[each].flat]
    of_kind = [each for each in names if name in (each, each.split("-")[0])]
    if len(of_kind) != 1:
        raise unknown("library", name, of_kind or names)
    return LIBRARIES[of_kind[0]]


@cache
def programs_of(library: str, collective: str) -> frozenset[str]:
    """Return the algorithms of the catalogue that a library has."""
    counterparts = tuple(counterparts_of([library], collective))
    alike = (each.similar[0] for each in counterparts if each.similar is not None)
    return frozenset((*(name for each in counterparts for name in each.algorithms), *alike))


def programs_of_libraries(collective: str) -> frozenset[str]:
    """Return the algorithms of the catalogue that some library has."""
    return frozenset().union(*(programs_of(library, collective) for library in LIBRARIES))


def counterparts_of(libraries: Iterable[str], collective: str) -> Iterator[Counterpart]:
    """Give the counterparts of all algorithms of libraries for a collective."""
    for library in libraries:
        for function in FUNCTIONS_OF.get(collective, (collective,)):
            yield from LIBRARIES[library].algorithms.get(function, ())
