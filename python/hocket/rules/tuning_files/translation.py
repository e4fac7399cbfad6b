"""Algorithms of one library in the words of another, by way of Hocket's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from hocket.definitions.library import algorithms
from hocket.rules.tuning_files.counterparts import LIBRARIES, NCCL, WHOLE_BYTES, Counterpart, Library
from hocket.rules.tuning_files.form import Choice, Rule, Rules, Situation, Span
from hocket.rules.tuning_files.hocket_rules import collective_of

HOCKET = "hocket"

_ONLY_OF = {"chunkSize": "ncclx-2"}  # parameters that only one library of its kin has


@dataclass(frozen=True)
class Translation:
    """An algorithm in other words, or none if there is no counterpart; the note says what is lost."""

    choice: Choice | None
    counterpart: Counterpart | None = None
    note: str = ""


def translate(function: str, choice: Choice, source: str, target: str) -> Translation:
    """Return the algorithm of one library that does what another's does."""
    if source == target:
        return Translation(choice, counterpart_of(function, choice, target))
    flat = "" if target == HOCKET else LIBRARIES[target].flat
    if flat and translate(function, choice, source, flat).choice is not None:
        return Translation(Choice("tuned"), LIBRARIES[target].find(function, "tuned"))
    if HOCKET not in (source, target) and LIBRARIES[source].kin == LIBRARIES[target].kin != "":
        return _same_algorithm(function, choice, LIBRARIES[source], LIBRARIES[target])
    if source == HOCKET:
        return _from_hocket(function, choice, LIBRARIES[target])
    translation = to_hocket(function, choice, source)
    if translation.choice is None or target == HOCKET:
        return translation
    onward = _from_hocket(function, translation.choice, LIBRARIES[target])
    return replace(onward, note="; ".join(filter(None, (translation.note, onward.note))))


def passes_over(rule: Rule, library: str, *, ranks: Span | None = None, nodes: Span | None = None) -> str:
    """Return why NCCL and its kin pass over a line, as if it were not there; nothing if they do not, or for others.

    On `ranks` and `nodes`, or on any that the line is for.
    """
    if library == HOCKET or LIBRARIES[library].kin != NCCL or rule.choice is None:
        return ""
    algorithms = LIBRARIES[library].algorithms.get(rule.function, ())
    protocol = dict(rule.choice.parameters).get("protocol")
    own = counterpart_of(rule.function, rule.choice, library)
    if own is None:
        runs = ", ".join(each.name for each in algorithms if protocol in each.protocols)
        return f"{library} has no {rule.choice.algorithm} for it, expected {runs}"
    if protocol is not None and protocol not in own.protocols:
        others = " or ".join(each.name for each in algorithms if protocol in each.protocols)
        return f"{own.name} has no {protocol}, expected {', '.join(own.protocols)}, or {others} with {protocol}"
    return _refuses_job(own, ranks or rule.ranks, nodes or rule.nodes, rule.ranks_per_node)


def _refuses_job(own: Counterpart, ranks: Span, nodes: Span, per_node: Span) -> str:
    if nodes.last is not None and nodes.last < own.fewest_nodes:
        return f"{own.name} takes {own.fewest_nodes} nodes and more"
    if own.is_lone and (ranks.within(nodes).is_empty or 1 not in per_node):
        return f"{own.name} takes one rank on each node"
    least_ranks = own.fewest_per_node * max(1, nodes.first)
    fewest = Span(own.fewest_per_node)
    if per_node.within(fewest).is_empty or ranks.within(Span(least_ranks)).is_empty:
        return f"{own.name} takes {own.fewest_per_node} ranks and more on each node"
    return ""


def counterpart_of(function: str, choice: Choice, library: str) -> Counterpart | None:
    """Return what is known of an algorithm with its parameters."""
    if library == HOCKET:
        return None
    values = dict(choice.parameters)
    candidates = (
        each for each in LIBRARIES[library].algorithms.get(function, ())
        if choice.algorithm in (each.name, str(each.number))
    )  # fmt: skip
    return next((each for each in candidates if all(values.get(name) == v for name, v in each.own.items())), None)


@dataclass(frozen=True)
class Performance:
    """What the library of rules runs for a choice."""

    choice: Choice  # the algorithm, in the words of the rules
    name: str  # its name, as in "basic_linear for rabenseifner" where it is another one than the rules choose
    why: str = ""  # why it is another one; empty if it is not


