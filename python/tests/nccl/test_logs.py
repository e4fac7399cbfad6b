"""NCCL's tables beside what NCCL itself printed: public logs, of which `logs.csv` keeps the digits."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import pytest

from hocket.rules.nccl.choosing import decide
from hocket.rules.nccl.table import Graph, Hardware, Job, Version, cost_table

_SHARP = Graph(12, 30.0, 30.0)
_NODE = Hardware("hopper", _SHARP, _SHARP, _SHARP)
_CARDS_200 = Graph(8, 24.0, 24.0)
_CARDS_400 = Graph(8, 48.0, 48.0)
_LONE = Hardware(
    "blackwell", Graph(2, 1.2, 1.2), Graph(4, 1.2, 1.2), None, "pcie", has_simple_trees=True, has_near_cards=False
)


class Setting(NamedTuple):
    """What a log is of."""

    ranks: int
    nodes: int
    hardware: Hardware
    version: Version


JOBS = {
    "h100-3x8": Setting(
        24, 3, Hardware("hopper", _CARDS_200, _CARDS_200, Graph(8, 45.0, 24.0), has_simple_trees=True), "2.20"
    ),
    "h100-1x8-old": Setting(8, 1, _NODE, "2.20"),
    "h100-1x8": Setting(8, 1, _NODE, "2.27"),
    "h100-2x8": Setting(16, 2, Hardware("hopper", _CARDS_400, _CARDS_400, _CARDS_400, has_simple_trees=True), "2.27"),
    "h200-64x8": Setting(
        512, 64, Hardware("hopper", _CARDS_400, _CARDS_400, _CARDS_400, has_simple_trees=True), "2.27"
    ),
    "rtx5090-2x1": Setting(2, 2, _LONE, "2.27"),
}
NOT_REPRODUCED = {("NVIDIA/nccl#1906", 4636800): "ring/ll128", ("NVIDIA/nccl#1752", 16777216): "nvls_tree/simple"}
"""The lines in which NCCL chose otherwise than its tables of 2.27 say on these channels, and what they say."""


def _lines() -> list[dict[str, str]]:
    text = Path(__file__).with_name("logs.csv").read_text()
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


LINES = _lines()


def _job(line: dict[str, str]) -> Job:
    ranks, nodes, hardware, version = JOBS[line["job"]]
    return Job(line["function"], ranks, nodes, hardware, version)


@pytest.mark.parametrize("line", [line for line in LINES if not line["forced"]], ids=lambda one: one["source"])
def test_the_choice_is_the_one_of_the_log(line: dict[str, str]) -> None:
    size = int(line["bytes"])
    expected = NOT_REPRODUCED.get((line["source"], size), f"{line['algorithm']}/{line['protocol']}")
    assert str(decide(_job(line), size).entry) == expected


@pytest.mark.parametrize("line", [line for line in LINES if line["time_us"]], ids=lambda one: one["source"])
def test_the_time_is_the_one_of_the_log(line: dict[str, str]) -> None:
    job = _job(line)
    (entry,) = (each for each in cost_table(job) if str(each) == f"{line['algorithm']}/{line['protocol']}")
    assert job.time_us(entry, int(line["bytes"])) == pytest.approx(float(line["time_us"]), rel=1e-6)


def test_the_documentation_counts_the_lines_as_they_are() -> None:
    free = [line for line in LINES if not line["forced"]]
    times = [line for line in LINES if line["time_us"]]
    text = (Path(__file__).parents[3] / "docs" / "nccl.md").read_text()
    assert f"{len(free) - len(NOT_REPRODUCED)} of {len(free)} choices" in text
    assert f"{len(times)} of {len(times)} times" in text


TABLE_2_29 = {
    "bcast": {"ring/ll": (9.3, 1.2), "ring/simple": (22.4, 2.4)},
    "reduce": {"ring/ll": (9.3, 1.2), "ring/simple": (22.4, 2.4)},
    "allgather": {"ring/ll": (11.6, 2.4), "ring/simple": (22.4, 4.8), "pat/simple": (17.6, 3.6)},
    "reduce_scatter": {"ring/ll": (11.6, 2.4), "ring/simple": (22.4, 4.8), "pat/simple": (17.6, 3.6)},
    "allreduce": {
        "tree/ll": (16.8, 0.5),
        "tree/simple": (36.4, 1.9),
        "ring/ll": (16.6, 1.2),
        "ring/simple": (36.4, 2.4),
    },
}
"""Latencies in microseconds and GB/s that NCCL 2.29.7 printed for two nodes of an RTX 5090 (eunomia-bpf/nccl-eBPF)."""


@pytest.mark.parametrize("function", TABLE_2_29)
def test_the_table_is_the_printed_one(function: str) -> None:
    ranks, nodes, hardware, version = JOBS["rtx5090-2x1"]
    entries = [each for each in cost_table(Job(function, ranks, nodes, hardware, version)) if not each.why_not]
    printed = {str(each): (round(each.latency_us, 1), round(each.bandwidth_gb_s, 1)) for each in entries}
    assert printed == TABLE_2_29[function]
