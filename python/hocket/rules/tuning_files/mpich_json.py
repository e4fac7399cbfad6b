"""MPICH's selection trees, `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE` of 5.0.

A tree of objects, whose names are questions that are asked in their order: the first one that is answered by yes leads
on. At its leaves stands an algorithm, in whose object parameters are names, too. MPICH ends a program that no leaf is
found for, so that every list of questions has to end in one that is always true, as `comm_size=any`, and every function
that a program calls has to be in the file. The trees of MPICH's device have the same form, one with compositions
at its leaves, one with algorithms by shared memory. Hocket reads all three.

Source: `src/mpi/coll/src/csel.c` and `csel_container.c` of MPICH 5.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files as resources
from typing import Any

from hocket._native import Error
from hocket.base.files import read_rows
from hocket.rules.tuning_files import json_nodes
from hocket.rules.tuning_files.compositions import COMPOSITIONS, WHOLE_COMPOSITIONS
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import ANY, NOTHING, Choice, Format, Rule, Rules, Span, quote_text
from hocket.rules.tuning_files.grid import boundaries, merged, spans
from hocket.rules.tuning_files.hocket_rules import has_blocks

LIBRARY = "mpich-5.0"
DEVICE = "mpich-5.0-device"
SHARED_MEMORY = "mpich-5.0-shared-memory"
Tree = dict[str, Any]

_MOST = (1 << 31) - 1  # MPICH reads numbers by atoi
_NEEDS_ANY = re.compile(r"comm_size|avg_msg_size|total_msg_size|count|comm_avg_ppn")
_NUMBERS = re.compile(rf"({_NEEDS_ANY.pattern})(<=|<)(\d{{1,10}})")
_ASKED_EARLY = re.compile(r"comm_|any$|is_node_consecutive=")
_ANYTHING = re.compile(r"(\w+)=any|any")
_CHOICE = "algorithm="
_OTHER_CHOICE = "composition="
_COLLECTIVE = "collective="
_POWER_OF_TWO = "comm_size=pow2"
_WITHIN = "comm_type=intra"
_BELOW_POWER_OF_TWO = "count<pow2"
CONDITIONS = read_rows(__file__, "conditions.csv")
"""The conditions of rules of all libraries."""
_WORDS = {row["condition"]: row["values"].split() for row in CONDITIONS}
_OTHERS = {"yes": "no", "no": "yes", "intra": "inter", "inter": "intra"}
_AVERAGE = ("allreduce", "bcast", "reduce", "alltoall")
_TOTAL = (*_AVERAGE, "alltoallv", "alltoallw", "allgather", "allgatherv", "gather", "scatter", "reduce_scatter",
          "reduce_scatter_block")  # fmt: skip


@cache
def default_tree(name: str = LIBRARY) -> Tree:
    """Return a tree that is compiled into MPICH 5.0.2: the device's, shared memory's, or the one below both."""
    text = resources("hocket.rules.tuning_files").joinpath(f"defaults/{name}.json").read_text()
    tree: Tree = json.loads(text)
    return tree


def _read(text: str, file: str) -> Rules:
    rules: list[Rule] = []
    for member in _members(json_nodes.parse(text, file)):
        name = _key(member)
        if not name.startswith(_COLLECTIVE):
            raise member.error(f'got {quote_text(member.name)}, expected "collective=" and a function at the top')
        function = name.removeprefix(_COLLECTIVE)
        if function not in default_tree_functions():
            raise member.error(f"unknown collective {quote_text(function)}, expected one of MPICH 5.0")
        if any(rule.function == function for rule in rules):
            raise member.error(f"{function} appears twice, expected each collective once")
        rules += _rules(member, Rule(function, None, measure=""))
    return Rules(LIBRARY, tuple(rules))


@cache
def default_tree_functions() -> tuple[str, ...]:
    """Return the functions that trees have."""
    return tuple(name.removeprefix(_COLLECTIVE) for name in default_tree())


@cache
def known_names() -> frozenset[str]:
    """Return the algorithms that MPICH's own tree or the table of counterparts names."""
    own = re.findall(rf'"{_CHOICE}(\w+)"', json.dumps(default_tree()))
    return frozenset(own) | {each.name for some in LIBRARIES[LIBRARY].algorithms.values() for each in some}


