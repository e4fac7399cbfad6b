"""Algorithms with their best parameters, and comparisons that end what cannot come in."""

import math
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import hocket
from hocket.definitions.calls import algorithms_for
from hocket.definitions.library import Algorithm, all_bytes
from hocket.definitions.machine import Machine
from hocket.definitions.variants import quiet
from hocket.fitting.discrepancies import with_discrepancies
from hocket.simulating.question import Contender, Question, choose
from hocket.simulating.simulation import Simulation
from hocket.typing import Call, Rank, Steps

KIB, MIB = 1 << 10, 1 << 20


def until(
    algorithm: Algorithm, call: hocket.Call, machine: Machine, until_s: float = math.inf
) -> Simulation | hocket.Later:
    """Search, and say that it is later if the time is."""
    (answer,) = Question(machine, [Contender(0, algorithm, call)], at_best=True).answer()
    if isinstance(answer.outcome, str):
        raise hocket.Error(answer.outcome)
    assert isinstance(answer.outcome, Simulation)
    return answer.outcome if answer.outcome.time_s.mean <= until_s else hocket.Later(until_s)


def at_best(algorithm: Algorithm, call: hocket.Call, machine: Machine) -> Simulation:
    result = until(algorithm, call, machine)
    assert isinstance(result, Simulation)
    return result


@pytest.mark.parametrize(
    ("label", "ranks", "size_bytes", "segment_bytes", "time_us"),
    [
        ("broadcast/circulant", 64, 128 * KIB, 16 * KIB, 34.3),
        ("broadcast/circulant", 64, 16 * KIB, 4 * KIB, 12.7),
        ("broadcast/double_tree", 64, 128 * KIB, 8 * KIB, 47.3),
        ("broadcast/chain", 64, 128 * KIB, 4 * KIB, 132.5),
        ("allreduce/dual_root", 1024, 64 * KIB, 8 * KIB, 132),
    ],
)
def test_an_algorithm_has_the_segments_that_its_author_would_choose(
    label: str, ranks: int, size_bytes: int, segment_bytes: int, time_us: float
) -> None:
    call = hocket.Call(ranks=ranks, size_bytes=size_bytes)
    result = at_best(hocket.find(label), call, hocket.Machine.load("cluster"))
    assert result.parameters["segment"] == segment_bytes
    assert result.time_s.mean * 1e6 == pytest.approx(time_us, rel=0.005)


SEGMENTED = [
    *("broadcast/chain", "broadcast/circulant", "broadcast/double_tree", "broadcast/tree", "reduce/binary_tree"),
    *("reduce/circulant", "allreduce/dual_root", "allreduce/edge_disjoint_trees", "exscan/chain", "scan/binary_tree"),
]
CASES = [
    (name, label, ranks, size_bytes)
    for name in hocket.presets()
    for label in SEGMENTED
    for ranks, size_bytes in [(8, 40_000), (24, 256 * KIB), (64, 4 * KIB), (64, 8 * MIB)]
]
QUICK = random.Random(0).sample(CASES, 24)


