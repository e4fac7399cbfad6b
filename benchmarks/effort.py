"""Estimates of the time of simulations, compared with the time that the simulations take.

    .venv/bin/python benchmarks/effort.py [--rounds N]

Every simulation runs in a process of its own, on one thread. Its time is the processor time, user and system, of its
fastest round.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import click
from rich.console import Console
from rich.table import Table

MACHINE = """name = "benchmark"
[network]
{network}
[node]
software_latency = "1 us"
reduce_bandwidth = "10 GB/s"
"""
TORUS = """topology = "torus"
dims = {dims}
link_bandwidth = "4 GB/s"
link_latency = "100 ns"
"""
LINKS = 'model = "links"\nsharing = "{sharing}"\n' + TORUS
QUEUE = MACHINE.format(network=LINKS.format(sharing="queue", dims=[16, 16, 16]))
FAIR = MACHINE.format(network=LINKS.format(sharing="fair", dims=[16, 16, 16]))
PACKETS = MACHINE.format(network='model = "packets"\npacket = "1 KiB"\n' + TORUS.format(dims=[16, 16]))
CIRCUITS = """name = "benchmark"
[network]
model = "circuits"
topology = "crossbar"
nodes = 512
latency = "100 us"
bandwidth = "1 Gbit/s"
reconfiguration = "10 ms"
ports = 4
policy = "keep"
"""
CLUSTER, FUGAKU, JITTER, LOGGP = "cluster", "fugaku", "jitter-paper", "loggp-infiniband"

# Estimates the time of one simulation, then runs it.
RUN = """
import json, sys, time
import hocket
from hocket.simulating.effort import simulation_s
label, ranks, size_bytes, where, engine, trials, parameters = json.loads(sys.argv[1])
machine = hocket.Machine.parse(where) if "[" in where else hocket.Machine.load(where)
call, algorithm = hocket.Call(ranks=ranks, size_bytes=size_bytes, parameters=parameters), hocket.find(label)
how = {"machine": machine, "engine": engine, "trials": hocket.Trials(trials, threads=1)}
estimate_s = simulation_s(algorithm, call, **how)
start_s = time.process_time()
simulated = hocket.simulate(algorithm, call, **how)
print(json.dumps([simulated.messages, simulated.engine, estimate_s, time.process_time() - start_s]))
"""


@dataclass(frozen=True)
class Case:
    """One simulation."""

    label: str
    ranks: int
    size: str
    network: str
    machine: str
    engine: str = "auto"
    trials: int = 1
    parameters: dict[str, int] = field(default_factory=dict)

    def measured(self, rounds: int) -> list[Any]:
        """The messages, the engine, the estimate and the least time, in seconds."""
        from hocket.base.units import parse_bytes

        one = [self.label, self.ranks, parse_bytes(self.size), self.machine, self.engine, self.trials, self.parameters]
        words = [sys.executable, "-c", RUN, json.dumps(one)]
        runs = [json.loads(subprocess.run(words, capture_output=True, check=True).stdout) for _ in range(rounds)]
        return min(runs, key=lambda run: run[-1])


SMALL = {"segment": 1024}
CASES = [
    Case("broadcast/binomial", 1 << 22, "8B", CLUSTER, CLUSTER),
    Case("gather/linear", 1 << 20, "8B", CLUSTER, CLUSTER),
    Case("allreduce/recursive_doubling", 1 << 18, "8B", CLUSTER, CLUSTER, "dataflow"),
    Case("barrier/dissemination", 1 << 18, "0B", CLUSTER, CLUSTER, "dataflow"),
    Case("allreduce/ring", 2000, "8B", CLUSTER, CLUSTER),
    Case("alltoall/bruck", 2048, "64B", CLUSTER, CLUSTER, "dataflow"),
    Case("broadcast/chain", 16, "256MiB", CLUSTER, CLUSTER, parameters=SMALL),
    Case("reduce/binary_tree", 1000, "4MiB", CLUSTER, CLUSTER, parameters=SMALL),
    Case("broadcast/binomial", 1 << 19, "8B", CLUSTER, CLUSTER, "events"),
    Case("allreduce/ring", 1000, "1MiB", CLUSTER, CLUSTER, "events"),
    Case("alltoall/linear", 500, "64B", LOGGP, LOGGP),
    Case("allgather/sparbit", 512, "1KiB", FUGAKU, FUGAKU),
    Case("reduce/binary_tree", 512, "1MiB", FUGAKU, FUGAKU, parameters=SMALL),
    Case("allreduce/recursive_doubling", 4096, "64KiB", "links, torus, queue", QUEUE),
    Case("alltoall/linear", 256, "1KiB", "links, torus, queue", QUEUE),
    Case("allreduce/ring", 512, "1MiB", "links, torus, fair", FAIR),
    Case("broadcast/binomial", 256, "4MiB", "packets, torus", PACKETS),
    Case("alltoall/pairwise_exchange", 512, "1KiB", "circuits", CIRCUITS),
    Case("allreduce/ring", 256, "1MiB", f"{JITTER}, 3000 trials", JITTER, trials=3000),
    Case("allreduce/recursive_doubling", 1024, "8B", f"{JITTER}, 64 trials", JITTER, "events", trials=64),
]


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
def main(rounds: int) -> None:
    """Print the estimates, the times and their ratios."""
    table = Table("algorithm", "ranks", "size", "machine", "messages", "engine", "estimate", "time", "ratio")
    for case in CASES:
        messages, engine, estimate_s, time_s = case.measured(rounds)
        row = [case.label, f"{case.ranks:,}", case.size, case.network, f"{messages:,}", engine]
        table.add_row(*row, f"{estimate_s:.2f} s", f"{time_s:.2f} s", f"{estimate_s / time_s:.1f}")
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
