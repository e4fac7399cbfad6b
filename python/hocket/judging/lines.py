"""The lines of a text: those with words, and rows of nccl-tests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TypeAlias

from hocket.base.files import read_rows
from hocket.measurements.margins import readable

NumberedLines: TypeAlias = "Sequence[tuple[int, str]]"
"""Lines, each with its number, from 1 on."""

_DIGITS = re.compile("[0-9]+")
_MOST_OF_FORM = 64
_MOST_LINE_LETTERS = 4000
_MOST_RANKS = 10_000_000
_NUMBERS: Mapping[str, int] = MappingProxyType(
    {"one": 1, "single": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "sixteen": 16}
)
_PARTS = {
    row["name"]: row["expression"].replace("<NUMBERS>", "|".join(_NUMBERS)) for row in read_rows(__file__, "parts.csv")
}


def expression_of(expression: str) -> re.Pattern[str]:
    """Return an expression of a table, with the parts that `parts.csv` names."""
    return re.compile(re.sub("<([A-Z]+)>", lambda part: _PARTS[part[1]], expression))


FORMS = {row["name"]: expression_of(row["expression"]) for row in read_rows(__file__, "forms.csv")}
"""What lines and texts are searched for, by its name in `forms.csv`."""
DEVICE, ROW = FORMS["device"], FORMS["row of nccl-tests"]


@lru_cache(maxsize=2)
def lines_of(text: str) -> tuple[str, ...]:
    """Return the lines of a text without escapes; a command that goes on over several lines is the first of them."""
    lines = [line[:_MOST_LINE_LETTERS] for line in readable(text).split("\n")]
    for number in range(len(lines) - 2, -1, -1) if "\\" in text else ():
        if lines[number].rstrip().endswith("\\"):
            lines[number] = f"{lines[number].rstrip()[:-1]} {lines[number + 1]}"[:_MOST_LINE_LETTERS]
            lines[number + 1] = ""
    return tuple(lines)


@lru_cache(maxsize=2)
def with_words(text: str) -> NumberedLines:
    """Return the lines of a text that are no rows of numbers alone, each with its number.

    In rows of nccl-tests are two words. Of lines that differ in numbers only, such as those of channels in long logs,
    the first ones are returned, but all of lists of devices.
    """
    forms: Counter[str] = Counter()
    lines = []
    for number, line in enumerate(lines_of(text), start=1):
        if not FORMS["only numbers"].fullmatch(line):
            form = _DIGITS.sub("0", line)
            forms[form] += 1
            if forms[form] <= _MOST_OF_FORM or DEVICE.search(line):
                lines.append((number, line))
    return lines


def has_form(text: str, name: str) -> bool:
    """Return whether a line with words has a form of `FORMS`."""
    return any(FORMS[name].search(line) for _, line in with_words(text))


def whole_number(text: str) -> int | None:
    """Return a number above zero that is written in digits or as a word; None if it is none."""
    value = _NUMBERS.get(text.lower()) if not text.isdecimal() else int(text)
    return value if value is not None and 0 < value <= _MOST_RANKS else None


def row_of_nccl(line: str) -> re.Match[str] | None:
    """Return the row of nccl-tests in a line, if there is one whose bandwidth follows from its size and its time."""
    row = ROW.search(line)
    if row is None or (time_us := float(row["time"])) <= 0:
        return None
    gb_per_s = float(row["alg"])
    return row if abs(int(row["size"]) / time_us / 1e3 - gb_per_s) < 0.006 + 0.01 * gb_per_s else None
