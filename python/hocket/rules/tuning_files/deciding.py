"""What rules decide for a call, and why; and what a library runs where no file says anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.units import format_count
from hocket.definitions.calls import algorithms_for, element_of
from hocket.definitions.libraries import BY_MACHINE
from hocket.definitions.library import Algorithm, usual_element_bytes
from hocket.definitions.machine import Machine, ranks_on_nodes
from hocket.rules.choosing import choose
from hocket.rules.nccl.defaults import alternatives_on, chunk_on, decision_on, rules_on
from hocket.rules.nccl.table import VERSION, Version
from hocket.rules.tuning_files import han
from hocket.rules.tuning_files.components import Component, Inner, InnerChoice
from hocket.rules.tuning_files.compositions import COMPOSITIONS, by_composition
from hocket.rules.tuning_files.counterparts import fewest_elements
from hocket.rules.tuning_files.decisions import default_rules
from hocket.rules.tuning_files.form import Choice, Rule, Rules, Situation, Span, measured
from hocket.rules.tuning_files.grid import size_starts
from hocket.rules.tuning_files.hocket_rules import collective_of, of_function
from hocket.rules.tuning_files.mpich_json import CONDITIONS, DEVICE, LIBRARY, SHARED_MEMORY
from hocket.rules.tuning_files.openmpi_han import refusal_of
from hocket.rules.tuning_files.translation import HOCKET, passes_over, to_hocket
from hocket.rules.tuning_files.ucc_defaults import EVEN_RANKS

DEFAULT_CONDITIONS = {row["condition"]: row["default"] for row in CONDITIONS if row["default"]}
"""The default for calls that no rule mentions."""

_OF_FILES = "simple"  # the protocol whose costs a machine file has by itself
_ABOVE = {LIBRARY: (DEVICE, SHARED_MEMORY)}
"""The rules that are asked before those of a library: for all ranks, and within a node."""
NOT_ASKED = ("partitionMode", "localGroup")
"""Conditions that RCCL does not ask, unless RCCL_CHIPLET_TUNER_ENABLE is 1."""


@dataclass(frozen=True)
class Verdict:
    """What a rule says of a call."""

    rule: Rule
    why_not: str = ""  # why it is not for the call; empty for the rule that decides


def situation(
    function: str,
    ranks: int,
    size_bytes: int,
    *,
    ranks_per_node: int = 1,
    element_bytes: int | None = None,
    is_commutative: bool = True,
    on_nodes: tuple[int, ...] = (),
) -> Situation:
    """Return a call of which nothing else is said; `on_nodes` has the ranks of each node, not `ranks_per_node`."""
    if element_bytes is None:
        element_bytes = usual_element_bytes((collective_of(function) or (None,))[0], size_bytes)
    few = {
        name: "yes" if size_bytes < limit * element_bytes else "no" for name, limit in fewest_elements(ranks).items()
    }
    ranks_per_node = max(on_nodes, default=ranks_per_node)
    nodes = len(on_nodes) or -(-ranks // ranks_per_node)
    conditions = {
        **DEFAULT_CONDITIONS,
        "is_commutative": "yes" if is_commutative else "no",
        "comm_size": "node_comm_size" if nodes == 1 else "of several nodes",
        "comm_hierarchy": "flat" if nodes == ranks else "parent",
        "is_node_consecutive": "no" if nodes == ranks else "yes",
        **few,
        EVEN_RANKS: "no" if ranks % 2 else "yes",
    }
    placement = "one-per-node" if ranks_per_node == 1 else "single-node" if ranks <= ranks_per_node else "any"
    return Situation(function, ranks, size_bytes, placement, ranks_per_node, element_bytes, conditions, on_nodes)


def verdicts(rules: Rules, call: Situation) -> Iterator[Verdict]:
    """Give the rules of a call's function in their order, up to the one that decides."""
    for rule in rules.of(call.function):
        why_not = _why_not(rule, call, rules.library)
        yield Verdict(rule, why_not)
        if not why_not:
            return


