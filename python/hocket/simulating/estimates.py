"""Long pipelines: their time, estimated from a part of their segments.

After its start, a pipeline repeats: the time grows by about the same amount with each batch of segments. The call is
simulated with some batches, and the mean growth gives the time of the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from statistics import mean, stdev
from typing import Any

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.checks import instance, share
from hocket.base.parallel import do_all, ignore
from hocket.base.results import Result, parameter_columns
from hocket.base.units import format_bytes, format_count
from hocket.base.version import VERSION
from hocket.definitions.calls import prepare
from hocket.definitions.library import Algorithm, as_algorithm
from hocket.definitions.machine import Machine, MachineLike, as_machine
from hocket.simulating.simulation import Trials, plan

_SEGMENTS = 96
"""Number of segments of the smallest batch: a multiple of the usual numbers of trees that share them."""

_POINTS = 5
"""Number of sizes that are simulated: 1, 2, .. batches."""

_STUDENT_95 = 3.182
"""Half the width of a 95 % interval of the mean of four growths, in standard errors: Student's t."""


@dataclass(frozen=True)
class Estimate(Result):
    """The time of a call, estimated from simulations with fewer bytes.

    Attributes:
        collective: The collective.
        algorithm: The algorithm.
        ranks: Number of ranks.
        size_bytes: The message of the MPI call.
        machine: The machine's name.
        parameters: Values of the algorithm's parameters.
        time_s: Time when the last rank ends.
        interval_s: Both ends of its interval: the 95 % confidence interval from the spread of the batches, widened to
            reach the estimate with batches of half the size, and by a segment if the call is no whole number of
            batches.
        is_exact: Whether the call was simulated as it is, because an estimate would not have been cheaper.
        simulated: What was simulated: "size_bytes" and "time_s" of each simulation.
        version: Version of Hocket.
    """

    collective: str
    algorithm: str
    ranks: int
    size_bytes: int
    machine: str
    parameters: dict[str, int | str]
    time_s: float
    interval_s: tuple[float, float]
    is_exact: bool
    simulated: tuple[dict[str, float], ...]
    version: str = VERSION

    @property
    def title(self) -> str:
        """The algorithm, ranks, size and machine."""
        size = format_bytes(self.size_bytes)
        return f"{self.collective} {self.algorithm}, {format_count(self.ranks, 'rank')}, {size}, machine {self.machine}"

    def as_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data."""
        return asdict(self)

    def records(self) -> list[dict[str, Any]]:
        """Return the estimate as one row."""
        low_s, high_s = self.interval_s
        plain = {name: value for name, value in vars(self).items() if name not in _NOT_IN_ROWS}
        ends = {"interval_low_s": low_s, "interval_high_s": high_s}
        return [{**plain, **ends, **parameter_columns(self.parameters)}]


_NOT_IN_ROWS = frozenset(("interval_s", "simulated", "parameters"))


def estimate(
    what: Algorithm | str,
    call: Call,
    *,
    machine: MachineLike = "cluster",
    within: float | str = 0.01,
    on_sizes: Callable[[list[int]], object] = ignore,
) -> Estimate:
    """Estimate the time of an isolated call of an algorithm in segments.

    Five sizes of 1 to 5 equal batches of segments are simulated. The mean growth of a batch gives the time of the
    rest, and the spread of the four growths its interval. Then batches are doubled: the interval also reaches as far as
    the estimate with batches of half the size. It has one segment more at both ends if the call is no whole number of
    batches: the rest may be shared unevenly. Batches are doubled again as long as the interval is wider than asked for.
    If that would not be cheaper than the call, the call is simulated.

    Args:
        what: An algorithm, or its label such as "broadcast/chain".
        call: The call. Automatic sizes of segments are those of this call.
        machine: A machine without noise, the name of a preset, or the path of a machine file.
        within: How far the ends of the interval may be from the time, as a share of it: a number, or a text as "1%".
        on_sizes: Called with the sizes in bytes that will be simulated next.

    Raises:
        Error: As `hocket.simulate`; the algorithm has no segments; or the machine has noise.

    Examples:
        >>> import hocket
        >>> found = hocket.estimate("broadcast/chain", hocket.Call(ranks=64, size_bytes=1 << 30), machine="cluster")
        >>> f"{found.time_s * 1e3:.1f} ms, from {found.simulated[-1]['size_bytes'] >> 20} MiB"
        '124.2 ms, from 60 MiB'
    """
    most = share("within", within)
    machine = as_machine(machine)
    if machine.noise:
        raise Error(f"machine: {machine.name} has noise, expected one without noise for an estimate")
    algorithm = as_algorithm(what)
    values = prepare(algorithm, instance("call", call, Call, "hocket.Call"), machine).values()
    segment_bytes = _segment_bytes(algorithm, values)
    batch_bytes = _SEGMENTS * segment_bytes
    runs = _Runs(algorithm, call, values, machine, on_sizes)
    last_s = math.inf
    while _is_cheaper(batch_bytes, call.size_bytes):
        times_s = runs.times_s(_sizes_bytes(batch_bytes))
        time_s, spread_s = _extrapolate(times_s, call.size_bytes / batch_bytes)
        rest_s = (
            (times_s[-1] - times_s[0]) / (_POINTS - 1) * segment_bytes / batch_bytes
            if call.size_bytes % batch_bytes
            else 0.0
        )
        half_width_s = max(spread_s, abs(time_s - last_s)) + rest_s
        if half_width_s <= most * time_s:
            return runs.result(time_s, half_width_s, is_exact=False)
        batch_bytes, last_s = 2 * batch_bytes, time_s
    (time_s,) = runs.times_s([call.size_bytes])
    return runs.result(time_s, 0.0, is_exact=True)


@dataclass(frozen=True)
class _Runs:
    """Simulations of a call with other sizes, each size once."""

    algorithm: Algorithm
    call: Call
    parameters: dict[str, int | str]
    machine: Machine
    on_sizes: Callable[[list[int]], object]
    simulated_s: dict[int, float] = field(default_factory=dict)

    def times_s(self, sizes_bytes: list[int]) -> list[float]:
        """Return the time with each size."""
        left = [size for size in sizes_bytes if size not in self.simulated_s]
        self.on_sizes(left)
        do_all(self._time_s, left, executor=None, on_done=self.simulated_s.__setitem__)
        return [self.simulated_s[size] for size in sizes_bytes]

    def _time_s(self, size_bytes: int) -> float:
        call = replace(self.call, size_bytes=size_bytes, parameters=self.parameters)
        return plan(self.algorithm, call, machine=self.machine, trials=Trials(threads=1)).run().time_s.mean

    def result(self, time_s: float, half_width_s: float, *, is_exact: bool) -> Estimate:
        """Return the estimate with this time and interval."""
        return Estimate(
            collective=self.algorithm.collective,
            algorithm=self.algorithm.name,
            ranks=self.call.ranks,
            size_bytes=self.call.size_bytes,
            machine=self.machine.name,
            parameters=self.parameters,
            time_s=time_s,
            interval_s=(time_s - half_width_s, time_s + half_width_s),
            is_exact=is_exact,
            simulated=tuple(
                {"size_bytes": size, "time_s": time_s} for size, time_s in sorted(self.simulated_s.items())
            ),
        )


def _segment_bytes(algorithm: Algorithm, values: Mapping[str, int | str]) -> int:
    """Return the largest size of a segment.

    Raises:
        Error: There are no segments.
    """
    sizes = [int(values[each.name]) for each in algorithm.parameters if each.unit == "bytes"]
    if not sizes:
        raise Error(f"{algorithm.label}: has no segments, expected an algorithm with a segment for an estimate")
    return max(sizes)


def _sizes_bytes(batch_bytes: int) -> list[int]:
    return [batches * batch_bytes for batches in range(1, _POINTS + 1)]


def _is_cheaper(batch_bytes: int, size_bytes: int) -> bool:
    """Return whether the sizes of batches are together less than half of the size of the call."""
    return 2 * sum(_sizes_bytes(batch_bytes)) < size_bytes


def _extrapolate(times_s: list[float], batches: float) -> tuple[float, float]:
    """Return the time of this number of batches, and half the width of its interval."""
    growths_s = [after - before for before, after in pairwise(times_s)]
    left = batches - len(times_s)
    half_width_s = _STUDENT_95 * stdev(growths_s) / math.sqrt(len(growths_s)) * left
    return times_s[-1] + mean(growths_s) * left, half_width_s
