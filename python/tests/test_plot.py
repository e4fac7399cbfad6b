"""Pictures of comparisons."""

import re
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import hocket
from hocket.drawing import plot
from hocket.drawing.encoding import PICTURES, picture_of
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
    chart = plot.chart(compared).to_dict()
    assert chart["title"]["text"] == "allreduce on 16 ranks, elements of 4 B, machine cluster"
    assert chart["title"]["subtitle"][0].startswith("hockney: bandwidth 10 GB/s, latency 1 us, ")
    assert chart["title"]["subtitle"][1] == "1 trial, seed 0"
    for layer in chart["layer"]:
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


def lines(comparison: Comparison, most: int | None = None) -> dict[str, tuple[object, ...]]:
    """Return colour, marker and dash of each line, from the lowest layer to the highest."""
    chart = plot.chart(comparison, most).to_dict()
    (rows,) = chart["datasets"].values()
    looks = []
    for channel in ("color", "shape"):
        encoding = chart["layer"][1]["encoding"][channel]
        assert encoding["legend"]["labelLimit"] == 0
        assert encoding["legend"]["symbolLimit"] >= len(encoding["scale"]["domain"])
        looks.append(dict(zip(encoding["scale"]["domain"], encoding["scale"]["range"], strict=True)))
    dashes = {row["line"]: tuple(row["dash"]) for row in rows}
    return {label: (looks[0][label], looks[1][label], dash) for label, dash in dashes.items()}


def test_lines_and_legend_of_many_algorithms_differ() -> None:
    drawn = lines(made_up(**{f"algorithm_{i}": [1.0 + i, 2.0 + i] for i in range(40)}))
    looks = [look[:2] for label, look in drawn.items() if label != "lower bound"]
    assert len(set(looks)) == 40
    assert len({colour for colour, _ in looks[:16]}) == 16
    assert not {"black", "#000000"} & {colour for colour, _ in looks}  # only bounds are black


def test_the_lines_nearest_to_the_fastest_are_drawn_unless_all_are_asked_for() -> None:
    many = made_up(
        **{f"slow_{i}": [100.0 + i, 200.0] for i in range(3)},
        **{f"near_{i}": [2.0 + i, 3.0] for i in range(9)},
        once_fastest=[1000.0, 1.0],
    )
    assert set(lines(many, 10)) == {*(f"near_{i}" for i in range(9)), "once_fastest", "lower bound"}
    parameters = {"slow_0": "radix = 2", "near_0": "radix = 4"}
    drawn = replace(many, parameters=parameters).plot().to_dict()
    assert drawn["title"]["subtitle"][2:] == [
        "parameters: near_0: radix = 4",
        "not drawn, as others come nearer to the fastest: slow_0; slow_1; slow_2",
    ]
    assert len(lines(many)) == 14
    assert replace(many, parameters=parameters).plot(most=None).to_dict()["title"]["subtitle"][3:] == []


def test_one_line_is_drawn_for_algorithms_of_the_same_times() -> None:
    drawn = lines(made_up(a=[1, 2, 3], b=[1, 2, 4], c=[1, 2 + 1e-9, 3], d=[1, 2]))
    assert set(drawn) == {"a = c", "b", "d", "lower bound"}


def test_a_line_that_lies_on_others_for_a_while_lets_them_be_seen() -> None:
    drawn = lines(made_up(a=[1, 2, 3], b=[1, 2, 30], c=[1, 2, 300], crosses=[2, 2, 2], apart=[50, 50, 50]))
    drawn_shares = [sum(dash[::2]) / sum(dash) for *_, dash in drawn.values()]
    assert drawn_shares == sorted(drawn_shares, reverse=True)  # solid lines are lower layers
    dashes = {label: dash for label, (*_, dash) in drawn.items()}
    assert len({dashes[label] for label in "abc"}) == 3
    assert dashes["crosses"] == dashes["apart"] == dashes["a"] == (1, 0)


def test_many_parameters_do_not_make_the_picture_wider() -> None:
    one = made_up(a=[1, 2])
    subtitle = plot.chart(replace(one, parameters={f"algorithm_{i}": "segment = 64 KiB" for i in range(20)}))
    assert max(map(len, subtitle.to_dict()["title"]["subtitle"])) <= 130


def test_parameters_are_told_with_their_units() -> None:
    chain = hocket.compare([hocket.find("broadcast/chain")], [hocket.Call(ranks=4, size_bytes=1 << 20)])
    assert plot.chart(chain).to_dict()["title"]["subtitle"][2] == "parameters: chain: segment = 64 KiB"


def test_the_lower_bound_is_a_line_of_its_own() -> None:
    _, *others = lines(made_up(a=[1, 2])).items()
    assert [label for label, _ in others] == ["lower bound"]
    assert others[0][1][:2] == ("black", "stroke")


def test_what_a_logarithm_cannot_show_is_left_out(compared: Comparison) -> None:
    (rows,) = plot.chart(compared, most=None).to_dict()["datasets"].values()
    assert {row["size_bytes"] for row in rows} == {8, 1024, 1 << 20}
    assert {name for row in rows for name in row["line"].split(" = ")} == {*compared.algorithms, "lower bound"}


def test_nothing_to_draw_is_an_error() -> None:
    alone = hocket.compare(hocket.algorithms("allreduce"), [hocket.Call(ranks=1, size_bytes=8)])
    with pytest.raises(hocket.Error, match="nothing to draw on logarithmic axes"):
        picture_of(alone.plot, ".png")


def test_another_ending_is_refused(compared: Comparison) -> None:
    with pytest.raises(hocket.Error, match=r'ends in "\.pdf", expected one of \.png, \.html'):
        picture_of(compared.plot, ".pdf")


@pytest.mark.parametrize("ending", PICTURES)
@pytest.mark.parametrize(
    ("limit", "told"),
    [("-v 4000000", "within 3.815 GiB of addresses (ulimit -v)"), ("-n 14", "with 14 open files (ulimit -n)")],
)
def test_limits_that_leave_no_room_to_draw_are_told(ending: str, limit: str, told: str, tmp_path: Path) -> None:
    picture = tmp_path / f"picture{ending}"
    line = f"ulimit {limit}; exec {sys.executable} -m hocket compare allreduce --ranks 8 --sizes 8B --plot {picture}"
    ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    error = ran.stderr.splitlines()
    assert ran.returncode == 2
    assert len(error) == 1 and error[0].startswith("hocket: error: pictures cannot be drawn") and told in error[0]
    assert not picture.exists()
