"""Hocket's own rules: one per line, of which the first decides that fits and whose algorithm takes the call.

Source: `docs/mpi.md`. The compiled module checks every line before it is read here.
"""

from __future__ import annotations

import re

from hocket import _native
from hocket._native import Error
from hocket.base.units import parse_bytes
from hocket.definitions.library import algorithms, find_collective
from hocket.rules.tuning_files.counterparts import FUNCTIONS_OF
from hocket.rules.tuning_files.form import ANY, Choice, Rule, Rules, Span
from hocket.rules.tuning_files.format import Format

__all__ = ["FORMATS", "collective_of", "line_of", "of_function"]

_LINE = re.compile(r"(?P<name>\w+)\s*(\[(?P<conditions>.*)\])?\s*:(?P<choice>.*)", re.DOTALL)
_NATIVE = "native"
_POWER_OF_TWO = "power_of_two"
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_END = (1 << 64) - 1  # of a range that has no end, in the compiled module


def of_function(collective: str) -> str:
    """Return the MPI function that a collective stands for, in small letters; an i before it stays."""
    return FUNCTIONS_OF.get(collective, (collective,))[0]


def collective_of(function: str) -> tuple[str, bool] | None:
    """Return Hocket's collective of a function, and whether it is the nonblocking form; none if there is none."""
    for name, is_nonblocking in ((function, False), (function.removeprefix("i"), True)):
        try:
            return find_collective(name), is_nonblocking
        except Error:
            continue
    return None


def _read(text: str, file: str) -> Rules:
    _native.check_rules(text, file)
    lines = ((number, line.split("#")[0].strip()) for number, line in enumerate(text.split("\n"), start=1))
    return Rules("hocket", tuple(_rule(line, number) for number, line in lines if line))


def _rule(line: str, number: int) -> Rule:
    parts = _LINE.fullmatch(line)
    assert parts is not None  # it is a rule: it was checked
    found = collective_of(parts["name"])
    assert found is not None
    collective, is_nonblocking = found
    ranks, sizes, measure, power_of_two = ANY, ANY, "size", None
    for name, value in _pairs(parts["conditions"] or ""):
        if name != "ranks":
            # What stands last counts; the other measure would be one more condition.
            sizes, measure = _span(value).within(sizes if measure == name else ANY), name
        elif value == _POWER_OF_TWO:
            power_of_two = True
        else:
            ranks = _span(value)
    function = ("i" if is_nonblocking else "") + of_function(collective)
    return Rule(function, _choice(collective, parts["choice"]), ranks, power_of_two, sizes, measure, line=number)


def _pairs(text: str) -> list[tuple[str, str]]:
    parts = (part.partition("=") for part in text.split(",") if part.strip())
    return [(name.strip(), value.strip()) for name, _, value in parts]


def _span(text: str) -> Span:
    first, dots, end = text.partition("..")
    if not dots:
        return Span(parse_bytes(text), parse_bytes(text))
    last = parse_bytes(end) - 1 if end.strip() else None
    return Span(parse_bytes(first) if first.strip() else 0, None if last == _END - 1 else last)


def _choice(collective: str, text: str) -> Choice | None:
    name, _, values = text.partition(",")
    if name.strip() == _NATIVE:
        return None
    algorithm = next(each for each in algorithms(collective) if each.name == name.strip())
    units = {parameter.name: parameter.unit for parameter in algorithm.parameters}
    return Choice(name.strip(), tuple((key, _value(value, units[key])) for key, value in _pairs(values)))


def _value(text: str, unit: str) -> int | str:
    if unit == "bytes" and text != "auto":
        return parse_bytes(text)
    return int(text) if text.isdecimal() else text


def line_of(rule: Rule) -> str:
    """Return a rule as a line.

    Raises:
        Error: It asks for what Hocket's rules cannot tell.
    """
    found = collective_of(rule.function)
    if found is None:
        raise Error(f"{rule.function}: Hocket has no rules for it")
    if rule.power_of_two is False or rule.placement != "any" or rule.conditions:
        raise Error(f"{rule.function}: got a rule with conditions that Hocket's rules do not have")
    collective, is_nonblocking = found
    conditions = []
    if rule.ranks != ANY:
        conditions.append(f"ranks={_range(rule.ranks, is_size=False)}")
    if rule.power_of_two:
        conditions.append(f"ranks={_POWER_OF_TWO}")
    if rule.sizes != ANY:
        if rule.measure not in ("size", "total"):
            raise Error(f"{rule.function}: got sizes that count no bytes of the message, expected none")
        conditions.append(f"{rule.measure}={_range(rule.sizes, is_size=True)}")
    names = [_NATIVE] if rule.choice is None else [rule.choice.algorithm, *map(_pair, rule.choice.parameters)]
    head = f"{'i' if is_nonblocking else ''}{collective}{'[' + ', '.join(conditions) + ']' if conditions else ''}"
    return f"{head}: {', '.join(names)}"


def _pair(parameter: tuple[str, int | str]) -> str:
    return f"{parameter[0]}={parameter[1]}"


def _range(span: Span, *, is_size: bool) -> str:
    shown = _bytes if is_size else str
    first = shown(span.first) if span.first else ""
    if span.last == span.first:
        return shown(span.first)
    return f"{first}..{'' if span.last is None else shown(span.last + 1)}"


def _bytes(value: int) -> str:
    factor, unit = next(((f, u) for f, u in _UNITS if value and value % f == 0), (1, ""))
    return f"{value // factor}{unit}"


def _write(rules: Rules) -> str:
    return "".join(f"{line_of(rule)}\n" for rule in rules.rules)


FORMATS = (Format("hocket", "hocket", "Hocket's rules", _read, _write, endings=(".rules",)),)
