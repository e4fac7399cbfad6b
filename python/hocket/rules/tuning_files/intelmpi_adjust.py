"""The variables `I_MPI_ADJUST_..` of Intel MPI, one for each function: `<preset>[:<conditions>][;..]`.

A condition is a range of sizes in bytes, `@` and a range of numbers of ranks, or both; commas join conditions. The
reference says that both ends of a range belong to it. The library, 2021.18, reads no more than the last number of each
range: an entry is for what the entries before it leave, up to this number, and the last entry for all that is left.
Where some condition has `@`, an entry has the ranks of its last condition, and replaces an entry before it that has the
same last number of ranks. So entries choose by sizes, or by ranks, but not by both.

Preset 0 is the basic logic of the library, which is not what it does without a variable.

Source: Intel MPI Library Developer Reference, "I_MPI_ADJUST Family Environment Variables", for the syntax and the names
of presets; `impi_info` for their numbers; and messages and selection trees of 2021.18.1 for the rest.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hocket._native import Error
from hocket.base.checks import hint
from hocket.base.files import read_rows
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import ANY, NOTHING, Choice, Format, Place, Rule, Rules, Span, quote_text
from hocket.rules.tuning_files.grid import Row, rows

LIBRARY = "intelmpi-2021"
_BEGIN = "I_MPI_ADJUST_"
_PRESETS = {row["function"]: int(row["largest"]) for row in read_rows(__file__, "intelmpi_presets.csv")}
_MOST = (1 << 31) - 1
_RANGE = r"([0-9]{1,10})(?:-([0-9]{1,10}))?"
_CONDITION = re.compile(rf"(?:{_RANGE})?(?:@{_RANGE})?")


def has_preset(function: str, name: str) -> bool:
    """Return whether a name is the number of a preset, perhaps of one without a name."""
    return name.isdecimal() and int(name) <= _PRESETS[function]


def _read(text: str, file: str) -> Rules:
    lines: dict[str, int] = {}
    rules: list[Rule] = []
    for place, name, value in _settings(text, file):
        function = name.removeprefix(_BEGIN).lower()
        if not name.startswith(_BEGIN) or function not in _PRESETS:
            names = hint(function.upper(), map(str.upper, _PRESETS))
            got = quote_text(name[:30])
            raise place.error(f"got {got}, expected {_BEGIN} with a collective, = and a value: {names}")
        if function in lines:
            raise place.error(f"{name} appears twice, first in line {lines[function]}, expected it once")
        lines[function] = place.line
        rules += _rules(_entries(function, name, value, place), has_ranks="@" in value)
    return Rules(LIBRARY, tuple(rules))


def _settings(text: str, file: str) -> Iterator[tuple[Place, str, str]]:
    """Give the place, the name and the value of each variable."""
    for number, line in enumerate(text.split("\n"), start=1):
        place = Place(file, number)
        try:
            words = [word for word in shlex.split(line, comments=True) if word not in ("export", "-genv")]
        except ValueError:
            raise place.error(f"got {quote_text(line[:40])}, expected the end of a quotation in it") from None
        while words:
            name, has_value, value = words.pop(0).partition("=")
            yield place, name, value if has_value or not words else words.pop(0)


def _entries(function: str, name: str, value: str, place: Place) -> Iterator[list[Rule]]:
    """Give the entries of a variable: a rule for each condition, with its ranges as they are written."""
    own = LIBRARIES[LIBRARY]
    for text in map(str.lstrip, value.removesuffix(";").split(";")):
        preset, _, conditions = text.partition(":")
        parts = conditions.split(",") if conditions else []
        matches = [match for match in map(_CONDITION.fullmatch, parts) if match and match[0]]
        numbers = (int(number) for match in matches for number in match.groups("0"))
        if not re.fullmatch("[0-9]{1,4}", preset) or len(matches) < len(parts) or max(numbers, default=0) > _MOST:
            expected = f"a preset with conditions as 2:0-4096,8192 or 2:0-4096@1-16, numbers up to {_MOST}"
            raise place.error(f"{name}: got {quote_text(text[:30])}, expected {expected}")
        ranks = _span(matches[-1][3], matches[-1][4]) if matches and matches[-1][3] else ANY
        sizes = [_span(match[1], match[2]) if match[1] else Span(0, _MOST) for match in matches]
        choice = own.choice(function, str(int(preset))) if int(preset) else None
        rule = Rule(
            function, choice, ANY if ranks.last == _MOST else ranks, measure=own.measures[function], line=place.line
        )
        yield [replace(rule, sizes=each) for each in sizes or [ANY]]


def _span(first: str, last: str | None) -> Span:
    """Return a range as it is written; one that ends before it begins has no end for the library."""
    start, end = int(first), int(last or first)
    return Span(start if start > 1 else 0, end if start <= end else _MOST)


def _rules(entries: Iterator[list[Rule]], *, has_ranks: bool) -> Iterator[Rule]:
    """Give the rules of a variable as the library reads it; what it drops is for no call."""
    groups: dict[int | None, dict[int | None, Rule]] = {}
    lost_leaves: list[Rule] = []
    for entry in entries:
        group = groups.setdefault(entry[0].ranks.last, {})
        if has_ranks:
            lost_leaves += group.values()
            group.clear()
        for rule in entry:
            if None in group:
                lost_leaves.append(rule)
                continue
            if rule.sizes.last in group:
                lost_leaves.append(group[rule.sizes.last])
            group[rule.sizes.last] = rule
    for ranks, group in zip(_effective_spans([*groups]), groups.values(), strict=True):
        for sizes, rule in zip(_effective_spans([*group]), group.values(), strict=True):
            yield _effective(rule, ranks, sizes)
    for rule in lost_leaves:
        yield _effective(rule, ANY, NOTHING)


def _effective_spans(lasts: Sequence[int | None]) -> Iterator[Span]:
    """Give what each range takes: what is left up to its last number; the last range takes all that is left."""
    start: int | None = 0
    for place, last in enumerate(lasts):
        if start is None:
            yield NOTHING
        elif last is None or place == len(lasts) - 1:
            yield Span(start)
            start = None
        else:
            yield Span(start, last)
            start = max(start, last + 1)


def _effective(rule: Rule, ranks: Span, sizes: Span) -> Rule:
    """Return a rule for the calls that the library takes it for, in place of those that are written."""
    if rule.measure == "nothing" and not sizes.is_empty:  # the size of such a call is larger than all numbers
        sizes = ANY if sizes.last is None else NOTHING
    sizes_asked = Span(rule.sizes.first) if rule.sizes.last == _MOST else rule.sizes
    is_other = not sizes.is_empty and not (sizes_asked.has(sizes) and rule.ranks.has(ranks))
    meant_calls = f"sizes {sizes_asked}, ranks {rule.ranks}" if is_other else ""
    return replace(rule, ranks=ranks, sizes=sizes, meant_calls=meant_calls)


def _write(rules: Rules) -> str:
    lines = []
    for function in rules.functions:
        own = rules.of(function)
        if LIBRARIES[LIBRARY].measures.get(function) == "nothing":
            own = tuple(replace(rule, sizes=ANY) for rule in own if 0 in rule.sizes)
        table = [(ranks, row) for ranks, row in rows(own) if ranks.last != 0]
        if any(choice for _, row in table for _, choice in row):
            lines.append(f"export {_BEGIN}{function.upper()}='{';'.join(_entry_texts(function, table))}'\n")
    return "".join(lines)


def _entry_texts(function: str, table: Sequence[tuple[Span, Row]]) -> Iterator[str]:
    """Give the entries of a variable: by sizes, or by numbers of ranks."""
    if len(table) > 1 and any(len(row) > 1 for _, row in table):
        raise Error(f"{function}: got sizes on some numbers of ranks, of which Intel MPI reads only one at a time")
    by_sizes = len(table) == 1
    for ranks, row in table:
        for sizes, choice in row:
            last = sizes.last if by_sizes else ranks.last
            if last is not None and last > _MOST:
                raise Error(f"{function}: got {last}, expected sizes and numbers of ranks up to {_MOST}")
            condition = f"{sizes.first}-{last}" if by_sizes else f"0-{_MOST}@{max(ranks.first, 1)}-{last}"
            yield _preset(function, choice) + ("" if last is None else f":{condition}")


def _preset(function: str, choice: Choice | None) -> str:
    if choice is None:
        return "0"
    counterpart = LIBRARIES[LIBRARY].find(function, choice.algorithm)
    name = str(counterpart.number) if counterpart else choice.algorithm
    if function not in _PRESETS or not name.isdecimal() or choice.parameters:
        raise Error(f"{function}: got {choice}, expected a preset of Intel MPI without parameters")
    return name


FORMATS = (Format(LIBRARY, LIBRARY, _read, _write, command="source FILE"),)
