"""`hocket study routing`: the best algorithm under each routing."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from hocket import Call, simulate
from hocket_studies import STUDIES
from hocket_studies.routing import best, machine, worth
from hocket_studies.study import Rows, Work


@pytest.fixture(scope="module")
def rows() -> Rows:
    study = STUDIES["routing"]
    scope = study.scopes["quick"]
    done: list[None] = []
    with ThreadPoolExecutor(1) as executor:
        found = study.compute("few", scope, Work(executor, lambda: done.append(None)))
    assert len(done) == study.pieces("few", scope) == len(found)
    return found


def test_one_way_for_a_pair_of_groups_leaves_policies_of_shortest_ways_nothing_to_choose(rows: Rows) -> None:
    times_s = {
        routing: [row["time_s"] for row in rows if row["network"] == "dragonfly" and row["routing"] == routing]
        for routing in ("fixed", "ecmp", "spray", "adaptive", "valiant")
    }
    fixed = times_s.pop("fixed")
    assert times_s.pop("valiant") != fixed
    assert all(others == pytest.approx(fixed) for others in times_s.values())


def test_rows_are_times_of_their_machines_and_only_draws_have_an_interval(rows: Rows) -> None:
    for row in (row for row in rows if row["algorithm"] == "rabenseifner" and row["trials"] == 1):
        of = machine(row["network"], row["routing"], row["nodes"], 32, seed=0)
        call = Call(ranks=32, size_bytes=row["size_bytes"])
        assert row["time_s"] == pytest.approx(simulate("allreduce/rabenseifner", call, machine=of).time_s.mean)
    drawn = [row for row in rows if row["low_s"] < row["high_s"]]
    assert drawn and {row["routing"] for row in drawn} == {"ecmp"}
    assert all(row["low_s"] <= row["time_s"] <= row["high_s"] for row in drawn)


def test_the_worth_is_a_quotient_of_the_best_times(rows: Rows) -> None:
    found = worth(rows)
    assert len(found) == 2 * 3 * 6
    for row in found:
        labels = {key: row[key] for key in ("network", "collective", "size_bytes", "routing")}
        plain = best(rows, **labels, nodes="scattered")
        assert not plain["knows_topology"] and plain["algorithm"] == row["best_scattered"]
        in_order = [r["time_s"] for r in rows if labels.items() <= r.items() and r["nodes"] == "in order"]
        assert row["groups_and_order"] == pytest.approx(plain["time_s"] / min(in_order))


def test_the_maps_and_the_tables_have_each_case(rows: Rows) -> None:
    study = STUDIES["routing"]
    many = [row for row in rows if row["routing"] != "ugal" or row["size_bytes"] == 4096]
    for figure, data, cases in zip(study.figures, (rows, many), (36, 34), strict=True):
        drawn = figure.draw(data, figure.title).to_dict()
        assert sorted(map(len, drawn["datasets"].values())) == [cases, cases]
    tables = study.texts({"few": rows, "many": many})
    assert [len(tables[f"routing-{name}.md"].splitlines()) for name in ("few", "many")] == [2 + 2 * 3] * 2
    assert tables["routing-many.md"].count("|  |") == 2  # UGAL, alltoall, on both networks


def test_many_ranks_leave_out_what_takes_long_to_simulate() -> None:
    study = STUDIES["routing"]
    few, many = (study.pieces(name, study.scopes["default"]) for name in ("few", "many"))
    assert few == 2 * 6 * 2 * (7 + 4 + 5 + 3 + 6 + 4)
    shortest = 2 * 4 * (2 * (5 + 3 + 6 + 4) + 4 + 2)
    assert many == shortest + 2 * 2 * (4 + 4 + 3)
    sizes = {machine(name, "fixed", "in order", 1024, 0).topology.nodes for name in ("dragonfly", "fat tree 2:1")}  # type: ignore[union-attr]
    assert sizes == {1024, 1056}
