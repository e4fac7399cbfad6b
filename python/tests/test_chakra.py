"""Chakra's execution traces: the bytes, training jobs as traces of MPI, and schedules for ASTRA-sim."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket import traces
from hocket.cli.run import run
from hocket.schedules import formats as schedule_formats
from hocket.traces import chakra
from hocket.traces.chakra import COLLECTIVE, COMPUTE, METADATA, RECEIVE, SEND, Node
from hocket.traces.lines import Budget

ALL_REDUCE, SCATTER, REDUCE_SCATTER = {"comm_type": 0}, {"comm_type": 4}, {"comm_type": 7}


def _put(folder: Path, *ranks: Sequence[Node]) -> Path:
    """Write the trace of each rank; return the file of rank 0."""
    for rank, nodes in enumerate(ranks):
        (folder / f"job.{rank}.et").write_bytes(chakra.encode(nodes))
    return folder / "job.0.et"


def _training(rank: int) -> list[Node]:
    """Two layers: gradients of the last layer are summed while gradients of the first layer are computed."""
    return [
        Node(0, "forward", COMPUTE, (), 100),
        Node(1, "backward 2", COMPUTE, (0,), 1000),
        Node(2, "gradients 2", COLLECTIVE, (1,), 0, {**ALL_REDUCE, "comm_size": 1 << 20}),
        Node(3, "backward 1", COMPUTE, (1,), 1000),
        Node(4, "gradients 1", COLLECTIVE, (3,), 0, {**ALL_REDUCE, "comm_size": 1 << 20}),
        Node(5, "optimizer", COMPUTE, (2, 4), 50),
    ]


def _calls(trace: traces.Trace, rank: int = 0) -> list[str]:
    return [call.function.removeprefix("MPI_") for call in trace.ranks[rank].calls]


def test_bytes_are_those_of_the_schema(tmp_path: Path) -> None:
    """A key of protobuf is 8 times the field number, plus 0 for a number or 2 for data with a length."""
    node = Node(1, "s", SEND, (1,), 7, {"comm_size": 100})
    attribute = b"\x0a\x09comm_size\x48\x64"  # name = 1, int64_val = 9
    body = b"\x08\x01\x12\x01s\x18\x05\x2a\x01\x01\x38\x07\x52" + bytes([len(attribute)]) + attribute
    assert chakra.encode([node]) == b"\x07\x0a\x050.0.4" + bytes([len(body)]) + body
    other = b"\x0a\x09comm_size\x68\x64"  # uint64_val = 13, as some converters write it
    path = tmp_path / "a.0.et"
    path.write_bytes(chakra.encode([node]).replace(attribute, other))
    assert chakra.nodes_of(str(path), Budget()) == [replace(node, line=2)]


def test_a_training_job_is_replayed_with_other_algorithms_and_overlap(tmp_path: Path) -> None:
    path = _put(tmp_path, *map(_training, range(4)))
    trace = traces.load(path)
    assert _calls(trace) == ["Init", "Iallreduce", "Iallreduce", "Waitall", "Finalize"]
    assert [call.start_s for call in trace.ranks[0].calls] == [0.0, 1.1e-3, 2.1e-3, 2.1e-3, 2.15e-3]
    ring, tree = (hocket.replay(path, "cluster", rules=f"iallreduce: {name}") for name in ("ring", "reduce_broadcast"))
    assert [use.algorithm for use in ring.algorithms] == ["ring"]
    one = hocket.simulate("allreduce/ring", hocket.Call(ranks=4, size_bytes=1 << 20), machine="cluster").time_s.mean
    assert one < 1e-3  # the first allreduce overlaps with computing
    assert ring.time_s.mean == pytest.approx(2.15e-3 + one, rel=1e-3)
    assert tree.time_s.mean > ring.time_s.mean


def test_messages_collectives_and_groups_become_calls(tmp_path: Path) -> None:
    kinds = {1: "Ireduce", 2: "Iallgather", 5: "Ibcast", 6: "Ialltoall", 7: "Ireduce_scatter_block", 9: "Ibarrier"}

    def nodes(rank: int) -> list[Node]:
        message = {"comm_size": 100, "comm_tag": 3}
        every = [Node(10 + kind, "", COLLECTIVE, (), 0, {"comm_type": kind, "comm_size": 64}) for kind in kinds]
        return [
            Node(0, "", SEND, (), 0, {"comm_dst": (rank + 1) % 4, **message}),
            Node(1, "", RECEIVE, (), 0, {"comm_src": (rank - 1) % 4, **message}),
            Node(2, "", COMPUTE, (1,), 10),
            *every,
            Node(30, "", COLLECTIVE, (), 0, {**REDUCE_SCATTER, "comm_size": 64, "pg_name": str(1 + rank % 2)}),
        ]

    trace = traces.load(_put(tmp_path, *map(nodes, range(4))))
    names = ["Init", "Isend", "Irecv", "Waitall", *kinds.values(), "Ireduce_scatter_block", "Waitall", "Finalize"]
    assert _calls(trace) == names
    calls = trace.ranks[1].calls
    assert calls[3]["got"] == [[0, 3, 100]]
    assert {call.function: call.arguments.get("count") for call in calls[5:9]} == {
        "MPI_Iallgather": 64,  # comm_size is the contribution of a rank
        "MPI_Ibcast": 64,
        "MPI_Ialltoall": 16,
        "MPI_Ireduce_scatter_block": 16,
    }
    assert trace.ranks[1].communicators[calls[10]["comm"]].ranks == (1, 3)  # the ranks whose traces name the group
    assert calls[10]["count"] == 32
    traces.write(tmp_path / "own", trace)
    assert traces.read(tmp_path / "own").ranks == trace.ranks
    assert hocket.replay(tmp_path / "job.0.et", "cluster").messages > 4


def test_metadata_tells_the_ranks_of_groups(tmp_path: Path) -> None:
    def nodes(told: str) -> list[Node]:
        used = Node(1, "", COLLECTIVE, (), 0, {**ALL_REDUCE, "comm_size": 8, "pg_name": "7"})
        return [Node(0, "groups", METADATA, values=f"['{told}']"), used]

    told = '[{"pg_name": "7", "ranks": [1, 0]}, {"pg_name": "8", "ranks": []}]'
    trace = traces.load(_put(tmp_path, nodes(told), nodes(told)))
    assert trace.ranks[0].communicators[2].ranks == (1, 0)
    other = told.replace("[1, 0]", "[0, 1]")
    with pytest.raises(
        hocket.Error, match=r"job\.1\.et, node 0: group '7': got \[0, 1\], expected different ranks below 2"
    ):
        traces.load(_put(tmp_path, nodes(told), nodes(other)))


def test_edges_from_missing_nodes_are_dropped_with_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PyTorch's traces have them: the converter removes nodes, and lacks parents of nodes and synchronisations."""
    path = _put(tmp_path, *map(_training, range(2)))
    whole = traces.load(path)
    for rank in range(2):
        node = chakra.classes()["Node"](id=9, type=COMPUTE, ctrl_deps=[5, 70, 71], data_deps=[72]).SerializeToString()
        with (tmp_path / f"job.{rank}.et").open("ab") as file:
            file.write(bytes([len(node)]) + node)
    with pytest.warns(UserWarning, match=r"job\.[01]\.et: dropped 2 control edges and 1 data edge from nodes that"):
        assert traces.load(path).ranks == whole.ranks
    assert run(["replay", str(path), "--machine", "cluster"]) == 0
    assert "hocket: note: " in capsys.readouterr().err