def _members(node: json_nodes.Node) -> tuple[json_nodes.Member, ...]:
    if not isinstance(node.value, tuple):
        raise node.error("expected an object, whose names are questions, algorithms or parameters")
    return node.value


def _key(member: json_nodes.Member) -> str:
    return member.name.replace(" ", "")  # as MPICH reads it


def _rules(top: json_nodes.Member, calls: Rule, *, is_late: bool = False) -> Iterator[Rule]:
    """Give the rules of a subtree for the calls that get there, whose sizes have no measure before one is asked for.

    `is_late` says whether the path has a question that a communicator alone does not answer.
    """
    members = _members(top.node)
    if not members:
        raise top.error(f"{calls.function}: an empty object, expected an algorithm in it")
    left: Rule | None = calls
    for member in members:
        name = _key(member)
        if left is None:
            got = quote_text(member.name)
            raise member.error(f"{got} is never reached, as the question before it is always true")
        if name.startswith((_CHOICE, _OTHER_CHOICE)):
            choice = _choice(name, member)
            if not (left.ranks.is_empty or left.sizes.is_empty):
                yield replace(left, choice=choice, measure=left.measure or "size", line=member.line)
            return
        is_late = is_late or not _ASKED_EARLY.match(name)
        inner, left = _answers(name, member, left, is_late=is_late)
        yield from _rules(member, inner, is_late=is_late)
    last = members[-1]
    if left is not None and _NEEDS_ANY.match(_key(last)):
        raise last.error(f'{calls.function}: some calls have no algorithm, expected "=any" as the last question')


def _choice(name: str, member: json_nodes.Member) -> Choice:
    parameters = []
    for each in _members(member.node):
        key, equals, value = _key(each).partition("=")
        if not (key and equals and value) or _members(each.node):
            raise each.error(f'got {quote_text(each.name)}, expected a parameter such as "k=4": {{}}')
        is_number = value.isascii() and value.isdecimal() and len(value) < 10
        parameters.append((key, int(value) if is_number else value))
    return Choice(name.removeprefix(_CHOICE).removeprefix(_OTHER_CHOICE), tuple(parameters))


def _answers(name: str, member: json_nodes.Member, left: Rule, *, is_late: bool) -> tuple[Rule, Rule | None]:
    """Return the calls behind a question, and those of the next question; None if no call gets there."""
    if _ANYTHING.fullmatch(name):
        return left, None
    if name == _POWER_OF_TWO:
        powers, others = (
            _limit(left, is_possible=left.power_of_two in (None, answer), power_of_two=answer)
            for answer in (True, False)
        )
        return powers, others
    number = _NUMBERS.fullmatch(name)
    if number and number[1] not in ("count", "comm_avg_ppn"):
        return _halves(number, member, left, is_late=is_late)
    is_single = number is not None or name == _BELOW_POWER_OF_TWO
    key, value = (name, "yes") if is_single else name.partition("=")[::2]
    if not is_single and value not in _WORDS.get(key, ()):
        raise member.error(f"unknown question {quote_text(member.name)}, expected a question of MPICH 5.0")
    other = None if number else _OTHERS.get(value)
    return _condition(left, key, value), left if other is None else _condition(left, key, other)


def _limit(rule: Rule, *, is_possible: bool, **changes: Any) -> Rule:
    """Return a rule with one more answer: for no call if an answer before it says otherwise."""
    return replace(rule, ranks=rule.ranks if is_possible else NOTHING, **changes)


def _condition(rule: Rule, name: str, value: str) -> Rule:
    values = dict(rule.conditions)
    is_possible = values.get(name, value) == value
    return _limit(rule, is_possible=is_possible, conditions=tuple({**values, name: value}.items()))


