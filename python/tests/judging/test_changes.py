"""Changes between two sets of measured times: laws, known answers, false alarms and what is found."""

import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import scipy.stats
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import hocket
from hocket.cli.judge import judge
from hocket.judging.changes import Change, Changes, changes
from hocket.judging.student import quantile, two_sided
from hocket.measurements.measurement import Measurement, Spread

SIZES = [8 << step for step in range(20)]
SHORT = [8, 64, 512]
ONE = Measurement(collective="allreduce", algorithm="default", ranks=64, size_bytes=4096, time_s=1e-5)

TIMES_S = st.floats(1e-7, 1e-2)
SETS = st.lists(
    st.builds(
        lambda algorithm, size_bytes, time_s, width, in_place: replace(
            ONE,
            algorithm=algorithm,
            size_bytes=size_bytes,
            time_s=time_s,
            in_place=in_place,
            spread=None if width is None else Spread(time_s / width, time_s * width, "interval"),
        ),
        st.sampled_from(["default", "ring"]),
        st.sampled_from([0, *SIZES[:8]]),
        TIMES_S,
        st.none() | st.floats(1, 1.5),
        st.booleans(),
    ),
    min_size=1,
    max_size=40,
)
INVERSE = {"slower": "faster", "faster": "slower", "same": "same", "cannot tell": "cannot tell"}


def flat(_: int) -> float:
    return 1.0


def runs(
    count: int,
    *,
    factor: Callable[[int], float] = flat,
    noise: float = 0.0,
    seed: int = 0,
    sizes: Sequence[int] = SIZES,
) -> list[Measurement]:
    """Return repeated runs over the sizes, with noise that is normal in ln(time)."""
    draws = random.Random(seed)
    return [
        replace(
            ONE,
            size_bytes=size,
            time_s=(1e-5 + size / 1e10) * factor(size) * math.exp(noise * draws.gauss(0, 1)),
            source=f"run{run}.txt:{line}",
        )
        for run in range(count)
        for line, size in enumerate(sizes, start=1)
    ]


def directions(result: Changes) -> list[str]:
    return [one.direction for one in result.changes]


# Laws.


@given(SETS, st.floats(0, 1))
def test_identical_sets_have_no_change(measurements: list[Measurement], tolerance: float) -> None:
    result = changes(measurements, measurements, tolerance=tolerance)
    assert {*directions(result)} <= {"same", "cannot tell"} and not result.is_slower
    assert all(one.ratio == 1 and (one.ratio_low or 1) <= 1 <= (one.ratio_high or 1) for one in result.changes)
    assert not (result.only_before or result.only_after)


@given(SETS, st.booleans(), st.data())
def test_the_order_of_rows_does_not_matter(
    measurements: list[Measurement], knows_lines: bool, data: st.DataObject
) -> None:
    if knows_lines:
        measurements = [replace(one, source=f"{line % 3}.txt:{line}") for line, one in enumerate(measurements)]
    after = [replace(one, time_s=one.time_s * 1.5) for one in measurements]
    first = data.draw(st.permutations(measurements)), data.draw(st.permutations(after))
    assert changes(*first).as_dict() == changes(measurements, after).as_dict()


@settings(max_examples=200)
@given(SETS, SETS)
def test_the_reverse_is_the_inverse(before: list[Measurement], after: list[Measurement]) -> None:
    try:
        forth = changes(before, after)
    except hocket.Error as error:
        with pytest.raises(hocket.Error, match=r"^nothing to compare") as caught:
            changes(after, before)
        assert "\n" not in f"{error}{caught.value}"
        return
    back = changes(after, before)
    assert (forth.only_before, forth.only_after) == (back.only_after, back.only_before)
    for one, other in zip(forth.changes, back.changes, strict=True):
        assert (one.series, one.size_bytes, one.basis) == (other.series, other.size_bytes, other.basis)
        assert one.ratio * other.ratio == pytest.approx(1)
        assert other.direction == INVERSE[one.direction]
        assert one.p_value == pytest.approx(other.p_value) or one.p_value is other.p_value is None
        if one.ratio_low is not None and other.ratio_high is not None:
            assert one.ratio_low * other.ratio_high == pytest.approx(1)


