"""The same work by Hocket and other simulators, in turns.

    make bench
    .venv/bin/python benchmarks/peers.py [--help]

In every round each side does the work once, in its own process, so that both meet the same states of the machine.
Times are processor times, user and system, of the whole process. A ratio is the other's time divided by Hocket's in one
round; the table has the median, the least and the largest ratio.

SimGrid runs if `make bench` could install it from PyPI. LogGOPSim is a folder with its `txt2bin` and `LogGOPSim`;
BookSim2 is its program.
"""

from __future__ import annotations

import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

import hocket

HERE = Path(__file__).parent
SIMGRID_PYTHON = HERE / ".venv-simgrid" / "bin" / "python"
SIMGRID_SCRIPT = HERE / "simgrid_allreduce.py"
HOCKET = [sys.executable, "-m", "hocket"]

Command = Sequence[str | os.PathLike[str]]

TORUS = """name = "benchmark"
[network]
model = "links"
topology = "torus"
sharing = "fair"
dims = [{dims}]
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
# Uniform traffic of packets of 16 flits on the same torus, at a load below saturation.
BOOKSIM = """topology = torus;
k = 16;
n = 2;
routing_function = dim_order;
num_vcs = 4;
vc_buf_size = 32;
traffic = uniform;
packet_size = 16;
injection_rate = 0.01;
sim_type = throughput;
warmup_periods = 2;
sample_period = 1000;
max_samples = 10;
"""


@dataclass(frozen=True)
class Cost:
    """The cost of one process."""

    processor_s: float
    peak_bytes: int
    printed: str


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a simulator, and the commands that do the work, one after another.

    Attributes:
        name: The simulator.
        commands: The commands.
        units: Returns the amount of work, given the output of the last command.
        status: The exit status of success.
    """

    name: str
    commands: tuple[Command, ...]
    units: Callable[[str], float] = lambda _: 1.0
    status: int = 0


@dataclass(frozen=True)
class Work:
    """A comparison: Hocket's side and the other side."""

    name: str
    ours: Side
    theirs: Side


@dataclass(frozen=True)
class Result:
    """The costs of both sides, round by round, and the ratios."""

    work: Work
    ours: tuple[Cost, ...]
    theirs: tuple[Cost, ...]

    @property
    def ratios(self) -> list[float]:
        """The other's time per unit of work divided by Hocket's, in each round."""

        def per_unit(side: Side, cost: Cost) -> float:
            return cost.processor_s / side.units(cost.printed)

        pairs = zip(self.ours, self.theirs, strict=True)
        return [per_unit(self.work.theirs, other) / per_unit(self.work.ours, own) for own, other in pairs]


def run(command: Command, expected_status: int = 0) -> Cost:
    """Run a command; return its cost."""
    with tempfile.TemporaryFile("w+") as printed:
        child = subprocess.Popen(command, stdout=printed, stderr=subprocess.PIPE, text=True)
        errors = child.stderr.read() if child.stderr else ""
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != expected_status:
            raise click.ClickException(f"{' '.join(map(str, command))} failed: {errors.strip()[-300:]}")
        printed.seek(0)
        return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, printed.read())


def do(side: Side) -> Cost:
    """Do the work of one side once."""
    costs = [run(command, side.status) for command in side.commands]
    peak_bytes = max(cost.peak_bytes for cost in costs)
    return Cost(sum(cost.processor_s for cost in costs), peak_bytes, costs[-1].printed)


def compare(work: Work, rounds: int) -> Result:
    """Let both sides do the work in turns."""
    pairs = [(do(work.ours), do(work.theirs)) for _ in range(rounds)]
    ours, theirs = zip(*pairs, strict=True)
    return Result(work, ours, theirs)


def of_simgrid(folder: Path, quick: bool) -> Iterator[Work]:
    """Recursive doubling without contention, and on tori with fairly shared links."""
    ours: Command = [*HOCKET, "simulate", "allreduce", "recursive_doubling", "--ranks"]
    theirs: Command = [SIMGRID_PYTHON, SIMGRID_SCRIPT]
    for ranks in (256, 1024) if quick else (256, 1024, 4096):
        all_ranks = ["--engine", "dataflow"]  # the other side simulates all ranks, too
        mine, other = [*ours, str(ranks), "--size", "8B", *all_ranks], [*theirs, str(ranks), "8"]
        yield pair(f"recursive doubling of 8 B, {ranks} ranks, no contention", "SimGrid", mine, other)
    for dims in (["4", "8", "8"],) if quick else (["4", "8", "8"], ["8", "8", "16"], ["16", "16", "16"]):
        nodes = str(math.prod(map(int, dims)))
        machine = folder / f"torus-{nodes}.toml"
        machine.write_text(TORUS.format(dims=", ".join(dims)))
        mine = [*ours, nodes, "--size", "64KiB", "--machine", machine]
        name = f"recursive doubling of 64 KiB, torus {' x '.join(dims)}, links shared fairly"
        yield pair(name, "SimGrid", mine, [*theirs, nodes, "65536", *dims])


def pair(name: str, peer: str, ours: Command, theirs: Command) -> Work:
    """One command of each side."""
    return Work(name, Side("Hocket", (ours,)), Side(peer, (theirs,)))


