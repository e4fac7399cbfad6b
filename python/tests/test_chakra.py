"""Chakra's execution traces: the bytes, training jobs as traces of MPI, and schedules for ASTRA-sim."""

from __future__ import annotations

import gzip
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
from hocket.traces import chakra, chakra_schema
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
    node = Node(1, "s", SEND, (0,), 7, {"comm_size": 100})
    attribute = b"\x0a\x09comm_size\x48\x64"  # name = 1, int64_val = 9
    body = b"\x08\x01\x12\x01s\x18\x05\x2a\x01\x00\x38\x07\x52" + bytes([len(attribute)]) + attribute
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


def test_control_edges_from_missing_nodes_are_dropped_with_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PyTorch's traces have them. An edge of data to a missing node stays an error."""
    path = _put(tmp_path, *map(_training, range(2)))
    whole = traces.load(path)
    for rank in range(2):
        node = chakra_schema.classes()["Node"](id=9, type=COMPUTE, ctrl_deps=[5, 70, 71]).SerializeToString()
        with (tmp_path / f"job.{rank}.et").open("ab") as file:
            file.write(bytes([len(node)]) + node)
    with pytest.warns(UserWarning, match=r"job\.[01]\.et: dropped 2 control edges from nodes that the trace does not"):
        assert traces.load(path).ranks == whole.ranks
    assert run(["replay", str(path), "--machine", "cluster"]) == 0
    assert "hocket: note: " in capsys.readouterr().err
    broken = _put(tmp_path, [Node(0, "", COMPUTE, (7,), 1)])
    with pytest.raises(hocket.Error, match="node 0: waits for node 7, expected an existing node"):
        traces.load(broken)


def test_compressed_traces_are_read(tmp_path: Path) -> None:
    path = _put(tmp_path, _training(0))
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert _calls(traces.load(path))[1] == "Iallreduce"


MESSAGE = {"comm_dst": 1, "comm_size": 8}


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (Node(0, "", COMPUTE, (1,)), "job.0.et, node 0: waits in a cycle of nodes"),
        (Node(0, "", COMPUTE, (9,)), "job.0.et, node 0: waits for node 9, expected an existing node"),
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
    chakra_schema.classes.cache_clear()
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
