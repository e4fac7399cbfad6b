"""Measurements in the formats of benchmark programs; samples whose source is named are short parts of real outputs."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hocket
from hocket.measurements.formats import FORMATS
from hocket.measurements.measurement import Facts, Spread
from hocket.tuning.choice import DEFAULT, Choice, Estimate, Point
from hocket.tuning.records import PointRecord, Records

PICO = """\
system,collective,nodes,ppn,mpi,algorithm,bytes_total,iterations,min_us,p10_us,median_us,p90_us,run
fugaku,allgather,2x2x2,1,FJMPI 4.0.1,default-ring,256,100,28.8,29.1,29.6,30.2,2025_03_26___19_49_06/2
fugaku,bcast,4x4x4,1,FJMPI 4.0.1,default-trinaryx3,1048576,100,1,1,300.5,300.5,a/1
fugaku,bcast,4x4x4,1,FJMPI 4.0.1,default-basic-linear,1048576,100,1,1,300.5,300.5,a/1
lumi,allreduce,8,1,CRAY_MPICH 8.1.29,recursive_doubling_mpich,2048,100,1,1,18,18,b/1
lumi,allreduce,8,1,CRAY_MPICH 8.1.29,recursive_doubling_mpich,16384,100,1,1,58,58,b/1
mare_nostrum,allreduce,32,1,OMPI 4.1.5,ring_ompi,64,100,1,1,20,20,c/1
mare_nostrum,allreduce,32,1,OMPI 4.1.5,ring_ompi,2048,100,1,1,90,90,c/1
mare_nostrum,bcast,32,1,OMPI 4.1.5,knomial_ompi,2048,100,1,1,90,90,c/1
leonardo,reduce_scatter,4,2,OMPI 4.1.6,default_ompi,2048,100,1,1,9,9,c/1
leonardo,allgather,32,1,OMPI 4.1.6,ring_ompi,32,100,1,1,9,9,c/1
"""
CSV = """\
collective,algorithm,ranks,size_bytes,time_s,parameters,dims
bcast,chain,8,1048576,0.0005,segment=4KiB,4x2
allreduce,default,8,64,1e-5,,
alltoall,pairwise_exchange,4,64,2e-5,pairing=shift;barrier=none,
"""
OSU = """\

# OSU MPI Allreduce Latency Test v7.3
# Datatype: MPI_FLOAT.
# Size       Avg Latency(us)
4                       1.75
8                       1.80
"""
OSU_FULL = """\
# OSU MPI All-to-All Personalized Exchange Latency Test v5.6.3
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
1                       2.02              1.80              2.40        1000
"""
# With percentiles (-z). The columns are those of print_only_header in c/util/osu_util_mpi.c; the values are invented.
OSU_PERCENTILES = """\
# OSU MPI-CUDA Allreduce Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)
1                       2.02              1.90              2.40              9.00
"""
# Two runs in one file. Source: results of spack's openmpi 1.10.7 on a public repository, v5.6.3.
OSU_TWO = """\
# OSU MPI Broadcast Latency Test v5.6.3
# Size       Avg Latency(us)
1                       0.79
8                       0.84

# OSU MPI Non-blocking All-to-All Latency Test v5.6.3
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
1                      11.09              6.10              5.18              3.46
2                      10.87              6.04              5.10              5.46
"""
OSU_BARRIER = """\
# OSU MPI Barrier Latency Test v7.0
# Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
             1.26              1.20              1.31        1000
"""
# Source: a run of nccl-tests on Alps, in CSCS's documentation.
NCCL = """\
# nccl-tests version 2.18.2 nccl-headers=23007 nccl-library=23007
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1
#
# Using devices
#  Rank  0 Group  0 Pid  15784 on  nid007106 device  0 [0009:01:00] NVIDIA GH200 120GB
#  Rank  1 Group  0 Pid  24926 on  nid007109 device  0 [0009:01:00] NVIDIA GH200 120GB
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1   339.61    3.09    3.09       0   335.85    3.12    3.12       0
     2097152        524288     float     sum      -1   355.53    5.90    5.90       0   361.77    5.80    5.80       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 14.9966