def _jsonizer(*messages: Mapping[str, Any]) -> str:
    """As Chakra's jsonizer writes messages: one object after the other, without a line between them."""
    return "".join(json.dumps(message, indent=2) for message in messages)


def _attribute(name: str, kind: str, value: object) -> dict[str, Any]:
    return {"name": name, kind: value}


ON_CPU, ON_GPU = _attribute("is_cpu_op", "boolVal", True), _attribute("is_cpu_op", "int32Val", 0)
GROUPS = [
    {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "ranks": []},
    {"pg_name": "17", "pg_desc": "tp", "backend_config": "cuda:nccl", "ranks": [0, 1, 2, 3]},
    {"pg_name": "18", "pg_desc": "tp", "backend_config": "cuda:nccl", "ranks": [4, 5, 6, 7]},
]


def _pytorch(rank: int) -> list[dict[str, Any]]:
    """What PyTorch's converter makes of a step on 8 GPUs, as the jsonizer shows it.

    The kinds of nodes, attributes and edges are those of ASTRA-sim's page on communicator groups (an allgather of
    26843545600 B in group 17, here a thousandth) and of its issue 338 (a parent that the trace lacks).
    """
    collective = {"type": "COMM_COLL_NODE", "durationMicros": "900"}
    tensor_parallel = _attribute("pg_name", "stringVal", "17" if rank < 4 else "18")
    sizes = [_attribute("comm_size", "int64Val", size) for size in ("268435456", "26843545")]
    types = [_attribute("comm_type", "int64Val", kind) for kind in ("0", "2")]
    return [
        {"attr": [_attribute("schema", "stringVal", "1.1.0-chakra.0.0.4"), _attribute("pid", "uint64Val", "17")]},
        {"name": "[pytorch|profiler|execution_trace|process]", "type": "COMP_NODE", "attr": [ON_CPU]},
        {
            "id": "2",
            "name": "## process_group:init ##",
            "type": "COMP_NODE",
            "ctrlDeps": ["1"],
            "inputs": {"values": str([json.dumps(GROUPS)])},
            "attr": [ON_CPU],
        },
        {"id": "3", "name": "aten::mm", "type": "COMP_NODE", "durationMicros": "20", "attr": [ON_CPU]},
        {"id": "4", "name": "sgemm", "type": "COMP_NODE", "dataDeps": ["3"], "durationMicros": "500", "attr": [ON_GPU]},
        {"id": "5", "name": "record_param_comms", "type": "COMP_NODE", "durationMicros": "400", "attr": [ON_CPU]},
        {"id": "6", "dataDeps": ["5"], **collective, "attr": [ON_GPU, sizes[0], types[0], tensor_parallel]},
        {"id": "7", "dataDeps": ["6"], **collective, "attr": [ON_GPU, sizes[1], types[1]]},
    ]


