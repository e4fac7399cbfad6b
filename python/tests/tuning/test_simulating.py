"""Tuning by simulation: each algorithm at its best, and all choices of a row at each of its points."""

from __future__ import annotations

from pathlib import Path

import pytest

import hocket
from hocket.base.parallel import workers
from hocket.definitions.library import find
from hocket.tuning.candidates import call_at, order_of
from hocket.tuning.choice import Point
from hocket.tuning.records import PointRecord, Records
from hocket.tuning.simulating import Simulated, choices_of_rows, simulate_points

POINTS = [Point("broadcast", 24, size_bytes) for size_bytes in (8, 4096, 128 << 10, 4 << 20)]


def records_of(folder: Path, evaluator: Simulated) -> list[PointRecord]:
    with Records(folder / "records", {}) as records:
        simulate_points(POINTS[1:], (), evaluator, records)
        simulate_points(POINTS[:1], POINTS[1:], evaluator, records)
        return records.select(POINTS)


@pytest.mark.parametrize("machine", ["cluster", "fugaku", "loggp-infiniband"])
def test_the_fastest_choice_is_as_fast_as_the_best_of_a_comparison(tmp_path: Path, machine: str) -> None:
    best = hocket.compare("broadcast", list(map(call_at, POINTS)), machine=machine, at_best=True).times_s
    for one in records_of(tmp_path, Simulated(hocket.Machine.load(machine))):
        least_s = min(time_s for (size_bytes, _), time_s in best.items() if size_bytes == one.point.size_bytes)
        assert min(each.median_s for each in one.times.values()) <= least_s


def test_all_points_know_the_choices_of_earlier_ones(tmp_path: Path) -> None:
    last, *others = records_of(tmp_path, Simulated(hocket.Machine.load("cluster")))
    assert {frozenset(one.times) for one in others} == {frozenset(others[0].times)}
    assert last.times.keys() >= others[0].times.keys()


def test_a_fixed_order_keeps_every_algorithm_that_has_an_order() -> None:
    point, machine = Point("allreduce", 8, 4096), hocket.Machine.load("cluster")
    calls = [(point, call_at(point))]
    fast, kept = (
        choices_of_rows(calls, Simulated(machine, order_is_fixed=is_fixed), None)[point.row]
        for is_fixed in (False, True)
    )
    assert fast <= kept
    names = {each.name for each in kept}
    assert {"recursive_doubling", "rabenseifner", "bine"} <= names and "ring" not in names
    assert all(order_of(point, each) is not None for each in kept - fast)


def test_a_library_sets_only_its_own_parameters() -> None:
    point = Point("broadcast", 24, 1 << 20)
    evaluator = Simulated(hocket.Machine.load("cluster"), library="openmpi-5.0")
    for algorithm, call in evaluator.calls(point, call_at(point)):
        assert call.parameters.keys() <= {each.name for each in find(algorithm.label).parameters}
        assert "segment" not in call.parameters or call.parameters["segment"] == 1 << 40


def test_measurements_have_the_order_of_the_plan_with_any_number_of_jobs(tmp_path: Path) -> None:
    files = []
    for jobs in (1, 4):
        with workers(jobs) as executor:
            folder = tmp_path / str(jobs)
            hocket.tune(
                "broadcast", ranks=[4, 8], sizes="8B..64KiB", machine="cluster", folder=folder, executor=executor
            )
        files.append((folder / "measurements.jsonl").read_text())
    assert files[0] == files[1]