def check_segments(name: str, label: str, ranks: int, size_bytes: int, most_segments: int | None = None) -> None:
    """No segment of a power of two is faster by more than 2 %, of those that make at most so many segments."""
    machine, algorithm = hocket.Machine.load(name), hocket.find(label)
    machine = quiet(machine) or machine
    if algorithm not in algorithms_for(machine, [algorithm]):
        return
    call = hocket.Call(ranks=ranks, size_bytes=size_bytes, element_bytes=8)
    try:
        result = at_best(algorithm, call, machine)
    except hocket.Error:
        return  # the machine has no room, or the torus does not fit
    data_bytes = all_bytes(algorithm, ranks, size_bytes)
    least = 3 if most_segments is None else max((data_bytes // most_segments).bit_length() - 1, 3)
    for power in range(least, (data_bytes - 1).bit_length() + 1):
        others = {**result.parameters, "segment": 1 << power}
        by_hand = hocket.Call(ranks=ranks, size_bytes=size_bytes, element_bytes=8, parameters=others)
        until_s = result.time_s.mean * 0.98
        result_by_hand = hocket.simulate_until(algorithm, by_hand, machine=machine, until_s=until_s)
        assert result_by_hand == hocket.Later(until_s), others


@pytest.mark.parametrize(("name", "label", "ranks", "size_bytes"), QUICK)
def test_no_segment_chosen_by_hand_is_much_faster(name: str, label: str, ranks: int, size_bytes: int) -> None:
    check_segments(name, label, ranks, size_bytes, most_segments=1 << 14)


@pytest.mark.long
@pytest.mark.parametrize(("name", "label", "ranks", "size_bytes"), CASES)
def test_no_segment_chosen_by_hand_is_much_faster_on_any_machine(
    name: str, label: str, ranks: int, size_bytes: int
) -> None:
    check_segments(name, label, ranks, size_bytes)


def test_a_search_keeps_the_parameters_that_the_call_sets() -> None:
    tree, machine = hocket.find("broadcast/tree"), hocket.Machine.load("cluster")
    call = hocket.Call(ranks=16, size_bytes=MIB, parameters={"shape": "binomial"})
    result = at_best(tree, call, machine)
    free = at_best(tree, hocket.Call(ranks=16, size_bytes=MIB), machine)
    assert result.parameters["shape"] == "binomial"
    assert free.parameters["shape"] != "binomial"
    assert free.time_s.mean < result.time_s.mean


def test_a_value_without_effect_is_not_named() -> None:
    network = 'model = "hockney"\nlatency = "1.3 us"\nbandwidth = "25 GB/s"\nprotocol = "rendezvous"'
    machine = hocket.Machine.parse(f'name = "drawn"\n[network]\n{network}\n[node]\nports = "unlimited"')
    algorithm = hocket.find("alltoall/multi_lane")
    parameters = at_best(algorithm, hocket.Call(ranks=12, size_bytes=8 * KIB), machine).parameters
    assert parameters["group"] == 12  # so that nothing is left to the network
    (network,) = (one for one in algorithm.parameters if one.name == "network")
    assert parameters["network"] == network.default


def test_a_search_with_a_deadline_finds_nothing_later() -> None:
    ring, machine = hocket.find("allreduce/ring"), hocket.Machine.load("cluster")
    call = hocket.Call(ranks=16, size_bytes=MIB)
    time_s = hocket.simulate(ring, call, machine=machine).time_s.mean
    assert until(ring, call, machine, time_s / 2) == hocket.Later(time_s / 2)
    assert isinstance(until(ring, call, machine, time_s), Simulation)


def test_a_search_on_a_quiet_machine_has_the_trials_that_are_asked_for() -> None:
    call, trials = hocket.Call(ranks=4, size_bytes=8), hocket.Trials(seed=5, count=3)
    for at_best in (False, True):
        found = hocket.compare(["allreduce/ring"], [call], trials=trials, at_best=at_best).simulations[0]
        assert (found.seed, found.trials) == (5, 3)
    with pytest.raises(hocket.Error, match="first_places: got 0, expected at least 1"):
        hocket.compare("allreduce", [call], first_places=0)


def test_a_size_of_no_bytes_may_be_a_default() -> None:
    cut = hocket.Parameter("cut", "bytes", default=0, least=0)

    @hocket.algorithm("broadcast", parameters=[cut])
    def cutting(r: Rank, c: Call) -> Steps:
        if r.rank == c.root:
            yield r.join(*(r.send(peer, c.result(r)) for peer in range(r.size) if peer != c.root))
        else:
            yield r.recv(c.root, c.result(r))

    found = hocket.compare([cutting], [hocket.Call(ranks=3, size_bytes=8)], at_best=True)
    assert [one.algorithm for one in found.simulations] == ["cutting"]


def compare_places(seed: int) -> None:
    """The first places of a comparison that ends what cannot come in are those of a whole comparison."""
    draw = random.Random(seed)
    name = draw.choice(["cluster", "lumi", "loggp-infiniband", "fugaku", "leonardo"])
    machine = hocket.Machine.parse(with_discrepancies(hocket.Machine.load(name).text, ()))
    collective = draw.choice(["allreduce", "broadcast", "reduce", "allgather", "alltoall", "scan", "reduce_scatter"])
    call = hocket.Call(
        ranks=512 if name == "fugaku" and draw.random() < 0.1 else draw.randint(2, 40),
        size_bytes=8 * draw.randint(1, 1 << draw.randint(1, 17 if collective == "alltoall" else 19)),
        element_bytes=8,
    )
    whole = hocket.compare(collective, [call], machine=machine)
    ended = hocket.compare(collective, [call], machine=machine, first_places=3)
    assert ended.places(call.size_bytes)[:3] == whole.places(call.size_bytes)[:3], (name, collective, call)
    third_s = whole.places(call.size_bytes)[:3][-1].time_s
    for key, until_s in ended.too_late.items():
        assert whole.times_s[key] > until_s >= third_s, (name, collective, call)


def test_the_first_places_do_not_depend_on_deadlines() -> None:
    for seed in range(40):
        compare_places(seed)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    calls = [hocket.Call(ranks=24, size_bytes=size_bytes) for size_bytes in (4096, 65536)]
    for at_best in (False, True):
        one, four = (
            hocket.compare("broadcast", calls, first_places=3, at_best=at_best, executor=ThreadPoolExecutor(threads))
            for threads in (1, 4)
        )
        assert one.too_late
        assert replace(one, simulations=()) == replace(four, simulations=())
        assert [each.as_dict() for each in one.simulations] == [each.as_dict() for each in four.simulations]


@pytest.mark.long
def test_the_first_places_do_not_depend_on_deadlines_in_many_calls() -> None:
    for seed in range(40, 300):
        compare_places(seed)


@pytest.mark.parametrize(
    ("label", "channels"), [("allreduce/multi_ring", 8), ("allreduce/double_tree", 16), ("allgather/multi_ring", 8)]
)
def test_channels_leave_nodes_by_all_cards(label: str, channels: int) -> None:
    """A single ring leaves each node by one of its eight cards; a chain of ranks needs both trees."""
    call, machine = hocket.Call(ranks=16, size_bytes=MIB), hocket.Machine.load("dgx-a100-2")
    assert "group" not in choose(hocket.find(label), call, machine).parameters
    result = hocket.simulate(label, call, machine=machine)
    assert (result.parameters["channels"], result.parameters["group"]) == (channels, 8)


@pytest.mark.parametrize("nodes", [2, 3, 8])
def test_trees_have_as_many_channels_as_keep_all_cards_busy(nodes: int) -> None:
    def time_s(**parameters: int) -> float:
        call = hocket.Call(ranks=4 * nodes, size_bytes=256 * MIB, parameters=parameters)
        return hocket.simulate("allreduce/double_tree", call, machine="alps-gh200").time_s.mean

    assert time_s() <= 1.02 * min(time_s(channels=4), time_s(channels=16))
