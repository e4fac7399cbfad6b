"""Parameters that depend on the machine."""

from dataclasses import replace

import pytest

import hocket
from hocket.models.trinaryx3 import best_segment_bytes
from hocket.rules import trinaryx3_segment

QUIET = """
name = "quiet"
[network]
model = "hockney"
latency = "1 us"
bandwidth = "1 GB/s"
"""


def machine(**keys: str) -> hocket.Machine:
    """A machine that says of itself what the rule looks for."""
    quiet = hocket.Machine.parse(QUIET, "quiet.toml")
    network = {**quiet.network, **{key: value for key, value in keys.items() if key == "link_bandwidth"}}
    node = {**quiet.node, **{key: value for key, value in keys.items() if key != "link_bandwidth"}}
    return replace(quiet, network=network, node=node)


LINKS = {"link_bandwidth": "4 GB/s", "software_latency": "1 us"}


@pytest.mark.parametrize("collective", ["broadcast", "reduce", "allreduce"])
def test_segments_are_the_best_of_the_model_for_the_height_of_the_trees(collective: str) -> None:
    algorithm = hocket.find(f"{collective}/trinaryx3")
    model = {"latency_s": 1e-6, "link_bytes_per_s": 4e9, "reduce_bytes_per_s": 5e9}
    for sizes, height in (({}, 4 + 3 + 2 - 2), ({"X": 2, "Y": 2, "Z": 6}, 2 + 2 + 6 - 2), ({"X": 24}, 23)):
        call = hocket.Call(ranks=24, size_bytes=1 << 20, parameters={"segment": "auto", **sizes})
        best = best_segment_bytes(collective, 1 << 20, height_links=height, **model)  # type: ignore[arg-type]
        assert trinaryx3_segment(algorithm, call, machine(**LINKS, reduce_bandwidth="5 GB/s")) == round(best)


def test_where_the_model_says_nothing_segments_are_as_large_as_without_the_rule() -> None:
    algorithm = hocket.find("allreduce/trinaryx3_overlapped")
    free = machine(**{**LINKS, "software_latency": "0 s"})
    for ranks, size, where in (
        (8, 4096, machine()),
        (1, 4096, machine(**LINKS)),
        (8, 0, machine(**LINKS)),
        (8, 4096, free),
    ):
        call = hocket.Call(ranks=ranks, size_bytes=size, parameters={"segment": "auto"})
        assert trinaryx3_segment(algorithm, call, where) == 65536


def test_auto_is_replaced_before_the_simulation() -> None:
    call = hocket.Call(ranks=8, size_bytes=1 << 20, parameters={"segment": "auto"})
    found = hocket.simulate("allreduce/trinaryx3", call, machine=hocket.Machine.parse(QUIET, "quiet.toml"))
    assert found.parameters["segment"] == 65536
    assert found.formula_s is not None


def test_the_torus_that_an_algorithm_chose_is_told() -> None:
    found = hocket.simulate("allreduce/trinaryx3", hocket.Call(ranks=12, size_bytes=1024))
    assert found.parameters == {"segment": 65536, "X": 3, "Y": 2, "Z": 2}
    given = hocket.Call(ranks=12, size_bytes=1024, parameters={"X": 12})
    assert hocket.simulate("allreduce/torus_bucket", given).parameters == {"X": 12, "Y": 1, "Z": 1}
