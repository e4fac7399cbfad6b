"""Hocket's own rules: one per line, of which the first decides that fits and whose algorithm takes the call.

Source: `docs/mpi.md`. The compiled module reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hocket import _native
from hocket._native import Error
from hocket.definitions.library import COLLECTIVES, find_collective
from hocket.rules.tuning_files.counterparts import FUNCTIONS_OF
from hocket.rules.tuning_files.form import ANY, Choice, Format, Rule, Rules, Span

_NATIVE = "native"
_POWER_OF_TWO = "power_of_two"
_LIMITS = {"count<ranks": "ranks", "count<pow2": _POWER_OF_TWO}
"""The conditions on few elements, and the limits of Hocket's condition `elements`."""
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


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


def has_size(function: str) -> bool:
    """Return whether a call of a function has a size."""
    collective = collective_of(function)
    return collective is None or COLLECTIVES[collective[0]].has_size


def has_blocks(function: str) -> bool:
    """Return whether the size of a function is that of one block; that of others is the whole vector, of all blocks."""
    collective = collective_of(function)
    one = COLLECTIVES[collective[0]] if collective else None
    return one is not None and one.size_is_one_block and one.size_is_known and not one.has_neighbors


def _read(text: str, file: str) -> Rules:
    data = _native.rules(text, file)
    return Rules("hocket", tuple(_rule(one, file) for one in data["rules"]), data["order_is_fixed"])


def _rule(data: Mapping[str, Any], file: str) -> Rule:
    measures = [name for name in ("size", "total") if data[name] is not None]
    if len(measures) > 1:
        raise Error(
            f"{file}:{data['line']}: got both size and total, expected one of them, as other formats have only one"
        )
    (measure,) = measures or ["size"]
    function = ("i" if data["is_nonblocking"] else "") + of_function(data["collective"])
    conditions = []
    if data["elements"] is not None:
        are_fewer, than_power_of_two = data["elements"]
        conditions.append(("count<pow2" if than_power_of_two else "count<ranks", "yes" if are_fewer else "no"))
    choice = data["algorithm"] and Choice(data["algorithm"], data["parameters"])
    ranks, power_of_two = _span(data["ranks"]), data["power_of_two"] or None
    sizes = _span(data[measure]) if measures else ANY
    return Rule(function, choice, ranks, power_of_two, sizes, measure, conditions=tuple(conditions), line=data["line"])


def _span(ends: tuple[int, int | None]) -> Span:
    first, end = ends
    return Span(first, None if end is None else end - 1)


def line_of(rule: Rule) -> str:
    """Return a rule as a line; refuse one that asks for what Hocket's rules cannot tell."""
    form = collective_of(rule.function)
    if form is None:
        raise Error(f"{rule.function}: Hocket has no rules for it")
    few = [(_LIMITS[name], value) for name, value in rule.conditions if name in _LIMITS]
    if rule.power_of_two is False or rule.placement != "any" or len(few) < len(rule.conditions) or len(few) > 1:
        raise Error(f"{rule.function}: got a rule with other conditions, expected conditions that Hocket's rules have")
    collective, is_nonblocking = form
    conditions = []
    if rule.ranks != ANY:
        conditions.append(f"ranks={_range(rule.ranks, is_size=False)}")
    if rule.power_of_two:
        conditions.append(f"ranks={_POWER_OF_TWO}")
    if rule.sizes != ANY:
        if rule.measure not in ("size", "total"):
            raise Error(f"{rule.function}: got sizes that do not count the bytes of the message, expected no sizes")
        conditions.append(f"{rule.measure}={_range(rule.sizes, is_size=True)}")
    conditions += [f"elements={f'..{limit}' if value == 'yes' else f'{limit}..'}" for limit, value in few]
    head = f"{'i' if is_nonblocking else ''}{collective}{'[' + ', '.join(conditions) + ']' if conditions else ''}"
    return f"{head}: {rule.choice or _NATIVE}"


def _range(span: Span, *, is_size: bool) -> str:
    format_end = _bytes if is_size else str
    first = format_end(span.first) if span.first else ""
    if span.last == span.first:
        return format_end(span.first)
    return f"{first}..{'' if span.last is None else format_end(span.last + 1)}"


def _bytes(value: int) -> str:
    factor, unit = next(((f, u) for f, u in _UNITS if value and value % f == 0), (1, ""))
    return f"{value // factor}{unit}"


def _write(rules: Rules) -> str:
    first = "order = fixed\n" if rules.order_is_fixed else ""
    return first + "".join(f"{line_of(rule)}\n" for rule in rules.rules)


FORMATS = (Format("hocket", "hocket", _read, _write, names=("*.rules",)),)
