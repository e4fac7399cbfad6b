"""Redundant butterflies compared with recursive doubling under noise, in a lab and simulated: times of the results.

The noise is the noise of the machine file: periodic events that stop the process of a rank. Each rank and trial has its
own phase. The requirements are the requirements of `hocket lab`.

    .venv/bin/python benchmarks/lab_noise.py [--ranks P] [--trials N] [--period S] [--duration S] [--sizes BYTES,..]
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click
import numpy as np

from hocket import Call, Machine, Trials, simulate
from hocket.mpi import Installation
from hocket.mpi.installation import compile_with
from hocket.mpi.jobs import end
from hocket.mpi.launch import environment, saved_rules
from hocket_lab.laboratory import Lab, temporary

RULES = ("recursive_doubling", *(f"redundant_butterfly, T={exchanges}" for exchanges in (1, 2)))
SIMULATED_TRIALS = 10_000

MACHINE = """name = "star"
[network]
model = "links"
topology = "crossbar"
nodes = {ranks}
link_bandwidth = "2.5 MB/s"
link_latency = "30 us"
protocol = "eager"
sharing = "fair"
[node]
ports = 6
software_latency = "50 us"
reduce_bandwidth = "1 GB/s"
copy_bandwidth = "1 GB/s"
"""
NOISE = """[noise.os]
model = "periodic"
period = "{period_s} s"
duration = "{duration_s} s"
overlap = "stall"
"""


def stops(pids: list[int], begin_s: float, period_s: float, duration_s: float, draw: np.random.Generator) -> list:
    """Return times, processes and signals of a trial, which stop and continue each process around its beginning."""
    events = []
    for pid, phase_s in zip(pids, draw.uniform(0, period_s, len(pids)), strict=True):
        for event in range(-1, 2):
            start_s = begin_s + phase_s + event * period_s
            events += [(start_s, pid, signal.SIGSTOP), (start_s + duration_s, pid, signal.SIGCONT)]
    return sorted(events)


def tell(pid: int, kind: signal.Signals) -> None:
    """Send a signal to a process, which may have ended before the noise of the last trial."""
    with suppress(ProcessLookupError):
        os.kill(pid, kind)


def measured(job: subprocess.Popen[str], disturb: Callable[[list[int], float], None]) -> np.ndarray:
    """Return the times of complete results, per trial and rank, in seconds, while `disturb` disturbs the processes."""
    assert job.stdout is not None
    first = json.loads(job.stdout.readline())
    try:
        disturb(first["pids"], first["start_s"])
    finally:
        for pid in first["pids"]:
            tell(pid, signal.SIGCONT)
    return np.array(json.loads(job.stdout.readline())["complete_s"])


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the mean, and half the width of its 95 % confidence interval."""
    return float(values.mean()), float(1.96 * values.std(ddof=1) / len(values) ** 0.5)


@click.command()
@click.option("--ranks", default=16, show_default=True, help="Ranks, a node each.")
@click.option("--trials", default=100, show_default=True, help="Measured trials.")
@click.option("--period", "period_s", default=0.4, show_default=True, help="Seconds from event to event.")
@click.option("--duration", "duration_s", default=0.04, show_default=True, help="Seconds of an event.")
@click.option("--sizes", default="64,4096", show_default=True, help="Bytes of the vectors.")
@click.option("--seed", default=0, show_default=True, help="Of the phases.")
@click.option("--mpicc", default="mpicc", show_default=True, help="The compiler wrapper of the MPI.")
def main(ranks: int, trials: int, period_s: float, duration_s: float, sizes: str, seed: int, mpicc: str) -> None:
    """Measure and simulate."""
    installation = Installation.find(mpicc)
    quiet = Machine.parse(MACHINE.format(ranks=ranks), "star.toml")
    noisy = Machine.parse(quiet.text + NOISE.format(period_s=period_s, duration_s=duration_s), "star.toml")

    def disturb(pids: list[int], start_s: float) -> None:
        draw = np.random.default_rng(seed)  # the same stops for all algorithms
        for trial in range(trials):
            for time_s, pid, kind in stops(pids, start_s + trial * 4 * period_s, period_s, duration_s, draw):
                time.sleep(max(0.0, time_s - time.monotonic()))
                tell(pid, kind)

    print(f"# {ranks} ranks, {installation.library}, {trials} trials, seed {seed}")
    print(f"# events of {duration_s} s every {period_s} s; times in ms, and how far their 95 % intervals reach")
    print("bytes,algorithm,noise,last rank,+-,simulated,mean over ranks,+-", flush=True)
    with tempfile.TemporaryDirectory() as folder, temporary(quiet) as lab:
        program = Path(folder, "lab_noise")
        compile_with(installation.mpicc, ["-O2", "-o", str(program), str(Path(__file__).with_suffix(".c")), "-ldl"])
        for size_bytes, rule in itertools.product(map(int, sizes.split(",")), RULES):
            for machine, interval_s, act in ((quiet, period_s, lambda *_: None), (noisy, 4 * period_s, disturb)):
                found_s = run(lab, installation, ranks, program, rule, [trials, interval_s, size_bytes], act)
                times_s = (*interval(found_s.max(axis=1)), simulated(rule, ranks, size_bytes, machine))
                times_s += interval(found_s.mean(axis=1))
                noise = "none" if machine is quiet else "stops"
                print(
                    size_bytes, f'"{rule}"', noise, *(f"{1e3 * time_s:.2f}" for time_s in times_s), sep=",", flush=True
                )


def run(
    lab: Lab,
    installation: Installation,
    ranks: int,
    program: Path,
    rule: str,
    arguments: list[object],
    disturb: Callable[[list[int], float], None],
) -> np.ndarray:
    """Run the program in the lab with a rule; see `measured`."""
    variables = environment(installation, saved_rules([f"allreduce: {rule}"]))
    command = lab.command(installation, ranks, [str(program), *map(str, arguments)], variables)
    job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        found = measured(job, disturb)
        job.wait()
        return found
    finally:
        end(job)


def simulated(rule: str, ranks: int, size_bytes: int, machine: Machine) -> float:
    """Return the mean time until the last rank has the result."""
    name, _, setting = rule.partition(", T=")
    call = Call(ranks=ranks, size_bytes=size_bytes, parameters={"T": int(setting)} if setting else {})
    trials = Trials(SIMULATED_TRIALS if machine.text.count("[noise") else 1)
    return simulate(f"allreduce/{name}", call, machine=machine, trials=trials).time_s.mean


if __name__ == "__main__":
    main()
