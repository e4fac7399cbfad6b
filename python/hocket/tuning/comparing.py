"""Comparing two tuning files: where they choose differently, and the cost on a machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.units import format_choice
from hocket.definitions.libraries import BY_MACHINE, DEFAULTS
from hocket.definitions.machine import Machine
from hocket.rules.choosing import choose
from hocket.rules.nccl.defaults import decision_on, with_channels
from hocket.rules.tuning_files.deciding import deciding_rule, library_decision, situation
from hocket.rules.tuning_files.decisions import default_rules
from hocket.rules.tuning_files.form import Choice, Rules, Situation
from hocket.rules.tuning_files.hocket_rules import collective_of, has_size
from hocket.rules.tuning_files.translation import perform, to_hocket
from hocket.simulating.simulation import simulate


@dataclass(frozen=True)
class Side:
    """The choice of one file."""

    line: int | None  # the line that decides; None if the library decides by itself
    choice: str | None  # the algorithm in the library's words; None if unknown
    algorithm: str | None  # the equivalent algorithm of Hocket; None if there is none
    time_s: float | None = None  # its time on the machine; None if unknown
    why: str = ""  # why the time is unknown


@dataclass(frozen=True)
class Difference:
    """A call of an MPI function, in small letters, for which two files choose differently."""

    function: str
    ranks: int
    size_bytes: int
    one: Side
    two: Side

    @property
    def ratio(self) -> float | None:
        """The ratio of the second time to the first; None if one of them is unknown."""
        if self.one.time_s is None or self.two.time_s is None:
            return None
        return self.two.time_s / self.one.time_s


def differences(
    one: Rules,
    two: Rules,
    machine: Machine,
    *,
    functions: Iterable[str],
    ranks: Sequence[int],
    sizes: Sequence[int],
    ranks_per_node: int = 1,
    element_bytes: int | None = None,
) -> Iterator[Difference]:
    """Give the calls of some MPI functions for which two sets of rules choose differently, with times on a machine.

    Sizes are those of messages, in bytes; a barrier has none. Elements have their usual size by default.
    """
    for call in _calls(functions, ranks, sizes, ranks_per_node, element_bytes):
        sides = [_side(rules, call, machine) for rules in (one, two)]
        if (sides[0].algorithm or sides[0].choice) != (sides[1].algorithm or sides[1].choice):
            times_by_side = (_time_side(side, call, machine) for side in sides)
            yield Difference(call.function, call.ranks, call.size_bytes, *times_by_side)


def is_simulated(function: str) -> bool:
    """Return whether a function can be simulated: it is blocking, involves all ranks, and has blocks of one size."""
    collective = collective_of(function)
    is_blocking = collective is not None and not collective[1]
    return is_blocking and not function.endswith("v") and not function.startswith("neighbor")


def kept_gain(
    one: Rules, two: Rules, machine: Machine, *, ranks: Sequence[int], sizes: Sequence[int], ranks_per_node: int = 1
) -> float | None:
    """Return the share of one rule set's gain that another rule set keeps; None if no gain is known.

    Calls are as in `differences`; only those with known times count. The gain of a call is the logarithm of a
    ratio: the default time of the second set's library, over the time of the rules' choice. The gain of a rule set
    is the sum over the calls.
    """
    if two.library not in (*DEFAULTS, *BY_MACHINE):
        return None
    gain_s = kept_s = 0.0
    for call in _calls(filter(is_simulated, one.functions), ranks, sizes, ranks_per_node):
        untuned_s, *times_s = (
            _time_side(_side(rules, call, machine), call, machine).time_s
            for rules in (Rules(two.library, ()), one, two)
        )
        if untuned_s:
            first, second = (log(untuned_s / (time_s or untuned_s)) for time_s in times_s)
            gain_s, kept_s = gain_s + first, kept_s + second
    return kept_s / gain_s if gain_s > 0 else None


def _calls(
    functions: Iterable[str],
    ranks: Sequence[int],
    sizes: Sequence[int],
    ranks_per_node: int,
    element_bytes: int | None = None,
) -> Iterator[Situation]:
    for function in functions:
        for count in ranks:
            for size in sizes if has_size(function) else (0,):
                yield situation(function, count, size, ranks_per_node=ranks_per_node, element_bytes=element_bytes)


def _side(rules: Rules, call: Situation, machine: Machine) -> Side:
    library, rule = rules.library, deciding_rule(rules, call)
    line = rule.line if rule and rule.choice else None
    if library in BY_MACHINE:
        return _side_by_machine(rules, rule.choice if rule else None, line, call, machine)
    is_own = library in DEFAULTS and (rule is None or rule.choice is None or rules is default_rules(library))
    collective = collective_of(call.function)
    if is_own and call.ranks_per_node > 1 and collective is not None and is_simulated(call.function):
        own = library_decision(library, collective[0], _call_of(call), ranks_per_node=call.ranks_per_node)
        algorithm = own.equivalent and format_choice(own.equivalent[0].name, own.equivalent[1].parameters.items(), ", ")
        return Side(None, own.choice, algorithm, why=own.sentence)
    if is_own:
        rules = default_rules(library)
        rule = deciding_rule(rules, call)
    if rule is None or rule.choice is None:
        return Side(line, None, None, why=f"{call.function}: what {library} chooses by itself is not known")
    return _side_of(rules, rule.choice, line, call)


def _call_of(call: Situation) -> Call:
    return Call(ranks=call.ranks, size_bytes=call.size_bytes, element_bytes=call.element_bytes)


def _side_by_machine(rules: Rules, choice: Choice | None, line: int | None, call: Situation, machine: Machine) -> Side:
    """Return a choice of a library that decides by the machine, where no line does."""
    try:
        if choice is None:
            choice = decision_on(machine, call.function, call.ranks, call.size_bytes).choice
        else:
            choice = with_channels(machine, call.function, call.ranks, call.size_bytes, choice)
    except Error as error:
        if choice is None:
            return Side(line, None, None, why=f"{call.function}: {error}")
    return _side_of(rules, choice, line, call)


def _side_of(rules: Rules, choice: Choice, line: int | None, call: Situation) -> Side:
    runs = perform(rules, choice, call)
    ours = to_hocket(call.function, runs.choice, rules.library)
    return Side(line, runs.name, str(ours.choice) if ours.choice else None, why=ours.note if not ours.choice else "")


def _time_side(side: Side, call: Situation, machine: Machine) -> Side:
    times_by_job = collective_of(call.function)
    if side.algorithm is None or times_by_job is None:
        return side
    choice_of_rules = choose(f"{times_by_job[0]}: {side.algorithm}", times_by_job[0], _call_of(call))
    if choice_of_rules is None:
        return replace(side, why=f"{call.function}: Hocket's {side.algorithm} refuses some calls")
    try:
        return replace(side, time_s=simulate(*choice_of_rules, machine=machine).time_s.mean)
    except Error as error:
        return replace(side, why=str(error))
