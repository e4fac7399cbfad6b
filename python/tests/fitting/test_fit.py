"""Fits find the values that simulated the times."""

import math
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hocket
from hocket.base.parallel import workers
from hocket.fitting.profiling import minima_of, others_of
from hocket.fitting.result import Fit, Value, deviation
from hocket.fitting.skeleton import Skeleton
from hocket.rules.tuning_files.deciding import library_decision

LOGGP = """\
# A machine.
name = "known"

[network]
model = "loggp"
L = "?"
o = "0.1 us..20 us"   # per message
G = "?"

[node]
reduce_bandwidth = "1 GB/s..100 GB/s"
"""
LINKS = """\
name = "known"
[network]
model = "links"
topology = "torus"
dims = [4, 2]
link_bandwidth = "?"
link_latency = "20 ns..1 us"
[node]
ports = 2
software_latency = "?"
reduce_bandwidth = "?"
"""
PROGRAMS = ("allgather/ring", "allreduce/recursive_doubling", "allreduce/ring", "broadcast/linear", "gather/linear")
SIZES = (8, 1024, 65536, 1 << 22)


def with_values(skeleton: str, *values: str) -> str:
    """Return the machine file of a skeleton with these values, in order."""
    left = iter(values)
    return re.sub(r'"(\?|[^"\n]*\.\.[^"\n]*)"', lambda _: f'"{next(left)}"', skeleton)


def measured(
    text: str,
    programs: Sequence[str] = PROGRAMS,
    *,
    ranks: Sequence[int] = (4, 8),
    sizes: Sequence[int] = SIZES,
    noise: float = 0.0,
    **more: Any,
) -> list[hocket.Measurement]:
    """Return simulated times as measurements."""
    machine, chance = hocket.Machine.parse(text), random.Random(1)
    return [
        hocket.Measurement(
            collective=program.partition("/")[0],
            algorithm=program.partition("/")[2],
            ranks=count,
            size_bytes=size,
            time_s=hocket.simulate(program, hocket.Call(ranks=count, size_bytes=size), machine=machine).time_s.mean
            * math.exp(chance.gauss(0, noise)),
            **more,
        )
        for program in programs
        for count in ranks
        for size in sizes
    ]


LOGGP_KNOWN = with_values(LOGGP, "1.5 us", "0.7 us", "0.1 ns", "5 GB/s")
LOGGP_VALUES = (1.5e-6, 0.7e-6, 0.1e-9, 5e9)
LINKS_KNOWN = with_values(LINKS, "4 GB/s", "100 ns", "1.2 us", "6 GB/s")
LINKS_VALUES = (4e9, 100e-9, 1.2e-6, 6e9)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], str]:
    """Writes a skeleton."""

    def write(text: str) -> str:
        path = tmp_path / "skeleton.toml"
        path.write_text(text)
        return str(path)

    return write


def values(found: Fit) -> list[float]:
    return [one.value for one in found.values]


@pytest.mark.parametrize(
    ("skeleton", "known", "expected", "ranks"),
    [(LOGGP, LOGGP_KNOWN, LOGGP_VALUES, (4, 8)), (LINKS, LINKS_KNOWN, LINKS_VALUES, (8,))],
    ids=["loggp", "links"],
)
def test_exact_times_give_the_values(
    file: Callable[[str], str], skeleton: str, known: str, expected: tuple[float, ...], ranks: tuple[int, ...]
) -> None:
    found = hocket.fit(measured(known, ranks=ranks), machine=file(skeleton))
    assert values(found) == pytest.approx(expected, rel=0.02)
    assert found.deviations["fitted"].median < 0.005
    assert found.ended == "converged"
    assert all(one.is_known for one in found.values)


def test_sizes_are_found(file: Callable[[str], str]) -> None:
    skeleton = LOGGP.replace('G = "?"', 'G = "?"\nS = "?"\nrequest = "?"')
    known = with_values(skeleton, "1.5 us", "0.7 us", "0.1 ns", "16 KiB", "4 us", "5 GB/s")
    sizes = tuple(1 << power for power in range(3, 22, 2))
    found = hocket.fit(measured(known, noise=0.02, sizes=sizes), machine=file(skeleton))
    by_name = {one.name: one for one in found.values}
    assert by_name["network.S"].text == "16 KiB"
    assert by_name["network.S"].interval == "16 KiB to 16 KiB"
    assert by_name["network.request"].value == pytest.approx(4e-6, rel=0.1)


