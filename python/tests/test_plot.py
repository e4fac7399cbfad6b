"""Pictures of comparisons."""

import re
import struct

import pytest

import hocket
from hocket import plot
from hocket.comparison import Comparison


@pytest.fixture(scope="module")
def compared() -> Comparison:
    calls = [hocket.Call(ranks=16, size_bytes=size) for size in (0, 8, 1024, 1 << 20)]
    return hocket.compare(hocket.algorithms("allreduce"), calls)


def test_a_png_has_pixels_of_many_colours(compared: Comparison) -> None:
    picture = plot.render(compared, ".png")
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    assert width > 1000 and height > 600
    assert len(picture) > 20_000  # an empty canvas of this size takes some 5 kB


def test_a_page_needs_no_network(compared: Comparison) -> None:
    page = plot.render(compared, ".html").decode()
    assert "<script" in page and "recursive_doubling" in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']?(https?:)?//", page)


def test_both_axes_are_logarithmic_and_the_title_says_what_it_is(compared: Comparison) -> None:
    chart = plot.chart(compared).to_dict()
    assert chart["title"]["text"] == "allreduce on 16 ranks, machine cluster"
    assert chart["title"]["subtitle"][0].startswith("hockney: bandwidth 10 GB/s, latency 1 us, ")
    assert chart["title"]["subtitle"][1] == "seed 0, 1 trial"
    for layer in chart["layer"]:
        assert {layer["encoding"][axis]["scale"]["type"] for axis in "xy"} == {"log"}


def test_parameters_are_told_with_their_units() -> None:
    chain = hocket.compare([hocket.find("broadcast/chain")], [hocket.Call(ranks=4, size_bytes=1 << 20)])
    assert plot.chart(chain).to_dict()["title"]["subtitle"][2] == "parameters: chain: segment = 64 KiB"


def test_what_a_logarithm_cannot_show_is_left_out(compared: Comparison) -> None:
    (rows,) = plot.chart(compared).to_dict()["datasets"].values()
    assert {row["size_bytes"] for row in rows} == {8, 1024, 1 << 20}
    assert {row["algorithm"] for row in rows} == set(compared.algorithms)


def test_nothing_to_draw_is_an_error() -> None:
    alone = hocket.compare(hocket.algorithms("allreduce"), [hocket.Call(ranks=1, size_bytes=8)])
    with pytest.raises(hocket.Error, match="nothing to draw on logarithmic axes"):
        plot.render(alone, ".png")


def test_another_ending_is_refused(compared: Comparison) -> None:
    with pytest.raises(hocket.Error, match=r'ends in "\.pdf", expected one of \.png, \.html'):
        plot.render(compared, ".pdf")
