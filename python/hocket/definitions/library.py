"""Algorithms and how to find them: the catalogue of the compiled module, and algorithms written in Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from hocket import _native
from hocket._native import Error
from hocket.base import checks
from hocket.base.call import Call
from hocket.base.checks import unknown
from hocket.base.files import read_rows
from hocket.base.units import format_value, parse_bytes, parse_count
from hocket.typing import Program, Steps

AXES = ("X", "Y", "Z", "W", "V", "U")
"""Parameters of torus algorithms: the sizes along the axes, in order. Three-dimensional algorithms use the first three.
"""


AUTO = "auto"
"""The value of a parameter that asks for its automatic value."""

GAP = "gap"
"""The name and the unit of the parameter of paced algorithms; its value is a text."""


@dataclass(frozen=True)
class Collective:
    """Properties of a collective."""

    name: str
    mpi_names: tuple[str, ...]  # MPI's names in small letters, where they differ
    reduces: bool  # whether contributions are combined by an operator
    has_root: bool  # whether one rank, the root, has a special role
    has_neighbors: bool  # whether ranks communicate with their neighbours only
    has_size: bool  # whether a call has a message, and so a size
    # Whether all ranks know the size of every call; for neighbourhoods: whether all blocks have one size.
    size_is_known: bool
    # Whether the size of a call is the size of one block; otherwise it is the size of the whole vector.
    size_is_one_block: bool
    is_from_root: bool  # whether only the root contributes
    sends_blocks: bool  # whether a contribution has a block for each rank, whose size is the size of the call
    with_equal_blocks: str  # the name of the collective that does the same with blocks of one size


COLLECTIVES = {each["name"]: Collective(**each) for each in _native.collectives()}
"""The collectives by name, in the order of the compiled module, of `hocket.h` and of `hocket list`."""
_COLLECTIVE_OF = {name: one.name for one in COLLECTIVES.values() for name in (one.name, *one.mpi_names)}

REDUCTIONS = frozenset(name for name, one in COLLECTIVES.items() if one.reduces)
"""The collectives that combine elements."""

NATIVE_NAME = "native"
"""The name of an MPI's own choice, where an algorithm is expected."""

FLOAT_BYTES = 4
DOUBLE_BYTES = 8


def all_bytes(algorithm: Algorithm, ranks: int, size_bytes: int) -> int:
    """Return the bytes of the largest vector of a rank."""
    return size_bytes * (ranks if COLLECTIVES[algorithm.collective].size_is_one_block else 1)


def other_values(
    algorithm: Algorithm, values: Mapping[str, float | str], whole_bytes: int, *, fixed: Collection[str] = ()
) -> dict[str, int | str]:
    """Return values that differ from the defaults, in the order of the parameters.

    A size of pieces that cuts no message, as the default does not, is none of them unless it is fixed.
    """
    declared = {each.name: each for each in algorithm.parameters}

    def is_other(name: str, value: float | str) -> bool:
        default, unit = declared[name].default, declared[name].unit
        is_whole = unit == "bytes" and name not in fixed and min(int(value), int(default)) >= whole_bytes
        return str(value) != str(default) and not is_whole  # a gap is a text

    others = {name: values[name] for name in declared if name in values and is_other(name, values[name])}
    return {name: value if isinstance(value, str) else int(value) for name, value in others.items()}


def free_parameters(algorithm: Algorithm, parameters: Collection[str]) -> list[Parameter]:
    """Return the parameters of an algorithm whose values can be chosen, besides those that are set.

    The groups of an algorithm for the cards or the switch of a node are nodes.
    """
    names = [each.name for each in algorithm.parameters]
    fixed = ["group"] if "channels" in names or algorithm.topology == "switch" else []
    return [each for each in algorithm.parameters if each.is_choosable and each.name not in {*parameters, *fixed}]


def usual_element_bytes(collective: str | None, size_bytes: int) -> int:
    """Return the size of an element of a call that does not say it.

    Reductions are of floats, as in the OSU micro-benchmarks and nccl-tests. If these do not divide the message, an
    element has the largest of 2 and 1 bytes that does. All else is of bytes.
    """
    return math.gcd(size_bytes, FLOAT_BYTES) if collective in REDUCTIONS else 1


def format_elements(collective: str, sizes_bytes: Iterable[int]) -> str:
    """Return the sizes of elements as words after a comma; nothing where elements of a byte are combined by no rank."""
    sizes = sorted({*sizes_bytes})
    if not sizes or (sizes == [1] and collective not in REDUCTIONS):
        return ""
    return f", elements of {sizes[0]} B" if len(sizes) == 1 else f", elements of {sizes[0]} to {sizes[-1]} B"


def measured_element_bytes(collective: str) -> int:
    """Return the size of an element in measured calls: reductions are of doubles, and all else is of bytes."""
    return DOUBLE_BYTES if collective in REDUCTIONS else 1


