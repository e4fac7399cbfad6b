"""`hocket rules diff`: where two tuning files choose differently."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hocket._native import Error
from hocket.base.units import format_bytes, format_time
from hocket.cli import options
from hocket.cli.output import print_json, print_table, print_words
from hocket.cli.printing import say
from hocket.cli.rules.by_machine import decides_by_machine
from hocket.cli.rules.options import RANKS, SIZES, command
from hocket.definitions.libraries import BY_MACHINE
from hocket.definitions.machine import Machine
from hocket.rules.nccl.defaults import rules_on
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import Rules
from hocket.rules.tuning_files.formats import read
from hocket.rules.tuning_files.hocket_rules import has_size
from hocket.tuning.comparing import Difference, Side, differences, is_simulated


@command(machine=options.machine)
def diff(
    one: str,
    two: str,
    machine: Machine,
    ranks: tuple[int, ...] | None,
    ranks_per_node: int,
    sizes: tuple[int, ...] | None,
    element: int | None,
    collective: str | None,
    from_one: str | None,
    from_two: str | None,
    as_json: bool,
) -> None:
    """Show where the files ONE and TWO choose differently, and the cost on a machine.

    ONE and TWO may also name a library's defaults, such as openmpi-5.0, or nccl-2, which decides by the machine.
    """
    first, second = _rules(one, from_one, "--from-one"), _rules(two, from_two, "--from-two")
    if BY_MACHINE[0] in (first.library, second.library):
        rules_on(machine, max(ranks or RANKS))  # refuses a machine that does not say what the library decides by
        ranks_per_node = int(machine.quantities.get("network.ranks_per_node", ranks_per_node))
    functions_of_rules = (*_functions(first), *_functions(second))
    functions = [each for each in dict.fromkeys(functions_of_rules) if is_simulated(each)]
    if collective is not None and collective not in functions:
        raise Error(f'--collective: neither file has rules for "{collective}", expected {", ".join(functions)}')
    functions = [collective] if collective else functions
    all_differences = list(
        differences(
            first,
            second,
            machine,
            functions=functions,
            ranks=ranks or RANKS,
            sizes=sizes or SIZES,
            ranks_per_node=ranks_per_node,
            element_bytes=element,
        )
    )
    if as_json:
        print_json([_entry(each) for each in all_differences])
        return
    rows = [_row(each) for each in all_differences]
    if rows:
        columns = ["collective", "ranks", "size", one, "time", two, "time", "second/first"]
        print_table(columns, rows, right=["ranks", "size", "time", "second/first"])
        for why in dict.fromkeys(
            side.why for each in all_differences for side in (each.one, each.two) if side.time_s is None
        ):
            print_words(f"?: {why}")
    else:
        say("no difference")


def _rules(name: str, format: str | None, option: str) -> Rules:
    """Return the rules of a file, or no rules of a library that decides by the machine."""
    return Rules(name, ()) if decides_by_machine(name) and format is None else read(name, format, option=option)


def _functions(rules: Rules) -> Iterable[str]:
    """Return the functions for which rules decide, or for which their library does by itself."""
    return rules.functions or (LIBRARIES[rules.library].measures if rules.library in BY_MACHINE else ())


def _row(difference: Difference) -> tuple[str, ...]:
    ratio = "?" if difference.ratio is None else f"{difference.ratio:.2f}"
    size = format_bytes(difference.size_bytes) if has_size(difference.function) else ""
    sides = (_format_side(difference.one), _format_side(difference.two))
    return (difference.function, str(difference.ranks), size, *sides[0], *sides[1], ratio)


def _format_side(side: Side) -> tuple[str, str]:
    words = side.choice or "not known"
    where = f"line {side.line}" if side.line else "by itself"
    return f"{words} ({where})", "?" if side.time_s is None else format_time(side.time_s)


def _entry(difference: Difference) -> dict[str, Any]:
    return {
        "collective": difference.function,
        "ranks": difference.ranks,
        "size_bytes": difference.size_bytes,
        "one": vars(difference.one),
        "two": vars(difference.two),
        "ratio": difference.ratio,
    }
