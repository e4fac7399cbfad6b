"""The speed of simulations, compared with targets. `peers.py` compares it with other simulators.

    .venv/bin/python benchmarks/speed.py [--quick] [--json]
    .venv/bin/python benchmarks/speed.py --bars

Every figure is the best of several repetitions. Times are user CPU times of one core, unless a column says otherwise.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

HOCKNEY = """name = "benchmark"
[network]
model = "hockney"
latency = "1 us"
bandwidth = "1 GB/s"
protocol = "{protocol}"
"""

# Runs one simulation several times; the first run warms up the memory.
ENGINE = """
import json, sys, time
import hocket
label, ranks, size_bytes, text, repetitions = json.loads(sys.argv[1])
machine = hocket.Machine.parse(text)
call = hocket.Call(ranks=ranks, size_bytes=size_bytes)
best = float("inf")
for _ in range(repetitions + 1):
    start = time.process_time()
    found = hocket.simulate(label, call, machine=machine, trials=hocket.Trials(threads=1))
    best = min(best, time.process_time() - start)
print(json.dumps([found.messages, best]))
"""

LINKS = """name = "benchmark"
[network]
model = "links"
topology = "torus"
dims = [16, 16, 16]
link_bandwidth = "4 GB/s"
link_latency = "100 ns"
[node]
ports = 4
"""

PACKETS = """name = "benchmark"
[network]
model = "packets"
topology = "torus"
dims = [16, 16]
link_bandwidth = "4 GB/s"
link_latency = "100 ns"
packet = "2 KiB"
"""

# Bytes times links of one simulation.
CARRIED = """
import json, sys
import hocket
label, ranks, size_bytes, text, _ = json.loads(sys.argv[1])
call, machine = hocket.Call(ranks=ranks, size_bytes=size_bytes), hocket.Machine.parse(text)
uses = hocket.simulate(label, call, machine=machine, keep=["links"]).link_uses
print(sum(use.bytes for use in uses))
"""


# Simulates one call on one thread; prints the number of messages.
ONCE = """
import json, sys
import hocket
label, ranks, size_bytes = json.loads(sys.argv[1])
call = hocket.Call(ranks=ranks, size_bytes=size_bytes)
print(hocket.simulate(label, call, machine="fugaku", trials=hocket.Trials(threads=1)).messages)
"""

TORI = """name = "torus"
[network]
model = "links"
topology = "torus"
dims = [{k}, {k}, {k}]
link_bandwidth = "5 GB/s"
link_latency = "100 ns"
sharing = "{sharing}"
[node]
ports = 6
reduce_bandwidth = "5 GB/s"
"""

FUGAKU = "compare allreduce --ranks 512 --sizes 8B..64MiB:4 --machine fugaku"
CLUSTER = "compare allreduce --ranks 1024 --sizes 8B..64MiB --machine cluster"
RECURSIVE_DOUBLING = "allreduce recursive_doubling --ranks 65536 --size 8B"
PIPELINE = "simulate broadcast trinaryx3 --ranks 9216 --size 1GiB --machine k_computer --estimate 1%"

# Commands, and how long they may take: in seconds, or in multiples of LogGOPSim's time for recursive doubling on 2^16
# ranks, from the binary form of GOAL.
BARS = (
    (FUGAKU, "2.4 x"),
    (f"{FUGAKU} --best", "5 x"),
    (CLUSTER, "0.4 x"),
    (PIPELINE, "30 s"),
    ("simulate allreduce ring --ranks 8 --size 8B", "0.15 s"),
)

# Instructions of a message on fugaku, 512 ranks, 2 MiB: a tenth more than were reached.
MOST_INSTRUCTIONS = {
    "allreduce/ring": 4_500,
    "allreduce/edge_disjoint_trees": 8_800,
    "allreduce/hierarchical": 11_400,
    "allreduce/swing_torus": 9_600,
}

# LogGOPSim's time, divided by Hocket's for the same file: the median that `peers.py` measures.
LOGGOPSIM_RATIO = 1.7


@dataclass(frozen=True)
class Case:
    """One simulation, and its target."""

    label: str
    ranks: int
    size_bytes: int
    network: str
    target_per_s: float
    text: str

    @property
    def argument(self) -> list[object]:
        """The arguments of the programs above, without the repetitions."""
        return [self.label, self.ranks, self.size_bytes, self.text]


@dataclass(frozen=True)
class Speed:
    """The speed of one simulation."""

    case: str
    messages: int
    user_s: float
    messages_per_s: float
    target_per_s: float
    is_met: bool


# Runs few and then many trials of one call on one thread: the cost of further trials, and of all.
TRIALS = """
import json, sys, time
import hocket
from hocket_studies.jitter import Setting, machine
log2, groups = json.loads(sys.argv[1])
call = hocket.Call(ranks=1 << log2, size_bytes=8)
where = machine(Setting(1e-6, 8, 1e-2, 1e-4))
def cost(trials):
    start = time.process_time()
    hocket.simulate("allreduce/recursive_doubling", call, machine=where, trials=hocket.Trials(trials, threads=1))
    return time.process_time() - start