def test_intervals_have_the_values(file: Callable[[str], str]) -> None:
    found = hocket.fit(measured(LOGGP_KNOWN, noise=0.1), machine=file(LOGGP))
    for one, expected in zip(found.values, LOGGP_VALUES, strict=True):
        assert one.low < expected < one.high, one
        assert one.low < one.value < one.high, one


def test_a_library_stands_for_the_algorithms_that_it_chooses(file: Callable[[str], str]) -> None:
    known = measured(LOGGP_KNOWN, ("allreduce/recursive_doubling",), ranks=(4,), sizes=(8, 64))
    some = [replace(one, algorithm="openmpi-5.0", element_bytes=4) for one in known]
    unknown = replace(some[0], collective="broadcast", ranks=512, size_bytes=16384)
    on_nodes = replace(some[0], ranks_per_node=2, ranks=16)
    machine = hocket.Machine.parse(LOGGP_KNOWN)
    found = hocket.fit([*some, unknown, on_nodes], machine=machine)
    chosen = [library_decision("openmpi-5.0", "allreduce", one.call).equivalent for one in some]
    assert {one.algorithm for one in found.cells} == {algorithm.name for algorithm, _ in filter(None, chosen)}
    assert found.left_out == {
        "broadcast openmpi-5.0: its choice is unknown, or has no counterpart in Hocket": 1,
        "allreduce hierarchical_pipeline: 2 ranks per node, expected 1 as on the machine": 1,
    }


def test_a_fit_far_beyond_the_noise_is_told(file: Callable[[str], str]) -> None:
    near, far = (measured(LOGGP_KNOWN, noise=noise, sizes=(8, 65536), ranks=(8,)) for noise in (0.02, 0.4))
    path = file(LOGGP)
    fits = [hocket.fit(some, machine=path, starts=1) for some in (near, far)]
    assert [one.is_beyond_noise for one in fits] == [False, True]
    assert fits[0].noise is None
    twice = [*far, *(replace(one, time_s=one.time_s * math.exp(0.6)) for one in far)]
    noisy = hocket.fit(twice, machine=path, starts=1)
    assert noisy.noise == pytest.approx(0.6 / math.sqrt(2))
    assert not noisy.is_beyond_noise


def test_the_text_is_the_skeleton_with_values_and_where_they_are_from(file: Callable[[str], str]) -> None:
    found = hocket.fit(
        measured(LOGGP_KNOWN, source="times.csv:2"), machine=file(LOGGP), hold_out=["ranks>4", "size=8B"]
    )
    lines = found.machine.text.splitlines()
    assert lines[0] == "# A machine."
    assert "to 15 measured calls" in lines[1] and "of times.csv" in lines[2]
    assert any(line.startswith("# Held out: ranks>4 or size=8B: ") for line in lines)
    place = next(number for number, line in enumerate(lines) if line.startswith("o = "))
    assert lines[place].endswith('"   # per message')
    assert " to " in lines[place - 1] and lines[place - 1].startswith("# ")
    again = hocket.fit(measured(LOGGP_KNOWN), machine=found.machine)
    assert again.values == () and again.ended == "judged"
    assert {one.use for one in again.cells} == {"not used"}
    assert again.deviations["not used"].median < 0.01


def test_the_order_of_measurements_does_not_matter(file: Callable[[str], str]) -> None:
    some = measured(LOGGP_KNOWN, noise=0.1)
    path = file(LOGGP)
    texts = set()
    for seed in range(3):
        random.Random(seed).shuffle(some)
        texts.add(hocket.fit(some, machine=path, cells=25, starts=1).machine.text)
    assert len(texts) == 1


def test_cells_are_spread(file: Callable[[str], str]) -> None:
    found = hocket.fit(measured(LOGGP_KNOWN), machine=file(LOGGP), cells=10)
    fitted = [one for one in found.cells if one.use == "fitted"]
    assert len(fitted) == 10
    assert {(one.collective, one.algorithm) for one in fitted} == {tuple(each.split("/")) for each in PROGRAMS}
    assert {one.ranks for one in fitted} == {4, 8}
    assert {one.size_bytes for one in fitted} == {*SIZES}


