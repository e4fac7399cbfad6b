"""Traces of other tools: read as the tools read them, or refused in one line."""

import gzip
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import hocket
from hocket.traces import (
    ANY,
    FUNCTIONS,
    RankTrace,
    Trace,
    load,
    read,
    read_allprof,
    read_simgrid,
    write,
    write_allprof,
    write_simgrid,
)
from hocket.traces.lines import Budget, lines_of
from tests.foreign.schedgen import read_by_schedgen
from tests.foreign.simgrid import read_by_simgrid
from tests.trace_programs import Program, traces

ANY_TMP_PATH = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
ROOT = Path(__file__).parents[2]


def actions_of(folder: Path) -> dict[str, list[str]]:
    """Return all actions; successive computing is merged."""
    found: dict[str, list[str]] = {}
    for path in folder.iterdir():
        lines: list[str] = []
        for line in path.read_text().splitlines():
            if " compute " in line and lines and " compute " in lines[-1]:
                before, flops = lines.pop().rsplit(" ", 1)
                line = f"{before} {int(flops) + int(line.rsplit(' ', 1)[1])}"
            lines.append(line)
        found[path.name] = lines
    return found


def clear(folder: Path) -> None:
    for old in folder.glob("*/*"):
        old.unlink()


def got_of(rank: RankTrace) -> list[list[int]]:
    """The results of all receives of a rank."""
    found = [call.arguments.get("got") or [] for call in rank.calls]
    return [one for got in found for one in (got if got and not isinstance(got[0], int) else [got]) if one]


