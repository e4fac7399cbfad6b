"""Fuzz the readers of traces, and replays: whatever a file holds, there is a trace or an error of one line.

It changes valid files at random and reads them under limits of memory and time. It also replays traces, writes them in
Hocket's own format, and reads them again. On any result but a trace or an `Error`, it prints the failure and the place
of the files, and ends with status 1. Example: `python tools/fuzz_traces.py --minutes 10 --seed 7`.
"""

import argparse
import gzip
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

import hocket
from hocket import Error, traces
from hocket.schedules import formats as schedule_formats
from hocket.traces import Call, Communicator, RankTrace, Trace, chakra
from hocket.traces.chakra import Node

MEMORY_BYTES = 1 << 30
TIME_S = 10.0
LONGEST_LINE = 300
LARGEST_BYTES = 1 << 18

Files = Mapping[str, bytes]
T = TypeVar("T")

NUMBERS = (
    b"0 -1 -2 1 2 3 7 255 -555 1e6 1e999 nan inf 1.5 00 1_0 2147483648 9223372036854775807 1000000000000000000"
).split()
TOKENS = (
    b'[ ] { } " , : \n \0 \xff # - null true "requests": "got": "request": "comm": "new_ranks": "tries": "thread": '
    b"MPI_Init MPI_Finalize MPI_Wait MPI_Waitall MPI_Waitany MPI_Testall MPI_Irecv MPI_Start MPI_Recv_init "
    b"init finalize compute send isend recv irecv wait waitall test sendRecv allgatherv reducescatter bcast ../ r0"
).split(b" ")

SIMGRID = b"""0 init
1 init
0 compute 1e6
0 isend 1 3 10 0
0 waitall 1
1 irecv -555 -444 10 0
1 test -555 1 -444
1 sleep 0.5
0 irecv 1 4 -1
1 send 0 4 5 6
0 wait 1 0 4
0 sendRecv 3 1 4 1 1 1
1 sendRecv 4 0 3 0 1 1
0 bcast 4 1 0
1 bcast 4 1 0
0 gatherv 1 1 2 0 1 1
1 gatherv 2 1 2
0 allgatherv 1 1 2 1 1
1 allgatherv 2 1 2 1 1
0 scatterv 1 2 1 0
1 scatterv 1 2 2 0
0 alltoallv 8 2 2 8 2 2 1 1
1 alltoallv 8 2 2 8 2 2 1 1
0 reducescatter 1 2 1e3 0
1 reducescatter 1 2 1e3 0
0 finalize
1 finalize
"""

ALLPROF = b"""# htor's PMPI Tracer 0.9 Output File
# hostname: node
# clockdiff: -9.5 s (relative to rank 0)

MPI_Init:-:16:32:1000
MPI_Comm_rank:1001:91,RANK,2:8:1002
MPI_Isend:1010:64:1:1,4,4:PEER:0:91,RANK,2:128:1020
MPI_Irecv:1030:64:1:1,4,4:PEER:0:91,RANK,2:136:1040
MPI_Testall:1041:2:128:8:0:1042
MPI_Waitall:1050:2:128:0:1060
MPI_Allreduce:1070:1:8:1:10,8,8:3:91,RANK,2:1080
MPI_Sendrecv:1081:8:1:1,4,4:PEER:5:8:1:1,4,4:-1:-1:91,RANK,2:0:1082
MPI_Alltoallv:1083:8:16:1,2:16:0,1:1,4,4:8:16:1,2:16:0,1:1,4,4:91,RANK,2:1084
MPI_Recv_init:1085:64:1:1,4,4:PEER:9:91,RANK,2:144:1086
MPI_Start:1087:144:1087
MPI_Send:1088:64:1:13,1,1:PEER:9:91,RANK,2:1089
MPI_Wait:1090:144:0:1091
# Finalize clockdiff: -9.0
MPI_Finalize:1100:-
"""


def chakra_nodes(rank: int) -> list[Node]:
    """Return a Chakra trace of one of two ranks, with nodes of every supported kind."""
    groups = '[\'[{"pg_name": "0", "ranks": []}, {"pg_name": "1", "ranks": [0, 1]}]\']'
    message = {"comm_size": 100, "comm_tag": 3}
    collectives = [
        Node(10 + kind, "collective", chakra.COLLECTIVE, (4,), 0, {"comm_type": kind, "comm_size": 64, **told})
        for kind, told in (
            (0, {"involved_dim": [True, True]}),
            (2, {"pg_name": "1"}),
            (5, {}),
            (6, {"pg_name": "2"}),
            (7, {"is_cpu_op": False}),
            (9, {}),
        )
    ]
    return [
        Node(0, "groups", chakra.METADATA, values=groups),
        Node(1, "compute", chakra.COMPUTE, (0,), 100),
        Node(2, "send", chakra.SEND, (1,), 0, {"comm_dst": 1 - rank, "comm_src": rank, **message}),
        Node(3, "receive", chakra.RECEIVE, (1,), 0, {"comm_src": 1 - rank, **message}),
        Node(4, "compute", chakra.COMPUTE, (2, 3), 50),
        *collectives,
        Node(20, "compute", chakra.COMPUTE, (10, 12, 16), 50),
    ]


