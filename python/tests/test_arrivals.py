"""Ranks that begin a call late, from Python and from the command line."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

import hocket
from hocket.simulating.arrivals import Arrivals
from tests.conftest import Ran

EAGER = hocket.Machine.parse(
    'name = "eager"\n[network]\nmodel = "hockney"\nlatency = "1 us"\nbandwidth = "1 GB/s"\nprotocol = "eager"\n'
)
CALL = hocket.Call(ranks=4, size_bytes=64)
LINE = "--ranks 4 --size 64"


def test_the_time_counts_from_the_last_arrival() -> None:
    alone = hocket.simulate("allreduce/ring", CALL)
    late = hocket.simulate("allreduce/ring", CALL, arrivals=[5.0, 5.0, 5.0 + 2e-5, 5.0])
    assert late.time_s.mean == pytest.approx(alone.time_s.mean)
    assert late.arriving_s == pytest.approx((2e-5,))
    assert late.rank_time_s["max"] == pytest.approx(alone.time_s.mean + 2e-5)
    assert (late.arrivals, alone.arrivals, late.formula_s) == ("4 times", None, None)
    assert late.as_dict()["arrivals"] == "4 times"


def test_every_way_to_say_the_same_gives_the_same(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "late.csv"
    file.write_text("\ufeffrank, arrival_s,host\n2,0.00001,a\n0,0,a\n1,0,a\n3,0,b\n")
    ways = ["rank 2, 10 us", "5us, 5 us, 15us,\n5us", f"{file}"]
    found = [
        hocket_command("simulate broadcast binomial", *LINE.split(), "--arrivals", way, "--json").json for way in ways
    ]
    times_s = {one["time_s"]["mean"] for one in found}
    assert len(times_s) == 1
    again = hocket.compare("broadcast", ranks=4, sizes=64, arrivals="rank 2, 10 us")
    assert again.times_s[64, "binomial"] in times_s
    assert not again.bounds


def test_drawn_arrivals_are_trials(hocket_command: Callable[..., Ran]) -> None:
    found = hocket.simulate("allreduce/ring", CALL, arrivals="one rank, 0..50 us", trials=hocket.Trials(40, seed=3))
    assert found.trials == len(set(found.arriving_s)) == 40
    assert 0 < min(found.arriving_s) < max(found.arriving_s) < 50e-6
    compared = hocket_command("compare allreduce", *LINE.split(), "--arrivals", "every rank, exponential 5 us").out
    assert "arrivals: every rank, exponential 5 us" in " ".join(compared.split())
    assert "16 trials" in compared or "to 256 trials" in compared
    refused = hocket_command("simulate allreduce ring", *LINE.split(), "--arrivals", "rank 1, 5 us", "--trials", "9")
    assert (refused.status, "all trials are alike" in refused.err) == (2, True)


def test_an_algorithm_for_a_late_rank_knows_the_rank_that_arrives_late() -> None:
    def simulated(arrivals: Arrivals | None, **parameters: int) -> tuple[object, float]:
        call = hocket.Call(ranks=8, size_bytes=1 << 20, parameters=parameters)
        found = hocket.simulate("allreduce/late_rank", call, arrivals=arrivals)
        return found.parameters["late"], found.time_s.mean

    late, time_s = simulated("rank 5, 2 ms")
    assert (late, time_s) == simulated("rank 5, 2 ms", late=5) == (5, time_s)
    assert time_s < simulated("rank 5, 2 ms", late=0)[1]
    assert simulated([0.0, 0.0, 1e-3, 0.0, 0.0, 0.0, 1e-6, 0.0])[0] == 2
    unknown: list[Arrivals | None] = [None, [0.0] * 8, "one rank, 2 ms", "every rank, exponential 9 us"]
    assert {simulated(arrivals)[0] for arrivals in unknown} == {0}
    with pytest.raises(hocket.Error, match="got rank 9, expected a rank below 8"):
        simulated("rank 9, 2 ms")


def test_marks_count_from_the_last_arrival() -> None:
    alone = hocket.simulate("allreduce/redundant_butterfly", CALL)
    late = hocket.simulate("allreduce/redundant_butterfly", CALL, arrivals="rank 2, 1 ms")
    assert [mark.mean for mark in late.marks] == pytest.approx([mark.mean for mark in alone.marks])
    assert len(alone.marks) == 2
    chain = hocket.simulate("broadcast/redundant_binomial", CALL, machine=EAGER, arrivals="rank 3, 1 ms")
    assert chain.marks_s[0][0] >= 0


def test_one_size_is_drawn_over_lateness() -> None:
    found = hocket.compare("broadcast", ranks=4, sizes=64, arrivals="one rank, 0..9 us")
    chart = found.plot().to_dict()
    assert chart["layer"][0]["encoding"]["x"]["title"] == "from the first to the last arrival (us)"
    hidden = hocket.compare("broadcast", ranks=4, sizes=64, machine=EAGER, arrivals="rank 3, 100..200 us")
    fastest = [one for one in hidden.simulations if one.time_s.max == 0]
    with pytest.raises(hocket.Error, match="nothing to draw on a logarithmic axis"):
        replace(hidden, simulations=tuple(fastest)).plot()
    some = hocket.compare("broadcast", ranks=4, sizes=64, machine=EAGER, arrivals="one rank, 100..200 us").plot()
    assert "left out: trials of" in " ".join(some.to_dict()["title"]["subtitle"])
    assert (
        "size" in hocket.compare("broadcast", ranks=4, sizes=64).plot().to_dict()["layer"][0]["encoding"]["x"]["title"]
    )


def test_several_sizes_are_a_map_over_lateness() -> None:
    names = ["allreduce/late_rank", "allreduce/rabenseifner"]
    calls = [hocket.Call(ranks=64, size_bytes=size) for size in (1 << 22, 1 << 24)]
    found = hocket.compare(names, calls, arrivals="rank 5, 0..4 ms", trials=hocket.Trials(24))
    chart = found.plot().to_dict()
    assert chart["layer"][0]["encoding"]["y"]["title"] == "lateness"
    ranges = chart["layer"][0]["encoding"]["y"]["sort"]
    assert len(ranges) == 8 and all(re.fullmatch(r"[0-9.]+ to [0-9.]+ ms", each) for each in ranges)
    (rows,) = chart["datasets"].values()
    cells = {(row["lateness"], row["size"]): row for row in rows}
    # Late ranks make the algorithm for them the fastest; the longer the message, the later they must be.
    fastest = [cells[late, "16 MiB"]["fastest"] for late in ranges[::-1]]
    assert fastest == sorted(fastest, reverse=True) and set(fastest) == {"rabenseifner", "late_rank"}
    assert [cells[ranges[0], size]["fastest"] for size in ("4 MiB", "16 MiB")] == ["late_rank"] * 2
    # The number of a cell comes from the trials of its group.
    late_s, times_s = (
        found.simulations[0].arriving_s,
        {(s.algorithm, s.size_bytes): s.times_s for s in found.simulations},
    )
    in_first = sorted(range(24), key=lambda trial: late_s[trial])[:3]
    slow, fast = (sum(times_s[name, 1 << 24][trial] for trial in in_first) for name in ("late_rank", "rabenseifner"))
    assert cells[ranges[-1], "16 MiB"]["factor"] == f"{slow / fast:.2f}"


def test_groups_of_the_same_lateness_are_one_row_of_a_map() -> None:
    names, late_s = ["broadcast/chain", "broadcast/binomial"], (*[1e-3] * 20, *[2e-3] * 4)
    found = hocket.compare(names, ranks=4, sizes=[64, 4096], arrivals="one rank, 0..9 us", trials=hocket.Trials(24))
    chart = replace(found, simulations=tuple(replace(one, arriving_s=late_s) for one in found.simulations)).plot()
    encoded = chart.to_dict()
    assert encoded["layer"][0]["encoding"]["y"]["sort"] == ["2 to 2 ms", "1 to 2 ms", "1 to 1 ms"]
    (rows,) = encoded["datasets"].values()
    (cell,) = (row for row in rows if (row["lateness"], row["size"]) == ("1 to 1 ms", "64 B"))
    means_s = sorted(fmean(one.times_s[:18]) for one in found.simulations if one.size_bytes == 64)
    assert cell["factor"] == f"{means_s[1] / means_s[0]:.2f}", "six groups of three trials"


@pytest.mark.parametrize(
    ("arrivals", "expected"),
    [
        ("rank 4, 1 us", "arrivals: got rank 4, expected a rank below 4"),
        ([0.0], "arrivals: got 1 time, expected one for each of 4 ranks"),
        ([0.0, 0.0, float("nan"), 0.0], "arrivals: got nan, expected a time in seconds"),
        (3, "arrivals: got 3, expected a text, or a time for each rank in seconds"),
        ({0: 0.0}, "arrivals: got {0: 0.0}, expected a text"),
        (bytearray(4), "arrivals: got bytearray"),
        (iter([0.0] * 4), "arrivals: got <list_iterator"),
        (np.array(5e-6), "arrivals: got "),
        ("rank 3, \udcff", "arrivals: got 'rank 3, \\udcff', expected Unicode text"),
        ("late", 'arrivals: got "late", expected ranks and how late they are'),
    ],
)
def test_wrong_arrivals_are_one_line(arrivals: Any, expected: str) -> None:
    with pytest.raises(hocket.Error) as refused:
        hocket.simulate("allreduce/ring", CALL, arrivals=arrivals)
    assert str(refused.value).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rank,time\n0,1\n", "line 1: got the columns 'rank', 'time', expected rank and arrival_s, each once"),
        ("rank,rank,arrival_s\n0,1,1\n", "line 1: got the columns 'rank', 'rank', 'arrival_s'"),
        ("rank;arrival_s\n0;1\n", "line 1: got the columns 'rank;arrival_s'"),
        ("rank,arrival_s\n0,soon\n", "line 2: got '0', 'soon', expected a cell for each column"),
        ("rank,arrival_s\n0,nan\n", "line 2: got '0', 'nan'"),
        ("rank,arrival_s\n0,1_0\n", "line 2: got '0', '1_0'"),
        ("rank,arrival_s\n0,1\n0,2\n", "line 3: got '0', '2'"),
        ("rank,arrival_s\n0,1,7\n", "line 2: got '0', '1', '7'"),
        (f"rank,arrival_s\n0,{'1' * 200_000}\n", "line 2: not CSV: field larger than field limit"),
        ("rank,arrival_s\n0,1\n2,1\n", "got times of 2 ranks"),
        ("rank,arrival_s\n", "got times of 0 ranks"),
        ("rank,arrival_s\n0\n", "line 2: got '0', expected"),
        ("", "line 1: got the columns none"),
    ],
)
def test_wrong_files_are_one_line(hocket_command: Callable[..., Ran], tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "late.csv"
    file.write_text(text)
    found = hocket_command("simulate allreduce ring", *LINE.split(), "--arrivals", file)
    assert (found.status, found.out) == (2, "")
    assert f"--arrivals: {file}: {expected}" in found.err


def test_arrivals_and_benchmarks_exclude_each_other(hocket_command: Callable[..., Ran]) -> None:
    late = ["--arrivals", "rank 1, 1 us", "--measured-as", "osu"]
    for command in ("simulate allreduce ring", "compare allreduce"):
        assert (
            "--measured-as: got osu, expected isolated, as --arrivals is given"
            in hocket_command(command, *LINE.split(), *late).err
        )
    with pytest.raises(hocket.Error, match="expected 'isolated', as arrivals are given"):
        hocket.simulate("allreduce/ring", CALL, arrivals="rank 1, 1 us", measured_as="osu")


def test_a_sweep_has_a_row_for_each_of_the_arrivals(tmp_path: Path) -> None:
    late = ["", "rank 2, 10 us", "one rank, 0..9 us"]
    text = f'ranks = 4\nsizes = 64\ntrials = 5\narrivals = {late}\n[algorithms]\n"broadcast/chain" = {{}}\n'
    table = hocket.sweep(hocket.Grid.parse(text))
    assert [row.arrivals for row in table.rows] == late
    for row in table.rows:
        found = hocket.simulate("broadcast/chain", CALL, arrivals=row.arrivals or None, trials=hocket.Trials(5))
        assert row.time_mean_s == found.time_s.mean
    table.write(tmp_path / "late.csv")
    assert hocket.Table.load(tmp_path / "late.csv").rows == table.rows
    with pytest.raises(hocket.Error, match=r'arrivals: got "late\.csv", expected ranks and how late they are'):
        hocket.Grid.parse(text.replace("rank 2, 10 us", "late.csv"))


def test_no_lateness_is_no_arrivals_and_zero_times_are_known_at_once() -> None:
    noisy = hocket.Machine.load("jitter-paper")
    trials = hocket.Trials(64, seed=2)
    alone, together = (
        hocket.simulate("allreduce/ring", CALL, machine=noisy, trials=trials, arrivals=arrivals).times_s
        for arrivals in (None, "every rank, 5 us")
    )
    assert alone == together
    until = hocket.Trials(100_000, until_interval="1%")
    found = hocket.simulate("broadcast/chain", CALL, machine=EAGER, arrivals="rank 3, 100..200 us", trials=until)
    assert (found.trials, found.time_s.max) == (64, 0.0)
    assert found.records()[0]["lateness_s"] == found.as_dict()["lateness_s"] == found.lateness_s
    assert found.lateness_s is not None and 1e-4 < found.lateness_s < 2e-4


def test_links_over_time_show_what_comes_before_the_last_arrival(
    hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    machine = tmp_path / "links.toml"
    machine.write_text(
        'name = "l"\n[network]\nmodel = "links"\ntopology = "torus"\ndims = [4]\nlink_bandwidth = "1 GB/s"\n'
    )
    late = ["--machine", machine, "--arrivals", "rank 3, 1 ms", "--links-over-time", tmp_path / "maps.svg"]
    assert hocket_command("simulate broadcast chain --ranks 4 --size 64KiB", *late).status == 0
    assert (tmp_path / "maps.svg").exists()
