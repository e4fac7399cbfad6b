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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files as resources
from typing import Any

from hocket._native import Error
from hocket.rules.tuning_files import json_nodes
from hocket.rules.tuning_files.compositions import COMPOSITIONS, WHOLE_COMPOSITIONS
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import ANY, Choice, Format, Rule, Rules, Span, quote_text
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
_BELOW_POWER_OF_TWO = "count<pow2"
_YES_OR_NO = (
    *("is_commutative", "is_sendbuf_inplace", "is_op_built_in"),
    *("is_block_regular", "is_node_consecutive", "is_multi_threaded"),
)
_WORDS = {
    "comm_type": ("intra", "inter"),
    "comm_size": ("node_comm_size",),
    "comm_hierarchy": ("parent", "node_roots", "node", "flat"),
    **dict.fromkeys(_YES_OR_NO, ("yes", "no")),
}
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


@dataclass(frozen=True)
class _Reading:
    """The answers to the questions on the path to a node of a tree.

    Attributes:
        rule: The answers, as a rule.
        measure: What sizes count, if the path asks for sizes.
        is_dead: Whether no call gets here, as answers contradict each other.
        is_late: Whether the path has a question that a communicator alone does not answer.
    """

    rule: Rule
    measure: str = ""
    is_dead: bool = False
    is_late: bool = False


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
        rules += _rules(member, _Reading(Rule(function, None)))
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
    """Return a name without blanks, as MPICH reads it."""
    return member.name.replace(" ", "")


def _rules(top: json_nodes.Member, reading: _Reading) -> Iterator[Rule]:
    """Give the rules of a subtree."""
    members = _members(top.node)
    if not members:
        raise top.error(f"{reading.rule.function}: an empty object, expected an algorithm in it")
    left: _Reading | None = reading
    for member in members:
        name = _key(member)
        if left is None:
            got = quote_text(member.name)
            raise member.error(f"{got} is never reached, as the question before it is always true")
        if name.startswith((_CHOICE, _OTHER_CHOICE)):
            choice = _choice(name, member)
            if not left.is_dead:
                yield replace(left.rule, choice=choice, measure=left.measure or "size", line=member.line)
            return
        question = replace(left, is_late=left.is_late or not _ASKED_EARLY.match(name))
        inner, left = _answer_condition(name, member, question)
        yield from _rules(member, inner)
    last = members[-1]
    if left is not None and _NEEDS_ANY.match(_key(last)):
        function = reading.rule.function
        raise last.error(f'{function}: some calls have no algorithm, expected "=any" as the last question')


def _choice(name: str, member: json_nodes.Member) -> Choice:
    parameters = []
    for each in _members(member.node):
        key, equals, value = _key(each).partition("=")
        if not (key and equals and value) or _members(each.node):
            raise each.error(f'got {quote_text(each.name)}, expected a parameter such as "k=4": {{}}')
        is_number = value.isascii() and value.isdecimal() and len(value) < 10
        parameters.append((key, int(value) if is_number else value))
    return Choice(name.removeprefix(_CHOICE).removeprefix(_OTHER_CHOICE), tuple(parameters))


def _answer_condition(name: str, member: json_nodes.Member, left: _Reading) -> tuple[_Reading, _Reading | None]:
    """Return the readings of the subtree behind a question, and of the next question; None if no call gets there."""
    if _ANYTHING.fullmatch(name):
        return left, None
    if name == _POWER_OF_TWO:
        return _power_of_two(left, True), _power_of_two(left, False)
    number = _NUMBERS.fullmatch(name)
    if number and number[1] == "comm_size":
        # If MPICH 5.0.2 asks at a call, and not when a communicator is made, it takes "<" as "<=".
        return _halves(left, "ranks", _up_to(number, member) + (number[2] == "<" and left.is_late))
    if number and number[1].endswith("msg_size"):
        return _sizes(number, member, left)
    is_single = number is not None or name == _BELOW_POWER_OF_TWO
    key, value = (name, "yes") if is_single else name.partition("=")[::2]
    if not is_single and value not in _WORDS.get(key, ()):
        raise member.error(f"unknown question {quote_text(member.name)}, expected a question of MPICH 5.0")
    other = None if number else _OTHERS.get(value)
    return _condition(left, key, value), left if other is None else _condition(left, key, other)


def _change(reading: _Reading, *, is_dead: bool = False, **changes: Any) -> _Reading:
    return replace(reading, rule=replace(reading.rule, **changes), is_dead=reading.is_dead or is_dead)


def _condition(reading: _Reading, name: str, value: str) -> _Reading:
    before = dict(reading.rule.conditions)
    return _change(reading, conditions=tuple({**before, name: value}.items()), is_dead=before.get(name, value) != value)


def _power_of_two(reading: _Reading, is_power: bool) -> _Reading:
    return _change(reading, power_of_two=is_power, is_dead=reading.rule.power_of_two not in (None, is_power))


def _halves(reading: _Reading, what: str, last: int) -> tuple[_Reading, _Reading]:
    """Return the readings for ranks or sizes up to a last one, and for larger ones."""
    parts = (getattr(reading.rule, what).within(part) for part in (Span(0, last), Span(last + 1)))
    below, above = (_change(reading, **{what: part}, is_dead=part.is_empty) for part in parts)
    return below, above


def _up_to(number: re.Match[str], member: json_nodes.Member) -> int:
    """Return the largest number for which a question is true."""
    if int(number[3]) > _MOST:
        raise member.error(f"{quote_text(member.name)}: expected a number up to {_MOST}")
    return int(number[3]) - (number[2] == "<")


