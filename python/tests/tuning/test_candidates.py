"""Candidates: each algorithm with its parameters; equal ones once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

import hocket
from hocket.definitions.calls import prepare
from hocket.definitions.library import COLLECTIVES_OF_KNOWN_SIZE
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import Choice as Named
from hocket.rules.tuning_files.hocket_rules import of_function
from hocket.rules.tuning_files.translation import HOCKET, translate
from hocket.simulating.question import choose
from hocket.tuning.candidates import (
    call_at,
    candidates,
    choice_with_values,
    of_any_machine,
    of_catalogue,
    of_library,
    refusals_of,
    whole_sizes,
    with_choice,
)
from hocket.tuning.choice import Choice, Point
from hocket.tuning.simulating import Simulated
from hocket.tuning.work import BySimulation


@pytest.mark.parametrize("ranks", [2, 6, 24])
@pytest.mark.parametrize("collective", COLLECTIVES_OF_KNOWN_SIZE)
def test_what_is_alike_takes_the_same_time(collective: str, ranks: int) -> None:
    (size,) = whole_sizes(collective, ranks, [32768])
    point = Point(collective, ranks, size)
    there = candidates(of_catalogue(hocket.algorithms(collective), point), point)
    names = {one.name for alike in there.values() for one in alike}
    for algorithm in hocket.algorithms(collective):
        if algorithm.name not in names:
            with pytest.raises(hocket.Error):
                prepare(algorithm, call_at(point))
    for alike in there.values():
        algorithms = [hocket.find(f"{collective}/{one.name}") for one in alike]
        times_s = {
            hocket.simulate(algorithm, with_choice(one, call_at(point))).time_s.mean
            for algorithm, one in zip(algorithms, alike, strict=True)
        }
        assert len(times_s) == 1


def test_on_two_ranks_many_algorithms_are_one() -> None:
    point = Point("allreduce", 2, 8)
    there = candidates(of_any_machine(point), point)
    assert any({"recursive_doubling", "bine"} <= {one.name for one in alike} for alike in there.values())


def test_pieces_as_large_as_the_call_are_the_same() -> None:
    point = Point("broadcast", 24, 16384)
    there = candidates(of_catalogue([hocket.find("broadcast/chain")], point), point)
    four, rest = there.values()
    assert four == (Choice("catalogue", "chain", (("segment", 4096),)),) or rest[0].parameters == (("segment", 4096),)
    assert len(four) + len(rest) == 5


def test_a_choice_names_what_differs_from_the_defaults_in_its_call() -> None:
    chain = hocket.find("broadcast/chain")

    def named(segment: int, size_bytes: int, fixed: Collection[str] = ()) -> dict[str, int | str]:
        call = hocket.Call(ranks=4, size_bytes=size_bytes, parameters={"segment": segment})
        return dict(choice_with_values(chain, call, fixed).parameters)

    assert named(64 << 10, 1 << 20) == named(1 << 20, 8) == {}
    assert named(4, 8) == {"segment": 4}
    assert named(1 << 20, 1 << 20) == {"segment": 1 << 20}
    assert named(1 << 20, 8, ["segment"]) == {"segment": 1 << 20}


@pytest.mark.parametrize("library", [each for each in LIBRARIES if not LIBRARIES[each].flat])
@pytest.mark.parametrize("ranks", [12, 16])
def test_what_a_library_has_is_said_in_its_words(library: str, ranks: int) -> None:
    some = 0
    for collective in COLLECTIVES_OF_KNOWN_SIZE:
        point = Point(collective, ranks, 1 << 20)
        for algorithm, fixed in of_library(library, point, hocket.Machine.load("cluster")):
            chosen = choose(algorithm, replace(call_at(point), parameters=fixed), hocket.Machine.load("cluster"))
            choice = choice_with_values(algorithm, chosen, fixed)
            named = translate(of_function(collective), Named(choice.name, choice.parameters), HOCKET, library)
            assert named.choice is not None and named.counterpart is not None and named.counterpart.takes(ranks), choice
            some += 1
    assert some > 4


def test_what_nccl_refuses_on_the_nodes_of_a_machine_is_not_tried() -> None:
    one_each, pairs = hocket.Machine.load("cluster"), hocket.Machine.load("dual-socket")
    gpus = hocket.Machine.load("gpu-cluster")
    assert refusals_of("nccl-2", "allgather", 16, one_each) == {"nvls": "nvls takes 3 ranks and more on each node"}
    assert refusals_of("nccl-2", "allgather", 512, pairs)["pat"] == "pat takes one rank on each node"
    assert refusals_of("nccl-2", "allgather", 16, gpus)["pat"] == "needs one rank on each node"
    assert refusals_of("openmpi-5.0", "allgather", 16, gpus) == {}
    point = Point("allgather", 16, 1 << 20)
    assert "pat" in {one.name for one, _ in of_library("nccl-2", point, one_each)}
    assert {one.name for one, _ in of_library("nccl-2", point, gpus)} == {"ring", "multi_ring"}
    by_simulation = BySimulation(Simulated(gpus, library="nccl-2"))
    assert "; without pat on 16 ranks, which needs one rank on each node" in by_simulation.announcement([point])


def test_sizes_are_whole_numbers_of_doubles_for_each_rank() -> None:
    assert whole_sizes("reduce_scatter", 3, [8, 24, 25]) == (24, 48)
    assert whole_sizes("allreduce", 3, [1, 9]) == (8, 16) and whole_sizes("gather", 3, [1, 9]) == (1, 9)
    assert whole_sizes("barrier", 3, [8, 16]) == (0,)
