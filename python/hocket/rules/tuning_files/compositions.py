"""What MPICH's device runs: compositions, and algorithms of the processes of a node by shared memory.

Compositions divide a call between the nodes and the processes of a node. They are the leaves of another selection tree,
`MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE`. MPICH runs the one that the tree names, whether or not it is for the
communicator. A third tree, `MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE`, has algorithms by shared memory.

Source: `src/mpid/ch4/src/ch4_coll.h` and `ch4_coll_impl.h` of MPICH 5.0; that one of them is for one node alone, its
developers on the failure of a tuning file that gave it to all communicators. For shared memory
`src/mpid/ch4/shm/posix/posix_coll_release_gather.h` and `maint/tuning/coll/ch4/posix_generic.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hocket.base.files import read_rows
from hocket.rules.tuning_files.components import Component, Inner, InnerChoice, calls_of
from hocket.rules.tuning_files.form import Choice, Rule, Situation


@dataclass(frozen=True)
class Composition:
    """A composition."""

    what: str  # what it does
    needs: tuple[str, str] | None  # what the communicator has to be, as a condition; none where it may be any
    otherwise: str  # what happens on other communicators
    steps: tuple[Inner, ...]  # its steps; none where the tree below decides for all ranks, or the steps are not known
    remark: str  # how it differs from Hocket's algorithm of the same steps
    similar: str  # for an algorithm by shared memory: the one of Hocket that is nearest, and its costs stand for it


_ROWS = read_rows(__file__, "compositions.csv")
_ALL = "all"  # the steps of compositions that pass a call on undivided


def _composition(row: Mapping[str, str]) -> Composition:
    condition, _, value = row["needs"].partition("=")
    needs, steps = (condition, value) if condition else None, calls_of("" if row["steps"] == _ALL else row["steps"])
    return Composition(row["what"], needs, row["otherwise"], steps, row["remark"], row["similar"])


COMPOSITIONS: Mapping[str, Composition] = {
    row["composition"].format(function): _composition(row) for row in _ROWS for function in row["functions"].split()
}
"""The compositions and the algorithms by shared memory, by name."""

_DIVIDED_FUNCTIONS = {
    function for row in _ROWS if row["steps"] not in ("", _ALL) for function in row["functions"].split()
}
WHOLE_COMPOSITIONS: Mapping[str, str] = {
    function.lower(): row["composition"].format(function)
    for row in _ROWS
    if row["steps"] == _ALL
    for function in row["functions"].split()
    if function in _DIVIDED_FUNCTIONS
}
"""The functions that the device may divide into steps, and the composition that passes their calls on undivided."""


def by_composition(rule: Rule, call: Situation, decide: Callable[[Inner, int], InnerChoice | None]) -> Component | None:
    """Return what the composition that a rule of the device's tree names does with a call; none if it is not known.

    `decide` returns what the trees below decide for a step of some ranks; none if Hocket has no such algorithm.
    """
    name = rule.choice.algorithm if rule.choice else ""
    composition = COMPOSITIONS.get(name)
    if composition is None:
        return None
    why = f"line {rule.line} of its tree names {name}: {composition.what}"
    on_node = min(call.ranks_per_node, call.ranks)
    ranks = ((step, on_node if step.is_within else call.nodes) for step in composition.steps)
    choices = [decide(step, count) for step, count in ranks if count > 1]
    inner = tuple(one for one in choices if one is not None)
    if not inner or None in choices:
        return Component("MPICH's device", why, name)
    why = f"{why}; {composition.remark}" if composition.remark else why
    return Component("MPICH's device", why, name, inner=inner, choice=_in_hocket(call, inner))


def _in_hocket(call: Situation, inner: tuple[InnerChoice, ...]) -> Choice:
    """Return Hocket's algorithm of the same steps; where the nodes are those of a machine, it takes them from there."""
    if call.nodes == 1:
        return next(one.choice for one in inner if one.call.function == call.function)
    values: dict[str, int | str] = {one.call.part: one.choice.algorithm for one in inner}
    return Choice(
        "hierarchical", tuple((values if call.on_nodes else {**values, "group": call.ranks_per_node}).items())
    )


def remark(rule: Rule | None, call: Situation) -> str:
    """Return what a composition does for a call, and what goes wrong; nothing for other choices."""
    composition = COMPOSITIONS.get(rule.choice.algorithm) if rule and rule.choice else None
    if composition is None:
        return ""
    is_met = composition.needs is None or call.conditions.get(composition.needs[0]) == composition.needs[1]
    return composition.what if is_met else f"{composition.what}; {composition.otherwise}"


def misplaced_text(rule: Rule) -> str:
    """Return what goes wrong as a composition gets communicators that it is not for; nothing if it does not."""
    composition = COMPOSITIONS.get(rule.choice.algorithm) if rule.choice else None
    if composition is None or composition.needs is None or composition.needs in rule.conditions:
        return ""
    return f"{composition.what}; {composition.otherwise}; expected {'='.join(composition.needs)} before it"