@given(SETS, SETS)
def test_a_ratio_is_in_its_interval_and_all_is_plain_data(before: list[Measurement], after: list[Measurement]) -> None:
    try:
        result = changes(before, after)
    except hocket.Error:
        return
    for one in result.changes:
        assert (one.ratio_low is None) == (one.ratio_high is None) == (one.p_value is None) == (one.basis == "nothing")
        assert (one.ratio_low or one.ratio) <= one.ratio <= (one.ratio_high or one.ratio)
    assert sum(len(one.changes) for one in result.ranges) == len(result.changes)
    assert all("\n" not in one.sentence and not one.sentence.endswith(".") for one in result.findings)
    json.dumps(result.as_dict(), allow_nan=False)


# What is found.


def test_a_factor_is_found_at_all_sizes() -> None:
    """1.3 times, 5 % noise, 5 runs: ln 1.3 is 8 standard errors, as 0.05 sqrt(2/5) = 0.032."""
    sets = [
        (runs(5, noise=0.05, seed=2 * i), runs(5, noise=0.05, seed=2 * i + 1, factor=lambda _: 1.3)) for i in range(20)
    ]
    results = [changes(before, after) for before, after in sets]
    assert sum(one.direction == "slower" for result in results for one in result.changes) >= 0.99 * 20 * len(SIZES)
    assert sum({*directions(result)} == {"slower"} for result in results) >= 18
    result = results[0]
    (slow,) = (one for one in result.findings if one.kind == "slow")
    assert result.is_slower and result.sentence == slow.sentence
    assert (
        slow.sentence.startswith("allreduce on 64 ranks: 1.3")
        and "times slower at all sizes, 8 B to 4 MiB (95 %: 1.2" in slow.sentence
    )
    assert slow.source == "run0.txt:1"


@pytest.mark.parametrize(("before", "after", "share"), [(2, 2, 0.9), (3, 3, 0.95), (5, 1, 0.75), (10, 2, 0.9)])
def test_a_factor_at_a_quarter_of_the_sizes_is_found_in_few_runs(before: int, after: int, share: float) -> None:
    def factor(size: int) -> float:
        return 1.3 if 2048 <= size <= 32768 else 1.0

    hits = [
        sum(one.direction == "slower" for one in result.changes if factor(one.size_bytes) > 1)
        for seed in range(0, 60, 2)
        for result in [
            changes(runs(before, noise=0.05, seed=seed), runs(after, noise=0.05, seed=seed + 1, factor=factor))
        ]
    ]
    assert sum(hits) >= share * 5 * len(hits)


def test_a_fifth_at_five_sizes_is_found_in_much_noise() -> None:
    """1.2 times at 64 KiB to 1 MiB, 8 % noise, 3 runs: ln 1.2 is 6 standard errors of the mean of five sizes.

    Noise moves the ends of the range, so most of the five sizes count.
    """

    def factor(size: int) -> float:
        return 1.2 if 1 << 16 <= size <= 1 << 20 else 1.0

    found = [
        {one.size_bytes for one in result.changes if one.direction == "slower"}
        for seed in range(0, 60, 2)
        for result in [changes(runs(3, noise=0.08, seed=seed), runs(3, noise=0.08, seed=seed + 1, factor=factor))]
    ]
    assert sum(len({size for size in sizes if factor(size) > 1}) >= 3 for sizes in found) >= 0.8 * len(found)


@pytest.mark.parametrize("noise", [pytest.param(0.02, marks=pytest.mark.long), 0.2])
def test_more_or_less_noise_alone_seldom_is_a_change(noise: float) -> None:
    """At most 5 % of sets may have a false alarm: of 100 sets more than 11 have one with a probability below 1 %."""
    sets = [changes(runs(3, noise=noise, seed=seed), runs(3, noise=noise, seed=seed + 1)) for seed in range(0, 200, 2)]
    assert sum(bool({*directions(result)} & {"slower", "faster"}) for result in sets) <= 11


