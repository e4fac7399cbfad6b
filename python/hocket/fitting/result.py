"""What a fit found: the machine, how well its values are known, and how far it is from what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from statistics import median
from typing import Any, Literal, TypeAlias, get_args

from hocket.base.results import Result
from hocket.definitions.machine import Machine

_NOISE = 0.05  # of measurements that do not tell it
_LEAST_NOISE = 0.02  # what changes from run to run is seldom less
_FAR = 3.0

WIDE = 2.0  # the largest ratio of the ends of an interval whose value is known

Ended: TypeAlias = Literal["converged", "steps", "time limit", "interrupted", "judged"]
"""Why a search ended: no step was an improvement, there were as many steps as allowed, the time was over, the user
pressed Ctrl-C, or there was nothing to search."""

Use: TypeAlias = Literal["fitted", "not used", "held out"]
"""What a cell was for: values were fitted to it, or not because there were enough others, or it judges them."""

AS_FAST = 1.001  # below how many times as long a time is the same

BANDS = (0.15, 0.25, 0.40)  # how far apart simulated and measured times may be, for the shares of cells that are told


@dataclass(frozen=True)
class Judgement:
    """A measured call, simulated."""

    collective: str
    algorithm: str
    parameters: str  # those that were given, as "name=value"
    ranks: int
    size_bytes: int
    measured_as: str  # see `hocket.simulate`
    in_place: bool  # whether the input was in the result buffer
    measured_s: float
    simulated_s: float
    use: Use  # what the cell was for
    system: str  # the machine, where the file names several
    source: str  # the file and the line of the measurement

    @property
    def residual(self) -> float:
        """ln(simulated / measured)."""
        return math.log(self.simulated_s / self.measured_s)


@dataclass(frozen=True)
class Deviation:
    """How far simulated times are from measured ones."""

    cells: int  # how many
    median: float  # of abs(ln(simulated / measured))
    bias: float  # the median of ln(simulated / measured)
    within: tuple[float, float, float]  # the shares of cells that are within a factor of 1.15, 1.25 and 1.40


@dataclass(frozen=True)
class Regret:
    """What the algorithm that is the fastest in simulation loses at a point where several were measured."""

    collective: str
    ranks: int
    size_bytes: int
    choice: str  # the fastest in simulation, with its parameters
    best: str  # the fastest when they were measured
    choice_s: float  # measured, as the others
    best_s: float
    default_s: float | None  # of what the library chose by itself, if it was measured
    is_held_out: bool  # whether no cell of the point was fitted

    @property
    def regret(self) -> float:
        """How many times as long as the best one the chosen one takes."""
        return self.choice_s / self.best_s

    @property
    def is_right(self) -> bool:
        """Whether the chosen one is as fast as the best one."""
        return self.regret < AS_FAST


def noise_of(noise: float | None) -> float:
    """Return the noise of measurements, given the deviation of times of the same call, if any call has several."""
    return _NOISE if noise is None else max(noise, _LEAST_NOISE)


def deviation(cells: Iterable[Judgement]) -> Deviation:
    """Return how far cells are off, of which there is at least one."""
    residuals = [one.residual for one in cells]
    distances = [abs(one) for one in residuals]
    first, second, third = (sum(each <= math.log1p(band) for each in distances) / len(distances) for band in BANDS)
    return Deviation(len(distances), median(distances), median(residuals), (first, second, third))


def deviations(cells: Sequence[Judgement]) -> dict[Use, Deviation]:
    """Return how far cells are off, by what they were for."""
    by_use = {use: [one for one in cells if one.use == use] for use in get_args(Use)}
    return {use: deviation(own) for use, own in by_use.items() if own}


@dataclass(frozen=True)
class Value:
    """A fitted value."""

    name: str  # its section, key and place in a list, such as "network.L[1]"
    value: float  # in SI units
    low: float  # where its 95 % confidence interval begins
    high: float
    text: str  # the value as the machine file has it
    interval: str  # for people
    is_at_bound: bool  # of its range
    is_known: bool  # whether the end of the interval is at most twice its beginning
    advice: str  # what to measure to know it better, if it is not known

    def is_near(self, other: float) -> bool:
        """Return whether another value is apart by less than a factor of 2."""
        return self.value / WIDE < other < self.value * WIDE


@dataclass(frozen=True)
class Pair:
    """Two values that the measurements cannot tell apart."""

    first: str  # its name
    second: str
    correlation: float  # of their logarithms
    advice: str  # what to measure to tell them apart


LEAST_CALLS = 3
"""The fewest calls of a kind of which a `Diagnosis` tells changes."""


@dataclass(frozen=True)
class Change:
    """A change of a machine file, and the gain: which share of the deviation of some calls it takes away."""

    # The key with the best of the values tried: "node.ports = 64", or "network.L x 2" for twice that of the file.
    change: str
    gain: float  # at most 1
    low: float  # where its 90 % interval begins
    high: float
    mends: tuple[str, ...]  # the kinds of calls whose deviation falls by more than the noise, the best first
    spoils: tuple[str, ...]  # those whose deviation rises by more, the worst first


@dataclass(frozen=True)
class Kind:
    """Calls of an algorithm on so many ranks, of sizes below or from 64 KiB, and what would mend them."""

    collective: str
    algorithm: str
    sizes: str  # in words
    ranks: int
    calls: int  # how many
    median: float  # the deviation: the median of abs(ln(simulated / measured))
    bias: float  # the median of ln(simulated / measured)
    # The best change; several if nobody can tell which; none if each takes away less than a tenth or has an interval
    # that begins below 0, if the deviation is within the noise, or with fewer calls than `LEAST_CALLS`.
    changes: tuple[Change, ...] = ()

    @property
    def text(self) -> str:
        """The kind in words."""
        return f"{self.collective} {self.algorithm} {self.sizes} on {self.ranks} ranks"


@dataclass(frozen=True)
class Diagnosis:
    """Which changes of a machine file would take away most of the deviations."""

    median: float  # the mean deviation of all kinds
    noise: float  # of measurements: kinds with a smaller deviation are right
    changes: tuple[Change, ...]  # those with which this mean would be least, as for a kind
    kinds: tuple[Kind, ...]  # the worst first

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each change of each kind, and one for each kind without."""
        rows = [{**vars(kind), **vars(change or kind)} for kind in self.kinds for change in kind.changes or (None,)]
        return [{key: len(one) if isinstance(one, tuple) else one for key, one in row.items()} for row in rows]


