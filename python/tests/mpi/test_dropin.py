"""Unmodified programs under real MPIs: right results by the chosen algorithms."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

import hocket
from hocket import Call, catalogue
from hocket.definitions.calls import prepare
from hocket.definitions.library import Algorithm
from hocket.mpi import Installation, build

from .conftest import PROGRAMS, Mpi, Ran, wrappers

BY_COLLECTIVE = {
    collective: list(group)
    for collective, group in itertools.groupby(catalogue(), key=lambda algorithm: algorithm.collective)
    if not collective.startswith("neighbor_")
}
SETS = max(map(len, BY_COLLECTIVE.values()))
FUNCTIONS = {
    "allgather": ["Allgather", "Allgatherv"],
    "allreduce": ["Allreduce"],
    "alltoall": ["Alltoall"],
    "alltoallv": ["Alltoallv", "Alltoallw"],
    "barrier": ["Barrier"],
    "broadcast": ["Bcast"],
    "exscan": ["Exscan"],
    "gather": ["Gather"],
    "gatherv": ["Gatherv"],
    "reduce": ["Reduce"],
    "reduce_scatter": ["Reduce_scatter", "Reduce_scatter_block"],
    "scan": ["Scan"],
    "scatter": ["Scatter"],
    "scatterv": ["Scatterv"],
}
PERSISTENT = {f"MPI_{name}_init" for names in FUNCTIONS.values() for name in names}
TAKE_ALL = (
    "allreduce: recursive_doubling",
    "reduce: linear",
    "reduce_scatter: recursive_doubling",
    "allgather: ring",
    "alltoall: linear",
    "broadcast: binomial",
)
"""For calls that other algorithms refuse: of MPICH 5.0.2's own, one writes beyond its memory, and MPICH 4.0.2's own
MPI_Ialltoall in place gives wrong results."""


NO_INIT = "MPI_Init was not called"


def chosen(number: int) -> list[Algorithm]:
    """Return one algorithm per collective; over all numbers, each algorithm is chosen."""
    return [algorithms[number % len(algorithms)] for algorithms in BY_COLLECTIVE.values()]


def rules(algorithms: list[Algorithm]) -> list[str]:
    """Return rules for them and, for calls that they refuse, for others; also for nonblocking and persistent calls."""
    lines = [*(f"{algorithm.collective}: {algorithm.name}" for algorithm in algorithms), *TAKE_ALL]
    return [*lines, *(f"i{line}" for line in lines)]


def check_collectives(mpi: Mpi, ranks: int, number: int, calls: int, shared_memory: str = "on") -> None:
    algorithms = chosen(number)
    program = [mpi.compiled("collectives.c"), str(calls), str(100 * number + ranks)]
    ran = mpi.run(ranks, program, rules(algorithms), variables={"HOCKET_SHARED_MEMORY": shared_memory})
    assert ran.status == 0, ran.output + ran.errors
    assert f"{calls} calls on {ranks} ranks: 0 wrong" in ran.output
    for algorithm in algorithms:
        if takes(algorithm, ranks):
            names = FUNCTIONS[algorithm.collective]
            label = f"{algorithm.collective} {algorithm.name}"
            assert sum(ran.algorithms.get((f"MPI_{name}", label), 0) for name in names) > 0, ran.errors


def takes(algorithm: Algorithm, ranks: int) -> bool:
    """Return whether an algorithm supports calls of this number of ranks."""
    try:
        prepare(algorithm, Call(ranks=ranks, size_bytes=0 if algorithm.collective == "barrier" else 64))
    except hocket.Error:
        return False
    return True


@pytest.mark.parametrize(("number", "shared_memory"), [(0, "on"), (1, "off")])
def test_collectives_are_right_and_by_the_algorithms_asked_for(mpi: Mpi, number: int, shared_memory: str) -> None:
    check_collectives(mpi, 4, number, 400, shared_memory)


@pytest.mark.parametrize("ranks", [1, 2, 5])
@pytest.mark.parametrize("shared_memory", ["on", "off"])
def test_short_calls_go_by_memory_of_the_node(mpi: Mpi, ranks: int, shared_memory: str) -> None:
    lines = ["allreduce: recursive_doubling", "broadcast: linear", "reduce: binomial"]
    ran = mpi.run(ranks, [mpi.compiled("node_memory.c")], lines, variables={"HOCKET_SHARED_MEMORY": shared_memory})
    sharing = ranks if ranks > 1 and shared_memory == "on" else 0
    assert ran.output.splitlines() == [f"{sharing} of {ranks} share, 0 wrong"], ran.output + ran.errors


def test_a_crash_leaves_no_memory_of_the_node(mpi: Mpi) -> None:
    def files() -> set[str]:
        return {path.name for path in Path("/dev/shm").glob("hocket*")}

    before = files()
    ran = mpi.run(2, [mpi.compiled("crash.c", "-rdynamic")], ["allreduce: recursive_doubling"], None)
    assert ran.status != 0
    assert files() == before


def test_a_pipeline_does_not_run_away_from_a_rank_that_is_late(mpi: Mpi) -> None:
    ran = mpi.run(2, [mpi.compiled("late.c")], ["broadcast: chain, segment=64"], None)
    time_s, total = sorted(ran.output.splitlines())
    assert float(time_s.removesuffix(" s")) > 0.5, ran.output
    assert total == f"sum {256 * 255 // 2 * 256}"


def test_threads_run_collectives_at_once(mpi: Mpi) -> None:
    lines = ["allreduce: recursive_doubling", "iallreduce: recursive_doubling", "broadcast: binomial"]
    ran = mpi.run(2, [mpi.compiled("threads.c"), "24"], lines)
    if "threads: none" in ran.output:
        pytest.skip("this MPI has no MPI_THREAD_MULTIPLE")
    assert "threads: right" in ran.output, ran.output + ran.errors


def test_calls_that_are_left_by_their_size_go_to_mpi_uncounted(mpi: Mpi) -> None:
    program = [mpi.compiled("left_by_size.c"), "allreduce[size=..40]: linear"]
    lines = ["allreduce[size=..32]: native", "allreduce[size=64..96]: native", "allreduce: linear"]
    own = {"MPIR_CVAR_DEVICE_COLLECTIVES": "none", "I_MPI_ADJUST_ALLREDUCE": "1"}  # all ranks apply the operator
    for given in (lines, [*lines, "iallreduce: ring"]):
        ran = mpi.run(4, program, given, log=None, variables=own)
        long, short = [*range(32, 64, 8), *range(96, 129, 8)], range(8, 40, 8)
        names = ("byte", "double", "pair")
        expected = [f"{name}:{''.join(f' {n}' for n in sizes)}" for sizes in (long, short) for name in names]
        assert ran.output.splitlines() == expected, ran.output + ran.errors


@pytest.mark.parametrize("condition", ["size=64..128", "size=256..", "total=256..512"])
def test_ranks_decide_alike_whether_or_not_they_look_at_a_call(mpi: Mpi, condition: str) -> None:
    names = {
        **{"allgather": "ring", "allreduce": "ring", "alltoall": "linear", "broadcast": "binomial", "exscan": "chain"},
        **{"gather": "linear", "reduce": "binomial", "reduce_scatter": "ring", "scan": "chain", "scatter": "linear"},
    }
    of_blocks = ("allgather", "alltoall", "gather", "scatter")
    kept = {name: one for name, one in names.items() if name in of_blocks or not condition.startswith("total")}
    lines = [f"{collective}[{condition}]: {name}" for collective, name in kept.items()]
    ran = mpi.run(4, [mpi.compiled("either_path.c")], lines, log=None)
    assert ran.output == "0 wrong\n", ran.output + ran.errors


@pytest.mark.real_mpi
@pytest.mark.parametrize("number", range(SETS))
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 6, 7, 8])
def test_all_algorithms_at_all_numbers_of_ranks(mpi: Mpi, ranks: int, number: int) -> None:
    check_collectives(mpi, ranks, number, 600)


NEIGHBORHOODS = ("neighbor_allgather", "neighbor_alltoall")


def neighbor_rules(name: str) -> list[str]:
    """Return rules for an algorithm and, for calls that it refuses, `linear`; also for nonblocking and persistent
    calls.
    """
    return [f"{form}{which}: {one}" for one in (name, "linear") for form in ("", "i") for which in NEIGHBORHOODS]


def check_neighborhoods(mpi: Mpi, ranks: int, name: str, calls: int) -> None:
    ran = mpi.run(ranks, [mpi.compiled("neighbors.c"), str(calls), str(ranks)], neighbor_rules(name))
    assert ran.status == 0, ran.output + ran.errors
    assert f"{calls} calls on {ranks} ranks: 0 wrong" in ran.output
    for collective in NEIGHBORHOODS:
        assert sum(n for (_, label), n in ran.algorithms.items() if label == f"{collective} {name}") > 0, ran.errors
    assert not any("eighbor" in function for function, _ in ran.passed), ran.errors


@pytest.mark.parametrize("name", ["linear", "message_combining"])
def test_neighborhoods_are_right_and_by_the_algorithms_asked_for(mpi: Mpi, name: str) -> None:
    check_neighborhoods(mpi, 4, name, 500)


@pytest.mark.real_mpi
@pytest.mark.parametrize("name", ["linear", "message_combining"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 6, 7, 8])
def test_neighborhoods_at_all_numbers_of_ranks(mpi: Mpi, ranks: int, name: str) -> None:
    check_neighborhoods(mpi, ranks, name, 2000)


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_programs_that_do_other_things_meanwhile(mpi: Mpi, ranks: int) -> None:
    ran = mpi.run(ranks, [mpi.compiled("mixed.c"), "freed"], rules(chosen(0)))
    assert "mixed: right" in ran.output, ran.output + ran.errors
    if ranks > 1:
        assert ran.passed[("MPI_Allreduce", "an intercommunicator")] == 1
    assert sum(calls for (function, _), calls in ran.algorithms.items() if function == "MPI_Allgatherv") == 1


@pytest.mark.parametrize("form", ["", "i"])
def test_objects_of_the_program_stay_as_they_are(mpi: Mpi, form: str) -> None:
    taken = ("allreduce: ring", "broadcast: binomial", "barrier: dissemination", "neighbor_allgather: linear")
    program = [mpi.compiled("handlers.c")]
    plain = mpi.run(2, program, log=None, variables={"LD_PRELOAD": ""})
    ran = mpi.run(2, program, [*taken, *(f"{form}{rule}" for rule in taken)], log=None)
    assert ran.output == plain.output, ran.errors
    assert "dimensions: class" in plain.output


@pytest.mark.parametrize("lines", [["allreduce: ring"], ["iallreduce: ring"], ["barrier: dissemination"], []])
def test_calls_that_are_left_to_mpi_do_not_wait_for_those_that_are_not(mpi: Mpi, lines: list[str]) -> None:
    ran = mpi.run(4, [mpi.compiled("mixed.c")], lines)
    assert "mixed: right" in ran.output, ran.output + ran.errors


@pytest.mark.parametrize(
    ("ranks", "steps", "seed"),
    [
        (4, 144, 1),
        pytest.param(5, 960, 2, marks=pytest.mark.real_mpi),
        pytest.param(4, 960, 3, marks=pytest.mark.real_mpi),
        pytest.param(2, 960, 4, marks=pytest.mark.real_mpi),
    ],
)
@pytest.mark.parametrize("lines", [rules(chosen(0)), ["iallreduce: ring"]])
def test_nonblocking_collectives_end_in_any_order(
    mpi: Mpi, ranks: int, steps: int, seed: int, lines: list[str]
) -> None:
    freed = [] if mpi.is_open_mpi else ["freed"]
    ran = mpi.run(ranks, [mpi.compiled("orders.c"), str(steps), str(seed), *freed], lines)
    assert ran.output == "orders: right\n", ran.output + ran.errors
    assert sum(calls for (function, _), calls in ran.algorithms.items() if function == "MPI_Iallreduce") >= 5, (
        ran.errors
    )


def run_persistent(mpi: Mpi, ranks: int, lines: list[str], *arguments: str) -> Ran:
    ran = mpi.run(ranks, [mpi.compiled("persistent.c"), *arguments], lines)
    if "persistent: none" in ran.output:
        pytest.skip("this MPI has no persistent collectives")
    assert ran.output == "persistent: right\n", ran.output + ran.errors
    return ran


@pytest.mark.parametrize(
    ("ranks", "rounds"), [(4, 30), *(pytest.param(ranks, 100, marks=pytest.mark.real_mpi) for ranks in range(1, 9))]
)
def test_persistent_collectives_are_planned_once_and_started_many_times(mpi: Mpi, ranks: int, rounds: int) -> None:
    ran = run_persistent(mpi, ranks, rules(chosen(0)), str(rounds), str(ranks))
    assert "inactive persistent request" not in ran.errors, ran.errors
    started = {function: calls for (function, _), calls in ran.algorithms.items() if function.endswith("_init")}
    assert set(started) == PERSISTENT, ran.errors
    assert min(started.values()) > rounds, ran.errors


@pytest.mark.parametrize("lines", [["ialltoallv: pairwise_exchange", "ibarrier: dissemination"], []])
def test_persistent_collectives_of_mpi_and_of_hocket_are_waited_for_together(mpi: Mpi, lines: list[str]) -> None:
    if not mpi.is_open_mpi and "4.0" in mpi.installation.library:
        pytest.skip("MPI_Waitany of MPICH 4.0.2 does not end for its own persistent collectives, also without Hocket")
    if mpi.is_intel_mpi:
        pytest.skip("persistent collectives of Intel MPI 2021.18 are wrong, also without Hocket")
    ran = run_persistent(mpi, 3, lines, "40", "1", "alike")
    assert ran.passed[("MPI_Allreduce_init", "no rule for it")] == 2, ran.errors
    assert bool(ran.algorithms) == bool(lines), ran.errors


@pytest.mark.parametrize("ranks", [4, pytest.param(3, marks=pytest.mark.real_mpi)])
@pytest.mark.parametrize("is_nonblocking", [False, True])
def test_types_without_data_operators_attributes_and_two_groups(mpi: Mpi, ranks: int, is_nonblocking: bool) -> None:
    lines = [*TAKE_ALL, "gather: linear", "scatter: linear", "scan: recursive_doubling", "exscan: doubling_123"]
    lines += [f"i{line}" for line in lines] if is_nonblocking else []
    ran = mpi.run(ranks, [mpi.compiled("edges.c"), *(["many"] if is_nonblocking else [])], lines)
    assert ran.output == "edges: right\n", ran.output + ran.errors
    functions = {function for function, _ in ran.algorithms}
    assert len(functions) == (20 if is_nonblocking else 11), functions


def test_what_is_wrong_on_one_rank_keeps_none_waiting(mpi: Mpi) -> None:
    lines = [*TAKE_ALL, "gather: linear", "scatter: binomial", "scan: recursive_doubling"]
    lines += ["alltoallv: pairwise_exchange", "gatherv: linear", "scatterv: linear"]
    ran = mpi.run(3, [mpi.compiled("wrong.c")], [*lines, *(f"i{line}" for line in lines)], None)
    cut, one, broadcast = "done truncated done", "done buffer done", "done other other"
    reduce = one
    if mpi.is_open_mpi:
        one, reduce, broadcast = "done done done", "done argument done", "done done done"
    expected = {
        **dict.fromkeys(("allgather", "alltoall", "gather", "scatter"), cut),
        **dict.fromkeys(("long broadcast", "much too long broadcast"), cut),
        **dict.fromkeys(("allgatherv", "alltoallv", "gatherv", "scatterv"), cut),
        "roomy gather": "done done done",
        "allreduce": "done buffer done",
        "reduce": reduce,
        "scan": one,
        "reduce_scatter": one,
        **dict.fromkeys(("short broadcast", "much too short broadcast"), broadcast),
    }
    found = dict(line.split(": ") for line in ran.output.splitlines())
    forms = ["", "i", "planned "] if "planned reduce" in found else ["", "i"]
    assert found == {form + name: what for form in forms for name, what in expected.items()}, ran.errors
    assert "hocket: rank 1: MPI_Gather: the lengths of sent and received blocks differ: " in ran.errors
    assert "hocket: rank 1: MPI_Iallreduce: the same buffer as input and result: " in ran.errors


def test_the_status_of_a_rank_is_that_of_the_job(mpi: Mpi) -> None:
    ran = mpi.run(3, [mpi.compiled("wrong.c"), "5"], rules(chosen(0)), None)
    # MPICH may return the signal that ended the other ranks, and Intel MPI 255.
    assert ran.status in ((5,) if mpi.is_open_mpi else (5, 9, 255) if mpi.is_intel_mpi else (5, 9))


def test_a_call_after_the_end_of_mpi_has_its_own_name_in_the_error(mpi: Mpi) -> None:
    ran = mpi.run(1, [mpi.compiled("wrong.c"), "late"], rules(chosen(0)), None)
    assert ran.status != 0
    assert "Allreduce" in ran.errors + ran.output
    assert "Type" not in ran.errors + ran.output


@pytest.mark.parametrize("what", [[], ["both"]])
def test_communicators_of_sessions_are_taken_or_the_log_says_that_they_are_not(mpi: Mpi, what: list[str]) -> None:
    ran = mpi.run(2, [mpi.compiled("sessions.c"), *what], ["allreduce: ring", "iallreduce: ring"])
    if "none" in ran.output:
        pytest.skip("this MPI has no sessions")
    assert ran.output == "sessions: right\n", ran.errors
    for function in ("MPI_Allreduce", "MPI_Iallreduce"):
        found = ran.algorithms.get((function, "allreduce ring")) if what else ran.passed[(function, NO_INIT)]
        assert found == 1, ran.errors


@pytest.mark.parametrize(("module", "handle"), [("mpi", "integer"), ("mpi_f08", "type({})")])
def test_fortran(mpi: Mpi, module: str, handle: str) -> None:
    types = [f"-D{name}={handle.format(f'mpi_{name.lower()}')}" for name in ("REQUEST", "COMM")]
    program = mpi.compiled("fortran.F90", f"-DMODULE={module}", *types)
    lines = [*TAKE_ALL, "neighbor_allgather: linear"]
    ran = mpi.run(3, [program], [*lines, *(f"i{line}" for line in lines)])
    assert ran.output.strip() == "fortran: right", ran.errors
    assert ran.algorithms[("MPI_Allreduce", "allreduce recursive_doubling")] == 2
    assert ran.algorithms[("MPI_Allgather", "allgather ring")] == 1
    if not mpi.is_open_mpi:
        counts, why = (
            (ran.algorithms, "allreduce recursive_doubling") if module == "mpi" else (ran.passed, "no rule for it")
        )
        assert counts[("MPI_Iallreduce", why)] == 1, ran.errors
    assert ran.algorithms[("MPI_Neighbor_allgather", "neighbor_allgather linear")] == 1
    for name in ("Gatherv", "Scatterv", "Exscan", "Neighbor_alltoall"):
        assert ran.passed[(f"MPI_{name}", "no rule for it")] == 1, ran.errors


MPI4PY = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
total = np.empty(5)
comm.Allreduce(np.full(5, comm.rank + 1.0), total)
def left(a, b, _): b[:] = a[:]
first = np.empty(1, dtype="i")
operator = MPI.Op.Create(left, commute=False)
comm.Allreduce([np.array([comm.rank + 7], dtype="i"), MPI.BYTE], [first, MPI.BYTE], op=operator)
requests = [comm.Iallreduce(np.full(5, comm.rank + 1.0), total) for total in (np.empty(5), np.empty(5))]
MPI.Request.Waitall(requests)
objects = comm.allgather({"rank": comm.rank})
if comm.rank == 0:
    print(total[0], first[0], [each["rank"] for each in objects])
"""