def _put_pytorch(folder: Path, ending: str) -> Path:
    for rank in range(8):
        (folder / f"job.{rank}.json").write_text(_jsonizer(*_pytorch(rank)))
        if ending == "et":
            nodes = chakra.nodes_of(str(folder / f"job.{rank}.json"), Budget())
            (folder / f"job.{rank}.et").write_bytes(chakra.encode(nodes))
    return folder / f"job.0.{ending}"


@pytest.mark.filterwarnings("ignore:.*dropped 1 control edge")
@pytest.mark.parametrize("ending", ["json", "et"])
def test_traces_of_pytorch_are_read_in_both_forms(tmp_path: Path, ending: str) -> None:
    trace = traces.load(_put_pytorch(tmp_path, ending))
    assert trace.program == "job"
    assert _calls(trace, 5) == ["Init", "Iallreduce", "Waitall", "Iallgather", "Waitall", "Finalize"]
    allreduce, allgather = trace.ranks[5].calls[1], trace.ranks[5].calls[3]
    assert trace.ranks[5].communicators[allreduce["comm"]].ranks == (4, 5, 6, 7)
    assert trace.ranks[5].communicators[allgather["comm"]].ranks == tuple(range(8))
    assert (allreduce["count"], allgather["recv_count"]) == (268435456, 26843545)
    assert allreduce.start_s == pytest.approx(
        520e-6
    )  # 20 us of the host, then the kernel; 400 us of the host beside it


@pytest.mark.filterwarnings("ignore:.*dropped 1 control edge")
@pytest.mark.parametrize(("machine", "algorithm"), [("hgx-h100", "nvls"), ("gpu-cluster", "nvls")])
def test_traces_of_pytorch_run_with_the_choices_of_nccl(tmp_path: Path, machine: str, algorithm: str) -> None:
    path = _put_pytorch(tmp_path, "json")
    nccl = hocket.replay(path, machine, rules="nccl-2")
    assert {(use.collective, use.algorithm): use.calls for use in nccl.algorithms} == {
        ("allreduce", algorithm): 2,
        ("allgather", "multi_ring"): 1,
    }
    other = hocket.replay(path, machine, rules={"first": "iallreduce: multi_ring, channels=2", "then": "nccl-2"})
    assert {use.algorithm for use in other.algorithms} == {"multi_ring"}
    with pytest.raises(hocket.Error, match=r"cluster\.toml: section \[gpu\] is missing, by which nccl-2 decides"):
        hocket.replay(path, "cluster", rules="nccl-2")