def test_a_job_brings_its_own_torus(file: Callable[[str], str]) -> None:
    square = with_values(LINKS.replace("[4, 2]", "[2, 2]"), "4 GB/s", "100 ns", "1.2 us", "6 GB/s")
    some = [*measured(LINKS_KNOWN, ranks=(8,)), *measured(square, ranks=(4,), dims=(2, 2))]
    found = hocket.fit([*some, *measured(square, ranks=(4,))], machine=file(LINKS))
    assert values(found) == pytest.approx(LINKS_VALUES, rel=0.02)
    assert {one.ranks for one in found.cells} == {4, 8}
    assert sum(found.left_out.values()) == 20  # their torus differs from the machine's, which they do not say
    assert "4 ranks, expected as many as the torus 4x2 holds" in next(iter(found.left_out))


def test_a_layout_is_kept_and_jobs_of_other_shapes_have_their_own_torus(file: Callable[[str], str]) -> None:
    laid = LINKS.replace("dims = [4, 2]", 'layout = "2x2, 2"')
    known = with_values(laid, "4 GB/s", "100 ns", "1.2 us", "6 GB/s")
    square = with_values(LINKS.replace("[4, 2]", "[2, 2]"), "4 GB/s", "100 ns", "1.2 us", "6 GB/s")
    some = [*measured(known, ranks=(8,), dims=(4, 2)), *measured(square, ranks=(4,), dims=(2, 2))]
    found = hocket.fit(some, machine=file(laid))
    assert values(found) == pytest.approx(LINKS_VALUES, rel=0.02)
    assert not found.left_out
    assert '\nlayout = "2x2, 2"\n' in found.machine.text


def test_what_measurements_do_not_tell_is_told(file: Callable[[str], str]) -> None:
    some = measured(LOGGP_KNOWN, ("allgather/ring",), noise=0.05)
    found = hocket.fit(some, machine=file(LOGGP))
    by_name = {one.name: one for one in found.values}
    assert not by_name["node.reduce_bandwidth"].is_known
    assert by_name["node.reduce_bandwidth"].advice == "an allreduce of large vectors, beside an allgather"
    assert not by_name["network.L"].is_known  # every step of a ring takes L + 2 o
    assert by_name["network.G"].is_known


def test_pairs_that_measurements_do_not_tell_apart_are_told(file: Callable[[str], str]) -> None:
    skeleton = """\
name = "a switch"
[network]
model = "links"
topology = "crossbar"
nodes = 8
link_bandwidth = "?"
link_latency = "10 ns..10 us"   # twice on the way of each message
[node]
software_latency = "0.1 us..10 us"
"""
    some = measured(with_values(skeleton, "4 GB/s", "1 us", "1 us"), ("allgather/ring",), ranks=(8,))
    found = hocket.fit(some, machine=file(skeleton))
    assert [(one.first, one.second) for one in found.pairs] == [("network.link_latency", "node.software_latency")]
    assert found.pairs[0].correlation < -0.95
    assert "a linear scatter of small blocks" in found.pairs[0].advice
    _, link, software = values(found)
    assert 2 * link + software == pytest.approx(3e-6, rel=0.01)


def test_other_values_that_do_almost_as_well_are_told() -> None:
    known = Value("network.o", 1e-6, 0.9e-6, 1.1e-6, "", "", is_at_bound=False, is_known=True, advice="")
    wide = replace(known, name="network.L", is_known=False)
    near, far, wide_apart = (np.log([o, L]) for o, L in ((1.5e-6, 1e-6), (3e-6, 1e-6), (1e-6, 9e-6)))
    others = others_of([known, wide], [near, far, wide_apart])
    assert others == (pytest.approx({"network.o": 3e-6, "network.L": 1e-6}),)
    named = {one.name: one for one in Skeleton.parse(LOGGP, "m.toml").places}
    (sentence,) = minima_of([named["network.o"], named["network.L"]], [replace(known, text="1 us"), wide], others)
    assert sentence == (
        "almost as good on a part of the calls: network.o = 3.000 us instead of 1 us; "
        "to decide, measure a linear scatter of small blocks"
    )


