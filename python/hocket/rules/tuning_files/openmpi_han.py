"""The rules of Open MPI's component `han`, `coll_han_dynamic_rules_filename`: words, and comments that begin with `#`.

How many collectives; for each its name or number and how many levels; for each of these its name or number and how many
sizes of communicators, the first being 1; for each of these its ranks and how many message sizes, the first being 0;
for each of these its bytes and the component that takes the call. After `han`, `@` and an algorithm of it may follow;
after a component, lengths of segments in brackets, which nothing uses.

HAN takes calls on communicators of several nodes, of which one has several ranks. A rule of the level
`global_communicator` decides what takes such a call. Rules of the other levels are for the communicators that HAN makes
of the ranks of a node, and of one rank on each node, by their own numbers of ranks. HAN asks the latter rules in its
barrier and allgather, and in its algorithms `simple` but that of reduce.

Source: `ompi/mca/coll/han/coll_han_dynamic_file.c` and `coll_han_dynamic.c` of Open MPI 5.0. The library drops a file
with an error, and ignores what follows the last rule; of collectives and levels that appear twice it takes the last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from hocket._native import Error
from hocket.base.checks import hint
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import Choice, Format, Rule, Rules, Situation, Span, quote_text
from hocket.rules.tuning_files.grid import rows
from hocket.rules.tuning_files.han import CALLS, SEGMENT_BYTES, why_not_han
from hocket.rules.tuning_files.openmpi_classic import FUNCTIONS, MOST, WordReader, find_miscount, rules_of

LIBRARY = "openmpi-5.0-han"
LEVELS = ("intra_node", "inter_node", "global_communicator")
"""The levels; the place of each is its number."""
FUNCTIONS_OF_HAN = tuple(CALLS)
"""The functions whose calls HAN takes."""
COMPONENTS = ("self", "basic", "libnbc", "tuned", "sm", "adapt", "han")
"""The components that a rule can name."""

LEVEL = "level"
"""The condition of a rule that names its level."""

_GLOBAL = LEVELS[-1]
_WITHOUT_CALLS = {
    "self": "takes only calls on one rank",
    "libnbc": "has no blocking calls",
    "sm": "takes part only with coll_sm_priority from 11 on",
    "adapt": "takes part only with coll_adapt_priority from 11 on",
}


def _read(text: str, file: str) -> Rules:
    words = WordReader(text, file)
    try:
        if not (count := words.number("the number of collectives", len(FUNCTIONS))):
            raise words.place.error('got "0", expected the number of collectives, at least 1')
        rules: list[Rule] = []
        for function in _names(words, count, "collective", FUNCTIONS):
            for level in _names(words, words.number("the number of levels", len(LEVELS)), "level", LEVELS):
                rules += rules_of(_entries(words, function, level), _spans, _spans)
        words.end()
    except Error as error:
        raise find_miscount(text, file, _is_of_size) or error from None
    return Rules(LIBRARY, tuple(rules))


def _is_of_size(words: Sequence[str]) -> bool:
    return len(words) > 1 and words[0].isdecimal() and words[1] in COMPONENTS


def _names(words: WordReader, count: int, what: str, names: Sequence[str]) -> Iterator[str]:
    """Give the names of some parts as each begins, in which numbers stand for names; none may appear twice."""
    names_before: set[str] = set()
    for _ in range(count):
        word = words.word(f"a {what}")
        name = names[int(word)] if word in map(str, range(len(names))) else word
        if name not in names:
            raise words.place.error(f"unknown {what} {quote_text(word)}, {hint(word, names)}")
        if name in names_before:
            raise words.place.error(f"{name} appears twice, expected each {what} once")
        names_before.add(name)
        yield name


def _entries(words: WordReader, function: str, level: str) -> Iterator[tuple[int, list[Rule]]]:
    for number in range(words.number("the number of communicator sizes", MOST)):
        ranks = words.number("a communicator size", MOST)
        if not ranks or (ranks > 1 and not number):
            raise words.place.error(f"got a communicator of {ranks} ranks, expected 1 first, and no 0")
        count = words.number("the number of message sizes", MOST)
        yield ranks, [_line(words, function, level, is_first=not place) for place in range(count)]


def _line(words: WordReader, function: str, level: str, *, is_first: bool) -> Rule:
    size, place = words.number("a message size in bytes"), words.place
    if is_first and size > 1:
        raise place.error(f"the first message size is {size}, expected 0")
    component = words.word("a component")
    if component not in COMPONENTS:
        blank = ", and a blank before @" if "@" in component else ""
        expected = f"the name of a component: {', '.join(COMPONENTS)}{blank}"
        raise words.place.error(f"got {quote_text(component)}, expected {expected}")
    if component == "han" and words.starts_with("@"):
        component = _with_algorithm(words, function)
    if words.starts_with("["):
        while "]" not in words.word("] after the lengths of segments"):
            pass
    measure, conditions = LIBRARIES[LIBRARY].measures.get(function, "size"), ((LEVEL, level),)
    choice = Choice(component)
    return Rule(function, choice, sizes=Span(size), measure=measure, conditions=conditions, line=place.line)


def _with_algorithm(words: WordReader, function: str) -> str:
    """Return HAN with an algorithm, as Hocket names it."""
    word = words.word("an algorithm").removeprefix("@") or words.word("an algorithm")
    if word in ("0", "default"):
        return "han"
    algorithms = [each for each in LIBRARIES[LIBRARY].algorithms.get(function, ()) if each.number]
    name = next((each.name for each in algorithms if word in (str(each.number), each.name.partition("@")[2])), None)
    if name is None:
        names = ["default", *(each.name.partition("@")[2] for each in algorithms)]
        what = f"algorithm of HAN for {function} {quote_text(word)}"
        raise words.place.error(f"unknown {what}, {hint(word, names)}")
    return name


def _spans(starts: Sequence[int]) -> list[Span]:
    """Return the ranges of entries: HAN takes the last entry whose number is not larger."""
    ends = (min(starts[place + 1 :], default=None) for place in range(len(starts)))
    return [Span(start, None if end is None else end - 1) for start, end in zip(starts, ends, strict=True)]


def _write(rules: Rules) -> str:
    if not rules.rules:
        raise Error("got no rules, expected at least one: Open MPI drops a file of HAN that has none")
    lines = [f"{len(rules.functions)} # collectives"]
    for function in sorted(rules.functions, key=FUNCTIONS.index):
        own = rules.of(function)
        levels = dict.fromkeys(map(level_of, own))
        lines.append(f"{function} {len(levels)} # levels")
        for level in levels:
            lines += _level(level, [replace(rule, conditions=()) for rule in own if level_of(rule) == level])
    return "\n".join(lines) + "\n"


def level_of(rule: Rule) -> str:
    """Return the level that a rule is for."""
    return dict(rule.conditions).get(LEVEL, _GLOBAL)


def _level(level: str, rules: Collection[Rule]) -> Iterator[str]:
    table = [(ranks, row) for ranks, row in rows(rules) if ranks.last != 0]
    yield f"{level} {len(table)} # sizes of communicators"
    default = "han" if level == _GLOBAL else "tuned"
    for ranks, row in table:
        first = max(ranks.first, 1)
        yield f"{first} # ranks: {Span(first, ranks.last)}"
        if row[0][1] is None and (row[0][0].last == 0 or len(row) == 1):
            row = row[1:]
        yield f"{len(row)} # message sizes: bytes, component"
        for sizes, choice in row:
            yield f"{sizes.first} {choice.algorithm if choice else default}"


def calls_by_level(call: Situation, levels: Iterable[str]) -> Iterator[Situation]:
    """Give a call of a job as rules of each level see it: on its own communicator, or on those that HAN makes."""
    inner = {"intra_node": (call.ranks_per_node, call.ranks_per_node), "inter_node": (call.nodes, 1)}
    for level in levels:
        ranks, per_node = inner.get(level, (call.ranks, call.ranks_per_node))
        yield replace(call, ranks=ranks, ranks_per_node=per_node, conditions={**call.conditions, LEVEL: level})


def refusal_of(rule: Rule, call: Situation) -> str:
    """Return why HAN does not ask a rule for a call; nothing if it does, or for rules of others."""
    level = dict(rule.conditions).get(LEVEL)
    if level not in (None, call.conditions.get(LEVEL)):
        return f"the line is for {level}"
    return why_not_han("openmpi-5.0", call) if level == _GLOBAL else ""


def ignored_text(rule: Rule) -> str:
    """Return why a rule of HAN has no effect; nothing if it has one, or for other rules."""
    level, component = dict(rule.conditions).get(LEVEL), rule.choice.algorithm.split()[0] if rule.choice else ""
    if level == _GLOBAL and rule.function not in FUNCTIONS_OF_HAN:
        return "HAN takes no calls of it, only its own communicators have such rules"
    if level is not None and component == "han" and level != _GLOBAL:
        return f"han takes no calls at {level}, tuned runs"
    if level is not None and component in _WITHOUT_CALLS:
        return f"{component} {_WITHOUT_CALLS[component]}, tuned runs"
    return ""


def inner_levels(rule: Rule, ranks_per_node: int, nodes: int | None) -> Iterator[str]:
    """Give the levels at which the communicators that HAN makes by default have calls that a rule of `tuned` is for."""
    calls = [one for each in CALLS.values() for one in each if one.function == rule.function]
    for level, ranks, is_within in (("intra_node", ranks_per_node, True), ("inter_node", nodes, False)):
        some = (one for one in calls if one.is_within == is_within)
        is_met = any(one.of != "segment" or rule.sizes.first <= SEGMENT_BYTES for one in some)
        if is_met and ranks is not None and ranks in rule.ranks:
            yield level


_SETTINGS = (("coll_han_use_dynamic_file_rules", "1"), ("coll_han_dynamic_rules_filename", "FILE"))
FORMATS = (Format(LIBRARY, LIBRARY, _read, _write, settings=_SETTINGS),)
