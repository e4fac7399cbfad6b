"""Bandwidth that falls with leaf switches: collisions of flows, or a taper."""

import pytest

from hocket.judging.by_text import causes_by_text
from hocket.judging.finding import Finding
from hocket.judging.mentions import mentions_of

BETWEEN = ("collisions", "taper")


def findings(text: str) -> list[Finding]:
    return [one for one in causes_by_text([], mentions_of(text, "out.txt")) if one.subject in BETWEEN]


@pytest.mark.parametrize(
    ("text", "kind", "words", "source"),
    [
        (
            "16 nodes on 1 leaf switch: 92.1 GB/s\n16 nodes on 4 leaf switches: 61.0 GB/s\n"
            "16 nodes on 4 leaf switches: 48.5 GB/s\n16 nodes on 4 leaf switches: 70.2 GB/s\n",
            "cause",
            "From 1 to 4 leaf switches, the bandwidth falls 1.5-fold, and runs differ by 45 %",
            "out.txt:2",
        ),
        (
            "- one leaf, 180 GB/s\n- two leaves, 90.1 GB/s\n- two leaves, 89.8 GB/s\n- two leaves, 90.0 GB/s\n",
            "cause",
            "falls 2-fold, in 3 runs alike: a taper, if leaves have 2 times as many links down as up",
            "out.txt:2",
        ),
        (
            "8 nodes under one leaf = 43.5 GB/s\n8 nodes under two leaves = 19.5 GB/s\n",
            "hint",
            "From 1 to 2 leaf switches, the bandwidth falls 2.2-fold: repeat it",
            "out.txt:2",
        ),
    ],
)
def test_runs_tell_collisions_from_a_taper(text: str, kind: str, words: str, source: str) -> None:
    (finding,) = findings(text)
    assert (finding.kind, finding.source) == (kind, source)
    assert words in finding.sentence


@pytest.mark.parametrize(
    "text",
    [
        "8 nodes on one leaf: 43.5 GB/s\n8 nodes on two leaves: 41.9 GB/s\n",
        "8 nodes on one leaf: 43.5 GB/s\n16 nodes on two leaves: 19.5 GB/s\n",
        "4 nodes on one leaf: 90 GB/s\n8 nodes on one leaf: 45 GB/s\n8 nodes on two leaves: 30 GB/s\n",
        "8 nodes on two leaves: 19.5 GB/s\n",
    ],
)
def test_other_reasons_are_not_the_leaves(text: str) -> None:
    assert findings(text) == []


@pytest.mark.parametrize(
    ("text", "is_off"),
    [
        ("-I- AR enabled on 0 switches of the fabric", True),
        ("AR is enabled on 0 switches", True),
        ("Adaptive routing: disabled", True),
        ("NCCL_IB_ADAPTIVE_ROUTING=0", True),
        ("-I- AR is enabled on 20 switches", False),
        ("adaptive routing is enabled", False),
        ("NCCL_IB_ADAPTIVE_ROUTING=1", False),
    ],
)
def test_a_log_tells_that_adaptive_routing_is_off(text: str, is_off: bool) -> None:
    assert [one.source for one in findings(text)] == ["out.txt:1"] * is_off
