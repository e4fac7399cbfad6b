"""Dependencies that Chakra execution traces probably lack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket
from hocket import traces
from hocket.traces.chakra import COLLECTIVE, COMPUTE, SEND, Node, encode
from tests.conftest import Ran

CPU, KERNEL = {"is_cpu_op": True}, {"is_cpu_op": False, "stream": 7}
ALL_REDUCE = {"comm_type": 0, "comm_size": 1 << 20, "is_cpu_op": False, "stream": 20}

LOST = [
    Node(1, "forward", COMPUTE, (), 50, CPU),
    Node(2, "aten::mm", COMPUTE, (1,), 5, CPU),
    Node(3, "sgemm", COMPUTE, (2,), 500, KERNEL),
    Node(4, "record_param_comms", COMPUTE, (1,), 3, CPU),
    Node(5, "ncclDevKernel_AllReduce", COLLECTIVE, (4,), 0, ALL_REDUCE),
    Node(6, "sgemm", COMPUTE, (2,), 500, KERNEL),
    Node(7, "ncclDevKernel_AllReduce", COLLECTIVE, (), 0, ALL_REDUCE),
]
"""A converted trace of PyTorch: launches lead to kernels, and nothing else does."""


def lint(folder: Path, nodes: Sequence[Node]) -> traces.Lint:
    (folder / "job.0.et").write_bytes(encode(nodes))
    return traces.lint(folder / "job.0.et")


def test_what_is_probably_missing_is_found_with_its_node(tmp_path: Path) -> None:
    found = lint(tmp_path, LOST)
    assert (found.ranks, found.nodes) == (1, 7)
    # forward (50 us) and record_param_comms (3 us) come before node 5.
    assert [(gap.node, gap.start_us, gap.after, gap.missing) for gap in found.gaps] == [
        (3, 55, (2,), None),
        (5, 53, (4,), 3),
        (7, 0, (), 6),
    ]
    assert found.gaps[2].message.endswith(
        "job.0.et, node 7 ('ncclDevKernel_AllReduce'): waits for no node, so it can start at 0 us; "
        "probably missing: a wait for node 6 ('sgemm'), the last computing before it"
    )


def test_edges_between_kernels_close_the_gaps(tmp_path: Path) -> None:
    edges = {5: (4, 3), 6: (2, 3), 7: (6,)}
    assert lint(tmp_path, [replace(node, after=edges.get(node.id, node.after)) for node in LOST]).gaps == ()


def test_communication_that_may_come_first_is_no_gap(tmp_path: Path) -> None:
    first = Node(0, "ncclDevKernel_Broadcast", COLLECTIVE, (), 0, {**ALL_REDUCE, "comm_type": 5})
    work = Node(1, "backward", COMPUTE, (0,), 100)
    chained = Node(2, "ncclDevKernel_AllReduce", COLLECTIVE, (0,), 0, ALL_REDUCE)
    send = {"comm_dst": 0, "comm_size": 8}
    plain = Node(3, "send", SEND, (), 0, send)  # a schedule, whose input is there from the beginning
    assert lint(tmp_path, [first, work, chained, plain]).gaps == ()
    (gap,) = lint(tmp_path, [first, work, replace(plain, name="ncclDevKernel_SendRecv")]).gaps
    assert gap.node == 3


def test_the_last_computing_of_its_own_stream_is_named(tmp_path: Path) -> None:
    kernels = [Node(number, f"k{number}", COMPUTE, (), 10, {"stream": number % 2}) for number in (1, 2, 3, 4)]
    (gap,) = lint(tmp_path, [*kernels, Node(5, "nccl", COLLECTIVE, (), 0, {**ALL_REDUCE, "stream": 1})]).gaps
    assert gap.missing == 3


@given(st.data())
def test_a_wait_for_what_is_missing_closes_every_gap(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, 12))
    nodes = [
        Node(
            number,
            "n",
            data.draw(st.sampled_from([COMPUTE, COLLECTIVE])),
            tuple(data.draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else ()),
            data.draw(st.integers(0, 3)),
            data.draw(st.sampled_from([{}, CPU, KERNEL])),
        )
        for number in range(count)
    ]
    folder = tmp_path_factory.mktemp("graph")
    missing = {gap.node: gap.missing for gap in lint(folder, nodes).gaps if gap.missing is not None}
    closed = [replace(node, after=(*node.after, missing[node.id])) if node.id in missing else node for node in nodes]
    assert not [gap for gap in lint(folder, closed).gaps if gap.missing is not None]


def test_the_command(tmp_path: Path, hocket_command: Callable[..., Ran], bad_input: Callable[..., str]) -> None:
    lint(tmp_path, LOST)
    path = tmp_path / "job.0.et"
    ran = hocket_command(f"verify trace {path}")
    assert ran.status == 1
    assert ran.out.startswith(f"trace {path}: SUSPECT, 1 rank, 7 nodes, 3 probable gaps\n")
    found = hocket_command(f"verify trace {path} --json").json
    assert [gap["node"] for gap in found["gaps"]] == [3, 5, 7] and found["ok"] is False
    lint(tmp_path, LOST[:1])
    assert hocket_command(f"verify trace {path}").out == f"trace {path}: ok, 1 rank, 1 node, 0 probable gaps\n"
    other = tmp_path / "other.0.et"
    other.write_text("hello\n")
    assert "other.0.et: expected a Chakra execution trace, PREFIX.0.et" in bad_input(f"verify trace {other}")
    assert "got 0 files, expected trace FILE" in bad_input("verify trace")
    assert "a trace is a file, expected no option but --json" in bad_input(f"verify trace {path} --all")


def test_a_graph_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hocket.Error, match="node 2: waits in a cycle of nodes"):
        lint(tmp_path, [Node(2, "x", COMPUTE, (2,), 1)])