@pytest.mark.parametrize(
    ("before", "after"),
    [(5, 5), (5, 1), (1, 1), *(pytest.param(*few, marks=pytest.mark.long) for few in ((2, 2), (10, 2)))],
)
@pytest.mark.parametrize("tolerance", [0.0, pytest.param(0.1, marks=pytest.mark.long)])
def test_noise_alone_seldom_is_a_change(before: int, after: int, tolerance: float) -> None:
    """At most 5 % of sets may have a false alarm: of 100 sets more than 11 have one with a probability below 1 %."""
    alarms = sum(
        bool({*directions(result)} & {"slower", "faster"})
        for seed in range(0, 200, 2)
        for result in [
            changes(runs(before, noise=0.05, seed=seed), runs(after, noise=0.05, seed=seed + 1), tolerance=tolerance)
        ]
    )
    assert alarms <= 11


def test_one_run_without_spread_says_so() -> None:
    result = changes(runs(1, noise=0.02), runs(1, noise=0.02, seed=1, factor=lambda size: 1.5 if size >= 65536 else 1))
    assert {one.basis for one in result.changes} == {"sizes"}
    assert [one.size_bytes for one in result.of("slower")] == [size for size in SIZES if size >= 65536]
    (said,) = (one for one in result.findings if one.subject == "runs")
    assert said.kind == "unknown"
    assert "one run on each side" in said.sentence and "not from differences between days and nodes" in said.sentence


def test_too_few_sizes_of_one_run_tell_nothing() -> None:
    result = changes(runs(1, sizes=SHORT), runs(1, sizes=SHORT, factor=lambda _: 3))
    assert {*directions(result)} == {"cannot tell"} and not result.is_slower
    assert "3 points without spread, repeated runs, or enough neighbouring sizes" in result.sentence


def test_a_change_within_the_tolerance_is_none() -> None:
    before, after = runs(5, noise=0.001), runs(5, noise=0.001, seed=1, factor=lambda _: 1.05)
    assert {*directions(changes(before, after))} == {"same"}
    assert {*directions(changes(before, after, tolerance=0.02))} == {"slower"}
    assert changes(before, after).sentence == "no change beyond 10 % at all 20 points"


def test_neighbours_become_ranges() -> None:
    def factor(size: int) -> float:
        return 1.4 if 1024 <= size <= 16384 else 0.5 if size >= 1 << 20 else 1.0

    result = changes(runs(5, noise=0.01), runs(5, noise=0.01, seed=1, factor=factor))
    assert [(one.direction, one.changes[0].size_bytes, one.changes[-1].size_bytes) for one in result.ranges] == [
        ("same", 8, 512),
        ("slower", 1024, 16384),
        ("same", 32768, 524288),
        ("faster", 1 << 20, 4 << 20),
    ]
    assert [one.kind for one in result.findings[:3]] == ["slow", "fast", "fine"]
    assert "times faster from 1 MiB to 4 MiB (95 %: 1.9" in result.findings[1].sentence


def test_one_slow_point_of_a_single_run_is_to_be_measured_again() -> None:
    after = runs(1, noise=0.02, seed=1, factor=lambda size: 2.0 if size == 4096 else 1.0)
    result = changes(runs(5, noise=0.02), after)
    assert [one.size_bytes for one in result.of("slower")] == [4096]
    assert result.sentence.startswith("allreduce on 64 ranks: ") and " times slower at 4 KiB " in result.sentence
    assert any("measure it again" in one.sentence for one in result.findings if one.kind == "hint")


# Known answers.


