"""What is wrong with a tuning file that a library takes: lines that never decide, gaps, and traps of its format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hocket.base.units import format_count
from hocket.rules.tuning_files.compositions import COMPOSITIONS, misplaced_text
from hocket.rules.tuning_files.counterparts import LIBRARIES, NCCL, Counterpart
from hocket.rules.tuning_files.deciding import NOT_ASKED, accepts
from hocket.rules.tuning_files.form import ANY, Rule, Rules, Span
from hocket.rules.tuning_files.grid import Coverage, boundaries, deciding
from hocket.rules.tuning_files.intelmpi_adjust import LIBRARY as INTEL_MPI
from hocket.rules.tuning_files.intelmpi_adjust import has_preset
from hocket.rules.tuning_files.mpich_json import LIBRARY as MPICH
from hocket.rules.tuning_files.mpich_json import known_names
from hocket.rules.tuning_files.openmpi_han import FUNCTIONS_OF_HAN, ignored_text, inner_levels
from hocket.rules.tuning_files.openmpi_json import MISSPELT
from hocket.rules.tuning_files.translation import HOCKET, counterpart_of, passes_over

_HINTS = ("gap", "inner communicator", "meaning of ranks", "needs a plugin", "not asked", "other algorithm", "overlap")
"""Kinds of findings that may be intended."""
_FOUR_GIB = (1 << 32) - 1
_MOST_FAN_OUT = 32  # MAXTREEFANOUT in ompi/mca/coll/base/coll_base_topo.h
_ENDS = {
    MPICH: "MPICH ends the program",
    "openmpi-6.0": "Open MPI ignores the rule",
    INTEL_MPI: "Intel MPI takes its basic logic, as for preset 0",
}
"""What becomes of a call whose algorithm the library does not have, if it is no error."""
_WITH_HAN = ("openmpi-5.0", "openmpi-6.0")

LARGEST_ELEMENT = 16
"""The bytes of the largest predefined element, a complex number of double precision."""


@dataclass(frozen=True)
class Finding:
    """Something that whoever wrote a file may not have meant."""

    line: int  # the line, counted from 1
    # "unreachable", "gap", "overlap", "passed over", "channels", "needs a plugin", "unknown algorithm", "other
    # algorithm", "other range", "meaning of ranks", "inner communicator", "never read", "not asked", "not given",
    # "refused", "fan-out" or "wrong communicator".
    kind: str
    sentence: str  # what it is

    @classmethod
    def of(cls, rule: Rule, kind: str, what: str) -> Finding:
        """Return a finding on a rule, whose sentence begins with its function."""
        return cls(rule.line, kind, f"{rule.function}: {what}")

    @property
    def is_hint(self) -> bool:
        """Whether the file may well be meant so; anything else is a mistake."""
        return self.kind in _HINTS


def findings(
    rules: Rules, format: str, *, ranks: int | None = None, ranks_per_node: int | None = None
) -> tuple[Finding, ...]:
    """Return what is to be said of the rules of a file, in the order of its lines.

    Open MPI may ask other components before the file, by the number of ranks of a job, and of ranks on each of its
    nodes. They are none where they are not known.
    """
    of_functions = (each for function in rules.functions for each in _of_function(rules.of(function), rules.library))
    some = {*of_functions, *_meaning_of_ranks(rules, format), *_below_han(rules, ranks, ranks_per_node)}
    return tuple(sorted(some, key=lambda finding: (finding.line, finding.kind, finding.sentence)))


def _of_function(rules: Sequence[Rule], library: str) -> Iterator[Finding]:
    yield from _unreachable(rules, library)
    yield from _gaps(rules, library)
    if library != HOCKET and LIBRARIES[library].kin == NCCL:
        yield from _overlaps([rule for rule in rules if not passes_over(rule, library)])
        yield from _without_the_longest(rules, library)
    for rule in rules:
        yield from _of_rule(rule, library)


def _unreachable(rules: Sequence[Rule], library: str) -> Iterator[Finding]:
    """Give the rules that never decide, as earlier rules decide all their calls."""
    alike: dict[object, list[int]] = {}
    for place, rule in enumerate(rules):
        alike.setdefault(_conditions(rule), []).append(place)
    for places in alike.values():
        asking = rules[places[0]]
        wider = sorted(place for others in alike.values() if _is_wider(rules[others[0]], asking) for place in others)
        coverage = Coverage([rules[place] for place in wider])
        places_judged = set(places)
        for place in wider:
            rule = rules[place]
            is_end = rule.choice is None and rule.sizes == ANY  # this may be the implied end of a list
            is_empty = rule.ranks.is_empty or rule.sizes.is_empty
            is_for_no_call = is_empty or (rule.measure == "nothing" and 0 not in rule.sizes)
            if place in places_judged and not is_end and (is_for_no_call or coverage.has(rule)):
                why = "no call matches this line" if is_empty else "earlier lines decide all its calls"
                yield Finding.of(rule, "unreachable", f"{rule.choice or 'left to the library'}: {why}")
            calls = ((rule.function, rule.choice, ranks, 1 << 10) for ranks in range(2, 18))  # they stand for all
            takes_all = library != HOCKET or all(accepts(*call) for call in calls)
            if takes_all and not passes_over(rule, library):
                coverage.add(rule)


def _conditions(rule: Rule) -> object:
    """Return the conditions of a rule besides ranks and sizes."""
    others = rule.power_of_two, rule.placement, rule.nodes, rule.ranks_per_node
    return rule.measure, *others, frozenset(rule.conditions)


def _is_wider(other: Rule, rule: Rule) -> bool:
    """Return whether each condition of another rule, besides ranks and sizes, is a condition of the rule."""
    return (
        other.measure == rule.measure
        and other.power_of_two in (None, rule.power_of_two)
        and other.placement in ("any", rule.placement)
        and other.nodes.has(rule.nodes)
        and other.ranks_per_node.has(rule.ranks_per_node)
        and set(other.conditions) <= set(rule.conditions)
    )


def _gaps(rules: Sequence[Rule], library: str) -> Iterator[Finding]:
    """Give the ranges of sizes that are left to the library, between sizes with rules."""
    rules_of_library = [
        rule for rule in rules if rule.measure != "nothing" and not rule.conditions and not passes_over(rule, library)
    ]
    for nodes, per_node in dict.fromkeys((rule.nodes, rule.ranks_per_node) for rule in rules_of_library):
        matches = [rule for rule in rules_of_library if rule.nodes.has(nodes) and rule.ranks_per_node.has(per_node)]
        yield from _gaps_of(matches, library)


def _gaps_of(rules: Sequence[Rule], library: str) -> Iterator[Finding]:
    for ranks in boundaries(rule.ranks for rule in rules):
        some = [rule for rule in rules if ranks in rule.ranks]
        starts = boundaries(rule.sizes for rule in some)
        rules_deciding = list(deciding(some, starts))
        places_chosen = [place for place, rule in enumerate(rules_deciding) if rule and rule.choice]
        for place in range(min(places_chosen, default=0), max(places_chosen, default=0)):
            rule = rules_deciding[place]
            if rule is None or rule.choice is None:
                sizes = Span(starts[place], starts[place + 1] - 1)
                left = f"sizes {sizes} on {format_count(max(ranks, 1), 'rank')} are left to {library}"
                yield Finding.of(rule or some[0], "gap", f"{left}, but smaller and larger sizes have rules")


def _overlaps(rules: Sequence[Rule]) -> Iterator[Finding]:
    """Give the lines of which a part of the sizes belongs to an earlier line, where none has all sizes of the other."""
    alike: dict[object, list[Rule]] = {}
    for rule in rules:
        if not rule.sizes.is_empty:
            alike.setdefault((rule.ranks, _conditions(rule)), []).append(rule)
    for group in alike.values():
        for one, two in pairwise(sorted(group, key=lambda rule: rule.sizes.first)):
            sizes_shared = one.sizes.within(two.sizes)
            if not sizes_shared.is_empty and not one.sizes.has(two.sizes) and not two.sizes.has(one.sizes):
                first, second = sorted((one, two), key=lambda rule: rule.line)
                whose = f"sizes {sizes_shared} belong to line {first.line}, as the first line decides"
                yield Finding.of(second, "overlap", whose)


def _without_the_longest(rules: Sequence[Rule], library: str) -> Iterator[Finding]:
    """Give the lines that end at 4 GiB, the largest size in NCCL's examples, if no line is for more."""
    if all(rule.sizes.last is not None and rule.sizes.last <= _FOUR_GIB for rule in rules):
        for rule in rules:
            if rule.sizes.last == _FOUR_GIB:
                left = f"messages of 4 GiB and more are left to {library}"
                yield Finding.of(rule, "gap", f"{left}, expected 18446744073709551615 as the largest size")


