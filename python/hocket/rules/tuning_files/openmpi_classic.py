"""Open MPI's classic rules, `coll_tuned_dynamic_rules_filename`: whole numbers, and comments that begin with `#`.

How many functions; for each its number and how many sizes of communicators; for each of these its ranks and how many
message sizes; for each of these its bytes, the number of the algorithm, fan-out, and segment size. A file of version 2,
whose first line is `rule-file-version-2`, may have a number of requests behind these.

What the ranks mean was turned round. Up to Open MPI 5.0, an entry is for its number of ranks and more, up to the next
entry's; the first one is also for fewer. From 6.0 on an entry is for fewer ranks than its number, and the last one for
all others, whatever its number.

Source: `ompi/mca/coll/tuned/coll_tuned_dynamic_file.c` and `coll_tuned_dynamic_rules.c` of both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from hocket._native import Error
from hocket.base.units import format_count
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import Format, Place, Rule, Rules, Span, quote_text
from hocket.rules.tuning_files.grid import Row, rows

FUNCTIONS = (
    *("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast", "exscan"),
    *("gather", "gatherv", "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "scatter", "scatterv"),
    *(f"neighbor_{name}" for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")),
)
"""Open MPI's functions; the place of each is its number."""

MOST = (1 << 31) - 1
"""The largest number in most places, which Open MPI keeps as an int."""

_VERSION = "rule-file-version-"
_PARAMETERS = ("faninout", "seg_size", "reqs")
_WITHOUT_REQUESTS = ("openmpi-4.1",)  # which gets version 1; version 2 is for 5.0.7 and later
_UP_TO = ("openmpi-6.0",)  # whose entries are for fewer ranks than their numbers
_MOST_DIGITS = 18


class WordReader:
    """The words of a file of Open MPI, and the place of the last one; `#` begins a comment."""

    def __init__(self, text: str, file: str) -> None:
        self._left = [(Place(file, number), word) for number, words in _lines(text) for word in words][::-1]
        self.place = self._left[-1][0] if self._left else Place(file, 1)
        self.has_broken_lines = False  # whether the numbers of a message size stand on several lines

    @property
    def has_more_on_this_line(self) -> bool:
        """Whether the next word is on the line of the last one."""
        return bool(self._left) and self._left[-1][0] == self.place

    def starts_with(self, begin: str) -> bool:
        """Return whether the next word begins so."""
        return bool(self._left) and self._left[-1][1].startswith(begin)

    def word(self, what: str) -> str:
        """Return the next word, or raise an error if there is none."""
        if not self._left:
            raise self.place.error(f"the file ends too early, expected {what}")
        self.place, word = self._left.pop()
        return word

    def number(self, what: str, most: int = 10**_MOST_DIGITS) -> int:
        """Return the next word as a whole number; refuse none, another word, and too large a number."""
        word = self.word(what)
        if not (word.isascii() and word.isdecimal()) or len(word) > _MOST_DIGITS or int(word) > most:
            raise self.place.error(f"got {quote_text(word)}, expected {what}, a whole number up to {most}")
        return int(word)

    def end(self) -> None:
        """Raise an error if a word is left."""
        if self._left:
            place, word = self._left[-1]
            raise place.error(f"got {quote_text(word)}, expected the end of the file, according to the counts above")


def rules_of(
    entries: Iterable[tuple[int, Sequence[Rule]]],
    ranks_of: Callable[[Sequence[int]], Iterable[Span]],
    sizes_of: Callable[[Sequence[int]], Iterable[Span]],
) -> Iterator[Rule]:
    """Give the rules of entries for numbers of ranks, whose sizes say only where they begin.

    `ranks_of` and `sizes_of` return the ranges that these numbers stand for.
    """
    items = list(entries)
    for ranks, (_, rules) in zip(ranks_of([number for number, _ in items]), items, strict=True):
        for sizes, rule in zip(sizes_of([rule.sizes.first for rule in rules]), rules, strict=True):
            yield replace(rule, ranks=ranks, sizes=sizes)


def find_miscount(text: str, file: str, is_of_size: Callable[[Sequence[str]], bool]) -> Error | None:
    """Return the error of a count that differs from the number of lines below it, which have a message size each.

    `is_of_size` tells by its words whether a line has one.
    """
    count, line, follow = -1, 0, 0
    for number, words in [*_lines(text), (0, [])]:
        if is_of_size(words):
            follow += 1
            continue
        if follow and count not in (-1, follow):
            ones = f"{follow} {'follow' if follow > 1 else 'follows'}"
            return Place(file, line).error(f"promises {format_count(count, 'message size')}, {ones}")
        is_count = len(words) == 1 and words[0].isdecimal() and len(words[0]) <= _MOST_DIGITS
        count, line, follow = int(words[0]) if is_count else -1, number, 0
    return None


def _is_of_size(words: Sequence[str]) -> bool:
    return len(words) in (4, 5)


def _lines(text: str) -> list[tuple[int, list[str]]]:
    """Return the words of each line that has some."""
    lines = ((number, line.split("#")[0].split()) for number, line in enumerate(text.split("\n"), start=1))
    return [(number, words) for number, words in lines if words]


