"""Pictures of comparisons."""

import re
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket.drawing.comparison_chart import comparison_chart
from hocket.drawing.encoding import picture_of
from hocket.simulating.comparison import Comparison


@pytest.fixture(scope="module")
def compared() -> Comparison:
    calls = [hocket.Call(ranks=16, size_bytes=size) for size in (0, 8, 1024, 1 << 20)]
    return hocket.compare(hocket.algorithms("allreduce"), calls)


def test_a_png_has_pixels_of_many_colours(compared: Comparison) -> None:
    picture = picture_of(compared.plot, ".png")
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    assert width > 1000 and height > 600
    assert len(picture) > 20_000  # an empty picture has about 5 kB


def test_a_page_needs_no_network(compared: Comparison) -> None:
    page = picture_of(compared.plot, ".html").decode()
    assert "<script" in page and "recursive_doubling" in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']?(https?:)?//", page)


def test_both_axes_are_logarithmic_and_the_title_says_what_it_is(compared: Comparison) -> None:
    chart = comparison_chart(compared).to_dict()
    assert chart["title"]["text"] == "allreduce on 16 ranks, elements of 4 B, machine cluster"
    assert chart["title"]["subtitle"][0].startswith("use recursive_doubling to 1 KiB, ")
    assert chart["title"]["subtitle"][1].startswith("hockney: bandwidth 10 GB/s, latency 1 us, ")
    assert chart["title"]["subtitle"][1].endswith("; 1 trial, seed 0")
    for layer in drawn_lines(chart):
        assert {layer["encoding"][axis]["scale"]["type"] for axis in "xy"} == {"log"}


def made_up(**times_us: list[float]) -> Comparison:
    """Return a comparison: each algorithm with its times at 8 B, 16 B, 32 B, .."""
    one = hocket.simulate("allreduce/ring", hocket.Call(ranks=2, size_bytes=8))
    simulations = tuple(
        replace(one, algorithm=name, size_bytes=8 << i, time_s=replace(one.time_s, mean=time_us * 1e-6))
        for name, times in times_us.items()
        for i, time_us in enumerate(times)
    )
    machine = hocket.Machine.load("cluster")
    bounds = {found.size_bytes: hocket.Bound(1e-9, 0.0, 0.0) for found in simulations}
    return Comparison("allreduce", 2, machine, parameters={}, bounds=bounds, simulations=simulations, not_compared=())