def _halves(number: re.Match[str], member: json_nodes.Member, left: Rule, *, is_late: bool) -> tuple[Rule, Rule]:
    """Return the calls for which a question about ranks or sizes is true, and the others."""
    what, is_less = number[1], number[2] == "<"
    if what != "comm_size":
        left = replace(left, measure=_measure(what, member, left))
    if int(number[3]) > _MOST:
        raise member.error(f"{quote_text(member.name)}: expected a number up to {_MOST}")
    # If MPICH 5.0.2 asks at a call, and not when a communicator is made, it takes "<" of ranks as "<=".
    last = int(number[3]) - (is_less and not (what == "comm_size" and is_late))
    parts = Span(0, last), Span(last + 1)
    if what == "comm_size":
        below, above = (replace(left, ranks=left.ranks.within(part)) for part in parts)
    else:
        below, above = (replace(left, sizes=left.sizes.within(part)) for part in parts)
    return below, above


def _measure(question: str, member: json_nodes.Member, left: Rule) -> str:
    function = left.function.removeprefix("i")
    is_average = question == "avg_msg_size"
    if function not in (_AVERAGE if is_average else _TOTAL):
        ends = "which makes MPICH end the program, expected another question"
        raise member.error(f"{function}: got {question}, {ends}")
    measure = "size" if is_average or function.startswith("reduce_scatter") else "total"
    if left.measure not in ("", measure):
        raise member.error(f"{function}: got avg_msg_size and total_msg_size, expected one of them")
    return measure


def _write(rules: Rules) -> str:
    """Return the text of a tree. Calls that rules leave to MPICH get the function's part of its own tree."""
    names = {function: _tree_of(rules.of(function), function, LIBRARY) for function in rules.functions}
    for function in names:
        if function not in default_tree_functions():
            raise Error(f"{function}: MPICH 5.0 has no selection for it")
    return as_text(default_tree() | {f"{_COLLECTIVE}{function}": tree for function, tree in names.items()})


def _write_device(rules: Rules) -> str:
    """Write the device's tree that passes calls with rules on to the tree of `_write`; empty if its own passes all."""
    tree = {}
    for function in rules.functions:
        if function in WHOLE_COMPOSITIONS:
            whole = Choice(WHOLE_COMPOSITIONS[function])
            own = [replace(rule, choice=rule.choice and whole) for rule in rules.of(function)]
            tree[f"{_COLLECTIVE}{function}"] = _tree_of(own, function, DEVICE)
    return as_text(default_tree(DEVICE) | tree) if tree else ""


def as_text(tree: Tree) -> str:
    """Return a tree as the text of its file."""
    return json.dumps(tree, indent=1) + "\n"


def _tree_of(rules: Sequence[Rule], function: str, name: str) -> Tree:
    conditions = {condition for rule in rules for condition, _ in rule.conditions}
    if "comm_type" in conditions:
        return _build(rules, function, name)
    default = default_tree(name)[f"{_COLLECTIVE}{function}"]
    if name == LIBRARY and function in WHOLE_COMPOSITIONS and "comm_hierarchy" not in conditions:
        own = (Rule(function, None, conditions=(("comm_hierarchy", kind),)) for kind in ("node_roots", "node"))
        rules = [*own, *rules]  # calls within a composition are MPICH's
    inner = _build(rules, function, name)
    return {**default, _WITHIN: inner} if _WITHIN in default else inner


def _build(rules: Sequence[Rule], function: str, name: str) -> Tree:
    """Return the tree that asks for a condition of the first rule, with a subtree for each answer."""
    first = rules[0] if rules else Rule(function, None)
    is_free = first.ranks == first.sizes == ANY and first.power_of_two is None and not first.conditions
    if is_free:
        return _leaf(first.choice, function, name)
    if first.conditions:
        parts = _by_condition(rules, first.conditions[0][0])
    elif first.ranks != ANY:
        parts = _by_number(rules, "comm_size")
    elif first.power_of_two is not None:
        parts = {
            question: [replace(rule, power_of_two=None) for rule in rules if rule.power_of_two in (None, answer)]
            for question, answer in ((_POWER_OF_TWO, True), ("comm_size=any", False))
        }
    else:
        parts = _by_number(rules, _size_name(first))
    return {question: _build(inside, function, name) for question, inside in parts.items()}


