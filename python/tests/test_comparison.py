"""Which algorithm is fastest for which size."""

from dataclasses import replace

import pytest

import hocket
from hocket.comparison import Best, Comparison

SIZES = (8, 4096, 4 << 20)


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return hocket.compare(
        [hocket.find("allreduce/recursive_doubling"), hocket.find("allreduce/ring")],
        [hocket.Call(ranks=16, size_bytes=size) for size in SIZES],
    )


def test_every_algorithm_is_simulated_at_every_size(compared: Comparison) -> None:
    assert compared.algorithms == ("recursive_doubling", "ring")
    assert compared.sizes_bytes == SIZES
    for found in compared.simulations:
        call = hocket.Call(ranks=16, size_bytes=found.size_bytes)
        assert found == hocket.simulate(f"allreduce/{found.algorithm}", call)


def test_the_best_of_neighbouring_sizes_are_told_together(compared: Comparison) -> None:
    assert compared.best() == (
        Best(8, 4096, ("recursive_doubling",)),
        Best(4 << 20, 4 << 20, ("ring",)),
    )


def test_what_is_known_by_then_is_told_after_each_simulation() -> None:
    told: list[Comparison] = []
    calls = [hocket.Call(ranks=4, size_bytes=size) for size in (8, 16)]
    found = hocket.compare(["allreduce/ring", "allreduce/linear"], calls, on_done=told.append)
    assert [len(known.simulations) for known in told] == [1, 2, 3, 4]
    assert [len(known.missing) for known in told] == [3, 2, 1, 0]
    assert told[-1] == found and found.finished_bytes == (8, 16)
    assert set(told[2].finished_bytes) < {8, 16}


def test_algorithms_of_equal_time_tie(compared: Comparison) -> None:
    first = compared.simulations[0]
    tied = replace(compared, simulations=(first, replace(first, algorithm="twin")))
    assert tied.fastest(8) == ("recursive_doubling", "twin")


def test_an_algorithm_that_refuses_is_told_with_its_sentence() -> None:
    refusing = hocket.Algorithm("allreduce", "picky", refuses=lambda _: "needs another day")
    found = hocket.compare([refusing, hocket.find("allreduce/ring")], [hocket.Call(ranks=4, size_bytes=8)])
    assert found.algorithms == ("ring",)
    assert [(m.algorithm, m.sentence) for m in found.not_compared] == [
        ("picky", "allreduce picky needs another day (P = 4)")
    ]


def test_a_call_that_nobody_takes_is_an_error() -> None:
    with pytest.raises(hocket.Error, match="expected a rank below 4"):
        hocket.compare(hocket.algorithms("broadcast"), [hocket.Call(ranks=4, size_bytes=8, root=4)])
    with pytest.raises(hocket.Error, match="nothing to compare"):
        hocket.compare([], [])


def test_only_calls_that_differ_in_size_are_compared() -> None:
    calls = [hocket.Call(ranks=ranks, size_bytes=8) for ranks in (4, 8)]
    with pytest.raises(hocket.Error, match=r"^got several collectives \(allreduce, broadcast\), expected one"):
        hocket.compare(["allreduce/ring", "broadcast/chain"], calls[:1])
    with pytest.raises(hocket.Error, match=r"^got several rank counts \(4, 8\), expected one"):
        hocket.compare(["allreduce/ring"], calls)
