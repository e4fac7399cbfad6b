"""What a fit found: the machine, how well its values are known, and how far it is from what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hocket.base.results import Result, drawn
from hocket.definitions.machine import Machine
from hocket.fitting.certainty import Pair, Value
from hocket.fitting.judging import Deviation, Judged, Regret, Use, deviations
from hocket.fitting.searching import Ended

if TYPE_CHECKING:
    import altair as alt

_NOISE = 0.05  # of measurements that do not tell it
_LEAST_NOISE = 0.02  # what changes from run to run is seldom less
_FAR = 3.0


@dataclass(frozen=True)
class Fit(Result):
    """A machine that was fitted to measured times, or judged by them.

    Attributes:
        machine: The machine; its text is the file with intervals and provenance as comments.
        values: The fitted values; none if the machine was judged only.
        pairs: Pairs of values that the measurements cannot tell apart.
        others: Other values that do almost as well, by name, in SI units.
        cells: The measured calls, simulated on the machine.
        regrets: What choices by simulation lose, at each point at which several algorithms were measured.
        left_out: How many measurements were not simulated, by why.
        scatter: The standard deviation of ln(simulated / measured) of fitted calls; 0 if the machine was judged only.
        noise: The standard deviation of ln(time) of the same call, if calls were measured several times.
        ended: Why the search ended.
        seed: Its seed.
    """

    machine: Machine
    values: tuple[Value, ...]
    pairs: tuple[Pair, ...]
    others: tuple[Mapping[str, float], ...] = field(repr=False)
    cells: tuple[Judged, ...] = field(repr=False)
    regrets: tuple[Regret, ...] = field(repr=False)
    left_out: Mapping[str, int] = field(repr=False)
    scatter: float
    noise: float | None
    ended: Ended
    seed: int

    @property
    def title(self) -> str:
        """The machine, and to how much it was fitted."""
        if not self.values:
            return f"machine {self.machine.name}, judged by {len(self.cells)} measured calls"
        fitted = sum(one.use == "fitted" for one in self.cells)
        return f"machine {self.machine.name}, fitted to {fitted} of {len(self.cells)} measured calls"

    @property
    def is_beyond_noise(self) -> bool:
        """Whether simulated times are much farther from measured times than the noise of measurements explains."""
        noise = _NOISE if self.noise is None else max(self.noise, _LEAST_NOISE)
        return self.scatter > _FAR * noise

    @cached_property
    def deviations(self) -> dict[Use, Deviation]:
        """How far simulated times are from measured ones, by what the cells were for."""
        return deviations(self.cells)

    def records(self) -> list[dict[str, Any]]:
        """Return the cells as rows by column, with their residuals."""
        return [{**asdict(one), "residual": one.residual} for one in self.cells]

    def plot(self) -> alt.LayerChart:
        """Return simulated over measured times as a chart of Altair; a cell is a point."""
        drawing: alt.LayerChart = drawn(self)
        return drawing

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
            "deviations": {use: asdict(one) for use, one in self.deviations.items()},
            "cells": self.records(),
            "regrets": [{**asdict(one), "regret": one.regret} for one in self.regrets],
            "left_out": dict(self.left_out),
        }