def perform(rules: Rules, choice: Choice, call: Situation) -> Performance:
    """Return what the library of rules runs for a choice: another algorithm if the vector has too few elements."""
    counterpart = counterpart_of(call.function, choice, rules.library)
    if counterpart is None or counterpart.short is None or not counterpart.short.is_for(call.elements, call.ranks):
        return Performance(choice, str(choice))
    other = counterpart.short.name
    why = f"{counterpart.short}, {rules.library} runs {other} instead of {counterpart.name}"
    return Performance(Choice(other), f"{other} for {choice}", why)


def to_hocket(function: str, choice: Choice, library: str) -> Translation:
    """Return Hocket's algorithm for one of a library."""
    if library == HOCKET:
        return Translation(choice)
    counterpart = counterpart_of(function, choice, library)
    ours = None if counterpart is None else counterpart.hocket
    if counterpart and counterpart.in_channels and dict(choice.parameters).get("channels") != 1:
        ours = counterpart.in_channels
    if counterpart is None or ours is None:
        what = f" ({counterpart.what})" if counterpart and counterpart.what else ""
        return Translation(None, counterpart, f"{function}: {choice.algorithm}{what} has no counterpart in Hocket")
    parameters: dict[str, int | str] = {}
    defaults, names = _defaults(function, ours), counterpart.names_in(ours)
    for name, theirs in names.items():
        value = dict(choice.parameters).get(name, 0)
        if theirs == "segment" and not value and defaults[theirs] != WHOLE_BYTES:
            parameters[theirs] = WHOLE_BYTES
        elif value:
            parameters[theirs] = value
    parameters |= {name: value for name, value in counterpart.fixed.items() if defaults.get(name) != value}
    lost_names = [name for name, _ in choice.parameters if name not in names and name not in counterpart.own]
    what = f"{', '.join(lost_names)} of {choice.algorithm}"
    note = f"{function}: {what} has no counterpart in Hocket" if lost_names else ""
    return Translation(Choice(ours, tuple(parameters.items())), counterpart, note)


@cache
def _defaults(function: str, name: str) -> Mapping[str, int | str]:
    collective = collective_of(function)
    assert collective is not None  # Hocket has the algorithm
    return {
        parameter.name: parameter.default
        for each in algorithms(collective[0])
        if each.name == name
        for parameter in each.parameters
    }


def _from_hocket(function: str, choice: Choice, library: Library) -> Translation:
    defaults = _defaults(function, choice.algorithm)
    values = {**defaults, **dict(choice.parameters)}
    automatic = [name for name, value in values.items() if value == "auto"]
    if automatic:
        return Translation(None, None, f"{function}: {choice.algorithm} has {automatic[0]}=auto, expected a number")
    for own in library.algorithms.get(function, ()):
        alike = [own.similar] if own.similar else []
        for name, fixed in [(own.hocket, own.fixed), (own.in_channels, {}), *alike]:
            if name == choice.algorithm:
                free = {*own.names_in(name).values(), *(["segment"] if own.own_segments else [])}
                if all(key in free or values[key] == fixed.get(key, default) for key, default in defaults.items()):
                    return Translation(Choice(own.name, tuple(_rename_values(own, name, values).items())), own)
    return Translation(None, None, f"{function}: {library.name} has no {choice}")


def _rename_values(counterpart: Counterpart, ours: str, values: Mapping[str, int | str]) -> dict[str, int | str]:
    """Return values by the library's names, without a segment of the whole message and open channels."""
    names = counterpart.names_in(ours)
    values_by_name = {name: values[own] for name, own in names.items() if own in values}
    for name, value in [*values_by_name.items()]:
        is_whole = names[name] == "segment" and isinstance(value, int) and value >= WHOLE_BYTES
        if is_whole or (names[name] == "channels" and value == 0):
            del values_by_name[name]
    return {**counterpart.own, **values_by_name}


def _same_algorithm(function: str, choice: Choice, source: Library, target: Library) -> Translation:
    """Return the choice in another library of the same kin: by the number, or else the name, of its algorithm."""
    old = source.find(function, choice.algorithm)
    counterpart = target.find(function, choice.algorithm if old is None or old.number is None else str(old.number))
    if counterpart is None:
        return Translation(None, None, f"{function}: {target.name} has no {choice.algorithm}")
    lost_names = [name for name, _ in choice.parameters if _ONLY_OF.get(name, target.name) != target.name]
    parameters_left = tuple(pair for pair in choice.parameters if pair[0] not in lost_names)
    note = f"{function}: {target.name} has no {', '.join(lost_names)}" if lost_names else ""
    return Translation(Choice(counterpart.name, parameters_left), counterpart, note)