def _read(library: str, text: str, file: str) -> Rules:
    version = re.match(rf"{_VERSION}(\d{{1,4}})(?=\s|$)", text)
    words = WordReader(text[version.end() :] if version else text, file)
    has_requests = version is not None and int(version[1]) > 1
    rules: dict[str, Sequence[Rule]] = {}
    try:
        if version and int(version[1]) not in (1, 2):
            raise Place(file, 1).error(f"version {version[1]} of the file, expected 1 or 2")
        for _ in range(words.number("the number of collectives", len(FUNCTIONS))):
            function = FUNCTIONS[words.number("the ID of a collective", len(FUNCTIONS) - 1)]
            if function in rules:
                raise words.place.error(f"{function} appears twice, expected each collective once")
            entries = _entries(words, function, library, has_requests=has_requests)
            rules[function] = [*rules_of(entries, _below if library in _UP_TO else _from, _from)]
        words.end()
    except Error as error:
        raise find_miscount(text, file, _is_of_size) or error from None
    if words.has_broken_lines and (miscount := find_miscount(text, file, _is_of_size)):
        raise miscount
    return Rules(library, tuple(rule for own in rules.values() for rule in own))


def _entries(words: WordReader, function: str, library: str, *, has_requests: bool) -> Iterator[tuple[int, list[Rule]]]:
    for _ in range(words.number("the number of communicator sizes", MOST)):
        ranks = words.number("a communicator size", MOST)
        count = words.number("the number of message sizes", MOST)
        yield ranks, [_line(words, function, library, has_requests=has_requests, is_first=not n) for n in range(count)]


def _line(words: WordReader, function: str, library: str, *, has_requests: bool, is_first: bool) -> Rule:
    size, place = words.number("a message size in bytes"), words.place
    if is_first and size:
        raise place.error(f"the first message size is {size}, expected 0")
    number = words.number("the ID of an algorithm", MOST)
    values = [words.number("the fan-out", MOST), words.number("the segment size", MOST)]
    words.has_broken_lines |= words.place != place
    if has_requests and words.has_more_on_this_line:
        values.append(words.number("the number of requests", MOST))
    own = LIBRARIES[library]
    parameters = tuple((name, value) for name, value in zip(_PARAMETERS, values, strict=False) if value)
    choice = own.choice(function, str(number), parameters) if number else None
    measure = own.measures.get(function, "size")
    return Rule(function, choice, sizes=Span(size), measure=measure, line=place.line)


def _from(starts: Sequence[int]) -> list[Span]:
    """Return the ranges of entries that begin at these numbers.

    Open MPI takes the entry before the first one with a larger number, or else the first entry.
    """
    lasts: list[int | None] = [*(after - 1 for after in starts[1:]), None]
    spans = [Span(max(starts[: place + 1]), last) for place, last in enumerate(lasts[: len(starts)])]
    return [Span(0, None if lasts[0] is None else max(starts[:2]) - 1), *spans[1:]] if spans else []


def _below(ends: Sequence[int]) -> list[Span]:
    """Return the ranges of entries that end before these numbers; the last number is ignored."""
    lasts: list[int | None] = [*(end - 1 for end in ends[:-1]), None]
    return [Span(ends[place - 1] if place else 0, last) for place, last in enumerate(lasts[: len(ends)])]


def _write(rules: Rules) -> str:
    has_requests = rules.library not in _WITHOUT_REQUESTS
    lines = [f"{_VERSION}2"] if has_requests else []
    lines.append(f"{len(rules.functions)} # collectives")
    for function in sorted(rules.functions, key=FUNCTIONS.index):
        table_rows = rows(rules.of(function))
        lines.append(f"{FUNCTIONS.index(function)} # {function}")
        lines.append(f"{len(table_rows)} # sizes of communicators")
        for ranks, row in table_rows:
            number = ranks.last + 1 if rules.library in _UP_TO and ranks.last is not None else ranks.first
            lines.append(f"{number} # ranks: {ranks}")
            lines += _lines_of(row, rules.library, function, has_requests=has_requests)
    return "\n".join(lines) + "\n"


def _lines_of(row: Row, library: str, function: str, *, has_requests: bool) -> Iterator[str]:
    yield f"{len(row)} # message sizes: bytes, algorithm, fan-out, segment{', requests' * has_requests}"
    for sizes, choice in row:
        values = dict(choice.parameters) if choice else {}
        if values.get("reqs") and not has_requests:
            raise Error(f"{function}: a number of requests, expected a file of version 2 (Open MPI 5.0.7)")
        counterpart = LIBRARIES[library].find(function, choice.algorithm) if choice else None
        if choice and counterpart is None and not choice.algorithm.isdecimal():
            raise Error(f"{function}: {library} has no algorithm {choice.algorithm}")
        number = 0 if choice is None else counterpart.number if counterpart else int(choice.algorithm)
        columns = [sizes.first, number, *(values.get(name, 0) for name in _PARAMETERS[: 2 + has_requests])]
        yield f"{' '.join(map(str, columns))} # {choice.algorithm if choice else 'as without rules'}"


SETTINGS_4 = (("coll_tuned_use_dynamic_rules", "1"), ("coll_tuned_dynamic_rules_filename", "FILE"))
SETTINGS = (("coll_han_priority", "0"), *SETTINGS_4)
"""From Open MPI 5.0 on, the component `han` comes before `tuned`, which reads the file, on several nodes with several
ranks; the communicators that it makes would also read the file, by their own sizes."""

FORMATS = (
    Format("openmpi-4.1", "openmpi-4.1", partial(_read, "openmpi-4.1"), _write, settings=SETTINGS_4),
    Format("openmpi-5.0", "openmpi-5.0", partial(_read, "openmpi-5.0"), _write, settings=SETTINGS),
    Format("openmpi-6.0-classic", "openmpi-6.0", partial(_read, "openmpi-6.0"), _write, settings=SETTINGS),
)