def drawn_lines(chart: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the layers of whole lines."""
    return [layer for layer in chart["layer"] if layer["mark"]["type"] == "line" and "strokeCap" in layer["mark"]]


def colours(chart: dict[str, Any]) -> dict[str, str]:
    """Return the colour of each line, from the lowest to the highest."""
    (layer,) = drawn_lines(chart)
    return {row["line"]: row["colour"] for row in chart["datasets"][layer["data"]["name"]]}


def lines(comparison: Comparison, most: int | None = None) -> dict[str, str]:
    """Return the colour of each line, from the lowest to the highest."""
    return colours(comparison_chart(comparison, most).to_dict())


def labels(comparison: Comparison) -> list[str]:
    """Return the labels at lines."""
    datasets = comparison_chart(comparison, None).to_dict()["datasets"].values()
    return [row["text"] for rows in datasets for row in rows if "text" in row]


def test_the_algorithms_of_the_answer_have_colours_and_the_others_are_grey() -> None:
    drawn = lines(made_up(first=[1, 9, 9], second=[9, 1, 1], third=[2, 2, 2]))
    assert list(drawn) == ["third", "second", "first", "lower bound"]
    assert len(set(drawn.values())) == 4 and (drawn["third"], drawn["lower bound"]) == ("#b0b0b0", "black")
    chart = comparison_chart(made_up(first=[1, 9, 9], second=[9, 1, 1], third=[2, 2, 2])).to_dict()
    switches = [rows for rows in chart["datasets"].values() if "to" in rows[0]]
    assert [[(row["to"], row["size_bytes"]) for row in rows] for rows in switches] == [
        [("to 8 B", pytest.approx(8 * 2**0.5))]
    ]


def test_the_picture_has_the_answer_that_is_asked_for() -> None:
    found = made_up(first=[1, 9], second=[1.5, 1])
    assert "#b0b0b0" not in lines(found).values()
    chart = found.plot(within=0.6).to_dict()
    assert chart["title"]["subtitle"][0] == "use second: within 50 % of the fastest at each size"
    assert list(colours(chart).values()).count("#b0b0b0") == 1


def test_lines_have_their_labels_beside_them() -> None:
    found = labels(made_up(first=[1, 9, 9], second=[9, 1, 1], one=[90, 90, 90], other=[90, 90, 90.5]))
    assert {"first", "second", "lower bound"} < set(found)
    assert len({"one", "other"} & set(found)) == 1  # there is no room for both


def test_the_lines_nearest_to_the_fastest_are_drawn_unless_all_are_asked_for() -> None:
    many = made_up(
        **{f"slow_{i}": [100.0 + i, 200.0] for i in range(3)},
        **{f"near_{i}": [2.0 + i, 3.0] for i in range(9)},
        once_fastest=[1000.0, 1.0],
    )
    assert set(lines(many, 10)) == {*(f"near_{i}" for i in range(9)), "once_fastest", "lower bound"}
    assert len(lines(many)) == 14


def test_one_line_is_drawn_for_algorithms_of_the_same_times() -> None:
    drawn = lines(made_up(fastest=[0.5, 0.5, 0.5], a=[1, 2, 3], b=[1, 2, 4], c=[1, 2 + 1e-9, 3], d=[1, 2]))
    assert set(drawn) == {"fastest", "a +1", "b", "d", "lower bound"}


def test_a_line_has_a_gap_where_an_algorithm_was_not_simulated() -> None:
    whole = made_up(fastest=[1, 1, 1, 1], gap=[2, 2, 2, 2])
    some = replace(whole, simulations=tuple(s for s in whole.simulations if (s.algorithm, s.size_bytes) != ("gap", 16)))
    chart = comparison_chart(some).to_dict()
    rows = [row for rows in chart["datasets"].values() for row in rows if row.get("line") == "gap"]
    assert [(row["size_bytes"], row["part"]) for row in rows] == [(8, 0), (32, 1), (64, 1)]


def test_long_parameters_do_not_make_the_picture_wider() -> None:
    fugaku = hocket.compare("allreduce", ranks=8, sizes="8B,1KiB", machine="leonardo")
    answer, machine = comparison_chart(fugaku).to_dict()["title"]["subtitle"]
    assert answer.startswith("use ")
    assert len(machine) <= 118 and machine.endswith(" ...; 1 trial, seed 0")


def test_the_answer_tells_its_parameters_with_their_units() -> None:
    call = hocket.Call(ranks=4, size_bytes=1 << 20, parameters={"segment": 1 << 13})
    chain = hocket.compare([hocket.find("broadcast/chain")], [call])
    (answer, *_) = comparison_chart(chain).to_dict()["title"]["subtitle"]
    assert answer == "use chain (segment 8 KiB): the fastest"


def test_what_a_logarithm_cannot_show_is_left_out(compared: Comparison) -> None:
    datasets = comparison_chart(compared, most=None).to_dict()["datasets"].values()
    rows = [row for rows in datasets for row in rows if "line" in row]
    assert {row["size_bytes"] for row in rows} == {8, 1024, 1 << 20}
    assert {row["line"].split(" +")[0] for row in rows} <= {*compared.algorithms, "lower bound"}


def test_nothing_to_draw_is_an_error() -> None:
    alone = hocket.compare(hocket.algorithms("allreduce"), [hocket.Call(ranks=1, size_bytes=8)])
    with pytest.raises(hocket.Error, match="nothing to draw on logarithmic axes"):
        picture_of(alone.plot, ".png")


def test_another_ending_is_refused(compared: Comparison) -> None:
    with pytest.raises(hocket.Error, match=r'ends in "\.pdf", expected one of \.png, \.html'):
        picture_of(compared.plot, ".pdf")


@pytest.mark.parametrize(
    ("ending", "limit", "told"),
    [
        (".png", "-v 4000000", "within 3.815 GiB of addresses (ulimit -v)"),
        (".html", "-v 4000000", "within 3.815 GiB of addresses (ulimit -v)"),
        (".svg", "-n 14", "with 14 open files (ulimit -n)"),
    ],
)
def test_limits_that_leave_no_room_to_draw_are_told(ending: str, limit: str, told: str, tmp_path: Path) -> None:
    picture = tmp_path / f"picture{ending}"
    line = f"ulimit {limit}; exec {sys.executable} -m hocket compare allreduce --ranks 8 --sizes 8B --plot {picture}"
    ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    error = ran.stderr.splitlines()
    assert ran.returncode == 2
    assert len(error) == 1 and error[0].startswith("hocket: error: pictures cannot be drawn") and told in error[0]
    assert not picture.exists()
