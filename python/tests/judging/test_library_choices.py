"""What a library chooses by itself, beside measured times: by NCCL's table, by its log, and by the rules of an MPI."""

from __future__ import annotations

import pytest

import hocket
from hocket.judging.assessment import Assessment
from tests.judging.test_odd_texts import nccl

MACHINE = """name = "node"
[network]
model = "loggp"
L = "4 us"
o = "1 us"
G = "0.02 ns/B"
ranks_per_node = 8
[[level]]
name = "node"
L = "1 us"
o = "0 s"
G = "0.003 ns/B"
{}
[node.cards]
count = 8
bandwidth = "50 GB/s"
[gpu]
generation = "{}"
channels = 12
channel_bandwidth = "20 GB/s"
[[discrepancy]]
low = 0.95
high = 1.05
calls = 30
ranks = 8
[protocol.LL.level.node]
L = "0.4 us"
"""
AMPERE = hocket.Machine.parse(MACHINE.format("", "ampere"), "node.toml")
TABLE = "ring, protocol=ll128, channels=24"
SIZES = [1 << 12, 1 << 24]


def judged(
    log: str = "", machine: hocket.Machine | str = AMPERE, times_us: tuple[float, float] = (20, 300)
) -> Assessment:
    text = nccl("all_reduce", list(zip(SIZES, times_us, strict=True)), ranks=8)
    return hocket.judge(log + text, machine=machine)


def choices(found: Assessment) -> list[str]:
    return [one.sentence for one in found.curves[0].findings if one.subject == "choice"]


def test_the_choice_of_the_table_is_that_of_compare_and_stands_beside_measured_times() -> None:
    found = judged()
    algorithms = ["allreduce/ring", "allreduce/multi_ring"]
    calls = [hocket.Call(ranks=8, size_bytes=size, element_bytes=4) for size in SIZES]
    compared = hocket.compare(algorithms, calls, machine=AMPERE, measured_as="imb", defaults=["nccl-2"])
    rows = found.curves[0].rows
    assert [(row.choice.choice, row.choice.time_s) for row in rows] == [
        (one.choice, one.time_s) for one in compared.defaults
    ]
    small, large = choices(found)
    assert small.startswith("4 KiB: nccl-2 chooses ring, protocol=ll, channels=1: at the costs of LL; simulated ")
    factor = rows[1].measured_s / compared.defaults[1].time_s
    assert large.startswith(
        "16 MiB: nccl-2 chooses ring, protocol=ll128, channels=24: at the machine's own costs; simulated "
    )
    assert large.endswith(f"measured {factor:.2f} times as long as that")
    assert found.records()[1]["choice"] == TABLE


def test_a_machine_without_accelerators_and_a_text_of_no_nccl_have_no_choices() -> None:
    assert choices(judged(machine="cluster")) == []
    osu = "# OSU MPI Allreduce Latency Test v7.4\n# Size Avg Latency(us)\n65536 90.0\n1048576 900.0\n"
    assert choices(hocket.judge(osu, machine=AMPERE, ranks=8)) == []


@pytest.mark.parametrize(
    ("line", "choice", "instead"),
    [
        (
            "node1:1:1 [0] NCCL INFO 16777216 Bytes -> Algo 0 proto 1 time 3.5",
            "tree, protocol=ll128, channels=24",
            TABLE,
        ),
        ("NCCL INFO AllReduce: 16777216 Bytes -> Algo 1 proto 0 time 311.5", "ring, protocol=ll, channels=24", TABLE),
        (
            "NCCL INFO AllReduce:   16777216 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..11}",
            "ring, protocol=ll128, channels=12",
            "",
        ),
    ],
)
def test_a_log_tells_the_choice(line: str, choice: str, instead: str) -> None:
    found = judged(f"{line}\n")
    row = found.curves[0].rows[1]
    assert (row.choice.choice, row.choice.source, row.choice.instead) == (choice, "text:1", instead)
    assert f"nccl-2 chose {choice}: " in choices(found)[1]
    assert (f"NCCL's table says {TABLE}" in choices(found)[1]) == bool(instead)
    assert not any(one.sentence.startswith("16 MiB: it runs like") for one in found.curves[0].findings)