print(json.dumps([min(cost(trials) for _ in range(2)) for trials in (32, 32 * groups)]))
"""


@dataclass(frozen=True)
class Cost:
    """The cost of a whole process."""

    wall_s: float
    user_s: float
    system_s: float
    peak_bytes: int

    @property
    def cpu_s(self) -> float:
        """User and system time."""
        return self.user_s + self.system_s


def cases(quick: bool) -> list[Case]:
    """Return the simulations with targets."""
    logs = (10, 13) if quick else (10, 13, 16, 20)
    butterflies = [
        Case("allreduce/recursive_doubling", 1 << log, 8, protocol, 10e6 if log == 20 else 20e6, machine(protocol))
        for log in logs
        for protocol in ("eager", "rendezvous")
    ]
    rings = [
        Case("allreduce/ring", 1024, 1 << 20, protocol, 15e6, machine(protocol)) for protocol in ("eager", "rendezvous")
    ]
    fair = LINKS.replace("dims = [16, 16, 16]", 'dims = [16, 16]\nsharing = "fair"')
    tori = [
        Case("allreduce/recursive_doubling", 1 << 12, 8, "links, torus 16 x 16 x 16", 4e6, LINKS),
        Case("alltoall/pairwise_exchange", 256, 1 << 16, "links, fair, torus 16 x 16", 0.2e6, fair),
        Case("alltoall/linear", 256, 1 << 16, "links, fair, torus 16 x 16", 0.05e6, fair),
    ]
    return [*butterflies, *rings, *tori]


def machine(protocol: str) -> str:
    """Return the text of a machine without contention."""
    return HOCKNEY.format(protocol=protocol)


def engine_speed(case: Case, repetitions: int) -> Speed:
    """Measure the engine alone: the simulation, without the start of the process."""
    messages, user_s = json.loads(run_python(ENGINE, [*case.argument, repetitions]))
    name = f"{case.label} {case.size_bytes} B, P = {case.ranks}, {case.network}"
    per_s = messages / user_s
    return Speed(name, messages, user_s, per_s, case.target_per_s, per_s >= case.target_per_s)


def run_python(program: str, argument: list[object]) -> str:
    """Run a program in its own process; return its output."""
    command = [sys.executable, "-c", program, json.dumps(argument)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def packet_hops_per_s(repetitions: int) -> float:
    """Return packets times links per second of one core: an all-to-all of 64 KiB on a torus of 16 x 16."""
    case = Case("alltoall/pairwise_exchange", 256, 1 << 16, "packets", 20e6, PACKETS)
    _, user_s = json.loads(run_python(ENGINE, [*case.argument, repetitions]))
    carried = float(run_python(CARRIED, [*case.argument, repetitions]))
    return carried / 2048 / float(user_s)


def trial_speeds(log2: int, groups: int) -> tuple[float, float]:
    """Return exchanges of one rank in one trial per second of one core: beyond the first 32 trials, and of all."""
    few_s, many_s = json.loads(run_python(TRIALS, [log2, groups]))
    updates = log2 * 2**log2 * 32
    return updates * (groups - 1) / (many_s - few_s), updates * groups / many_s


def process_cost(command: list[str], repetitions: int) -> Cost:
    """Run a command several times; return the least cost."""
    found = [_process_cost(command) for _ in range(repetitions)]
    return min(found, key=lambda cost: cost.wall_s)


def _process_cost(command: list[str]) -> Cost:
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise click.ClickException(f"{' '.join(command)} failed")
    return Cost(time.perf_counter() - start, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024)


def broadcast(ranks: int, repetitions: int) -> Cost:
    """Measure a binomial broadcast from process start to printed result."""
    command = [sys.executable, "-m", "hocket", "simulate", "broadcast", "binomial"]
    return process_cost([*command, "--ranks", str(ranks), "--size", "8B"], repetitions)


def print_speeds(console: Console, speeds: list[Speed]) -> None:
    """Print the speed of the engine and its targets."""
    table = Table("simulation", "messages", "user time", "M messages/s", "target", "met", title="engine, one core")
    for speed in speeds:
        rates = [f"{speed.messages_per_s / 1e6:.2f}", f"{speed.target_per_s / 1e6:g}"]
        met = "yes" if speed.is_met else "no"
        table.add_row(speed.case, f"{speed.messages:,}", f"{speed.user_s * 1e3:.2f} ms", *rates, met)
    console.print(table)


def print_bars(console: Console, repetitions: int) -> None:
    """Print how long commands take, beside how long they may, and the instructions of a message."""
    hocket = [sys.executable, "-m", "hocket"]
    with tempfile.TemporaryDirectory() as folder:
        schedule = str(Path(folder) / "schedule.bin")
        recorded = ["record", *RECURSIVE_DOUBLING.split(), "--format", "goal_binary", "--output", schedule]
        process_cost([*hocket, *recorded], 1)
        own_s = process_cost([*hocket, "simulate", "schedule", schedule], repetitions).cpu_s
        console.print(
            f"recursive doubling, 2^16 ranks, GOAL's binary form: {own_s:.2f} s; LogGOPSim: {LOGGOPSIM_RATIO} times"
        )
        table = Table("command", "processor time", "of LogGOPSim's", "at most", title="commands, start to end")
        for command, bar in [*BARS, *tori(folder)]:
            cpu_s = process_cost([*hocket, *command.split()], repetitions).cpu_s
            table.add_row(
                command.replace(f"{folder}/", ""), f"{cpu_s:.2f} s", f"{cpu_s / (own_s * LOGGOPSIM_RATIO):.2f} x", bar
            )
        console.print(table)
    if shutil.which("valgrind"):
        for label, most in MOST_INSTRUCTIONS.items():
            console.print(f"{label}, fugaku, 512 ranks, 2 MiB: {instructions(label):,.0f} a message (at most {most:,})")


def tori(folder: str) -> Iterator[tuple[str, str]]:
    """Yield simulations on tori of 16 x 16 x 16 and 64 x 64 x 64 nodes."""
    for sharing in ("fair", "queue"):
        for k, bar in ((16, ""), (64, "10 s")):
            path = Path(folder) / f"{sharing}-{k}.toml"
            path.write_text(TORI.format(k=k, sharing=sharing))
            for name in ("torus_bucket", "swing_torus"):
                yield f"simulate allreduce {name} --ranks {k**3} --size 6MiB --machine {path}", bar


def instructions(label: str) -> float:
    """Return the instructions of one message: those of 512 ranks less those of a ring of 2 ranks."""
    beyond_start = _instructions(label, 512) - _instructions("allreduce/ring", 2)
    return beyond_start / float(run_python(ONCE, [label, 512, 2 << 20]))


def _instructions(label: str, ranks: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", ONCE]
    argument = json.dumps([label, ranks, 2 << 20])
    told = subprocess.run([*command, argument], check=True, capture_output=True, text=True).stderr
    return int(re.findall(r"Collected : (\d+)", told)[0])


@click.command()
@click.option("--bars", is_flag=True, help="Only print how long commands take, beside how long they may.")
@click.option("--quick", is_flag=True, help="Fewer and smaller cases.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--repetitions", default=5, show_default=True, type=click.IntRange(min=1), help="Of each case.")
def main(*, bars: bool, quick: bool, as_json: bool, repetitions: int) -> None:
    """Measure, and print a table."""
    console = Console(stderr=as_json)
    console.print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, best of {repetitions} repetitions")
    if bars:
        print_bars(console, min(repetitions, 2))
        return
    speeds = [engine_speed(case, repetitions) for case in cases(quick)]
    print_speeds(console, speeds)

    hops = packet_hops_per_s(repetitions)
    console.print(f"packets, all-to-all of 64 KiB on 16 x 16: {hops / 1e6:.1f} M packet-hops/s (target 20)")

    trials = {}
    for log2, groups, target in ((16, 10, 700),) if quick else ((16, 20, 700), (20, 6, 150)):
        beyond, overall = trials[log2] = trial_speeds(log2, groups)
        console.print(
            f"recursive doubling under noise, P = 2^{log2}, {32 * groups} trials: {beyond / 1e6:.0f} M rank-updates/s "
            f"beyond the first 32 trials (target {target}), {overall / 1e6:.0f} M/s with the recording"
        )

    ranks = 1 << (16 if quick else 20)
    whole = broadcast(ranks, repetitions)
    peak = f"{whole.peak_bytes / 1e6:.0f} MB"
    console.print(
        f"binomial broadcast, {ranks} ranks, end to end: {whole.wall_s:.2f} s, {peak} (target 2 s, 1 GB at 2^20)"
    )

    if as_json:
        click.echo(
            json.dumps(
                {
                    "engine": [asdict(s) for s in speeds],
                    "trials": trials,
                    "broadcast": asdict(whole),
                    "hops_per_s": hops,
                }
            )
        )


if __name__ == "__main__":
    main()
