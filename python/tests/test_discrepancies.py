"""Machines that say how far off they are: intervals of single calls, and places of comparisons."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import hocket
from hocket.definitions.machine import Discrepancy, discrepancy_of
from hocket.definitions.variants import with_network
from hocket.fitting.discrepancies import discrepancies
from hocket.fitting.result import Judgement
from tests.conftest import Ran

PLAIN = """name = "judged"
[network]
model = "hockney"
latency = "1 us"
bandwidth = "1 GB/s"
"""
KINDS = """
[[discrepancy]]
collective = "allreduce"
algorithm = "ring"
below = "4 KiB"
low = 0.5
high = 1.5
calls = 19
ranks = 8
[[discrepancy]]
collective = "allreduce"
from = "4 KiB"
low = 0.8
high = 1.25
calls = 40
ranks = 64
[[discrepancy]]
collective = "broadcast"
low = 0.9
high = 1.1
calls = 20
ranks = 2
"""
MACHINE = hocket.Machine.parse(PLAIN + KINDS, "judged.toml")


@pytest.mark.parametrize(
    ("label", "ranks", "size_bytes", "factors"),
    [
        ("allreduce/ring", 8, 4095, (0.5, 1.5)),
        ("allreduce/ring", 8, 4096, (0.8, 1.25)),
        ("allreduce/bine", 8, 4095, None),
        ("allreduce/bine", 8, 4096, (0.8, 1.25)),
        ("broadcast/binomial", 2, 8, (0.9, 1.1)),
        ("reduce/binomial", 8, 8, None),
    ],
)
def test_the_first_kind_that_a_call_meets_counts(
    label: str, ranks: int, size_bytes: int, factors: tuple[float, float] | None
) -> None:
    found = hocket.simulate(label, hocket.Call(ranks=ranks, size_bytes=size_bytes), machine=MACHINE)
    expected = None if factors is None else tuple(factor * found.time_s.mean for factor in factors)
    assert found.measured_interval_s == expected
    assert (found.measured_ranks is None) == (factors is None)
    plain = hocket.simulate(label, hocket.Call(ranks=ranks, size_bytes=size_bytes), machine=hocket.Machine.parse(PLAIN))
    assert (plain.measured_interval_s, plain.times_s) == (None, found.times_s)


def test_a_row_has_the_interval_only_where_there_is_one() -> None:
    call = hocket.Call(ranks=8, size_bytes=4096)
    (row,) = hocket.simulate("allreduce/ring", call, machine=MACHINE).records()
    assert (row["measured_low_s"], row["measured_high_s"]) == (0.8 * row["time_mean_s"], 1.25 * row["time_mean_s"])
    (plain,) = hocket.simulate("allreduce/ring", call).records()
    assert "measured_low_s" not in plain


def test_calls_of_a_scene_and_schedules_have_no_interval() -> None:
    call = hocket.Call(ranks=8, size_bytes=4096)
    assert hocket.simulate("allreduce/ring", call, machine=MACHINE, cadence="2 calls").measured_interval_s is None
    assert hocket.simulate("allreduce/ring", call, machine=MACHINE, arrivals="rank 1, 1 us").measured_interval_s is None
    of_all = hocket.Machine.parse(f"{PLAIN}[[discrepancy]]\nlow = 0.5\nhigh = 2.0\ncalls = 19\nranks = 8\n")
    schedule = hocket.record("allreduce/ring", call)
    assert hocket.simulate(schedule, machine=of_all).measured_interval_s is None
    assert hocket.simulate("allreduce/ring", call, machine=of_all).measured_interval_s is not None


def test_a_variant_of_the_machine_keeps_its_discrepancies() -> None:
    variant = with_network(MACHINE, latency="2 us")
    assert variant.discrepancies == MACHINE.discrepancies
    assert variant.discrepancies[2] == Discrepancy("broadcast", None, 0, None, 0.9, 1.1, 1.1 / 0.9, 20, 2)


def test_algorithms_whose_intervals_overlap_share_a_place_the_fastest_first() -> None:
    machine = hocket.Machine.parse(f"{PLAIN}[[discrepancy]]\nlow = 0.8\nhigh = 1.25\ncalls = 19\nranks = 8\n")
    # By hand, 16 ranks, 8 B: a step takes 1.008 us; reductions take no time. Linear: 15 + 15 steps in turn, ring: 30
    # short ones, reduce and broadcast: 4 + 4, recursive doubling: 4.
    labels = [f"allreduce/{name}" for name in ("linear", "ring", "reduce_broadcast", "recursive_doubling")]
    (call,) = [hocket.Call(ranks=16, size_bytes=8)]
    found = hocket.compare(labels, [call], machine=machine, first_places=None)
    assert [place.names for place in found.places(8)] == [
        ("recursive_doubling",),
        ("reduce_broadcast",),
        ("ring",),
        ("linear",),
    ]
    by_ratio = machine.text.replace("high = 1.25", "high = 1.25\nratio = 2.0")
    found = hocket.compare(labels, [call], machine=hocket.Machine.parse(by_ratio), first_places=1)
    assert found.fastest(8) == ("recursive_doubling", "reduce_broadcast")  # 4 steps and 8
    wide = hocket.Machine.parse(f"{PLAIN}[[discrepancy]]\nlow = 0.7\nhigh = 1.5\ncalls = 19\nranks = 8\n")
    found = hocket.compare(labels, [call], machine=wide, first_places=1)
    assert found.fastest(8) == ("recursive_doubling", "reduce_broadcast")
    assert found.places(8)[0].time_s == found.times_s[8, "recursive_doubling"]
    assert [place.names for place in found.places(8)] == [("recursive_doubling",), ("reduce_broadcast",)]


def test_a_comparison_that_no_kind_holds_has_places_by_time() -> None:
    """The machine has no discrepancy of reduces, and noise keeps both algorithms from being told apart."""
    noise = 'model = "poisson"\ninterval = "20 us"\nduration = "50 us"\noverlap = "arrival"\nevents = "one"\n'
    machine = hocket.Machine.parse(f"{PLAIN}[noise.network]\n{noise}{KINDS}")
    (call,), labels = [hocket.Call(ranks=8, size_bytes=8)], ["reduce/linear", "reduce/binomial"]
    found = hocket.compare(labels, [call], machine=machine, trials=hocket.Trials(4, seed=1))
    assert found.fastest(8) == ("linear", "binomial")
    assert [place.names for place in found.places(8)] == [("binomial",), ("linear",)]


def test_a_ratio_below_one_is_refused() -> None:
    with pytest.raises(hocket.Error, match=r"ratio.*expected a number of at least 1"):
        hocket.Machine.parse(f"{PLAIN}[[discrepancy]]\nlow = 0.7\nhigh = 1.5\nratio = 0.9\ncalls = 19\nranks = 8\n")


def test_the_command_line_prints_intervals(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "judged.toml"
    path.write_text(PLAIN + KINDS)
    line = f"broadcast binomial --ranks 4 --machine {path}"
    shown = " ".join(hocket_command(f"simulate {line} --size 0B").out.split())
    assert "(1.800 us to 2.200 us: nine of ten measured calls, which had at most 2 ranks) " in shown
    few = " ".join(hocket_command(f"simulate {line.replace('ranks 4', 'ranks 2')} --size 0B").out.split())
    assert "(900.0 ns to 1.100 us: nine of ten measured calls) " in few
    compared = hocket_command(f"compare {line} --sizes 0B").out
    assert "nine of ten" in compared.splitlines()[2] and "0.90x to 1.10x" in compared
    assert "nine of ten measured calls are within such intervals" in compared
    (row,) = hocket_command(f"compare {line} --sizes 0B --json").json["results"]
    assert row["measured_interval_s"] == pytest.approx([1.8e-6, 2.2e-6])
    path.write_text(PLAIN)
    assert "nine of ten" not in hocket_command(f"compare {line} --sizes 0B").out


@pytest.mark.parametrize(("ranks", "measured_on"), [(1, 8), (8, 8), (9, 64), (64, 64), (65, 64)])
def test_kinds_on_the_fewest_ranks_that_are_enough_go_first(ranks: int, measured_on: int) -> None:
    kinds = [Discrepancy(None, None, 0, None, 0.9, 1.1, 1.2, 20, on) for on in (8, 64)]
    kind = discrepancy_of(kinds, "allreduce", "ring", 8, ranks=ranks)
    assert kind is not None and kind.ranks == measured_on


def _judged(collective: str, ranks: int, factors: Iterable[float]) -> list[Judgement]:
    """Calls of three algorithms and one size, which took these times over the simulated one."""
    return [
        Judgement(
            collective=collective,
            algorithm=f"algorithm_{number % 3}",
            parameters="",
            ranks=ranks,
            size_bytes=8,
            measured_as="isolated",
            in_place=False,
            measured_s=factor,
            simulated_s=1.0,
            use="held out",
            system="",
            source="",
        )
        for number, factor in enumerate(factors)
    ]


NEAR = [1 + number / 1000 for number in range(40)]


def test_intervals_of_a_collective_hold_for_a_scale_left_out() -> None:
    """Each scale is off by a factor of its own, so that the calls of two scales do not hold those of the third."""
    cells = [one for n in range(3) for one in _judged("allreduce", 8 << n, [2**n * each for each in NEAR])]
    kind = discrepancies(cells)[0]
    assert kind.collective == "allreduce"
    assert kind.high > 7.0, "4, and as much again as 4 is beyond 1 and 2"
    assert kind.low == pytest.approx(1 / kind.high, rel=0.01)


def test_only_intervals_of_all_calls_are_widened_for_a_collective_never_seen() -> None:
    cells = [
        one
        for collective, factor in (("allreduce", 1.0), ("allgather", 3.0))
        for ranks in (8, 16)
        for one in _judged(collective, ranks, [factor * each for each in NEAR])
    ]
    kinds = discrepancies(cells)
    of_one = next(kind for kind in kinds if kind.collective == "allreduce")
    of_all = next(kind for kind in kinds if kind.collective is None)
    assert of_one.low > 0.95 and of_one.high < 1.1
    assert of_all.low < 0.4 and of_all.high > 8.0