def test_mpi4py(mpi: Mpi) -> None:
    if mpi.python is None:
        pytest.skip("no mpi4py for this MPI")
    ran = mpi.run(3, [str(mpi.python), "-c", MPI4PY], ["allreduce: recursive_doubling", "iallreduce: ring"])
    assert ran.output.strip() == "6.0 7 [0, 1, 2]", ran.errors
    found = [calls for (_, algorithm), calls in ran.algorithms.items() if algorithm == "allreduce recursive_doubling"]
    assert sum(found) == 2, ran.errors


def test_automatic_values_of_rules(mpi: Mpi) -> None:
    if mpi.python is None:
        pytest.skip("no mpi4py for this MPI")
    lines = ["allreduce: trinaryx3, segment=auto", "allreduce: recursive_doubling"]
    ran = mpi.run(3, [str(mpi.python), "-c", MPI4PY], lines)
    assert ran.output.strip() == "6.0 7 [0, 1, 2]", ran.errors
    assert sorted(name for _, name in ran.algorithms) == ["allreduce recursive_doubling", "allreduce trinaryx3"]


LEFT = """
from mpi4py import MPI
import numpy as np
import sys
world = MPI.COMM_WORLD
ring = world.Create_cart([world.size], periods=[True])
n, rank = world.size, world.rank
before, after = ring.Shift(0, 1)
one, each, ones = np.full(1, rank + 1.0), 10.0 * rank + np.arange(n), np.arange(n) + 1.0
def v(data, n): return [data, ([1] * n, range(n)), MPI.DOUBLE]
def w(data, n): return [data, ([1] * n, range(0, 8 * n, 8)), [MPI.DOUBLE] * n]
def same(data, n): return data
crossed = [10.0 * before + 1, 10.0 * after]
for comm, name, send, sent, recv, count, expected in [
    (ring, "neighbor_allgather", same, one, same, 2, [before + 1, after + 1]),
    (ring, "neighbor_allgatherv", same, one, v, 2, [before + 1, after + 1]),
    (ring, "neighbor_alltoall", same, each[:2], same, 2, crossed),
    (ring, "neighbor_alltoallv", v, each[:2], v, 2, crossed),
    (ring, "neighbor_alltoallw", w, each[:2], w, 2, crossed),
]:
    for form in sys.argv[1:]:
        got = np.zeros(count)
        arguments = send(sent, len(sent)), recv(got, count)
        if form == "blocking":
            getattr(comm, name.capitalize())(*arguments)
        elif form == "nonblocking":
            getattr(comm, "I" + name)(*arguments).Wait()
        else:
            request = getattr(comm, name.capitalize() + "_init")(*arguments)
            request.Start()
            request.Wait()
            request.Free()
        assert list(got) == list(expected), (rank, name, form, got, expected)
"""


