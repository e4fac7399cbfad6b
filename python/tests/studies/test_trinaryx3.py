"""The study of Trinaryx3."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hocket.base.parallel import workers
from hocket.definitions.verification import verify
from hocket.simulating.simulation import LinkUse
from hocket_studies import trinaryx3
from hocket_studies.study import Work
from hocket_studies.trinaryx3 import (
    COPY_BYTES_PER_S,
    GIB,
    LATENCY_S,
    OVERLAPPED,
    REDUCE_BYTES_PER_S,
    RING,
    STUDY,
    TRINARYX3,
    Run,
    Torus,
    blocking_ring_s,
    bound_s,
    machine,
    measured,
    ring_s,
    simulated,
)
from hocket_studies.trinaryx3_ring import blocking_ring
from hocket_studies.trinaryx3_waiting import Case, cases, shares

SMALL = (4, 3, 2)


def test_a_ring_takes_what_its_formula_says() -> None:
    run = Run(RING, SMALL, 24 * 1024, changes=(("ports", 1),))
    expected = ring_s(run.size_bytes, run.ranks, reduce_bytes_per_s=REDUCE_BYTES_PER_S)
    assert simulated(run).time_s.mean == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize("copied", [False, True])
def test_a_ring_of_blocking_messages_takes_what_its_formula_says(in_turn: bool, copied: bool) -> None:
    run = Run(RING, SMALL, 24 * 1024, changes=(("ports", 1),))
    copy = {"copy_bytes_per_s": COPY_BYTES_PER_S} if copied else {}
    expected = ring_s(
        run.size_bytes, run.ranks, reduce_bytes_per_s=REDUCE_BYTES_PER_S, simultaneous=not in_turn, **copy
    )
    assert blocking_ring_s(run, in_turn=in_turn, copied=copied) == pytest.approx(expected, rel=1e-9)


def test_a_ring_of_blocking_messages_is_right() -> None:
    assert verify(blocking_ring, range(1, 7)).ok


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


TORUS = (8, 6, 4)


def test_each_placement_puts_every_rank_on_a_node_of_its_own() -> None:
    for case in cases(TORUS):
        for nodes in case.placements:
            assert nodes is None or sorted(nodes) == list(range(math.prod(case.dims)))


def test_neighbours_in_the_torus_are_neighbours_in_the_network_of_six_axes() -> None:
    case = next(case for case in cases(TORUS) if case.value == "routes XYZabc, ranks x, then y, then z")
    nodes = case.placements[0]
    assert nodes is not None
    for rank in range(math.prod(TORUS)):
        for axis, stride in enumerate((1, 8, 48)):
            along = rank // stride % TORUS[axis]
            ahead = rank + ((along + 1) % TORUS[axis] - along) * stride
            assert _hops(case.dims, nodes[rank], nodes[ahead]) == 1


def _hops(dims: tuple[int, ...], a: int, b: int) -> int:
    hops = 0
    for size in dims:
        apart = (a - b) % size
        hops += min(apart, size - apart)
        a, b = a // size, b // size
    return hops


def test_shares_count_links_by_how_long_something_waited() -> None:
    case = Case("numbering", "any", (4, 2), size_bytes=4096)  # 8 nodes, each with 2 + 1 links
    waiting_s = (0.0, 1e-9, 3e-6, 6e-6, 40e-6)
    uses = [LinkUse(index, "", 1.0, 1.0, waited) for index, waited in enumerate(waiting_s)]
    found = shares(case, uses, 1e9)
    assert found == {
        "links": 24,
        "used_share": 5 / 24,
        "of_all": 4 / 24,
        "of_used": 4 / 5,
        "of_ten_per_node": 4 / 80,
        "longer_than_packet": 3 / 24,
        "longer_than_message": 2 / 24,
        "longer_than_8_messages": 1 / 24,
    }


@pytest.mark.parametrize(("data", "torus"), [("waiting", (6, 4, 4)), ("ring", (4, 2, 2))])
def test_data_can_be_computed_and_drawn(data: str, torus: Torus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(trinaryx3._REACH, "quick", replace(trinaryx3._REACH["quick"], torus=torus))
    done: list[None] = []
    with workers() as executor:
        rows = STUDY.compute(data, STUDY.scopes["quick"], Work(executor, lambda: done.append(None)))
    assert len(done) == STUDY.pieces(data, STUDY.scopes["quick"])
    (figure,) = (figure for figure in STUDY.figures if figure.data == data)
    assert figure.draw(rows, figure.title).to_dict()
    assert STUDY.claims({data: rows})
