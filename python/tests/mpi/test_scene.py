"""`hocket mpi bench --arrivals` and `--cadence`: ranks wait for their time, and calls follow each other as asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket
from hocket.definitions.library import COLLECTIVES, find
from hocket.mpi.benchmark import bench
from hocket.mpi.scene import bench_scene
from tests.conftest import Ran

from .conftest import Mpi

pytestmark = pytest.mark.usefixtures("as_root")


@given(
    ranks=st.integers(1, 20_000),
    arrivals=st.sampled_from(["rank 0, 20 us", "one rank, 0..5 ms", "every rank, exponential 1e5 s"]),
)
def test_an_argument_has_a_time_for_each_rank_and_is_short(ranks: int, arrivals: str) -> None:
    found = bench_scene(arrivals, None, ranks)
    kind, patterns, times = found.argument.split(":")
    assert kind == "late"
    assert len(times.split(",")) == ranks * int(patterns)
    # Linux has room for 128 KiB; a time has at most 16 letters, and those here are short up to 8192 ranks.
    assert len(found.argument) < 2**17 or ranks > 8192


def test_a_cadence_is_an_argument() -> None:
    assert bench_scene(None, "7 calls, every 20 ms, 3 at a time", 4).argument == "cadence:7:0.02:3:0:0"
    assert bench_scene(None, "7 calls", 4).argument == "cadence:7:-1:1:0:0"
    with pytest.raises(hocket.Error, match=r"cadence: got '7 calls', expected none, as arrivals are given"):
        bench_scene("rank 3, 20 us", "7 calls", 4)
    assert bench_scene(None, "7 calls, computing 5 ms in 4 parts", 4).argument == "cadence:7:-1:1:0.005:4"
    assert bench_scene(None, None, 4).argument == "none"


def measured(mpi: Mpi, hocket_command: Callable[..., Ran], words: str, *more: str) -> dict[str, Any]:
    start = f"mpi bench --mpicc {mpi.installation.mpicc} --time-limit 0s {words} --json".split()
    return hocket_command(*start, *more).json


def test_a_late_rank_is_waited_for(mpi: Mpi, hocket_command: Callable[..., Ran]) -> None:
    found = measured(mpi, hocket_command, "allreduce ring native -n 2 --sizes 800B", "--arrivals", "rank  1, 20 ms")
    assert (found["arrivals"], found["cadence"]) == ("rank 1, 20 ms", None)
    assert 0 < found["clock_error_s"] < 1e-2
    for one in found["measurements"]:
        assert len(one["arriving_s"]) == len(one["samples_s"]) >= 10
        assert 18e-3 < median(one["arriving_s"]) < 80e-3, "a loaded host wakes ranks up late"
        assert 0 < one["median_s"] < 20e-3, "the time of the call counts from the last arrival"


def test_ranks_that_share_processors_sleep(mpi: Mpi, hocket_command: Callable[..., Ran]) -> None:
    times = "0 ms, 50 ms, " + ", ".join(["0 ms"] * 7)
    found = measured(mpi, hocket_command, "broadcast chain native -n 9 --sizes 800B", "--arrivals", times)
    for one in found["measurements"]:
        assert 25e-3 < median(one["arriving_s"]) < 200e-3


def test_drawn_arrivals_are_those_of_a_simulation(mpi: Mpi, hocket_command: Callable[..., Ran]) -> None:
    arrivals = "every rank, exponential 40 ms"
    found = measured(mpi, hocket_command, "allreduce ring native -n 2 --sizes 800B", "--arrivals", arrivals)
    call, trials = hocket.Call(ranks=2, size_bytes=800), hocket.Trials(16)
    drawn_s = hocket.simulate("allreduce/ring", call, arrivals=arrivals, trials=trials).arriving_s
    for one in found["measurements"]:
        assert len(one["arriving_s"]) % 16 == 0
        assert median(abs(s - drawn_s[k % 16]) for k, s in enumerate(one["arriving_s"])) < 8e-3


def test_calls_begin_when_they_are_due(mpi: Mpi, hocket_command: Callable[..., Ran]) -> None:
    cadence = "6 calls, every 20 ms"
    found = measured(mpi, hocket_command, "allreduce ring native -n 2 --sizes 800B", "--cadence", cadence)
    assert found["cadence"] == cadence
    for one in found["measurements"]:
        assert 15e-3 < median(one["interval_s"]) < 80e-3
        assert 0 < one["median_s"] < 20e-3, "a call is over before the next one is due"
        assert one["calls"] >= 1 + 7 * len(one["samples_s"])


def test_ranks_compute_beside_nonblocking_calls(mpi: Mpi, hocket_command: Callable[..., Ran]) -> None:
    words = "allreduce recursive_doubling native -n 2 --sizes 800B"
    for cadence in ("6 calls, computing 20 ms in 4 parts", "6 calls, 2 at a time, computing 20 ms"):
        found = measured(mpi, hocket_command, words, "--cadence", cadence)
        assert [one["algorithm"] for one in found["measurements"]] == ["recursive_doubling", "native"]
        for one in found["measurements"]:
            assert 15e-3 < median(one["interval_s"]) < 80e-3, "the next call begins after the computation"
            assert one["calls"] >= 1 + 7 * len(one["samples_s"])


def check_at_a_time(mpi: Mpi, hocket_command: Callable[..., Ran], collective: str, ranks: int) -> None:
    sizes = "" if collective == "barrier" else f"--sizes {128 * ranks}"
    name = hocket.algorithms(collective)[0].name
    words = f"{collective} {name} native -n {ranks} {sizes}"
    found = measured(mpi, hocket_command, words, "--cadence", "5 calls, 3 at a time")
    measured_names = [one["algorithm"] for one in found["measurements"]]
    refused = [one["algorithm"] for one in found["not_measured"]]
    assert sorted(measured_names + refused) == sorted([name, "native"])
    assert found["proving_calls"][name] == measured_names.count(name)
    for one in found["measurements"]:
        assert min(one["interval_s"]) > 0 and one["median_s"] > 0


def test_calls_at_a_time_are_nonblocking(mpi: Mpi, hocket_command: Callable[..., Ran]) -> None:
    words = "allreduce recursive_doubling native -n 2 --sizes 800B"
    found = measured(mpi, hocket_command, words, "--cadence", "8 calls, 4 at a time")
    assert found["proving_calls"] == {"recursive_doubling": 1, "native": 1}
    check_at_a_time(mpi, hocket_command, "neighbor_alltoall", 9)


@pytest.mark.real_mpi
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_collective_has_several_calls_at_a_time(
    mpi: Mpi, hocket_command: Callable[..., Ran], collective: str
) -> None:
    # On 8 ranks, a torus has the same neighbour twice, whose blocks Open MPI confuses in its nonblocking form.
    check_at_a_time(mpi, hocket_command, collective, 9 if collective.startswith("neighbor_") else 8)


class Hasty:
    """A director that tells the second and the third start too late."""

    def __init__(self) -> None:
        self.are_missed: list[bool] = []

    def begin(self) -> float:
        return time.monotonic() + (-0.1 if len(self.are_missed) in (1, 2) else 0.4)

    def end(self, *, is_missed: bool) -> None:
        self.are_missed.append(is_missed)


def test_a_sample_whose_start_was_missed_is_repeated(mpi: Mpi) -> None:
    director, call = Hasty(), hocket.Call(ranks=2, size_bytes=800)
    ring = find("allreduce/ring")
    found = bench(mpi.installation, [ring], call, [800], share=0.1, limit_s=0, least_rounds=3, director=director)
    assert director.are_missed == [False, True, True, False, False]
    assert len(found.measurements[0].samples_s) == 3


def test_a_table_tells_whose_time_it_gives(mpi: Mpi, hocket_command: Callable[..., Ran]) -> None:
    start = f"mpi bench allreduce ring -n 2 --mpicc {mpi.installation.mpicc} --time-limit 0s --sizes 800B".split()
    out = " ".join(hocket_command(*start, "--arrivals", "rank 1, 2 ms", "--machine", "cluster").out.split())
    assert "times of a call from the last arrival until the last rank ends; arrivals: rank 1, 2 ms; clocks" in out
    assert "last arrival" in out and "deviation from cluster: median" in out
    out = " ".join(hocket_command(*start, "--cadence", "4 calls, every 2 ms").out.split())
    assert "in the mean of the calls, from when a call is due until the last rank ends" in out and "interval" in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--arrivals", "rank 2, 1 us"], "arrivals: got rank 2, expected a rank below 2"),
        (["--arrivals", "0 us, 1 us, 2 us"], "arrivals: got 3 times, expected one for each of 2 ranks"),
        (["--arrivals", "rank 1"], '--arrivals: got "rank 1", expected ranks and how late they are'),
        (["--cadence", "0 calls"], '--cadence: got "0 calls", expected 1 to 10000 calls'),
        (["--cadence", "4 calls", "--arrivals", "rank 1, 1 us"], "--cadence: expected none, as --arrivals is given"),
    ],
)
def test_bad_input_is_one_line(mpi: Mpi, bad_input: Callable[..., str], words: list[str], expected: str) -> None:
    start = f"mpi bench allreduce ring -n 2 --sizes 8B --mpicc {mpi.installation.mpicc}".split()
    assert bad_input(*start, *words).startswith(expected)