def _of_rule(rule: Rule, library: str) -> Iterator[Finding]:
    if rule.meant_calls:
        what, why = rule.choice or "left to the library", "Intel MPI reads the last number of a range only"
        calls_text = f"sizes {rule.sizes}, ranks {rule.ranks}"
        yield Finding.of(rule, "other range", f"{what}: for {rule.meant_calls}; taken for {calls_text}: {why}")
    if rule.choice is None:
        return
    name, parameters = rule.choice.algorithm, dict(rule.choice.parameters)
    if MISSPELT in parameters:
        yield Finding.of(rule, "never read", f'Open MPI reads no "{MISSPELT}", expected "seg_size"')
    if library == HOCKET:
        return
    fan_out, counterpart = parameters.get("faninout", 0), counterpart_of(rule.function, rule.choice, library)
    takes_it = counterpart is not None and "faninout" in counterpart.parameter_names
    if isinstance(fan_out, int) and fan_out > _MOST_FAN_OUT and not takes_it:
        most = f"got fan-out {fan_out}, of which Open MPI takes {_MOST_FAN_OUT} at most"
        yield Finding.of(rule, "fan-out", f"{most}; the size of segments comes after the fan-out")
    if why := misplaced_text(rule):
        yield Finding.of(rule, "wrong communicator", f"{name} runs {why}")
    if why := passes_over(rule, library) or ignored_text(rule):
        yield Finding.of(rule, "passed over", why)
        return
    yield from _of_hardware(rule, parameters.get("channels", 0), counterpart, library)
    for condition in {name for name, _ in rule.conditions} & set(NOT_ASKED):
        yield Finding.of(rule, "not asked", f"{library} asks for {condition} only if RCCL_CHIPLET_TUNER_ENABLE is 1")
    if counterpart is None:
        yield from _unknown(rule, name, library)
        return
    short, last = counterpart.short, rule.ranks.last
    if short and (last is None or short.is_for(rule.sizes.first // LARGEST_ELEMENT, last)):
        instead = f"{library} runs {short.name} instead of {name}"
        yield Finding.of(rule, "other algorithm", f"{short}, {instead}")
    if (only := counterpart.ranks) is not None and rule.ranks != Span(only, only):
        yield Finding.of(rule, "refused", f"{name} takes {only} ranks only, {library} ends other calls with an error")
    missing = [each for each in (*counterpart.parameter_names, *counterpart.asks) if each not in parameters]
    if library.startswith("mpich") and missing:
        yield Finding.of(rule, "not given", f"{name} lacks {', '.join(missing)}, so MPICH uses arbitrary values")
    if counterpart.needs_power_of_two and rule.power_of_two is not True:
        yield Finding.of(rule, "refused", f"{name} takes only powers of two of ranks")


def _of_hardware(rule: Rule, channels: int | str, own: Counterpart | None, library: str) -> Iterator[Finding]:
    """Give what a line of NCCL and its kin asks for that no communicator has, or that needs a plugin of the network."""
    most = LIBRARIES[library].most_channels
    if most is not None and isinstance(channels, int) and channels > most:
        yield Finding.of(rule, "channels", f"got {channels} channels, of which {library} opens {most} at most")
    if own is not None and own.plugin_nodes is not None and rule.nodes.first >= own.plugin_nodes:
        where = " on several nodes" if own.plugin_nodes else ""
        needs = f"{own.name} needs a plugin of the network{where}; else the line is passed over"
        yield Finding.of(rule, "needs a plugin", needs)


def _unknown(rule: Rule, name: str, library: str) -> Iterator[Finding]:
    functions = LIBRARIES[library].algorithms
    if library.startswith("mpich"):
        is_known = rule.function not in functions or name in known_names() or name in COMPOSITIONS
    else:
        is_number = library.startswith("ucc") and name.isdecimal()
        is_known = is_number or (library == INTEL_MPI and has_preset(rule.function, name))
    if is_known:
        return
    if rule.function not in functions:
        yield Finding.of(rule, "unknown algorithm", f"{library} takes no rules for it")
        return
    also = next((other for other in LIBRARIES if LIBRARIES[other].find(rule.function, name)), None)
    hint, end = f", which {also} has" if also else "", _ENDS.get(library, "the call fails with an error")
    yield Finding.of(rule, "unknown algorithm", f"{library} has no {name}{hint}: {end}")


def _below_han(rules: Rules, ranks: int | None, ranks_per_node: int | None) -> Iterator[Finding]:
    """Give that the component HAN comes before a file of Open MPI, and which lines its own communicators meet."""
    of_han = [rule for rule in rules.rules if rule.choice and rule.function in FUNCTIONS_OF_HAN]
    is_on_one_node = ranks is not None and ranks <= (ranks_per_node or 0)
    if not of_han or rules.library not in _WITH_HAN or ranks_per_node == 1 or is_on_one_node:
        return
    names = ", ".join(dict.fromkeys(rule.function for rule in of_han))
    why = "HAN comes before this file, unless coll_han_priority is 0"
    yield Finding(of_han[0].line, "not asked", f"{names}: on several nodes with several ranks, {why}")
    if ranks_per_node is None:
        return
    nodes = -(-ranks // ranks_per_node) if ranks else None
    for rule in of_han:
        for level in inner_levels(rule, ranks_per_node, nodes):
            where = f"within a node, on {ranks_per_node}" if level == "intra_node" else f"between nodes, on {nodes}"
            yield Finding.of(rule, "inner communicator", f"while HAN is on, its calls {where} ranks, follow this line")


def _meaning_of_ranks(rules: Rules, format: str) -> Iterator[Finding]:
    """Give the entries of a classic file that mean other ranks in another version of Open MPI."""
    if not format.startswith("openmpi") or format in ("openmpi-5.0-han", "openmpi-6.0"):
        return
    for function in rules.functions:
        starts = list(dict.fromkeys(rule.ranks for rule in rules.of(function)))
        if len(starts) > 1:
            now, other, meaning = "from the number on", "Open MPI 6.0", "below it"
            if "6.0" in format:
                now, other, meaning = "up to the number", "Open MPI before 6.0", "from the number on"
            what = f"entries are for ranks {now}; {other} takes them for ranks {meaning}"
            yield Finding.of(rules.of(function)[0], "meaning of ranks", what)