def unit_bytes(collective: str, ranks: int) -> int:
    """Return the unit of measured sizes: a reduce_scatter has some elements for each rank."""
    return measured_element_bytes(collective) * (ranks if collective == "reduce_scatter" else 1)


COLLECTIVES_OF_KNOWN_SIZE = tuple(
    sorted(name for name, one in COLLECTIVES.items() if one.size_is_known and not one.has_neighbors)
)
"""The collectives whose ranks all know the size of a call and which need no neighbours, in alphabetical order."""

MEANINGS = {row["collective"]: row["meaning"] for row in read_rows(__file__, "collectives.csv")}
"""The final data of the ranks, by collective."""

Refuses = Callable[[Call], "str | None"]
"""A precondition: it returns the sentence to refuse a call with, or None."""


@dataclass(frozen=True)
class Parameter:
    """A parameter that an algorithm declares.

    Attributes:
        name: The name, as in `--param NAME=VALUE`.
        unit: The unit of its value; a value in bytes is written with a unit. A gap between packets may be a text such
            as "auto-2".
        default: The value used when none is given.
        least: The smallest value allowed.
        meaning: A description in one line.
        tries: Values that `verify` tries besides the default; it leaves out values that the algorithm refuses. None
            means the least value and the least value plus 2: with so few bytes, even small messages are cut into many
            pieces.
        choices: The words that are the values of a switch, whose unit is "choice"; only the catalogue has switches.
        counts: The numbers among which the value with the least time is chosen. Without them, the machine or the user
            gives a number, such as the sides of a torus.
    """

    name: str
    unit: Literal["count", "bytes", "gap", "choice"] = "count"
    default: int | str = 1
    least: int = 1
    meaning: str = ""
    tries: Sequence[int | str] | None = None
    choices: Sequence[str] = ()
    counts: Sequence[int] = ()

    def __post_init__(self) -> None:
        """Copy the values to try and the words."""
        if self.tries is not None:
            object.__setattr__(self, "tries", tuple(self.tries))
        object.__setattr__(self, "choices", tuple(self.choices))
        object.__setattr__(self, "counts", tuple(self.counts))

    @property
    def values_to_try(self) -> tuple[int | str, ...]:
        """The values that `verify` tries by default; the parameter's default comes first."""
        tries = (self.least, self.least + 2) if self.tries is None else self.tries
        return tuple(dict.fromkeys((self.default, *tries)))

    @property
    def is_choosable(self) -> bool:
        """Whether a value is chosen for the least time: of a size, a switch, or a parameter that counts ranks."""
        return self.unit in ("bytes", "choice") or bool(self.counts)

    def values_on(self, ranks: int) -> Sequence[int | str]:
        """Return the values to try for the least time: of a switch, or of a parameter that counts ranks; else none."""
        counts = [count for count in self.counts if self.least <= count <= ranks]
        return self.values_to_try if self.unit == "choice" else counts

    def format(self, value: int | str) -> str:
        """Return the parameter with a value: "segment = 64 KiB"."""
        return f"{self.name} = {format_value(value, self.unit)}"


@dataclass(frozen=True)
class Algorithm:
    """An algorithm for one collective.

    Attributes:
        collective: The collective it implements.
        name: Its name, unique within the collective.
        summary: The first line of its header.
        header: Description, source, needs, counts and a picture.
        listing: The text of the program.
        cost: Time in the Hockney model, as a formula over P, n, alpha, beta, gamma and the parameters.
        messages: Number of messages of all ranks together, as a formula over the same names.
        parameters: Its parameters.
        order: For a reduction whose elements are all combined in the same order, whatever the size: the name of the
            order. Algorithms of a collective with the same name give the same bits.
        topology: The topology for which it is made, such as "torus", "switch", "cards" or "nodes": on other machines,
            comparisons include it only if it is named.
        program: The generator function of an algorithm written in Python.
        refuses: The precondition of an algorithm written in Python; algorithms of the catalogue have theirs in Rust.
        file: The Python file that defines it, if it was loaded from a file.
    """

    collective: str
    name: str
    summary: str = ""
    header: str = ""
    listing: str = ""
    cost: str | None = None
    messages: str | None = None
    parameters: tuple[Parameter, ...] = ()
    order: str | None = None
    topology: str | None = None
    program: Program | None = None
    refuses: Refuses | None = None
    file: str | None = None

    @property
    def label(self) -> str:
        """The collective and the name, as in "allreduce/ring"."""
        return f"{self.collective}/{self.name}"

    def format(self, parameters: Mapping[str, int | str]) -> str:
        """Return values of its parameters as text: "segment = 64 KiB, fanout = 4".

        Of a torus, further axes with a single rank are left out: a 4 x 4 torus is "X = 4, Y = 4".
        """
        flat = {name for name in AXES[1:] if self.topology == "torus" and parameters.get(name) == 1}
        others = (p for p in self.parameters if p.name in parameters and p.name not in flat)
        return ", ".join(p.format(parameters[p.name]) for p in others)

    def __call__(self, r: Any, c: Any) -> Steps:
        """Return the steps of rank `r` in call `c`, for use in another program written in Python."""
        if self.program is None:
            raise TypeError(f"{self.label} is not written in Python")
        return self.program(r, c)


