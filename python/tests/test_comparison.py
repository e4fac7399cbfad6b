"""Comparisons: the fastest algorithm of each size."""

from dataclasses import replace
from typing import Any

import pytest

import hocket
from hocket import typing
from hocket.simulating.comparison import Comparison
from hocket.simulating.ranking import Best
from hocket.typing import Rank, Steps

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


NOISY = hocket.Machine.load("jitter-paper")
NOISY_CALLS = [hocket.Call(ranks=16, size_bytes=size) for size in (8, 512)]


def test_with_noise_the_fastest_are_those_whose_intervals_overlap() -> None:
    told: list[Comparison] = []
    found = hocket.compare(hocket.algorithms("allreduce"), NOISY_CALLS, machine=NOISY, on_done=told.append)
    for call in NOISY_CALLS:
        here = {one.algorithm: one for one in found.simulations if one.size_bytes == call.size_bytes}
        fastest = [here[name] for name in found.fastest(call.size_bytes)]
        first = min(fastest, key=lambda one: one.time_s.mean)
        others = [one for name, one in here.items() if one not in fastest]
        assert all(one.time_s.interval[0] <= first.time_s.interval[1] for one in fastest)
        assert all(one.time_s.interval[0] > first.time_s.interval[1] for one in others)
        assert {16} < {one.trials for one in here.values()} <= {16, 64, 256}
        for one in (first, others[0]):
            trials = hocket.Trials(count=one.trials)
            chosen = replace(call, parameters=one.parameters)
            assert one == hocket.simulate(f"allreduce/{one.algorithm}", chosen, machine=NOISY, trials=trials)
    final = {size: found.fastest(size) for size in found.sizes_bytes}
    assert all(known.fastest(size) == final[size] for known in told for size in known.finished_bytes)
    assert told[-1] == found and found.missing == ()


def test_with_noise_another_seed_names_the_same_fastest() -> None:
    """With one sample each, the fastest differ: 3 and 2 different ones at the two sizes."""
    names = ["recursive_doubling", "recursive_multiplying", "trivance", "redundant_butterfly"]
    algorithms = [hocket.find(f"allreduce/{name}") for name in names]

    def firsts(size_bytes: int, **trials: bool | int) -> set[str]:
        runs = [
            hocket.compare(algorithms, NOISY_CALLS, machine=NOISY, trials=hocket.Trials(seed=seed, **trials))
            for seed in range(6)
        ]
        return set.intersection(*(set(run.fastest(size_bytes)) for run in runs))

    for call in NOISY_CALLS:
        assert firsts(call.size_bytes, count=256, until_decided=True)
        assert not firsts(call.size_bytes, count=1)


def test_trials_that_are_asked_for_are_those_that_are_simulated() -> None:
    algorithms = ["allreduce/ring", "allreduce/recursive_doubling"]
    found = hocket.compare(algorithms, NOISY_CALLS, machine=NOISY, trials=hocket.Trials(count=5))
    assert {one.trials for one in found.simulations} == {5}
    quiet = hocket.compare(algorithms, NOISY_CALLS)
    assert {one.trials for one in quiet.simulations} == {1}


def test_a_wrong_program_is_not_ranked_and_one_that_cannot_be_verified_is_named() -> None:
    def nothing(_r: Rank, _c: typing.Call) -> Steps:
        yield from ()

    def refuses(call: hocket.Call) -> str | None:
        return "needs P = 16" if call.ranks != 16 else None

    ring = hocket.find("allreduce/ring")
    wrong = hocket.Algorithm("allreduce", "nothing", program=nothing)
    special = hocket.Algorithm("allreduce", "special", program=nothing, refuses=refuses)
    found = hocket.compare([wrong, special, ring], NOISY_CALLS)
    assert found.algorithms == ("special", "ring") and found.not_verified == ("special",)
    assert {one.sentence for one in found.not_compared} == {
        "wrong at P = 2-5, as `hocket verify allreduce nothing` shows"
    }


