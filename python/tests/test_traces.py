"""Traces: written and read again, exported, and refused if malformed."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hocket
from hocket.traces import Trace, read, write, write_allprof, write_simgrid
from tests.foreign.simgrid import read_by_simgrid
from tests.trace_programs import Program, traces

ANY_TMP_PATH = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def small() -> Trace:
    """Two ranks: a message, a collective, communicators, looks."""
    program = Program(2)
    program.send(0, 1, 5, 10, False, 1000)
    program.send(1, 0, 6, 4, True, 10)
    program.call(0, "MPI_Iprobe", tries=3)
    program.collective(0, "MPI_Bcast", 10)
    program.split(False)
    program.collective(1, "MPI_Barrier", 10)
    return program.trace()


@ANY_TMP_PATH
@given(traces())
def test_what_is_written_is_read_again(tmp_path: Path, trace: Trace) -> None:
    path = tmp_path / "a.hktrace"
    write(path, trace)
    assert read(path) == trace
    first = path.read_bytes()
    write(path, read(path))
    assert path.read_bytes() == first


def test_a_trace_may_be_plain_text(tmp_path: Path) -> None:
    write(tmp_path / "a.hktrace", small())
    (tmp_path / "plain").write_bytes(gzip.decompress((tmp_path / "a.hktrace").read_bytes()))
    assert read(tmp_path / "plain") == small()


def lines_of(trace: Trace, tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "good.hktrace"
    write(path, trace)
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


Edit = Callable[[list[dict[str, Any]]], object]


def of(lines: list[dict[str, Any]], function: str, which: int = 0) -> dict[str, Any]:
    return [line for line in lines if line.get("call") == function][which]


def swap(lines: list[dict[str, Any]], first: int, second: int) -> None:
    lines[first], lines[second] = lines[second], lines[first]


BAD: list[tuple[str, Edit, str]] = [
    ("no header", lambda lines: lines.pop(0), 'line 1: got {"rank": 0, '),
    ("other version", lambda lines: lines[0].update(version=2), "line 1: got version 2, expected 1"),
    ("no ranks", lambda lines: lines[0].update(ranks=0), "line 1: ranks: got 0, expected a whole number from 1 to"),
    (
        "true is no number",
        lambda lines: lines[0].update(ranks=True),
        "line 1: ranks: got true, expected a whole number",
    ),
    ("missing rank", lambda lines: lines[0].update(ranks=3), "rank 2, line 20: the file ends, expected rank 2 of 3"),
    ("one rank too many", lambda lines: lines.append({}), "line 20: expected the end of the file after 2 ranks"),
    ("cut off", lambda lines: lines.pop(), "rank 1, line 19: the file ends, expected call 7 of 7"),
    ("other rank", lambda lines: lines[1].update(rank=1), 'rank 0, line 2: got {"rank": 1, '),
    ("no host", lambda lines: lines[1].pop("host"), "rank 0, line 2: host: got null, expected a text"),
    ("one offset", lambda lines: lines[1].update(clock_offset_s=[0]), "clock_offset_s: got [0], expected two times"),
    ("NaN", lambda lines: lines[3].update(end_s=float("nan")), "rank 0, line 4: got times 1e-06 and NaN, expected"),
    ("no such function", lambda lines: lines[3].update(call="MPI_Put"), 'line 4: call: got "MPI_Put", expected an MPI'),
    ("no Init", lambda lines: swap(lines, 2, 3), "line 3: got MPI_Send as call 1 of 9, expected MPI_Init first"),
    ("ends before it starts", lambda lines: lines[3].update(end_s=0), "expected 0 <= start_s <= end_s"),
    ("out of order", lambda lines: swap(lines, 3, 4), "rank 0, line 5: start_s: got "),
    ("no peer", lambda lines: lines[3].pop("peer"), "rank 0, line 4: MPI_Send: peer is missing"),
    ("unknown value", lambda lines: lines[3].update(size=8), 'rank 0, line 4: MPI_Send: got "size", expected only'),
    (
        "peer beyond",
        lambda lines: lines[3].update(peer=2),
        "peer: got 2, expected a rank below 2, the size of the communicator",
    ),
    (
        "sent to any",
        lambda lines: lines[3].update(peer=-1),
        "peer: got -1, expected a rank below 2, the size of the communicator",
    ),
    ("text for a number", lambda lines: lines[3].update(count="8"), 'count: got "8", expected a whole number'),
    (
        "beyond 64 bits",
        lambda lines: lines[3].update(count=1 << 63),
        "count: got 9223372036854775808, expected a whole",
    ),
    ("time beyond", lambda lines: lines[3].update(start_s=10**400), "line 4: got times 1000000000"),
    (
        "size beyond 64 bits",
        lambda lines: lines[3].update(count=1 << 62),
        "line 4: got 4611686018427387904 elements for type_bytes, expected at most 9223372036854775807 bytes",
    ),
    ("below zero", lambda lines: lines[3].update(count=-1), "count: got -1, expected a whole number"),
    ("no communicator", lambda lines: lines[3].update(comm=9), "comm: got 9, expected an existing communicator"),
    ("request not next", lambda lines: of(lines, "MPI_Irecv").update(request=4), "request: got 4, expected 0"),
    ("no such request", lambda lines: of(lines, "MPI_Waitall").update(requests=[7]), "requests: got 7, expected"),
    ("got too little", lambda lines: of(lines, "MPI_Waitall").update(got=[]), "got: has 0 entries, expected one per"),
    (
        "got of another shape",
        lambda lines: of(lines, "MPI_Waitall").update(got=[1, 2, 3]),
        "expected a list of [source",
    ),
    ("root beyond", lambda lines: of(lines, "MPI_Bcast").update(root=2), "root: got 2, expected a rank below"),
    (
        "split without me",
        lambda lines: of(lines, "MPI_Comm_split").update(new_ranks=[1]),
        "expected different ranks, 0",
    ),
    ("rank twice", lambda lines: of(lines, "MPI_Comm_split").update(new_ranks=[0, 0]), "expected different ranks"),
    ("rank beyond", lambda lines: of(lines, "MPI_Comm_split").update(new_ranks=[0, 7]), "got rank 7, expected less"),
    ("number in use", lambda lines: of(lines, "MPI_Comm_split").update(new=1), "expected a number that is not in use"),
    (
        "other root",
        lambda lines: of(lines, "MPI_Bcast", 1).update(root=0),
        "rank 1, line 17: got MPI_Bcast with root 0 as collective 1 of its communicator, expected MPI_Bcast with root "
        "1 as on rank 0, line 8",
    ),
    (
        "a message that nobody sent",
        lambda lines: lines[3].update(tag=9),
        "rank 1, line 14: MPI_Recv received a message from rank 0 with tag 5, but the trace has no matching send",
    ),
]


@pytest.mark.parametrize(("edit", "expected"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_a_bad_trace_is_refused_in_one_line(tmp_path: Path, edit: Edit, expected: str) -> None:
    lines = lines_of(small(), tmp_path)
    edit(lines)
    path = tmp_path / "bad.hktrace"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(hocket.Error) as refused:
        read(path)
    message = str(refused.value)
    assert expected in message and message.startswith(str(path)) and "\n" not in message, message


def test_ranks_that_disagree_on_collectives_are_told(tmp_path: Path) -> None:
    lines = lines_of(small(), tmp_path)
    barrier = next(i for i, line in enumerate(lines) if line.get("call") == "MPI_Bcast" and i > 14)
    del lines[barrier]
    next(line for line in lines if line.get("rank") == 1)["calls"] -= 1
    path = tmp_path / "bad.hktrace"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(hocket.Error, match="rank 1, line 17: got MPI_Comm_split as collective 1 of its communicator"):
        read(path)


@ANY_TMP_PATH
@given(trace=traces(), data=st.data())
def test_a_file_cut_off_or_changed_anywhere_is_refused_or_read(
    tmp_path: Path, trace: Trace, data: st.DataObject
) -> None:
    write(tmp_path / "a.hktrace", trace)
    content = bytearray(gzip.decompress((tmp_path / "a.hktrace").read_bytes()))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "b.hktrace"
    path.write_bytes(gzip.compress(bytes(content)) if data.draw(st.booleans()) else bytes(content))
    try:
        read(path)
    except hocket.Error as error:
        assert str(error).startswith(str(path)) and "\n" not in str(error)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "line 1: the file ends, expected a header"),
        (b"\x1f\x8b\x08\x00", "ends too early"),
        (b"\x1f\x8bnot compressed", "not a trace"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(hocket.Error, match=expected):
        read(path)
    with pytest.raises(hocket.Error, match="No such file"):
        read(tmp_path / "nowhere")


def test_simgrid_gets_actions(tmp_path: Path) -> None:
    program = Program(2)
    program.send(0, 1, 5, 10, False, 1000)
    program.send(1, 0, 6, 4, True, 10)
    program.collective(0, "MPI_Bcast", 10)
    program.collective(0, "MPI_Alltoallv", 10)
    index = write_simgrid(tmp_path, program.trace(), flops_per_s=1e9)
    assert index.read_text() == "rank-0.txt\nrank-1.txt\n"
    first, second = ((tmp_path / f"rank-{rank}.txt").read_text().splitlines() for rank in (0, 1))
    assert [line for line in first if "compute" not in line] == [
        "0 init",
        "0 send 1 5 80 6",
        "0 irecv 1 6 32 6",
        "0 wait 1 0 6",
        "0 bcast 24 1 6",
        "0 alltoallv 8 4 4 8 4 4 6 6",
        "0 finalize",
    ]
    assert first[1] == "0 compute 1000"
    assert [line for line in second if "compute" not in line][1:4] == [
        "1 recv 0 5 80 6",
        "1 isend 0 6 32 6",
        "1 wait 1 0 6",
    ]


def actions(folder: Path, program: Program) -> list[list[str]]:
    """The actions for SimGrid of each rank, without computing, the beginning and the end."""
    write_simgrid(folder, program.trace())
    files = [folder / f"rank-{rank}.txt" for rank in range(program.size)]
    return [[line for line in file.read_text().splitlines() if "compute" not in line][1:-1] for file in files]


def test_simgrid_gets_blocks_that_lie_in_the_result(tmp_path: Path) -> None:
    program = Program(2)
    received = {"recv_counts": [2, 3], "recv_type": "MPI_DOUBLE", "recv_type_bytes": 8}
    for rank in range(2):
        program.call(rank, "MPI_Allgatherv", comm=0, in_place=True, **received)
        program.call(rank, "MPI_Alltoallv", comm=0, in_place=True, **received)
    assert actions(tmp_path, program) == [
        ["0 allgatherv 16 16 24 6", "0 alltoallv 40 16 24 40 16 24 6 6"],
        ["1 allgatherv 24 16 24 6", "1 alltoallv 40 16 24 40 16 24 6 6"],
    ]


def test_simgrid_gets_each_start_of_a_persistent_receive(tmp_path: Path) -> None:
    # The first start receives from rank 1, the second one from rank 2; the third one is cancelled.
    program = Program(3)
    data = {"comm": 0, "count": 1, "type": "MPI_DOUBLE", "type_bytes": 8}
    number = program.request(0)
    program.call(0, "MPI_Recv_init", **data, peer=-1, tag=-1, request=number)
    for got in ([1, 5, 8], [2, 6, 8], [-2, -1, 0]):
        program.call(0, "MPI_Start", requests=[number])
        program.call(0, "MPI_Waitall", requests=[number], got=[got])
    program.call(1, "MPI_Send", **data, peer=0, tag=5)
    program.call(2, "MPI_Send", **data, peer=0, tag=6)
    expected = ["0 irecv 1 5 8 6", "0 wait 1 0 5", "0 irecv 2 6 8 6", "0 wait 2 0 6"]
    assert actions(tmp_path, program)[0] == expected


def test_simgrid_gets_what_its_reader_takes(tmp_path: Path) -> None:
    """Receives have a byte at least, and a scatterv has no types."""
    program = Program(5)
    program.send(0, 1, 5, 0, True, 10)
    blocks = {"counts": [100] * 5, "type": "MPI_DOUBLE", "type_bytes": 8, "root": 0}
    received = {"recv_count": 100, "recv_type": "MPI_DOUBLE", "recv_type_bytes": 8}
    for rank in range(5):
        program.call(rank, "MPI_Scatterv", comm=0, **blocks, **received)
    assert actions(tmp_path, program)[1] == [
        "1 irecv 0 5 1 6", "1 wait 0 1 5", "1 scatterv 800 800 800 800 800 800 0",
    ]  # fmt: skip
    read_by_simgrid([(tmp_path / f"rank-{rank}.txt").read_text() for rank in range(5)])


def test_simgrid_has_no_sizes_above_an_int(tmp_path: Path) -> None:
    program = Program(2)
    program.send(0, 1, 5, 1 << 28, False, 10)
    with pytest.raises(hocket.Error, match="MPI_Send: SimGrid's traces cannot express sizes above 2147483647 bytes"):
        write_simgrid(tmp_path, program.trace())


def test_simgrid_refuses_collectives_on_a_part_of_the_ranks(tmp_path: Path) -> None:
    with pytest.raises(hocket.Error, match="rank 0: MPI_Barrier: SimGrid's traces cannot express collectives on some"):
        write_simgrid(tmp_path / "out", small())
    assert not (tmp_path / "out").exists()


def test_schedgen_gets_logs(tmp_path: Path) -> None:
    program = Program(2)
    program.send(0, 1, 5, 10, False, 2000)
    program.send(1, 0, 6, 4, True, 10)
    program.collective(0, "MPI_Allreduce", 3000)
    program.collective(0, "MPI_Bcast", 10)
    shifted = {"comm": 0, "count": 4, "type": "MPI_DOUBLE", "type_bytes": 8, "tag": 7, "recv_tag": 7}
    shifted |= {"recv_count": 4, "recv_type": "MPI_DOUBLE", "recv_type_bytes": 8}
    program.call(0, "MPI_Sendrecv_replace", 10, **shifted, peer=-2, recv_peer=1, got=[1, 7, 32])
    program.call(1, "MPI_Sendrecv_replace", 10, **shifted, peer=0, recv_peer=-2, got=[-2, -1, 0])
    first = write_allprof(tmp_path, program.trace())
    calls = [line for line in first.read_text().splitlines() if line.startswith("MPI")]
    assert calls == [
        "MPI_Init:0:0:0:0",
        "MPI_Send:2:0:10:10,8,8:1:5:0,0,2:2",
        "MPI_Irecv:2:0:4:10,8,8:-1:-1:0,0,2:8:2",
        "MPI_Wait:2:8:0:2",
        "MPI_Allreduce:5:0:0:3:10,8,8:3:0,0,2:5",
        "MPI_Bcast:5:0:3:10,8,8:1:0,0,2:5",
        "MPI_Sendrecv:5:0:4:10,8,8:-2:7:0:4:10,8,8:1:7:0,0,2:0:5",
        "MPI_Finalize:5:5",
    ]


def test_times_are_told_by_the_clock_of_rank_0() -> None:
    rank = small().ranks[1]
    assert rank.on_rank_0_s(0.0) == 0.5
    assert rank.on_rank_0_s(rank.end_s) == pytest.approx(rank.end_s - 1e-7, abs=1e-15)


def test_lines_alike_are_checked_each(tmp_path: Path) -> None:
    program = Program(1)
    for _ in range(2):
        program.call(0, "MPI_Send", comm=0, peer=-2, tag=0, count=1, type="MPI_INT", type_bytes=4)
        number = program.request(0)
        program.call(0, "MPI_Isend", comm=0, peer=-2, tag=0, count=1, type="MPI_INT", type_bytes=4, request=number)
    trace = program.trace()
    good = [json.dumps(line, separators=(",", ":")) + "\n" for line in lines_of(trace, tmp_path)]
    path = tmp_path / "edited.hktrace"
    path.write_text("".join(good))
    assert read(path) == trace
    edits = [
        ('"request":1', '"request":2', "line 7: request: got 2, expected 1"),
        ('"request":1', '"request":1,"size":3', 'line 7: MPI_Isend: got "size", expected only'),
        ("4.1e-08", "9e-08", "line 7: got times"),
        ("4.1e-08", "1e-08", "line 7: start_s: got"),
        ("4.8e-08", "1e999", "line 7: got times"),
        ("4.8e-08", "4.8.e-08", "line 7: got b"),
    ]
    for old, new, expected in edits:
        assert old in good[6], (old, good[6])
        path.write_text("".join([*good[:6], good[6].replace(old, new), *good[7:]]))
        with pytest.raises(hocket.Error, match=expected):
            read(path)
    last = {**json.loads(good[3]), "start_s": 9e-08, "end_s": 9e-08}
    path.write_text("".join([*good[:7], json.dumps(last, separators=(",", ":")) + "\n"]))
    with pytest.raises(hocket.Error, match="line 8: got MPI_Send as call 6 of 6, expected MPI_Finalize last"):
        read(path)


def test_no_line_is_like_one_from_before_its_communicator_was_freed(tmp_path: Path) -> None:
    program = Program(1)
    program.call(0, "MPI_Comm_dup", comm=0, new=2, new_ranks=[0])
    program.call(0, "MPI_Barrier", comm=2)
    program.call(0, "MPI_Comm_free", comm=2)
    program.call(0, "MPI_Barrier", comm=2)
    lines = lines_of(program.trace(), tmp_path)
    path = tmp_path / "freed.hktrace"
    for spaces in ((",", ":"), (", ", ": ")):
        texts = [json.dumps(line, separators=spaces if index == 5 else (",", ":")) for index, line in enumerate(lines)]
        path.write_text("".join(f"{text}\n" for text in texts))
        with pytest.raises(hocket.Error, match="line 7: comm: got 2, expected an existing communicator"):
            read(path)