def test_nccl_replays_take_what_single_calls_take(tmp_path: Path) -> None:
    """An allreduce of 1 GiB after 100 us of computing, on 8 GPUs: NCCL runs it by the switch."""
    gradients = Node(1, "", COLLECTIVE, (0,), 0, {"comm_type": "ALL_REDUCE", "comm_size": 1 << 30})
    path = _put(tmp_path, *[[Node(0, "", COMPUTE, (), 100), gradients]] * 8)
    call = hocket.Call(ranks=8, size_bytes=1 << 30)
    alone_s = hocket.simulate("allreduce/nvls", call, machine="hgx-h100").time_s.mean
    assert hocket.replay(path, "hgx-h100", rules="nccl-2").time_s.mean == pytest.approx(100e-6 + alone_s, rel=0.02)


def test_workload_graphs_are_read(tmp_path: Path) -> None:
    """The fields of Chakra's JSON feeder."""
    for rank in range(2):
        nodes = [
            {"Id": 1, "Name": "compute", "NodeType": 4, "is_cpu_op": False, "runtime": 7, "data_deps": []},
            {"Id": 2, "NodeType": 7, "is_cpu_op": False, "data_deps": [1], "comm_type": 0, "comm_size": 64},
            {"Id": 3, "NodeType": 5, "data_deps": [2], "comm_size": 8, "comm_dst": 1 - rank, "comm_tag": 4},
            {"Id": 4, "NodeType": 6, "data_deps": [2], "comm_size": 8, "comm_src": 1 - rank, "comm_tag": 4},
        ]
        (tmp_path / f"g.{rank}.json").write_text(json.dumps({"workload_graph": nodes}))
    trace = traces.load(tmp_path / "g.0.json")
    assert _calls(trace) == ["Init", "Iallreduce", "Waitall", "Isend", "Irecv", "Waitall", "Finalize"]
    assert (trace.ranks[0].calls[1].start_s, trace.ranks[0].calls[3]["tag"]) == (7e-6, 4)


def test_groups_of_two_tell_the_peer_that_pytorch_leaves_out(tmp_path: Path) -> None:
    stage = {"comm_size": 8, "pg_name": "3"}
    send, receive = Node(0, "ncclDevKernel_SendRecv", SEND, (), 0, stage), Node(0, "", RECEIVE, (), 0, stage)
    trace = traces.load(_put(tmp_path, [], [send], [], [receive]))
    assert [trace.ranks[rank].calls[1]["peer"] for rank in (1, 3)] == [3, 1]
    third = Node(0, "", COLLECTIVE, (), 0, {**ALL_REDUCE, "comm_size": 8, "pg_name": "3"})
    with pytest.raises(hocket.Error, match=r"comm_dst: got nothing, expected the other rank .* in a group of 3 ranks"):
        traces.load(_put(tmp_path, [third], [send], [], [receive]))


def test_alltoalls_of_experts_have_blocks_of_different_sizes(tmp_path: Path) -> None:
    """Rank 0 sends 5 and 5 bytes, rank 1 sends 4 and 3; a second alltoall has equal blocks."""
    sizes = [(10, 8), (7, 8)]
    trace = traces.load(
        _put(
            tmp_path,
            *(
                [
                    Node(number, "", COLLECTIVE, (), 0, {"comm_type": 6, "comm_size": size})
                    for number, size in enumerate(own)
                ]
                for own in sizes
            ),
        )
    )
    assert _calls(trace) == ["Init", "Ialltoallv", "Ialltoall", "Waitall", "Finalize"]
    calls = [rank.calls[1] for rank in trace.ranks]
    assert [(call["counts"], call["recv_counts"]) for call in calls] == [([5, 5], [5, 4]), ([4, 3], [5, 3])]
    assert hocket.replay(tmp_path / "job.0.et", "gpu-cluster", rules="nccl-2").messages > 0


def test_metadata_can_give_group_0_other_ranks_than_all(tmp_path: Path) -> None:
    told = Node(0, "groups", METADATA, values=str([json.dumps([{"pg_name": "0", "ranks": [0, 1]}])]))
    used = Node(1, "", COLLECTIVE, (), 0, {**ALL_REDUCE, "comm_size": 8, "pg_name": "0"})
    trace = traces.load(_put(tmp_path, [told, used], [told, used], [told]))
    assert trace.ranks[1].communicators[trace.ranks[1].calls[1]["comm"]].ranks == (0, 1)