def test_held_out_calls_give_the_discrepancies_of_the_file(file: Callable[[str], str]) -> None:
    some = measured(LOGGP_KNOWN)
    slow = [replace(one, time_s=2 * one.time_s) if one.ranks == 8 else one for one in some]
    found = hocket.fit(slow, machine=file(LOGGP), hold_out=["ranks>4"])
    kinds = found.machine.discrepancies
    assert [(one.collective, one.calls, one.ranks) for one in kinds] == [(None, 20, 8)]  # 5 programs, 4 sizes
    assert 1.8 < kinds[0].high < 2.2 and kinds[0].low == pytest.approx(1 / kinds[0].high, rel=0.01)
    assert found.coverage == 1.0 or found.coverage is None
    judged = hocket.fit(some, machine=found.machine, hold_out=["ranks>4"])
    assert judged.machine.text.count("[[discrepancy]]") == 1  # in place of the former one
    assert judged.machine.discrepancies[0].high < 1.2
    assert hocket.fit(some, machine=found.machine).machine.text == found.machine.text


def test_fewer_than_three_starts_count_as_three(file: Callable[[str], str]) -> None:
    some, path = measured(LOGGP_KNOWN, sizes=(8, 65536)), file(LOGGP)
    assert hocket.fit(some, machine=path, starts=1) == hocket.fit(some, machine=path, starts=3)


def test_calls_are_judged_without_intervals_of_values(file: Callable[[str], str]) -> None:
    some, path = measured(LOGGP_KNOWN), file(LOGGP)
    with workers() as executor:
        judged = hocket.fit(some, machine=path, hold_out=["ranks>4"], has_intervals=False, executor=executor)
    assert [one.use for one in judged.cells].count("held out") == len(judged.cells) / 2 == 20
    assert all(abs(one.residual) < 0.02 for one in judged.cells)
    assert sum(one.is_held_out for one in judged.regrets) == len(judged.regrets) / 2 == 4  # allreduce, by size


def test_hold_out_judges(file: Callable[[str], str]) -> None:
    found = hocket.fit(measured(LOGGP_KNOWN), machine=file(LOGGP), hold_out=["ranks>4,size>8B", "collective=gather"])
    held = [one for one in found.cells if one.use == "held out"]
    assert all((one.ranks > 4 and one.size_bytes > 8) or one.collective == "gather" for one in held)
    assert len(held) == 4 * 3 + 8
    assert found.deviations["held out"] == deviation(held)


