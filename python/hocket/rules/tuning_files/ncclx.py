"""NCCLX's tuner files, `NCCLX_TUNER_CONFIG_FILE`: a rule for each range of sizes and of nodes, as CSV or as JSON.

A line is `collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks` and perhaps `,chunkSize`. The bytes
per rank are those of NCCL's message, divided by the number of ranks. They, the nodes and the ranks per node are `*`, a
number, or an interval such as `[0,4096)`, of which a bound may be missing. The first line decides that fits and whose
algorithm the library can run. A line that NCCLX cannot read is an error of the communicator.

A file whose name ends in `.json` has a list `rules`; each has its conditions in `filter` and the others in `config`, by
the names of the columns. All but the collective, algorithm and protocol may be missing.

Source: `comms/ncclx/meta/tuner` of torchcomms, as of July 2026: before, `bytes` was the whole message, and
`numPipeOps,regBuff` stood before `chunkSize`.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from hocket._native import Error
from hocket.rules.tuning_files import json_nodes
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import ANY, NOTHING, Format, Rule, Rules, Span, quote_text
from hocket.rules.tuning_files.nccl_csv import Line, lines, name_of, words_of

_LIBRARY = "ncclx-2"
_COLUMNS = ("collective", "bytesPerRank", "algorithm", "protocol", "channels", "nNodes", "nLocalRanks", "chunkSize")
_CHUNK = "chunkSize"
_PARTS = {
    "filter": ("collective", "bytesPerRank", "nNodes", "nLocalRanks"),
    "config": ("algorithm", "protocol", "channels", "chunkSize"),
}
_UNTOLD = ("*", "-1", "")
_OTHERWISE = "for which NCCLX refuses the file"
_LARGEST = (1 << 63) - 1
_NUMBER = r"\s*(\d{1,19})\s*"
_RANGE = re.compile(rf"\*|{_NUMBER}|([\[(])(?:{_NUMBER}|\s*),(?:{_NUMBER}|\s*)([\])])", re.ASCII)
_FIELD_ENDS = re.compile(r",(?![^\[(]*[\])])")  # commas that are not in an interval


def _read(text: str, file: str) -> Rules:
    return Rules(_LIBRARY, tuple(_rule(line) for line in lines(text, file, _FIELD_ENDS.split)))


def _rule(line: Line) -> Rule:
    if not len(_COLUMNS) - 1 <= len(line.fields) <= len(_COLUMNS):
        expected = f"expected 7 or 8: {','.join(_COLUMNS)}"
        raise line.error(f"got {len(line.fields)} fields, {expected}; numPipeOps and regBuff are no longer among them")
    function, choice = line.function(_OTHERWISE), line.choice(2, _OTHERWISE)
    nodes, per_node = _span(line, 5), _span(line, 6)
    choice = replace(choice, parameters=(*choice.parameters, *_chunk(line)))
    ranks, sizes, measure = _product(nodes, per_node), _span(line, 1), LIBRARIES[_LIBRARY].measures[function]
    return Rule(
        function, choice, ranks, sizes=sizes, measure=measure, nodes=nodes, ranks_per_node=per_node, line=line.line
    )


def _span(line: Line, place: int) -> Span:
    text = line.fields[place]
    match = _RANGE.fullmatch(text) if text else _RANGE.fullmatch("*")
    bounds = [int(number) for number in match.groups()[:4] if number and number.isdecimal()] if match else []
    if match is None or max(bounds, default=0) > _LARGEST or (len(bounds) == 2 and bounds[0] > bounds[1]):
        raise line.error(
            f"{_COLUMNS[place]}: got {quote_text(text)}, expected *, a number, or an interval such as [0,4096) or (8,]"
        )
    single, opening, first, last, closing = match.groups()
    if single:
        return Span(int(single), int(single))
    least, most = int(first) if first else 0, int(last) if last else None
    if first and opening == "(":
        least += 1
    if most is not None and closing == ")":
        most -= 1
    span = Span(least, most)
    return NOTHING if span.is_empty else span


def _product(one: Span, two: Span) -> Span:
    """Return the ranks that some nodes with some ranks on each can have."""
    last = None if one.last is None or two.last is None else one.last * two.last
    return Span(one.first * two.first, last)


def _chunk(line: Line) -> tuple[tuple[str, int | str], ...]:
    size = 0
    if line.fields[7:] not in ([], [""]):
        size = line.whole(7, _CHUNK, "a size in bytes, or 0 for the library's", 0)
    if size == -1:
        raise line.error(f'{_CHUNK}: got "-1", for which NCCLX refuses the file; expected a size in bytes, or 0')
    return ((_CHUNK, size),) if size else ()


def _read_json(text: str, file: str) -> Rules:
    top = json_nodes.Object(json_nodes.parse(text, file), "the file", ["rules"])
    return Rules(_LIBRARY, tuple(_rule(_line_of(node)) for node in top.items("rules")))


def _line_of(node: json_nodes.Node) -> Line:
    """Return a rule of JSON as the line of CSV that says the same."""
    rule = json_nodes.Object(node, "a rule", ["filter", "config"])
    fields = {"channels": "-1"}
    for part, names in _PARTS.items():
        for name, member in json_nodes.Object(rule.node(part), part, names).members.items():
            if type(member.node.value) not in (int, str):
                raise member.node.error(f"{name}: got {member.node}, expected a text or a whole number")
            fields[name] = str(member.node.value).strip()
    return Line(node.file, rule.line, [fields.get(name, "") for name in _COLUMNS])


def _write(rules: Rules) -> str:
    lines = (",".join(fields if fields[-1] else fields[:-1]) for fields in map(_fields, rules.rules))
    return "\n".join([f"# {','.join(_COLUMNS)}", *lines]) + "\n"


def _write_json(rules: Rules) -> str:
    parts = []
    for fields in map(_fields, rules.rules):
        texts = {name: text for name, text in zip(_COLUMNS, fields, strict=True) if text not in _UNTOLD}
        data = {name: int(text) if text.isdecimal() else text for name, text in texts.items()}
        parts.append({part: {name: data[name] for name in names if name in data} for part, names in _PARTS.items()})
    return json.dumps({"rules": parts}, indent=2) + "\n"


def _fields(rule: Rule) -> list[str]:
    if rule.choice is None:
        raise Error(f"{rule.function}: got a rule that leaves calls to NCCLX, expected an algorithm in every rule")
    if rule.power_of_two is not None or rule.placement != "any" or rule.conditions:
        raise Error(f"{rule.function}: got a rule with other conditions, expected sizes and nodes only")
    if rule.ranks != _product(rule.nodes, rule.ranks_per_node):
        raise Error(f"{rule.function}: got a rule for {rule.ranks} ranks, expected nodes and ranks per node")
    if rule.sizes != ANY and rule.measure != LIBRARIES[_LIBRARY].measures.get(rule.function):
        raise Error(f"{rule.function}: got sizes as {rule.measure}, expected the bytes of a rank")
    fields = [name_of(rule.function), _interval(rule.sizes), *words_of(rule.choice, (_CHUNK,))]
    chunk = dict(rule.choice.parameters).get(_CHUNK, "")
    return [*fields, _interval(rule.nodes), _interval(rule.ranks_per_node), str(chunk)]


def _interval(span: Span) -> str:
    if span == ANY:
        return "*"
    if span.is_empty:
        return "(0,0)"
    if span.is_single:
        return str(span.first)
    return f"[{span.first},)" if span.last is None else f"[{span.first},{span.last}]"


FORMATS = (
    Format(_LIBRARY, _LIBRARY, _read, _write),
    Format(f"{_LIBRARY}.json", _LIBRARY, _read_json, _write_json),
)
