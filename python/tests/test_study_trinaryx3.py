"""The study of Trinaryx3."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hocket.studies import trinaryx3
from hocket.studies.study import Work
from hocket.studies.trinaryx3 import (
    GIB,
    LATENCY_S,
    LINK_BYTES_PER_S,
    OVERLAPPED,
    REDUCE_BYTES_PER_S,
    RING,
    STUDY,
    TRINARYX3,
    Run,
    bound_s,
    machine,
    measured,
    ring_s,
    simulated,
)

SMALL = (4, 3, 2)


def test_a_ring_takes_what_its_formula_says() -> None:
    run = Run(RING, SMALL, 24 * 1024, changes=(("ports", 1),))
    expected = ring_s(run.size_bytes, run.ranks, reduce_bytes_per_s=REDUCE_BYTES_PER_S)
    assert simulated(run).time_s.mean == pytest.approx(expected, rel=1e-12)


def test_a_ring_that_sends_and_receives_in_turn_takes_longer_by_its_transfers() -> None:
    both, one = (ring_s(GIB, 24, reduce_bytes_per_s=1e9, simultaneous=is_so) for is_so in (True, False))
    assert one - both == pytest.approx(2 * 23 / 24 * GIB / LINK_BYTES_PER_S)


@pytest.mark.parametrize("algorithm", [TRINARYX3, OVERLAPPED])
def test_extrapolation_is_right_where_the_pipeline_is_long(algorithm: str) -> None:
    run = Run(algorithm, SMALL, 3 * 4096 * 400, 4096)
    found, how = measured(run, 100)
    assert how == "extrapolated from 921600 and 1228800 B"
    assert found == pytest.approx(simulated(run).time_s.mean, rel=0.01)
    assert measured(replace(run, size_bytes=4096), 100)[1] == "simulated"


def test_full_simulates_a_gibibyte_as_a_whole_beside_what_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    whole: dict[str, set[Run]] = {}

    def one_second_per_gib(run: Run) -> SimpleNamespace:
        if run.size_bytes == GIB and run.torus == (48, 6, 32):
            whole.setdefault(data, set()).add(run)
        return SimpleNamespace(time_s=SimpleNamespace(mean=run.size_bytes / GIB))

    monkeypatch.setattr(trinaryx3, "simulated", one_second_per_gib)
    rows = {}
    with ThreadPoolExecutor(1) as executor:
        for data in ("bandwidth", "check"):
            rows[data] = STUDY.compute(data, STUDY.scopes["full"], Work(executor, lambda: None))
    assert {run.algorithm for run in whole["check"]} == {TRINARYX3, OVERLAPPED, RING}
    assert whole["check"] < whole["bandwidth"]
    assert {row["how"] for row in rows["bandwidth"] if row["size_bytes"] == GIB} == {"simulated"}
    estimated = {row["algorithm"]: (row["from"].split()[0], row["error"]) for row in rows["check"]}
    assert estimated["trinaryx3"] == ("extrapolated", pytest.approx(0, abs=1e-9))
    formula_s = ring_s(GIB, 9216, reduce_bytes_per_s=REDUCE_BYTES_PER_S)
    assert estimated["ring"] == ("formula", pytest.approx(formula_s - 1))


def test_nothing_is_faster_than_the_bound() -> None:
    for algorithm in (TRINARYX3, OVERLAPPED, "allreduce/torus_bucket"):
        run = Run(algorithm, SMALL, 1 << 20)
        bound = bound_s(run.size_bytes, run.ranks, ports=4, reduce_bytes_per_s=REDUCE_BYTES_PER_S)
        assert simulated(run).time_s.mean > bound


def test_the_machine_is_the_preset_with_other_keys() -> None:
    changed = machine(SMALL, {"ports": 6, "permutation": (*range(1, 24), 0)})
    assert "ports = 6" in changed.text
    assert "dims = [4, 3, 2]" in changed.text
    assert f'software_latency = "{LATENCY_S * 1e6:g} us"' in changed.text


@pytest.mark.parametrize("scope", STUDY.scopes.values(), ids=lambda scope: scope.name)
def test_all_data_have_pieces(scope: object) -> None:
    names = {figure.data for figure in STUDY.figures}
    assert all(STUDY.pieces(name, scope) > 0 for name in names)  # type: ignore[arg-type]