def put(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def told(trace: Trace, rank: int) -> list[tuple[str, Mapping[str, Any]]]:
    return [(call.function.removeprefix("MPI_"), call.arguments) for call in trace.ranks[rank].calls]


def agrees(trace: Trace, tmp_path: Path) -> None:
    """Check that Hocket's own reader, which checks everything, accepts a trace of another reader."""
    write(tmp_path / "own.hktrace", trace)
    assert read(tmp_path / "own.hktrace").ranks == trace.ranks


# SimGrid


@ANY_TMP_PATH
@given(traces(parts=False, most_elements=2**28 - 1))
def test_what_is_written_for_simgrid_is_read_again(tmp_path: Path, trace: Trace) -> None:
    clear(tmp_path)
    once = read_simgrid(write_simgrid(tmp_path / "once", trace, flops_per_s=1e9))
    read_by_simgrid([(tmp_path / "once" / f"rank-{rank}.txt").read_text() for rank in range(len(trace.ranks))])
    agrees(once, tmp_path)
    for before, after in zip(trace.ranks, once.ranks, strict=True):
        calls = [call for call in before.calls if "tries" not in call.arguments]
        assert [call.function.replace("Waitall", "Wait") for call in calls] == [call.function for call in after.calls]
        # In the order of waits, except for messages to the same rank, whose two requests look alike.
        assert sorted(got_of(before)) == sorted(got_of(after))
        for mine, yours in zip(calls, after.calls, strict=True):
            if FUNCTIONS[mine.function].kind.name in ("SEND", "COLLECTIVE") and "counts" not in mine.arguments:
                assert mine.size_bytes() == yours.size_bytes()
    write_simgrid(tmp_path / "twice", once, flops_per_s=1e9)
    assert actions_of(tmp_path / "twice") == actions_of(tmp_path / "once")


ACTIONS = """\
# a comment

0 init
1 init
0 compute 2e9
0 send 1 7 10 0
1 recv 0 7 20 0
1 irecv -333 -444 8
0 isend 1 3 8 6
0 compute 5e8
0 waitall 1
1 test -555 1 -444
1 compute 1e9
1 wait -333 1 -444
0 sendRecv 3 1 4 1 1 4
1 sendRecv 4 0 3 0 4 1
0 irecv 1 4 -1
1 send 0 4 1e3
0 test 1 0 4
0 reduce 4 1e9 1 5
1 reduce 4 0 1 5
0 allgatherv 1 1 2 2 4
1 allgatherv 2 1 2 2 4
0 gatherv 1 1 2 1 1 1
1 gatherv 2 1 2 1 1 1
0 scatterv 1 2 1
1 scatterv 0 0 2
0 alltoallv 9 1 2 9 1 2 1 1
1 alltoallv 9 2 2 9 2 2 1 1
0 reducescatter 1 2 0 0
1 reducescatter 1 2 0 0
0 location main.c 12
1 sleep 0.25
0 finalize
1 irecv 0 9 1
1 finalize
"""
"""As SimGrid 3.32 writes and replays them, but for the last irecv, which nothing completes."""


def test_actions_of_simgrid_are_read(tmp_path: Path) -> None:
    put(tmp_path, {"all.txt": ACTIONS.replace("1 irecv 0 9 1\n", "")})
    trace = read_simgrid(tmp_path / "all.txt")
    agrees(trace, tmp_path)
    double, integer = {"type": "MPI_DOUBLE", "type_bytes": 8}, {"type": "MPI_INT", "type_bytes": 4}
    byte, long = {"type": "MPI_BYTE", "type_bytes": 1}, {"type": "MPI_LONG", "type_bytes": 8}
    first, second = told(trace, 0), told(trace, 1)
    assert first[:4] == [
        ("Init", {}),
        ("Send", {"comm": 0, "peer": 1, "tag": 7, "count": 10, **double}),
        ("Isend", {"comm": 0, "peer": 1, "tag": 3, "count": 8, **byte, "request": 0}),
        ("Waitall", {"requests": [0], "got": [None]}),
    ]
    assert second[1:5] == [
        ("Recv", {"comm": 0, "peer": 0, "tag": 7, "count": 20, **double, "got": [0, 7, 80]}),
        ("Irecv", {"comm": 0, "peer": ANY, "tag": ANY, "count": 8, **byte, "request": 0}),
        ("Test", {"tries": 1}),
        ("Wait", {"requests": [0], "got": [[0, 3, 8]]}),
    ]
    sent = {"comm": 0, "peer": 1, "tag": 0, "count": 3, **integer}
    room = {"recv_peer": 1, "recv_tag": 0, "recv_count": 4, "recv_type": "MPI_LONG", "recv_type_bytes": 8}
    assert first[4:7] == [
        ("Sendrecv", {**sent, **room, "got": [1, 0, 32]}),
        ("Irecv", {"comm": 0, "peer": 1, "tag": 4, "count": 1000, **byte, "request": 1}),
        ("Test", {"requests": [1], "got": [[1, 4, 1000]]}),
    ]
    assert first[7] == (
        "Reduce",
        {
            "comm": 0,
            "root": 1,
            "op": "MPI_OP_NULL",
            "commutative": True,
            "count": 4,
            "type": "MPI_FLOAT",
            "type_bytes": 4,
        },
    )
    received = {"recv_counts": [1, 2], "recv_type": "MPI_INT", "recv_type_bytes": 4}
    assert first[8] == (
        "Allgatherv",
        {
            "comm": 0,
            "count": 1,
            "type": "MPI_CHAR",
            "type_bytes": 1,
            **{"recv_counts": [1, 2], "recv_type": "MPI_LONG", "recv_type_bytes": 8},
        },
    )
    assert first[9] == ("Gatherv", {"comm": 0, "root": 1, "count": 1, **integer})
    assert second[9] == ("Gatherv", {"comm": 0, "root": 1, "count": 2, **integer, **received})
    assert first[10][1]["counts"] == [1, 2] and second[10][1] == {
        "comm": 0,
        "root": 0,
        "recv_count": 2,
        "recv_type": "MPI_BYTE",
        "recv_type_bytes": 1,
    }
    assert first[11][1] == {"comm": 0, "counts": [1, 2], **integer, **received}
    assert first[12][0] == "Reduce_scatter" and long["type_bytes"] == 8
    assert [call.start_s for call in trace.ranks[0].calls[:5]] == [0, 2, 2, 2.5, 2.5]
    assert trace.ranks[0].end_s == 3.5 and trace.ranks[1].end_s == 1.25
    assert read_simgrid(tmp_path / "all.txt", flops_per_s=2e9).ranks[0].end_s == 1.75


def test_an_index_lists_a_file_for_each_rank_or_one_for_all(tmp_path: Path) -> None:
    actions = ACTIONS.replace("1 irecv 0 9 1\n", "")
    split = {
        f"{rank}.txt": "".join(f"{line}\n" for line in actions.splitlines() if line.startswith(rank)) for rank in "01"
    }
    put(
        tmp_path,
        {"all.txt": actions, **split, "one": "all.txt\n", "two": "0.txt\n\n1.txt\n", "same": "all.txt\nall.txt\n"},
    )
    (tmp_path / "packed.gz").write_bytes(gzip.compress(actions.encode()))
    expected = read_simgrid(tmp_path / "all.txt").ranks
    for name in ("one", "two", "same", "packed.gz"):
        assert load(tmp_path / name).ranks == expected, name


def test_simgrid_waits_at_the_end_for_what_is_open(tmp_path: Path) -> None:
    put(tmp_path, {"a": "0 init\n0 irecv 0 9 1\n0 isend 0 9 1\n0 finalize\n"})
    assert told(read_simgrid(tmp_path / "a"), 0)[-2:] == [
        ("Waitall", {"requests": [0, 1], "got": [[0, 9, 1], None]}),
        ("Finalize", {}),
    ]


@pytest.mark.parametrize("tag", ["1", "-444"])
def test_a_receive_from_any_rank_gets_what_nobody_asks_for_by_name(tmp_path: Path, tag: str) -> None:
    sends = "0 send 2 1 5\n1 send 2 1 6\n"
    receives = f"2 recv -555 {tag} 9\n2 recv 0 {tag} 9\n"
    ends = "".join(f"{rank} finalize\n" for rank in range(3))
    put(tmp_path, {"a": f"0 init\n1 init\n2 init\n{sends}{receives}{ends}"})
    assert [arguments["got"] for name, arguments in told(read_simgrid(tmp_path / "a"), 2) if name == "Recv"] == [
        [1, 1, 6],
        [0, 1, 5],
    ]


def test_a_test_has_completed_a_request_whose_name_another_one_has(tmp_path: Path) -> None:
    receive = "0 irecv 0 1 9\n"
    put(
        tmp_path,
        {"a": f"0 init\n0 send 0 1 5\n0 send 0 1 6\n{receive}0 test 0 0 1\n{receive}0 wait 0 0 1\n0 finalize\n"},
    )
    calls = told(read_simgrid(tmp_path / "a"), 0)
    assert calls[4] == ("Test", {"requests": [0], "got": [[0, 1, 5]]})
    assert calls[6] == ("Wait", {"requests": [1], "got": [[0, 1, 6]]})


def test_displacements_of_an_allgatherv_are_left_out(tmp_path: Path) -> None:
    for told_of, expected in (("0 4 8", "MPI_BYTE"), ("1 0 4 8", "MPI_INT"), ("1", "MPI_INT"), ("1 4", "MPI_INT")):
        actions = (f"{rank} init\n{rank} allgatherv 4 4 4 4 {told_of}\n{rank} finalize\n" for rank in range(3))
        put(tmp_path, {"a": "".join(actions)})
        (name, arguments), recv_type = (
            told(read_simgrid(tmp_path / "a"), 2)[1],
            {"1 4": "MPI_LONG", "0 4 8": "MPI_BYTE"},
        )
        assert (name, arguments["type"]) == ("Allgatherv", expected) and arguments["recv_counts"] == [4, 4, 4]
        assert arguments["recv_type"] == recv_type.get(told_of, expected)


def test_init_with_an_argument_makes_doubles_the_default(tmp_path: Path) -> None:
    put(tmp_path, {"a": "0 init 1\n0 bcast 5\n0 finalize\n"})
    assert told(read_simgrid(tmp_path / "a"), 0)[1] == (
        "Bcast",
        {"comm": 0, "root": 0, "count": 5, "type": "MPI_DOUBLE", "type_bytes": 8},
    )


TWO = "0 init\n1 init\n{}\n0 finalize\n1 finalize\n"
BAD_ACTIONS = [
    ("", "the file ends, expected actions of ranks"),
    ("# nothing\n", "the file ends, expected actions of ranks"),
    ("no.txt\n", "got 'no.txt' as file 1, expected an existing file"),
    ("0 init\n", "rank 0, line 1: the file ends, expected finalize"),
    ("0 finalize\n", "rank 0, line 1: got finalize, expected init exactly once"),
    ("0 init\n2 init\n", "has actions of rank 2, but none of rank 1, expected actions of all ranks"),
    ("0 init\n99999999 init\n", "line 2: got '99999999 init', expected a rank below"),
    (TWO.format("0 Isend 1 2 3"), "rank 0, line 3: got '0 Isend 1 2 3', expected an action that SimGrid replays"),
    (TWO.format("0 finalize"), "rank 0, line 4: got finalize, expected nothing after finalize"),
    (TWO.format("0 init"), "rank 0, line 3: got init, expected init exactly once, as the first action"),
    (TWO.format("0 send 1 2"), "line 3: send: got 2 values, expected rank tag size type?"),
    (TWO.format("0 send 1 2 3 4 5"), "line 3: send: got 5 values, expected rank tag size type?"),
    (TWO.format("0 send 2 2 3"), "line 3: rank: got '2', expected a rank below 2"),
    (TWO.format("0 send -555 2 3"), "line 3: rank: got '-555', expected a rank below 2"),
    (TWO.format("0 recv 2 2 3"), "line 3: source: got '2', expected a rank below 2, or -555"),
    (TWO.format("0 send 1 -1 3"), "line 3: tag: got '-1', expected a tag"),
    (TWO.format("0 send 1 1 1.5"), "line 3: size: got '1.5', expected a whole number"),
    (TWO.format("0 send 1 1 1e30"), "line 3: size: got '1e30', expected a whole number"),
    (TWO.format("0 send 1 1 nan"), "line 3: size: got 'nan', expected a whole number"),
    (
        TWO.format("0 send 1 1 9223372036854775807 0"),
        "line 3: got 9223372036854775807 elements of 8 bytes, expected at",
    ),
    (TWO.format("0 send 1 1 1 60"), "line 3: type: got '60', expected the number of a type that SimGrid has, 0 to 59"),
    (TWO.format("0 send 1 1 1 -1"), "line 3: type: got '-1', expected the number of a type"),
    (TWO.format("0 compute -1"), "line 3: flops: got '-1', expected a number, at least 0"),
    (TWO.format("0 sleep 1e308\n0 sleep 1e308"), "the computing time exceeds the range of numbers"),
    (TWO.format("0 wait 1 0 3"), "line 3: wait: got 1 0 3, expected an isend or irecv before it"),
    (
        TWO.format("0 alltoallv 1 1 2 1 1"),
        "line 3: alltoallv: got 5 values, expected buffer sizes*2 buffer recv_sizes*2",
    ),
    (TWO.format("0 recv 1 2 3"), "line 3: a receive from rank 1 with tag 2, but the trace has no matching send"),
    (
        TWO.format("0 send 1 2 8\n1 recv 0 2 4"),
        "line 4: a receive of at most 4 bytes, expected at least 8, which rank 0 sent",
    ),
    (TWO.format("0 barrier"), "rank 0, line 3: MPI_Barrier, expected the same call on rank 1"),
    (
        "0 init\n1 init\n2 init\n0 send 2 1 1\n1 send 2 1 1\n2 recv -555 1 1\n2 recv -555 1 1\n"
        "0 finalize\n1 finalize\n2 finalize\n",
        "rank 2, line 6: a receive from any rank, whose message could come from 0 or 1, expected a single",
    ),
]


@pytest.mark.parametrize(("text", "expected"), BAD_ACTIONS, ids=range(len(BAD_ACTIONS)))
def test_bad_actions_are_refused_in_one_line(tmp_path: Path, text: str, expected: str) -> None:
    put(tmp_path, {"a": text})
    with pytest.raises(hocket.Error) as refused:
        read_simgrid(tmp_path / "a")
    message = str(refused.value)
    assert expected in message and message.startswith(str(tmp_path)) and "\n" not in message, message


def test_a_file_of_another_rank_is_refused(tmp_path: Path) -> None:
    put(tmp_path, {"a": "b\nc\n", "b": "0 init\n0 finalize\n", "c": "0 init\n"})
    with pytest.raises(hocket.Error, match="c, line 1: an action of rank 0, expected rank 1"):
        read_simgrid(tmp_path / "a")
    with pytest.raises(hocket.Error, match="flops_per_s: got 0, expected a number above 0"):
        read_simgrid(tmp_path / "a", flops_per_s=0)


# liballprof


@ANY_TMP_PATH
@given(traces(parts=False, wildcards=False))
def test_what_is_written_as_logs_is_read_again(tmp_path: Path, trace: Trace) -> None:
    clear(tmp_path)
    again = read_allprof(write_allprof(tmp_path / "logs", trace))
    read_by_schedgen([file.read_text() for file in (tmp_path / "logs").iterdir()])
    agrees(again, tmp_path)
    for before, after in zip(trace.ranks, again.ranks, strict=True):
        assert after.host == before.host and after.clock_offset_s == pytest.approx(before.clock_offset_s, abs=1e-12)
        calls = [call for call in before.calls if not {"tries", "counts"} & call.arguments.keys()]
        assert [call.function.replace("Waitall", "Wait") for call in calls] == [call.function for call in after.calls]
        for mine, yours in zip(calls, after.calls, strict=True):
            assert mine.arguments == yours.arguments
            assert (yours.start_s, yours.end_s) == pytest.approx((mine.start_s, mine.end_s), abs=5.1e-7)


HEAD = """\
# htor's PMPI Tracer 0.9 Output File
# time: Tue Mar  3 12:00:00 2026
# hostname: node{rank}.cluster
# uname: Linux node{rank} 6.1.0 #1 SMP x86_64
# clockdiff: {clockdiff} s (relative to rank 0)

MPI_Init:-:140735000539132:140735000539120:{began}
"""
LOG = """\
MPI_Comm_rank:1001:{world}:64:1002
MPI_Isend:1010:64:1:1,4,4:{peer}:0:{world}:128:1020
MPI_Irecv:1030:64:1:1,4,4:{any}:-1:{world}:136:1040
MPI_Testall:1041:2:128:8:0:1042
MPI_Waitall:1050:2:128:0:1060
MPI_Allreduce:1070:1:8:1:10,8,8:3:{world}:1080
MPI_Sendrecv:1081:8:1:1,4,4:{peer}:5:8:2:1,4,4:{any}:5:{world}:0:1082
MPI_Alltoallv:1083:8:16:1,2:16:0,1:1,4,4:8:16:{rank1},{rank1}:16:0,1:1,4,4:{world}:1084
MPI_Recv_init:1085:64:1:21,1,1:{peer}:9:{world}:144:1086
MPI_Start:1087:144:1087
MPI_Send:1088:64:1:21,1,1:{peer}:9:{world}:1089
MPI_Wait:1090:144:0:1091
MPI_Wait:1091:10000:0:1091
MPI_Irecv:1091:64:1:13,1,1:{nobody}:3:{world}:128:1091
MPI_Test:1092:128:0:0:1092
MPI_Test:1092:128:0:0:1093
MPI_Gather:1094:{gathers}:1:1,4,4:8:1:1,4,4:1:{world}:1095
MPI_Bcast:1095:8:1:99,12,16:0:7,0,1:1095
MPI_Scatterv:1095:8:16:3:16:0:1,4,4:{scatters}:3:1,4,4:0:7,0,1:1096
MPI_Reduce:1096:8:8:1:1,4,4:140735000539132:0:{world}:1096
# Finalize clockdiff: {clockdiff}
MPI_Finalize:1100:-
"""
"""In the manner of liballprof: gencode.py says how it tells each type of argument."""


def logs(ranks: int = 2, **changed: Any) -> dict[str, str]:
    files = {}
    for rank in range(ranks):
        values = {
            "rank": rank,
            "rank1": rank + 1,
            "peer": 1 - rank,
            "world": f"6575616,{rank},2",
            "any": -1,
            "nobody": -2,
            "clockdiff": "-94.890594" if rank else "0.000000",
            "began": 1000 + 50 * rank,
            "gathers": 1 if rank else 8,
            "scatters": (1 << 64) - 1,
            **changed,
        }
        shifted = "".join(shift(line, 50 * rank) for line in LOG.format(**values).splitlines(keepends=True))
        files[f"pmpi-trace-rank-{rank}.txt"] = HEAD.format(**values) + shifted
    return files


def shift(line: str, by_us: int) -> str:
    """Shift the times of a call to another clock."""
    if not line.startswith("MPI"):
        return line
    name, start, *rest, end = line.rstrip("\n").split(":")
    return ":".join([name, str(int(start) + by_us), *rest, end if end == "-" else str(int(end) + by_us)]) + "\n"


def test_logs_of_liballprof_are_read(tmp_path: Path) -> None:
    put(tmp_path, logs())
    trace = load(tmp_path / "pmpi-trace-rank-0.txt")
    agrees(trace, tmp_path)
    integer = {"count": 1, "type": "MPI_INT", "type_bytes": 4}
    received = {f"recv_{key}": value for key, value in integer.items()}
    character = {"count": 1, "type": "MPI_CHARACTER", "type_bytes": 1}
    assert told(trace, 1) == [
        ("Init", {}),
        ("Isend", {"comm": 0, "peer": 0, "tag": 0, **integer, "request": 0}),
        ("Irecv", {"comm": 0, "peer": ANY, "tag": ANY, **integer, "request": 1}),
        ("Testall", {"tries": 1}),
        ("Waitall", {"requests": [0, 1], "got": [None, [0, 0, 4]]}),
        (
            "Allreduce",
            {
                "comm": 0,
                "op": "MPI_SUM",
                "commutative": True,
                "in_place": True,
                **integer,
                **{"type": "MPI_DOUBLE", "type_bytes": 8},
            },
        ),
        (
            "Sendrecv",
            {
                "comm": 0,
                "peer": 0,
                "tag": 5,
                **integer,
                "recv_peer": ANY,
                "recv_tag": 5,
                **received,
                **{"recv_count": 2},
                "got": [0, 5, 4],
            },
        ),
        (
            "Alltoallv",
            {
                "comm": 0,
                "counts": [1, 2],
                "type": "MPI_INT",
                "type_bytes": 4,
                "recv_counts": [2, 2],
                **{"recv_type": "MPI_INT", "recv_type_bytes": 4},
            },
        ),
        ("Recv_init", {"comm": 0, "peer": 0, "tag": 9, **character, "request": 2}),
        ("Start", {"requests": [2]}),
        ("Send", {"comm": 0, "peer": 0, "tag": 9, **character}),
        ("Wait", {"requests": [2], "got": [[0, 9, 1]]}),
        ("Wait", {"requests": [], "got": []}),
        ("Irecv", {"comm": 0, "peer": -2, "tag": 3, "count": 1, "type": "MPI_BYTE", "type_bytes": 1, "request": 3}),
        ("Test", {"tries": 1}),
        ("Test", {"requests": [3], "got": [None]}),
        ("Gather", {"comm": 0, "root": 1, "in_place": True, **received}),
        ("Bcast", {"comm": 1, "root": 0, "count": 1, "type": "derived", "type_bytes": 12}),
        ("Scatterv", {"comm": 1, "root": 0, "in_place": True, "counts": [3], "type": "MPI_INT", "type_bytes": 4}),
        ("Reduce", {"comm": 0, "root": 0, "op": "user", "commutative": False, **integer}),
        ("Finalize", {}),
    ]
    second = trace.ranks[1]
    assert second.host == "node1.cluster" and (trace.mpi, trace.date) == ("PMPI Tracer 0.9", "Tue Mar  3 12:00:00 2026")
    assert (second.calls[1].start_s, second.calls[1].end_s, second.end_s) == (1e-5, 2e-5, 1e-4)
    assert second.clock_offset_s == pytest.approx((50e-6 - 94.890594e-6,) * 2, abs=1e-15)


def test_mpich_has_other_numbers_and_smaller_requests(tmp_path: Path) -> None:
    files = logs(any=-2, nobody=-1)
    put(
        tmp_path,
        {name: text.replace("6575616,", "1140850688,").replace(":136:", ":132:") for name, text in files.items()},
    )
    assert told(load(tmp_path / "pmpi-trace-rank-0.txt"), 0)[4] == (
        "Waitall",
        {"requests": [0, 1], "got": [None, [1, 0, 4]]},
    )


def test_numbers_of_logs_may_be_as_wide_as_the_largest(tmp_path: Path) -> None:
    put(tmp_path, {name.replace("-0.", "-00.").replace("-1.", "-01."): text for name, text in logs().items()})
    assert len(load(tmp_path / "pmpi-trace-rank-00.txt").ranks) == 2


FIRST = "pmpi-trace-rank-0.txt"
BAD_LOGS: list[tuple[str, str, str]] = [
    (
        "MPI_Init:",
        "MPI_Initialized:",
        "rank 0, line 9: got MPI_Isend, expected MPI_Init exactly once, as the first call",
    ),
    ("MPI_Finalize:1100:-\n", "", "rank 0, line 27: the file ends, expected MPI_Finalize"),
    ("MPI_Start:", "MPI_Init:", "got MPI_Init, expected MPI_Init exactly once, as the first call"),
    ("MPI_Start:", "stray", "line 17: got 'stray1087:144:1087', expected a comment or an MPI call"),
    (":64:1:1,4,4:1:0:", ":64:-1:1,4,4:1:0:", "line 9: count: got '-1', expected a whole number from 0 to"),
    (":64:1:1,4,4:1:0:", ":64:1:1,4:1:0:", "line 9: type: got 2 numbers, expected 3"),
    (":64:1:1,4,4:1:0:", ":64:1:1,4,4:2:0:", "line 9: peer: got '2', expected a whole number from -2 to 1"),
    (":64:1:1,4,4:1:0:", ":1:1,4,4:1:0:", "line 9: MPI_Isend: got 8 values, expected start, buffer, count, type, peer"),
    ("1010:", "999:", "line 9: MPI_Isend: got times 999 and 1020, expected times after the previous call"),
    ("1010:", "soon:", "line 9: MPI_Isend: expected two times, in microseconds"),
    ("6575616,0,2:128", "6575616,0,4:128", "line 9: comm: got rank 0 of 4, expected MPI_COMM_SELF, or rank 0 of 2"),
    (":5:8:2:1,4,4", ":5:8:0:1,4,4", "line 14: a receive of at most 0 bytes, expected at least 4, which rank 1 sent"),
    ("MPI_Waitall:1050:2:128:0", "MPI_Waitany:1050:2:128:0:0", "got 2 open requests, expected one"),
    ("MPI_Waitall:1050:2", "MPI_Waitall:1050:-2", "line 12: requests: got '-2', expected a whole number from 0"),
    ("MPI_Alltoallv", "MPI_Alltoallw", "line 15: MPI_Alltoallw: liballprof does not record its arguments"),
    (
        "MPI_Start:1087:144",
        "MPI_Start:1087:136",
        "line 17: MPI_Start: got an unknown request, expected requests of earlier calls",
    ),
    (
        "clockdiff: 0.000000",
        "clockdiff: soon",
        "line 5: clockdiff: got 'soon s (relative to rank 0)', expected a number",
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), BAD_LOGS, ids=range(len(BAD_LOGS)))
def test_bad_logs_are_refused_in_one_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    files = logs()
    assert old in files[FIRST]
    put(tmp_path, {**files, FIRST: files[FIRST].replace(old, new, 1)})
    with pytest.raises(hocket.Error) as refused:
        read_allprof(tmp_path / FIRST)
    message = str(refused.value)
    assert expected in message and message.startswith(str(tmp_path)) and "\n" not in message, message


def test_a_missing_log_is_told(tmp_path: Path) -> None:
    files = logs()
    put(tmp_path, {FIRST: files[FIRST], "pmpi-trace-rank-2.txt": files["pmpi-trace-rank-1.txt"]})
    with pytest.raises(
        hocket.Error, match=r"pmpi-trace-rank-1.txt: no such log, expected a log of rank 1, as rank 2 has one"
    ):
        read_allprof(tmp_path / FIRST)
    with pytest.raises(hocket.Error, match=r"expected the log of rank 0, with a name such as pmpi-trace-rank-0.txt"):
        read_allprof(tmp_path / "pmpi-trace-rank-2.txt")
    with pytest.raises(hocket.Error, match="No such file"):
        read_allprof(tmp_path / "nowhere" / FIRST)
    put(tmp_path / "alone", {FIRST: files[FIRST]})
    with pytest.raises(hocket.Error, match="line 9: comm: got rank 0 of 2, expected MPI_COMM_SELF, or rank 0 of 1"):
        read_allprof(tmp_path / "alone" / FIRST)


# any of them


def test_load_knows_formats_by_what_a_file_begins_with(tmp_path: Path) -> None:
    program = Program(2)
    program.send(0, 1, 5, 10, False, 1000)
    trace = program.trace()
    write(tmp_path / "a", trace)
    assert load(tmp_path / "a") == trace
    assert load(write_simgrid(tmp_path / "simgrid", trace)).calls == trace.calls
    assert load(write_allprof(tmp_path / "allprof", trace)).calls == trace.calls
    (tmp_path / "binary").write_bytes(b"\0\xff\0")
    with pytest.raises(hocket.Error, match=r"binary: begins with .*, expected a trace of .* liballprof or Chakra"):
        load(tmp_path / "binary")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(hocket.Error, match="empty, line 1: the file ends, expected a header"):
        load(tmp_path / "empty")
    with pytest.raises(hocket.Error, match="No such file"):
        load(tmp_path / "nowhere")


def test_what_is_read_is_bounded(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb"
    bomb.write_bytes(gzip.compress(b"0" * (1 << 25)))
    with pytest.raises(hocket.Error, match=r"bomb, line 1: too long, expected at most 16777216 bytes"):
        load(bomb)
    (tmp_path / "deep").write_text("[" * 1_000_000)
    with pytest.raises(hocket.Error, match="deep"):
        read(tmp_path / "deep")


@pytest.mark.parametrize("line", [b"\n", b"1" * 127 + b"\n", b"1" * 255 + b"\n"])
def test_the_lines_of_all_files_of_a_trace_are_bounded_together(line: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(gzip.compress(line * 10))
    counted = max(len(line), 128)
    budget = Budget(20 * counted + 2 * 128)  # the end of a file counts as a line, too
    for _ in range(2):
        with lines_of(str(file), budget) as lines:
            assert len(list(lines)) == 10
    limit = f"at most {budget.most_bytes} decompressed bytes, where each line counts as 128 bytes or more"
    with lines_of(str(file), budget) as lines, pytest.raises(hocket.Error, match=f"file, line 1: too long, .*{limit}"):
        lines.next()


def test_lines_that_say_nothing_are_bounded(tmp_path: Path) -> None:
    file, nothing = tmp_path / "file", b"\n \n#\n"
    file.write_bytes(gzip.compress(nothing * 1000 + b"0 init\n0 finalize\n"))
    assert len(load(file).ranks) == 1
    file.write_bytes(gzip.compress(nothing * (1 << 19) + b"0 init\n0 finalize\n"))
    with pytest.raises(hocket.Error, match="line 1: got"):
        load(file)


def test_readers_are_fuzzed_for_a_moment(tmp_path: Path) -> None:
    tool = ROOT / "tools" / "fuzz.py"
    command = [sys.executable, tool, "traces", "--minutes", "0.01", "--save", tmp_path / "fuzzed"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.count("nothing found") == 4