def test_the_interval_of_repeated_runs() -> None:
    """Three sizes have no common variance: the test is Welch's, with the fewer degrees of freedom of both sides."""
    before, after = [1.0e-5, 1.1e-5, 1.2e-5], [1.5e-5, 1.7e-5]
    result = changes([replace(ONE, time_s=each) for each in before], [replace(ONE, time_s=each) for each in after])
    (one,) = result.changes
    assert one.ratio == pytest.approx(math.sqrt(1.5 * 1.7) / 1.1)
    # Means of ln(time): -11.4204, -11.0449; variances: 0.008316, 0.007833.
    # Error: sqrt(0.008316/3 + 0.007833/2) = 0.08178.
    # t of 1 degree of freedom: 12.7062. Ends: exp(0.3755 -+ 1.0391).
    assert one.ratio_low == pytest.approx(0.515, abs=0.001)
    assert one.ratio_high == pytest.approx(4.115, abs=0.01)
    assert one.p_value == pytest.approx(2 * scipy.stats.t.sf(0.3755 / 0.08178, 1), rel=0.01)
    assert (one.before_s, one.after_s, one.before_runs, one.after_runs) == (
        1.1e-5,
        pytest.approx(1.59687e-5, rel=1e-5),
        3,
        2,
    )
    assert (one.direction, one.basis) == ("cannot tell", "runs")


def test_the_interval_of_variances_that_sizes_share() -> None:
    """Ratios of runs exp(+-d) at each of 4 sizes: the variance 2 d^2, the mean also, so averaging changes nothing."""
    d = 0.02
    before = [replace(ONE, size_bytes=size, time_s=1e-5 * math.exp(sign * d)) for size in SIZES[:4] for sign in (1, -1)]
    result = changes(before, [replace(one, time_s=2 * one.time_s) for one in before])
    # Error: sqrt(2 d^2 / 2 + 2 d^2 / 2) = 0.02828. Each side has 1 + 3 degrees of freedom, as many as all 4 sizes;
    # Welch's are 1 / (0.25 / 4 + 0.25 / 4) = 8. t of 8: 2.3060.
    for one in result.changes:
        assert (one.direction, one.basis) == ("slower", "runs")
        assert one.ratio_high == pytest.approx(2 * math.exp(2.3060 * 0.028284), rel=1e-4)
        assert one.p_value == pytest.approx(2 * scipy.stats.t.sf(math.log(2) / 0.028284, 8), rel=1e-3)


def test_one_run_against_repeated_ones() -> None:
    before = [replace(ONE, time_s=1e-5 * math.exp(each)) for each in (-0.05, 0.0, 0.05)]
    (one,) = changes(before, [replace(ONE, time_s=1.3e-5)]).changes
    # The variance of -0.05, 0, 0.05 is 0.0025. Error: 0.05 sqrt(1 + 1/3) = 0.057735. t of 2 degrees: 4.30265.
    assert one.basis == "runs of one side"
    assert one.ratio_high == pytest.approx(1.3 * math.exp(4.30265 * 0.057735), rel=1e-4)


def test_the_intervals_of_a_benchmark() -> None:
    before = replace(ONE, spread=Spread(0.98e-5, 1.02e-5, "interval"))
    after = replace(ONE, time_s=1.2e-5, spread=Spread(1.17e-5, 1.23e-5, "interval"))
    (one,) = changes([before], [after]).changes
    # Half the widths of ln: 0.020003 and 0.025005. Together: 0.032021.
    assert (one.basis, one.direction) == ("intervals", "slower")
    assert one.ratio_low == pytest.approx(1.2 * math.exp(-0.032021), rel=1e-4)


def test_the_iterations_of_a_benchmark() -> None:
    before = replace(ONE, spread=Spread(0.9e-5, 1.1e-5, "iterations", 100))
    (one,) = changes([before], [replace(before, time_s=1e-5)]).changes
    # The farther end: -ln 0.9 = 0.10536, or 1.2816 deviations; of the median 1.2533 / sqrt(100) of that: 0.010304.
    # Two sides: 0.014572; times 1.95996: 0.028561.
    assert (one.basis, one.direction) == ("iterations", "same")
    assert one.ratio_high == pytest.approx(math.exp(0.028561), rel=1e-4)


