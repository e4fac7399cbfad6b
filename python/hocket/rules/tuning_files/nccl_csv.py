"""NCCL's and RCCL's tuner files, `NCCL_TUNER_CONFIG_FILE`: one line for each range of sizes.

A line is `collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks` and perhaps `,numPipeOps,regBuff`;
-1 is any, and both sizes belong to the range. The first line decides that fits and whose algorithm the library can run.
A number of ranks is one number or any, so that a range of ranks becomes a line for each. RCCL's lines may go on with
`,partitionMode,localGroup`.

Source: `plugins/tuner/example/plugin.c` of NCCL 2.30, `src/plugin/tuner/csv_tuner.cc` of RCCL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from hocket._native import Error
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import ANY, Format, Rule, Rules, Span
from hocket.rules.tuning_files.grid import rows
from hocket.rules.tuning_files.tuner_csv import Line, lines, name_of, words_of

_COLUMNS = ("collective", "min_bytes", "max_bytes", "algorithm", "protocol", "channels", "nNodes", "nRanks")
_CONDITIONS = ("numPipeOps", "regBuff", "partitionMode", "localGroup")
_PARTITIONS = ("any", "-1", "spx", "cpx")
_LARGEST = (1 << 64) - 1  # stands for any size
_MOST_LINES = 4096
_LEAST_RANKS = 2


@dataclass(frozen=True)
class _Tuner:
    """Who reads a file, how many conditions may end its lines, and what it does with unknown words."""

    library: str
    conditions: int
    otherwise: str


_NCCL = _Tuner("nccl-2", 2, "for which NCCL takes allreduce, ring or simple")
_RCCL = _Tuner("rccl-2", 4, "for which RCCL leaves the line out")


def _read(tuner: _Tuner, text: str, file: str) -> Rules:
    rules = lines(text, file, lambda line: line.split(","))
    return Rules(tuner.library, tuple(_rule(tuner, line) for line in rules if line.fields[-1] not in _HEADS))


_HEADS = (*_COLUMNS[-1:], *_CONDITIONS)  # the last field of a line of headings, which is for no call


def _rule(tuner: _Tuner, line: Line) -> Rule:
    least, most = len(_COLUMNS), len(_COLUMNS) + tuner.conditions
    if not least <= len(line.fields) <= most:
        raise line.error(f"got {len(line.fields)} fields, expected {least} to {most}: {','.join(_COLUMNS)}, ..")
    if "" in line.fields:
        raise line.error("an empty field, which moves the fields after it up; expected -1 for any")
    function = line.function(tuner.otherwise)
    return Rule(
        function,
        line.choice(3, tuner.otherwise),
        _count(line, 7),
        sizes=_sizes(line),
        measure=LIBRARIES[tuner.library].measures[function],
        nodes=_count(line, 6),
        conditions=tuple(_conditions(line)),
        line=line.line,
    )


def _sizes(line: Line) -> Span:
    first = line.whole(1, "min_bytes", "a size in bytes", 0, _LARGEST)
    last = line.whole(2, "max_bytes", "a size in bytes", 0, _LARGEST)
    if first == -1:
        raise line.error('min_bytes: got "-1", which is the largest size, expected 0')
    return Span(first, None if last in (-1, _LARGEST) else last)


def _count(line: Line, place: int) -> Span:
    count = line.whole(place, _COLUMNS[place], "-1 or a number from 1 on", 1)
    return ANY if count == -1 else Span(count, count)


def _conditions(line: Line) -> Iterator[tuple[str, str]]:
    for place, name in enumerate(_CONDITIONS[: len(line.fields) - len(_COLUMNS)], start=len(_COLUMNS)):
        if name == "partitionMode":
            value = line.word(place, name, _PARTITIONS, "for which RCCL leaves the line out")
        else:
            value = str(line.whole(place, name, "-1 or a whole number", 0))
        if value not in ("any", "-1"):
            yield name, value


def _write(tuner: _Tuner, rules: Rules) -> str:
    lines = [line for function in rules.functions for line in _lines(tuner, rules.of(function), function)]
    if len(lines) > _MOST_LINES:
        raise Error(f"{len(lines)} lines for NCCL, expected at most {_MOST_LINES}: each is for one number of ranks")
    return "\n".join([f"# {','.join(_COLUMNS)}", *lines]) + "\n"


def _lines(tuner: _Tuner, rules: Sequence[Rule], function: str) -> Iterator[str]:
    if all(rule.choice and (rule.ranks == ANY or rule.ranks.is_single) for rule in rules):
        yield from (_line(tuner, rule) for rule in rules)
        return
    left_out: Span | None = None
    for row in rows(rules):
        if row.ranks.last is not None and row.ranks.last < _LEAST_RANKS:
            continue
        choices = [(sizes, choice) for sizes, choice in row.choices if choice is not None]
        if len(choices) < len(row.choices):
            left_out = left_out or row.ranks
        if row.ranks.last is None and choices and left_out and left_out != row.ranks:
            raise Error(
                f"{function}: ranks {row.ranks} have no end, and calls on {left_out} are left to NCCL: a line for all "
                "ranks would take these, too; expected a rule for every number of ranks, or ranges with an end"
            )
        counts = [ANY]
        if row.ranks.last is not None:
            counts = [Span(count, count) for count in range(max(row.ranks.first, _LEAST_RANKS), row.ranks.last + 1)]
        if len(counts) > _MOST_LINES:
            raise Error(f"{function}: ranks {row.ranks} need a line each, expected at most {_MOST_LINES}")
        for ranks in counts:
            for sizes, choice in choices:
                yield _line(tuner, Rule(function, choice, ranks, sizes=sizes, measure=rules[0].measure))


def _line(tuner: _Tuner, rule: Rule) -> str:
    measure = LIBRARIES[tuner.library].measures.get(rule.function)
    values = dict(rule.conditions)
    is_other = rule.power_of_two is not None or rule.placement != "any" or rule.ranks_per_node != ANY
    if is_other or not values.keys() <= set(_CONDITIONS[: tuner.conditions]):
        raise Error(f"{rule.function}: got a rule with other conditions, expected sizes, ranks and nodes only")
    if rule.sizes != ANY and rule.measure != measure:
        raise Error(f"{rule.function}: got sizes as {rule.measure}, expected {measure}")
    assert rule.choice is not None  # the caller leaves out the others
    last = _LARGEST if rule.sizes.last is None else rule.sizes.last
    fields = [name_of(rule.function), str(rule.sizes.first), str(last), *words_of(rule.choice)]
    fields += [_number(rule.nodes), _number(rule.ranks)]
    if values:
        most = max(_CONDITIONS.index(name) for name in values)
        fields += [values.get(name, "-1") for name in _CONDITIONS[: most + 1]]
    return ",".join(fields)


def _number(span: Span) -> str:
    if span != ANY and not span.is_single:
        raise Error(f"got a rule for {span}, expected one number of nodes or ranks, or any")
    return "-1" if span == ANY else str(span.first)


FORMATS = (
    Format(_RCCL.library, _RCCL.library, partial(_read, _RCCL), partial(_write, _RCCL), names=("rccl_tuner*",)),
    Format(
        _NCCL.library, _NCCL.library, partial(_read, _NCCL), partial(_write, _NCCL), names=("*.csv", "nccl_tuner.conf")
    ),
)