def _leaf(choice: Choice | None, function: str, name: str) -> Tree:
    if choice is None:  # MPICH's own tree within a communicator, with unambiguous questions
        default = default_tree(name)[f"{_COLLECTIVE}{function}"]
        return _exact(default.get(_WITHIN, default), is_late=False)
    if name == DEVICE:
        return {f"{_OTHER_CHOICE}{choice.algorithm}": {}}
    if choice.algorithm in COMPOSITIONS:
        raise Error(f"{function}: {choice} belongs to MPICH's device, expected an algorithm of the tree below it")
    if choice.algorithm not in known_names() and function in LIBRARIES[LIBRARY].algorithms:
        raise Error(f"{function}: {LIBRARY} has no algorithm {choice.algorithm}")
    return {f"{_CHOICE}{choice.algorithm}": {f"{name}={value}": {} for name, value in choice.parameters}}


def _by_condition(rules: Sequence[Rule], condition: str) -> Mapping[str, Sequence[Rule]]:
    """Return the questions for a condition, and what is left of the rules behind each."""

    def rest(value: str | None) -> list[Rule]:
        matches = (rule for rule in rules if dict(rule.conditions).get(condition) in (None, value))
        return [rule.drop_condition(condition) for rule in matches]

    if condition == _BELOW_POWER_OF_TWO:
        return {condition: rest("yes"), "count=any": rest("no")}
    values = dict.fromkeys(value for rule in rules for key, value in rule.conditions if key == condition)
    is_number = "<" in condition
    parts = {condition if is_number else f"{condition}={value}": rest(value) for value in values}
    if not any(_OTHERS.get(value) in values for value in values):
        name, other = condition.split("<")[0], _OTHERS.get(next(iter(values)), "any")
        parts[f"{name}={'any' if is_number else other}"] = rest(None)
    return parts


def _by_number(rules: Sequence[Rule], question: str) -> Mapping[str, Sequence[Rule]]:
    """Return the questions for a range of ranks or sizes, each up to a number, and the rules behind each."""
    ranges = [
        (rule.ranks, replace(rule, ranks=ANY)) if question == "comm_size" else (rule.sizes, replace(rule, sizes=ANY))
        for rule in rules
    ]
    parts = merged(
        (span, [rule for own, rule in ranges if span.first in own])
        for span in spans(boundaries(own for own, _ in ranges))
    )
    # "<" is avoided: after a question about the message, MPICH takes "comm_size<8" as "comm_size<=8".
    return {
        f"{question}=any" if span.last is None else f"{question}<={min(span.last, _MOST)}": inside
        for span, inside in parts
    }


def _size_name(rule: Rule) -> str:
    function = rule.function.removeprefix("i")
    if rule.measure == "size" and function in _AVERAGE:
        return "avg_msg_size"
    if function in _TOTAL and rule.measure == ("total" if has_blocks(function) or function in _AVERAGE else "size"):
        return "total_msg_size"
    raise Error(f"{rule.function}: got sizes as {rule.measure}, which MPICH does not know of it")


def _exact(tree: Tree, *, is_late: bool) -> Tree:
    result_by_key = {}
    for key, value in tree.items():
        is_late |= not _ASKED_EARLY.match(key)
        number = _NUMBERS.fullmatch(key)
        if number and number[2] == "<":
            is_as_written = number[1] != "comm_size" or not is_late
            key = f"{number[1]}<={int(number[3]) - is_as_written}"
        is_leaf = key.startswith((_CHOICE, _OTHER_CHOICE))
        result_by_key[key] = value if is_leaf else _exact(value, is_late=is_late)
    return result_by_key


_SETTINGS = (("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE", "FILE"),)
_SETTINGS_OF_DEVICE = (("MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE", "FILE"),)
_DEVICE = Format("mpich-5.0.device", LIBRARY, _read, _write_device, settings=_SETTINGS_OF_DEVICE)
FORMATS = (Format(LIBRARY, LIBRARY, _read, _write, settings=_SETTINGS, companion=_DEVICE),)
