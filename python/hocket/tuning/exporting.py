"""Tuning files of the MPI itself, for decisions among its own algorithms. They work without the preloaded library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hocket.definitions.library import COLLECTIVES
from hocket.definitions.mpi_products import product_in
from hocket.rules.tuning_files import openmpi_han
from hocket.rules.tuning_files.activation import PARAMETERS_SUFFIX
from hocket.rules.tuning_files.counterparts import LIBRARIES, Counterpart
from hocket.rules.tuning_files.form import Choice as Named
from hocket.rules.tuning_files.form import Format, Rule, Rules, Span
from hocket.rules.tuning_files.formats import FORMATS
from hocket.rules.tuning_files.openmpi_han import FUNCTIONS_OF_HAN
from hocket.tuning.choice import DEFAULT, Choice, Decision, Point

_FUNCTIONS = {"broadcast": "bcast", "reduce_scatter": "reduce_scatter_block"}
"""Measured functions whose names differ from the collective's."""
_SEGMENT_SIZE = "_segmentsize"
PARAMETERS_FILE = f"own{PARAMETERS_SUFFIX}"
"""The name of the file of Open MPI's parameters that make it take the tuning files."""


def exporter_for(library: str) -> Exporter | None:
    """Return the exporter of an MPI, by the MPI's own name; None if Hocket has no format for its tuning files."""
    product, version = product_in(library) or (None, "")
    major, _, rest = version.partition(".")
    names = (f"{product.name}-{each}" for each in (f"{major}.{rest.partition('.')[0]}", major)) if product else ()
    return next((Exporter(FORMATS[name]) for name in names if name in FORMATS), None)


@dataclass(frozen=True)
class Exporter:
    """Writes the tuning files of an MPI, mostly one in a format."""

    format: Format

    def can_name(self, point: Point, choice: Choice) -> bool:
        """Return whether files can express one of the MPI's own choices."""
        in_han = self._han is not None and algorithm_of_han(point.collective, choice) is not None
        return choice.owner != "mpi" or in_han or self._names_of(point.collective, choice) is not None

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of all files that there may be."""
        formats = (self.format, self.format.companion, self._han)
        return (*(file_name(format) for format in formats if format), PARAMETERS_FILE)

    @property
    def _han(self) -> Format | None:
        return FORMATS.get(f"{self.format.name}-han")

    def texts(self, decisions: Sequence[Decision], *, has_levels: bool) -> dict[Format, str]:
        """Return files that work together, for decisions among the MPI's own algorithms; none if they would be empty.

        If Open MPI's component HAN took the measured calls (`has_levels`), and some of them are left to it, it stays
        on. A file of its own then gives the other calls to the component `tuned`. As `tuned` also reads its file for
        the communicators that HAN makes, of at most half of the ranks, that file has no rules for such numbers.
        """
        of_han = [one for one in decisions if function_of(one.collective) in FUNCTIONS_OF_HAN]
        if not has_levels or self._han is None or all(self._names_of(one.collective, one.choice) for one in of_han):
            rules = self._all_rules(decisions)
            texts = {format: format.write(rules) for format in self.format.paths(file_name(self.format)).values()}
            return {format: text for format, text in texts.items() if text and rules.rules}
        most = max(one.ranks[0] for one in of_han)
        inner = [one for one in of_han if 2 * one.ranks[0] <= most]
        by_han = tuple(
            self._rule_of_han(one) for one in of_han if one not in inner or algorithm_of_han(one.collective, one.choice)
        )
        flat = self.text(one for one in decisions if one not in inner)
        own = self._han.write(Rules(self._han.library, by_han)) if any(rule.choice for rule in by_han) else None
        return {format: text for format, text in ((self.format, flat), (self._han, own)) if text}

    def text(self, decisions: Iterable[Decision]) -> str | None:
        """Return the file for decisions among the MPI's own algorithms; None if it would be empty.

        Calls outside the measured range, and calls for which nothing was confirmed, are left to the MPI.
        """
        rules = self._all_rules(decisions)
        return self.format.write(rules) if rules.rules else None

    def _all_rules(self, decisions: Iterable[Decision]) -> Rules:
        return Rules(self.format.library, tuple(rule for decision in decisions for rule in self._rules(decision)))

    def _rules(self, decision: Decision) -> Iterator[Rule]:
        function = function_of(decision.collective)
        measure = LIBRARIES[self.format.library].measures.get(function, "size")
        names_of_choice = self._names_of(decision.collective, decision.choice)
        first, end = decision.ranks
        if decision.choice == DEFAULT or names_of_choice is None or measure == "type":
            return
        if measure == "nothing" and COLLECTIVES[decision.collective].has_size:
            return  # the library does not distinguish sizes
        counterpart, choice = names_of_choice
        blocks = range(first, end) if measure == "total" else (1,)
        for ranks in blocks:
            low, above = (size * ranks for size in decision.sizes_bytes)
            yield Rule(
                function,
                choice,
                ranks=Span(ranks, ranks) if measure == "total" else Span(first, end - 1),
                power_of_two=True if counterpart.needs_power_of_two else None,
                sizes=Span() if measure == "nothing" else Span(low, above - ranks),
                measure=measure,
                conditions=counterpart.needs,
            )

    def _rule_of_han(self, decision: Decision) -> Rule:
        (first, end), (low, above) = decision.ranks, decision.sizes_bytes
        call = decision.collective, decision.choice
        choice = Named("tuned") if self._names_of(*call) else algorithm_of_han(*call)
        sizes = Span(low, above - 1) if COLLECTIVES[decision.collective].has_size else Span()
        return Rule(function_of(decision.collective), choice, ranks=Span(first, end - 1), sizes=sizes)

    def _names_of(self, collective: str, choice: Choice) -> tuple[Counterpart, Named] | None:
        """Return a choice in the library's words; None if files cannot express it."""
        function, values = function_of(collective), dict(choice.parameters)
        algorithms = LIBRARIES[self.format.library].algorithms.get(function, ())
        begin = f"MPIR_{function.capitalize()}_"
        names = (f"{begin}intra_{choice.name}", f"{begin}allcomm_{choice.name}")
        number = values.get(f"coll_tuned_{function}_algorithm")
        counterpart = next((one for one in algorithms if one.name in names or (number and one.number == number)), None)
        if counterpart is None or counterpart.asks or (counterpart.parameter_names and number is None):
            return None
        segment = [("seg_size", value) for name, value in values.items() if name.endswith(_SEGMENT_SIZE)]
        return counterpart, Named(counterpart.name, (*counterpart.own.items(), *segment))


def algorithm_of_han(collective: str, choice: Choice) -> Named | None:
    """Return an algorithm of Open MPI's component HAN in the words of its file; None for other choices."""
    function = function_of(collective)
    number = dict(choice.parameters).get(f"coll_han_use_{function}_algorithm")
    algorithms = LIBRARIES[openmpi_han.LIBRARY].algorithms.get(function, ())
    return next((Named(each.name) for each in algorithms if number and each.number == number), None)


def file_name(format: Format) -> str:
    """Return the name of a tuning file of the MPI, from which `hocket rules` knows the format."""
    return f"own.{format.name}.{'json' if format.name.startswith(('mpich-5.0', 'openmpi-6.0')) else 'conf'}"


def function_of(collective: str) -> str:
    """Return the MPI function that represents a collective in measurements, in small letters."""
    return _FUNCTIONS.get(collective, collective)
