"""What residuals say: which keys of the machine file would take away most of them, for each kind of calls and for all.

Keys are tried in turn, with several values each. The gain of a key is the share of the median of abs(ln(simulated /
measured)) that goes with its best value. Intervals are bootstrapped: the calls of each kind are drawn again, the same
ones for all keys, and the values are chosen again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, product

import numpy as np

from hocket._native import Error
from hocket.base.units import format_bytes
from hocket.definitions.machine import Machine, shape_of_job
from hocket.definitions.variants import COST_KEYS, variant, with_host, with_layout
from hocket.fitting.cells import Cell, Cells, Floats, Simulator, spread
from hocket.fitting.discrepancies import LARGE_BYTES
from hocket.fitting.result import LEAST_CALLS, Change, Diagnosis, Kind, noise_of

_FACTORS = (0.125, 0.35, 0.7, 1.4, 2.8, 8.0)  # of the costs that the file has
_VALUES: Mapping[str, Sequence[object]] = {
    "host.O_receive": ("0.05 ns/B", "0.1 ns/B", "0.2 ns/B"),
    "host.S": ("1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB"),
    "host.both_ways": (1.0, 1.25, 1.5, 2.0),
    "host.new_peer": ("0.5 us", "1 us", "2 us", "4 us"),
    "network.local.L": ("0.3 us", "1 us"),
    "network.sharing": ("queue", "fair"),
    "node.barrier": ("none", "dissemination", "binomial", "k_dissemination"),
    "node.call_overhead": ("1 us", "3 us", "10 us"),
    "node.cards.bandwidth": ("10 GB/s", "25 GB/s", "50 GB/s"),
    "node.cards.directions": ("apart", "together"),
    "node.copy_bandwidth": ("5 GB/s", "10 GB/s", "20 GB/s"),
    "node.copy_latency": ("50 ns", "0.2 us"),
    "node.ports": (1, 2, 4, 16, 64),
    "node.reduce_bandwidth": ("5 GB/s", "10 GB/s", "20 GB/s"),
    "node.reduce_latency": ("50 ns", "0.2 us", "1 us"),
    "node.scratch.from": ("128 KiB", "1 MiB", "32 MiB"),
    "node.scratch.per_byte": ("0.07 ns/B", "0.1 ns/B", "0.15 ns/B", "0.2 ns/B", "0.3 ns/B", "0.4 ns/B"),
}
_COMPANIONS: Mapping[str, Mapping[str, object]] = {
    "network.local.L": {"network.local.o": "0.2 us", "network.local.G": "0.1 ns/B"},
    "node.cards.bandwidth": {"node.cards.count": 1, "node.cards.directions": "together"},
    "node.scratch.per_byte": {"node.scratch.from": "32 MiB", "node.scratch.together_from": "256 KiB"},
}
_FOLDS = (2, 4, 8, 16)  # of the axes of a job on a torus

_RESAMPLES = 400
_TAIL = 0.05  # of the resamples, beyond either end of an interval
_LEAST_MEDIAN = 1e-6  # calls drawn again may all be exact
_LEAST_GAIN = 0.1  # of a key that is worth telling
_MOST_OF_IT = 2 / 3  # of the largest gain: nearly as much


def diagnose(simulator: Simulator, every: Cells, point: Floats, *, most: int, seed: int) -> Diagnosis:
    """Try keys on the machine of a point, with at most so many cells; `seed` draws them again."""
    cells = every.cells if len(every.cells) <= most else spread(every.cells, most)
    machines = {cell.layout: simulator.skeleton.with_values(np.exp(point).tolist(), cell.layout) for cell in cells}
    trials = [("", "", machines), *_trials(machines)]
    names, rows = list[tuple[str, str]](), list[Floats]()
    with simulator.stage("trying keys", len(trials) * len(cells)):
        for key, value, variants in trials:
            with suppress(Error):  # a call that the machine refuses
                rows += [*simulator.times_on([variants], cells)]
                names.append((key, value))
    kinds, medians = list[Kind](), list[Floats]()
    residuals = np.log(np.array(rows) / [cell.measurement.time_s for cell in cells])
    random = np.random.default_rng(seed)
    for what, numbers in _kinds(cells).items():
        own = residuals[:, numbers]
        draws = random.integers(len(numbers), size=(_RESAMPLES, len(numbers)))
        medians.append(np.median(np.abs(own[:, np.vstack([np.arange(len(numbers)), draws])]), axis=2))
        kinds.append(Kind(*what, len(numbers), float(medians[-1][0, 0]), float(np.median(own[0]))))
    return _Comparison(names, kinds, np.array(medians), noise_of(every.noise)).diagnosis()


def _kinds(cells: Sequence[Cell]) -> dict[tuple[str, str, str, int], list[int]]:
    """Return the numbers of the cells of each kind."""
    kinds: dict[tuple[str, str, str, int], list[int]] = {}
    for number, one in enumerate(cell.measurement for cell in cells):
        sizes = f"{'from' if one.size_bytes >= LARGE_BYTES else 'below'} {format_bytes(LARGE_BYTES)}"
        kinds.setdefault((one.collective, one.algorithm, sizes, one.ranks), []).append(number)
    return kinds


def _trials(machines: Mapping[str | None, Machine]) -> Iterator[tuple[str, str, Mapping[str | None, Machine]]]:
    """Give keys, values in words, and the machines with them, by the layout of calls."""
    for key, value, change in _changes(next(iter(machines.values()))):
        with suppress(Error):  # a key that the model does not have, or not beside others
            variants = {layout: machine for layout, one in machines.items() if (machine := change(one))}
            if variants:
                yield key, value, variants
    layouts = {layout: shape_of_job(layout) for layout in machines if layout}
    for fold, turn in product(_FOLDS if layouts else (), (1, -1)):
        value = f"folded by {fold}{', axes reversed' if turn < 0 else ''}"
        variants = {one: with_layout(machines[one], _fold(shape[::turn], fold)) for one, shape in layouts.items()}
        yield "network.layout", value, variants


def _changes(machine: Machine) -> Iterator[tuple[str, str, Callable[[Machine], Machine | None]]]:
    """Give keys, values in words, and what sets them: factors of the costs in the file, and values of other keys."""
    costs = set()
    for section, name in product(("network", "node", "host", "level"), COST_KEYS):
        pattern = re.compile(rf"({section}\b.*\.{name})(_s|_s_per_byte|_bytes_per_s)?")
        keys = [match[1] for match in map(pattern.fullmatch, machine.quantities) if match]
        costs.update(keys)
        for factor in _FACTORS if keys else ():
            yield ", ".join(keys), f"x {factor:g}", partial(variant, factors={name: factor}, sections=[section])
    for key, values in _VALUES.items():
        own = key.replace("host.", "network.") if machine.model == "loggp" and not machine.host else key
        for value in values if own not in costs else ():
            yield own, f"= {value}", partial(_set_values, values={own: value, **_COMPANIONS.get(key, {})})


def _set_values(machine: Machine, values: Mapping[str, object]) -> Machine | None:
    needs_host = any(key.startswith("host.") for key in values)
    return variant(with_host(machine) if needs_host else machine, values)


def _fold(shape: Sequence[int], fold: int) -> str:
    return ", ".join(f"{axis // fold}x{fold}" if axis > fold and axis % fold == 0 else str(axis) for axis in shape)


@dataclass(frozen=True)
class _Comparison:
    """How far off each kind is with each trial, the first without a change."""

    names: Sequence[tuple[str, str]]  # of trials: the key and its value
    kinds: Sequence[Kind]
    medians: Floats  # by kind, trial and draw, of which the first has the calls themselves
    noise: float

    def diagnosis(self) -> Diagnosis:
        """Return what takes away most of the residuals."""
        kinds = [
            replace(one, changes=self._best(own)) if one.median > self.noise and one.calls >= LEAST_CALLS else one
            for one, own in zip(self.kinds, self.medians, strict=True)
        ]
        kinds.sort(key=lambda kind: -kind.median)
        whole = self.medians.mean(axis=0)
        changes = self._best(whole) if kinds[0].median > self.noise else ()
        return Diagnosis(float(whole[0, 0]), self.noise, changes, tuple(kinds))

    def _best(self, medians: Floats) -> tuple[Change, ...]:
        """Return the key that makes medians, by trial and draw, the least; several if nobody can tell which.

        A single kind cannot tell a cause from another key that happens to mend it. So of the keys that take away nearly
        as much as the best one, that counts with which all kinds are least off.
        """
        whole = self.medians.mean(axis=0)
        gains: dict[int, Floats] = {}
        for _, group in groupby(range(1, len(self.names)), key=lambda number: self.names[number][0]):
            numbers = [*group]
            gain = 1 - medians[numbers].min(axis=0) / np.maximum(medians[0], _LEAST_MEDIAN)
            if gain[0] > _LEAST_GAIN and np.quantile(gain, _TAIL) >= 0:
                gains[min(numbers, key=lambda number: (medians[number, 0], whole[number, 0]))] = gain
        least = _MOST_OF_IT * max((gain[0] for gain in gains.values()), default=0.0)
        leading = {number: gain for number, gain in gains.items() if gain[0] >= least}
        first = min(leading, key=lambda number: whole[number, 0], default=0)
        changes = [
            self._change(number, gain)
            for number, gain in leading.items()
            if _may_be_equal(whole[number], whole[first]) and _may_be_equal(gain, leading[first])
        ]
        return tuple(sorted(changes, key=lambda change: -change.gain))

    def _change(self, number: int, gain: Floats) -> Change:
        rises = self.medians[:, number, 0] - self.medians[:, 0, 0]
        order = [(rises[place], self.kinds[place].text) for place in np.argsort(rises)]
        mends = tuple(text for rise, text in order if rise < -self.noise)
        spoils = tuple(text for rise, text in reversed(order) if rise > self.noise)
        low, high = np.quantile(gain[1:], [_TAIL, 1 - _TAIL]).tolist()
        return Change(" ".join(self.names[number]), float(gain[0]), low, high, mends, spoils)


def _may_be_equal(one: Floats, other: Floats) -> bool:
    """Return whether 0 is in the interval of the difference."""
    low, high = np.quantile((one - other)[1:], [_TAIL, 1 - _TAIL])
    return bool(low <= 0 <= high)
