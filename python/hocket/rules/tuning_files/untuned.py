"""What a library runs for a call where no file says anything."""

from __future__ import annotations

from dataclasses import dataclass

from hocket._native import Error
from hocket.base.call import Call
from hocket.definitions.library import Algorithm
from hocket.rules.choosing import choose
from hocket.rules.tuning_files.deciding import decided, situation
from hocket.rules.tuning_files.decisions import FLAT, default_rules
from hocket.rules.tuning_files.hocket_rules import of_function
from hocket.rules.tuning_files.translation import to_hocket


@dataclass(frozen=True)
class Untuned:
    """The decision of a library for a call.

    Attributes:
        choice: Its algorithm as its rules call it; none if they leave the call open.
        found: Hocket's algorithm that does the same, and the call as that takes it; none if there is none.
        sentence: Why there is none.
    """

    choice: str | None
    found: tuple[Algorithm, Call] | None
    sentence: str = ""


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
    ours = to_hocket(function, rule.choice, rules.library)
    if ours.choice is None:
        return Untuned(str(rule.choice), None, ours.note)
    try:
        found = choose(f"{collective}: {ours.choice}", collective, call)
    except Error as error:
        return Untuned(str(rule.choice), None, str(error))
    refusal = "" if found else f"{rule.choice}: Hocket's {ours.choice.algorithm} refuses the call"
    return Untuned(str(rule.choice), found, refusal)