@pytest.mark.parametrize("rules", [[], ["iallreduce: ring"]])
@pytest.mark.parametrize("ranks", [2, 3])
def test_neighborhoods_that_no_rule_names_are_right_and_counted(mpi: Mpi, ranks: int, rules: list[str]) -> None:
    if mpi.python is None:
        pytest.skip("no mpi4py for this MPI")
    if mpi.is_intel_mpi and ranks == 2:
        pytest.skip(
            "Intel MPI 2021.18 exchanges the blocks of two ranks that are neighbours twice, also without Hocket"
        )
    # Nonblocking neighbourhood collectives of Open MPI are wrong on a grid of two ranks.
    forms = ["blocking", *(["nonblocking", "persistent"] if ranks > 2 or not mpi.is_open_mpi else [])]
    ran = mpi.run(ranks, [str(mpi.python), "-c", LEFT, *forms], rules)
    assert ran.status == 0, ran.errors
    left = [calls for (_, reason), calls in ran.passed.items() if reason == "no rule for it"]
    assert left == 5 * len(forms) * [1], ran.errors


def test_errors_follow_the_handler_of_the_communicator(mpi: Mpi) -> None:
    tells_world = "MPICH Version:\t4.0" in mpi.installation.library or mpi.is_intel_mpi
    ran = mpi.run(2, [mpi.compiled("errors.c"), *([] if tells_world else ["duplicate"])], ["broadcast: linear"])
    assert ran.output.strip() == "errors: truncated, and the program goes on", ran.output + ran.errors