def test_computing_of_host_and_kernels_overlaps_until_they_meet(tmp_path: Path) -> None:
    host, kernel = {"is_cpu_op": True}, {"is_cpu_op": False}
    nodes = [
        Node(0, "launch", COMPUTE, (), 10, host),
        Node(1, "kernel", COMPUTE, (0,), 100, kernel),
        Node(2, "launch", COMPUTE, (0,), 30, host),
        Node(3, "kernel", COMPUTE, (2,), 50, kernel),
        Node(4, "synchronise", COMPUTE, (3,), 5, host),
        Node(5, "kernel", COMPUTE, (4,), 20, kernel),
    ]
    ends_us = []
    for last in range(1, 7):
        trace = traces.load(_put(tmp_path, nodes[:last]))
        ends_us.append(round(trace.ranks[0].calls[-1].start_s * 1e6))
    assert ends_us == [10, 110, 110, 160, 165, 185]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": "COMP_NODE"}{"id": "x", "type": "COMP_NODE"}', "object 2: id: got 'x', expected a whole number"),
        ('{"type": "COMP_NODE"}{"type": "GEMM"}', "object 2: type: got 'GEMM', expected a type such as COMP_NODE"),
        ('{"type": "COMP_NODE"}{"id": "1"', "object 2: cannot be decoded, expected a JSON object"),
        ('{"type": "COMP_NODE"} 7', "object 2: got 7, expected a JSON object"),
        ('{"type": "COMP_NODE"}{"dataDeps": 1}', "object 2: dataDeps: got 1, expected a list"),
        ('{"workload_graph": [{"NodeType": 4}]}', "object 1: Id: missing, expected the number of the node"),
        ('{"type": "COMP_NODE", "name": "\udcff"}', "object 1: cannot be decoded, expected JSON in UTF-8"),
    ],
)
def test_malformed_json_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "job.0.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(hocket.Error) as refusal:
        traces.load(tmp_path / "job.0.json")
    assert message in str(refusal.value) and "\n" not in str(refusal.value)


def test_compressed_traces_are_read(tmp_path: Path) -> None:
    path = _put(tmp_path, _training(0))
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert _calls(traces.load(path))[1] == "Iallreduce"


MESSAGE = {"comm_dst": 1, "comm_size": 8}


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (Node(0, "", COMPUTE, (1,)), "job.0.et, node 0: waits in a cycle of nodes"),
        (Node(1, "", COMPUTE), "job.0.et, node 1: got this id twice"),
        (Node(0, "", SEND, (), 0, {**MESSAGE, "comm_dst": 2}), "comm_dst: got 2, expected a whole number from 0 to 1"),
        (
            Node(0, "", SEND, (), 0, {"comm_size": 8}),
            "job.0.et, node 0: comm_dst: got nothing, expected a whole number",
        ),
        (Node(0, "", SEND, (), 0, {**MESSAGE, "comm_src": 1}), "comm_src: got 1, expected the rank of this trace, 0"),
        (
            Node(0, "", RECEIVE, (), 0, {"comm_src": 1, "comm_size": 8}),
            "a receive from rank 1 with tag 0, but the trace has no matching send",
        ),
        (
            Node(0, "", COLLECTIVE, (), 0, {**SCATTER, "comm_size": 8}),
            "comm_type: got 4, GATHER or SCATTER, whose root",
        ),
        (Node(0, "", COLLECTIVE, (), 0, {**ALL_REDUCE, "comm_size": 8}), "expected the same call on rank 1"),
        (
            Node(0, "", COLLECTIVE, (), 0, {**REDUCE_SCATTER, "comm_size": 9}),
            "comm_size: got 9, expected a multiple of",
        ),
        (
            Node(0, "", COLLECTIVE, (), 0, {**ALL_REDUCE, "comm_size": 8, "involved_dim": [True, False]}),
            "involved_dim: got a part of the dimensions, expected a group of ranks as pg_name",
        ),
        (Node(0, "", COMPUTE, (), 1 << 63), "node 0: got computing until 9223372036854775808 us"),
    ],
)
def test_what_makes_no_sense_is_one_line(tmp_path: Path, node: Node, message: str) -> None:
    path = _put(tmp_path, [node, Node(1, "", COMPUTE, (0,) if node.id == 0 else ())], [Node(0, "", COMPUTE)])
    with pytest.raises(hocket.Error) as refusal:
        traces.load(path)
    assert message in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x07\x0a\x050.0.4\x09\x08", "job.0.et, message 2: ends too early, expected 9 bytes"),
        (b"\x07\x0a\x050.0.4\x02\xff\xff", "job.0.et, message 2: cannot be decoded, expected a Chakra Node"),
        (b"\x07\x0a\x050.0.4\xff\xff\xff\xff\x0f", "message 2: got 4294967295 bytes, expected messages of at most"),
    ],
)
def test_malformed_bytes_are_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "job.0.et").write_bytes(content)
    for reader in (traces.load, schedule_formats.load):
        with pytest.raises(hocket.Error) as refusal:
            reader(tmp_path / "job.0.et")
        assert message in str(refusal.value)


