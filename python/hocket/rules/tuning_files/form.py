"""Tuning rules in the one form that all formats are read into and written from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath

from hocket._native import Error
from hocket.base.units import format_choice


@dataclass(frozen=True)
class Place:
    """A line of a file, counted from 1."""

    file: str
    line: int

    def error(self, message: str) -> Error:
        """Return an error that names the line."""
        return Error(f"{self.file}:{self.line}: {message}")


@dataclass(frozen=True)
class Span:
    """Whole numbers from the first to the last, both among them; without a last one they have no end."""

    first: int = 0
    last: int | None = None

    def __contains__(self, value: int) -> bool:
        return self.first <= value and (self.last is None or value <= self.last)

    def __str__(self) -> str:
        if self.last is None:
            return f"{self.first}.." if self.first else "any"
        return str(self.first) if self.is_single else f"{self.first}..{self.last}"

    @property
    def is_empty(self) -> bool:
        """Whether no number is in it."""
        return self.last is not None and self.last < self.first

    @property
    def is_single(self) -> bool:
        """Whether exactly one number is in it."""
        return self.first == self.last

    def has(self, other: Span) -> bool:
        """Return whether all numbers of another range are in it."""
        return self.within(other) == other

    def within(self, other: Span) -> Span:
        """Return the numbers that are in both."""
        lasts = [last for last in (self.last, other.last) if last is not None]
        return Span(max(self.first, other.first), min(lasts, default=None))


ANY, NOTHING = Span(), Span(1, 0)


@dataclass(frozen=True)
class Choice:
    """An algorithm in the words of its library, with values of parameters in these words."""

    algorithm: str
    parameters: tuple[tuple[str, int | str], ...] = ()  # names and values, in the order in which they are written

    def __str__(self) -> str:
        return format_choice(self.algorithm, self.parameters, ", ")


@dataclass(frozen=True)
class Rule:
    """What calls of a function get."""

    function: str  # the MPI function in small letters: "bcast", "reduce_scatter_block", "iallreduce"
    choice: Choice | None  # the algorithm, or none where the library decides as if there were no rule
    ranks: Span = ANY  # for how many ranks of the communicator
    # Whether only for a power of two of ranks, only for other numbers, or for all (none).
    power_of_two: bool | None = None
    sizes: Span = ANY  # for which sizes, in bytes
    measure: str = "size"  # what these sizes count, as `measured` explains
    placement: str = "any"  # how the ranks lie on nodes: "any", "one-per-node" or "single-node"
    nodes: Span = ANY  # for how many nodes
    ranks_per_node: Span = ANY  # for how many ranks on each node
    # Anything else that a format asks for, as names and values: ("is_commutative", "yes").
    conditions: tuple[tuple[str, str], ...] = ()
    # The line that it was read from, counted from 1; 0 for a rule that was made.
    line: int = field(default=0, compare=False)
    # For which calls it is written, in words, if the library takes it for others.
    meant_calls: str = field(default="", compare=False)

    def drop_condition(self, name: str) -> Rule:
        """Return the rule for any value of a condition."""
        return replace(self, conditions=tuple(pair for pair in self.conditions if pair[0] != name))


@dataclass(frozen=True)
class Rules:
    """Rules in the order in which they are tried: the first one decides that fits a call."""

    library: str  # whose algorithms they name, with the version: "hocket", "openmpi-5.0", "mpich-5.0"
    rules: tuple[Rule, ...]
    order_is_fixed: bool = False  # whether sums must not depend on the size; only Hocket's rules can demand this

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions that rules name, in the order of their first ones."""
        return tuple(dict.fromkeys(rule.function for rule in self.rules))

    @property
    def chooses(self) -> bool:
        """Whether some rule names an algorithm."""
        return any(rule.choice is not None for rule in self.rules)

    def of(self, function: str) -> tuple[Rule, ...]:
        """Return the rules of a function."""
        return self._of_functions.get(function, ())

    @cached_property
    def _of_functions(self) -> Mapping[str, tuple[Rule, ...]]:
        return {
            function: tuple(rule for rule in self.rules if rule.function == function) for function in self.functions
        }


@dataclass(frozen=True)
class Situation:
    """A call as rules see it."""

    function: str  # the MPI function in small letters
    ranks: int  # how many ranks the communicator has
    size_bytes: int  # the message of the call, as everywhere in Hocket
    # How its ranks lie on nodes, "one-per-node" or "single-node", or "any" where they lie in neither way.
    placement: str = "one-per-node"
    ranks_per_node: int = 1  # how many ranks are on each node, except perhaps the last
    element_bytes: int = 1
    conditions: Mapping[str, str] = field(default_factory=dict)  # what else is so, by the names of conditions
    # How many ranks each node has, where that is known; `ranks_per_node` is then the largest number.
    on_nodes: tuple[int, ...] = ()

    @property
    def elements(self) -> int:
        """How many elements the message has."""
        return self.size_bytes // self.element_bytes

    @property
    def is_even(self) -> bool:
        """Whether all nodes have the same number of ranks."""
        return len({*self.on_nodes}) < 2 if self.on_nodes else self.ranks % self.ranks_per_node == 0

    @property
    def nodes(self) -> int:
        """On how many nodes the ranks are."""
        return len(self.on_nodes) or -(-self.ranks // self.ranks_per_node)


@dataclass(frozen=True)
class Format:
    """A format, with the version of what reads it."""

    name: str  # as in `--from` and `--to`
    library: str  # whose algorithms it names
    read: Callable[[str, str], Rules]  # makes rules of a text; the other argument names the file in errors
    write: Callable[[Rules], str]  # makes the text of rules
    names: tuple[str, ...] = ()  # patterns of file names that mean this format
    # Parameters of the library that make it take a file, with their values; FILE stands for the file.
    settings: tuple[tuple[str, str], ...] = ()
    command: str = ""  # the command of a shell that makes it take a file, if it takes none by parameters
    # The format of a second file, without which the library does not ask the first one for some calls. Its text is
    # empty if there are none. The last part of its name becomes a part of the file's name.
    companion: Format | None = None

    def paths(self, file: str) -> dict[str, Format]:
        """Return the formats of a file and of the second one beside it, by their paths."""
        path, kind = PurePath(file), "" if self.companion is None else self.companion.name.rpartition(".")[2]
        second = str(path.with_name(f"{path.stem}.{kind}{path.suffix}"))
        return {file: self, **({second: self.companion} if self.companion else {})}


def measured(measure: str, size_bytes: int, ranks: int, element_bytes: int = 1) -> int:
    """Return what the size of a call is in a measure, in bytes.

    Measures are "size", as everywhere in Hocket; "total", that times the number of ranks; "share", that divided by the
    number of ranks; "type", the size of the data type times the number of ranks, whatever the count; and "nothing", so
    that every call counts as 0.
    """
    values_by_measure = {
        "size": size_bytes,
        "total": size_bytes * ranks,
        "share": size_bytes // ranks,
        "type": element_bytes * ranks,
        "nothing": 0,
    }
    return values_by_measure[measure]


def quote_text(text: str) -> str:
    """Return a text of a file as an error shows it: in quotes, on one line, and not too long."""
    return json.dumps(text[:60], ensure_ascii=False) if text.isprintable() else json.dumps(text[:60])