def _sizes(number: re.Match[str], member: json_nodes.Member, left: _Reading) -> tuple[_Reading, _Reading]:
    function = left.rule.function.removeprefix("i")
    is_average = number[1] == "avg_msg_size"
    if function not in (_AVERAGE if is_average else _TOTAL):
        ends = "which makes MPICH end the program, expected another question"
        raise member.error(f"{function}: got {number[1]}, {ends}")
    whole = "size" if is_average or function.startswith("reduce_scatter") else "total"
    if left.measure not in ("", whole):
        raise member.error(f"{function}: got avg_msg_size and total_msg_size, expected one of them")
    return _halves(replace(left, measure=whole), "sizes", _up_to(number, member))


def _write(rules: Rules) -> str:
    """Write a tree. Calls that rules leave to MPICH get the function's part of its own tree."""
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
    """Return the tree of a function, in the tree of a name."""
    conditions = {condition for rule in rules for condition, _ in rule.conditions}
    if "comm_type" in conditions:
        return _build(rules, function, name)
    default = default_tree(name)[f"{_COLLECTIVE}{function}"]
    if name == LIBRARY and function in WHOLE_COMPOSITIONS and "comm_hierarchy" not in conditions:
        own = (Rule(function, None, conditions=(("comm_hierarchy", kind),)) for kind in ("node_roots", "node"))
        rules = [*own, *rules]  # calls within a composition are MPICH's
    inner = _build(rules, function, name)
    between = default.get("comm_type=inter")
    if name == DEVICE and "comm_type=intra" in default:
        return {"comm_type=intra": inner}
    return {"comm_type=intra": inner, "comm_type=inter": between} if between else inner


def _build(rules: Sequence[Rule], function: str, name: str) -> Tree:
    """Return the tree that asks for a condition of the first rule, with a subtree for each answer."""
    first = rules[0] if rules else Rule(function, None)
    is_free = first.ranks == first.sizes == ANY and first.power_of_two is None and not first.conditions
    if is_free and first.choice is None:  # MPICH's own tree within a communicator, with unambiguous questions
        default = default_tree(name)[f"{_COLLECTIVE}{function}"]
        return _exact(default.get("comm_type=intra", default), is_late=False)
    if first.conditions:
        return _by_condition(rules, function, first.conditions[0][0], name)
    if first.ranks != ANY:
        return _by_number(rules, function, "comm_size", name)
    if first.power_of_two is not None:
        return {
            _POWER_OF_TWO: _build(_answer(rules, True), function, name),
            "comm_size=any": _build(_answer(rules, False), function, name),
        }
    if first.sizes != ANY:
        return _by_number(rules, function, _size_name(first), name)
    assert first.choice is not None
    if name == DEVICE:
        return {f"{_OTHER_CHOICE}{first.choice.algorithm}": {}}
    if first.choice.algorithm in COMPOSITIONS:
        raise Error(f"{function}: {first.choice} belongs to MPICH's device, expected an algorithm of the tree below it")
    if first.choice.algorithm not in known_names() and function in LIBRARIES[LIBRARY].algorithms:
        raise Error(f"{function}: {LIBRARY} has no algorithm {first.choice.algorithm}")
    return {f"{_CHOICE}{first.choice.algorithm}": {f"{name}={value}": {} for name, value in first.choice.parameters}}


def _answer(rules: Sequence[Rule], is_power: bool) -> list[Rule]:
    return [replace(rule, power_of_two=None) for rule in rules if rule.power_of_two in (None, is_power)]


def _by_condition(rules: Sequence[Rule], function: str, condition: str, name: str) -> Tree:
    values = list(dict.fromkeys(value for rule in rules for key, value in rule.conditions if key == condition))
    tree = {
        _question(condition, value): _build(_rules_under(rules, condition, value), function, name) for value in values
    }
    if not any(_OTHERS.get(value) in values for value in values):
        if condition == _BELOW_POWER_OF_TWO and values == ["no"]:
            return {_question(condition, "yes"): _build(_rules_under(rules, condition, None), function, name), **tree}
        other = _OTHERS.get(values[0], "any")
        last = "count=any" if condition == _BELOW_POWER_OF_TWO else f"{condition.split('<')[0]}={other}"
        tree[last] = _build(_rules_under(rules, condition, None), function, name)
    return tree


def _question(name: str, value: str) -> str:
    if name == _BELOW_POWER_OF_TWO:
        return name if value == "yes" else "count=any"
    return name if "<" in name else f"{name}={value}"


def _rules_under(rules: Sequence[Rule], name: str, value: str | None) -> list[Rule]:
    """Return the remaining rules if a condition has a value, or (None) a value that no rule names."""
    return [rule.drop_condition(name) for rule in rules if dict(rule.conditions).get(name) in (None, value)]


def _by_number(rules: Sequence[Rule], function: str, question: str, name: str) -> Tree:
    """Return the questions for a range of ranks or sizes, each up to a number."""
    is_ranks = question == "comm_size"

    def range_of(rule: Rule) -> Span:
        return rule.ranks if is_ranks else rule.sizes

    def left(span: Span) -> list[Rule]:
        inside = (rule for rule in rules if span.first in range_of(rule))
        return [replace(rule, ranks=ANY) if is_ranks else replace(rule, sizes=ANY) for rule in inside]

    parts = merged((span, left(span)) for span in spans(boundaries(map(range_of, rules))))
    # "<" is avoided: after a question about the message, MPICH takes "comm_size<8" as "comm_size<=8".
    return {
        f"{question}=any" if span.last is None else f"{question}<={min(span.last, _MOST)}": _build(
            inside, function, name
        )
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
_DEVICE = Format("mpich-5.0.device", LIBRARY, None, _write_device, settings=_SETTINGS_OF_DEVICE)
FORMATS = (Format(LIBRARY, LIBRARY, _read, _write, settings=_SETTINGS, companion=_DEVICE),)
