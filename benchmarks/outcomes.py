"""Whether a change of the engines changes any result: the outcomes of drawn calls, stored before and compared after.

    .venv/bin/python benchmarks/outcomes.py store before.txt
    .venv/bin/python benchmarks/outcomes.py compare before.txt

Calls of the whole catalogue are drawn: ranks, sizes, machines of all network models but circuits, with hosts, nodes,
eager and rendezvous messages, noise, arrivals, cadences, faults, deadlines, schedules, and several jobs. The file has a
line for each call: a hash of all that it gives, to the last bit, and what it is. `compare` prints the calls that
differ, and exits with 1 if there are some.
"""

import hashlib
import json
import random
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import click
from rich.progress import track

import hocket
from hocket.simulating.simulation import plan

NETWORKS = {
    "hockney": 'model = "hockney"\nlatency = "1.3 us"\nbandwidth = "9 GB/s"\nprotocol = "{protocol}"',
    "overhead": 'model = "hockney"\nlatency = "1.3 us"\nbandwidth = "9 GB/s"\nsend_overhead = "0.2 us"',
    "nodes": 'model = "hockney"\nlatency = "1.3 us"\nbandwidth = "9 GB/s"\nranks_per_node = 4\nmap = "{map}"\n'
    'local.latency = "0.3 us"\nlocal.bandwidth = "30 GB/s"',
    "loggp": 'model = "loggp"\nL = "1.1 us"\no = "0.4 us"\ng = "0.6 us"\nG = "0.12 ns/B"\nO = "0.05 ns/B"\n'
    'S = "4 KiB"\nnew_peer = "0.7 us"',
    "torus": 'topology = "torus"\ndims = [8, 8, 8]\nlink_bandwidth = "5 GB/s"\nlink_latency = "0.13 us"',
    "mesh": 'topology = "mesh"\ndims = [23, 23]\nlink_bandwidth = "4 GB/s"\nlink_latency = "0.11 us"',
    "fat_tree": 'topology = "fat_tree"\ndown = [8, 8, 8]\nup = [1, 4, 2]\nlink_bandwidth = "7 GB/s"\n'
    'link_latency = "0.2 us"',
    "dragonfly": 'topology = "dragonfly"\ngroups = 9\nrouters_per_group = 8\nglobal_links_per_router = 1\n'
    'nodes_per_router = 8\nlink_bandwidth = "6 GB/s"\nlink_latency = "0.15 us"',
    "crossbar": 'topology = "crossbar"\nnodes = 512\nlink_bandwidth = "6 GB/s"\nlink_latency = "0.15 us"',
}
MODELS = (
    'model = "links"\nsharing = "fair"\n',
    'model = "links"\nsharing = "queue"\n',
    'model = "packets"\npacket = "2 KiB"\nbuffer = 8\n',
)
NODES = (
    'ports = {ports}\nreduce_bandwidth = "6 GB/s"',
    'ports = {ports}\nreduce_bandwidth = "6 GB/s"\ncopy_bandwidth = "11 GB/s"\nreduce_latency = "80 ns"',
    'ports = {ports}\nreduce_bandwidth = "6 GB/s"\nscratch.from = "64 KiB"\nscratch.per_byte = "0.1 ns/B"',
)
HOST = '[host]\no = "0.5 us"\nO = "0.08 ns/B"\ng = "0.3 us"\nG = "0.1 ns/B"\nS = "4 KiB"\nnew_peer = "0.9 us"\n'
NOISE = '[noise.os]\nmodel = "gaussian"\nmean = "2 us"\ndeviation = "1 us"\n'
RANKS = (*range(1, 34), 64, 64, 100, 512)
SIZES_BYTES = (0, 1, 8, 100, 1000, 4095, 4096, 4097, 33_333, 262_144, 1_000_003)
ARRIVALS = ("rank 0, 20 us", "one rank, 0..50 us", "every rank, exponential 5 us")
CADENCES = ("3 calls", "4 calls, every 30 us", "4 calls, every 30 us, 2 at a time")
FAULTS = ("link 0 -> 1, 2..80 us, 10 %", "node 3, 5..40 us, down", "link 1 <-> 0, 0..1 ms, 50 %")
MOST_MESSAGES = 60_000


