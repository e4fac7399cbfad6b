"""Results as rows: data frames and JSON have the same columns; notebooks show a small table."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket.base.results import Result
from tests.conftest import TRACE

CALL = hocket.Call(ranks=8, size_bytes=4096)
MEASURED = hocket.Measurement(
    collective="allreduce", algorithm="ring", ranks=8, size_bytes=4096, time_s=1e-5, source="times.csv:2"
)
GRID = """
ranks = [4, 5]
sizes = ["8B", "64KiB"]
seed = 18446744073709551615
[algorithms]
"allreduce/recursive_doubling" = {}
"allreduce/redundant_butterfly" = { T = [0, 3] }
"allgather/neighbor_exchange" = {}
"""
TORUS = """
name = "torus"
[network]
model = "links"
topology = "torus"
dims = [2, 2]
link_bandwidth = "1 GB/s"
"""
MARKUP = '<b>"&'


def parsed() -> hocket.Topology:
    topology = hocket.Machine.parse(TORUS).topology
    assert topology is not None
    return topology


RESULTS: dict[str, Callable[[], Result]] = {
    "Assessment": lambda: hocket.judge([MEASURED], machine="cluster"),
    "Changes": lambda: hocket.changes([MEASURED], [MEASURED]),
    "Comparison": lambda: hocket.compare(["allreduce/ring", "allreduce/redundant_butterfly"], [CALL]),
    "Estimate": lambda: hocket.estimate("broadcast/chain", CALL),
    "Explanation": lambda: hocket.explain("allreduce/ring", CALL),
    "Fit": lambda: hocket.fit([MEASURED], machine="cluster"),
    "Replay": lambda: hocket.replay(TRACE),
    "Schedule": lambda: hocket.record("allreduce/ring", CALL),
    "Simulation": lambda: hocket.simulate("allreduce/ring", CALL),
    "Table": lambda: hocket.sweep(hocket.Grid.parse(GRID)),
    "Together": lambda: hocket.simulate_together(["allreduce ring 4KiB, 4 ranks", "barrier dissemination, 4 ranks"]),
    "Topology": parsed,
    "Verdict": lambda: hocket.verify("allreduce/recursive_doubling", range(1, 6)),
}


@pytest.fixture(scope="module", params=RESULTS)
def result(request: pytest.FixtureRequest) -> Result:
    return RESULTS[request.param]()


def test_every_class_of_results_is_here() -> None:
    public = {name for name in hocket.__all__ if isinstance(getattr(hocket, name), type)}
    assert {name for name in public if issubclass(getattr(hocket, name), Result)} == RESULTS.keys()


def test_a_data_frame_has_the_records(result: Result) -> None:
    records = result.records()
    columns = list(dict.fromkeys(name for record in records for name in record))
    pandas, polars = result.to_pandas(), result.to_polars()
    assert list(pandas.columns) == polars.columns == columns
    assert len(pandas) == len(polars) == len(records) > 0
    for record, row in zip(records, polars.to_dicts(), strict=True):
        assert {name: value for name, value in row.items() if value is not None} == {
            name: value for name, value in record.items() if value is not None
        }
    numbers = [name for name in columns if name.endswith("_s") and records[0].get(name) is not None]
    assert all(pandas[name].iloc[0] == records[0][name] for name in numbers)


def test_columns_are_named_as_in_json(hocket_command: Callable[..., Any], tmp_path: Path) -> None:
    """The JSON of the command line has the same names and values."""
    (tmp_path / "grid.toml").write_text(GRID)
    shown = hocket_command("verify allreduce recursive_doubling --ranks 1-5 --json").json
    told = {
        "Comparison": hocket_command(
            "compare allreduce ring redundant_butterfly --ranks 8 --sizes 4KiB --jobs 2 --json"
        ).json["results"],
        "Replay": hocket_command("replay", TRACE, "--json").json["functions"],
        "Simulation": [hocket_command("simulate allreduce ring --ranks 8 --size 4KiB --json").json],
        "Table": hocket_command("sweep", tmp_path / "grid.toml", "--json").json["rows"],
    }
    columns = {field.name for field in fields(hocket.Row)}
    for name, rows in told.items():
        for record, row in zip(RESULTS[name]().records(), rows, strict=True):
            same = (record.keys() & row.keys()) - {"parameters", "faults"}
            assert {key: record[key] for key in same} == {key: row[key] for key in same}
            flattened = {key.replace("rank_time_", "time_") for key in record if not key.startswith("param_")}
            assert flattened <= row.keys() | columns
    (record,), statistics = RESULTS["Simulation"]().records(), told["Simulation"][0]["time_s"]
    names = ("mean", "min", "max", "stderr")
    assert {name: record[f"time_{name}_s"] for name in names} == {name: statistics[name] for name in names}
    assert [record["time_interval_low_s"], record["time_interval_high_s"]] == statistics["interval"]
    assert record["time_q95_s"] == statistics["quantiles"]["0.95"]
    assert record["rank_time_min_s"] == told["Simulation"][0]["rank_time_s"]["min"]
    step = hocket_command("explain allreduce ring --ranks 8 --size 4KiB --json").json["steps"][0]
    known = {*step, *step["event"], *(f"{part}_s" for part in step["parts_s"])}
    parts = {f"{part}_s" for part in ("overhead", "waiting", "fault", "noise", "computation")}
    assert set(RESULTS["Explanation"]().records()[0]) <= known | parts
    assert sum(record["checked"] for record in RESULTS["Verdict"]().records()) == shown["checked"]


def test_the_rows_of_a_schedule_are_its_tasks() -> None:
    schedule = hocket.record("broadcast/binomial", hocket.Call(ranks=2, size_bytes=8))
    send, recv = schedule.records()
    assert (send["action"], send["rank"], send["to"], send["bytes"]) == ("send", 0, 1, 8)
    assert (recv["action"], recv["rank"], recv["from"], recv["bytes"]) == ("recv", 1, 0, 8)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_data_frame_needs_its_package(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(hocket.Error, match=f"{package} cannot be used here.*`pip install {package}`$"):
        getattr(RESULTS["Simulation"](), f"to_{package}")()


def test_a_notebook_shows_a_title_and_a_few_rows(result: Result) -> None:
    shown = result._repr_html_()
    assert shown.count("<tr>") <= 11
    assert "<strong>" in shown and result.title.partition(",")[0] in shown


def test_what_a_notebook_shows_is_escaped() -> None:
    row = replace(hocket.sweep(hocket.Grid.parse(GRID)).rows[0], machine=MARKUP)
    found = replace(hocket.simulate("allreduce/ring", CALL), machine=MARKUP)
    for shown in (hocket.Table((row,))._repr_html_(), found._repr_html_()):
        assert "&lt;b&gt;&quot;&amp;" in shown and "<b>" not in shown


def test_a_verdict_says_what_it_is() -> None:
    assert repr(hocket.verify("allreduce/ring", [2, 3])) == "<Verdict ok: allreduce/ring, P = 2-3, 22 calls checked>"


def test_a_result_of_another_process_draws_itself(tmp_path: Path) -> None:
    """The other process has not loaded Hocket."""
    file = tmp_path / "found.pickle"
    file.write_bytes(pickle.dumps(RESULTS["Comparison"]()))
    code = f"import pickle; print(type(pickle.load(open({str(file)!r}, 'rb')).plot()).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "LayerChart\n"
