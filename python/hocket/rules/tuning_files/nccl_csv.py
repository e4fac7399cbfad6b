"""NCCL's and RCCL's tuner files, `NCCL_TUNER_CONFIG_FILE`: one line for each range of sizes.

A line is `collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks` and perhaps `,numPipeOps,regBuff`;
-1 is any, and both sizes belong to the range. The first line decides that fits and whose algorithm the library can run.
A number of ranks is one number or any, so that a range of ranks becomes a line for each. RCCL's lines may go on with
`,partitionMode,localGroup`. NCCLX's files have the same words, and fields with their line.

Source: `plugins/tuner/example/plugin.c` of NCCL 2.30, `src/plugin/tuner/csv_tuner.cc` of RCCL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from hocket._native import Error
from hocket.rules.tuning_files.counterparts import ALGORITHMS, LIBRARIES, PROTOCOLS
from hocket.rules.tuning_files.form import ANY, Choice, Format, Place, Rule, Rules, Span, quote_text
from hocket.rules.tuning_files.grid import rows

FUNCTIONS = {
    "broadcast": "bcast",
    "reduce": "reduce",
    "allgather": "allgather",
    "reducescatter": "reduce_scatter",
    "allreduce": "allreduce",
}
"""The collectives as files call them, and their MPI functions."""

_NAMES = {function: name for name, function in FUNCTIONS.items()}
_MOST_DIGITS = 20
_LONGEST = 254  # bytes: NCCL's buffer, without the end of the line and of the text
_LARGEST_INT = (1 << 31) - 1


@dataclass(frozen=True)
class Line(Place):
    """A line of a file, and its fields without blanks around them."""

    fields: Sequence[str]

    def word(self, place: int, name: str, names: Iterable[str], otherwise: str) -> str:
        """Return a field that is one of some words; `otherwise` is what the library does with any other word."""
        if self.fields[place] not in names:
            raise self.error(
                f"unknown {name} {quote_text(self.fields[place])}, {otherwise}; expected {', '.join(names)}"
            )
        return self.fields[place]

    def whole(self, place: int, name: str, expected: str, least: int, most: int = _LARGEST_INT) -> int:
        """Return a field that is a whole number, -1 or from `least` on."""
        text = self.fields[place]
        is_whole = text.isascii() and text.removeprefix("-").isdecimal() and len(text) <= _MOST_DIGITS
        if not is_whole or not (int(text) == -1 or least <= int(text) <= most):
            raise self.error(f"{name}: got {quote_text(text)}, expected {expected}")
        return int(text)

    def function(self, otherwise: str) -> str:
        """Return the function of the collective in the first field."""
        return FUNCTIONS[self.word(0, "collective", FUNCTIONS, otherwise)]

    def choice(self, place: int, otherwise: str) -> Choice:
        """Return an algorithm with its protocol, and with its channels unless the library chooses them, in 3 fields."""
        algorithm = self.word(place, "algorithm", ALGORITHMS, otherwise)
        protocol = self.word(place + 1, "protocol", PROTOCOLS, otherwise)
        count = self.whole(place + 2, "channels", "-1 or a number from 1 on", 1)
        return Choice(algorithm, (("protocol", protocol), *([] if count == -1 else [("channels", count)])))


def lines(text: str, file: str, split: Callable[[str], Sequence[str]]) -> Iterator[Line]:
    """Give the lines that are neither empty nor a comment; refuse one that is longer than what NCCL reads as a line."""
    for number, line in enumerate(text.split("\n"), start=1):
        content = line.strip(" \t\r")
        if content and not content.startswith("#"):
            if len(line.encode(errors="replace")) > _LONGEST:
                raise Place(file, number).error(f"longer than {_LONGEST} bytes, expected a shorter line")
            yield Line(file, number, [field.strip(" \t") for field in split(content)])


def name_of(function: str) -> str:
    """Return the name of a function in files, or raise an error if it has none."""
    if function not in _NAMES:
        raise Error(f"{function}: NCCL's tuners have no lines for it, expected {', '.join(_NAMES)}")
    return _NAMES[function]


def words_of(choice: Choice, also: Sequence[str] = ()) -> tuple[str, str, str]:
    """Return an algorithm of NCCL, its protocol and channels as fields; refuse others, and parameters beside `also`."""
    values = {"protocol": "simple", "channels": -1, **dict(choice.parameters)}
    if choice.algorithm not in ALGORITHMS or not values.keys() <= {"protocol", "channels", *also}:
        raise Error(f"got {choice}, expected an algorithm of NCCL with {', '.join(('protocol', 'channels', *also))}")
    return choice.algorithm, str(values["protocol"]), str(values["channels"])


_COLUMNS = ("collective", "min_bytes", "max_bytes", "algorithm", "protocol", "channels", "nNodes", "nRanks")
_NCCL, _RCCL = "nccl-2", "rccl-2"
_CONDITIONS = {
    _NCCL: ("numPipeOps", "regBuff"),
    _RCCL: ("numPipeOps", "regBuff", "partitionMode", "localGroup"),
}
_OTHERWISE = {
    _NCCL: "for which NCCL takes allreduce, ring or simple",
    _RCCL: "for which RCCL leaves the line out",
}
"""What each library does with a line that has an unknown word."""
_HEADS = (_COLUMNS[-1], *_CONDITIONS[_RCCL])  # the last field of a line of headings, which is for no call
_PARTITIONS = ("any", "-1", "spx", "cpx")
_LARGEST = (1 << 64) - 1  # stands for any size
_MOST_LINES = 4096
_LEAST_RANKS = 2


def _read(library: str, text: str, file: str) -> Rules:
    rules = lines(text, file, lambda line: line.split(","))
    return Rules(library, tuple(_rule(library, line) for line in rules if line.fields[-1] not in _HEADS))


def _rule(library: str, line: Line) -> Rule:
    least, most = len(_COLUMNS), len(_COLUMNS) + len(_CONDITIONS[library])
    if not least <= len(line.fields) <= most:
        raise line.error(f"got {len(line.fields)} fields, expected {least} to {most}: {','.join(_COLUMNS)}, ..")
    if "" in line.fields:
        raise line.error("an empty field, which moves the fields after it up; expected -1 for any")
    function = line.function(_OTHERWISE[library])
    choice, ranks = line.choice(3, _OTHERWISE[library]), _count(line, 7)
    first, last = (line.whole(place, _COLUMNS[place], "a size in bytes", 0, _LARGEST) for place in (1, 2))
    if first == -1:
        raise line.error('min_bytes: got "-1", which is the largest size, expected 0')
    sizes, measure = Span(first, None if last in (-1, _LARGEST) else last), LIBRARIES[library].measures[function]
    nodes, conditions = _count(line, 6), tuple(_conditions(line, _CONDITIONS[library]))
    return Rule(
        function, choice, ranks, sizes=sizes, measure=measure, nodes=nodes, conditions=conditions, line=line.line
    )


def _count(line: Line, place: int) -> Span:
    count = line.whole(place, _COLUMNS[place], "-1 or a number from 1 on", 1)
    return ANY if count == -1 else Span(count, count)


def _conditions(line: Line, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for place, name in enumerate(names[: len(line.fields) - len(_COLUMNS)], start=len(_COLUMNS)):
        if name == "partitionMode":
            value = line.word(place, name, _PARTITIONS, _OTHERWISE[_RCCL])
        else:
            value = str(line.whole(place, name, "-1 or a whole number", 0))
        if value not in ("any", "-1"):
            yield name, value


def _write(library: str, rules: Rules) -> str:
    lines = [line for function in rules.functions for line in _lines(library, rules.of(function), function)]
    if len(lines) > _MOST_LINES:
        raise Error(f"{len(lines)} lines for NCCL, expected at most {_MOST_LINES}: each is for one number of ranks")
    return "\n".join([f"# {','.join(_COLUMNS)}", *lines]) + "\n"


def _lines(library: str, rules: Sequence[Rule], function: str) -> Iterator[str]:
    if all(rule.choice and (rule.ranks == ANY or rule.ranks.is_single) for rule in rules):
        yield from (_line(library, rule) for rule in rules)
        return
    left_out: Span | None = None
    for ranks, row in rows(rules):
        if ranks.last is not None and ranks.last < _LEAST_RANKS:
            continue
        choices = [(sizes, choice) for sizes, choice in row if choice is not None]
        if len(choices) < len(row):
            left_out = left_out or ranks
        if ranks.last is None and choices and left_out and left_out != ranks:
            raise Error(
                f"{function}: ranks {ranks} have no end, and calls on {left_out} are left to NCCL: a line for all "
                "ranks would take these, too; expected a rule for every number of ranks, or ranges with an end"
            )
        counts = [ANY]
        if ranks.last is not None:
            counts = [Span(number, number) for number in range(max(ranks.first, _LEAST_RANKS), ranks.last + 1)]
        if len(counts) > _MOST_LINES:
            raise Error(f"{function}: ranks {ranks} need a line each, expected at most {_MOST_LINES}")
        for count in counts:
            for sizes, choice in choices:
                yield _line(library, Rule(function, choice, count, sizes=sizes, measure=rules[0].measure))


def _line(library: str, rule: Rule) -> str:
    measure = LIBRARIES[library].measures.get(rule.function)
    values, names = dict(rule.conditions), _CONDITIONS[library]
    is_other = rule.power_of_two is not None or rule.placement != "any" or rule.ranks_per_node != ANY
    if is_other or not values.keys() <= set(names):
        raise Error(f"{rule.function}: got a rule with other conditions, expected sizes, ranks and nodes only")
    if rule.sizes != ANY and rule.measure != measure:
        raise Error(f"{rule.function}: got sizes as {rule.measure}, expected {measure}")
    assert rule.choice is not None  # the caller leaves out the others
    last = _LARGEST if rule.sizes.last is None else rule.sizes.last
    fields = [name_of(rule.function), str(rule.sizes.first), str(last), *words_of(rule.choice)]
    fields += [_number(rule.nodes), _number(rule.ranks)]
    most = max((place for place, name in enumerate(names, start=1) if name in values), default=0)
    return ",".join([*fields, *(values.get(name, "-1") for name in names[:most])])


def _number(span: Span) -> str:
    if span != ANY and not span.is_single:
        raise Error(f"got a rule for {span}, expected one number of nodes or ranks, or any")
    return "-1" if span == ANY else str(span.first)


FORMATS = tuple(
    Format(library, library, partial(_read, library), partial(_write, library), names=names)
    for library, names in ((_RCCL, ("rccl_tuner*",)), (_NCCL, ("*.csv", "nccl_tuner.conf")))
)
