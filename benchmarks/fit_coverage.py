"""How often the intervals of `hocket fit` hold the true values: fits to simulated times of known machines.

python benchmarks/fit_coverage.py [SETS]

Each set has a machine with random values, and the times of calls on it with 3 % of normal noise. The values are hard to
fit: near whole ratios of L and o, the simulated times of a linear alltoall have steps.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median
from time import process_time

import hocket

NOISE = 0.03
PROGRAMS = (
    "allgather/ring",
    "allreduce/recursive_doubling",
    "allreduce/ring",
    "alltoall/linear",
    "broadcast/binomial",
    "gather/linear",
)
RANKS, SIZES = (4, 8, 16), (8, 4096, 262144)
SKELETON = """\
name = "known"
[network]
model = "loggp"
L = "{}"
o = "{}"
G = "{}"
S = "8 KiB"
[node]
reduce_bandwidth = "{}"
"""
RANGES = ("0.1 us..20 us", "0.05 us..5 us", "10 ps/B..2 ns/B", "1 GB/s..50 GB/s")
UNITS = ("s", "s", "s", "B/s")


def values(chance: random.Random) -> list[float]:
    """Return random values of L, o, G and the bandwidth of reductions."""
    overhead_s, per_byte_s, bandwidth = (low * 10 ** chance.random() for low in (0.1e-6, 30e-12, 2e9))
    latency_s = overhead_s * chance.choice((2, 3, 4, 5)) * math.exp(chance.gauss(0, 0.02))
    return [latency_s, overhead_s, per_byte_s, bandwidth]


def measured(machine: hocket.Machine, chance: random.Random) -> list[hocket.Measurement]:
    """Return the times of calls on a machine, with noise."""
    found = []
    for program in PROGRAMS:
        collective, _, algorithm = program.partition("/")
        for ranks in RANKS:
            for size_bytes in SIZES:
                call = hocket.Call(ranks=ranks, size_bytes=size_bytes)
                time_s = hocket.simulate(program, call, machine=machine).time_s.mean
                found.append(
                    hocket.Measurement(
                        collective=collective,
                        algorithm=algorithm,
                        ranks=ranks,
                        size_bytes=size_bytes,
                        time_s=time_s * math.exp(chance.gauss(0, NOISE)),
                    )
                )
    return found


def main(sets: int) -> None:
    """Fit that many sets, and print after each how many intervals hold the truth so far."""
    held: Counter[str] = Counter()
    widths: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        skeleton = Path(folder) / "skeleton.toml"
        skeleton.write_text(SKELETON.format(*RANGES))
        for seed in range(sets):
            chance = random.Random(seed)
            truths = values(chance)
            texts = [f"{value!r} {unit}" for value, unit in zip(truths, UNITS, strict=True)]
            known = hocket.Machine.parse(SKELETON.format(*texts))
            found = hocket.fit(measured(known, chance), machine=skeleton, starts=1)
            held.update(
                one.name for one, truth in zip(found.values, truths, strict=True) if one.low <= truth <= one.high
            )
            widths += [math.log(one.high / one.low) for one in found.values]
            each = ", ".join(f"{one.name} {held[one.name]}" for one in found.values)
            share = held.total() / len(widths)
            print(
                f"{seed + 1} sets: {held.total()} of {len(widths)} intervals ({share:.1%}) hold the truth: {each}; "
                f"median of ln(high / low) {median(widths):.4f}; {process_time() / (seed + 1):.1f} s of a core each",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
