"""`hocket study validation`: Hocket's numbers beside those of others."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import click

from hocket._native import Error
from hocket.base import files
from hocket.base.parallel import workers
from hocket.cli.output import print_json, print_table, progress
from hocket.definitions.machine import Machine
from hocket.drawing.encoding import FORMATS, encode
from hocket.mpi import Installation
from hocket_lab.commands.options import built
from hocket_lab.laboratory import Lab
from hocket_studies import STUDIES
from hocket_studies.validation import pictures
from hocket_studies.validation.closed_forms import closed_forms
from hocket_studies.validation.comparison import Comparison
from hocket_studies.validation.host import host
from hocket_studies.validation.laboratory import laboratory
from hocket_studies.validation.loggops import by_hand, loggopsim_output, loggopsim_published
from hocket_studies.validation.papers import paper
from hocket_studies.validation.report import COLUMNS, as_data, cells, facts, markdown
from hocket_studies.validation.simgrid_comparison import simgrid, simgrid_clusters


@dataclass(frozen=True)
class Validation:
    """What to compare with.

    Attributes:
        folder: Where results go.
        scope: "quick" leaves out what is measured, "full" adds labs and takes the studies' default scopes.
        simgrid: A Python that has SimGrid.
        loggopsim: The program LogGOPSim.
        mpicc: The compiler wrapper of the MPI.
        jobs: Threads for the papers.
        as_json: Whether to print JSON.
    """

    folder: Path
    scope: str
    simgrid: str | None
    loggopsim: str | None
    mpicc: str | None
    jobs: int
    as_json: bool

    def write(self) -> None:
        """Compare, and write the table, the data and the picture."""
        files.make_folder(self.folder)
        comparisons = self._comparisons()
        found: list[Comparison] = []
        with progress("comparing", len(comparisons)) as on_done:
            for compare in comparisons:
                found.append(compare())
                on_done()
        run = facts(found)
        data = as_data(found, run)
        files.write(self.folder / "validation.json", json.dumps(data, ensure_ascii=False) + "\n")
        files.write(self.folder / "validation.md", markdown(found, run))
        for ending in FORMATS:
            files.write(self.folder / f"validation{ending}", encode(pictures.deviations(found), ending))
        if self.as_json:
            rows = [one.as_data() for one in found]
            print_json({"study": "validation", "folder": str(self.folder), "run": asdict(run), "rows": rows})
        else:
            print_table(COLUMNS, map(cells, found), right=["cases", "median"])
            click.echo(f"table, data and picture: {self.folder}/")

    def _comparisons(self) -> list[Callable[[], Comparison]]:
        """Return the rows of the table, each yet to be computed."""
        installation, why_not = self._installation()
        is_full = self.scope == "full"
        return [
            closed_forms,
            partial(simgrid, self.simgrid),
            partial(simgrid_clusters, self.simgrid),
            by_hand,
            loggopsim_published,
            partial(loggopsim_output, self.loggopsim),
            partial(host, installation, why_not),
            partial(laboratory, installation, _build, is_full=is_full, why_not=why_not),
            *(partial(self._paper, name, is_full) for name, study in STUDIES.items() if study.is_of_paper),
        ]

    def _installation(self) -> tuple[Installation | None, str]:
        """Return the MPI, or why there is none to measure."""
        if self.scope == "quick":
            return None, "--quick measures nothing"
        try:
            return Installation.find(self.mpicc), ""
        except Error as error:
            return None, str(error)

    def _paper(self, name: str, is_full: bool) -> Comparison:
        with workers(self.jobs) as executor:
            return paper(name, executor, is_full=is_full)


def _build(machine: Machine) -> AbstractContextManager[Lab]:
    return built(machine)