def test_bytes_of_newer_logs_are_those_that_the_caller_counts() -> None:
    text = nccl("all_gather", [(1 << 20, 60), (1 << 21, 90)], ranks=8)
    line = "NCCL INFO AllGather: {} Bytes -> Algo RING proto LL channel{{Lo..Hi}}={{0..3}}\n"
    logs = [line.format(1 << 17), line.format(1 << 20)]
    told = [[row.choice.source for row in hocket.judge(log + text, machine=AMPERE).curves[0].rows] for log in logs]
    assert told == [["text:1", ""], ["", ""]]


def test_the_verdict_trusts_the_log() -> None:
    log = "NCCL INFO AllReduce: 16777216 Bytes -> Algo TREE proto LL128 channel{Lo..Hi}={0..0}\n"
    fine_us, tree_us = [row.choice.time_s * 1e6 for row in judged(log).curves[0].rows]
    slow = judged(log, times_us=(fine_us, tree_us))
    assert "; what its log names takes so long; double_tree would take 68% of the time" in slow.title
    assert "hocket tune" in str(slow.curves[0].findings)
    worse = judged(log, times_us=(fine_us, 2 * tree_us))
    assert "; what its log names takes less" in worse.title
    assert "No choice of algorithm mends this" in str(worse.curves[0].findings)


@pytest.mark.parametrize(
    ("version", "remark"),
    [
        ("2.22.3", []),
        ("2.27.5", []),
        ("2.18.1", ["the text tells of NCCL 2.18.1, the choices are by the table of NCCL 2.20"]),
        ("2.29.7", ["the text tells of NCCL 2.29.7, the choices are by the table of NCCL 2.27"]),
    ],
)
def test_the_version_of_the_text_decides_which_table_counts(version: str, remark: list[str]) -> None:
    found = judged(f"NCCL version {version}+cuda12.4\n")
    assert [one.sentence for one in found.curves[0].findings if one.subject == "version"] == remark


def test_settings_that_the_table_does_not_know_are_named() -> None:
    found = judged("NCCL_ALGO=Ring\n")
    assert "NCCL_ALGO=Ring chooses the algorithm: NCCL's table does not know that" in str(found.curves[0].findings)


def test_reductions_in_switches_need_a_machine_file_that_has_them() -> None:
    switch = '[level.multicast]\nlatency = "2 us"\nbandwidth = "200 GB/s"'
    hopper, with_switch = (hocket.Machine.parse(MACHINE.format(part, "hopper"), "node.toml") for part in ("", switch))
    without = choices(judged(machine=hopper))[-1]
    assert (
        without
        == "16 MiB: nccl-2 chooses nvls, protocol=simple, channels=16: node has no switch that reduces or multicasts"
    )
    assert "simulated" in choices(judged(machine=with_switch))[-1]


def test_the_rules_of_an_mpi_that_is_named_are_shown_too() -> None:
    osu = "# OSU MPI Allreduce Latency Test v7.4\n# Size Avg Latency(us)\n8 19.0\n1048576 1900.0\n"
    found = hocket.judge(osu, machine="cluster", ranks=8, library="mpich-5.0")
    assert choices(found)[0].startswith("8 B: mpich-5.0 chooses MPIR_Allreduce_intra_recursive_doubling: simulated ")


@pytest.mark.parametrize(("gpu", "is_other"), [("NVIDIA H100 80GB HBM3", True), ("NVIDIA A100-SXM4-80GB", False)])
def test_gpus_of_another_generation_than_the_machine_has_are_told(gpu: str, is_other: bool) -> None:
    found = judged(f"#  Rank  0 Group  0 Pid  1 on  node1 device  0 [0x19] {gpu}\n").curves[0].findings
    told = [one.sentence for one in found if "generation" in one.sentence]
    other = ["the GPUs are H100, of generation hopper, machine node has ampere: expect other times"]
    assert told == (other if is_other else [])
