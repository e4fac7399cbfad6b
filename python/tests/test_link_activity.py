"""Links over time: binning, drawing and errors."""

from __future__ import annotations

import re
from typing import Any

import pytest

import hocket
from hocket.drawing.encoding import picture_of
from hocket.drawing.link_map import activity_chart, bytes_over_time
from hocket.simulating.simulation import Passage
from tests.test_link_map import cells, legend, network, panels, text

PASSAGES = (Passage(0, 400.0, 0.0, 4e-6), Passage(0, 100.0, 6e-6, 7e-6), Passage(3, 100.0, 5e-6, 6e-6))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (1, {0: [500.0], 3: [100.0]}),
        (2, {0: [400.0, 100.0], 3: [0.0, 100.0]}),
        (4, {0: [200.0, 200.0, 0.0, 100.0], 3: [0.0, 0.0, 100.0, 0.0]}),
        (8, {0: [100.0, 100.0, 100.0, 100.0, 0.0, 0.0, 100.0, 0.0], 3: [0.0] * 5 + [100.0] + [0.0] * 2}),
    ],
)
def test_bytes_are_spread_over_the_time_of_their_passage(parts: int, expected: dict[int, list[float]]) -> None:
    found = bytes_over_time(PASSAGES, parts, 8e-6)
    assert found.keys() == expected.keys()
    for link, of_link in found.items():
        assert of_link == pytest.approx(expected[link])


def test_the_last_part_has_what_is_later() -> None:
    assert bytes_over_time([Passage(0, 90.0, 1.0, 4.0)], 2, 2.0) == {0: [0.0, 90.0]}
    assert bytes_over_time([Passage(0, 90.0, 3.0, 4.0)], 2, 2.0) == {0: [0.0, 90.0]}


MODELS = {
    "queues": "",
    "wormhole": 'switching = "wormhole"\n',
    "fair": 'sharing = "fair"\n',
    "packets": None,
}


def machine(keys: str | None) -> hocket.Machine:
    content = text("torus", 'dims = [4]\nlink_latency = "100 ns"\n' + (keys or ""))
    content = content.replace('"links"', '"packets"') if keys is None else content
    return hocket.Machine.parse(content + "[node]\nports = 2\n", "mine.toml")


@pytest.mark.parametrize("model", MODELS)
def test_passages_add_up_to_what_links_carried(model: str) -> None:
    call, known = hocket.Call(ranks=4, size_bytes=20_000), machine(MODELS[model])
    end_s = hocket.simulate("alltoall/linear", call, machine=known).time_s.mean
    found = bytes_over_time(
        hocket.simulate("alltoall/linear", call, machine=known, keep=["passages"]).passages, 40, end_s
    )
    uses = {
        use.link: use.bytes for use in hocket.simulate("alltoall/linear", call, machine=known, keep=["links"]).link_uses
    }
    assert {link: pytest.approx(sum(of_link)) for link, of_link in found.items()} == uses
    assert max(load for of_link in found.values() for load in of_link) <= 1e9 * end_s / 40 * (1 + 1e-9)


def test_passages_are_of_the_first_trial() -> None:
    noisy = machine("")
    noisy = hocket.Machine.parse(
        noisy.text + '[noise.network]\nmodel = "gaussian"\nmean = "1 us"\ndeviation = "1 us"\n', "mine.toml"
    )
    call = hocket.Call(ranks=4, size_bytes=20_000)
    of_one, of_many = (
        hocket.simulate(
            "allreduce/ring", call, machine=noisy, trials=hocket.Trials(count, seed=7), keep=["passages"]
        ).passages
        for count in (1, 3)
    )
    assert of_one == of_many
    assert (
        of_one
        != hocket.simulate(
            "allreduce/ring", call, machine=noisy, trials=hocket.Trials(1, seed=8), keep=["passages"]
        ).passages
    )


def test_a_picture_has_a_map_for_each_of_a_few_parts() -> None:
    torus = network("torus", "dims = [4]")
    chart = activity_chart(PASSAGES, torus, title="x", end_s=12e-6).to_dict()
    names = [run["title"]["text"] for run in chart["vconcat"]]
    assert (len(names), names[0], names[-1]) == (6, "0 s to 2.000 us", "10.00 us to 12.00 us")
    shares = [[cell["share"] for cell in cells(next(panels(run)), chart)] for run in chart["vconcat"]]
    assert shares == [pytest.approx([s, 0, 0, 0]) for s in (1.0, 1.0, 0.0, 0.5, 0.0, 0.0)]
    assert '"25 MB/s", "50 MB/s", "75 MB/s", "100 MB/s"]' in legend(next(panels(chart)))


def test_a_page_has_a_slider_over_the_parts() -> None:
    torus = network("torus", "dims = [4]")
    chart: dict[str, Any] = activity_chart(PASSAGES, torus, title="x", end_s=8e-6, has_slider=True).to_dict()
    assert chart["params"] == [
        {"name": "moment", "value": 0, "bind": {"input": "range", "min": 0, "max": 39, "step": 1, "name": "moment "}}
    ]
    panel = next(panels(chart))
    assert panel["transform"][0] == {"as": "shown", "calculate": "datum.moments[moment]"}
    assert cells(panel, chart)[0]["moments"] == [1.0] * 20 + [0.0] * 10 + [1.0] * 5 + [0.0] * 5


@pytest.mark.parametrize(("ending", "begins"), [(".png", b"\x89PNG"), (".svg", b"<svg"), (".html", b"<!DOCTYPE html>")])
def test_files(ending: str, begins: bytes) -> None:
    has_slider = ending == ".html"
    chart = activity_chart(PASSAGES, network("torus", "dims = [4]"), title="x", end_s=8e-6, has_slider=has_slider)
    picture = picture_of(lambda: chart, ending)
    assert picture.lstrip().startswith(begins)
    if ending == ".html":
        assert not re.search(rb"<(script|link)[^>]+(src|href)=", picture)


CIRCUITS = """name = "optical"
[network]
model = "circuits"
topology = "crossbar"
nodes = 4
bandwidth = "1 GB/s"
reconfiguration = "1 us"
latency = "1 us"
ports = 1
policy = "naive"
"""


def test_what_cannot_be_told_or_drawn_is_refused() -> None:
    call = hocket.Call(ranks=4, size_bytes=64)
    with pytest.raises(hocket.Error, match="passages: machine cluster has no topology"):
        hocket.simulate("allreduce/ring", call, machine="cluster", keep=["passages"])
    with pytest.raises(
        hocket.Error, match="does not record the load of links over time, expected the model links or packets"
    ):
        machine = hocket.Machine.parse(CIRCUITS, "optical.toml")
        hocket.simulate("allreduce/ring", call, machine=machine, keep=["passages"])
    with pytest.raises(hocket.Error, match="nothing to draw, expected a call that takes time"):
        activity_chart((), network("torus"), title="", end_s=0.0)
    with pytest.raises(hocket.Error, match="a map of 49152 links, expected at most 30000"):
        activity_chart((), network("torus", "dims = [64, 32]"), title="", end_s=1.0)
    with pytest.raises(hocket.Error, match=r'ends in ".gif", expected one of'):
        picture_of(lambda: activity_chart((), network("torus"), title="", end_s=1.0), ".gif")
