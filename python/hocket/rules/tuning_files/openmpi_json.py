"""Open MPI's rules as JSON, `coll_tuned_dynamic_rules_filename` of 6.0 and later.

For each collective a list of communicators, by ranks and how these lie on nodes; for each of these a list of rules by
message size. The first communicator that fits decides, and in it the first rule; where it has none that fits, Open MPI
decides as without a file. Both ends of a range belong to it.

Source: `docs/tuning-apps/tuned_dynamic_file_schema.json` and `ompi/mca/coll/tuned/coll_tuned_dynamic_file.c`, which
reads `seg_size`, where the converter that comes with Open MPI writes `segsize`, which no one reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from hocket._native import Error
from hocket.rules.tuning_files import json_nodes
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import ANY, Choice, Format, Rule, Rules, Span
from hocket.rules.tuning_files.openmpi_classic import FUNCTIONS, MOST, SETTINGS

LIBRARY = "openmpi-6.0"
MISSPELT = "segsize"
"""What the converter of Open MPI writes for "seg_size"; it is read as a parameter that nothing knows."""

_VERSION = 3
_OTHERS = {"reducescatter": "reduce_scatter", "reducescatterblock": "reduce_scatter_block"}
"""Names in files of Open MPI that lack underscores, and the functions."""
_PLACEMENTS = ("any", "one-per-node", "single-node")
_TOP = ("$schema", "rule_file_version", "module", "comm_rank_distribution", "collectives")
_OF_COMMUNICATOR = ("comm_size_min", "comm_size_max", "comm_rank_distribution", "rules")
_PARAMETERS = ("faninout", "seg_size", "reqs", MISSPELT)
_OF_RULE = ("msg_size_min", "msg_size_max", "alg", *_PARAMETERS)


def _read(text: str, file: str) -> Rules:
    top = json_nodes.Object(json_nodes.parse(text, file), "the file", _TOP)
    version = top.node("rule_file_version")
    if version.value != _VERSION:
        raise version.error(f'"rule_file_version": got {version}, expected {_VERSION}')
    top.word("module", ["tuned"])
    placement = top.word("comm_rank_distribution", _PLACEMENTS, "any")
    functions_by_name = {**{function: function for function in FUNCTIONS}, **_OTHERS}
    functions = json_nodes.Object(top.node("collectives"), "collectives", [*functions_by_name])
    rules: list[Rule] = []
    for name in functions.members:
        for each in functions.items(name):
            communicator = json_nodes.Object(each, f"a communicator of {name}", _OF_COMMUNICATOR)
            rules += _communicator(communicator, functions_by_name[name], placement)
    return Rules(LIBRARY, tuple(rules))


def _communicator(communicator: json_nodes.Object, function: str, placement: str) -> Iterator[Rule]:
    ranks = _span(communicator, "comm_size")
    placement = communicator.word("comm_rank_distribution", _PLACEMENTS, placement)
    measure = LIBRARIES[LIBRARY].measures.get(function, "size")
    is_closed = False
    for node in communicator.items("rules"):
        rule = json_nodes.Object(node, f"a rule of {function}", _OF_RULE)
        sizes = _span(rule, "msg_size")
        is_closed |= sizes == ANY
        yield Rule(
            function, _choice(rule, function), ranks, sizes=sizes, measure=measure, placement=placement, line=rule.line
        )
    if not is_closed:
        yield Rule(function, None, ranks, measure=measure, placement=placement, line=communicator.line)


def _span(data: json_nodes.Object, name: str) -> Span:
    return Span(data.number(f"{name}_min") or 0, data.number(f"{name}_max"))


def _span_to_json(span: Span, name: str) -> dict[str, Any]:
    ends = {f"{name}_min": span.first or None, f"{name}_max": span.last}
    return {key: value for key, value in ends.items() if value is not None}


def _choice(rule: json_nodes.Object, function: str) -> Choice | None:
    node = rule.node("alg")
    if type(node.value) not in (int, str) or (isinstance(node.value, int) and node.value < 0):
        raise node.error(f'"alg": got {node}, expected a name or a number')
    if node.value in (0, "ignore"):
        return None
    values = ((name, rule.number(name, MOST)) for name in _PARAMETERS)
    return LIBRARIES[LIBRARY].choice(function, str(node.value), tuple((name, value) for name, value in values if value))


def _write(rules: Rules) -> str:
    names = {function: name for name, function in _OTHERS.items()}
    collectives = {
        names.get(function, function): [_to_json(part, function) for part in _communicators(rules.of(function))]
        for function in sorted(rules.functions, key=FUNCTIONS.index)
    }
    return json.dumps({"rule_file_version": _VERSION, "module": "tuned", "collectives": collectives}, indent=2) + "\n"


def _communicators(rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    """Give the rules of each entry for communicators: successive rules for the same one, up to a rule for all sizes."""
    for _, group in groupby(rules, key=lambda rule: (rule.ranks, rule.placement)):
        part: list[Rule] = []
        for rule in group:
            if rule.power_of_two is not None or rule.conditions:
                raise Error(f"{rule.function}: got a rule with other conditions than ranks, nodes and sizes")
            part.append(rule)
            if rule.sizes == ANY:
                yield part
                part = []
        if part:
            yield part


def _to_json(part: Sequence[Rule], function: str) -> dict[str, Any]:
    communicator = _span_to_json(part[0].ranks, "comm_size")
    if part[0].placement != "any":
        communicator["comm_rank_distribution"] = part[0].placement
    is_implied = part[-1].choice is None and part[-1].sizes == ANY
    communicator["rules"] = [_rule_to_json(rule, function) for rule in part[: -1 if is_implied else None]]
    return communicator


def _rule_to_json(rule: Rule, function: str) -> dict[str, Any]:
    data = _span_to_json(rule.sizes, "msg_size")
    if rule.choice is None:
        return {**data, "alg": 0}
    name = rule.choice.algorithm
    if LIBRARIES[LIBRARY].find(function, name) is None and not name.isdecimal():
        raise Error(f"{function}: {LIBRARY} has no algorithm {name}")
    return {**data, "alg": int(name) if name.isdecimal() else name, **dict(rule.choice.parameters)}


FORMATS = (Format("openmpi-6.0", LIBRARY, _read, _write, settings=SETTINGS),)
