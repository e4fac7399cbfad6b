"""The time of a replay, end to end: a stencil with reductions, as in the NAS benchmarks, written and replayed.

python benchmarks/replay.py [CALLS]
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

MACHINE = "cluster"
CALLS, RANKS = 1_000_000, 16


def stencil(calls: int, ranks: int) -> Iterator[str]:
    """Give the lines of a trace: halos in four directions, and an allreduce every eighth step."""
    side = int(ranks**0.5)
    yield f'{{"format":"hocket-trace","version":1,"ranks":{ranks},"program":"stencil","mpi":"none","date":"2026"}}'
    steps = int(calls / ranks / 9.125)
    for rank in range(ranks):
        x, y = rank % side, rank // side
        peers = [
            y * side + (x + 1) % side,
            y * side + (x - 1) % side,
            (y + 1) % side * side + x,
            (y - 1) % side * side + x,
        ]
        lines = list(_rank(peers, steps))
        yield f'{{"rank":{rank},"calls":{len(lines)},"clock_offset_s":[0.0,0.0],"host":"node{rank}"}}'
        yield from lines


def _rank(peers: list[int], steps: int) -> Iterator[str]:
    data = '"comm":0,"tag":%d,"count":1000,"type":"MPI_DOUBLE","type_bytes":8,"peer":%d'
    now_us, request = 0, 0
    yield '{"call":"MPI_Init","start_s":0.0,"end_s":0.0}'
    for step in range(steps):
        got = []
        for name, tags in (("MPI_Irecv", (1, 0, 3, 2)), ("MPI_Isend", (0, 1, 2, 3))):
            for tag, peer in zip(tags, peers, strict=True):
                now_us += 1
                call = f'"call":"{name}","start_s":{now_us}e-6,"end_s":{now_us + 1}e-6'
                yield f'{{{call},{data % (tag, peer)},"request":{request}}}'
                got.append([peer, tag, 8000] if name == "MPI_Irecv" else None)
                now_us += 1
                request += 1
        now_us += 50
        requests = ",".join(str(number) for number in range(request - 8, request))
        gots = ",".join("null" if one is None else f"[{one[0]},{one[1]},{one[2]}]" for one in got)
        times = f'"start_s":{now_us}e-6,"end_s":{now_us + 9}e-6'
        yield f'{{"call":"MPI_Waitall",{times},"requests":[{requests}],"got":[{gots}]}}'
        now_us += 9
        if step % 8 == 0:
            times = f'"start_s":{now_us}e-6,"end_s":{now_us + 7}e-6'
            sums = '"comm":0,"count":1,"type":"MPI_DOUBLE","type_bytes":8,"op":"MPI_SUM","commutative":true'
            yield f'{{"call":"MPI_Allreduce",{times},{sums}}}'
            now_us += 7
    yield f'{{"call":"MPI_Finalize","start_s":{now_us}e-6,"end_s":{now_us}e-6}}'


def main() -> None:
    """Write the trace, replay it, and print how long that took."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else CALLS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stencil.hktrace")
        with gzip.open(path, "wt", compresslevel=6) as file:
            file.writelines(f"{line}\n" for line in stencil(calls, RANKS))
        start_s = time.perf_counter()
        subprocess.run([sys.executable, "-m", "hocket", "replay", str(path), "--machine", MACHINE], check=True)
        print(f"{time.perf_counter() - start_s:.2f} s")


if __name__ == "__main__":
    main()
