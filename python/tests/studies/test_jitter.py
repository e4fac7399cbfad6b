"""The study of redundant exchanges."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock

import pytest

import hocket
from hocket_studies import jitter
from hocket_studies.study import Scope, Work

SETTINGS = [jitter.Setting(1e-6, 8, 1e-2, 1e-4), jitter.Setting(1e-6, 4000, 1e-3, 1e-5)]


@pytest.mark.parametrize("overhead_s", [0.0, 1e-7])
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("log2", [1, 2, 3, 6])
def test_the_marks_of_the_most_exchanges_are_the_times_of_fewer(
    log2: int, setting: jitter.Setting, overhead_s: float
) -> None:
    machine = jitter.machine(setting, send_overhead_s=overhead_s)

    def run(exchanges: int, threads: int) -> hocket.Simulation:
        call = hocket.Call(ranks=1 << log2, size_bytes=setting.size_bytes, parameters={"T": exchanges})
        return hocket.simulate(jitter.ALGORITHM, call, machine=machine, trials=hocket.Trials(70, threads=threads))

    for threads in (1, 2):
        assert run(log2, threads).marks_s == tuple(run(exchanges, 1).times_s for exchanges in range(log2 + 1))


FULL = Scope("full", most_ranks_log2=20, points=1, trials=30)


def test_the_largest_points_are_measured_first_and_rows_are_in_order() -> None:
    began: list[int] = []

    def row_of(cell: jitter.Cell) -> dict[str, int]:
        began.append(cell.log2)
        return {"ranks": 1 << cell.log2}

    with ThreadPoolExecutor(1) as executor:
        rows = jitter.compute("time_21_text", FULL, Work(executor, lambda: None), row_of=row_of)
    assert began == list(range(20, 0, -1))
    assert [row["ranks"] for row in rows] == [1 << log2 for log2 in range(1, 21)]


def test_of_the_points_that_take_gigabytes_one_at_a_time_is_measured() -> None:
    one_at_a_time, small_are_done = Lock(), Event()

    def row_of(cell: jitter.Cell) -> dict[str, int]:
        if cell.is_large:
            assert one_at_a_time.acquire(blocking=False)
            assert small_are_done.wait(10)  # meanwhile the other threads begin whatever they may
            one_at_a_time.release()
        elif cell.log2 == 1:
            small_are_done.set()
        return {"ranks": 1 << cell.log2}

    with ThreadPoolExecutor(3) as executor:
        rows = jitter.compute("time_21_text", FULL, Work(executor, lambda: None), row_of=row_of)
    assert [row["ranks"] for row in rows] == [1 << log2 for log2 in range(1, 21)]