def test_text_is_no_chakra() -> None:
    assert chakra.begins(chakra.encode([]))
    for first in (
        b"",
        b"\n\nnum_ranks 2\n",
        b" \n\tnum_ranks",
        b"b\n",
        b"{",
        b"0 init\n",
        (4223).to_bytes(8, "little"),
    ):
        assert not chakra.begins(first)


def test_without_protobuf_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _put(tmp_path, _training(0))
    chakra.classes.cache_clear()
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(hocket.Error, match=r"^Chakra's traces need protobuf: pip install 'hocket\[chakra\]'$"):
        traces.load(path)


def test_a_schedule_is_written_as_astra_sim_runs_it(tmp_path: Path) -> None:
    machine = hocket.Machine.load("cluster")
    schedule = hocket.record("allreduce/ring", hocket.Call(ranks=4, size_bytes=4 << 20))
    names = schedule_formats.save(schedule, tmp_path / "ring.et", machine=machine)
    assert [Path(name).name for name in names] == [f"ring.{rank}.et" for rank in range(4)]
    nodes = chakra.nodes_of(names[1], Budget())
    told = {"is_cpu_op": False, "comm_size": 1 << 20, "comm_tag": 0}
    kinds: Mapping[int, dict[str, Any]] = {SEND: {**told, "comm_dst": 2}, RECEIVE: {**told, "comm_src": 0}}
    assert [node.kind for node in nodes].count(SEND) == 6
    for node in nodes:
        assert node.attributes == kinds.get(node.kind, {"is_cpu_op": False})
    assert [node.duration_us for node in nodes if node.kind == COMPUTE and node.after] == [round((1 << 20) / 10e3)] * 3
    read = schedule_formats.load(names[0])
    assert hocket.verify_schedule(read).ok
    for kind, found in (
        ("a schedule", hocket.simulate(read)),
        ("a trace", hocket.replay(names[0], "cluster")),
    ):
        assert found.time_s.mean == pytest.approx(hocket.simulate(schedule).time_s.mean, rel=0.02), kind


def test_files_of_more_ranks_are_not_left_beside(tmp_path: Path) -> None:
    schedule = hocket.record("allreduce/ring", hocket.Call(ranks=2, size_bytes=8))
    (tmp_path / "ring.2.et").write_bytes(b"")
    with pytest.raises(hocket.Error, match=r"ring\.2\.et: belongs to another trace, as the schedule has 2 ranks"):
        schedule_formats.save(schedule, tmp_path / "ring", format="chakra")
    assert [path.name for path in tmp_path.iterdir()] == ["ring.2.et"]


def test_what_a_schedule_cannot_be_is_refused(tmp_path: Path) -> None:
    path = _put(tmp_path, _training(0))
    with pytest.raises(
        hocket.Error, match=r"job\.0\.et, node 2: got a collective, expected only messages; `hocket replay`"
    ):
        schedule_formats.load(path)
    path.rename(tmp_path / "job.et")
    with pytest.raises(hocket.Error, match=r"job\.et: got a Chakra trace, expected the trace of rank 0, PREFIX\.0\.et"):
        schedule_formats.load(tmp_path / "job.et")
    data = {"format": 1, "element_bytes": 1, "scratch": [8, 8], "ranks": [[], []]}
    span = {"buffer": "scratch", "offset": 0, "len": 8}
    data["ranks"] = [
        [{"action": {"recv": {"from": None, "tag": 0, "into": span}}}],
        [{"action": {"send": {"to": 0, "tag": 0, "data": span}}}],
    ]
    with pytest.raises(hocket.Error, match=r"^any cannot be written in chakra: got a receive from any rank"):
        schedule_formats.save(hocket.Schedule.of("any", data), tmp_path / "any.et")
