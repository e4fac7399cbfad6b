"""Public functions return a result or raise the documented error in one line, for any arguments."""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hocket
from hocket.simulating.simulation import trials_request
from tests.conftest import TRACE

CALL = hocket.Call(ranks=4, size_bytes=64)
GRID = 'ranks = 4\nsizes = "8B"\n[algorithms]\n"allreduce/ring" = {}\n'
TORUS = """
name = "torus"
[network]
model = "links"
topology = "torus"
dims = [2, 2]
link_bandwidth = "1 GB/s"
link_latency = "1 us"
"""
VALUES: tuple[Any, ...] = (
    *(None, True, 5, -1, 1 << 70, 1.5, math.nan, "x", "", "a\0b", "\udcff", b"x", [], [None], [5], ["x"], (1, 2)),
    *({}, {1: 2}, {"x": 5}, object(), hocket.Call, CALL, np.array([1.5]), np.arange(3), np.zeros((30, 30))),
)


def copy(r: Any, c: Any) -> Iterator[Any]:
    yield r.copy(c.input(r), c.result(r))


def declared(**options: Any) -> hocket.Algorithm:
    return hocket.algorithm(options.pop("collective", "allreduce"), **options)(options.pop("program", copy))


def nothing(*_: Any) -> None:
    pass


ON_MACHINE = {"machine": "cluster", "engine": "auto", "trials": hocket.Trials()}
CALLED: dict[str, Any] = {"what": "allreduce/ring", "call": CALL}
RECORDED = hocket.record("allreduce/ring", CALL)
REPLAYED = {"trace": TRACE, "machine": "cluster", "rules": "", "scale_compute": 1.0, "trials": hocket.Trials()}
TUNED = {
    **{"collectives": "barrier", "ranks": 2, "sizes": "8B", "machine": "cluster", "library": "mpich-5.0"},
    **{"tolerance": 0.03, "trials": hocket.Trials(), "folder": None, "executor": None},
}
VERIFIED = {"ranks": [2], "parameters": {}, "executor": None, "on_done": nothing}
RUN = {"operator": "sum", "commutative": True, "root": 0, "in_place": False, "parameters": {}}
MEASURED = hocket.Measurement(collective="allreduce", algorithm="ring", ranks=4, size_bytes=64, time_s=1e-5)
TABLE = hocket.sweep(hocket.Grid.parse(GRID))

FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "algorithms": (hocket.algorithms, {"collective": "allreduce", "among": hocket.catalogue()}),
    "find": (hocket.find, {"label": "allreduce/ring", "among": hocket.catalogue()}),
    "load": (hocket.load, {"path": "nowhere.py"}),
    "tune": (hocket.tune, TUNED),
    "tune_measured": (
        hocket.tune_measured,
        {"measurements": [MEASURED, replace(MEASURED, algorithm="default")], "tolerance": 0.03, "order": "any"},
    ),
    "simulate": (hocket.simulate, {**CALLED, **ON_MACHINE, "keep": ["events"], "on_trials": nothing}),
    "simulate a schedule": (hocket.simulate, {"what": RECORDED, "call": None, **ON_MACHINE}),
    "record": (hocket.record, {"algorithm": "allreduce/ring", "call": CALL}),
    "compare": (
        hocket.compare,
        {"algorithms": ["allreduce/ring"], "calls": [CALL], **ON_MACHINE, "executor": None, "on_done": nothing},
    ),
    "compare at sizes": (hocket.compare, {"algorithms": "allreduce/ring", "ranks": 4, "sizes": "8B..64B"}),
    "verify": (hocket.verify, {"algorithms": "allreduce/ring", **VERIFIED}),
    "verify several": (hocket.verify, {"algorithms": [hocket.find("allreduce/ring")], **VERIFIED}),
    "run": (hocket.run, {"algorithm": "allreduce/ring", "inputs": [np.arange(4)] * 4, **RUN}),
    "run with an operator": (
        hocket.run,
        {"algorithm": "allreduce/linear", "inputs": [np.arange(4)] * 4, **RUN, "operator": np.add},
    ),
    "run alltoall": (hocket.run, {"algorithm": "alltoall/linear", "inputs": [np.arange(4)] * 4}),
    "run scatter": (hocket.run, {"algorithm": "scatter/linear", "inputs": [np.arange(4)] * 4, "root": 0}),
    "run barrier": (hocket.run, {"algorithm": "barrier/dissemination", "inputs": [None] * 4}),
    "simulate_multicast": (
        hocket.simulate_multicast,
        {
            **{"groups": [[1, 2]], "size_bytes": 8, "ranks": 4, "machine": "cluster", "algorithm": "binomial"},
            **{"way": "multicast", "master": 0, "parameters": {}},
        },
    ),
    "fit": (
        hocket.fit,
        {
            **{"measurements": [MEASURED], "machine": "cluster", "only": [], "hold_out": [], "cells": 3, "starts": 1},
            **{"seed": 0, "time_limit_s": None, "executor": None, "on_done": nothing},
        },
    ),
    "Measurement": (
        lambda **given: hocket.fit([hocket.Measurement(**given)], machine="cluster").to_pandas(),
        {**vars(MEASURED), "source": "a:1"},
    ),
    "Spread": (hocket.Spread, {"low_s": 1e-6, "high_s": 2e-6, "what": "iterations", "iterations": 10}),
    "read_measurements": (hocket.read_measurements, {"path": "nowhere.csv", "facts": None}),
    "changes": (hocket.changes, {"before": [MEASURED], "after": [MEASURED], "tolerance": 0.1}),
    "sweep": (hocket.sweep, {"grid": hocket.Grid.parse(GRID), "output": None, "executor": None, "on_done": nothing}),
    "replay": (hocket.replay, REPLAYED),
    "replay_events": (hocket.replay_events, REPLAYED),
    "Machine.load": (hocket.Machine.load, {"name": "cluster"}),
    "Machine.parse": (hocket.Machine.parse, {"text": TORUS, "file": "torus.toml"}),
    "Grid.load": (hocket.Grid.load, {"path": "nowhere.toml"}),
    "Grid.parse": (hocket.Grid.parse, {"text": GRID, "file": "grid.toml"}),
    "Schedule": (lambda **given: hocket.simulate(hocket.Schedule(**given)), vars(RECORDED)),
    "Schedule.of": (hocket.Schedule.of, {"name": "ring", "data": RECORDED.data}),
    "Schedule.load": (hocket.Schedule.load, {"path": "nowhere.goal"}),
    "Schedule.as_goal": (RECORDED.as_goal, {"machine": hocket.Machine.load("cluster")}),
    "Topology.parts": (lambda most: torus().parts(most), {"most": 3}),
    "Topology.route": (lambda **ends: torus().route(**ends), {"source": 0, "target": 3}),
    "algorithm": (declared, {"collective": "allreduce", "refuses": None, "parameters": (), "cost": None}),
    "algorithm used": (lambda **given: hocket.simulate(declared(**given), CALL), {"refuses": None, "parameters": ()}),
    "algorithm verified": (lambda **given: hocket.verify(declared(**given), [1]), {"refuses": None, "parameters": ()}),
    "algorithm of what is no program": (lambda program: hocket.algorithm("scan")(program), {"program": copy}),
    "Parameter": (
        lambda **given: hocket.simulate(declared(parameters=[hocket.Parameter(**given)]), CALL),
        {"name": "a", "unit": "count", "default": 1, "least": 1, "meaning": ""},
    ),
    "Call": (lambda **given: hocket.simulate("allreduce/ring", hocket.Call(**given)), vars(CALL)),
    "gap": (lambda gap: simulate("alltoall/linear", {"gap": gap}), {"gap": 0}),
    "parameter": (lambda value: simulate("broadcast/chain", {"segment": value}), {"value": 8}),
    "Trials": (
        lambda **given: hocket.simulate(**CALLED, machine="jitter-paper", trials=hocket.Trials(**given)),
        {"count": 3, "seed": 0, "until_interval": None, "threads": None, "first": 0},
    ),
    "fastest": (hocket.compare(["allreduce/ring"], [CALL]).fastest, {"size_bytes": 64}),
    "Table.write": (TABLE.write, {"path": "table.csv"}),
    "Table.load": (hocket.Table.load, {"path": "nowhere.csv"}),
    "Table.plot": (TABLE.plot, {"x": None, "color": None, "facet": None}),
    "Schedule.plot": (RECORDED.plot, {"machine": "cluster"}),
    "Topology.plot": (lambda **given: torus().plot(**given), {"uses": {"x": ()}, "load": "bytes"}),
    "Statistics.of": (hocket.Statistics.of, {"times_s": [1.0]}),
}


