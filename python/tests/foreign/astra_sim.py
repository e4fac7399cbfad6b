"""Chakra's traces, as the feeders of Chakra and ASTRA-sim read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hocket.traces.chakra import classes

_COMPUTE, _SEND, _RECEIVE = 4, 5, 6
_MOST_INT = (1 << 31) - 1
_FIELDS = {
    "is_cpu_op": "bool_val",
    "comm_size": "int64_val",
    "comm_src": "int32_val",
    "comm_dst": "int32_val",
    "comm_tag": "int32_val",
}
"""The first feeder takes a value from this field alone, as 0 if it is in another; the third one converts integers."""
_NEEDED = {
    _COMPUTE: {"is_cpu_op"},
    _SEND: {"is_cpu_op", "comm_dst", "comm_size", "comm_tag"},
    _RECEIVE: {"is_cpu_op", "comm_src", "comm_size", "comm_tag"},
}


def read_by_astra_sim(files: Sequence[bytes]) -> None:
    """Read the traces of all ranks, a graph of messages and computing each, as ASTRA-sim does.

    Messages match by their ends, tag and size. A message of no bytes fails an assertion of the analytical networks.

    Source: `src/feeder/et_feeder.cpp`, `et_feeder_node.cpp` and `schema/protobuf/et_def.proto` in mlcommons/chakra;
    `issue_comm`, `issue_send_comm` and `issue_recv_comm` in `astra-sim/workload/Workload.cc`, and
    `astra-sim/network_frontend/analytical/common/CallbackTracker.cc` in astra-sim/astra-sim.
    """
    sent: list[tuple[int, int, int, int]] = []
    received: list[tuple[int, int, int, int]] = []
    for rank, content in enumerate(files):
        metadata, *nodes = _messages(content)
        assert metadata.version == "0.0.4"
        waiting: dict[int, set[int]] = {}
        for node in nodes:
            assert node.id not in waiting
            waiting[node.id] = set(node.data_deps)
            values = {attribute.name: attribute for attribute in node.attr}
            assert len(values) == len(node.attr) and values.keys() >= _NEEDED[node.type]
            for name, attribute in values.items():
                assert attribute.WhichOneof("value") == _FIELDS[name], attribute
            assert not values["is_cpu_op"].bool_val
            if node.type == _COMPUTE:
                continue
            size, tag = values["comm_size"].int64_val, values["comm_tag"].int32_val
            assert size > 0 and 0 <= tag <= _MOST_INT
            peer = values["comm_dst" if node.type == _SEND else "comm_src"].int32_val
            assert 0 <= peer < len(files)
            if node.type == _SEND:
                sent.append((rank, peer, tag, size))
            else:
                received.append((peer, rank, tag, size))
        _assert_all_run(waiting)
    assert sorted(sent) == sorted(received)


def _messages(content: bytes) -> Iterator[Any]:
    """Give the messages of a file, each behind its length: GlobalMetadata, then nodes."""
    kind, place = "GlobalMetadata", 0
    while place < len(content):
        size = shift = 0
        while True:
            byte = content[place]
            place += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        assert place + size <= len(content)
        yield classes()[kind].FromString(content[place : place + size])
        kind, place = "Node", place + size


def _assert_all_run(waiting: dict[int, set[int]]) -> None:
    ended: set[int] = set()
    while ready := {node for node, earlier in waiting.items() if node not in ended and earlier <= ended}:
        ended |= ready
    assert len(ended) == len(waiting)