def test_regret_is_of_measured_times() -> None:
    machine = hocket.Machine.parse(LOGGP_KNOWN)
    some = measured(LOGGP_KNOWN, ("allreduce/ring", "allreduce/recursive_doubling"), ranks=(8,))
    swapped = [
        replace(one, time_s=other.time_s)
        for one, other in zip(some, [*some[len(some) // 2 :], *some[: len(some) // 2]], strict=True)
    ]
    defaults = [replace(one, algorithm="default", time_s=2 * one.time_s) for one in some[: len(some) // 2]]
    right = hocket.fit([*some, *defaults], machine=machine).regrets
    wrong = hocket.fit(swapped, machine=machine).regrets
    assert len(right) == len(wrong) == len(SIZES)
    assert {one.regret for one in right} == {1.0}
    assert all(one.default_s for one in right) and not any(one.default_s for one in wrong)
    assert all(one.regret > 1 and one.choice == other.best for one, other in zip(wrong, right, strict=True))


def test_a_search_ends_with_its_time(file: Callable[[str], str]) -> None:
    some = measured(LOGGP_KNOWN, sizes=(8, 65536), ranks=(4,))
    path, now = file(LOGGP), 0.0

    def tick() -> None:
        nonlocal now
        now += 1.0

    with pytest.MonkeyPatch.context() as patch:
        for module in ("fit", "searching", "cells", "profiling"):
            patch.setattr(sys.modules[f"hocket.fitting.{module}"], "monotonic", lambda: now)
        with pytest.raises(hocket.Error, match="the time limit was over before the first step of the search"):
            hocket.fit(some, machine=path, time_limit_s=5.0, on_done=tick)
        now = 0.0
        found = hocket.fit(some, machine=path, time_limit_s=200.0, on_done=tick)
        # The search, the intervals, a derivative from both sides between them, and the judgement.
        assert now < 2 * 200.0 + 12 * len(some) + 3
    assert found.ended == "time limit"
    assert found.deviations["fitted"].median < 1.0
    assert "# Note: the search reached the time limit; more time may find better values." in found.machine.text


def test_ctrl_c_keeps_the_best_so_far(file: Callable[[str], str]) -> None:
    done = 0

    def interrupt() -> None:
        nonlocal done
        done += 1
        if done == 2000:
            raise KeyboardInterrupt

    found = hocket.fit(measured(LOGGP_KNOWN), machine=file(LOGGP), on_done=interrupt)
    assert found.ended == "interrupted"
    assert found.deviations["fitted"].median < 0.5


def test_as_a_data_frame(file: Callable[[str], str]) -> None:
    found = hocket.fit(measured(LOGGP_KNOWN), machine=file(LOGGP))
    frame = found.to_pandas()
    assert len(frame) == len(found.cells) == 40
    assert frame["residual"].abs().median() < 0.01
    assert found.title == "machine known, fitted to 40 of 40 measured calls"
    assert found.plot().to_dict()["layer"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("0.1 us..20 us", "20 us..0.1 us"), 'skeleton.toml:7: network.o: got "20 us..0.1 us", expected a range that'),
        (("0.1 us..20 us", "0.1 us..20 GB"), 'skeleton.toml:7: network.o: got "20 GB", expected a time such as'),
        (("0.1 us..20 us", "0 us..20 us"), 'skeleton.toml:7: network.o: got "0 us..20 us", expected a range that'),
        (('G = "?"', 'H = "?"'), "skeleton.toml:8: network.H: unknown key, expected one of"),
        (('reduce_bandwidth = "1', 'reduce_bandwith = "1'), "skeleton.toml:11: node.reduce_bandwith: unknown key"),
    ],
)
def test_skeletons_that_make_no_sense(file: Callable[[str], str], change: tuple[str, str], message: str) -> None:
    with pytest.raises(hocket.Error) as error:
        hocket.fit(measured(LOGGP_KNOWN, PROGRAMS[:1]), machine=file(LOGGP.replace(*change)))
    assert message in str(error.value)


def test_whole_numbers_are_not_fitted(file: Callable[[str], str]) -> None:
    with pytest.raises(hocket.Error) as error:
        hocket.fit(measured(LINKS_KNOWN, ranks=(8,)), machine=file(LINKS.replace("ports = 2", 'ports = "?"')))
    assert 'skeleton.toml:9: node.ports: got "?", expected a value: only times, ' in str(error.value)


def test_measurements_that_cannot_be_fitted(file: Callable[[str], str]) -> None:
    path, some = file(LOGGP), measured(LOGGP_KNOWN, PROGRAMS[:1])
    for given, options, message in (
        ([], {}, "no measurement is left to fit, expected calls that the machine can run"),
        (some[:2], {}, "got 2 measured calls to fit 4 values, expected at least as many calls as values"),
        (some, {"only": ["ranks>100"]}, "no measurement is left to fit"),
        (some, {"hold_out": ["ranks>1"]}, "no measurement is left to fit"),
        (some, {"hold_out": ["ranks>100"]}, 'hold_out: no measurement meets "ranks>100", expected a condition'),
        (some, {"only": ["rank=1"]}, 'got "rank=1", expected a condition such as "ranks>64"'),
        (some, {"only": ["system<a"]}, 'got "system<a", expected = or != beside system'),
        (
            [*some, replace(some[0], system="b")],
            {},
            "got measurements of a machine without a name, b, expected measurements of one machine, as with",
        ),
        (
            [replace(some[0], library="FJMPI 4.0.1"), replace(some[0], library="Open MPI 5.0.7")],
            {},
            "got measurements of FJMPI 4.0.1, Open MPI 5.0.7, expected measurements of one library, as with only",
        ),
        (
            [*some, replace(some[0], buffers="cuda")],
            {},
            "got measurements of a kind of buffers without a name, cuda, expected measurements of one kind of",
        ),
    ):
        with pytest.raises(hocket.Error) as error:
            hocket.fit(given, machine=path, **options)
        assert str(error.value).startswith(message)
