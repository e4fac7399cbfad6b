"""What residuals say: which key of the machine file would take away most of those of each class of calls.

Keys are tried in turn, with several values each. The gain of a key in a class is the share of the median of
abs(ln(simulated / measured)) that goes with its best value. Intervals are bootstrapped: the calls of each class are
drawn again, the same ones for all keys, and the values are chosen again.

Keys whose gains may be the same compete by the medians of all classes. Where these may be the same as well, nobody can
tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from hocket._native import Error
from hocket.base.units import format_bytes
from hocket.definitions.machine import Machine, shape_of_job
from hocket.definitions.variants import COST_KEYS, variant, with_host, with_layout
from hocket.fitting.cells import Cell, Floats, Simulator
from hocket.fitting.discrepancies import LARGE_BYTES
from hocket.fitting.result import LEAST_CALLS, CallClass, Change, Diagnosis

_FACTORS = (0.125, 0.25, 0.5, 0.7, 1.4, 2.0, 4.0, 8.0)  # of the costs that the file has
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
_BESIDE: Mapping[str, Mapping[str, object]] = {
    "network.local.L": {"network.local.o": "0.2 us", "network.local.G": "0.1 ns/B"},
    "node.cards.bandwidth": {"node.cards.count": 1, "node.cards.directions": "together"},
    "node.scratch.per_byte": {"node.scratch.from": "32 MiB", "node.scratch.together_from": "256 KiB"},
}
_FOLDS = (2, 4, 8, 16)  # of the axes of a job on a torus

_RESAMPLES = 400
_TAIL = 0.05  # of resamples, beyond either end of an interval
_LEAST_CALLS = 3  # of a class that can tell
_LEAST_SHARE = 0.5  # of the largest gain: a key does almost the same


@dataclass(frozen=True)
class _Trial:
    key: str
    value: str
    machines: Mapping[str | None, Machine]  # with that value, by the layout of calls


def diagnose(
    simulator: Simulator, cells: Sequence[Cell], values: Sequence[float], *, noise: float, seed: int
) -> Diagnosis:
    """Try keys on the machine with these values in its places; `seed` draws the calls again."""
    machines = {cell.layout: simulator.skeleton.with_values(values, cell.layout) for cell in cells}
    trials = [_Trial("", "", machines), *_trials(machines)]
    tried, rows = [], []
    with simulator.stage("trying keys", len(trials) * len(cells)):
        for trial in trials:
            with suppress(Error):  # a call that the machine refuses
                rows.append(simulator.times_on([trial.machines], cells)[0])
                tried.append(trial)
    measured_s = [cell.measurement.time_s for cell in cells]
    return _Comparison(cells, tried, np.log(np.array(rows) / measured_s), noise, seed).diagnosis()


def _trials(machines: Mapping[str | None, Machine]) -> Iterator[_Trial]:
    """Give all changes that the machine file can have."""
    for key, value, change in _changes(next(iter(machines.values()))):
        with suppress(Error):  # a key that the model does not have, or not beside others
            changed = {layout: machine for layout, one in machines.items() if (machine := change(one))}
            if changed:
                yield _Trial(key, value, {**machines, **changed})
    layouts = [layout for layout in machines if layout]
    for fold, turn in product(_FOLDS if layouts else (), (1, -1)):
        value = f"folded by {fold}{', axes reversed' if turn < 0 else ''}"
        folded = {one: with_layout(machines[one], _folded(shape_of_job(one)[::turn], fold)) for one in layouts}
        yield _Trial("network.layout", value, folded)


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
            yield own, f"= {value}", partial(_with, values={own: value, **_BESIDE.get(key, {})})


def _with(machine: Machine, values: Mapping[str, object]) -> Machine | None:
    needs_host = any(key.startswith("host.") for key in values)
    return variant(with_host(machine) if needs_host else machine, values)


def _folded(shape: Sequence[int], fold: int) -> str:
    return ", ".join(f"{axis // fold}x{fold}" if axis > fold and axis % fold == 0 else str(axis) for axis in shape)


class _Comparison:
    """The medians of classes with each trial, the first without a change, for the calls and for calls drawn again."""

    def __init__(
        self, cells: Sequence[Cell], trials: Sequence[_Trial], residuals: Floats, noise: float, seed: int
    ) -> None:
        self._trials, self._residuals, self._noise = trials, residuals, noise
        self._classes: dict[tuple[str, str, str, int], list[int]] = {}
        for number, cell in enumerate(cells):
            one = cell.measurement
            sizes = f"{'from' if one.size_bytes >= LARGE_BYTES else 'below'} {format_bytes(LARGE_BYTES)}"
            self._classes.setdefault((one.collective, one.algorithm, sizes, one.ranks), []).append(number)
        random = np.random.default_rng(seed)
        medians = []
        for numbers in self._classes.values():
            draws = random.integers(len(numbers), size=(_RESAMPLES, len(numbers)))
            picks = np.array(numbers)[np.vstack([np.arange(len(numbers)), draws])]
            medians.append(np.median(np.abs(residuals[:, picks]), axis=2))
        self._medians = np.array(medians)  # by class, trial and draw, of which the first has the calls themselves
        self._totals = self._medians.mean(axis=0)

    def diagnosis(self) -> Diagnosis:
        """Return what takes away most of the residuals."""
        classes = []
        for (what, numbers), medians in zip(self._classes.items(), self._medians, strict=True):
            can_tell = len(numbers) >= LEAST_CALLS and medians[0, 0] > self._noise
            changes = self._best_changes(medians) if can_tell else ()
            bias = float(np.median(self._residuals[0, numbers]))
            classes.append(CallClass(*what, len(numbers), float(medians[0, 0]), bias, changes))
        classes.sort(key=lambda one: -one.median)
        changes = self._best_changes(self._totals) if classes[0].median > self._noise else ()
        keys = tuple(dict.fromkeys(one.key for one in self._trials[1:]))
        return Diagnosis(float(self._totals[0, 0]), self._noise, changes, tuple(classes), keys)

    def _best_changes(self, medians: Floats) -> tuple[Change, ...]:
        """Return the key that makes medians, by trial and draw, the least; several if nobody can tell which."""
        numbers: dict[str, list[int]] = {}
        for number, trial in enumerate(self._trials[1:], start=1):
            numbers.setdefault(trial.key, []).append(number)
        gains = {key: 1 - medians[some].min(axis=0) / medians[0] for key, some in numbers.items()}
        good = [key for key, gain in gains.items() if np.quantile(gain[1:], _TAIL) > _LEAST_GAIN]
        if not good:
            return ()
        largest = max(gains[key][0] for key in good)
        best = {
            key: min(numbers[key], key=lambda number: (medians[number, 0], self._totals[number, 0]))
            for key in good
            if gains[key][0] >= _MOST_OF_IT * largest
        }
        leader = min(best, key=lambda key: self._totals[best[key], 0])
        alike = [
            key
            for key, number in best.items()
            if _may_be_equal(self._totals[number], self._totals[best[leader]])
            and _may_be_equal(gains[key], gains[leader])
        ]
        changes = [self._change(best[key], gains[key]) for key in alike]
        return tuple(sorted(changes, key=lambda one: -one.gain))

    def _change(self, number: int, gain: Floats) -> Change:
        rises = self._medians[:, number, 0] - self._medians[:, 0, 0]
        names = [" ".join(map(str, what)) + " ranks" for what in self._classes]
        order = np.argsort(-rises, kind="stable").tolist()
        spoils = tuple(names[one] for one in order if rises[one] > self._noise)
        mends = tuple(names[one] for one in reversed(order) if rises[one] < -self._noise)
        low, high = np.quantile(gain[1:], [_TAIL, 1 - _TAIL]).tolist()
        return Change(self._trials[number].key, self._trials[number].value, float(gain[0]), low, high, mends, spoils)


def _may_be_equal(one: Floats, other: Floats) -> bool:
    """Return whether 0 is in the interval of the difference."""
    low, high = np.quantile((one - other)[1:], [_TAIL, 1 - _TAIL])
    return bool(low <= 0 <= high)
