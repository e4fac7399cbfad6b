"""Collectives timed under a real MPI: algorithms in turn, in one program, until their medians are known."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from hocket import _native
from hocket._native import Error, check_rules
from hocket.base.call import Call
from hocket.base.places import Place, places
from hocket.definitions.calls import declared_by
from hocket.definitions.library import REDUCTIONS, Algorithm
from hocket.mpi.installation import Installation
from hocket.mpi.jobs import lines_of
from hocket.mpi.launch import Launcher, command, crowded, environment
from hocket.mpi.preload import kept

__all__ = [
    "DOUBLE_BYTES",
    "NATIVE_NAME",
    "Bench",
    "Measurement",
    "NotMeasured",
    "Prediction",
    "bench",
    "call_of",
    "compiled_program",
    "deviation",
    "reason",
    "unit_bytes",
]

NATIVE_NAME = "native"
"""The MPI's own algorithm."""

DOUBLE_BYTES = 8
_Z = 1.96  # of 95 %


@dataclass(frozen=True)
class Measurement:
    """One algorithm at one size.

    Attributes:
        algorithm: Its name, or "native".
        size_bytes: The size of the call.
        median_s: The median of the samples.
        low_s: Where its 95 % confidence interval begins, by order statistics.
        high_s: Where it ends.
        made: How many calls were made in all.
        samples_s: The samples, a call each, in the order in which they were taken.
    """

    algorithm: str
    size_bytes: int
    median_s: float
    low_s: float
    high_s: float
    made: int
    samples_s: tuple[float, ...]

    @property
    def reach(self) -> float:
        """How far the interval reaches from the median, as a share of it."""
        return max(self.high_s - self.median_s, self.median_s - self.low_s) / self.median_s

    @staticmethod
    def of(algorithm: str, size_bytes: int, made: int, samples_s: Sequence[float]) -> Measurement:
        """Return what samples say."""
        ordered, count = sorted(samples_s), len(samples_s)
        reach = ceil(_Z * sqrt(count) / 2)
        low, high = ordered[max(count // 2 - reach, 0)], ordered[min(count // 2 + reach, count - 1)]
        return Measurement(algorithm, size_bytes, median(ordered), low, high, made, tuple(samples_s))


@dataclass(frozen=True)
class NotMeasured:
    """Why an algorithm was not timed at a size."""

    algorithm: str
    size_bytes: int
    sentence: str


@dataclass(frozen=True)
class Prediction:
    """What a machine file says of an algorithm at a size.

    Attributes:
        algorithm: Its name.
        size_bytes: The size.
        time_s: The simulation's time.
        formula_s: The closed form's, where there is one for the machine.
        is_exact: Whether that is exact for the call, or an upper bound.
    """

    algorithm: str
    size_bytes: int
    time_s: float
    formula_s: float | None
    is_exact: bool | None


@dataclass(frozen=True)
class Bench:
    """What was measured.

    Attributes:
        collective: The collective.
        ranks: Number of ranks.
        mpi: What the MPI calls itself.
        algorithms: Names, in the order asked for.
        measurements: Each algorithm at each size that it took.
        not_measured: The others, and why.
        counted: For each algorithm, how many proving calls the library itself counted.
    """

    collective: str
    ranks: int
    mpi: str
    algorithms: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    not_measured: tuple[NotMeasured, ...]
    counted: Mapping[str, int]

    @property
    def sizes_bytes(self) -> list[int]:
        """The sizes at which something was measured."""
        return sorted({one.size_bytes for one in self.measurements})

    def at(self, size_bytes: int, algorithm: str) -> Measurement | None:
        """Return one measurement, if there is one."""
        found = (one for one in self.measurements if (one.size_bytes, one.algorithm) == (size_bytes, algorithm))
        return next(found, None)

    def fastest(self, size_bytes: int) -> tuple[str, ...]:
        """Return those that are the fastest at a size as far as intervals tell, by their medians."""
        mine = sorted((m for m in self.measurements if m.size_bytes == size_bytes), key=lambda m: m.median_s)
        return tuple(one.algorithm for one in mine if one.low_s <= mine[0].high_s)

    def places(self, size_bytes: int) -> tuple[Place, ...]:
        """Return who comes first, second and so on at a size, by medians."""
        medians_s = {m.algorithm: m.median_s for m in self.measurements if m.size_bytes == size_bytes}
        return places(medians_s, self.fastest(size_bytes))


def deviation(ratios: Iterable[float]) -> tuple[float, float, float]:
    """Return how far ratios are from 1: the median, the ninth decile and the most."""
    away = sorted(abs(ratio - 1) for ratio in ratios)
    ninth = quantiles(away, n=10, method="inclusive")[-1] if len(away) > 1 else away[0]
    return median(away), ninth, away[-1]


def bench(
    installation: Installation,
    candidates: Sequence[Algorithm | None],
    call: Call,
    sizes_bytes: Iterable[int],
    *,
    share: float,
    limit_s: float,
    least_rounds: int = 10,
    only_by_mpi: bool = False,
    launcher: Launcher = command,
    on_done: Callable[[], object] = lambda: None,
) -> Bench:
    """Time algorithms, `None` being the MPI's own, in one program under `mpiexec`.

    Args:
        installation: The MPI.
        candidates: The algorithms, all for one collective.
        call: Ranks, root and parameters; each algorithm takes the parameters that it declares.
        sizes_bytes: The sizes.
        share: How far the 95 % confidence interval of a median may reach from it, as a share of it.
        limit_s: Seconds for each size, if the least rounds take no longer.
        least_rounds: Samples of each algorithm, at least.
        only_by_mpi: Whether also short messages within a node go by MPI, as those do that a calibration measures.
        launcher: What tells the command that starts the program.
        on_done: Called when an algorithm is done with a size.

    Raises:
        Error: A parameter is none, the program fails, or a result is wrong.
    """
    collective = next(one.collective for one in candidates if one is not None)
    sizes = sorted(set(sizes_bytes))
    _check_sizes(collective, sizes, call.ranks)
    names = tuple(one.name if one else NATIVE_NAME for one in candidates)
    rules = [_rule(collective, one, call) for one in candidates]
    for rule in rules:
        check_rules(rule, "--param")
    program = compiled_program(installation, "bench")
    proofs: list[dict[str, Any]] = []
    found: list[Measurement] = []

    def take(text: str) -> None:
        try:
            value = json.loads(text)
        except ValueError:
            raise Error(f"{program.name}: got {text[:60]!r}, expected a measurement") from None
        name = names[value["rule"]]
        if "samples_s" in value:
            found.append(Measurement.of(name, value["size"], value["made"], value["samples_s"]))
            on_done()
            return
        if not value["is_right"]:
            raise Error(f"{collective} {name}, {value['size']} B: the result is wrong")
        if not value["has_run"]:
            on_done()
        proofs.append(value)

    # Ranks that share processors cannot wait for a time without keeping others from it.
    starts_together = not crowded(call.ranks)
    until = [f"{share:g}", f"{limit_s:g}", str(least_rounds), str(int(starts_together))]
    arguments = [collective, str(call.root), _neighbors(collective, call), *until, ",".join(map(str, sizes)), *rules]
    variables = environment(installation, None) | ({"HOCKET_SHARED_MEMORY": "off"} if only_by_mpi else {})
    line = launcher(installation, call.ranks, [str(program), *arguments], variables)
    lines_of(line, crowded(call.ranks) if launcher is command else {}, take)
    refused = [
        NotMeasured(names[proof["rule"]], proof["size"], reason(proof)) for proof in proofs if not proof["has_run"]
    ]
    if not found:
        raise Error(refused[0].sentence if refused else f"{program.name}: there are no measurements")
    counted = {
        name: sum(proof["has_run"] for proof in proofs if proof["rule"] == number) for number, name in enumerate(names)
    }
    return Bench(collective, call.ranks, installation.library, names, tuple(found), tuple(refused), counted)


def _neighbors(collective: str, call: Call) -> str:
    """Return who are neighbours, with dimensions; of another collective a text that is none."""
    if not collective.startswith("neighbor_"):
        return "none"
    dims, _ = _native.neighbors(call.neighbors, call.ranks)
    return f"{(call.neighbors or 'torus').partition(':')[0]}:{'x'.join(map(str, dims))}"


def unit_bytes(collective: str, ranks: int) -> int:
    """Return what sizes of a reduction are multiples of: it adds doubles, and a reduce_scatter some for each rank."""
    return DOUBLE_BYTES * (ranks if collective == "reduce_scatter" else 1)


def _check_sizes(collective: str, sizes: Sequence[int], ranks: int) -> None:
    unit = unit_bytes(collective, ranks)
    odd = [size for size in sizes if collective in REDUCTIONS and size % unit]
    if odd:
        raise Error(f"--sizes: got {odd[0]} B, expected multiples of {unit} B: {collective} adds doubles")
    if sizes and sizes[-1] >= 2**31:
        raise Error(f"--sizes: got {sizes[-1]} B, expected less than 2 GiB")


def _rule(collective: str, algorithm: Algorithm | None, call: Call) -> str:
    if algorithm is None:
        return f"{collective}: {NATIVE_NAME}"
    values = "".join(f", {name}={value}" for name, value in declared_by(algorithm, call.parameters).items())
    return f"{collective}: {algorithm.name}{values}"


def compiled_program(installation: Installation, name: str) -> Path:
    """Return a program that measures under the preloaded library.

    Raises:
        Error: It cannot be compiled.
    """
    flags = ["-fno-math-errno", "-Wl,--no-as-needed", "-ldl", "-lm", "-Wl,--as-needed"]
    sources = (f"measuring/{each}.c" for each in (name, "timed", "together"))
    return kept(installation, f"hocket-{name}", " ".join(sources), flags)


def reason(proof: Mapping[str, Any]) -> str:
    """Return why MPI did a call that was to prove an algorithm: what the library counts once more."""
    before = _passed(proof["before"])
    new = [reason for reason, calls in _passed(proof["after"]).items() if calls > before.get(reason, 0)]
    return new[0] if new else "another algorithm ran"


def _passed(summary: str) -> dict[str, int]:
    found = {}
    for line in summary.splitlines():
        counts, is_there, reason = line.partition(" left to MPI: ")
        if is_there:
            found[reason] = int(counts.split()[0])
    return found


def call_of(algorithm: Algorithm, call: Call, size_bytes: int) -> Call:
    """Return the call that `bench` makes of an algorithm."""
    return replace(
        call,
        size_bytes=size_bytes,
        element_bytes=DOUBLE_BYTES if algorithm.collective in REDUCTIONS else 1,
        parameters=declared_by(algorithm, call.parameters),
    )
