"""The tuning file of the MPI itself, for decisions among its own algorithms. It works without the preloaded library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hocket.definitions.library import COLLECTIVES
from hocket.mpi.installation import kind_of
from hocket.rules.tuning_files.counterparts import LIBRARIES, Counterpart
from hocket.rules.tuning_files.form import Choice as Named
from hocket.rules.tuning_files.form import Format, Rule, Rules, Span
from hocket.rules.tuning_files.formats import FORMATS
from hocket.tuning.choice import DEFAULT, Choice, Decision, Point

_FUNCTIONS = {"broadcast": "bcast", "reduce_scatter": "reduce_scatter_block"}
"""Measured functions whose names differ from the collective's."""
_SEGMENT_SIZE = "_segmentsize"


def exporter_for(library: str) -> Exporter | None:
    """Return the exporter of an MPI, by the MPI's own name; None if Hocket has no format for its tuning files."""
    version = re.search(r"(\d+\.\d+)\.", library)
    name = f"{kind_of(library)}-{version[1]}" if version else ""
    return Exporter(FORMATS[name]) if name in FORMATS else None


@dataclass(frozen=True)
class Exporter:
    """Writes the tuning file of an MPI in its format."""

    format: Format

    @property
    def file_name(self) -> str:
        """The name of the file, from which `hocket rules` knows the format."""
        return f"own.{self.format.name}.{'json' if self._writes_json else 'conf'}"

    @property
    def device_file_name(self) -> str:
        """The name of the second file, for formats that have one."""
        return self.format.device_file(self.file_name)

    def line(self, file: str, decisions: Iterable[Decision]) -> str:
        """Return the environment variables that make a program use a file for decisions."""
        if self.format.variables:
            return self.format.line(file, has_device=bool(self.device_text(decisions)))
        return " ".join(self.variables).replace("=FILE", f"={file}")

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that make a program use the file of Open MPI; FILE stands for the file."""
        return ("OMPI_MCA_coll_tuned_use_dynamic_rules=1", "OMPI_MCA_coll_tuned_dynamic_rules_filename=FILE")

    @property
    def _writes_json(self) -> bool:
        return self.format.name in ("mpich-5.0", "openmpi-6.0")

    def can_name(self, point: Point, choice: Choice) -> bool:
        """Return whether files can express one of the MPI's own choices."""
        return choice.owner != "mpi" or self._names_of(point.collective, choice) is not None

    def text(self, decisions: Iterable[Decision]) -> str | None:
        """Return the file for decisions among the MPI's own algorithms; None if it would be empty.

        Calls outside the measured range, and calls for which nothing was confirmed, are left to the MPI.
        """
        rules = self._all_rules(decisions)
        return self.format.write(rules) if rules.rules else None

    def device_text(self, decisions: Iterable[Decision]) -> str:
        """Return the second file for decisions; empty if the MPI needs none."""
        return self.format.write_device(self._all_rules(decisions)) if self.format.write_device else ""

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


def function_of(collective: str) -> str:
    """Return the MPI function that represents a collective in measurements, in small letters."""
    return _FUNCTIONS.get(collective, collective)
