"""Judgements of texts alone: of public threads, and of made ones."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.judging.by_text import judge_alone
from hocket.judging.mentions import mentions_of
from hocket.measurements.measurement import Measurement
from tests.judging.grading import Thread, class_of, judgement_of, threads

_DISAGREE = {
    "cxi-alltoall.txt": "the text tells of no library bug: a switch of protocol is as likely",
    "ethernet-han.txt": "the thread compares with a run that the text lacks",
    "p4d-four-nodes.txt": "the text does not tell how many cards a node has",
    "plx-binding.txt": "the text does not tell how ranks are bound",
}
"""Threads whose conclusion a judgement does not reach, and why."""


@pytest.mark.parametrize("thread", threads(), ids=lambda thread: thread.name)
def test_judgements_reach_the_conclusions_of_threads(thread: Thread, tmp_path: Path) -> None:
    found = class_of(judgement_of(thread.text, tmp_path / "out.txt"))
    assert (found == thread.conclusion) == (thread.name not in _DISAGREE), (found, thread.conclusion)


def test_share_of_threads_as_measured() -> None:
    assert (len(threads()) - len(_DISAGREE), len(threads())) == (21, 25)


def _rows(sizes_bytes: list[int], gb_per_s: float, ranks: int, ranks_per_node: int) -> list[Measurement]:
    """Return an allreduce of 20 us and a bandwidth of the bus."""
    share = 2 * (ranks - 1) / ranks
    return [
        Measurement(
            collective="allreduce",
            algorithm="default",
            ranks=ranks,
            size_bytes=size,
            time_s=20e-6 + size * share / gb_per_s / 1e9,
            ranks_per_node=ranks_per_node,
        )
        for size in sizes_bytes
    ]


_SIZES = [1 << exponent for exponent in range(10, 33)]
_FOUR_CARDS = "Each node has 4x HDR InfiniBand cards and H100 80GB HBM3 GPUs"


@pytest.mark.parametrize(
    ("gb_per_s", "kind", "words"),
    [
        (94.0, "fine", "80 to 96 GB/s is usual for 4 cards of 200 Gbit/s InfiniBand/RoCE"),
        (23.5, "slow", "3.4 times as much"),
        (150.0, "fast", "more cards or faster ones"),
    ],
)
def test_verdict_follows_the_cards(gb_per_s: float, kind: str, words: str) -> None:
    verdict, *_ = judge_alone(_rows(_SIZES, gb_per_s, 64, 8), mentions_of(_FOUR_CARDS, "out.txt"))
    assert verdict.kind == kind
    assert words in verdict.sentence


def test_bandwidth_of_one_of_four_cards_is_named() -> None:
    _, cause, *_ = judge_alone(_rows(_SIZES, 23.5, 64, 8), mentions_of(_FOUR_CARDS, "out.txt"))
    assert (cause.kind, cause.subject) == ("cause", "one card")
    assert "1 of the 4 cards" in cause.sentence


def test_trees_on_two_nodes_may_exceed_the_cards() -> None:
    verdict, *_ = judge_alone(_rows(_SIZES, 160.0, 16, 8), mentions_of(_FOUR_CARDS, "out.txt"))
    assert verdict.kind == "fine"
    assert "The cards carry only" in verdict.sentence


def test_large_calls_that_are_slower_than_smaller_ones() -> None:
    rows = _rows(_SIZES[:-4], 40.0, 64, 8) + _rows(_SIZES[-4:], 5.0, 64, 8)
    verdict, *_ = judge_alone(rows, mentions_of("", "out.txt"))
    assert verdict.kind == "slow"
    assert verdict.sentence.startswith("Large calls are slow")


def test_sources_are_lines_of_the_text() -> None:
    text = "a\nNCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\nNIC of 100 Gb/s, 2 nodes\n"
    _, cause, *_ = judge_alone(_rows(_SIZES, 1.2, 16, 8), mentions_of(text, "out.txt"))
    assert (cause.kind, cause.source) == ("cause", "out.txt:2")


@pytest.mark.parametrize(
    ("text", "ranks", "per_node", "is_named"),
    [
        ("openmpi/5.0.3", 64, 8, True),
        ("Open MPI 4.1.6", 64, 8, False),
        ("Open MPI v5.0.11", 64, 1, False),
        ("Open MPI v5.0.11", 8, 8, False),
        ("Open MPI v5.0.11 --mca coll_han_priority 0", 64, 8, False),
    ],
)
def test_han_is_named_where_open_mpi_5_has_several_ranks_on_a_node(
    text: str, ranks: int, per_node: int, is_named: bool
) -> None:
    slow = _rows(_SIZES[:-4], 40.0, ranks, per_node) + _rows(_SIZES[-4:], 5.0, ranks, per_node)
    found = judge_alone(slow, mentions_of(text, "out.txt"))
    named = [one for one in found if "--mca coll_han_priority 0" in one.sentence]
    assert [(one.kind, one.source) for one in named] == ([("hint", "out.txt:1")] if is_named else [])


_TOPOLOGY = "        GPU0    GPU1    GPU2    GPU3    mlx5_0  CPU Affinity"


def _topology(*rows: str) -> str:
    return "\n".join([_TOPOLOGY, *(f"GPU{number}    {row}   0-31" for number, row in enumerate(rows))])


_PAIRS = _topology("X NV12 SYS SYS SYS", "NV12 X SYS SYS SYS", "SYS SYS X NV12 NODE", "SYS SYS NV12 X NODE")
_ALL = _topology("X NV12 NV12 NV12 PIX", "NV12 X NV12 NV12 PIX", "NV12 NV12 X NV12 SYS", "NV12 NV12 NV12 X SYS")
_ONE_NODE = "all_reduce_perf -b 8 -e 8G -f 2 -g 4\nNVIDIA A100-SXM4-80GB\n"


@pytest.mark.parametrize(("ranks", "is_named"), [(4, True), (2, False)])
def test_nvlink_that_joins_pairs_only_does_not_serve_more_gpus(ranks: int, is_named: bool) -> None:
    mentions = mentions_of(f"all_reduce_perf -g {ranks}\nA100\n{_PAIRS}", "out.txt")
    findings = judge_alone(_rows(_SIZES, 20.0, ranks, ranks), mentions)
    named = [one for one in findings if "joins some pairs" in one.sentence]
    assert [one.kind for one in named] == (["cause"] if is_named else [])
    assert not any("NVLink 3" in one.sentence for one in findings)


def test_the_bandwidth_of_pcie_on_a_machine_with_nvlink_is_named() -> None:
    verdict, *others = judge_alone(_rows(_SIZES, 20.0, 4, 4), mentions_of(_ONE_NODE + _ALL, "out.txt"))
    assert verdict.kind == "slow"
    assert any("is the bandwidth of PCIe 4 x16, not of NVLink" in one.sentence for one in others)
    fine = judge_alone(_rows(_SIZES, 235.0, 4, 4), mentions_of(_ONE_NODE + _ALL, "out.txt"))
    assert fine[0].kind == "fine"
    assert not any("PCIe" in one.sentence for one in fine)


def test_cards_behind_the_processor_are_a_hint_between_nodes() -> None:
    far = _PAIRS.replace("NODE", "PHB")
    for text, is_named in ((far, True), (_ALL, False)):
        findings = judge_alone(_rows(_SIZES, 6.0, 8, 4), mentions_of(f"2 nodes, HDR InfiniBand\n{text}", "out.txt"))
        assert any("no card is behind" in one.sentence.lower() for one in findings) == is_named


def test_sizes_that_are_too_small_to_reach_the_end_are_fine() -> None:
    share = 2 * 3 / 4
    sizes = [1 << exponent for exponent in range(10, 26)]
    rows = [replace(one, time_s=100e-6 + one.size_bytes * share / 235e9) for one in _rows(sizes, 1.0, 4, 4)]
    verdict, *_ = judge_alone(rows, mentions_of(_ONE_NODE, "out.txt"))
    assert (verdict.kind, verdict.subject) == ("fine", "sizes")
    slow, *_ = judge_alone(_rows(sizes, 60.0, 4, 4), mentions_of(_ONE_NODE, "out.txt"))
    assert slow.kind == "slow"


def test_a_product_that_is_named_tells_its_cards() -> None:
    text = "Two nodes, p4d.24xlarge, nNodes 2"
    verdict, *_ = judge_alone(_rows(_SIZES, 40.0, 16, 8), mentions_of(text, "out.txt"))
    assert verdict.kind == "fine"
    assert "4 cards of 100 Gbit/s EFA" in verdict.sentence
    two = judge_alone(_rows(_SIZES, 40.0, 16, 8), mentions_of(f"{text} and p5.48xlarge", "out.txt"))
    assert two[0].kind == "unknown"


def test_the_ranks_of_a_node_share_its_cards_in_an_alltoall() -> None:
    rows = [replace(one, collective="alltoall") for one in _rows(_SIZES, 1.0, 64, 8)]
    share = 64 * 63 / 64  # a row has the size of a block
    for gb_per_s, kind in ((12.8, "fine"), (6.0, "slow"), (94.0, "fast")):
        timed = [replace(one, time_s=20e-6 + one.size_bytes * share / gb_per_s / 1e9) for one in rows]
        assert judge_alone(timed, mentions_of(_FOUR_CARDS, "out.txt"))[0].kind == kind


def test_an_average_is_told_apart_from_large_sizes() -> None:
    text = f"{_FOUR_CARDS}\n# Avg bus bandwidth    : 31.5\n"
    verdict, *others = judge_alone(_rows(_SIZES, 94.0, 64, 8), mentions_of(text, "out.txt"))
    assert verdict.kind == "fine"
    assert any("The average of 31.50 GB/s counts all sizes" in one.sentence for one in others)


def test_no_text_and_no_rows() -> None:
    verdict, *_ = judge_alone((), mentions_of("", "out.txt"))
    assert verdict.kind == "unknown"


def test_times_that_are_fine_have_no_cause() -> None:
    text = f"{_FOUR_CARDS}\nNCCL_NET_GDR_LEVEL=1\n"
    findings = judge_alone(_rows(_SIZES, 94.0, 64, 8), mentions_of(text, "out.txt"))
    assert "cause" not in [one.kind for one in findings]


def test_sentences_have_no_full_stop(tmp_path: Path) -> None:
    for thread in threads():
        for one in judgement_of(thread.text, tmp_path / "out.txt"):
            assert not one.sentence.endswith("."), one
            assert one.sentence[0].isupper() or one.sentence[0].isdigit() or one.sentence[0] in "-n", one


_WORDS = st.sampled_from(
    [
        "mpirun -np 0",
        "-np 8",
        "srun -N 0 -n 4",
        "all_reduce_perf -g 0",
        "osu_alltoall",
        "0 nodes",
        "2 nodes",
        "NIC",
        "HDR",
        "H100 SXM",
        "-H a:0,b:0",
        "8 2 float sum -1 0 0.00 0.00 0",
        "1048576 262144 float sum -1 9.9 105.92 198.61 0",
        "8 0.00",
        "16 9.50",
        "32 1.0",
        "64 7.00",
        "128 9.99",
        "busbw 0 GB/s",
        "Avg bus bandwidth : 0",
        "algbw 3 GB/s",
        "\n",
        "\n",
        "\n",
        "NET/IB : Using [0]a0:1/IB",
        "2.1.1: 0",
        "2.1.2: 5",
        "2.1.3: 1",
        "n1,n2 0.0",
        "n1,n3 9.9",
        "n2,n3 1.0",
        "# Rank 0 Pid 1 on a device 0 [0x0] V",
        "# Rank 1 Pid 1 on b device 0 [0x0] V",
        "nranks 0",
        "-ppn 0",
    ]
)


@given(st.lists(_WORDS, max_size=30))
def test_any_text_has_a_verdict(words: list[str]) -> None:
    assert judge_alone((), mentions_of(" ".join(words).replace(" \n ", "\n"), "out.txt"))