@dataclass(frozen=True)
class Fit(Result):
    """A machine that was fitted to measured times, or judged by them; `plot` draws simulated over measured times.

    Attributes:
        machine: The machine; its text is the file with intervals and provenance as comments.
        values: The fitted values; none if the machine was judged only.
        pairs: Pairs of values that the measurements cannot tell apart.
        others: Other values that do almost as well, by name, in SI units.
        minima: For each of them, a sentence that says what differs and which measurements would decide.
        cells: The measured calls, simulated on the machine.
        regrets: What choices by simulation lose, at each point at which several algorithms were measured.
        left_out: How many measurements were not simulated, by why.
        coverage: Which share of held-out calls is within intervals of `machine.discrepancies` that are made without
            them; None if there are too few.
        ratio_coverage: The same of ratios of two algorithms, whose errors come from other jobs; None without others.
        scatter: The standard deviation of ln(simulated / measured) of fitted calls; 0 if the machine was judged only.
        noise: The standard deviation of ln(time) of the same call, if calls were measured several times.
        ended: Why the search ended.
        seed: Its seed.
        diagnosis: Which keys would take away most of the residuals, if that was asked for.
    """

    machine: Machine
    values: tuple[Value, ...]
    pairs: tuple[Pair, ...]
    others: tuple[Mapping[str, float], ...] = field(repr=False)
    minima: tuple[str, ...] = field(repr=False)
    cells: tuple[Judgement, ...] = field(repr=False)
    regrets: tuple[Regret, ...] = field(repr=False)
    left_out: Mapping[str, int] = field(repr=False)
    coverage: float | None
    ratio_coverage: float | None
    scatter: float
    noise: float | None
    ended: Ended
    seed: int
    diagnosis: Diagnosis | None = field(default=None, repr=False)

    @property
    def title(self) -> str:
        """The machine, and to how much it was fitted."""
        if not self.values:
            return f"machine {self.machine.name}, judged by {len(self.cells)} measured calls"
        fitted_count = sum(one.use == "fitted" for one in self.cells)
        return f"machine {self.machine.name}, fitted to {fitted_count} of {len(self.cells)} measured calls"

    @property
    def is_beyond_noise(self) -> bool:
        """Whether simulated times are much farther from measured times than the noise of measurements explains."""
        return self.scatter > _FAR * noise_of(self.noise)

    @cached_property
    def deviations(self) -> dict[Use, Deviation]:
        """How far simulated times are from measured ones, by what the cells were for."""
        return deviations(self.cells)

    def records(self) -> list[dict[str, Any]]:
        """Return the cells as rows by column, with their residuals."""
        return [{**asdict(one), "residual": one.residual} for one in self.cells]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, as `hocket fit --json` prints it."""
        return {
            "machine": self.machine.name,
            "text": self.machine.text,
            "ended": self.ended,
            "seed": self.seed,
            "scatter": self.scatter,
            "noise": self.noise,
            "is_beyond_noise": self.is_beyond_noise,
            "values": [asdict(one) for one in self.values],
            "pairs": [asdict(one) for one in self.pairs],
            "others": [dict(one) for one in self.others],
            "minima": list(self.minima),
            "deviations": {use: asdict(one) for use, one in self.deviations.items()},
            "cells": self.records(),
            "discrepancies": [asdict(one) for one in self.machine.discrepancies],
            "coverage": self.coverage,
            "ratio_coverage": self.ratio_coverage,
            "regrets": [{**asdict(one), "regret": one.regret} for one in self.regrets],
            "left_out": dict(self.left_out),
            "diagnosis": self.diagnosis and asdict(self.diagnosis),
        }
