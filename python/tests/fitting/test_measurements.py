"""Measurements in the formats of benchmark programs."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket.fitting.measurements import Told

PICO = """\
system,collective,nodes,ppn,mpi,algorithm,bytes_total,iterations,min_us,p10_us,median_us,p90_us,run
fugaku,allgather,2x2x2,1,FJMPI 4.0.1,default-ring,256,100,28.8,29.1,29.6,30.2,2025_03_26___19_49_06/2
fugaku,bcast,4x4x4,1,FJMPI 4.0.1,default-trinaryx3,1048576,100,1,1,300.5,1,a/1
fugaku,bcast,4x4x4,1,FJMPI 4.0.1,default-basic-linear,1048576,100,1,1,300.5,1,a/1
lumi,allreduce,8,1,CRAY_MPICH 8.1.29,recursive_doubling_mpich,2048,100,1,1,18,1,b/1
lumi,allreduce,8,1,CRAY_MPICH 8.1.29,recursive_doubling_mpich,16384,100,1,1,58,1,b/1
mare_nostrum,allreduce,32,1,OMPI 4.1.5,ring_ompi,64,100,1,1,20,1,c/1
mare_nostrum,allreduce,32,1,OMPI 4.1.5,ring_ompi,2048,100,1,1,90,1,c/1
mare_nostrum,bcast,32,1,OMPI 4.1.5,knomial_ompi,2048,100,1,1,90,1,c/1
leonardo,reduce_scatter,4,2,OMPI 4.1.6,default_ompi,2048,100,1,1,9,1,c/1
leonardo,allgather,32,1,OMPI 4.1.6,ring_ompi,32,100,1,1,9,1,c/1
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


def test_csv(file: Callable[[str], str]) -> None:
    found = hocket.read_measurements(file(CSV)).measurements
    assert [(one.collective, one.label, one.ranks, one.time_s, one.dims) for one in found] == [
        ("broadcast", "chain segment=4096", 8, 0.0005, (4, 2)),
        ("allreduce", "default", 8, 1e-5, None),
        ("alltoall", "pairwise_exchange barrier=none pairing=shift", 4, 2e-5, None),
    ]


def test_osu(file: Callable[[str], str]) -> None:
    found = hocket.read_measurements(file(OSU), Told("ring", 16)).measurements
    assert [(one.collective, one.algorithm, one.ranks, one.size_bytes, one.element_bytes) for one in found] == [
        ("allreduce", "ring", 16, 4, 4),
        ("allreduce", "ring", 16, 8, 4),
    ]
    assert [one.time_s for one in found] == pytest.approx([1.75e-6, 1.8e-6])
    told = Told("bruck", 4, (("radix", "4"),))
    (slowest,) = hocket.read_measurements(file(OSU_FULL), told).measurements
    assert (slowest.collective, slowest.label) == ("alltoall", "bruck radix=4")
    assert slowest.time_s == pytest.approx(2.4e-6)


def test_imb(file: Callable[[str], str]) -> None:
    found = hocket.read_measurements(file(IMB), Told("binomial"))
    assert [(one.collective, one.algorithm, one.ranks, one.size_bytes) for one in found.measurements] == [
        ("broadcast", "binomial", 2, 1),
        ("broadcast", "binomial", 4, 1),
        ("broadcast", "binomial", 4, 1048576),
    ]
    assert found.measurements[0].time_s == pytest.approx(0.6e-6)
    assert [(one.collective, one.size_bytes) for one in found.unknown] == [("pingpong", 1)]
    of_four = hocket.read_measurements(file(IMB), Told("binomial", 4))
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
        ("", "measured.txt: unknown format, expected the CSV of PICO, "),
        (CSV.partition("\n")[0], "measured.txt: has no measurements, expected a CSV with the columns collective, "),
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
        (OSU.replace("Allreduce", "Bandwidth"), 'measured.txt: measures "Bandwidth", expected a blocking collective'),
        (IMB, "measured.txt: does not name the algorithm, expected --algorithm"),
        (BENCH[:-20], "measured.txt: expected a JSON object"),
        (BENCH.replace("median_s", "mean_s"), "measured.txt: expected the output of `hocket mpi bench --json`"),
    ],
)
def test_files_that_make_no_sense(file: Callable[[str], str], text: str, message: str) -> None:
    with pytest.raises(hocket.Error) as error:
        hocket.read_measurements(file(text))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text", [PICO, CSV, OSU, OSU_FULL, IMB, BENCH], ids=["pico", "csv", "osu", "full", "imb", "bench"]
)
def test_whatever_a_file_has_it_is_read_or_refused_in_one_line(file: Callable[[str], str], text: str) -> None:
    chance = random.Random(0)
    pieces = ("", ",", "\n", '"', "\0", "9" * 5000, "-1", "nan", "x", "²", "{", "null", "1e999", "a" * 200_000)
    told = Told("ring", 4) if "Allreduce" in text else Told("linear", 4)
    for _ in range(300):
        begin = chance.randrange(len(text))
        changed = text[:begin] + chance.choice(pieces) + text[begin + chance.randrange(12) :]
        try:
            hocket.read_measurements(file(changed), told)
        except hocket.Error as error:
            assert "\n" not in str(error) and len(str(error)) < 1000


def test_what_is_told_makes_no_sense(file: Callable[[str], str]) -> None:
    path = file(OSU)
    for told, message in (
        (Told(None, 4), "does not name the algorithm, expected --algorithm"),
        (Told("rng", 4), 'unknown allreduce algorithm "rng"'),
        (Told("ring", 4, (("segment", "1"),)), 'unknown parameter "segment"'),
    ):
        with pytest.raises(hocket.Error, match=message):
            hocket.read_measurements(path, told)