def own_trace() -> Trace:
    """Return a trace of two ranks, with calls of nearly every kind."""
    data = {"count": 3, "type": "MPI_INT", "type_bytes": 4}
    ranks = []
    for rank in range(2):
        peer = {"comm": 0, "peer": 1 - rank, "tag": 1}
        shift = {**peer, "recv_peer": 1 - rank, "recv_tag": 1, **{f"recv_{key}": value for key, value in data.items()}}
        calls = [
            ("Irecv", {**peer, **data, "request": 0}),
            ("Send", {**peer, **data}),
            ("Iprobe", {"tries": 4}),
            ("Waitall", {"requests": [0], "got": [[1 - rank, 1, 12]]}),
            ("Allreduce", {"comm": 0, "op": "MPI_SUM", "commutative": True, **data}),
            ("Comm_dup", {"comm": 0, "new": 2, "new_ranks": [0, 1]}),
            ("Bcast", {"comm": 2, "root": 1, **data}),
            ("Recv_init", {**peer, **data, "request": 1}),
            ("Start", {"requests": [1]}),
            ("Sendrecv", {**shift, **data, "got": [1 - rank, 1, 12]}),
            ("Wait", {"requests": [1], "got": [[-2, -1, 0]]}),
            ("Request_free", {"requests": [1]}),
            ("Comm_free", {"comm": 2}),
        ]
        told = [Call("MPI_Init", 0.0, 0.0)]
        told += [Call(f"MPI_{name}", at * 1e-6, (at + 1) * 1e-6, values) for at, (name, values) in enumerate(calls, 1)]
        told.append(Call("MPI_Finalize", 1.0, 1.0))
        world = {0: Communicator((0, 1)), 1: Communicator((rank,)), 2: Communicator((0, 1), (), 1)}
        ranks.append(RankTrace("node", (0.0, 0.0), tuple(told), world))
    return Trace("program", "an MPI", "2026-01-01T00:00:00Z", tuple(ranks))


def samples() -> dict[str, list[tuple[str, Files]]]:
    """Return valid files for each reader, and the file to read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.hktrace"
        traces.write(path, own_trace())
        packed = path.read_bytes()
    split = {f"r{rank}": b"\n".join(re.findall(rb"(?m)^%d .*$" % rank, SIMGRID)) + b"\n" for rank in range(2)}
    logs = {
        f"log-rank-{rank}.txt": ALLPROF.replace(b"RANK", b"%d" % rank).replace(b"PEER", b"%d" % (1 - rank))
        for rank in range(2)
    }
    nodes = {f"a.{rank}.et": chakra.encode(chakra_nodes(rank)) for rank in range(2)}
    few_nodes = {f"a.{rank}.et": chakra.encode(chakra_nodes(rank)[:5]) for rank in range(2)}
    return {
        "chakra": [("a.0.et", nodes), ("a.0.et", few_nodes)],
        "own": [("a", {"a": packed}), ("a", {"a": gzip.decompress(packed)})],
        "simgrid": [("a", {"a": SIMGRID}), ("a", {"a": b"r0\nr1\n", **split}), ("a", {"a": b"b\n", "b": SIMGRID})],
        "allprof": [("log-rank-0.txt", logs)],
    }


def mutated(files: Files, others: list[tuple[str, Files]], chance: random.Random) -> Files:
    """Return files with one changed, at one or more places; compressed files mostly inside."""
    name = chance.choice(sorted(files))
    content = files[name]
    if name.endswith(".et") and chance.random() < 0.8:
        return {**files, name: chakra.encode(changed_nodes(chakra_nodes(int(name[2])), chance))}
    is_packed = content.startswith(b"\x1f\x8b") and chance.random() < 0.8
    if is_packed:
        content = gzip.decompress(content)
    other = chance.choice([text for _, some in others for text in some.values()])
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        content = chance.choice(CHANGES)(content, other, chance)[:LARGEST_BYTES]
    return {**files, name: gzip.compress(content) if is_packed else content}


def changed_nodes(nodes: list[Node], chance: random.Random) -> list[Node]:
    """Return nodes with some changed."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(nodes))
        node, number = nodes[at], chance.choice((0, 1, 2, 3, 7, 20, 1 << 31, 1 << 53, (1 << 64) - 1))
        value = chance.choice((number, True, "1", "", "x", [True, False], []))
        name = chance.choice(("comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag", "pg_name", "involved_dim"))
        change: dict[str, Any] = chance.choice(
            (
                {"id": number},
                {"kind": number % 12},
                {"after": (*node.after, chance.choice(nodes).id)},
                {"after": node.after[1:]},
                {"duration_us": number},
                {"attributes": {**node.attributes, name: value}},
                {"attributes": {key: told for key, told in node.attributes.items() if key != name}},
                {"values": mutated_text(node.values, chance)},
            )
        )
        nodes[at] = replace(node, **change)
        if chance.random() < 0.1:
            del nodes[chance.randrange(len(nodes)) :]
            return nodes
    return nodes


