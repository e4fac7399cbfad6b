"""Small plans of MSCCL++, written for the tests in a short notation.

An operation is a line: its name, `<` sources, `>` targets, and details. `i2+1` is chunk 2 of the input, `@0:2+1` is
chunk 2 of buffer 0 of those of other GPUs; `c0,1` are channels, `g0/2` is the first of two parts, `b0/2` is barrier 0
of two thread blocks, `s0` is semaphore 0. `pipeline 32 1 {copy ..| nop}` has units of 32 bytes and one chunk.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def block(text: str, *, memory: Sequence[int] = (), port: Sequence[int] = (), remote: Sequence[int] = ()) -> Json:
    """Return a thread block with its channels, and with the buffers of other GPUs for both kinds."""
    channels = {"memory": memory, "port": port}
    return {
        "ops": [_operation(line) for line in text.replace(";", "\n").splitlines() if line.strip()],
        "channels": [{"channel_type": kind, "channel_ids": [*ids]} for kind, ids in channels.items() if ids],
        "remote_buffer_refs": [
            {"access_channel_type": kind, "remote_buffer_ids": [*remote]} for kind, ids in channels.items() if ids
        ],
    }


def gpu(
    chunks: tuple[int, int, int],
    blocks: Sequence[Json],
    *,
    memory: Sequence[int] = (),
    port: Sequence[int] = (),
    remote: Sequence[tuple[int, str]] = (),
    semaphores: Sequence[int] = (),
) -> Json:
    """Return a GPU: its chunks of input, output and scratch, thread blocks, channels, and buffers of others."""
    return {
        **dict(zip(("input_chunks", "output_chunks", "scratch_chunks"), chunks, strict=True)),
        "threadblocks": [{"id": number, **one} for number, one in enumerate(blocks)],
        "channels": [
            {"channel_type": kind, "connected_to": [*peers]}
            for kind, peers in (("memory", memory), ("port", port))
            if peers
        ],
        "remote_buffers": [
            {"rank": rank, "type": buffer, "access_channel_types": ["memory", "port"]} for rank, buffer in remote
        ],
        "semaphores": [{"init_value": value} for value in semaphores],
    }


def plan(collective: str, gpus: Sequence[Json], *, in_place: bool = False, **more: Any) -> Json:
    """Return a plan."""
    return {
        "name": "test",
        "collective": collective,
        "protocol": "Simple",
        "inplace": in_place,
        "reuse_resources": False,
        "gpus": [{"id": number, **one} for number, one in enumerate(gpus)],
        "num_threads_per_block": 1024,
        "use_double_scratch_buffer": False,
        "buffer_alignment": 16,
        "min_message_size": 0,
        "max_message_size": (1 << 64) - 1,
        **more,
    }


def write(path: Path, content: Json) -> Path:
    """Write a plan into a file of a folder, and return the file."""
    file = path / "plan.json"
    file.write_text(json.dumps(content, indent=1))
    return file


def operations(content: Json) -> list[tuple[list[Json], int]]:
    """Return every operation: the list in which it is, and its place there."""
    blocks = [one["ops"] for of in content["gpus"] for one in of["threadblocks"]]
    return [(ops, number) for ops in blocks for number in range(len(ops))]


def exchange(ranks: int = 2) -> Json:
    """An allgather out of place: every GPU puts its chunk into the outputs of all others."""
    gpus = []
    for rank in range(ranks):
        peers = [peer for peer in range(ranks) if peer != rank]
        ids = ",".join(map(str, range(ranks - 1)))
        puts = "\n".join(f"put <i0+1 >@{number}:{rank}+1 memory" for number in range(ranks - 1))
        text = f"""
            signal c{ids} memory; wait c{ids} memory; nop
            copy <i0+1 >o{rank}+1
            {puts}
            nop; signal c{ids} memory; wait c{ids} memory
        """
        one = block(text, memory=range(ranks - 1), remote=range(ranks - 1))
        gpus.append(gpu((1, ranks, 0), [one], memory=peers, remote=[(peer, "o") for peer in peers]))
    return plan("allgather", gpus)


def reads(ranks: int = 3) -> Json:
    """An allreduce in place: every GPU reduces its chunk from all inputs, and stores the sum into all of them."""
    gpus = []
    for rank in range(ranks):
        peers = [peer for peer in range(ranks) if peer != rank]
        ids = ",".join(map(str, range(ranks - 1)))
        sources, targets = (" ".join(f"{mark}@{number}:{rank}+1" for number in range(ranks - 1)) for mark in ("<", ">"))
        text = f"""
            signal c{ids} memory; wait c{ids} memory; nop
            rres <i{rank}+1 {sources} >i{rank}+1 {targets} memory
            nop; signal c{ids} memory; wait c{ids} memory
        """
        one = block(text, memory=range(ranks - 1), remote=range(ranks - 1))
        gpus.append(gpu((ranks, ranks, 0), [one], memory=peers, remote=[(peer, "i") for peer in peers]))
    return plan("allreduce", gpus, in_place=True)


def packets(ranks: int = 2, parts: int = 1) -> Json:
    """An allreduce in place with packets: two phases, in thread blocks that share every operation."""
    gpus = []
    for rank in range(ranks):
        peers = [peer for peer in range(ranks) if peer != rank]
        blocks = []
        for part in range(parts):
            puts = [f"ppkt <i{peer}+1 >@{number}:{rank}+1 memory" for number, peer in enumerate(peers)]
            sources = " ".join(f"<s{peer}+1" for peer in peers)
            targets = " ".join(f">@{number}:{ranks + rank}+1" for number in range(ranks - 1))
            reduce = f"respkt <i{rank}+1 {sources} >i{rank}+1 {targets} memory"
            ends = [f"upkt <s{ranks + peer}+1 >i{peer}+1" for peer in peers]
            text = "\n".join(f"{line} g{part}/{parts}" for line in (*puts, reduce, *ends))
            blocks.append(block(text, memory=range(ranks - 1), remote=range(ranks - 1)))
        buffers = [(peer, "s") for peer in peers]
        gpus.append(gpu((ranks, ranks, 2 * ranks), blocks, memory=peers, remote=buffers))
    return plan("allreduce", gpus, in_place=True, protocol="LL", use_double_scratch_buffer=True)


def ports() -> Json:
    """An alltoall of two GPUs by port channels: a put with a signal, and a put, a signal and a flush."""
    gpus = []
    for rank in range(2):
        peer = 1 - rank
        order = f"pws <i{peer}+1 >@0:{rank}+1 c0 port; flush c0 port"
        if rank:
            order = f"put <i{peer}+1 >@0:{rank}+1 c0 port; signal c0 port; flush c0 port"
        text = f"signal c0 port; wait c0 port; {order}; wait c0 port; nop; copy <i{rank}+1 >o{rank}+1"
        gpus.append(gpu((2, 2, 0), [block(text, port=[0], remote=[0])], port=[peer], remote=[(peer, "o")]))
    return plan("alltoall", gpus)


def relay() -> Json:
    """A broadcast from GPU 1 to 0 in pipelines: one block copies to scratch memory, another puts, by a semaphore."""
    copies = "pipeline 32 2 {sem_acquire s1 | nop | copy <i0+2 >s0+2 | nop | sem_release s0}"
    puts = """
        signal c0 memory; wait c0 memory; nop
        pipeline 32 2 {sem_acquire s0 | nop | put <s0+2 >@0:0+2 memory | nop | sem_release s1 | signal c0 memory}
        copy <i0+2 >o0+2
    """
    root = gpu(
        (2, 2, 2),
        [block(copies), block(puts, memory=[0], remote=[0])],
        memory=[0],
        remote=[(0, "o")],
        semaphores=[0, 1],
    )
    waits = "signal c0 memory; wait c0 memory; pipeline 32 2 {wait c0 memory}"
    return plan("broadcast", [gpu((2, 2, 0), [block(waits, memory=[0])], memory=[1]), root])


def meeting() -> Json:
    """A sendrecv of two GPUs: a block puts, all blocks meet, and another block signals."""
    gpus = []
    for rank in range(2):
        first = "signal c0 memory; wait c0 memory; nop; put <i0+1 >@0:0+1 memory; barrier b0/2"
        second = "barrier b0/2; signal c0 memory; wait c0 memory"
        blocks = [block(first, memory=[0], remote=[0]), block(second, memory=[1], remote=[0])]
        gpus.append(gpu((1, 1, 0), blocks, memory=[1 - rank, 1 - rank], remote=[(1 - rank, "o")]))
    return plan("sendrecv", gpus)


def gets() -> Json:
    """A reduce_scatter of two GPUs: each gets the other's chunk and adds it to its own; a signal says that it has."""
    gpus = []
    for rank in range(2):
        text = f"""
            rlxsignal c0 memory; rlxwait c0 memory; nop
            get <@0:{rank}+1 >s{rank}+1 memory; nop
            re <i{rank}+1 <s{rank}+1 >o0+1
            rlxsignal c0 memory; rlxwait c0 memory
        """
        gpus.append(gpu((2, 1, 2), [block(text, memory=[0], remote=[0])], memory=[1 - rank], remote=[(1 - rank, "i")]))
    return plan("reducescatter", gpus)


