"""Times of long pipelines, estimated from a part of their segments."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

import hocket
from hocket.definitions.library import COLLECTIVES, Algorithm, catalogue
from hocket.definitions.machine import Machine
from hocket.definitions.variants import with_layout
from hocket.simulating import estimates, simulation

_MIB = 1 << 20
_CHAIN = hocket.Call(ranks=16, size_bytes=126 * _MIB, parameters={"segment": 16 << 10})
_TORUS = Machine.parse(
    """name = "torus"
[network]
model = "links"
topology = "torus"
dims = [4, 4]
link_bandwidth = "4 GB/s"
link_latency = "100 ns"
sharing = "fair"
[host]
o_send = "1 us"
o_receive = "1 us"
[node]
ports = 4
"""
)


def test_a_pipeline_that_repeats_exactly() -> None:
    found = hocket.estimate("broadcast/chain", _CHAIN)
    time_s = hocket.simulate("broadcast/chain", _CHAIN).time_s.mean
    assert found.time_s == pytest.approx(time_s, rel=1e-12)
    assert found.interval_s == pytest.approx((time_s, time_s), rel=1e-12)
    assert not found.is_exact
    assert found.simulated[-1]["size_bytes"] < _CHAIN.size_bytes / 4


@pytest.mark.parametrize("label", ["allreduce/edge_disjoint_trees", "allreduce/trinaryx3", "allreduce/dual_root"])
def test_the_interval_has_the_time_of_a_pipeline_that_nearly_repeats(label: str) -> None:
    found = hocket.estimate(label, _CHAIN, machine=_TORUS, within="5%")
    time_s = hocket.simulate(label, _CHAIN, machine=_TORUS).time_s.mean
    low_s, high_s = found.interval_s
    assert low_s * (1 - 1e-12) <= time_s <= high_s * (1 + 1e-12)
    assert high_s - low_s <= 0.1 * found.time_s
    assert not found.is_exact


@pytest.mark.parametrize("size_bytes", [128 * _MIB, 128 * _MIB + 1, 127 * _MIB - 1])
def test_a_rest_that_is_shared_unevenly_is_in_the_interval(size_bytes: int) -> None:
    machine = with_layout(Machine.load("k_computer"), "4, 4, 4")
    call = replace(_CHAIN, ranks=64, size_bytes=size_bytes)
    found = hocket.estimate("broadcast/trinaryx3", call, machine=machine)
    low_s, high_s = found.interval_s
    assert not found.is_exact
    assert low_s < hocket.simulate("broadcast/trinaryx3", call, machine=machine).time_s.mean < high_s
    assert high_s - low_s < 0.001 * found.time_s


def test_a_pipeline_that_changes_late_is_not_taken_for_one_that_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    change_bytes = 10 * _MIB

    def time_s(size_bytes: int) -> float:
        return 1.0 + size_bytes / _MIB + max(size_bytes - change_bytes, 0) / _MIB

    def sample(_: object, size_bytes: int) -> SimpleNamespace:
        mean = SimpleNamespace(mean=time_s(size_bytes))
        return SimpleNamespace(time_s=mean, messages=size_bytes // (16 << 10), message_bytes=size_bytes)

    monkeypatch.setattr(estimates._Runs, "_sample", sample)
    found = hocket.estimate("broadcast/chain", replace(_CHAIN, size_bytes=1 << 30))
    assert found.time_s == pytest.approx(time_s(1 << 30))


def test_few_segments_are_simulated() -> None:
    call = replace(_CHAIN, size_bytes=_MIB)
    found = hocket.estimate("broadcast/chain", call)
    assert found.is_exact
    assert found.time_s == hocket.simulate("broadcast/chain", call).time_s.mean
    assert found.simulated == ({"size_bytes": _MIB, "time_s": found.time_s},)


def test_automatic_segments_are_those_of_the_call() -> None:
    call = replace(_CHAIN, ranks=1024, size_bytes=1 << 30, parameters={"segment": "auto"})
    found = hocket.estimate("broadcast/chain", call)
    assert found.parameters == hocket.simulate("broadcast/chain", call).parameters
    first, second = found.simulated[:2]
    assert second["size_bytes"] - first["size_bytes"] == 96 * int(found.parameters["segment"])


def test_a_row() -> None:
    (row,) = hocket.estimate("broadcast/chain", _CHAIN).records()
    assert row["interval_low_s"] <= row["time_s"] <= row["interval_high_s"]
    assert row["param_segment"] == 16 << 10


@pytest.mark.parametrize(
    ("label", "machine", "within", "expected"),
    [
        ("allreduce/ring", "cluster", "1%", "allreduce/ring: has no segments"),
        ("broadcast/chain", "jitter-paper", "1%", "machine: jitter-paper has noise"),
        ("broadcast/chain", "cluster", 1.5, "within: got 1.5"),
        ("broadcast/chain", "cluster", "2", 'got "2", expected a share'),
    ],
)
def test_refused(label: str, machine: str, within: float | str, expected: str) -> None:
    with pytest.raises(hocket.Error, match=expected):
        hocket.estimate(label, replace(_CHAIN, parameters={}), machine=machine, within=within)


_SWITCHING = """name = "switching"
[network]
model = "loggp"
from = ["0 B", "64 B"]
L = ["1 us", "20 us"]
o = ["0.1 us", "9 us"]
G = "1 ns/B"
"""


@pytest.mark.parametrize(
    ("label", "machine", "call"),
    [
        # Segments are on their way in turns, 4 turns of 13 ranks: 8,001 segments are as no multiple of 96.
        ("broadcast/circulant", "loggp-xt4", hocket.Call(ranks=13, size_bytes=64 * 8001)),
        # Messages within nodes grow with the call.
        (
            "reduce/multi_lane",
            "dual-socket",
            hocket.Call(
                ranks=16, size_bytes=64 * 8064, parameters={"network": "binary_tree", "reduce_scatter": "ring"}
            ),
        ),
        # The last segment costs less than others.
        ("broadcast/chain", Machine.parse(_SWITCHING), hocket.Call(ranks=8, size_bytes=64 * 8064 + 63)),
    ],
)
def test_what_does_not_repeat_in_batches_is_in_the_interval(
    label: str, machine: Machine | str, call: hocket.Call
) -> None:
    call = replace(call, parameters={**call.parameters, "segment": 64})
    assert _is_near(label, call, machine) in (None, (True, True))  # None: it is simulated


def test_drawn_estimates() -> None:
    assert sum(is_inside for is_inside, _ in _drawn_estimates(random.Random(1), 5)) >= 4


@pytest.mark.long
def test_many_drawn_estimates() -> None:
    found = list(_drawn_estimates(random.Random(2), 400))
    assert sum(is_inside for is_inside, _ in found) >= 380


def _drawn_estimates(drawn: random.Random, count: int) -> Iterator[tuple[bool, bool]]:
    """Compare as many drawn calls that are estimated with their simulations; none is far off."""
    while count:
        try:
            algorithm, call, machine = _drawn_call(drawn)
            effort_s = simulation.plan(algorithm, call, machine=machine).effort_s
            found = _is_near(algorithm, call, machine) if effort_s < 0.5 else None
        except hocket.Error:
            continue
        if found is not None:
            assert found[1], (algorithm.label, call, machine)
            count -= 1
            yield found


def _is_near(what: Algorithm | str, call: hocket.Call, machine: Machine | str) -> tuple[bool, bool] | None:
    """Return whether the time is in the interval of its estimate, and whether it is not far from it; None if exact."""
    found = hocket.estimate(what, call, machine=machine)
    if found.is_exact:
        return None
    time_s = hocket.simulate(what, call, machine=machine).time_s.mean
    low_s, high_s = found.interval_s
    off_s = abs(found.time_s - time_s)
    is_inside = low_s * (1 - 1e-9) <= time_s <= high_s * (1 + 1e-9)
    return is_inside, off_s <= 3 * (high_s - low_s) / 2 + 0.01 * time_s


_LABELS = [each for each in catalogue() if any(parameter.unit == "bytes" for parameter in each.parameters)]


def _drawn_call(drawn: random.Random) -> tuple[Algorithm, hocket.Call, Machine]:
    algorithm, machine = drawn.choice(_LABELS), _drawn_machine(drawn)
    ranks, element = drawn.randint(2, 24), drawn.choice([1, 4, 8])
    if machine.name == "k_computer":
        layout = drawn.choice([(2, 2, 2), (4, 4, 2), (3, 2, 4), (5, 2, 2)])
        machine, ranks = with_layout(machine, ", ".join(map(str, layout))), math.prod(layout)
    segment = int(2 ** drawn.uniform(4, 16)) // element * element
    segments = int(10 ** drawn.uniform(3.5, 4.3))
    rest = drawn.choice([0, element * drawn.randrange(segment // element)])
    parameters: dict[str, int | str] = {"segment": segment}
    for parameter in algorithm.parameters:
        if parameter.unit == "choice" and drawn.random() < 0.6:
            parameters[parameter.name] = drawn.choice(parameter.choices)
        elif parameter.unit == "count" and drawn.random() < 0.3:
            parameters[parameter.name] = drawn.randint(1, 8)
    root = drawn.randrange(ranks) if COLLECTIVES[algorithm.collective].has_root else 0
    size_bytes = segment * segments + rest
    call = hocket.Call(ranks=ranks, size_bytes=size_bytes, root=root, element_bytes=element, parameters=parameters)
    return algorithm, call, machine


def _drawn_machine(drawn: random.Random) -> Machine:
    """Draw a preset or a machine of any model but circuits."""
    quiet = [name for name in hocket.presets() if name != "jitter-paper"]
    if drawn.random() < 0.5:
        return Machine.load(drawn.choice(quiet))

    def time(low: float, high: float) -> str:
        return f'"{10 ** drawn.uniform(low, high):.3g} us"'

    def rate(low: float, high: float) -> str:
        return f'"{10 ** drawn.uniform(low, high):.3g} GB/s"'

    def loggp() -> str:
        gap = f'"{10 ** drawn.uniform(-2, 0):.3g} ns/B"'
        return f"L = {time(-1, 1)}\no = {time(-1, 0.5)}\ng = {time(-1, 0.5)}\nG = {gap}\n"

    def hockney() -> str:
        return f"latency = {time(-1, 1)}\nbandwidth = {rate(-1, 1.5)}\n"

    model = drawn.choice(["hockney", "loggp", "links", "packets"])
    text = f'name = "drawn"\n[network]\nmodel = "{model}"\n'
    if model in ("links", "packets"):
        dims = drawn.choice([[4, 4, 2], [2, 3, 4], [8, 3], [4, 2, 2, 2]])
        text += f'topology = "torus"\ndims = {dims}\nlink_bandwidth = {rate(0, 1)}\nlink_latency = {time(-1, 0)}\n'
        text += f"[host]\no_send = {time(-1, 0.5)}\no_receive = {time(-1, 0.5)}\n"
    else:
        costs = hockney if model == "hockney" else loggp
        text += costs()
        text += drawn.choice(["", 'protocol = "eager"\n' if model == "hockney" else 'S = "256 B"\n'])
        if drawn.random() < 0.5:
            text += f"ranks_per_node = {drawn.choice([2, 3, 8])}\n[network.local]\n{costs()}"
    ports = "" if model == "loggp" else f"ports = {drawn.choice([1, 2, 4])}\n"
    return Machine.parse(f"{text}[node]\n{ports}reduce_bandwidth = {rate(-0.3, 1.5)}\n")