@pytest.mark.parametrize(
    "spread",
    [
        Spread(0.9e-5, 1.1e-5, "ranks", 100),  # ranks are no runs
        Spread(0.9e-5, 1.1e-5, "iterations"),  # of unknown number
        Spread(1.1e-5, 1.2e-5, "interval"),  # not around the time
        Spread(0.0, 1.2e-5, "interval"),
    ],
)
def test_spreads_that_tell_nothing(spread: Spread) -> None:
    (one,) = changes([replace(ONE, spread=spread)], [replace(ONE, spread=spread)]).changes
    assert (one.basis, one.direction) == ("nothing", "cannot tell")


def test_neighbouring_sizes_widen_an_interval_of_one_run() -> None:
    def certain(measurements: list[Measurement]) -> list[Measurement]:
        return [replace(one, spread=Spread(one.time_s * 0.999, one.time_s * 1.001, "interval")) for one in measurements]

    noisy = changes(certain(runs(1, noise=0.1)), certain(runs(1, noise=0.1, seed=1)))
    assert {one.basis for one in noisy.changes} == {"sizes"} and not noisy.is_slower
    quiet = changes(certain(runs(1)), certain(runs(1)))
    assert {one.basis for one in quiet.changes} == {"intervals"}


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 4, 7.3, 30, 1000, math.inf])
def test_students_distribution(freedom: float) -> None:
    assert quantile(freedom) == pytest.approx(float(scipy.stats.t.ppf(0.975, freedom)), rel=1e-9)
    for t in (0.0, 0.01, 1.0, -3.0, 20.0, 1e6, 1e300):
        assert two_sided(t, freedom) == pytest.approx(
            2 * float(scipy.stats.t.sf(abs(t), freedom)), rel=1e-7, abs=1e-300
        )


# Shapes.


def test_a_switch_point_that_moved_is_a_hint() -> None:
    def factor(size: int) -> float:
        return 1.5 if 4096 <= size <= 65536 else 1.0

    result = changes(runs(3, noise=0.02), runs(3, noise=0.02, seed=1, factor=factor))
    (hint,) = (one for one in result.findings if one.kind == "hint")
    assert hint.subject == "algorithm" and "between 4 KiB and 64 KiB" in hint.sentence
    ring = [
        [replace(one, algorithm="ring") for one in runs(3, noise=0.02, seed=seed, factor=each)]
        for seed, each in enumerate((flat, factor))
    ]
    assert [one.subject for one in changes(*ring).findings if one.kind == "hint"] == ["protocol"]


def test_a_row_of_a_range_agrees_with_its_own_ratio() -> None:
    drawn = random.Random(5)
    before, after = (
        [replace(ONE, size_bytes=size, time_s=1e-5 * factor * drawn.lognormvariate(0, 0.12)) for size in SIZES]
        for factor in (1.0, 1.3)
    )
    after[7] = replace(after[7], time_s=0.95 * before[7].time_s)
    found = changes(before, after).changes
    assert sum(one.direction == "slower" for one in found) > 12
    assert all((one.ratio > 1) == (one.direction == "slower") for one in found if one.direction in ("slower", "faster"))


def test_slower_links_are_no_step() -> None:
    """Twice the time per byte: the ratio goes from 1 to 2 within several doublings."""

    def factor(size: int) -> float:
        return (1e-5 + 2 * size / 1e10) / (1e-5 + size / 1e10)

    result = changes(runs(3, noise=0.02), runs(3, noise=0.02, seed=1, factor=factor))
    assert result.is_slower and not [one for one in result.findings if one.kind == "hint"]


# Which points belong together.


def test_points_of_one_side_are_named() -> None:
    before = [*runs(2, sizes=SHORT), replace(ONE, size_bytes=1 << 20), replace(ONE, collective="broadcast")]
    result = changes(before, [*runs(2, sizes=SHORT), replace(ONE, in_place=True)])
    assert result.only_before == (
        "allreduce on 64 ranks: 1 size, 1 MiB",
        "broadcast on 64 ranks: 1 size, 4 KiB",
    )
    assert result.only_after == ("allreduce on 64 ranks: 1 size, 4 KiB",)
    sides = [one.sentence for one in result.findings if one.subject == "points"]
    assert len(sides) == 2 and sides[0].startswith("only before: ") and sides[1].startswith("only after: ")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"collective": "broadcast"}, "the collective is allreduce before and broadcast after"),
        ({"algorithm": "ring"}, "the algorithm is default before and ring after"),
        ({"ranks": 32}, "the number of ranks is 64 before and 32 after"),
        ({"in_place": True}, "the buffers in place or not is False before and True after"),
        ({"measured_as": "osu"}, "the way of measuring is isolated before and osu after"),
        ({"ranks_per_node": 4}, "the ranks on a node is None before and 4 after"),
        ({"element_bytes": 4}, "the size of an element is 1 before and 4 after"),
        ({"size_bytes": 8}, "no call is in both sets"),
    ],
)
def test_sets_without_a_common_point_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(hocket.Error, match=rf"^nothing to compare: {words}"):
        changes([ONE], [replace(ONE, **change)])


