"""Texts of point-to-point benchmarks: judged as messages, not as a collective."""

from __future__ import annotations

import pytest

import hocket

LATENCY = """$ mpirun -np 2 --map-by ppr:1:node ./osu_latency
# OSU MPI Latency Test v7.4
# Size          Latency (us)
1                       1.25
1024                    2.05
1048576                96.20
4194304               362.11
"""
BANDWIDTH = """# OSU MPI Bandwidth Test v7.4
# Size      Bandwidth (MB/s)
1                       3.25
1048576             12011.20
"""
BOTH_WAYS = BANDWIDTH.replace("MPI Bandwidth", "MPI Bi-Directional Bandwidth")
PING_PONG = """# Benchmarking PingPong
# #processes = 2
       #bytes #repetitions      t[usec]   Mbytes/sec
            1         1000         1.05         0.95
      4194304           10       362.11     11582.95
"""
SEND_RECEIVE = """sendrecv_perf -b 8 -e 1G -f 2 -g 2
#       size         count      type   redop    root     time   algbw   busbw #wrong
           8             2     float     sum      -1     9.52    0.00    0.00      0
  1073741824     268435456     float     sum      -1    45000   23.86   23.86      0
"""
ALLREDUCE = """# OSU MPI Allreduce Latency Test v7.4
# Size       Avg Latency(us)
8                       9.00
4194304              1000.00
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LATENCY, "take 1.250 us if small and reach 11.58 GB/s if large"),
        (BANDWIDTH, "reach 12.01 GB/s if large"),
        (BOTH_WAYS, "reach 6.006 GB/s in each direction, both at once, if large"),
        (PING_PONG, "take 1.050 us if small and reach 11.58 GB/s if large"),
        (SEND_RECEIVE, "take 9.520 us if small and reach 23.86 GB/s if large"),
    ],
)
def test_messages_are_no_collective(text: str, words: str) -> None:
    found = hocket.judge(text)
    assert not found.curves
    assert found.title.startswith("Point-to-point messages")
    assert words in found.title
    assert "bus bandwidth" not in " ".join(one.sentence for one in found.findings)
    assert not any("--collective" in one.sentence for one in found.findings)


def test_a_card_that_the_text_names_is_what_counts() -> None:
    fine = hocket.judge(LATENCY + "\nEach of the 2 nodes has one HDR100 InfiniBand card\n")
    assert fine.findings[0].kind == "fine"
    slow = hocket.judge(LATENCY + "\nEach of the 2 nodes has one HDR InfiniBand card\n")
    assert slow.findings[0].kind == "slow"
    late = hocket.judge(LATENCY.replace("1.25", "19.25").replace("2.05", "20.1") + "\n2 nodes with HDR100 InfiniBand\n")
    assert late.findings[0].subject == "latency"


def test_messages_beside_a_collective_are_judged_by_themselves() -> None:
    found = hocket.judge(f"{LATENCY}\n{ALLREDUCE}", ranks=16)
    assert [one.curve.title for one in found.curves] == ["allreduce on 16 ranks"]
    assert any(one.sentence.startswith("Point-to-point messages") for one in found.findings)


def test_a_machine_does_not_make_a_collective_of_messages() -> None:
    assert hocket.judge(LATENCY, machine="cluster").title.startswith("Point-to-point messages")
