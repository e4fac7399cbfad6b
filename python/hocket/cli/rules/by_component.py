"""The component of an MPI that takes a call, for `hocket rules explain`."""

from __future__ import annotations

from os import path

from hocket.base.units import format_bytes
from hocket.cli.output import print_table, print_words
from hocket.cli.printing import say
from hocket.definitions.libraries import MPI_DEFAULTS
from hocket.rules.tuning_files.components import Component, InnerChoice
from hocket.rules.tuning_files.deciding import component_for
from hocket.rules.tuning_files.form import Rules, Situation
from hocket.rules.tuning_files.han import PRIORITIES


def component_of(file: str, rules: Rules, call: Situation) -> Component | None:
    """Return the component that takes a call, for an MPI by its name and for tuning files of Open MPI's tuned."""
    if file in (*PRIORITIES, *MPI_DEFAULTS) and not path.exists(file):
        return component_for(file, call)
    return component_for(rules.library, call, rules)


def print_component(component: Component) -> None:
    """Print which component takes a call and why, and what it runs."""
    print_words(f"{component.name} takes the call: {component.why}")
    if component.choice is None:
        return
    pieces = f" in {component.segments} segments, and for each of them" if component.segments > 1 else ""
    say(f"it runs {component.algorithm}{pieces}:")
    rows = [_row(each) for each in component.inner]
    print_table(["call", "on", "ranks", "size", "decided by", "algorithm"], rows, right=["ranks", "size"])
    print_words(f"in Hocket: {component.choice}")
    if component.remark:
        print_words(component.remark)


def _row(one: InnerChoice) -> tuple[str, ...]:
    function = one.call.function if one.call.segments == "each" else f"{one.call.function}, {one.call.segments}"
    where = "each node" if one.call.is_within else "one per node"
    return function, where, str(one.ranks), format_bytes(one.size_bytes), one.component, str(one.choice)
