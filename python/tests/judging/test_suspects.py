"""The obvious suspects come first, each with its line or its rows."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean

import pytest

import hocket
from hocket.definitions.machine import Machine
from hocket.definitions.variants import variant
from hocket.judging.changes import changes
from hocket.judging.curves import curves_of
from hocket.judging.finding import Finding
from hocket.judging.suspects import contradictions
from hocket.judging.texts import Text, columns_of
from hocket.measurements.measurement import Facts, Measurement
from tests.conftest import Ran

NAMES = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"


def nccl(ranks: int, rates: Sequence[tuple[int, float]]) -> str:
    """Return rows of an allreduce: sizes in bytes, and bandwidths of the bus in GB/s."""
    lines = [NAMES]
    for size, bus in rates:
        rate = bus * ranks / (2 * (ranks - 1))
        cells = f"{size / rate / 1e3:.2f} {rate:.2f} {bus:.2f} 0"
        lines.append(f"{size} {size // 4} float sum -1 {cells} {cells}\n")
    return "".join(lines)


def osu(name: str, times_us: Sequence[float], first: int = 8, factor: int = 4) -> str:
    rows = [f"{first * factor**place} {time_us:.2f}\n" for place, time_us in enumerate(times_us)]
    return f"# OSU MPI {name} Latency Test v7.4\n# Size       Avg Latency(us)\n" + "".join(rows)


def imb(name: str, ranks: int, rows: Sequence[tuple[int, float]]) -> str:
    head = f"# Benchmarking {name}\n# #processes = {ranks}\n#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n"
    return head + "".join(f"{size} 100 {time / 2:.2f} {time:.2f} {time / 1.5:.2f}\n" for size, time in rows) + "\n"


def verdict(text: str, **options: object) -> Finding:
    return hocket.judge(text, **options).curves[0].verdict  # type: ignore[arg-type]


SIZES = [(1 << power, 11.0) for power in range(20, 27)]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (f"# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4294967296 step: 2(factor)\n{nccl(8, SIZES)}", "text:1"),
        (f"{imb('Bcast', 24, [(4, 3.0), (8, 3.1), (16, 3.2)])}With 32 B, the job hangs.\n", "text:8"),
        (f"{osu('Bcast', [4.0, 4.1, 4.3])}Fatal error in PMPI_Bcast: mpi_abort was called\n", "text:6"),
    ],
)
def test_a_table_that_ends_early_is_the_verdict(text: str, source: str) -> None:
    found = verdict(text, ranks=None if "processes" in text or "minBytes" in text else 24)
    assert (found.subject, found.source) == ("table ends early", source)


@pytest.mark.parametrize(
    "text",
    [
        f"# nThread 1 nGpus 1 minBytes 1048576 maxBytes 67108864 step: 2(factor)\n{nccl(8, SIZES)}",
        f"# minBytes 1048576 maxBytes 4294967296\n{nccl(8, SIZES)}# Avg bus bandwidth : 11.0\n",
        f"# minBytes 8 maxBytes 4294967296\n{nccl(8, SIZES)}",
        f"mpirun -np 8 all_reduce_perf -b 1M -e 4G\n{nccl(8, SIZES)}",
    ],
)
def test_a_table_that_is_complete_or_an_excerpt_does_not_end_early(text: str) -> None:
    assert verdict(text).subject != "table ends early"


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ("node7:9:9 [0] NCCL INFO NET/IB : Using [0]mlx5_3:1/RoCE; OOB eno1:10.2.0.7<0>", "one card"),
        ("export NCCL_IB_DISABLE=1", "TCP sockets"),
        ("NCCL_P2P_DISABLE=1 is set", "peer-to-peer"),
        ("NCCL_PROTO=LL", "protocol"),
    ],
)
def test_what_the_log_says_is_told_beside_a_machine(line: str, subject: str) -> None:
    text = f"mpirun -np 16 -N 8 all_reduce_perf -b 1M -e 16M -g 1\n{line}\nNVIDIA H100 80GB HBM3\n"
    (curve,) = hocket.judge(text + nccl(16, [(1 << power, 9.0) for power in range(20, 25)]), machine="hgx-h100").curves
    assert [one.kind for one in curve.findings[:2]] == ["slow", "cause"]
    assert (curve.findings[1].subject, curve.findings[1].source) == (subject, "text:2")
    assert curve.headline.endswith("[text:2].")


def test_the_time_of_a_round_names_tcp() -> None:
    slow = [150.0, 151.0, 153.0, 160.0, 300.0, 800.0]
    command = "mpirun -np 64 --map-by ppr:1:node ./osu_reduce\n"
    for machine in (None, "cluster"):
        found = verdict(command + osu("Reduce", slow), machine=machine)
        assert (found.kind, found.subject) == ("slow", "TCP sockets") and "25.00 us a round" in found.sentence
    assert verdict(command + osu("Reduce", [time / 15 for time in slow])).subject != "TCP sockets"
    assert verdict("mpirun -np 64 -H a:64 x\n" + osu("Reduce", slow), ranks_per_node=64).subject != "TCP sockets"


def four_cards() -> Machine:
    text = """
