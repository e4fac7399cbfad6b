"""The classes of results have all values of the compiled module."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import hocket
from hocket import _native
from hocket.simulating.simulation import Circuits, Detail, Event, Links, LinkUse, Passage, Simulation
from hocket_studies.pacing_steps import StepGap, StepTime, simulate_step, steps
from tests.conftest import TRACE

CIRCUITS = """
name = "circuits"
[network]
model = "circuits"
topology = "crossbar"
nodes = 4
bandwidth = "1 GB/s"
reconfiguration = "1 us"
latency = "1 us"
ports = 1
policy = "naive"
"""
PACKETS = """
name = "packets"
[network]
model = "packets"
topology = "torus"
dims = [4]
link_bandwidth = "1 GB/s"
"""
OF_PYTHON = {"time_s", "marks", "measured_interval_s", "measured_ratio", "measured_ranks"}
CALL = hocket.Call(ranks=4, size_bytes=64)


def told(monkeypatch: pytest.MonkeyPatch, name: str, ask: Callable[[], object], of: object = _native) -> Any:
    """The answer of a function of the compiled module, or of one of its classes."""
    answers = []
    function = getattr(of, name)

    def listen(*given: Any, **more: Any) -> Any:
        answers.append(function(*given, **more))
        return answers[-1]

    monkeypatch.setattr(of, name, listen)
    ask()
    return answers[-1]


def simulated(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], object]) -> Any:
    """The answer to a request for a simulation."""
    return told(monkeypatch, "simulate", ask, _native.Request)


def names(kind: Any) -> set[str]:
    """The fields of a class."""
    return {field.name for field in fields(kind)}


def test_a_simulation_is_made_of_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = hocket.Machine.parse(CIRCUITS)

    def kept(name: Detail) -> None:
        hocket.simulate("alltoall/linear", CALL, machine=machine, keep=[name])

    found = simulated(monkeypatch, lambda: hocket.simulate("alltoall/linear", CALL, machine=machine))
    assert found.keys() | OF_PYTHON == names(Simulation)
    assert found["links"].keys() == names(Links)
    assert found["circuits"].keys() == names(Circuits)
    found = simulated(monkeypatch, lambda: kept("events"))
    assert found["events"][0].keys() == names(Event)
    found = simulated(monkeypatch, lambda: kept("links"))
    assert found["link_uses"][0].keys() == names(LinkUse)
    machine = hocket.Machine.parse(PACKETS, "packets.toml")
    found = simulated(monkeypatch, lambda: kept("passages"))
    assert found["passages"][0].keys() == names(Passage)


def test_a_schedule_tells_what_a_call_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = hocket.record("allreduce/ring", CALL)
    found = simulated(monkeypatch, lambda: hocket.simulate(schedule))
    assert found.keys() | OF_PYTHON == names(Simulation)


def test_a_replay_is_made_of_what_is_told_and_of_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    found = told(monkeypatch, "replay", lambda: hocket.replay(TRACE))["replay"]
    assert found.keys() | {"time_s", "program", "calls", "traced_s"} == names(hocket.Replay)
    assert found["functions"][0].keys() == names(hocket.FunctionUse)
    assert found["rank_uses"][0].keys() == names(hocket.RankUse)
    assert found["algorithms"][0].keys() == names(hocket.AlgorithmUse)


def test_steps_are_made_of_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, exchange = hocket.Machine.parse(PACKETS), "alltoall/pairwise_exchange"
    (first, *_) = told(monkeypatch, "steps", lambda: steps(exchange, CALL, machine=machine))
    assert first.keys() == names(StepGap)
    found = told(monkeypatch, "simulate_step", lambda: simulate_step(exchange, CALL, 1, machine=machine))
    assert found.keys() == names(StepTime)
    simulated = hocket.simulate(exchange, CALL, machine=machine)
    assert simulated.steps[0].keys() == names(StepGap)


def test_a_delivery_is_made_of_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = told(
        monkeypatch, "simulate_multicast", lambda: hocket.simulate_multicast([[1, 2]], 8, ranks=4, machine="cluster")
    )
    assert found.keys() == names(hocket.Delivery)


def test_the_statistics_of_one_time_are_those_of_an_array_of_it() -> None:
    times = np.array([1.25e-6])
    assert hocket.Statistics.of((1.25e-6,)) == hocket.Statistics.of(times)


def test_results_carry_the_version_of_the_package() -> None:
    from importlib.metadata import version

    assert hocket.simulate("allreduce/ring", CALL).version == hocket.__version__ == version("hocket")
