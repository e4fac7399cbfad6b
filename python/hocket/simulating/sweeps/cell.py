"""One cell of a grid: plain data with a key, which any process can simulate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from typing import Any

from hocket.base.call import Call
from hocket.base.version import VERSION
from hocket.definitions.authoring import library
from hocket.definitions.library import Algorithm, catalogue, find, free_parameters
from hocket.definitions.machine import Machine
from hocket.simulating.question import Contender, Outcome, Question
from hocket.simulating.scenes import Scene
from hocket.simulating.simulation import Simulation, Trials
from hocket.simulating.sweeps.row import Row

_RESULTS = ("parameters", "trials", "messages", "message_bytes", "engine")


@dataclass(frozen=True)
class Source:
    """A Python file that defines algorithms, and the digest of its text."""

    path: str
    digest: str


@dataclass(frozen=True, kw_only=True)
class Variant:
    """An algorithm with values of its parameters."""

    label: str
    parameters: Mapping[str, int | str]  # the given ones; the formula, the machine or the defaults determine the others
    load: tuple[Source, ...] = ()  # the files to load the algorithm from; empty for the catalogue


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A machine with one of the noises, of the arrivals, of the cadences and of the faults."""

    machine: Machine  # with the noise
    noise: str  # "" for the noise of the machine file
    arrivals: str  # "" if all begin together
    cadence: str  # "" for one call
    faults: str  # with semicolons between them; "" for none
    digest: str = field(repr=False)  # of the texts of all files that they are read from

    @property
    def columns(self) -> dict[str, Any]:
        """The texts, by the columns of a table."""
        return {"noise": self.noise, "arrivals": self.arrivals, "cadence": self.cadence, "faults": self.faults}

    @cached_property
    def scene(self) -> Scene:
        """The scene of the arrivals, the cadence and the faults."""
        return Scene(arrivals=self.arrivals or None, cadence=self.cadence or None, faults=self.faults or None)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One simulation of a grid."""

    variant: Variant
    ranks: int
    size_bytes: int
    setting: Setting
    trials: Trials

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm to simulate."""
        return find(self.variant.label, among=known_algorithms(self.variant.load))

    @property
    def contender(self) -> Contender:
        """The cell in a question."""
        call = Call(ranks=self.ranks, size_bytes=self.size_bytes, parameters=self.variant.parameters)
        return Contender(0, self.algorithm, call, self.setting.machine, "by formula", scene=self.setting.scene)

    @cached_property
    def key(self) -> str:
        """The digest of everything that the result depends on."""
        description = {
            "label": self.variant.label,
            "parameters": dict(self.variant.parameters),
            "load": [source.digest for source in self.variant.load],
            "ranks": self.ranks,
            "size_bytes": self.size_bytes,
            "setting": self.setting.digest,
            **self.setting.columns,
            "trials": [self.trials.count, self.trials.seed, self.trials.until_interval],
            "version": VERSION,
        }
        return digest(json.dumps(description, sort_keys=True))


def digest(*texts: str) -> str:
    """Return the digest of some texts."""
    return sha256(json.dumps(texts).encode()).hexdigest()


@cache
def known_algorithms(load: tuple[Source, ...]) -> tuple[Algorithm, ...]:
    """Return the catalogue together with the algorithms that some files define; an Error if one cannot be loaded."""
    return library([source.path for source in load], base=catalogue())


def question_of(cells: Sequence[Cell]) -> Question:
    """Return the question for the times of some cells of a grid, at least one."""
    return Question(cells[0].setting.machine, [cell.contender for cell in cells], trials=cells[0].trials)


def simulate_cell(cell: Cell) -> Row:
    """Simulate a cell; a refused call also gives a row."""
    (answer,) = question_of([cell]).answer()
    return row_of(cell, answer.outcome)


def row_of(cell: Cell, outcome: Outcome) -> Row:
    """Return the row of a cell with this outcome."""
    setting, parameters = cell.setting, cell.variant.parameters
    if isinstance(outcome, Simulation):
        interval_s = None if outcome.repeated is None else outcome.repeated.interval_s.mean
        result = (
            {name: getattr(outcome, name) for name in _RESULTS}
            | outcome.time_s.columns()
            | {"interval_s": interval_s}
            | {"by_formula": " ".join(each.name for each in free_parameters(cell.algorithm, parameters))}
        )
    else:
        result = {"parameters": dict(parameters), "trials": 0, "refusal": str(outcome)}
    return Row(
        algorithm=cell.algorithm.name,
        collective=cell.algorithm.collective,
        ranks=cell.ranks,
        size_bytes=cell.size_bytes,
        machine=setting.machine.name,
        **setting.columns,
        seed=cell.trials.seed,
        version=VERSION,
        **result,
    )