@cache
def catalogue() -> tuple[Algorithm, ...]:
    """Return every algorithm of the catalogue, in its order."""
    entries = _native.catalogue()
    parameters = [tuple(Parameter(**each) for each in entry.pop("parameters")) for entry in entries]
    return tuple(Algorithm(parameters=own, **entry) for own, entry in zip(parameters, entries, strict=True))


@cache
def _of_catalogue(collective: str) -> tuple[Algorithm, ...]:
    return tuple(a for a in catalogue() if a.collective == collective)


def algorithms(collective: str, *, among: Iterable[Algorithm] | None = None) -> tuple[Algorithm, ...]:
    """Return the algorithms for a collective, from `among` or the catalogue.

    Raises:
        Error: There is no such collective; the message names the nearest ones.
    """
    its_collective = find_collective(collective)
    if among is None:
        return _of_catalogue(its_collective)
    return tuple(a for a in _or_catalogue(among) if a.collective == its_collective)


def find(label: str, *, among: Iterable[Algorithm] | None = None) -> Algorithm:
    """Return the algorithm of a label such as "allreduce/ring", or of a name that only one collective uses.

    Raises:
        Error: There is no such algorithm, or several; the message names the nearest ones.
    """
    label = checks.instance("algorithm", label, str, 'a label such as "allreduce/ring"')
    collective, slash, name = label.rpartition("/")
    if slash:
        return _only(name, algorithms(collective, among=among), f"{collective} algorithm")
    if is_collective(name):
        names = ", ".join(a.name for a in algorithms(name, among=among))
        raise Error(f"{name} is a collective, expected also one of its algorithms: {names}")
    return _only(name, tuple(_or_catalogue(among)), "algorithm", tuple(COLLECTIVES))


def algorithms_named(
    collective: str, names: Iterable[str], *, among: Iterable[Algorithm] | None = None
) -> tuple[Algorithm, ...]:
    """Return the named algorithms for a collective, or all if there are no names; an Error names the nearest ones."""
    candidates = algorithms(collective, among=among)
    matches = tuple(_only(name, candidates, f"{collective} algorithm") for name in dict.fromkeys(names))
    return matches or candidates


def as_algorithm(algorithm: Algorithm | str) -> Algorithm:
    """Return an algorithm; a label is looked up in the catalogue, and all else is refused."""
    if isinstance(algorithm, Algorithm):
        return algorithm
    return find(checks.instance("algorithm", algorithm, str, 'an algorithm or a label such as "allreduce/ring"'))


def find_collective(name: str) -> str:
    """Return the collective of a name, Hocket's or MPI's such as "bcast"; an Error names the nearest ones."""
    if not is_collective(name):
        raise unknown("collective", name, COLLECTIVES)
    return _COLLECTIVE_OF[name]


def is_collective(name: str) -> bool:
    """Return whether a name is the name of a collective, as in `find_collective`."""
    return checks.text("collective", name) in _COLLECTIVE_OF


def _or_catalogue(among: Iterable[Algorithm] | None) -> Iterable[Algorithm]:
    return catalogue() if among is None else checks.several("among", among, Algorithm, "algorithms")


def _only(name: str, candidates: Sequence[Algorithm], what: str, more: Sequence[str] = ()) -> Algorithm:
    matches = [a for a in candidates if a.name == name]
    if not matches:
        raise unknown(what, name, [*sorted({a.name for a in candidates}), *more])
    if len(matches) > 1:
        raise Error(f"several algorithms are named {name}, expected one of {', '.join(a.label for a in matches)}")
    return matches[0]


def parse_parameter(text: str) -> tuple[str, str]:
    """Return the name and the text of the value of `NAME=VALUE`, or refuse the text."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise Error(f'got "{text}", expected NAME=VALUE')
    return name, value


def values_of(parameters: Iterable[tuple[str, str]], algorithms: Iterable[Algorithm]) -> dict[str, float | str]:
    """Return the values of parameters, each given once; the algorithm that declares one gives the unit of its value."""
    units = {parameter.name: parameter.unit for algorithm in algorithms for parameter in algorithm.parameters}
    parameters = list(parameters)
    for number, (name, _) in enumerate(parameters):
        if name in dict(parameters[:number]):
            raise Error(f"--param: got {name} twice, expected each parameter once")
    return {name: _value(name, text, units) for name, text in parameters}


def _value(name: str, text: str, units: Mapping[str, str]) -> int | str:
    if name not in units:
        raise unknown("parameter", name, sorted(units))
    if text == AUTO or units[name] in (GAP, "choice"):
        return text
    with checks.within(f"parameter {name}"):
        return parse_bytes(text) if units[name] == "bytes" else parse_count(text)
