"""`hocket mpi trace`: the trace has the calls of a real program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket import traces
from hocket.traces import FUNCTIONS, Kind
from tests.conftest import Ran

from .conftest import Mpi

pytestmark = pytest.mark.usefixtures("as_root")


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_a_trace_tells_what_was_called(
    mpi: Mpi,
    hocket_command: Callable[..., Ran],
    tmp_path: Path,
    ranks: int,
) -> None:
    path = tmp_path / "traced.hktrace"
    command = f"mpi trace --json --mpicc {mpi.installation.mpicc} -n {ranks} -o"
    ran = hocket_command(*command.split(), path, "--allprof", tmp_path / "allprof", "--", mpi.compiled("traced.c"))
    assert ran.status == 0, ran.err
    trace = traces.read(path)
    assert (trace.program, trace.mpi, len(trace.ranks)) == ("traced", mpi.installation.library, ranks)
    assert ran.json["calls"] == trace.calls and ran.json["exit_status"] == 0
    assert ran.json["functions"]["MPI_Alltoall"]["bytes"] == ranks * ranks * 8
    for number, rank in enumerate(trace.ranks):
        left = (number - 1) % ranks
        names = Counter(call.function for call in rank.calls)
        assert names["MPI_Allreduce"] == 2 and names["MPI_Comm_split"] == 2 and names["MPI_Startall"] == 2
        exchange, nobody = (call for call in rank.calls if call.function == "MPI_Sendrecv")
        assert exchange["got"] == [left, 1, 24] and exchange["peer"] == (number + 1) % ranks
        assert exchange.size_bytes() == 24 and exchange.size_bytes("recv_") == 32
        assert nobody["peer"] == nobody["recv_peer"] == traces.NOBODY
        completed = [
            got
            for call in rank.calls
            if FUNCTIONS[call.function].kind is Kind.COMPLETE and "got" in call.arguments
            for got in call["got"]
            if got
        ]
        assert sorted(completed) == sorted(
            [[left, 7, 20], [left, 10, 8], [left, 11, 8], [left, 30, 32], [left, 30, 32]]
        )
        matched = next(call for call in rank.calls if call.function == "MPI_Mrecv")
        assert (matched["comm"], matched["peer"], matched["tag"], matched["got"]) == (0, left, 21, [left, 21, 24])
        half = tuple(range(number % 2, ranks, 2))
        splits = [rank.communicators[call["new"]].ranks for call in rank.calls if call.function == "MPI_Comm_split"]
        assert splits == [half, tuple(reversed(range(ranks)))]
        broadcast = next(call for call in rank.calls if call.function == "MPI_Bcast")
        assert rank.communicators[broadcast["comm"]].ranks == tuple(reversed(range(ranks)))
        later = next(call for call in rank.calls if call.function == "MPI_Barrier")
        assert rank.communicators[later["comm"]].ranks == half
        scatter = next(call for call in rank.calls if call.function == "MPI_Scatterv")
        assert scatter.arguments.get("counts") == (list(range(ranks)) if number == 0 else None)
        in_place = [call.arguments.get("in_place") for call in rank.calls if call.function == "MPI_Allgather"]
        assert in_place == [None, True]


def test_a_program_that_fails_leaves_no_trace(mpi: Mpi, bad_input: Callable[..., str], tmp_path: Path) -> None:
    message = bad_input(
        *f"mpi trace --mpicc {mpi.installation.mpicc} -n 1 -o {tmp_path}/x.hktrace -- /bin/true".split()
    )
    assert message.startswith("no trace: /bin/true did not reach MPI_Finalize of ")
    assert list(tmp_path.iterdir()) == []


def test_folders_of_a_trace_and_of_exports_are_looked_at_first(
    mpi: Mpi, bad_input: Callable[..., str], as_root: None, tmp_path: Path
) -> None:
    command = f"mpi trace --mpicc {mpi.installation.mpicc} -n 1 -o {tmp_path}/x.hktrace"
    program = ["--", mpi.compiled("misuse.c")]
    file = tmp_path / "file"
    file.touch()
    message = bad_input(*command.split(), "--simgrid", f"{file}/traces", *program)
    assert message == f"--simgrid: {file}/traces: cannot be written: {file} is not a directory"
    missing = command.replace("x.hktrace", "new/x.hktrace")
    assert bad_input(*missing.split(), *program).endswith(f"there is no folder {tmp_path}/new")
    assert list(tmp_path.iterdir()) == [file]


def test_a_trace_needs_a_program(mpi: Mpi, bad_input: Callable[..., str]) -> None:
    assert (
        bad_input(*f"mpi trace --mpicc {mpi.installation.mpicc} -n 1".split())
        == "no program, expected a program after --"
    )


def test_only_output_names_a_file_to_overwrite(
    mpi: Mpi, bad_input: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.hktrace").write_text("a trace of another app")
    message = bad_input(*f"mpi trace --mpicc {mpi.installation.mpicc} -n 1 -- other/app".split())
    assert message == "app.hktrace exists, expected --output app.hktrace to overwrite it, or another file"
    assert (tmp_path / "app.hktrace").read_text() == "a trace of another app"


def test_fortran_is_traced(mpi: Mpi, hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "traced.hktrace"
    program = mpi.compiled("traced_fortran.f90")
    ran = hocket_command(*f"mpi trace --mpicc {mpi.installation.mpicc} -n 3 -o {path} -- {program}".split())
    assert ran.status == 0, ran.err
    for number, rank in enumerate(traces.read(path).ranks):
        left, right = (number - 1) % 3, (number + 1) % 3
        names = "Init Irecv Isend Waitall Sendrecv Irecv Send Wait Comm_split Allreduce Comm_free Bcast Finalize"
        assert " ".join(call.function.removeprefix("MPI_") for call in rank.calls) == names
        received = rank.calls[3]["got"] + [rank.calls[4]["got"]] + rank.calls[7]["got"]
        assert received == [[left, 1, 32], None, [right, 2, 8], [left, 3, 16]]
        assert rank.communicators[rank.calls[9]["comm"]].ranks == tuple(reversed(range(number % 2, 3, 2)))
        assert rank.calls[9]["in_place"] and rank.calls[9]["op"] == "MPI_SUM"
