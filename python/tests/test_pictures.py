"""Plots of all results, and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

import hocket
from hocket.drawing.encoding import picture_of
from tests.conftest import TRACE

CALL = hocket.Call(ranks=4, size_bytes=4096)
TORUS = """
name = "torus"
[network]
model = "links"
topology = "torus"
dims = [2, 2]
link_bandwidth = "1 GB/s"
"""
NOISY = hocket.Machine.load("jitter-paper")


def rows_of(chart: Any, layer: int) -> list[dict[str, Any]]:
    """The rows of a layer of a chart."""
    told = chart.to_dict()
    rows: list[dict[str, Any]] = told["datasets"][told["layer"][layer]["data"]["name"]]
    return rows


def test_trials_are_a_histogram_with_the_mean_and_its_interval() -> None:
    found = hocket.simulate("allreduce/ring", CALL, machine=NOISY, trials=hocket.Trials(200))
    chart = found.plot()
    assert sum(row["trials"] for row in rows_of(chart, 0)) == 200
    (mean,) = rows_of(chart, 1)
    low_s, high_s = found.time_s.interval
    assert (mean["low"], mean["mean"], mean["high"]) == pytest.approx(
        [1e6 * low_s, 1e6 * found.time_s.mean, 1e6 * high_s]
    )
    assert picture_of(found.plot, ".png").startswith(b"\x89PNG")


def test_trials_that_are_one_or_all_alike_are_not_drawn() -> None:
    with pytest.raises(hocket.Error, match=r"^plot: got one trial, expected several.*$"):
        hocket.simulate("allreduce/ring", CALL).plot()
    with pytest.raises(hocket.Error, match=r"^plot: got 3 trials that all take .* us, expected noise$"):
        hocket.simulate("allreduce/ring", CALL, trials=hocket.Trials(3)).plot()


def test_a_trace_has_its_critical_path_if_that_was_kept() -> None:
    traced = hocket.simulate("allreduce/ring", CALL, keep=["events"])
    followed = hocket.simulate("allreduce/ring", CALL, keep=["events", "critical_path"])
    assert (
        traced.plot().to_dict()["title"]["text"] == "allreduce ring, 4 ranks, 4 KiB, elements of 4 B, machine cluster"
    )
    assert len(traced.plot().to_dict()["layer"]) == 2
    assert len(rows_of(followed.plot(), 2)) == len(followed.critical_path) > 0


def test_an_explanation_marks_its_critical_path() -> None:
    found = hocket.explain("allreduce/ring", CALL)
    assert len(rows_of(found.plot(), 2)) == len(found.steps)


def test_a_schedule_is_drawn_as_it_runs_on_a_machine() -> None:
    schedule = hocket.record("allreduce/ring", CALL)
    assert rows_of(schedule.plot(), 0) == rows_of(hocket.simulate("allreduce/ring", CALL, keep=["events"]).plot(), 0)
    assert schedule.plot(machine=NOISY).to_dict()["title"]["text"] == "allreduce/ring, 4 ranks, machine jitter-paper"


def test_a_topology_draws_what_its_links_carried() -> None:
    topology = hocket.Machine.parse(TORUS).topology
    assert topology is not None
    uses = hocket.simulate("allreduce/ring", CALL, machine=hocket.Machine.parse(TORUS), keep=["links"]).link_uses
    told = topology.plot({"ring": uses}, load="busy").to_dict()
    drawn = [row["busy"] for rows in told["datasets"].values() for row in json.loads(rows)]
    most_s = max(use.busy_s for use in uses)
    assert sorted(share for share in drawn if share) == sorted(use.busy_s / most_s for use in uses)
    with pytest.raises(hocket.Error, match=r"load: got 'colour', expected one of bytes, busy, waiting"):
        topology.plot({"ring": uses}, load="colour")  # type: ignore[arg-type]


def test_a_replay_draws_how_ranks_spent_their_time() -> None:
    found = hocket.replay(TRACE)
    told = found.plot().to_dict()
    (rows,) = told["datasets"].values()
    by_rank = [sum(row["time_s"] for row in rows if row["rank"] == rank) for rank in range(found.ranks)]
    assert by_rank == pytest.approx([use.time_s for use in found.rank_uses])
    waiting = [row["time_s"] for row in rows if row["what"] == "waiting for others"]
    assert waiting == [use.waiting_s for use in found.rank_uses]


def test_a_comparison_is_time_over_size() -> None:
    found = hocket.compare(["allreduce/ring"], [CALL])
    assert (
        found.plot().to_dict()["title"]["text"]
        == found.title
        == "allreduce on 4 ranks, elements of 4 B, machine cluster"
    )


def test_a_page_escapes_names() -> None:
    schedule = hocket.Schedule.of("</script><b>", hocket.record("allreduce/ring", CALL).data)
    page = picture_of(schedule.plot, ".html").decode()
    assert "</script><b>" not in page and r"\u003c/script>\u003cb>" in page