#
# Collective test concluded: all_reduce_perf
"""
NCCL_SHARES = {
    **{"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "alltoall": 1.0, "gather": 1.0, "scatter": 1.0},
    **dict.fromkeys(("broadcast", "reduce")),
}
"""Bandwidths of the bus over those of the algorithm, without (ranks - 1) / ranks; without a value they are the same."""


def nccl(collective: str, points: Sequence[tuple[int, float]], *, ranks: int, wrong: Sequence[int] = ()) -> str:
    """Return the output of nccl-tests.

    Args:
        collective: The name of the program without `_perf`.
        points: Sizes in bytes, and times in microseconds.
        ranks: Number of ranks.
        wrong: How many values are wrong at the first sizes.
    """
    title = NCCL.partition("# nThread")[0].replace("all_reduce", collective)
    devices = "".join(f"#  Rank {rank:2} Group  0 Pid 1 on host1 device {rank} [0009] H100\n" for rank in range(ranks))
    heads = "".join(NCCL.partition("nid007109")[2].partition("\n")[2].partition("     1048576")[0])
    share = 1.0 if NCCL_SHARES[collective] is None else NCCL_SHARES[collective] * (ranks - 1) / ranks
    blocks = ranks if NCCL_SHARES[collective] == 1.0 else 1
    rows = []
    for number, (size, time_us) in enumerate(points):
        faults = wrong[number] if number < len(wrong) else 0
        gb_per_s = size / time_us / 1e3
        half = f" {time_us:7.2f} {gb_per_s:7.2f} {share * gb_per_s:7.2f} {faults:7}"
        rows.append(f"{size:12} {size // 4 // blocks:12}     float    none      -1 {half} {half}\n")
    failed = f"{sum(wrong)} FAILED" if sum(wrong) else "0 OK"
    return f"{title}# nThread 1 nGpus 1\n#\n{devices}{heads}{''.join(rows)}# Out of bounds values : {failed}\n"


# An older output, which names neither the collective nor the devices. Source: the columns of all_gather.cu of 2019.
NCCL_OLD = """\
#                                             out-of-place                       in-place
#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)             (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576         65536   float    85.90   12.21    9.16  0e+00      N/A     N/A     N/A    N/A
"""
IMB = """\
#------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
#------------------------------------------------------------
# PingPong

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.50         0.00
            1         1000         0.52         1.92

#----------------------------------------------------------------
# Benchmarking Bcast
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier)
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.03         0.04         0.03
            1         1000         0.40         0.60         0.50

#----------------------------------------------------------------
# Benchmarking Bcast
# #processes = 4
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            1         1000         0.80         1.20         1.00
      1048576           40       150.00       170.00       160.00
"""
# Columns of IMB-NBC in IMB_output.c of intel/mpi-benchmarks; the values are invented. The barrier is a run of 2007.
IMB_NBC = """\
# Benchmarking Ibcast
# #processes = 2
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
            0         1000         0.10         0.05         0.05         0.00
            1         1000         2.10         1.20         1.00        10.00
      4194304  time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; mode: MODE_TIME

# Benchmarking Iallreduce_pure
# #processes = 2
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4         1000         1.40         1.60         1.50

# Benchmarking Barrier
# #processes = 6
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000        22.93        22.95        22.94

# Benchmarking Multi-Bcast
# ( 3 groups of 2 processes each running simultaneous )
# Group  0:     0    1
        Group       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0            1         1000         0.40         0.60         0.50