@pytest.mark.parametrize("lines", [TAKE_ALL, [*TAKE_ALL, *(f"i{line}" for line in TAKE_ALL)]])
def test_mpi_itself_complains_of_what_it_complains_about_without_the_library(mpi: Mpi, lines: Sequence[str]) -> None:
    program = [mpi.compiled("misuse.c"), *([] if mpi.is_open_mpi else ["buffers"])]
    ran, alone = mpi.run(3, program, lines), mpi.run(3, program, (), None, {"LD_PRELOAD": ""})
    assert ran.output.endswith("right\n"), ran.output + ran.errors
    assert ran.output == alone.output
    assert sum(ran.algorithms.values()) >= 4, ran.errors


ALONE = (
    *("alltoallv: pairwise_exchange", "gatherv: linear", "scatterv: linear", "broadcast: linear", "gather: linear"),
    *("scatter: linear", "alltoall: linear", "allreduce: recursive_doubling", "reduce: linear"),
    "neighbor_alltoall: linear",
)


@pytest.mark.parametrize("ranks", [2, 4, pytest.param(3, marks=pytest.mark.real_mpi)])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.real_mpi) for seed in range(2, 6))])
def test_what_one_rank_alone_is_given_keeps_none_waiting(mpi: Mpi, ranks: int, seed: int) -> None:
    lines = [*ALONE, *(f"i{line}" for line in ALONE)]
    ran = mpi.run(ranks, [mpi.compiled("alone.c"), "300", str(seed)], lines)
    assert ran.output == f"300 calls on {ranks} ranks: 0 wrong\n", ran.output + ran.errors
    assert not ran.passed, ran.errors


