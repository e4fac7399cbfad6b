"""Rules in the words and the form of another library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hocket.rules.tuning_files.counterparts import FUNCTIONS_OF, LIBRARIES, LIMITS
from hocket.rules.tuning_files.deciding import DEFAULT_CONDITIONS, NOT_ASKED, accepts
from hocket.rules.tuning_files.form import ANY, Choice, Rule, Rules, Span
from hocket.rules.tuning_files.grid import ANCHORS, Row, boundaries, in_measure, merged, size_starts, spans
from hocket.rules.tuning_files.hocket_rules import collective_of, has_blocks, of_function
from hocket.rules.tuning_files.intelmpi_adjust import LIBRARY as INTEL_MPI
from hocket.rules.tuning_files.translation import HOCKET, Translation, counterpart_of, passes_over, translate

ALIKE = {"nccl-2", "rccl-2"}
"""Libraries whose files ask for the same."""

_MOST_SHOWN = 5
_MPICH = "mpich"
_NCCLX = "ncclx-2"


@dataclass(frozen=True)
class Conversion:
    """Rules in other words."""

    rules: Rules
    notes: tuple[str, ...]  # what is lost or only near, one sentence each
    left: int = 0  # how many of the rules that name an algorithm are left to the other library


def convert_rules(
    rules: Rules, library: str, *, ranks: Sequence[int] | None = None, ranks_per_node: int = 1
) -> Conversion:
    """Return rules in the words of another library, as far as it has them.

    What has no counterpart is left to the library, and said in a note. The rules are exact for `ranks` where they
    cannot be for all. `ranks_per_node` is for rules of which only one side asks for nodes.
    """
    if library == rules.library:
        return Conversion(rules, ())
    conversion = _Conversion(rules, library, tuple(sorted(set(ranks or ANCHORS))), ranks_per_node)
    rules_made = tuple(rule for function in rules.functions for rule in conversion.function(function))
    if rules.order_is_fixed:
        why = f"with the algorithms of {library}, sums may depend on the size"
        conversion.notes.append(f"order = fixed is left out: {why}")
    left = sum(map(conversion.leaves, rules.rules))
    return Conversion(Rules(library, rules_made), tuple(dict.fromkeys(conversion.notes)), left)


class _Conversion:
    def __init__(self, rules: Rules, library: str, anchors: tuple[int, ...], ranks_per_node: int) -> None:
        self.notes: list[str] = []
        self._rules, self._library, self._anchors, self._per_node = rules, library, anchors, ranks_per_node

    def leaves(self, rule: Rule) -> bool:
        """Return whether a rule names an algorithm that the other library lacks, or for a function without rules."""
        if rule.choice is None:
            return False
        targets = [rule.function] if self._library == HOCKET else self._targets(rule.function)
        return all(translate(each, rule.choice, self._rules.library, self._library).choice is None for each in targets)

    def function(self, function: str) -> Iterator[Rule]:
        """Give the converted rules of a function."""
        if {self._rules.library, self._library} == ALIKE:
            yield from self._line_by_line(function)
            return
        items = [rule for rule in map(self._assume, self._rules.of(function)) if rule is not None]
        if self._library == HOCKET:
            yield from self._for_hocket(function, items)
            return
        targets = self._targets(function)
        if not targets:
            self.notes.append(f"{function}: left out, as {self._library} has no rules for it")
        for target in targets:
            if self._library == _NCCLX:
                yield from self._on_nodes(target, items)
            elif self._library.startswith(_MPICH) and (exact := self._one_by_one(target, items)) is not None:
                yield from exact
            else:
                yield from self._as_table(target, items)

    def _targets(self, function: str) -> list[str]:
        """Return the functions of the other library to which a function's rules apply."""
        collective = collective_of(function) if self._rules.library == HOCKET else None
        names = FUNCTIONS_OF.get(collective[0], (function,)) if collective and not collective[1] else (function,)
        return [name for name in names if name in LIBRARIES[self._library].algorithms]

    def _line_by_line(self, function: str) -> Iterator[Rule]:
        """Give rules for a library that asks for the same; what only one of the two asks for is left out."""
        for rule in self._rules.of(function):
            choice = self._words(function, rule.choice).choice
            conditions = tuple(pair for pair in rule.conditions if pair[0] not in NOT_ASKED)
            if len(conditions) < len(rule.conditions):
                self.notes.append(f"{function}: {self._library} does not ask for {' and '.join(NOT_ASKED)}")
            if choice is not None:
                yield replace(rule, choice=choice, conditions=conditions)

    def _on_nodes(self, target: str, rules: Sequence[Rule]) -> Iterator[Rule]:
        """Give rules for numbers of nodes in place of ranks."""
        for rule in self._as_table(target, rules):
            ranks, count = rule.ranks, self._per_node
            nodes = Span(-(-ranks.first // count), None if ranks.last is None else ranks.last // count)
            if rule.choice is not None and ranks == ANY:
                yield rule
            elif rule.choice is not None and not nodes.is_empty:
                whole_nodes = Span(nodes.first * count, None if nodes.last is None else nodes.last * count)
                yield replace(rule, ranks=whole_nodes, nodes=nodes, ranks_per_node=Span(count, count))

    def _assume(self, rule: Rule) -> Rule | None:
        """Return a rule without the assumed conditions, or None if the rule contradicts them."""
        if rule.placement not in ("any", "one-per-node"):
            why = "as conversions assume one rank per node"
            self.notes.append(f"{rule.function}: rules for ranks {rule.placement} are left out, {why}")
            return None
        on_node = Span(self._per_node, self._per_node)
        job = replace(rule, ranks_per_node=on_node) if self._per_node in rule.ranks_per_node else rule
        if why := passes_over(job, self._rules.library):
            self.notes.append(f"{rule.function}: line {rule.line} is left out, as {why}")
            return None
        nodes, per_node = rule.nodes, self._per_node
        last = None if nodes.last is None else nodes.last * per_node
        own = counterpart_of(rule.function, rule.choice, self._rules.library) if rule.choice is not None else None
        first = max(nodes.first, 0 if own is None or own.fewest_nodes == 1 else own.fewest_nodes)
        ranks = rule.ranks.within(Span((first - 1) * per_node + 1 if first else 0, last))
        if ranks.is_empty or per_node not in rule.ranks_per_node:
            self.notes.append(f"{rule.function}: rules for other than {per_node} ranks per node are left out")
            return None
        for name, value in rule.conditions:
            if DEFAULT_CONDITIONS.get(name, value) != value:
                return None
            if name in LIMITS:
                if self._library != HOCKET:
                    self._note_few_elements(rule.function, name, value)
                    if value == "yes":
                        return None
            elif name not in DEFAULT_CONDITIONS and name not in NOT_ASKED:
                self.notes.append(f"{rule.function}: rules for {name} are left out")
                return None
        few = tuple(each for each in rule.conditions if each[0] in LIMITS and self._library == HOCKET)
        return replace(rule, ranks=ranks, placement="any", nodes=ANY, ranks_per_node=ANY, conditions=few)

    def _note_few_elements(self, function: str, name: str, value: str) -> None:
        """Note that a condition on few elements is lost, unless the other library has the same by itself."""
        counterparts = LIBRARIES[self._library].algorithms.get(function, ())
        own: list[str] = [each.short.condition for each in counterparts if each.short]
        if value == "yes" and name not in own:
            self.notes.append(f"{function}: rules for fewer elements than {LIMITS[name]} are left out")
        elif value == "no" and self._rules.library == HOCKET:
            self.notes.append(f"{function}: rules for at least as many elements as {LIMITS[name]} also get fewer")

    def _words(self, function: str, choice: Choice | None) -> Translation:
        """Return the choice in the other library's words; note what is lost."""
        if choice is None:
            return Translation(None)
        translation = translate(function, choice, self._rules.library, self._library)
        if translation.note:
            self.notes.append(translation.note + (", left to the library" if translation.choice is None else ""))
        return translation

    def _for_hocket(self, function: str, rules: Sequence[Rule]) -> Iterator[Rule]:
        collective = collective_of(function)
        if collective is None or of_function(collective[0]) != function.removeprefix("i" if collective[1] else ""):
            why = f"Hocket's rules for {collective[0]} apply to it" if collective else "Hocket has no rules for it"
            self.notes.append(f"{function}: left out, as {why}")
            return
        rules_made = []
        for rule in rules:
            for bare in self._with_sizes_of_hocket(rule):
                if not bare.ranks.is_empty and not bare.sizes.is_empty:
                    choice = self._words(function, rule.choice).choice
                    rules_made.append(replace(bare, choice=choice, power_of_two=rule.power_of_two or None))
        while rules_made and rules_made[-1].choice is None:
            rules_made.pop()
        yield from rules_made

    def _with_sizes_of_hocket(self, rule: Rule) -> Sequence[Rule]:
        if rule.measure == "nothing":
            return [replace(rule, sizes=ANY, measure="size")] if 0 in rule.sizes else []
        if rule.sizes == ANY:
            return [replace(rule, measure="size")]
        if rule.measure == "share":
            return self._with_whole_sizes(rule)
        if rule.measure == "type" or (rule.measure == "total" and not has_blocks(rule.function)):
            why = "their sizes do not count the bytes of a message"
            self.notes.append(f"{rule.function}: some rules are left out, as {why}")
            return []
        return [rule]

    def _with_whole_sizes(self, rule: Rule) -> list[Rule]:
        """Return rules whose sizes count the whole message, in place of one whose sizes count the bytes per rank."""
        if not rule.ranks.is_single:
            self._note_anchors(rule.function, "counts sizes differently")
        shares, rules_made = rule.sizes, []
        for ranks in (span.within(rule.ranks) for span in spans([0, *self._anchors])):
            if not ranks.is_empty:
                first = max(ranks.first, 1)
                sizes = Span(shares.first * first, None if shares.last is None else (shares.last + 1) * first - 1)
                rules_made.append(replace(rule, ranks=ranks, sizes=sizes, measure="size"))
        return rules_made

    def _note_anchors(self, function: str, why: str) -> None:
        first, *others = map(str, self._anchors)
        exact = ", ".join([first, *others] if len(others) < _MOST_SHOWN else [first, *others[:3], "..", others[-1]])
        what = "others are left to it" if self._library in ALIKE else "which stand for all numbers up to the next"
        self.notes.append(f"{function}: {self._library} {why}; exact on {exact} ranks, {what}")

    def _one_by_one(self, target: str, rules: Sequence[Rule]) -> list[Rule] | None:
        """Return rules, each translated by itself, or None if sizes count other things."""
        measure = LIBRARIES[self._library].measures.get(target, "size")
        if any(rule.sizes != ANY and rule.measure != measure for rule in rules):
            return None
        rules_made = []
        for rule in rules:
            translation = self._words(target, rule.choice)
            own = translation.counterpart if translation.choice else None
            power = True if own and own.needs_power_of_two else rule.power_of_two
            own_rule = replace(rule, function=target, choice=translation.choice, power_of_two=power, measure=measure)
            rules_made.append(replace(own_rule, conditions=own.needs if own else ()))
        return rules_made

    def _as_table(self, target: str, rules: Sequence[Rule]) -> Iterator[Rule]:
        measure = LIBRARIES[self._library].measures.get(target, "size")
        starts = boundaries(rule.ranks for rule in rules)
        why = self._why_anchors(rules, measure)
        if why:
            self._note_anchors(target, why)
            starts = sorted({*starts, *self._anchors})
        rows = []
        for ranks in spans(starts):
            fitting = [rule for rule in rules if max(ranks.first, 1) in rule.ranks]
            row = [(sizes, self._decision(target, fitting, max(ranks.first, 1), sizes.first, measure))
                   for sizes in spans(size_starts(fitting, max(ranks.first, 1), measure))]  # fmt: skip
            rows.append((ranks, tuple(merged(row))))
        if why and self._library in ALIKE:
            yield from self._of_each(target, rows, measure)
            return
        rows = merged(rows)
        if self._library == INTEL_MPI:
            rows = self._by_one_condition(target, rows)
        for ranks, choices in rows:
            if measure == "type" and len(choices) > 1:
                why = f"{self._library} cannot choose by size there"
                self.notes.append(f"{target}: left out on {ranks} ranks, as {why}")
                continue
            for sizes, choice in choices:
                yield Rule(target, choice, ranks, sizes=ANY if measure == "type" else sizes, measure=measure)

    def _by_one_condition(self, function: str, rows: list[tuple[Span, Row]]) -> list[tuple[Span, Row]]:
        """Return rows that choose by sizes alone or by ranks alone: the row of the only number of ranks, if need be."""
        if len(rows) > 1 and any(len(row) > 1 for _, row in rows):
            rows_chosen = [(ranks, row) for ranks, row in rows if any(choice for _, choice in row)]
            if len(rows_chosen) > 1:
                only = self._anchors[0] if len(self._anchors) == 1 else -1
                rows_chosen = [(ranks, row) for ranks, row in rows if only in ranks]
            why = f"{self._library} chooses by sizes or by ranks, not by both"
            if not rows_chosen:
                self.notes.append(f"{function}: left out, as {why}; expected --ranks with one number")
                return []
            self.notes.append(f"{function}: what is for {rows_chosen[0][0]} ranks is for all, as {why}")
            rows = [(ANY, rows_chosen[0][1])]
        choices = [choice for _, row in rows for _, choice in row]
        if any(choices) and None in choices:
            takes = f"{self._library} takes its basic logic, not its tuning"
            self.notes.append(f"{function}: for what is left to it, {takes}")
        return rows

    def _of_each(self, function: str, rows: Iterable[tuple[Span, Row]], measure: str) -> Iterator[Rule]:
        """Give rules for the first number of each range of ranks alone, if it fills its nodes; one rank needs none."""
        for ranks, row in rows:
            nodes, left = divmod(ranks.first, self._per_node)
            for sizes, choice in row if ranks.first > 1 and not left else ():
                on = ANY if self._per_node == 1 else Span(nodes, nodes)
                if choice is not None:
                    yield Rule(function, choice, Span(ranks.first, ranks.first), None, sizes, measure, nodes=on)

    def _why_anchors(self, rules: Sequence[Rule], measure: str) -> str:
        """Return why rules cannot be exact for all numbers of ranks, or nothing if they can."""
        for rule in rules:
            if rule.sizes != ANY and rule.measure != measure and "nothing" not in (measure, rule.measure):
                return "counts sizes differently"
        ranks_tried = (*range(2, 18), 31, 32, 33) if self._rules.library == HOCKET else ()
        is_uneven = any(
            rule.power_of_two is not None
            or not all(accepts(rule.function, rule.choice, ranks, 1 << 10) for ranks in ranks_tried)
            for rule in rules
        )
        return "selects numbers of ranks differently" if is_uneven else ""

    def _decision(self, target: str, rules: Sequence[Rule], ranks: int, size: int, measure: str) -> Choice | None:
        size_bytes = size // ranks if measure == "total" else size
        is_power = ranks & (ranks - 1) == 0
        for rule in rules:
            if rule.power_of_two not in (None, is_power) or in_measure(rule, size, measure, ranks) not in rule.sizes:
                continue
            if self._rules.library == HOCKET and not accepts(rule.function, rule.choice, ranks, size_bytes):
                continue
            return self._words(target, rule.choice).choice
        return None