def of_loggopsim(folder: Path, programs: Path, quick: bool) -> Iterator[Work]:
    """A schedule from GOAL text, from its binary form, and from its program."""
    log2 = 12 if quick else 16
    call = ["recursive_doubling", "--ranks", str(1 << log2), "--size", "8B"]
    text, binary, theirs = folder / "rd.goal", folder / "rd.bin", folder / "loggopsim.bin"
    for form, path in (("goal", text), ("goal_binary", binary)):
        run([*HOCKET, "record", "allreduce", *call, "--machine", "loggopsim-defaults", "--format", form, "-o", path])
    where = ["--machine", "loggopsim-defaults"]
    convert: Command = [programs / "txt2bin", "-i", text, "-o", theirs]
    program = programs / "LogGOPSim"
    simulate: Command = [program, "-f", binary]
    sides: dict[str, tuple[Command, tuple[Command, ...]]] = {
        "GOAL text": ([*HOCKET, "simulate", "schedule", text, *where], (convert, [program, "-f", theirs])),
        "GOAL, binary": ([*HOCKET, "simulate", "schedule", binary, *where], (simulate,)),
        "from the program": ([*HOCKET, "simulate", "allreduce", *call, *where, "--engine", "dataflow"], (simulate,)),
    }
    for name, (ours, commands) in sides.items():
        title = f"recursive doubling of 8 B, 2^{log2} ranks, {name}"
        yield Work(title, Side("Hocket", (ours,)), Side("LogGOPSim", commands))


def of_booksim(folder: Path, program: Path) -> Iterator[Work]:
    """Packets of 16 flits on a torus of 16 x 16, per hop: an all-to-all in Hocket, uniform traffic in BookSim2."""
    machine, config = folder / "packets.toml", folder / "booksim"
    machine.write_text(PACKETS)
    config.write_text(BOOKSIM)
    ours: Command = [*HOCKET, "simulate", "alltoall", "pairwise_exchange", "--ranks", "256", "--size", "64KiB"]
    call = hocket.Call(ranks=256, size_bytes=1 << 16)
    found = hocket.simulate("alltoall/pairwise_exchange", call, machine=hocket.Machine.load(machine), keep=["links"])
    hops = sum(use.bytes for use in found.link_uses) / 2048

    def flit_hops(printed: str) -> float:
        def last(name: str) -> float:
            return float(re.findall(rf"{name}\D+([0-9.]+)", printed)[-1])

        flits = last("Accepted flit rate average") * 256 * last("Time taken is")
        links = last("Hops average") - 1  # it counts routers
        return flits * links / 16

    mine = Side("Hocket", ([*ours, "--machine", machine],), lambda _: hops)
    theirs = Side("BookSim2", ([program, config],), flit_hops, status=255)
    yield Work("packets of 16 flits, torus 16 x 16, a hop", mine, theirs)


def has_simgrid() -> bool:
    """Return whether SimGrid runs where `make bench` installs it."""
    command: Command = [SIMGRID_PYTHON, SIMGRID_SCRIPT, "2", "8"]
    return SIMGRID_PYTHON.exists() and subprocess.run(command, capture_output=True, check=False).returncode == 0


def machine_name() -> str:
    """The name of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", cpuinfo.read_text()) if cpuinfo.exists() else None
    return found[1] if found else platform.processor() or platform.machine()


def rows(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    """The rows of the table."""

    def seconds(costs: tuple[Cost, ...]) -> str:
        return f"{statistics.median(cost.processor_s for cost in costs):.2f} s"

    def peak(costs: tuple[Cost, ...]) -> str:
        return f"{max(cost.peak_bytes for cost in costs) / 1e6:.0f} MB"

    for found in results:
        ratios = found.ratios
        spread = f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"
        sides = [text for costs in (found.ours, found.theirs) for text in (seconds(costs), peak(costs))]
        yield (found.work.name, found.work.theirs.name, *sides, spread)


HEAD = ("work", "other", "Hocket", "memory", "other", "memory", "ratio")


def markdown(results: Sequence[Result], facts: str) -> str:
    """The table in Markdown."""
    lines = [HEAD, ("---",) * len(HEAD), *rows(results)]
    return "\n".join([facts, "", *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


@click.command()
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(min=1))
@click.option("--quick", is_flag=True, help="Fewer and smaller cases.")
@click.option("--loggopsim", type=click.Path(exists=True, file_okay=False, path_type=Path), help="LogGOPSim's folder.")
@click.option("--booksim", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="BookSim2's program.")
@click.option("--markdown", "page", type=click.Path(path_type=Path), help="Also write the table to this file.")
def main(*, rounds: int, quick: bool, loggopsim: Path | None, booksim: Path | None, page: Path | None) -> None:
    """Compare, and print a table."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])  # Hocket would use several; the others use one
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        works: list[Work] = []
        if has_simgrid():
            works += of_simgrid(folder, quick)
        else:
            click.echo("SimGrid does not run, see benchmarks/README.md", err=True)
        if loggopsim is not None:
            works += of_loggopsim(folder, loggopsim.absolute(), quick)
        if booksim is not None:
            works += of_booksim(folder, booksim.absolute())
        results = [compare(work, rounds) for work in track(works, "comparing", console=Console(stderr=True))]
    facts = (
        f"{date.today()}, {machine_name()}, Hocket {hocket.__version__}, Python {platform.python_version()}, "
        f"{rounds} rounds: `python {' '.join(sys.argv)}`"
    )
    table = Table(*HEAD, title="processor time from start to end", caption=facts)
    for row in rows(results):
        table.add_row(*row)
    Console().print(table)
    if page is not None:
        page.write_text(markdown(results, facts))


if __name__ == "__main__":
    main()
