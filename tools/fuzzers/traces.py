"""Readers of traces, and replays; traces are also written in Hocket's own format and read again."""

import gzip
import random
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import hocket
from fuzzers.harness import CHANGES, LONGEST_LINE, Files, Target, changed, is_one_line, times
from hocket import Error, traces
from hocket.schedules import formats as schedule_formats
from hocket.traces import Call, Communicator, RankTrace, Trace, chakra
from hocket.traces.chakra import Node

T = TypeVar("T")
MEMORY_BYTES, TIME_S = 1 << 30, 10

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


def samples() -> dict[str, list[Files]]:
    """Return valid files for each reader."""
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
        "chakra": [nodes, few_nodes],
        "own": [{"a": packed}, {"a": gzip.decompress(packed)}],
        "simgrid": [{"a": SIMGRID}, {"a": b"r0\nr1\n", **split}, {"a": b"b\n", "b": SIMGRID}],
        "allprof": [logs],
    }


def change(files: Files, chance: random.Random) -> Files:
    """Return files with one changed, at one or more places; compressed files mostly inside."""
    name = chance.choice(sorted(files))
    content = files[name]
    if name.endswith(".et") and chance.random() < 0.8:
        return {**files, name: chakra.encode(changed_nodes(chakra_nodes(int(name[2])), chance))}
    is_packed = content.startswith(b"\x1f\x8b") and chance.random() < 0.8
    text = changed(gzip.decompress(content) if is_packed else content, OTHERS, chance)
    return {**files, name: gzip.compress(text) if is_packed else text}


def changed_nodes(nodes: list[Node], chance: random.Random) -> list[Node]:
    """Return nodes with some changed."""
    for _ in times(chance):
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


def told(folder: Path, read: Callable[[], T]) -> T | None:
    """Return the result of a reader, or None for an error, which must be one line."""
    try:
        return read()
    except Error as error:
        message = str(error)
        assert is_one_line(message, folder) and len(message) < LONGEST_LINE + 200, message
        return None


def check(file: Path, _: random.Random) -> bool:
    """Read files as one trace and replay it; return whether they are a trace.

    Raises:
        AssertionError: An error has several lines or does not begin with a file, or Hocket's own reader does not accept
            the trace.
    """
    folder = file.parent
    trace = told(folder, lambda: traces.load(file))
    told(folder, lambda: hocket.replay(file, "cluster"))
    if file.suffix == ".et" and (schedule := told(folder, lambda: schedule_formats.load(file))):
        hocket.verify_schedule(schedule)
    if trace is None:
        return False
    traces.write(folder / "again", trace)
    assert traces.read(folder / "again").ranks == trace.ranks, "read again, it is another trace"
    return True


SAMPLES = samples()
OTHERS = [text for some in SAMPLES.values() for files in some for text in files.values()]


def targets(_: Sequence[Path]) -> dict[str, Target]:
    return {name: Target(some, check, change) for name, some in SAMPLES.items()}