def simulate(label: str, parameters: dict[str, Any]) -> hocket.Simulation:
    return hocket.simulate(label, hocket.Call(ranks=4, size_bytes=8, parameters=parameters))


def torus() -> hocket.Topology:
    found = hocket.Machine.parse(TORUS).topology
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name, (_, right) in FUNCTIONS.items() for argument in right]
)
def test_a_value_that_makes_no_sense_is_one_line(
    name: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, right = FUNCTIONS[name]
    for value in VALUES:
        if argument in ("on_done", "operator") and callable(value):
            continue  # errors of its own functions
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                function(**{**right, argument: value})
            except hocket.Error as error:
                assert "\n" not in str(error) and len(str(error)) < 1000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: hocket.sweep({}), r"grid: got \{\}, expected a path"),  # type: ignore[arg-type]
        (lambda: trials_request(hocket.Trials(threads=0)), "threads: got 0, expected at least 1, or None"),
        (lambda: trials_request(hocket.Trials(until_interval=math.nan)), "until_interval: got nan, expected a share"),
        (lambda: hocket.simulate("allreduce/ring", hocket.Call(ranks=True, size_bytes=8)), "ranks: got True, expected"),
        (lambda: hocket.simulate(**CALLED, trials=hocket.Trials(np.True_)), r"trials: got np.True_, expected a whole"),
        (lambda: hocket.verify("allreduce/ring", [2], executor=5), "executor: got 5, expected one of concurrent"),  # type: ignore[arg-type]
        (
            lambda: hocket.compare(["allreduce/ring"], [CALL]).fastest("unknown"),  # type: ignore[arg-type]
            "size_bytes: got 'unknown', expected a whole number",
        ),
        (
            lambda: hocket.compare(["allreduce/ring"], [CALL]).fastest(8),
            "size_bytes: got 8, expected one of the compared sizes: 64",
        ),
        (
            lambda: hocket.simulate(declared(refuses=lambda _: True), CALL),
            "allreduce/copy: refuses returned True, expected a sentence, or None",
        ),
        (
            lambda: hocket.verify(declared(refuses=lambda _: True), [2]),
            "allreduce/copy: refuses returned True, expected a sentence, or None",
        ),
        (lambda: hocket.Statistics.of([math.nan]), r"times_s: got \[nan\], expected finite numbers, one at least"),
    ],
)
def test_a_value_is_refused_by_its_name(wrong: Callable[[], Any], message: str) -> None:
    with pytest.raises(hocket.Error, match=f"^{message}"):
        wrong()


@pytest.mark.parametrize(
    "operator", [lambda left, right: "text", lambda left, right: object(), lambda left, right: None]
)
def test_an_operator_that_returns_no_array_is_refused(operator: Any) -> None:
    with pytest.raises(hocket.Error, match=r"^operator: returned .*, expected an array of int64$"):
        hocket.run("allreduce/ring", [np.arange(3), np.arange(3)], operator=operator)


@pytest.mark.parametrize("inputs", [[None] * 5, [np.zeros(0, "int16")] * 5])
def test_a_barrier_runs(inputs: list[Any]) -> None:
    for algorithm in hocket.algorithms("barrier"):
        results = hocket.run(algorithm, inputs)
        assert [len(result) for result in results] == [0] * 5


def test_everything_public_is_there_once_it_is_asked_for() -> None:
    assert dir(hocket) == sorted({*hocket.__all__, "__version__"})
    assert all(getattr(hocket, name) is not None for name in hocket.__all__)
    with pytest.raises(AttributeError, match="module 'hocket' has no attribute 'foo'"):
        _ = hocket.foo
