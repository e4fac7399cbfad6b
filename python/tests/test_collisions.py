"""Collisions: flows on one link while a parallel link of its switch has fewer."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket.definitions.library import as_algorithm
from hocket.definitions.variants import with_network, with_routing
from hocket.simulating.collisions import ROUTINGS
from hocket.simulating.explanation import effort_s
from hocket.words.explanations import explanation_facts
from tests.conftest import Ran

POD = """name = "pod"
[network]
model = "links"
sharing = "fair"
topology = "fat_tree"
down = [4, 2]
up = [1, 4]
link_bandwidth = "12.5 GB/s"
routing = "ecmp"
"""
CALL = hocket.Call(ranks=8, size_bytes=1 << 20)
ALGORITHM = "alltoall/pairwise_exchange"


@pytest.fixture(name="pod")
def pod_machine() -> hocket.Machine:
    """Return two leaves of four nodes, with four up-links each: as many as nodes."""
    return hocket.Machine.parse(POD, "pod.toml")


def explained(machine: hocket.Machine, algorithm: str = ALGORITHM) -> hocket.Explanation:
    return hocket.explain(algorithm, CALL, machine=machine, among=[])


def test_flows_are_counted_on_the_link_that_is_named(pod: hocket.Machine) -> None:
    collisions = explained(pod).collisions
    assert collisions is not None
    passages = hocket.simulate(ALGORITHM, CALL, machine=pod, keep=["passages"]).passages
    assert pod.topology is not None
    vertices, links = pod.topology.parts(1000)
    names = {link.id: f"{vertices[link.source].name} > {vertices[link.target].name}" for link in links}
    moments = [(one.start_s + one.end_s) / 2 for one in passages]
    counts = [Counter(names[one.link] for one in passages if one.start_s < now < one.end_s) for now in moments]
    assert max(count[collisions.link] for count in counts) >= collisions.flows > collisions.even >= 1
    assert max(max(count.values()) for count in counts) <= collisions.flows
    assert collisions.parallel_links == 16


@pytest.mark.parametrize(
    ("routing", "up"),
    [("fixed", [1, 4]), ("s-mod-k", [1, 4]), ("spray", [1, 4]), ("adaptive", [1, 2]), ("ecmp", [1, 1])],
)
def test_nothing_is_told_where_flows_are_even_or_have_no_choice(
    pod: hocket.Machine, routing: str, up: list[int]
) -> None:
    machine = with_routing(with_network(pod, up=up), routing)
    assert explained(machine).collisions is None
    assert "collisions" not in dict(explanation_facts(explained(machine)))


def test_other_routings_are_simulated(pod: hocket.Machine) -> None:
    explanation = explained(with_network(pod, flows_per_pair=2))
    assert explanation.collisions is not None
    times_s = explanation.collisions.times_s
    assert {*times_s} == {"fixed", "s-mod-k", "spray", "adaptive", "valiant", "ugal"}
    for routing in ("spray", "adaptive"):
        assert times_s[routing] == hocket.simulate(ALGORITHM, CALL, machine=with_routing(pod, routing)).times_s[0]


def test_the_announced_effort_has_the_other_routings(pod: hocket.Machine) -> None:
    algorithm = as_algorithm(ALGORITHM)
    ecmp, spray = (effort_s(algorithm, CALL, machine=with_routing(pod, one)) for one in ("ecmp", "spray"))
    assert ecmp > spray


def test_every_routing_is_tried(pod: hocket.Machine) -> None:
    with pytest.raises(hocket.Error) as refused:
        with_routing(pod, "best")
    assert {*re.findall('"([^"]+)"', str(refused.value).partition("expected")[2])} == {*ROUTINGS, "d-mod-k"}


def test_without_collisions_no_routing_is_left_out() -> None:
    explanation = hocket.explain("allreduce/ring", hocket.Call(ranks=64, size_bytes=1 << 20), machine="fugaku")
    assert explanation.collisions is None and not explanation.left_out_s


def test_what_takes_much_longer_to_simulate_is_left_out_and_named(pod: hocket.Machine) -> None:
    call = hocket.Call(ranks=8, size_bytes=1 << 30)
    machine = with_network(pod, link_latency="1 ps")
    explanation = hocket.explain("allreduce/ring", call, machine=machine)
    assert explanation.left_out_s["dual_root"] > 5
    assert {*explanation.left_out_s}.isdisjoint(one.change for one in explanation.faster)
    assert "dual_root about" in dict(explanation_facts(explanation))["left out"]
    assert not explained(machine).left_out_s


def test_the_command_line_names_them_in_few_lines(tmp_path: Path, hocket_command: Callable[..., Ran]) -> None:
    (tmp_path / "pod.toml").write_text(POD)
    line = f"explain alltoall pairwise_exchange --ranks 8 --size 1MiB --machine {tmp_path / 'pod.toml'}"
    shown = hocket_command(line).out.splitlines()
    first = next(number for number, text in enumerate(shown) if text.startswith("collisions"))
    end = next(number for number, text in enumerate(shown) if "on the critical path" in text)
    assert end - first <= 6
    assert max(map(len, shown[first:end])) <= 80
    assert "times faster" in " ".join(shown[first:end])
    found = hocket_command(f"{line} --json").json["collisions"]
    assert found["flows"] > found["even"]