ALL = {
    "exchange": exchange,
    "exchange of 4": lambda: exchange(4),
    "reads": reads,
    "packets": packets,
    "packets of 4": lambda: packets(4, 3),
    "ports": ports,
    "relay": relay,
    "meeting": meeting,
    "gets": gets,
}
"""Right plans, by name."""


def _operand(text: str) -> Json:
    place, size = text.split("+")
    if place.startswith("@"):
        number, index = place[1:].split(":")
        return {"buffer_id": int(number), "index": int(index), "size": int(size)}
    return {"type": place[0], "index": int(place[1:]), "size": int(size)}


def _operation(line: str) -> Json:
    line = line.strip()
    if line.startswith("pipeline"):
        head, inner = line.removesuffix("}").split("{")
        _, unit, chunks = head.split()
        turns = {"unit_size": int(unit), "num_chunks": int(chunks)}
        return {"name": "pipeline", "iter_context": turns, "ops": [_operation(one) for one in inner.split("|")]}
    name, *details = line.split()
    operation: Json = {"name": name}
    for detail in details:
        mark, rest = detail[0], detail[1:]
        if mark in "<>":
            operation.setdefault("src_buff" if mark == "<" else "dst_buff", []).append(_operand(rest))
        elif detail in ("memory", "port", "switch"):
            operation["channel_type"] = detail
        elif mark in "cs":
            operation["channel_ids" if mark == "c" else "semaphore_ids"] = [*map(int, rest.split(","))]
        else:
            first, second = map(int, rest.split("/"))
            keys = ("tb_id", "tbg_size") if mark == "g" else ("barrier_id", "num_threadblocks")
            numbers = dict(zip(keys, (first, second), strict=True))
            operation.update({"tbg_info": numbers} if mark == "g" else numbers)
    return operation