def deciding_rule(rules: Rules, call: Situation) -> Rule | None:
    """Return the rule that decides."""
    return next((verdict.rule for verdict in verdicts(rules, call) if not verdict.why_not), None)


def _why_not(rule: Rule, call: Situation, library: str) -> str:
    if reason := passes_over(rule, library, ranks=Span(call.ranks, call.ranks), nodes=Span(call.nodes, call.nodes)):
        return reason
    if reason := refusal_of(rule, call):
        return reason
    size = measured(rule.measure, call.size_bytes, call.ranks, call.element_bytes)
    if call.ranks not in rule.ranks:
        return f"the call has {format_count(call.ranks, 'rank')}, the line is for {rule.ranks}"
    if rule.power_of_two not in (None, call.ranks & (call.ranks - 1) == 0):
        powers = "powers of two" if rule.power_of_two else "other than powers of two"
        return f"the call has {format_count(call.ranks, 'rank')}, the line is for {powers}"
    if rule.placement not in ("any", call.placement):
        return f"the call has ranks {call.placement}, the line is for {rule.placement}"
    if call.nodes not in rule.nodes:
        return f"the call has {format_count(call.nodes, 'node')}, the line is for {rule.nodes}"
    if call.ranks // call.nodes not in rule.ranks_per_node:
        return f"the call has {call.ranks // call.nodes} ranks per node, the line is for {rule.ranks_per_node}"
    if rule.sizes.is_empty:
        return "no call matches this line"
    if size not in rule.sizes:
        return f"the call has {format_count(size, 'byte')}, the line is for {rule.sizes}"
    for name, value in rule.conditions:
        if name not in NOT_ASKED and call.conditions.get(name) != value:
            return _other_condition(name, value, call)
    if library == HOCKET and rule.choice and not accepts(call.function, rule.choice, call.ranks, call.size_bytes):
        return f"{rule.choice.algorithm} refuses the call"
    return ""


def _other_condition(name: str, value: str, call: Situation) -> str:
    fewest = fewest_elements(call.ranks).get(name)
    if fewest is None:
        return f"{name} is {call.conditions.get(name, 'not known')}, the line is for {value}"
    limit = f"fewer than {fewest}" if value == "yes" else f"{fewest} and more"
    return f"the call has {format_count(call.elements, 'element')}, the line is for {limit}"


@cache
def accepts(function: str, choice: Choice | None, ranks: int, size_bytes: int) -> bool:
    """Return whether an algorithm of Hocket takes a call; a rule that names none takes any."""
    if choice is None:
        return True
    collective = collective_of(function)
    assert collective is not None  # the function has the algorithm
    try:
        return choose(f"{collective[0]}: {choice}", collective[0], Call(ranks=ranks, size_bytes=size_bytes)) is not None
    except Error:  # too many ranks or bytes for a call
        return False


@dataclass(frozen=True)
class LibraryDecision:
    """The decision of a library for a call."""

    choice: str | None  # its algorithm as its rules call it; none if they leave the call open
    # Hocket's algorithm that does the same, and the call with the parameters that the library sets; none if none does.
    equivalent: tuple[Algorithm, Call] | None
    sentence: str = ""  # why there is no equivalent
    protocol: str | None = None  # the protocol of the machine that has its costs; none for the machine's own costs
    # In words, what costs these are, if the library names a protocol, or what stands for parts of an algorithm that
    # Hocket does not have; empty where the costs are the machine's own.
    costs: str = ""

    def costs_on(self, machine: Machine) -> Machine:
        """Return the machine with the costs of the protocol."""
        return machine if self.protocol is None else machine.with_protocol(self.protocol)


