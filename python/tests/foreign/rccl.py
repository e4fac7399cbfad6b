"""MSCCL XML, as RCCL and Azure's executor read it."""

from __future__ import annotations

import re
from collections import Counter

MOST_NODES, MOST_CHILDREN, MOST_LETTERS, MOST_ATTRIBUTES = 4096, 1024, 255, 16
MOST_STEPS, MOST_BLOCKS, MOST_COUNT, MOST_PEERS, CHANNELS = 64, 1024, 72, 32, 32

_FUNCTIONS = ("reduce", "broadcast", "allreduce", "reducescatter", "allgather", "gather", "scatter", "alltoall")
_SENDS, _RECEIVES = {"s", "rcs", "rrs", "rrcs"}, {"r", "rcs", "rrs", "rrc", "rrcs"}
_KINDS = _SENDS | _RECEIVES | {"cpy", "re", "nop"}
_TAG = re.compile(r'<(/?)(\w+)((?: \w+="[^"]*")*)(/?)>[ \n\r]*')


_Attributes = dict[str, str]
_Block = tuple[_Attributes, list[_Attributes]]


def read_by_rccl(text: str) -> None:
    """Read MSCCL XML as RCCL and Azure's executor do on every rank: each reads the whole text, and keeps its own part.

    Source: `src/misc/msccl/msccl_parser.cc`, `src/include/msccl/msccl_parser.h` and `msccl_struct.h` in ROCm/rccl, and
    the same in Azure/msccl-executor-nccl.
    """
    algo, gpus = _tree(text)
    numbers = {name: int(algo[name]) for name in ("nchunksperloop", "nchannels", "ngpus", "minBytes", "maxBytes")}
    assert 0 <= numbers["minBytes"] <= numbers["maxBytes"] < 1 << 63
    assert {algo["inplace"], algo["outofplace"]} == {"0", "1"}
    assert algo["proto"] == "Simple" and algo["coll"] in _FUNCTIONS
    assert sorted(int(gpu["id"]) for gpu, _ in gpus) == list(range(numbers["ngpus"]))
    for gpu, blocks in gpus:
        assert 1 + len(gpus) + len(blocks) + sum(len(steps) for _, steps in blocks) < MOST_NODES
        assert max(len(gpus), len(blocks)) <= MOST_CHILDREN
        _check_gpu(gpu, blocks, numbers)


def _check_gpu(gpu: _Attributes, blocks: list[_Block], numbers: dict[str, int]) -> None:
    rooms = {buffer: int(gpu[f"{buffer}_chunks"]) for buffer in "ios"}
    peers: Counter[tuple[str, str]] = Counter()
    assert [int(block["id"]) for block, _ in blocks] == list(range(len(blocks))) and len(blocks) <= MOST_BLOCKS
    for block, steps in blocks:
        assert gpu["id"] not in (block["send"], block["recv"])
        assert 0 <= int(block["chan"]) < min(CHANNELS, numbers["nchannels"])
        for end in ("send", "recv"):
            assert -1 <= int(block[end]) < numbers["ngpus"]
            peers[end, block["chan"]] += block[end] != "-1"
        waits = 0  # of nops, for the next step
        for at, step in enumerate(steps):
            assert int(step["s"]) == at < MOST_STEPS and step["type"] in _KINDS and step["hasdep"] in "01"
            assert -1 <= int(step["depid"]) < 128  # kept as int8_t
            waits += int(step["depid"]) >= 0
            if step["type"] != "nop":
                assert 0 < int(step["cnt"]) < MOST_COUNT
                assert block["send"] != "-1" or step["type"] not in _SENDS
                assert block["recv"] != "-1" or step["type"] not in _RECEIVES
                assert not waits or int(step["depid"]) >= 0
                waits = 0
            for end in ("src", "dst"):
                assert (
                    -1 <= int(step[f"{end}off"]) < max(rooms[step[f"{end}buf"]], 1) and int(step[f"{end}off"]) < 1 << 15
                )
    assert all(number <= MOST_PEERS for number in peers.values())


def _tree(text: str) -> tuple[_Attributes, list[tuple[_Attributes, list[_Block]]]]:
    """Return the attributes of the algorithm, and its GPUs with their thread blocks and steps."""
    algo: _Attributes = {}
    gpus: list[tuple[_Attributes, list[_Block]]] = []
    open_tags: list[str] = []
    place = 0
    while place < len(text):
        found = _TAG.match(text, place)
        assert found is not None, text[place : place + 80]
        place = found.end()
        ends, tag, said, is_single = found.groups()
        if ends:
            assert open_tags.pop() == tag
            continue
        attributes = dict(re.findall(r' (\w+)="([^"]*)"', said))
        assert len(attributes) <= MOST_ATTRIBUTES and all(len(value) <= MOST_LETTERS for value in attributes.values())
        if tag == "step":
            gpus[-1][1][-1][1].append(attributes)
        elif tag == "tb":
            gpus[-1][1].append((attributes, []))
        elif tag == "gpu":
            gpus.append((attributes, []))
        else:
            algo = attributes
        if not is_single:
            open_tags.append(tag)
    assert open_tags == []
    return algo, gpus