def test_another_library_is_compared_unless_a_set_has_several() -> None:
    old, new = replace(ONE, library="Open MPI 4"), replace(ONE, library="Open MPI 5")
    assert len(changes([old], [new]).changes) == 1
    result = changes([old, new], [old, new])
    assert [(one.series.library, one.before_runs) for one in result.changes] == [("Open MPI 4", 1), ("Open MPI 5", 1)]


@pytest.mark.parametrize(
    "wrong",
    [{"before": []}, {"before": [5]}, {"before": ONE}, {"tolerance": -1}, {"tolerance": "x"}, {"tolerance": math.nan}],
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(hocket.Error) as caught:
        changes(**{"before": [ONE], "after": [ONE], **wrong})
    assert "\n" not in str(caught.value)


def test_extreme_times() -> None:
    result = changes([replace(ONE, time_s=1e-12)] * 2, [replace(ONE, time_s=3.1e7)] * 2)
    json.dumps(result.as_dict(), allow_nan=False)
    assert result.is_slower


# As a result.


def test_records_and_chart() -> None:
    result = changes(runs(3, noise=0.05), runs(3, noise=0.05, seed=1))
    record = result.records()[0]
    assert {"collective", "ranks", "size_bytes", "before_s", "after_s", "ratio", "ratio_low", "direction"} <= {*record}
    assert result.title == "allreduce, 20 points: time after over time before"
    chart = result.plot().to_dict()
    assert len(chart["layer"]) == 4 and chart["title"]["subtitle"][0] == result.sentence
    many = [replace(one, ranks=ranks) for ranks in range(2, 22) for one in runs(1, sizes=SHORT)]
    slower = [replace(one, time_s=one.time_s * one.ranks) for one in many]
    chart = changes(many, slower).plot().to_dict()
    assert chart["title"]["subtitle"][-1] == "not drawn: 10 series that changed less"
    drawn = {row["series"] for data in chart.get("datasets", {}).values() for row in data if "series" in row}
    assert drawn == {f"allreduce on {ranks} ranks" for ranks in range(12, 22)}
    barrier = [replace(ONE, collective="barrier", size_bytes=0)]
    with pytest.raises(hocket.Error, match=r"^plot: no point has a size above zero"):
        changes(barrier, barrier).plot()


def test_a_change_has_its_runs() -> None:
    one = changes(runs(3), runs(2)).changes[0]
    assert isinstance(one, Change) and (one.before_runs, one.after_runs, one.source) == (3, 2, "run0.txt:1")


_OSU = "# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n4  3.10\n8  3.05\n1024  8.31\n65536  {}\n"


def test_two_runs_are_compared_without_their_number_of_ranks(tmp_path: Path) -> None:
    """A machine needs it."""
    files = [tmp_path / "before.txt", tmp_path / "after.txt"]
    for file, last_us in zip(files, ("90.00", "91.00"), strict=True):
        file.write_text(_OSU.format(last_us))
    answer = CliRunner().invoke(judge, [*map(str, files)])
    assert (answer.exit_code, answer.output.split()[:3]) == (0, ["Cannot", "tell", "at"])
    refused = CliRunner().invoke(judge, [*map(str, files), "--machine", "cluster"])
    assert str(refused.exception) == f"{files[0]}: does not contain the number of ranks, expected --ranks"