def switches(library: str, collective: str, call: Call, *, machine: Machine | None = None) -> tuple[int, ...]:
    """Return the sizes, in bytes, from which on a library runs another algorithm for calls like one of any size.

    The library is one of `DEFAULTS`, or of `BY_MACHINE` with a machine, on whose nodes the ranks are; without a machine
    there is one on each. A machine that does not say what the library decides by is refused.
    """
    unit = element_of(replace(call, size_bytes=0), collective)
    if library in BY_MACHINE and machine is not None:
        rules = rules_on(machine, call.ranks).of(of_function(collective))
        parts = call.ranks if rules and rules[0].measure == "total" else 1
        firsts = {rule.sizes.first for rule in rules} - {0}
        return tuple(sorted({-(-first // (parts * unit)) * unit for first in firsts}))
    sizes = starts(library, replace(_situation_of(collective, call, None, machine), element_bytes=unit)) - {0}

    def runs(size_bytes: int) -> tuple[str | None, str]:
        decision = library_decision(library, collective, replace(call, size_bytes=size_bytes), machine=machine)
        return decision.choice, decision.sentence

    return tuple(
        first for first in (-(-size // unit) * unit for size in sorted(sizes)) if runs(first - unit) != runs(first)
    )


def starts(library: str, call: Situation) -> set[int]:
    """Return the sizes from which on other rules of a library may decide: for all ranks, or for one of each node."""
    sizes = {0}
    for ranks in {call.ranks, call.nodes}:
        own = [rule for name in (library, *_ABOVE.get(library, ())) for rule in default_rules(name).of(call.function)]
        few = [elements * call.element_bytes for elements in fewest_elements(ranks).values()]
        sizes |= {*size_starts([rule for rule in own if ranks in rule.ranks], ranks, "size"), *few}
    return sizes


def library_decision(
    library: str,
    collective: str,
    call: Call,
    *,
    ranks_per_node: int | None = None,
    machine: Machine | None = None,
    version: Version = VERSION,
) -> LibraryDecision:
    """Return what a library of `DEFAULTS` or `BY_MACHINE` runs for a call; refuse one whose decisions are not known.

    Nodes have as many ranks as those of the machine, unless `ranks_per_node` says otherwise. Libraries of `BY_MACHINE`
    always take the machine's nodes, and decide by the tables of a version; without a machine, their choice is unknown.
    """
    if library in BY_MACHINE:
        if machine is None:
            return LibraryDecision(None, None, "its choice depends on the machine")
        try:
            decision = decision_on(machine, of_function(collective), call.ranks, call.size_bytes, version)
        except Error as error:
            return LibraryDecision(None, None, str(error))
        return on_machine(decision.choice, library, collective, call, machine)
    own = _situation_of(collective, call, ranks_per_node, machine)
    component = component_for(library, own)
    if component is not None and component.choice is not None:
        by_component = _equivalent(component.choice, HOCKET, collective, call)
        return replace(by_component, choice=str(component), costs=component.remark)
    rules = default_rules(library)
    rule = deciding_rule(rules, own)
    if rule is None or rule.choice is None:
        return LibraryDecision(None, None, "its choice is unknown, or has no counterpart in Hocket")
    return _equivalent(rule.choice, rules.library, collective, call)


def _situation_of(collective: str, call: Call, ranks_per_node: int | None, machine: Machine | None) -> Situation:
    """Return a call as rules see it, with so many ranks on each node, or on the nodes of a machine."""
    return situation(
        of_function(collective),
        call.ranks,
        call.size_bytes,
        ranks_per_node=ranks_per_node or 1,
        element_bytes=call.element_bytes,
        is_commutative=call.commutative,
        on_nodes=() if machine is None or ranks_per_node else ranks_on_nodes(machine, call.ranks),
    )


def component_for(library: str, call: Situation, rules: Rules | None = None) -> Component | None:
    """Return which component of Open MPI or MPICH takes a call; None for other libraries.

    The rules of a tuning file of tuned decide first on the communicators that HAN makes.
    """
    if library in _ABOVE and rules is None:
        rule = deciding_rule(default_rules(_ABOVE[library][0]), call)
        if rule is None:
            return None
        return by_composition(rule, call, lambda step, ranks: _step(library, step, ranks, call))
    if library not in han.PRIORITIES:
        return None

    def tuned_table(function: str, ranks: int, size_bytes: int) -> Choice | None:
        inner = situation(function, ranks, size_bytes, element_bytes=call.element_bytes)
        for own in (*([rules] if rules else []), default_rules("openmpi-5.0")):
            rule = deciding_rule(own, inner)
            if rule is not None and rule.choice is not None:
                return to_hocket(function, rule.choice, own.library).choice
        return None

    return han.component(library, call, tuned_table)


def _step(library: str, step: Inner, ranks: int, call: Situation) -> InnerChoice | None:
    """Return what decides for a step of a call of MPICH: the tree of shared memory, or else the lower tree.

    None if Hocket has no such algorithm, as for calls without data.
    """
    size_bytes = 0 if step.of == "nothing" else call.size_bytes
    own = situation(step.function, ranks, size_bytes, element_bytes=call.element_bytes)
    own = replace(own, conditions={**own.conditions, "comm_hierarchy": "node" if step.is_within else "node_roots",
                                   "is_commutative": call.conditions["is_commutative"]})  # fmt: skip
    rule = deciding_rule(default_rules(_ABOVE[library][1]), own) if step.is_within else None
    if rule is not None and rule.choice is not None:
        similar = Choice(COMPOSITIONS[rule.choice.algorithm].similar)
        remark = f"{similar} stands for {rule.choice}"
        return InnerChoice(step, ranks, size_bytes, "shared memory", similar, remark)
    rule = deciding_rule(default_rules(library), own)
    ours = to_hocket(step.function, rule.choice, library).choice if rule and rule.choice else None
    return None if ours is None else InnerChoice(step, ranks, size_bytes, "lower tree", ours)


def alternatives(library: str, collective: str, call: Call, machine: Machine) -> tuple[LibraryDecision, ...]:
    """Return what a library of `BY_MACHINE` can run for a call on a machine: a decision for each algorithm.

    Where the machine does not say what the library decides by, nothing is known.
    """
    try:
        choices = alternatives_on(machine, of_function(collective), call.ranks, call.size_bytes)
    except Error:
        return ()
    # The costs of a switch are those of its allreduces.
    own = [choice for choice in choices if collective == "allreduce" or choice.algorithm != "nvls"]
    return tuple(on_machine(choice, library, collective, call, machine) for choice in own)


def on_machine(own: Choice, library: str, collective: str, call: Call, machine: Machine) -> LibraryDecision:
    """Return a decision in the words of a library of `BY_MACHINE`, with the costs of its protocol on a machine."""
    chunk = chunk_on(machine, of_function(collective), call.ranks, call.size_bytes, own)
    own_protocol = dict(own.parameters)["protocol"]
    result = _equivalent(own, library, collective, call)
    if result.equivalent is not None:
        algorithm, own_call = result.equivalent
        if not algorithms_for(machine, [algorithm]):
            why = f"{own}: {machine.name} has no switch that reduces or multicasts"
            return replace(result, equivalent=None, sentence=why)
        chunks = {each.name: chunk for each in algorithm.parameters if each.name in ("chunk", "segment")}
        own_call = replace(own_call, parameters={**own_call.parameters, **chunks})
        result = replace(result, equivalent=(algorithm, own_call))
    protocol = next((name for name in machine.protocols if name.lower() == own_protocol), None)
    if protocol is None and own_protocol == _OF_FILES:
        return result
    costs = "at the machine's own costs" if protocol is None else f"at the costs of {protocol}"
    return replace(result, protocol=protocol, costs=costs)


def _equivalent(own: Choice, library: str, collective: str, call: Call) -> LibraryDecision:
    name = str(own)
    ours = to_hocket(of_function(collective), own, library)
    if ours.choice is None:
        return LibraryDecision(name, None, ours.note)
    try:
        choice = choose(f"{collective}: {ours.choice}", collective, call)
    except Error as error:
        return LibraryDecision(name, None, str(error))
    if choice is None:
        return LibraryDecision(name, None, f"{name}: Hocket's {ours.choice.algorithm} refuses the call")
    return LibraryDecision(name, (choice[0], replace(call, parameters=dict(ours.choice.parameters))))
