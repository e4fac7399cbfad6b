"""Long pipelines: their time, estimated from a part of their segments.

After its start, a pipeline repeats: the time grows by about the same amount with each batch of segments. The call is
simulated with some batches, and the last growth gives the time of the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.checks import instance, share
from hocket.base.parallel import do_all, ignore
from hocket.base.results import Result, parameter_columns
from hocket.base.units import format_bytes, format_count
from hocket.base.version import VERSION
from hocket.definitions.calls import prepare
from hocket.definitions.library import COLLECTIVES, Algorithm, as_algorithm
from hocket.definitions.machine import Machine, MachineLike, as_machine
from hocket.simulating.simulation import Simulation, Trials, plan

_SEGMENTS = 96  # number of segments of the smallest batch: a multiple of the usual numbers of trees that share them

_FIRST_POINTS = 5  # number of sizes that are simulated at first: a first one and 1, 3, 7 and 15 batches more

_DRIFT = 0.004
"""How much the growth of a pipeline that does not repeat exactly may change until the size is twice as large."""

_DRIFT_OF_MEETING = 0.02
"""The same where messages meet on links, and no rank is the root: messages in both directions delay each other."""

_ROUNDING = 1e-9  # growths that differ by less, as a share, are equal


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
        interval_s: Both ends of its interval: how far the growth of a batch changed, for all batches that were not
            simulated. It is 0.4 % of the time wider for each doubling of the largest simulated size, unless batches
            repeat exactly; always 2 %, where messages meet on links and no rank is the root. It is a segment wider if
            the call is no whole number of batches.
        is_exact: Whether the call was simulated as it is: an estimate would not have been cheaper, or parts of the
            messages grow with the call.
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

    Five sizes are simulated, with 1, 2, 4 and 8 batches of segments between them. All end with the same part of a batch
    as the call. The growth per batch between the last two gives the time of the rest, and how far it changed gives the
    interval. Twice as many batches are added as long as the interval is wider than asked for. If that would not be
    cheaper than the call, or if larger calls have larger messages, the call is simulated.

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
        '124.2 ms, from 94 MiB'
    """
    most = share("within", within)
    machine = as_machine(machine)
    if machine.noise:
        raise Error(f"machine: {machine.name} has noise, expected one without noise for an estimate")
    algorithm = as_algorithm(what)
    values = prepare(algorithm, instance("call", call, Call, "hocket.Call"), machine).values()
    segment_bytes = _segment_bytes(algorithm, values)
    runs = _Runs(algorithm, call, values, machine, on_sizes)
    is_meeting = machine.topology is not None and not COLLECTIVES[algorithm.collective].has_root
    batch_bytes, points = _SEGMENTS * segment_bytes, _FIRST_POINTS
    while 2 * sum(sizes := _sizes_bytes(batch_bytes, points, call.size_bytes)) < call.size_bytes:
        samples = runs.samples(sizes)
        if not _grow_by_segments(samples, segment_bytes):
            break
        if len(set(_growths_s([sample.messages for sample in samples]))) > 1:  # batches differ in their messages
            batch_bytes = math.lcm(2 * batch_bytes, call.ranks * segment_bytes)
            continue
        growths_s = _growths_s([sample.time_s.mean for sample in samples])
        left_bytes = call.size_bytes - sizes[-1]
        time_s = samples[-1].time_s.mean + growths_s[-1] * left_bytes / batch_bytes
        half_width_s = _spread_s(growths_s) * left_bytes / batch_bytes
        if is_meeting or half_width_s > _ROUNDING * time_s:
            drift = _DRIFT_OF_MEETING if is_meeting else _DRIFT
            half_width_s += drift * math.log2(call.size_bytes / sizes[-1]) * time_s
        if call.size_bytes % batch_bytes:
            half_width_s += growths_s[-1] * segment_bytes / batch_bytes
        if half_width_s <= most * time_s:
            return runs.result(time_s, half_width_s, is_exact=False)
        points += 1
    (sample,) = runs.samples([call.size_bytes])
    return runs.result(sample.time_s.mean, 0.0, is_exact=True)


@dataclass(frozen=True)
class _Runs:
    """Simulations of a call with other sizes, each size once."""

    algorithm: Algorithm
    call: Call
    parameters: dict[str, int | str]
    machine: Machine
    on_sizes: Callable[[list[int]], object]
    simulated: dict[int, Simulation] = field(default_factory=dict)

    def samples(self, sizes_bytes: list[int]) -> list[Simulation]:
        """Return the sample of each size."""
        left = [size for size in sizes_bytes if size not in self.simulated]
        self.on_sizes(left)
        do_all(self._sample, left, executor=None, on_done=self.simulated.__setitem__)
        return [self.simulated[size] for size in sizes_bytes]

    def _sample(self, size_bytes: int) -> Simulation:
        call = replace(self.call, size_bytes=size_bytes, parameters=self.parameters)
        return plan(self.algorithm, call, machine=self.machine, trials=Trials(threads=1)).run()

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
                {"size_bytes": size, "time_s": sample.time_s.mean} for size, sample in sorted(self.simulated.items())
            ),
        )


def _segment_bytes(algorithm: Algorithm, values: Mapping[str, int | str]) -> int:
    """Return the largest size of a segment, or refuse an algorithm without segments."""
    sizes = [int(values[each.name]) for each in algorithm.parameters if each.unit == "bytes"]
    if not sizes:
        raise Error(f"{algorithm.label}: has no segments, expected an algorithm with a segment for an estimate")
    return max(sizes)


def _sizes_bytes(batch_bytes: int, points: int, size_bytes: int) -> list[int]:
    """Return the sizes to simulate: about a batch, and 1, 3, 7 and so on more; whole batches less than the call's."""
    rest_bytes = size_bytes % batch_bytes
    first_bytes = rest_bytes if 2 * rest_bytes >= batch_bytes else rest_bytes + batch_bytes
    return [first_bytes + (2**point - 1) * batch_bytes for point in range(points)]


def _growths_s(values: list[float]) -> list[float]:
    """Return the growths of a batch between values of such sizes."""
    return [(after - before) / 2**point for point, (before, after) in enumerate(pairwise(values))]


def _spread_s(growths_s: list[float]) -> float:
    """Return how far the last growth may be from those to come: the last change, or half of the one before."""
    before_s, last_s = (abs(after - before) for before, after in pairwise(growths_s[-3:]))
    return max(last_s, before_s / 2)


def _grow_by_segments(samples: list[Simulation], segment_bytes: int) -> bool:
    """Return whether more bytes are more messages, rather than larger ones."""
    first, last = samples[0], samples[-1]
    most_bytes = (last.messages - first.messages) * segment_bytes
    return 0 < last.message_bytes - first.message_bytes <= most_bytes * (1 + _ROUNDING)