def mutated_text(text: str, chance: random.Random) -> str:
    return chance.choice(CHANGES)(text.encode(), SIMGRID, chance)[:1000].decode(errors="replace")


def flip(content: bytes, _: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    return content[:at] + bytes(byte ^ 1 << chance.randrange(8) for byte in content[at : at + 1]) + content[at + 1 :]


def cut(content: bytes, _: bytes, chance: random.Random) -> bytes:
    first, last = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    return chance.choice((content[:first], content[first:], content[:first] + content[last:]))


def splice(content: bytes, other: bytes, chance: random.Random) -> bytes:
    first, last = sorted(chance.randrange(len(other) + 1) for _ in range(2))
    at = chance.randrange(len(content) + 1)
    return content[:at] + other[first:last] + content[at:]


def repeat_line(content: bytes, _: bytes, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    at = chance.randrange(len(lines))
    return b"".join([*lines[:at], lines[at] * chance.choice((2, 3, 500)), *lines[at + 1 :]])


def swap_lines(content: bytes, _: bytes, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def drop_line(content: bytes, _: bytes, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    del lines[chance.randrange(len(lines))]
    return b"".join(lines)


def change_number(content: bytes, _: bytes, chance: random.Random) -> bytes:
    found = list(re.finditer(rb"-?\d+", content))
    if not found:
        return content
    old = chance.choice(found)
    new = chance.choice((*NUMBERS, chance.choice(found)[0], b"9" * 5000, b"%d" % (int(old[0][:18]) + 1)))
    return content[: old.start()] + new + content[old.end() :]


def insert_token(content: bytes, _: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    return content[:at] + chance.choice(TOKENS) * chance.choice((1, 1, 1, 2, 3000)) + content[at:]


CHANGES: tuple[Callable[[bytes, bytes, random.Random], bytes], ...] = (
    flip,
    cut,
    splice,
    repeat_line,
    swap_lines,
    drop_line,
    change_number,
    change_number,
    insert_token,
)


def told(folder: Path, read: Callable[[], T]) -> T | None:
    """Return the result of a reader, or None for an error, which must be one line."""
    try:
        return read()
    except Error as error:
        message = str(error)
        assert "\n" not in message and len(message) < LONGEST_LINE + 200 and message.startswith(str(folder)), message
        return None


def check(folder: Path, entry: str, files: Files) -> bool:
    """Read files as one trace and replay it; return whether they are a trace.

    Raises:
        AssertionError: An error has several lines or does not begin with a file, or Hocket's own reader does not accept
            the trace.
    """
    for path in folder.iterdir():
        path.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    trace = told(folder, lambda: traces.load(folder / entry))
    told(folder, lambda: hocket.replay(folder / entry, "cluster"))
    if entry.endswith(".et") and (schedule := told(folder, lambda: schedule_formats.load(folder / entry))):
        hocket.verify_schedule(schedule)
    if trace is None:
        return False
    traces.write(folder / "again", trace)
    assert traces.read(folder / "again").ranks == trace.ranks, "read again, it is another trace"
    return True


def out_of_time(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise TimeoutError(f"took more than {TIME_S} s")


def fuzz(reader: str, minutes: float, seed: int, save: Path) -> int:
    """Fuzz a reader until a failure or the end of the time; return the number of inputs, or -1 after a failure."""
    chance, some = random.Random(f"{reader} {seed}"), samples()[reader]
    others = [one for each in samples().values() for one in each]
    until, inputs, taken = time.monotonic() + 60 * minutes, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for entry, files in some:
            assert check(folder, entry, files), f"{entry} is not read before it is changed"
        while time.monotonic() < until:
            entry, files = chance.choice(some)
            files = mutated(files, others, chance)
            signal.setitimer(signal.ITIMER_REAL, TIME_S)
            try:
                taken += check(folder, entry, files)
            except BaseException:
                signal.setitimer(signal.ITIMER_REAL, 0)
                kept = save / f"{reader}-{seed}-{inputs}"
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(folder, kept)
                told = "\n".join(line[:LONGEST_LINE] for line in traceback.format_exc().splitlines())
                print(f"{reader}, input {inputs}, kept as {kept}/{entry}:\n{told}", flush=True)
                return -1
            signal.setitimer(signal.ITIMER_REAL, 0)
            inputs += 1
    print(f"{reader}: {inputs} inputs, {taken} of them still traces; nothing found", flush=True)
    return inputs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="How long, for each reader.")
    parser.add_argument("--seed", type=int, default=0, help="Same seed, same inputs.")
    parser.add_argument("--reader", choices=sorted(samples()), help="Only this one.")
    parser.add_argument("--save", type=Path, default=Path("fuzzed"), help="Where to keep files that something led to.")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGALRM, out_of_time)
    readers = [options.reader] if options.reader else sorted(samples())
    found = [fuzz(reader, options.minutes, options.seed, options.save) < 0 for reader in readers]
    return int(any(found))


if __name__ == "__main__":
    sys.exit(main())