"""
BENCH = json.dumps(
    {
        "collective": "allreduce",
        "ranks": 4,
        "mpi": "MPICH",
        "algorithms": ["ring", "native"],
        "measurements": [
            {"algorithm": "ring", "size_bytes": 64, "median_s": 2e-5, "low_s": 1e-5, "high_s": 3e-5, "samples_s": []},
            {"algorithm": "native", "size_bytes": 64, "median_s": 1e-5, "low_s": 1e-5, "high_s": 3e-5, "samples_s": []},
        ],
        "version": "0.1.0",
    },
    indent=2,
)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], str]:
    """Writes a file of measurements."""

    def write(text: str) -> str:
        path = tmp_path / "measured.txt"
        path.write_text(text)
        return str(path)

    return write


def test_pico(file: Callable[[str], str]) -> None:
    found = hocket.read_measurements(file(PICO))
    told = [(one.system, one.collective, one.label, one.ranks, one.size_bytes, one.dims) for one in found.measurements]
    assert told == [
        ("fugaku", "allgather", "ring", 8, 32, (2, 2, 2)),
        ("fugaku", "broadcast", "trinaryx3 segment=16384", 64, 1048576, (4, 4, 4)),
        ("lumi", "allreduce", "recursive_doubling", 8, 2048, None),
        ("mare_nostrum", "allreduce", "recursive_doubling", 32, 64, None),
        ("mare_nostrum", "allreduce", "ring", 32, 2048, None),
        ("mare_nostrum", "broadcast", "tree radix=4 shape=k_nomial", 32, 2048, None),
        ("leonardo", "reduce_scatter", "default", 8, 2048, None),
    ]
    assert [(one.collective, one.algorithm, one.size_bytes) for one in found.unknown] == [
        ("broadcast", "default-basic-linear", 1048576),
        ("allreduce", "recursive_doubling_mpich", 16384),
        ("allgather", "ring_ompi", 1),
    ]
    first, last = found.measurements[0], found.measurements[-1]
    assert first.time_s == pytest.approx(29.6e-6) and first.element_bytes == 4
    assert first.source.endswith("measured.txt:2")
    assert (first.ranks_per_node, last.ranks_per_node) == (1, 2)


def test_the_spread_of_iterations(file: Callable[[str], str]) -> None:
    """PICO has the 10th and the 90th percentile, and OSU (-z) the 50th and the 90th; OSU (-f) names their number."""
    first = hocket.read_measurements(file(PICO)).measurements[0]
    assert first.spread == Spread(29.1 * 1e-6, 30.2 * 1e-6, "iterations", 100)
    (one,) = hocket.read_measurements(file(OSU_PERCENTILES), Facts("ring", 16)).measurements
    assert one.spread == Spread(1.9 * 1e-6, 2.4 * 1e-6, "iterations", None)


def test_the_spread_of_ranks(file: Callable[[str], str]) -> None:
    """The shortest and the longest time of OSU (-f) and IMB are those of ranks."""
    (one,) = hocket.read_measurements(file(OSU_FULL), Facts("linear", 16)).measurements
    assert one.spread == Spread(1.8 * 1e-6, 2.4 * 1e-6, "ranks", 1000)
    first, *_ = hocket.read_measurements(file(IMB), Facts("chain", 2)).measurements
    assert first.spread == Spread(0.4 * 1e-6, 0.6 * 1e-6, "ranks")


def test_the_interval_of_a_bench(file: Callable[[str], str]) -> None:
    ring, native = hocket.read_measurements(file(BENCH)).measurements
    assert ring.spread == native.spread == Spread(1e-5, 3e-5, "interval")


def test_the_spread_of_a_table(file: Callable[[str], str]) -> None:
    table = "collective,algorithm,ranks,size,time_us,low_us,high_us,spread,iterations,measured_as\n"
    rows = "allreduce,ring,8,64,2,1.5,3,iterations,100,osu\nallreduce,ring,8,64,2,0,3,,,\nallreduce,ring,8,64,2,,,,,\n"
    first, second, third = hocket.read_measurements(file(table + rows), Facts(measured_as="pico")).measurements
    assert first.spread == Spread(1.5e-6, 3e-6, "iterations", 100)
    assert second.spread == Spread(0.0, 3e-6, "interval") and third.spread is None
    assert [one.measured_as for one in (first, second, third)] == ["osu", "pico", "pico"]


@pytest.mark.parametrize("cells", ["x,3,,", "3,1,,", "1,3,noise,", "1,3,interval,0", "1,nan,,"])
def test_a_wrong_spread_of_a_table_is_refused(file: Callable[[str], str], cells: str) -> None:
    table = "collective,algorithm,ranks,size,time_us,low_us,high_us,spread,iterations\nallreduce,ring,8,64,2,"
    with pytest.raises(hocket.Error, match=r"measured.txt:2: ") as caught:
        hocket.read_measurements(file(f"{table}{cells}\n"))
    assert "\n" not in str(caught.value)


def test_a_spread_that_makes_no_sense_is_left_out(file: Callable[[str], str]) -> None:
    """What is only beside the time does not make a file unreadable."""
    (one,) = hocket.read_measurements(file(OSU_FULL.replace(" 1.80 ", " nan ")), Facts("linear", 16)).measurements
    assert one.spread is None
    with pytest.raises(hocket.Error, match=r"contradicts itself and is left out: Min Latency is 9\.80, more than Max"):
        hocket.read_measurements(file(OSU_FULL.replace(" 1.80 ", " 9.80 ")), Facts("linear", 16))
    ring, _ = hocket.read_measurements(file(BENCH.replace('"high_s": 3e-05', '"high_s": null', 1))).measurements
    assert ring.spread is None


def test_csv(file: Callable[[str], str]) -> None:
    found = hocket.read_measurements(file(CSV)).measurements
    assert [(one.collective, one.label, one.ranks, one.time_s, one.dims) for one in found] == [
        ("broadcast", "chain segment=4096", 8, 0.0005, (4, 2)),
        ("allreduce", "default", 8, 1e-5, None),
        ("alltoall", "pairwise_exchange barrier=none pairing=shift", 4, 2e-5, None),
    ]


def test_osu(file: Callable[[str], str]) -> None:
    found = hocket.read_measurements(file(OSU), Facts("ring", 16)).measurements
    assert [(one.collective, one.algorithm, one.ranks, one.size_bytes, one.element_bytes) for one in found] == [
        ("allreduce", "ring", 16, 4, 4),
        ("allreduce", "ring", 16, 8, 4),
    ]
    assert [one.time_s for one in found] == pytest.approx([1.75e-6, 1.8e-6])
    told = Facts("bruck", 4, (("radix", "4"),))
    (slowest,) = hocket.read_measurements(file(OSU_FULL), told).measurements
    assert (slowest.collective, slowest.label) == ("alltoall", "bruck radix=4")
    assert slowest.time_s == pytest.approx(2.4e-6)


def test_osu_percentiles_nonblocking_calls_barriers_and_several_runs(file: Callable[[str], str]) -> None:
    (median,) = hocket.read_measurements(file(OSU_PERCENTILES), Facts("ring", 16)).measurements
    assert (median.time_s, median.measured_as, median.element_bytes) == (pytest.approx(1.9e-6), "osu", 1)
    two = hocket.read_measurements(file(OSU_TWO), Facts("default", 16)).measurements
    assert [(one.collective, one.size_bytes, round(one.time_s * 1e6, 2)) for one in two] == [
        ("broadcast", 1, 0.79),
        ("broadcast", 8, 0.84),
        ("alltoall", 1, 5.18),
        ("alltoall", 2, 5.10),
    ]
    (barrier,) = hocket.read_measurements(file(OSU_BARRIER), Facts("dissemination", 16)).measurements
    assert (barrier.size_bytes, barrier.time_s, barrier.measured_as) == (0, pytest.approx(1.31e-6), "pico")


def test_nccl_tests(file: Callable[[str], str]) -> None:
    found = hocket.read_measurements(file(NCCL), Facts("ring")).measurements
    assert [(one.size_bytes, one.in_place, round(one.time_s * 1e6, 2)) for one in found] == [
        (1048576, False, 339.61),
        (1048576, True, 335.85),
        (2097152, False, 355.53),
        (2097152, True, 361.77),
    ]
    first = found[0]
    assert (first.collective, first.ranks, first.ranks_per_node, first.element_bytes) == ("allreduce", 2, 1, 4)
    assert (first.measured_as, found[1].call.in_place) == ("imb", True)
    # The size of an allgather counts all blocks: 65536 floats of each of 4 ranks. It has no time in place.
    (old,) = hocket.read_measurements(file(NCCL_OLD), Facts("ring", 4, collective="allgather")).measurements
    assert (old.collective, old.size_bytes, old.ranks, old.ranks_per_node) == ("allgather", 262144, 4, None)
    tagged = "".join(f"[1,0]<stdout>: {line}\n" for line in NCCL.splitlines())
    assert len(hocket.read_measurements(file(tagged), Facts("ring")).measurements) == 4
    pairs = hocket.read_measurements(file(f"mpirun -n 4 ./build/sendrecv_perf -b 1M\n{NCCL_OLD}"), Facts(None, 4))
    assert [(one.collective, one.in_place) for one in pairs.unknown] == [("sendrecv", False)]


def test_rows_of_nccl_tests_that_make_no_sense(file: Callable[[str], str]) -> None:
    for old, new, message in (
        ("262144     float", "262144     flaot", 'measured.txt:12: type: got "flaot", expected a type such as float'),
        ("339.61", "-1", 'measured.txt:12: time: got "-1", expected a number above zero'),
        ("-1   339.61    3.09", "-1   339.61", "measured.txt:12: time: got "),
        ("float     sum      -1   339.61    3.09    3.09", "float", "measured.txt:12: got"),
    ):
        with pytest.raises(hocket.Error) as error:
            hocket.read_measurements(file(NCCL.replace(old, new)), Facts("ring"))
        assert message in str(error.value)


def test_an_alltoall_of_nccl_tests_has_no_form_in_place(file: Callable[[str], str]) -> None:
    text = nccl("alltoall", [(1 << 20, 339.61), (1 << 21, 355.53)], ranks=2)
    found = hocket.read_measurements(file(text), Facts("default")).measurements
    # 131072 floats for each of 2 ranks
    assert [(one.collective, one.size_bytes, one.in_place) for one in found][:1] == [("alltoall", 1 << 19, False)]
    assert len(found) == 2


@pytest.mark.parametrize("collective", NCCL_SHARES)
def test_a_row_of_nccl_tests_that_contradicts_itself_is_named(file: Callable[[str], str], collective: str) -> None:
    text = nccl(collective, [(1 << 20, 339.61), (1 << 21, 355.53)], ranks=4)
    found = hocket.read_measurements(file(text), Facts("default")).measurements
    assert len(found) == (2 if collective == "alltoall" else 4)
    *_, row = (line for line in text.splitlines() if " float " in line)
    size, count, kind, _, _, time, algbw, busbw, *_ = row.split()
    for old, new, message in (
        (f" {size} ", f" {2 * int(size)} ", f"got algbw {algbw} GB/s for {2 * int(size)} bytes in"),
        (f" {count} ", f" {int(count) + 4} ", f"got the size {size} for {int(count) + 4} elements of float"),
        (f" {kind} ", " double ", f"got the size {size} for {count} elements of double"),
        (f" {time} ", " 777.77 ", f"got algbw {algbw} GB/s for {size} bytes in 777.77 us, expected 2.70 GB/s"),
        (f" {algbw} ", " 4.20 ", f"got algbw 4.20 GB/s for {size} bytes in {time} us, expected {algbw} GB/s"),
        (
            f" {busbw} {0:7}\n",
            f" 7.77 {0:7}\n",
            f"got busbw 7.77 GB/s for algbw .* GB/s in {collective.replace('l_', 'l')}, expected ",
        ),
    ):
        changed_row = f"{row}\n".replace(old, new)
        assert changed_row != f"{row}\n", old
        with pytest.raises(hocket.Error, match=rf"measured\.txt:[0-9]+: (?:{message})"):
            hocket.read_measurements(file(text.replace(f"{row}\n", changed_row)), Facts("default"))


def test_ranks_that_a_row_of_nccl_tests_contradicts_are_refused(file: Callable[[str], str]) -> None:
    text = re.sub("(?m)^#  Rank.*\n", "", nccl("all_gather", [(1 << 20, 339.61)], ranks=4))
    assert hocket.read_measurements(file(text), Facts("default", 4)).measurements
    with pytest.raises(
        hocket.Error, match="for 65536 elements of float times 8 ranks in allgather, expected 2097152 b"
    ):
        hocket.read_measurements(file(text), Facts("default", 8))


@pytest.mark.parametrize("time", ["1e-300", "1e300", "0.0000001", "99999999999999"])
@pytest.mark.parametrize("name", ["pico", "csv", "osu", "imb", "bench", "nccl"])
def test_a_time_that_no_call_can_take_is_refused(file: Callable[[str], str], name: str, time: str) -> None:
    times = {"pico": "29.6", "csv": "0.0005", "osu": "1.75", "imb": "0.60", "bench": "2e-05", "nccl": "339.61"}
    changed_time = f"{float(time) / 1e6!r}" if name in ("csv", "bench") else time
    text = SAMPLES[name].replace(times[name], changed_time)
    assert text != SAMPLES[name]
    with pytest.raises(hocket.Error, match=r"measured.txt:.* of at least 1 ps and at most a year$"):
        hocket.read_measurements(file(text), Facts("default", None if name in ("imb", "nccl") else 4))


def test_imb_nonblocking_calls_and_barriers(file: Callable[[str], str]) -> None:
    found = hocket.read_measurements(file(IMB_NBC), Facts("default"))
    assert [(one.collective, one.ranks, one.size_bytes, round(one.time_s * 1e6, 2)) for one in found.measurements] == [
        ("broadcast", 2, 1, 1.2),
        ("allreduce", 2, 4, 1.6),
        ("barrier", 6, 0, 22.95),
    ]
    assert [(one.collective, one.ranks, one.size_bytes) for one in found.unknown] == [("multi-bcast", 2, 1)]


def test_what_tune_measured(file: Callable[[str], str], tuned: str) -> None:
    found = hocket.read_measurements(tuned)
    assert [
        (one.collective, one.algorithm, one.ranks, one.time_s, one.element_bytes) for one in found.measurements
    ] == [
        ("allreduce", "ring", 4, 1e-5, 8),
        ("allreduce", "default", 4, 2e-5, 8),
    ]
    assert [one.algorithm for one in found.unknown] == ["MPI's recexch"]
    text = Path(tuned).read_text()
    assert hocket.read_measurements(file(text + text.splitlines()[1][:40])).measurements == tuple(
        replace(one, source=one.source.replace("measurements.jsonl", "measured.txt")) for one in found.measurements
    )
    with pytest.raises(hocket.Error, match=r"measured\.txt:2: got simulated times, expected measured times"):
        hocket.read_measurements(file(text.replace('"is_simulated": false', '"is_simulated": true')))


def test_ranks_on_a_node_are_told(file: Callable[[str], str]) -> None:
    osu = hocket.read_measurements(file(OSU), Facts("ring", 4, ranks_per_node=2)).measurements
    nccl = hocket.read_measurements(file(NCCL), Facts("ring", ranks_per_node=2)).measurements
    assert ({one.ranks_per_node for one in osu}, {one.ranks_per_node for one in nccl}) == ({2}, {1})


def test_imb(file: Callable[[str], str]) -> None:
    found = hocket.read_measurements(file(IMB), Facts("binomial"))
    assert [(one.collective, one.algorithm, one.ranks, one.size_bytes) for one in found.measurements] == [
        ("broadcast", "binomial", 2, 1),
        ("broadcast", "binomial", 4, 1),
        ("broadcast", "binomial", 4, 1048576),
    ]
    assert found.measurements[0].time_s == pytest.approx(0.6e-6)
    assert [(one.collective, one.size_bytes) for one in found.unknown] == [("pingpong", 1)]
    of_four = hocket.read_measurements(file(IMB), Facts("binomial", 4))
    assert [one.ranks for one in of_four.measurements] == [4, 4]


def test_hocket_bench(file: Callable[[str], str]) -> None:
    found = hocket.read_measurements(file(BENCH)).measurements
    assert [(one.algorithm, one.ranks, one.size_bytes, one.time_s, one.element_bytes) for one in found] == [
        ("ring", 4, 64, 2e-5, 8),
        ("default", 4, 64, 1e-5, 1),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "measured.txt: unknown format, expected the CSV of PICO, "),
        ("", "measured.txt: is empty, expected measured times"),
        (" \n\n", "measured.txt: is empty, expected measured times"),
        (CSV.partition("\n")[0], "measured.txt: has no measurements, expected at least one in a table with "),
        (PICO.replace("29.6,", "-1,"), 'measured.txt:2: median_us: got "-1", expected a number above zero'),
        (PICO.replace("29.6,", ","), "measured.txt:2: median_us: is empty, expected a value"),
        (PICO.replace("2x2x2", "2x0"), 'measured.txt:2: nodes: got "0", expected a whole number of at least 1'),
        (PICO.replace("ku,bcast", "ku,bbcast"), 'measured.txt:3: unknown collective "bbcast"'),
        (CSV.replace("bcast,chain", "bcast,chian"), 'measured.txt:2: unknown broadcast algorithm "chian"'),
        (CSV.replace("4KiB", "4 parsec"), 'measured.txt:2: parameter segment: got "4 parsec", expected a whole number'),
        (
            CSV.replace("default,8", "default,x"),
            'measured.txt:3: ranks: got "x", expected a whole number of at least 1',
        ),
        (CSV.replace("0.0005", "nan"), 'measured.txt:2: time_s: got "nan", expected a number above zero'),
        (OSU, "measured.txt: does not contain the number of ranks, expected --ranks"),
        (OSU.replace("Allreduce", "Bandwidth"), 'measured.txt: measures "Bandwidth", expected a collective'),
        (IMB, "measured.txt: does not name the algorithm, expected --algorithm"),
        (NCCL, "measured.txt: does not name the algorithm, expected --algorithm"),
        (NCCL_OLD, "measured.txt: does not name the collective, expected --collective"),
        (
            re.sub("(?m)^#  Rank.*\n", "", nccl("broadcast", [(1 << 20, 339.61)], ranks=4)),
            "measured.txt: does not contain the number of ranks, expected --ranks",
        ),
        (BENCH[:-20], "measured.txt: expected a JSON object"),
        (
            BENCH.replace("{", '{"cadence": "9 calls", ', 1),
            "measured.txt: has cadence, expected times of isolated calls",
        ),
        (BENCH.replace("median_s", "mean_s"), "measured.txt: expected the output of `hocket mpi bench --json`"),
    ],
)
def test_files_that_make_no_sense(file: Callable[[str], str], text: str, message: str) -> None:
    with pytest.raises(hocket.Error) as error:
        hocket.read_measurements(file(text))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.fixture
def tuned(tmp_path: Path) -> str:
    """A file of `hocket tune`."""
    choices = (Choice("catalogue", "ring"), DEFAULT, Choice("mpi", "recexch", (("MPIR_CVAR", 3),)))
    times = {choice: Estimate(1e-5 * (1 + number), 1e-6, 1e-3) for number, choice in enumerate(choices)}
    path = tmp_path / "measurements.jsonl"
    with Records(path, {"mpi": "MPICH"}) as records:
        records.add(PointRecord(Point("allreduce", 4, 64), times))
    return str(path)


SAMPLES = {
    "pico": PICO,
    "csv": CSV,
    "osu": OSU,
    "osu full": OSU_FULL,
    "osu percentiles": OSU_PERCENTILES,
    "osu two": OSU_TWO,
    "osu barrier": OSU_BARRIER,
    "nccl": NCCL,
    "nccl old": NCCL_OLD,
    "imb": IMB,
    "imb nbc": IMB_NBC,
    "bench": BENCH,
}
PIECES = (
    "",
    ",",
    "\n",
    '"',
    "\0",
    "9" * 5000,
    "-1",
    "0",
    "nan",
    "x",
    "²",
    "{",
    "null",
    "[]",
    "1e999",
    "\u2028",
    "a" * 200_000,
)


def read_or_refused(path: str) -> None:
    for told in (Facts("default", 4, collective="allreduce", ranks_per_node=2), Facts("linear", 4)):
        try:
            hocket.read_measurements(path, told)
        except hocket.Error as error:
            assert "\n" not in str(error) and len(str(error)) < 1000


def test_names_of_columns_without_a_time_are_refused(file: Callable[[str], str]) -> None:
    head = NCCL_OLD.replace(" time ", " ime ", 1).replace("busbw  error     time", "busbw,time")
    with pytest.raises(hocket.Error, match=r"measured\.txt:4: got .* expected the columns size count type ime"):
        hocket.read_measurements(file(head), Facts("ring", 4, collective="allgather"))


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_whatever_a_file_has_it_is_read_or_refused_in_one_line(
    name: str, file: Callable[[str], str], data: st.DataObject
) -> None:
    read_or_refused(file(changed(SAMPLES[name], data)))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_whatever_a_file_of_tune_has_it_is_read_or_refused_in_one_line(
    tuned: str, file: Callable[[str], str], data: st.DataObject
) -> None:
    read_or_refused(file(changed(Path(tuned).read_text(), data)))


def changed(text: str, data: st.DataObject) -> str:
    """Return a text with a few pieces replaced."""
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(text)))
        end = begin + data.draw(st.integers(0, 12))
        piece = PIECES[data.draw(st.integers(0, len(PIECES) - 1))]
        text = text[:begin] + piece + text[end:]
    return text


def test_every_format_has_a_sample(file: Callable[[str], str], tuned: str) -> None:
    texts = [*SAMPLES.values(), Path(tuned).read_text()]
    taken = {next(format.name for format in FORMATS if format.recognises(text)) for text in texts}
    assert taken == {format.name for format in FORMATS}


def test_what_is_told_makes_no_sense(file: Callable[[str], str]) -> None:
    path = file(OSU)
    for told, message in (
        (Facts(None, 4), "does not name the algorithm, expected --algorithm"),
        (Facts("rng", 4), 'unknown allreduce algorithm "rng"'),
        (Facts("ring", 4, (("segment", "1"),)), 'unknown parameter "segment"'),
    ):
        with pytest.raises(hocket.Error, match=message):
            hocket.read_measurements(path, told)


def test_a_file_of_two_benchmarks_is_refused(tmp_path: Path) -> None:
    osu = "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n8                       5.00\n"
    imb = "# Benchmarking Allreduce\n# #processes = 8\n"
    imb += "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n8 1000 0.04 0.05 0.04\n"
    told = Facts(algorithm="ring", ranks=8)
    for text, message in (
        (osu + imb, "expected one of them in a file"),
        (imb + osu, "expected one of them in a file"),
        (osu + "8 1000 0.04 0.05 0.04\n", 'got "8 1000 0.04 0.05 0.04", expected the columns Size, Avg Latency'),
    ):
        (tmp_path / "mixed").write_text(text)
        with pytest.raises(hocket.Error, match=message):
            hocket.read_measurements(tmp_path / "mixed", told)