def test_types_without_gaps_are_not_packed(mpi: Mpi) -> None:
    ran = mpi.run(2, [mpi.compiled("packing.c")], ["allgather: ring"])
    assert ran.output == "packing: right\n", ran.errors


def test_graphs_that_are_made_from_other_topologies(mpi: Mpi) -> None:
    lines = ["neighbor_allgather: linear", "ineighbor_allgather: linear"]
    ran = mpi.run(3, [mpi.compiled("graphs.c")], lines)
    assert ran.output == "0 wrong\n", ran.output + ran.errors


@pytest.mark.parametrize(
    ("what", "lines"),
    [
        ("attributes", ["allreduce: ring"]),
        ("early", ["allreduce: ring", "iallreduce: ring"]),
        ("levels", ["allreduce: ring", "iallreduce: ring"]),
        ("spawn", ["allreduce: ring", "iallreduce: ring"]),
        pytest.param("many", ["allreduce: ring"], marks=pytest.mark.real_mpi),
    ],
)
def test_communicators_that_are_not_like_others(mpi: Mpi, what: str, lines: Sequence[str]) -> None:
    if what == "spawn" and mpi.is_open_mpi:
        pytest.skip("Open MPI wants a slot for each process")
    if what == "spawn" and mpi.is_intel_mpi:
        pytest.skip("MPI_Comm_spawn of Intel MPI 2021.18 ends by a signal here, also without Hocket")
    if what == "early" and mpi.is_open_mpi:
        pytest.skip("Open MPI needs the communicator until the call has ended")
    ran = mpi.run(3, [mpi.compiled("communicators.c"), what], lines)
    if ran.output == "communicators: nothing spawned\n":
        pytest.skip("this MPICH spawns nothing here")
    assert ran.output.splitlines()[0] == "communicators: right", ran.output + ran.errors
    assert ran.algorithms, ran.errors


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({"HOCKET_RULES": "/nowhere"}, "HOCKET_RULES: /nowhere: cannot be read, expected a rule file"),
        ({"HOCKET_RULES": "/"}, "HOCKET_RULES: /: cannot be read, expected a rule file"),
        ({"HOCKET_LOG": "loud"}, 'HOCKET_LOG: got "loud", expected summary or calls'),
        ({"HOCKET_SHARED_MEMORY": "a bit"}, 'HOCKET_SHARED_MEMORY: got "a bit", expected on or off'),
        ({"HOCKET_LOG": "loud\nlouder"}, 'HOCKET_LOG: got "loud louder", expected summary or calls'),
    ],
)
def test_a_bad_environment_is_one_line_and_all_calls_are_left_to_mpi(
    mpi: Mpi, variables: dict[str, str], line: str
) -> None:
    ran = mpi.run(3, [mpi.compiled("mixed.c")], ["allreduce: ring"], None, variables)
    assert "mixed: right" in ran.output
    assert ran.errors.count("hocket:") == 1
    assert f"hocket: {line}; all calls are left to MPI" in ran.errors


