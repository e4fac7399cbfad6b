"""How near the values of parameters that formulas choose are to the best that simulations find.

    .venv/bin/python benchmarks/chosen_values.py [MACHINE ...]

For each machine: the algorithms with parameters of six collectives on 64 ranks, at five sizes, without noise. The best
time is the least of three: with the chosen values, with the defaults, and of the search of `hocket compare --best`. The
columns count the calls whose time is more than 2 % and more than 25 % above it. Takes half a minute for all presets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

import hocket
from hocket.definitions.calls import algorithms_for
from hocket.definitions.variants import quiet
from hocket.simulating.question import Contender, Question, choose

MACHINES = ("cluster", "fugaku", "leonardo", "lumi", "marenostrum5", "loggp-infiniband")
COLLECTIVES = ("allreduce", "broadcast", "reduce", "alltoall", "allgather", "reduce_scatter")
RANKS = 64
SIZES = (8, 2 << 10, 32 << 10, 256 << 10, 2 << 20)
LIMITS = (1.02, 1.25)


def ratios(machine: hocket.Machine) -> Iterator[tuple[float, float]]:
    """Yield the time with the chosen values, and with the defaults, as multiples of the least, for each call."""
    for collective in COLLECTIVES:
        for algorithm in algorithms_for(machine, hocket.algorithms(collective)):
            for size in SIZES if algorithm.parameters else ():
                call = hocket.Call(ranks=RANKS, size_bytes=size)
                try:
                    yield ratios_of(algorithm, call, machine)
                except hocket.Error:
                    continue  # refused


def ratios_of(algorithm: hocket.Algorithm, call: hocket.Call, machine: hocket.Machine) -> tuple[float, float]:
    """Return the time with the chosen values, and with the defaults, as multiples of the least."""
    (best,) = Question(machine, [Contender(0, algorithm, call)], at_best=True).answer()
    if isinstance(best.outcome, str):
        raise hocket.Error(best.outcome)
    assert isinstance(best.outcome, hocket.Simulation)
    calls = (choose(algorithm, call, machine), call)
    times_s = [hocket.simulate(algorithm, each, machine=machine).time_s.mean for each in calls]
    least_s = min(best.outcome.time_s.mean, *times_s)
    return times_s[0] / least_s, times_s[1] / least_s


def main() -> None:
    """Print the table."""
    table = Table("machine", "calls", *(f"{who} > {limit:.0%}" for who in ("chosen", "default") for limit in LIMITS))
    for name in sys.argv[1:] or MACHINES:
        machine = hocket.Machine.load(name)
        rows = [*ratios(quiet(machine) or machine)]
        counts = [sum(row[who] > limit for row in rows) for who in (0, 1) for limit in LIMITS]
        table.add_row(name, *map(str, [len(rows), *counts]))
    Console().print(table)


if __name__ == "__main__":
    main()
