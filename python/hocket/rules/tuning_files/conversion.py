"""Rules in the words and the form of another library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hocket.rules.tuning_files.counterparts import FUNCTIONS_OF, LIBRARIES
from hocket.rules.tuning_files.deciding import ASSUMED, accepts
from hocket.rules.tuning_files.form import ANY, Choice, Rule, Rules
from hocket.rules.tuning_files.grid import boundaries, merged, spans
from hocket.rules.tuning_files.hocket_rules import collective_of, has_blocks, of_function
from hocket.rules.tuning_files.translation import HOCKET, Translated, translated

ANCHORS = tuple(sorted({count + more for count in (1 << k for k in range(1, 14)) for more in (0, 1)}))
"""The numbers of ranks for which a file is exact where it cannot be for all: powers of two up to 8192, and one more."""

_MPICH = "mpich"


@dataclass(frozen=True)
class Converted:
    """Rules in other words.

    Attributes:
        rules: The rules.
        notes: What is lost or only near, one sentence each.
        loses: Whether the other library lacks an algorithm that the rules name, or rules for a function.
    """

    rules: Rules
    notes: tuple[str, ...]
    loses: bool = False


def converted(rules: Rules, library: str, *, ranks: Sequence[int] | None = None) -> Converted:
    """Return rules in the words of another library, as far as it has them.

    What has no counterpart is left to the library, and said in a note.

    Args:
        rules: The rules.
        library: The other library, with its version.
        ranks: The numbers of ranks for which the rules are to be exact where they cannot be for all.
    """
    if library == rules.library:
        return Converted(rules, ())
    made = _Conversion(rules, library, tuple(sorted(set(ranks or ANCHORS))))
    found = Rules(library, tuple(rule for function in rules.functions for rule in made.function(function)))
    if rules.order_is_fixed:
        made.notes.append(f"order = fixed is left out: with the algorithms of {library}, sums may depend on the size")
    return Converted(found, tuple(dict.fromkeys(made.notes)), made.loses)


class _Conversion:
    def __init__(self, rules: Rules, library: str, anchors: tuple[int, ...]) -> None:
        self.notes: list[str] = []
        self.loses = False
        self._rules, self._library, self._anchors = rules, library, anchors

    def function(self, function: str) -> Iterator[Rule]:
        """Give the converted rules of a function."""
        listed = [rule for rule in map(self._assumed, self._rules.of(function)) if rule is not None]
        if self._library == HOCKET:
            yield from self._for_hocket(function, listed)
            return
        targets = self._targets(function)
        if not targets:
            self.loses = True
            self.notes.append(f"{function}: left out, as {self._library} has no rules for it")
        for target in targets:
            if self._library.startswith(_MPICH) and (exact := self._one_by_one(target, listed)) is not None:
                yield from exact
            else:
                yield from self._as_table(target, listed)

    def _targets(self, function: str) -> list[str]:
        """Return the functions of the other library to which a function's rules apply."""
        found = collective_of(function) if self._rules.library == HOCKET else None
        names = FUNCTIONS_OF.get(found[0], (function,)) if found and not found[1] else (function,)
        return [name for name in names if name in LIBRARIES[self._library].algorithms]

    def _assumed(self, rule: Rule) -> Rule | None:
        """Return a rule without the assumed conditions, or None if the rule contradicts them."""
        if rule.placement not in ("any", "one-per-node"):
            why = "as conversions assume one rank per node"
            self.notes.append(f"{rule.function}: rules for ranks {rule.placement} are left out, {why}")
            return None
        for name, value in rule.conditions:
            if name in ASSUMED and ASSUMED[name] != value:
                return None
            if name == "count<pow2":
                if value == "yes":
                    self.notes.append(f"{rule.function}: rules for fewer elements than ranks are left out")
                    return None
            elif name not in ASSUMED:
                self.notes.append(f"{rule.function}: rules for {name} are left out")
                return None
        return replace(rule, placement="any", conditions=())

    def _words(self, function: str, choice: Choice | None, of: str) -> Translated:
        """Return the choice in the other library's words; note what is lost."""
        if choice is None:
            return Translated(None)
        found = translated(of if self._library == HOCKET else function, choice, self._rules.library, self._library)
        if found.note:
            self.notes.append(found.note + (", left to the library" if found.choice is None else ""))
        self.loses |= found.choice is None
        return found

    def _for_hocket(self, function: str, listed: Sequence[Rule]) -> Iterator[Rule]:
        found = collective_of(function)
        if found is None or of_function(found[0]) != function.removeprefix("i" if found[1] else ""):
            also = f", as Hocket's rules for {found[0]} apply to it" if found else ", as Hocket has no rules for it"
            self.notes.append(f"{function}: left out{also}")
            return
        made = []
        for rule in listed:
            bare = self._with_sizes_of_hocket(rule)
            if bare is not None and not bare.ranks.is_empty and not bare.sizes.is_empty:
                choice = self._words(function, rule.choice, function).choice
                made.append(replace(bare, choice=choice, power_of_two=rule.power_of_two or None))
        while made and made[-1].choice is None:
            made.pop()
        yield from made

    def _with_sizes_of_hocket(self, rule: Rule) -> Rule | None:
        if rule.measure == "nothing":
            return replace(rule, sizes=ANY, measure="size") if 0 in rule.sizes else None
        if rule.sizes == ANY:
            return replace(rule, measure="size")
        if rule.measure == "type" or (rule.measure == "total" and not has_blocks(rule.function)):
            self.notes.append(
                f"{rule.function}: some rules are left out, as their sizes do not count the bytes of a message"
            )
            return None
        return rule

    def _one_by_one(self, target: str, listed: Sequence[Rule]) -> list[Rule] | None:
        """Return rules, each translated by itself, or None if sizes count other things."""
        measure = LIBRARIES[self._library].measures.get(target, "size")
        if any(rule.sizes != ANY and rule.measure != measure for rule in listed):
            return None
        made = []
        for rule in listed:
            found = self._words(target, rule.choice, rule.function)
            needs = found.known.needs if found.known and found.choice else ()
            power = True if found.known and found.choice and found.known.needs_power_of_two else rule.power_of_two
            made.append(
                replace(
                    rule, function=target, choice=found.choice, power_of_two=power, conditions=needs, measure=measure
                )
            )
        return made

    def _as_table(self, target: str, listed: Sequence[Rule]) -> Iterator[Rule]:
        measure = LIBRARIES[self._library].measures.get(target, "size")
        starts = self._starts(target, listed, measure)
        rows = []
        for ranks in spans(starts):
            fitting = [rule for rule in listed if max(ranks.first, 1) in rule.ranks]
            row = [(sizes, self._decision(target, fitting, max(ranks.first, 1), sizes.first, measure))
                   for sizes in spans(_size_starts(fitting, max(ranks.first, 1), measure))]  # fmt: skip
            rows.append((ranks, tuple(merged(row))))
        for ranks, choices in merged(rows):
            if measure == "type" and len(choices) > 1:
                self.notes.append(
                    f"{target}: left out on {ranks} ranks, as {self._library} cannot choose by size there"
                )
                continue
            for sizes, choice in choices:
                yield Rule(target, choice, ranks, sizes=ANY if measure == "type" else sizes, measure=measure)

    def _starts(self, target: str, listed: Sequence[Rule], measure: str) -> list[int]:
        starts = boundaries(rule.ranks for rule in listed)
        is_other = any(
            rule.sizes != ANY and rule.measure != measure and "nothing" not in (measure, rule.measure)
            for rule in listed
        )
        is_uneven = any(rule.power_of_two is not None for rule in listed) or self._refuses(listed)
        if not (is_other or is_uneven):
            return starts
        why = "counts sizes differently" if is_other else "selects numbers of ranks differently"
        self.notes.append(
            f"{target}: {self._library} {why}; exact on {', '.join(map(str, self._anchors[:4]))}, .., "
            f"{self._anchors[-1]} ranks, which stand for all numbers up to the next"
        )
        return sorted({*starts, *self._anchors})

    def _refuses(self, listed: Sequence[Rule]) -> bool:
        if self._rules.library != HOCKET:
            return False
        tried = [(rule, ranks) for rule in listed for ranks in (*range(2, 18), 31, 32, 33)]
        return not all(accepts(rule.function, rule.choice, ranks, 1 << 10) for rule, ranks in tried)

    def _decision(self, target: str, rules: Sequence[Rule], ranks: int, size: int, measure: str) -> Choice | None:
        size_bytes = size // ranks if measure == "total" else size
        is_power = ranks & (ranks - 1) == 0
        for rule in rules:
            if rule.power_of_two not in (None, is_power) or _in_measure(rule, size, measure, ranks) not in rule.sizes:
                continue
            if self._rules.library == HOCKET and not accepts(rule.function, rule.choice, ranks, size_bytes):
                continue
            return self._words(target, rule.choice, rule.function).choice
        return None


def _in_measure(rule: Rule, size: int, measure: str, ranks: int) -> int:
    """Convert a size from the measure of a table to the measure of a rule."""
    if rule.measure == "nothing":
        return 0
    if rule.measure == measure or {rule.measure, measure} != {"size", "total"}:
        return size
    return size // ranks if measure == "total" else size * ranks


def _size_starts(rules: Sequence[Rule], ranks: int, measure: str) -> list[int]:
    """Return the sizes where the decision on some ranks may change, in the measure of a table."""
    if measure == "nothing":
        return [0]
    starts = {0}
    for rule in rules:
        for start in boundaries([rule.sizes]):
            if rule.measure == measure or {rule.measure, measure} == {"size", "type"}:
                starts.add(start)
            elif rule.measure == "size" and measure == "total":
                starts.add(start * ranks)
            elif rule.measure == "total" and measure == "size":
                starts.add(-(-start // ranks))
    return sorted(starts)