@pytest.mark.parametrize("kind", ["pipe", "zero"])
def test_files_that_are_no_rules_are_neither_waited_for_nor_read_in_part(mpi: Mpi, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "some.rules"
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.write_bytes(b"allreduce: ring\n\0\nbroadcast: chain\n")
    ran = mpi.run(2, [mpi.compiled("mixed.c")], ["allreduce: ring"], None, {"HOCKET_RULES": str(file)})
    assert "mixed: right" in ran.output
    wrong = {"pipe": "cannot be read", "zero": "is binary"}[kind]
    line = f"HOCKET_RULES: {file}: {wrong}, expected a rule file; all calls are left to MPI"
    assert ran.errors == f"hocket: {line}\n"


def test_every_call_is_told(mpi: Mpi) -> None:
    ran = mpi.run(2, [mpi.compiled("mixed.c")], ["allreduce[size=4..5]: linear"], "calls")
    assert "hocket: rank 1: MPI_Allreduce, 4 B, 2 ranks: allreduce linear, " in ran.errors
    assert "hocket: rank 1: MPI_Barrier left to MPI: no rule for it" in ran.errors
    alone = mpi.run(1, [mpi.compiled("mixed.c")], ["allreduce[size=4..5]: linear"], "calls")
    assert "hocket: rank 0: MPI_Allreduce, 4 B, 1 rank: allreduce linear, " in alone.errors


def test_a_library_for_another_mpi_says_so(mpi: Mpi) -> None:
    others = [path for path in wrappers() if Installation.find(path).abi != mpi.installation.abi]
    if not others:
        pytest.skip("needs two MPIs")
    foreign = {"LD_PRELOAD": str(build(Installation.find(others[0])))}
    ran = mpi.run(2, [mpi.compiled("mixed.c")], (), None, foreign)
    assert ran.status != 0
    lines = ran.errors.count('hocket: the library is built for "')
    assert lines == 1 or "symbol lookup error" in ran.errors  # the loader fails first


def test_the_two_abis_of_an_mpi_are_told_apart(mpi: Mpi) -> None:
    wrapper = mpi.installation.mpicc
    other = wrapper.with_name(
        wrapper.name.removesuffix("_abi") if wrapper.name.endswith("_abi") else f"{wrapper.name}_abi"
    )
    if not other.exists():
        pytest.skip("has one ABI")
    foreign = {"LD_PRELOAD": str(build(Installation.find(str(other))))}
    ran = mpi.run(2, [mpi.compiled("mixed.c")], (), None, foreign)
    assert ran.status == 2 and ran.errors.count("\n") == 1
    assert (
        ran.errors.startswith('hocket: the library is built for "')
        and " ABI, but the program runs under " in ran.errors
    )


@pytest.mark.real_mpi
def test_more_elements_than_an_int_holds(mpi: Mpi) -> None:
    ran = mpi.run(2, [mpi.compiled("large.c")], ["broadcast: linear"])
    assert ran.output.strip() == "large: right", ran.errors
    assert ran.algorithms[("MPI_Bcast", "broadcast linear")] == 3


@pytest.mark.real_mpi
@pytest.mark.parametrize("algorithm", BY_COLLECTIVE["allreduce"], ids=lambda algorithm: algorithm.name)
@pytest.mark.parametrize("ranks", [4, 7, 8])
def test_floating_point_results_are_the_same_everywhere_and_every_time(
    mpi: Mpi, algorithm: Algorithm, ranks: int
) -> None:
    if not takes(algorithm, ranks):
        pytest.skip(f"{algorithm.name} does not take {ranks} ranks")
    runs = [mpi.run(ranks, [mpi.compiled("bitwise.c")], [f"allreduce: {algorithm.name}"]) for _ in range(2)]
    assert runs[0].output.startswith("bitwise: ") and "different" not in runs[0].output, runs[0].output
    assert runs[0].output == runs[1].output
    assert runs[0].algorithms == {("MPI_Allreduce", f"allreduce {algorithm.name}"): 5}, runs[0].errors


FIXED = [
    "order = fixed",
    "allreduce[size=..16KiB]: recursive_doubling",
    "allreduce: rabenseifner",
    "reduce[ranks=..4]: linear",
    "reduce: binomial",
]


@pytest.mark.parametrize("ranks", [5, *(pytest.param(ranks, marks=pytest.mark.real_mpi) for ranks in (2, 3, 8))])
def test_under_a_fixed_order_a_sum_has_the_same_bits_at_every_size_and_in_every_form(mpi: Mpi, ranks: int) -> None:
    program = [mpi.compiled("same_sums.c")]
    ran = mpi.run(ranks, program, FIXED)
    assert ran.output == "same sums: allreduce 1, reduce 1\n", ran.output + ran.errors
    for form in ("MPI_Allreduce", "MPI_Iallreduce"):
        used = {algorithm for function, algorithm in ran.algorithms if function == form}
        assert used == {"allreduce recursive_doubling", "allreduce rabenseifner"}, ran.errors
    if ranks == 5:  # MPICH 5 and Open MPI 5 change the order at some size
        by_itself = mpi.run(ranks, program)
        assert by_itself.output in ("same sums: allreduce 2, reduce 1\n", "same sums: allreduce 2, reduce 2\n")


def test_counts_need_not_outlive_a_nonblocking_call(mpi: Mpi) -> None:
    if mpi.python is None:
        pytest.skip("no mpi4py for this MPI")
    program = [str(mpi.python), "-m", "mpi4py", str(PROGRAMS / "temporary_counts.py")]
    ran = mpi.run(3, program, ["iallgather: ring", "barrier: dissemination"])
    assert ran.output == "temporary counts: right\n", ran.output + ran.errors
    ran_by = {function.removesuffix("_c"): algorithm for function, algorithm in ran.algorithms}
    assert ran_by["MPI_Iallgatherv"] == "allgather ring"


MPI4PY_TESTS = (
    *("cco_buf", "cco_vec", "cco_nb_buf", "cco_nb_vec", "cco_pr_buf", "cco_pr_vec", "cco_obj"),
    *("cco_ngh_buf", "cco_pr_ngh_buf", "cco_ngh_obj"),
    *("comm", "attr", "errhandler", "op", "request", "ulfm"),
)


@pytest.mark.real_mpi
@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize(
    "lines", [rules(chosen(0)), [*TAKE_ALL, "barrier: dissemination", *neighbor_rules("message_combining")]]
)
def test_the_collective_tests_of_mpi4py_pass(
    mpi: Mpi, ranks: int, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = os.environ.get("HOCKET_MPI4PY_TESTS")
    if folder is None or mpi.python is None:
        pytest.skip("needs HOCKET_MPI4PY_TESTS, the folder test of mpi4py's source distribution, and mpi4py")
    monkeypatch.chdir(folder)
    modules = itertools.chain.from_iterable(("-i", f"test_{name}") for name in MPI4PY_TESTS)
    ran = mpi.run(ranks, [str(mpi.python), "main.py", "-f", *modules], lines)
    assert ran.status == 0, ran.errors[-4000:]
    functions = {function.removesuffix("_c") for function, _ in ran.algorithms}
    assert len(functions) > len(lines) // 2, functions