def test_an_algorithm_that_refuses_is_told_with_its_sentence() -> None:
    refusing = replace(hocket.find("allreduce/linear"), refuses=lambda _: "needs another day")
    found = hocket.compare([refusing, hocket.find("allreduce/ring")], [hocket.Call(ranks=4, size_bytes=8)])
    assert found.algorithms == ("ring",)
    assert [(m.algorithm, m.sentence) for m in found.not_compared] == [
        ("linear", "allreduce linear needs another day (P = 4)")
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


def test_what_libraries_choose_is_simulated_beside_the_algorithms() -> None:
    """MPICH: binomial up to 12288 B, then scatter and allgather. Open MPI: radix 4 for short messages."""
    calls = [hocket.Call(ranks=16, size_bytes=size) for size in (8, 4 << 20)]
    libraries = ("mpich-5.0", "openmpi-5.0")
    found = hocket.compare(["broadcast/binomial", "broadcast/chain"], calls, defaults=libraries)
    assert found.algorithms == ("binomial", "chain") and found.missing == ()
    chosen = {(one.library, one.size_bytes): one for one in found.defaults}
    assert {key: one.algorithm for key, one in chosen.items()} == {
        ("mpich-5.0", 8): "binomial",
        ("openmpi-5.0", 8): "tree",
        ("mpich-5.0", 4 << 20): "scatter_ring_allgather",
        ("openmpi-5.0", 4 << 20): "scatter_doubling_allgather",
    }
    assert chosen["openmpi-5.0", 8].choice == "tree, shape=k_nomial"
    for (_, size_bytes), one in chosen.items():
        parameters = {"shape": "k_nomial"} if one.algorithm == "tree" else {}
        call = hocket.Call(ranks=16, size_bytes=size_bytes, parameters=parameters)
        assert one.time_s == hocket.simulate(f"broadcast/{one.algorithm}", call).time_s.mean
    assert found.times_the_fastest(chosen["mpich-5.0", 8]) == 1.0
    slow = chosen["mpich-5.0", 4 << 20]
    assert slow.time_s is not None
    assert found.times_the_fastest(slow) == slow.time_s / found.times_s[4 << 20, "chain"] > 1


def test_a_choice_without_a_counterpart_is_told_with_a_sentence() -> None:
    found = hocket.compare(["reduce_scatter/ring"], [hocket.Call(ranks=4, size_bytes=4)], defaults=["openmpi-5.0"])
    assert [(one.time_s, one.sentence) for one in found.defaults] == [
        (None, "its choice is unknown, or has no counterpart in Hocket")
    ]
    assert found.times_the_fastest(found.defaults[0]) is None
    with pytest.raises(hocket.Error, match=r'^unknown defaults "mpich-1", did you mean mpich-5.0\?$'):
        hocket.compare(["scan/chain"], [hocket.Call(ranks=4, size_bytes=8)], defaults=["mpich-1"])


def test_a_size_that_no_algorithm_takes_has_no_factor() -> None:
    odd = hocket.Algorithm("allreduce", "odd", refuses=lambda call: "needs 8 B" if call.size_bytes != 8 else None)
    ring = replace(hocket.find("allreduce/ring"), refuses=odd.refuses)
    calls = [hocket.Call(ranks=4, size_bytes=size) for size in (8, 16)]
    told: list[Comparison] = []
    found = hocket.compare([ring], calls, defaults=["mpich-5.0"], on_done=told.append)
    assert [found.times_the_fastest(one) is None for one in found.defaults] == [False, True]
    sizes = [size_bytes for size_bytes, _ in told[0].missing]
    assert sizes == sorted(sizes)  # finishes a size, with the libraries, before the next
    for known in told:
        unfinished = {size_bytes for size_bytes, _ in known.missing}
        assert all(known.times_the_fastest(one) is None for one in known.defaults if one.size_bytes in unfinished)


def test_a_collective_stands_for_its_algorithms_and_sizes_are_texts() -> None:
    found = hocket.compare("broadcast", ranks=4, sizes="8B..64B:8")
    calls = [hocket.Call(ranks=4, size="8B"), hocket.Call(ranks=4, size_bytes=64)]
    assert found == hocket.compare([a for a in hocket.algorithms("broadcast") if a.topology is None], calls)
    assert hocket.compare("broadcast", calls) == found
    assert hocket.compare("barrier", ranks=4).sizes_bytes == (0,)
    assert hocket.compare("broadcast/chain", ranks=4, sizes=["1KiB", 8]).sizes_bytes == (1024, 8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ranks": 4}, 'sizes: missing, expected sizes such as "8B..64MiB"'),
        ({"sizes": 8}, "ranks: missing, expected either calls, or ranks and sizes"),
        ({"ranks": 4, "sizes": "8KB"}, 'got "8KB", did you mean 8kB or 8KiB'),
        (
            {"calls": [hocket.Call(ranks=4, size=8)], "ranks": 4},
            "calls: got ranks or sizes beside it, expected either calls",
        ),
    ],
)
def test_what_is_compared_is_given_in_one_way(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(hocket.Error, match=message):
        hocket.compare("broadcast", **arguments)


def test_a_comparison_is_shown_in_a_few_lines() -> None:
    found = hocket.compare(["allreduce/ring", "allreduce/recursive_doubling"], ranks=8, sizes="8B,2KiB,1MiB")
    assert repr(found).splitlines() == [
        "<Comparison: allreduce on 8 ranks, elements of 4 B, machine cluster>",
        "  8 B to 2 KiB: recursive_doubling",
        "  1 MiB: ring",
    ]


def test_measured_times_are_compared_with_the_same_parameters() -> None:
    def measured(time_s: float, **parameters: str) -> hocket.Measurement:
        return hocket.Measurement(
            collective="broadcast", algorithm="chain", ranks=4, size_bytes=64, time_s=time_s, parameters=parameters
        )

    segment = {"segment": "8"}
    call = hocket.Call(ranks=4, size_bytes=64, parameters=segment)
    other = hocket.Measurement(collective="reduce", algorithm="chain", ranks=4, size_bytes=64, time_s=1.0)
    times = [measured(1.0, segment="16"), measured(3.0, **segment), measured(2.0, **segment), measured(7.0), other]
    found = hocket.compare(["broadcast/chain"], [call], measured=times)
    time_s = found.simulations[0].time_s.mean
    assert [(one.algorithm, one.measured_s, one.simulated_s) for one in found.measured] == [
        ("chain segment=16", 1.0, None),
        ("chain segment=8", 2.5, time_s),
        ("chain", 7.0, time_s),
    ]
    with pytest.raises(hocket.Error, match="measured: got no time of broadcast on 5 ranks, expected at least one"):
        hocket.compare(["broadcast/chain"], ranks=5, sizes=64, measured=times)