name = "four"
[network]
model = "loggp"
L = "2 us"
o = "0.2 us"
G = "0.005 ns/B"
[node]
copy_bandwidth = "100 GB/s"
reduce_bandwidth = "100 GB/s"
[node.cards]
count = 4
bandwidth = "12 GB/s"
stripe_from = "2 KiB"
"""
    return Machine.parse(text, "four.toml")


def simulated_us(name: str, machine: Machine, ranks: int, sizes: Sequence[int]) -> list[float]:
    return [
        1e6
        * hocket.simulate(
            name, hocket.Call(ranks=ranks, size_bytes=size), machine=machine, measured_as="osu"
        ).time_s.mean
        for size in sizes
    ]


SEVEN = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22]


@pytest.mark.parametrize("used", [1, 2])
def test_a_constant_factor_of_large_sizes_is_a_share_of_the_cards(used: int) -> None:
    noise = random.Random(used)
    machine = variant(four_cards(), {"node.cards.count": used}) or four_cards()
    times_us = simulated_us("alltoall/linear", machine, 48, SEVEN)
    text = osu("All-to-All Personalized Exchange", [time * noise.uniform(0.97, 1.03) for time in times_us], 1 << 10)
    found = verdict(text, machine=four_cards(), ranks=48)
    assert found.subject == "bandwidth" and f"{used} of the 4 cards" in found.sentence
    healthy = simulated_us("alltoall/linear", four_cards(), 48, SEVEN)
    assert (
        verdict(osu("All-to-All Personalized Exchange", healthy, 1 << 10), machine=four_cards(), ranks=48).kind
        == "fine"
    )


@pytest.mark.parametrize(
    ("change", "subject"),
    [
        (lambda place, time: time * (1 + (place == 3)), "one size"),
        (lambda place, time: time + 12, "latency"),
        (lambda place, time: time, "default"),
    ],
)
def test_a_size_a_latency_and_a_default(change: Callable[[int, float], float], subject: str) -> None:
    """The choices of MPICH, with what is done to their times."""
    options = {"machine": "cluster", "ranks": 12, "library": "mpich-5.0"}
    first = hocket.judge(osu("Allreduce", [5.0] * 8), **options).curves[0]  # type: ignore[arg-type]
    times_us = [1e6 * (row.choice.time_s or 0) for row in first.rows if row.choice is not None]
    found = verdict(osu("Allreduce", [change(*each) for each in enumerate(times_us)]), **options)
    assert found.subject == subject
    if subject == "default":
        assert "the default of mpich-5.0, running as it should" in found.sentence


def test_a_hump_between_sizes_names_the_switch_point() -> None:
    times = [9.0, 9.1, 9.3, 60.0, 90.0, 140.0, 30.0, 80.0, 300.0]
    found = verdict(f"4 nodes with 4 tasks\n{osu('Allgather', times)}", ranks=16)
    assert found.subject == "algorithm" and found.kind == "slow"
    assert all(word in found.sentence for word in ("140.0 us", "30.00 us", "faster from there down"))
    assert found.sentence.endswith("so switch at 8 KiB")
    switched = [min(time, 30.0) if place >= 3 else time for place, time in enumerate(times[:6])] + times[6:]
    assert verdict(osu("Allgather", switched), ranks=16).subject != "algorithm"
    beside = [*times, 900.0, 5000.0, 3000.0]
    assert verdict(osu("Allgather", beside), ranks=16).sentence == found.sentence
    assert verdict(osu("Allgather", sorted(times)), ranks=16).subject != "algorithm"
    log = "hocket: rank 0:\n      40      5120  0.000201 s  MPI_Allgather allgather ring\n"
    logged = hocket.judge(osu("Allgather", times) + log, ranks=16).curves[0].findings
    assert logged[0].subject != "algorithm"
    assert any(one.subject == "what ran" and one.sentence.endswith("what ran: ring") for one in logged)


def test_calls_that_contradict_others_of_the_text() -> None:
    tables = [
        imb("Gather", 8, [(64, 4.0), (1024, 9.0), (4096, 20.0)]),
        imb("Bcast", 8, [(512, 5.0), (8192, 12.0), (32768, 31.0)]),
        imb("Allgather", 8, [(64, 20.0), (1024, 45.0), (4096, 49.0)]),
    ]
    found = hocket.judge("Open MPI 5.0.6\n" + "".join(tables))
    at_fault = found.curves[2].verdict
    assert at_fault.kind == "slow" and at_fault.source == "text:19"
    assert "gather and broadcast together 9.000 us" in at_fault.sentence
    fine = imb("Allgather", 8, [(64, 8.0), (1024, 20.0), (4096, 49.0)])
    assert not [*contradictions(curves_of(one for each in hocket.judge(tables[0] + tables[1] + fine).curves
                                          for one in each.curve.runs))]  # fmt: skip


TREE = """2 nodes of 8 H100, four cards of 400 Gbit/s InfiniBand in each
a:1:1 [0] NCCL INFO === System : maxBw 40.0 totalBw 80.0 ===
a:1:1 [0] NCCL INFO CPU/1 (1/1/2)
a:1:1 [0] NCCL INFO + PCI[{bus}] - PCI/8000 (1000c010)
a:1:1 [0] NCCL INFO {indent}+ PCI[48.0] - NIC/9000
a:1:1 [0] NCCL INFO {indent}{indent}+ NET[50.0] - NET/2 (b8/1/50.0)
mpirun -np 16 -N 8 all_reduce_perf -b 1M -e 64M
"""


@pytest.mark.parametrize("indent", ["  ", "        "])
def test_a_bus_below_its_card_is_quoted(indent: str) -> None:
    rows = nccl(16, [(size, 90.0) for size, _ in SIZES])
    slow = hocket.judge(TREE.format(bus="24.0", indent=indent) + rows).curves[0].findings
    assert (slow[1].kind, slow[1].subject, slow[1].source) == ("cause", "bus of a card", "text:4")
    assert "PCI[24.0]" in slow[1].sentence
    fine = hocket.judge(TREE.format(bus="48.0", indent=indent) + rows).curves[0].findings
    assert all(one.subject != "bus of a card" for one in fine)


@pytest.mark.parametrize("cards", ["8x200G RoCE", "8 cards of 200 Gbit/s", "8 x HDR"])
def test_one_gpu_of_a_node_uses_one_of_its_cards(cards: str) -> None:
    text = f"2 nodes, {cards}\nmpirun -np 2 -N 1 all_reduce_perf -b 1M -e 64M\n"
    found = hocket.judge(text + nccl(2, [(size, 22.0) for size, _ in SIZES])).curves[0].findings
    assert found[0].kind == "fine" and "1 card of 200 Gbit/s" in found[0].sentence
    assert any("not all 8" in one.sentence for one in found)


def test_nodes_of_gh200_have_a_card_beside_each() -> None:
    lines = [f"#  Rank {rank} Group 0 Pid 7 on n{rank // 4} device {rank % 4} [0x01] NVIDIA GH200 120GB\n"
             for rank in range(16)]  # fmt: skip
    text = "".join(lines) + nccl(16, [(1 << power, 82.0) for power in range(26, 31)])
    found = verdict(text)
    assert found.kind == "fine" and "4 cards of 200 Gbit/s" in found.sentence


def test_what_stands_behind_a_table_of_imb_ends_it() -> None:
    log = "hocket: rank 0:\n    7   512  0.01 s  MPI_Reduce reduce binomial\n    5        MPI_Gather left to MPI\n"
    found = hocket.judge(imb("Reduce", 8, [(64, 4.0), (1024, 9.0), (65536, 20.0)]) + log)
    assert len(found.curves[0].curve.measurements) == 3
    with pytest.raises(hocket.Error, match="text:5"):
        hocket.judge(imb("Reduce", 8, [(64, 4.0), (1024, 9.0)]).replace(" 9.00", " 9.00 7"))


def run_of(seed: int, noise: float, factor: Callable[[int], float], count: int) -> list[Measurement]:
    drawn = random.Random(seed)
    return [
        Measurement(
            collective="reduce",
            algorithm="default",
            ranks=32,
            size_bytes=size,
            time_s=(4e-6 + size / 4e9) * factor(size) * drawn.lognormvariate(0, noise),
        )
        for _ in range(count)
        for size in [8 << power for power in range(18)]
    ]


@pytest.mark.parametrize("noise", [0.02, 0.08, 0.2])
@pytest.mark.parametrize("count", [1, 3])
def test_noise_alone_is_no_change_of_a_range(noise: float, count: int) -> None:
    pairs = [[run_of(2 * seed + side, noise, lambda _: 1.0, count) for side in (0, 1)] for seed in range(40)]
    assert sum(bool(result.of("slower") or result.of("faster")) for result in (changes(*pair) for pair in pairs)) <= 4


def test_a_small_change_of_a_range_is_found_in_few_runs() -> None:
    slow = {1 << power for power in range(9, 14)}
    found = [
        changes(run_of(seed, 0.08, lambda _: 1.0, 3), run_of(seed + 99, 0.08, lambda s: 1.2 if s in slow else 1.0, 3))
        for seed in range(20)
    ]
    assert sum(len({one.size_bytes for one in result.of("slower")} & slow) >= 4 for result in found) >= 16


def test_a_factor_at_all_sizes_is_one_range_of_two_noisy_runs() -> None:
    result = changes(run_of(1, 0.2, lambda _: 1.0, 1), run_of(2, 0.2, lambda _: 1 / 2.2, 1))
    assert len(result.ranges) == 1 and "times faster at all sizes, 8 B to 1 MiB" in result.sentence
    (one,) = result.ranges
    assert (one.ratio_low or 0) < 1 / 2.2 < (one.ratio_high or 0) < 0.6


COLUMNS = "# Size {names}\n" + "".join(f"{8 << place} {4 + place}.25 {9 + 2 * place}.75\n" for place in range(8))


@pytest.mark.parametrize("names", ["mpich openmpi", "before after", "mpich(us) openmpi(us)", "time_old_us time_new_us"])
def test_two_columns_of_times_are_compared(names: str, tmp_path: Path, hocket_command: Callable[..., Ran]) -> None:
    (tmp_path / "two.txt").write_text("# OSU MPI Broadcast Latency Test v7.4\n" + COLUMNS.format(names=names))
    ran = hocket_command("judge", tmp_path / "two.txt")
    assert ran.status == 1
    one, other = names.split()
    assert f"before is the column {one}, after is {other}" in " ".join(ran.out.split())


@pytest.mark.parametrize("names", ["Avg Max", "#repetitions t_max[usec]", "count t_max"])
def test_columns_of_one_run_are_not_compared(names: str) -> None:
    assert columns_of(Text(COLUMNS.format(names=names), "text", replace(Facts(), collective="broadcast"))) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("export I_MPI_ADJUST_REDUCE=2\n", "hocket rules explain FILE --from intelmpi-2021"),
        ("MPICH_GATHERV_SHORT_MSG=1\n", "variables of MPICH"),
        ('<graphs version="2">\n<graph id="1" nchannels="4"/>\n</graphs>\n', "graphs of NCCL"),
        ("reduce,0,4096,ring,simple,4,2,16,-1,-1\n", "a tuner of NCCL"),
        ("x:2:2 [1] NCCL INFO NET/Socket : Using [0]ens3:10.9.0.1<0>\n", "a log of NCCL"),
    ],
)
def test_a_text_without_times_is_known_by_its_name(text: str, words: str) -> None:
    found = hocket.judge(text).findings
    assert words in found[0].sentence and found[0].source == "text:1"
    assert ("Socket" in text) == any("TCP sockets" in one.sentence for one in found[1:])


GPUS = """
name = "gpus"
[network]
model = "loggp"
L = "5 us"
o = "0 s"
G = "0.01 ns/B"
ranks_per_node = 2
[[level]]
name = "node"
L = "1 us"
o = "0 s"
G = "0.004 ns/B"
[node.cards]
count = 2
bandwidth = "12 GB/s"
[gpu]
generation = "ampere"
links = "nvlink"
channels = 8
channel_bandwidth = "25 GB/s"
"""


def test_an_algorithm_that_is_faster_than_its_bytes_is_not_named() -> None:
    """Large calls take 0.65 times as long as the fastest algorithm that the machine can run."""
    text = "4 nodes with 2 tasks\n2 A100\nmpirun -np 8 -N 2 all_reduce_perf -b 64M -e 1G -g 1\n"
    machine = Machine.parse(GPUS, "gpus.toml")
    rates = [(1 << power, 10.0) for power in range(26, 31)]
    rows = hocket.judge(text + nccl(8, rates), machine=machine).curves[0].rows
    faster = [(row.size_bytes, 10.0 * row.factor / 0.65) for row in rows]
    (curve,) = hocket.judge(text + nccl(8, faster), machine=machine).curves
    assert all(abs(row.factor - 0.65) < 0.01 for row in curve.rows)
    assert not any(row.guess.is_told for row in curve.rows)


def test_a_share_of_the_time_agrees_with_the_table() -> None:
    times_us = [1.2 * time_us for time_us in simulated_us("allreduce/linear", Machine.load("cluster"), 16, SEVEN)]
    (curve,) = hocket.judge(osu("Allreduce", times_us, 1 << 10), machine="cluster", ranks=16).curves
    (share,) = re.findall(r"would take ([0-9]+)% of the time", curve.verdict.sentence)
    measured = [row.measured_s / row.expected_s for row in curve.rows]
    assert int(share) / 100 == pytest.approx(1 / geometric_mean(measured), rel=0.35)


def test_a_late_switch_is_no_loss_of_bandwidth() -> None:
    """From 64 KiB to 1 MiB, the times are three times those of the fastest; at 4 MiB, they are as long."""
    times_us = simulated_us("alltoall/linear", four_cards(), 48, SEVEN)
    late = [time * (3 if 3 <= place <= 5 else 1) for place, time in enumerate(times_us)]
    found = verdict(osu("All-to-All Personalized Exchange", late, 1 << 10), machine=four_cards(), ranks=48)
    assert found.kind == "slow" and found.subject != "bandwidth" and "64 KiB to 1 MiB" in found.sentence