def machine_text(draw: random.Random) -> str:
    """Return a machine file of drawn parts."""
    network = NETWORKS[name := draw.choice(list(NETWORKS))]
    is_shared = network.startswith("topology")
    has_host = draw.random() < 0.5
    text = draw.choice(MODELS) + network if is_shared else network
    text += '\nprotocol = "{protocol}"' if is_shared and not has_host else ""
    node = draw.choice(NODES) if name != "loggp" else 'reduce_bandwidth = "6 GB/s"'
    values = {
        "protocol": draw.choice(("eager", "rendezvous")),
        "map": draw.choice(("block", "cyclic")),
        "ports": draw.choice(("1", "2", "6") if is_shared else ("1", "2", '"unlimited"')),
    }
    parts = [f'name = "drawn"\n[network]\n{text}\n[node]\n{node}\n'.format(**values)]
    parts += [HOST] * (has_host and is_shared)
    parts += [NOISE] * (draw.random() < 0.1)
    return "".join(parts)


def drawn_calls(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Give calls as plain data."""
    draw = random.Random(seed)
    labels = [algorithm.label for algorithm in hocket.catalogue()]
    for number in range(count):
        machine = machine_text(draw)
        is_shared = "topology" in machine
        scenes = {"arrivals": ARRIVALS, "cadence": CADENCES, **({"faults": FAULTS} if is_shared else {})}
        scene = draw.choice((*scenes, *(None,) * 8))
        details: tuple[tuple[str, ...], ...] = ((), ("events",), ("events", "critical_path"))
        details += (("links",), ("passages",)) if is_shared else ()
        yield {
            "algorithm": labels[number % len(labels)],
            "ranks": draw.choice(RANKS),
            "size_bytes": draw.choice(SIZES_BYTES),
            "machine": machine,
            "way": draw.choices(("call", "schedule", "deadline", "jobs"), (20, 1, 1, 1))[0],
            "scene": {} if scene is None else {scene: draw.choice(scenes[scene])},
            "keep": draw.choice(details),
        }


def outcome(call: dict[str, Any]) -> str:
    """Return a hash of all that a call gives, or of the sentence that refuses it."""
    try:
        given = repr(result_of(call))
    except hocket.Error as error:
        given = str(error)
    return hashlib.blake2b(given.encode(), digest_size=8).hexdigest()


def result_of(call: dict[str, Any]) -> object:
    """Simulate a call; calls of too many messages are left out."""
    machine = hocket.Machine.parse(call["machine"], "drawn.toml")
    algorithm = hocket.find(call["algorithm"])
    size_bytes = 0 if algorithm.collective == "barrier" else call["size_bytes"]
    of_call = hocket.Call(ranks=call["ranks"], size_bytes=size_bytes, element_bytes=1)
    trials = hocket.Trials(3 if machine.noise else 1, threads=1)
    if plan(algorithm, of_call, machine=machine).messages > MOST_MESSAGES:
        return "too many messages"
    if call["way"] == "schedule":
        return hocket.simulate(hocket.record(algorithm, of_call, machine=machine), machine=machine, trials=trials)
    if call["way"] == "deadline":
        return hocket.simulate_until(algorithm, of_call, machine=machine, until_s=2e-5, trials=trials)
    if call["way"] == "jobs":
        job = f"{algorithm.collective} {algorithm.name} {size_bytes}B, {max(1, call['ranks'] // 2)} ranks"
        return hocket.simulate_together([job, job], machine=machine, trials=trials)
    found = hocket.simulate(algorithm, of_call, machine=machine, trials=trials, keep=call["keep"], **call["scene"])
    return found, found.times_s, found.marks_s, found.events, found.link_uses, found.passages, found.critical_path


def lines(calls: Iterable[dict[str, Any]], count: int) -> Iterator[str]:
    """Give a line for each call: the hash of its outcome, and the call."""
    with ProcessPoolExecutor() as executor:
        calls = list(calls)
        hashes = executor.map(outcome, calls, chunksize=50)
        for call, digest in zip(calls, track(hashes, "simulating", count), strict=True):
            yield f"{digest} {json.dumps(call)}"


@click.group()
def main() -> None:
    """Store or compare the outcomes of drawn calls."""


@main.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--calls", "count", type=click.IntRange(1), default=20_000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
def store(file: str, count: int, seed: int) -> None:
    """Write the outcomes of drawn calls to FILE."""
    Path(file).write_text("\n".join(lines(drawn_calls(seed, count), count)) + "\n")


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def compare(file: str) -> None:
    """Simulate the calls of FILE again, and print those whose outcomes differ."""
    before = Path(file).read_text().splitlines()
    calls = (json.loads(line.partition(" ")[2]) for line in before)
    different = [one for one, other in zip(before, lines(calls, len(before)), strict=True) if one != other]
    for line in different:
        print(line.partition(" ")[2])
    print(f"{len(before)} calls, {len(different)} differ")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
