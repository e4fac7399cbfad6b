"""What a library runs for a call where no file says anything."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hocket._native import Error
from hocket.base.call import Call
from hocket.definitions.library import Algorithm
from hocket.rules.choosing import choose
from hocket.rules.tuning_files.counterparts import fewest_elements
from hocket.rules.tuning_files.deciding import decided, situation
from hocket.rules.tuning_files.decisions import FLAT, default_rules
from hocket.rules.tuning_files.grid import size_starts
from hocket.rules.tuning_files.hocket_rules import of_function
from hocket.rules.tuning_files.translation import performed, to_hocket


@dataclass(frozen=True)
class Untuned:
    """The decision of a library for a call.

    Attributes:
        choice: Its algorithm as its rules call it, and before it the one that it runs in its place, as in "linear for
            rabenseifner"; none if they leave the call open.
        found: Hocket's algorithm that does the same, and the call as that takes it; none if there is none.
        sentence: Why there is none.
    """

    choice: str | None
    found: tuple[Algorithm, Call] | None
    sentence: str = ""


def switches(library: str, collective: str, call: Call) -> tuple[int, ...]:
    """Return the sizes, in bytes, from which on a library of `DEFAULTS` runs another algorithm, one rank per node.

    Args:
        library: The library.
        collective: The collective.
        call: Calls like this one; its size does not matter.
    """
    rules = [rule for rule in default_rules(library).of(of_function(collective)) if call.ranks in rule.ranks]
    few = [elements * call.element_bytes for elements in fewest_elements(call.ranks).values()]
    sizes = sorted({*size_starts(rules, call.ranks, "size"), *few} - {0})

    def runs(size_bytes: int) -> str | None:
        return untuned(library, collective, replace(call, size_bytes=size_bytes)).choice

    unit = call.element_bytes
    return tuple(first for first in (-(-size // unit) * unit for size in sizes) if runs(first - unit) != runs(first))


def untuned(library: str, collective: str, call: Call, *, ranks_per_node: int = 1) -> Untuned:
    """Return what a library of `DEFAULTS` runs for a call.

    Args:
        library: The library.
        collective: The collective.
        call: The call.
        ranks_per_node: Ranks on a node.

    Raises:
        Error: The library's decisions are not known.
    """
    if library in FLAT and 1 < ranks_per_node < call.ranks:
        return Untuned(None, None, "its choice is unknown for several nodes with several ranks each")
    rules = default_rules(library)
    function = of_function(collective)
    there = situation(
        function, call.ranks, call.size_bytes, ranks_per_node=ranks_per_node, element_bytes=call.element_bytes
    )
    rule = decided(rules, there)
    if rule is None or rule.choice is None:
        return Untuned(None, None, "its choice is unknown, or has no counterpart in Hocket")
    runs = performed(rules, rule.choice, there)
    ours = to_hocket(function, runs.choice, rules.library)
    if ours.choice is None:
        return Untuned(runs.name, None, ours.note)
    try:
        found = choose(f"{collective}: {ours.choice}", collective, call)
    except Error as error:
        return Untuned(runs.name, None, str(error))
    refusal = "" if found else f"{runs.name}: Hocket's {ours.choice.algorithm} refuses the call"
    return Untuned(runs.name, found, refusal)
