"""Files of another kind: every reader says what the file is, and what reads it."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import hocket
from hocket.base.kinds import KINDS, kind_of
from hocket.rules.tuning_files.formats import read
from hocket.schedules import formats as schedules
from hocket.simulating.scenes import Scene
from hocket.simulating.sweeps.grid import Grid
from hocket.traces import load as load_trace

READERS: Mapping[str, Callable[[Path], object]] = {
    "measurements": hocket.read_measurements,
    "schedule": schedules.load,
    "trace": load_trace,
    "machine": hocket.Machine.load,
    "rules": read,
    "scene": Scene.load,
    "grid": Grid.load,
}
CONTENTS: Mapping[str, str] = {
    "an execution plan of MSCCL++": '{"name": "x", "gpus": [{"id": 0, "threadblocks": [{"id": 0, "ops": []}]}]}',
    "a PyTorch execution trace": '{"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": [{"id": 1, "ctrl_deps": 1}]}',
    "a trace of PyTorch's profiler": '{"schemaVersion": 1, "traceEvents": []}',
    "a Chakra trace as JSON": '{"version": "0.0.4"}\n{"id": "1", "ctrlDeps": ["0"]}\n',
    "a platform of SimGrid": "<?xml version='1.0'?>\n<platform version=\"4.1\"/>\n",
    "a topology of NCCL": '<system version="1">\n  <cpu numaid="0"/>\n</system>\n',
    "a network of ASTRA-sim": "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n",
    "a system of ASTRA-sim": '{"scheduling-policy": "LIFO", "all-reduce-implementation": ["ring"]}',
    "a memory of ASTRA-sim": '{"memory-type": "NO_MEMORY_EXPANSION"}',
    "logical dimensions of ASTRA-sim": '{"logical-dims": ["8"]}',
    "an MSCCL algorithm": '<algo name="x" proto="Simple" nchannels="1" coll="allreduce">\n</algo>\n',
    "a GOAL schedule": "num_ranks 1\n\nrank 0 {\nl0: calc 5\n}\n",
    "a schedule": '{"format": 1, "element_bytes": 1, "scratch": [0], "ranks": [[]]}',
    "a Chakra trace": "\x07\n\x050.0.4",
    "a trace of `hocket mpi trace`": '{"format": "hocket-trace", "version": 1, "ranks": 0}\n',
    "a trace of liballprof": "# htor's PMPI Tracer Output\nMPI_Init:0:1\n",
    "a trace of SimGrid": "0 init\n0 compute 5\n0 finalize\n",
    "a machine file": 'name = "x"\n\n# The wires.\n[network]\nmodel = "hockney"\nlatency = "1 us"\n',
    "a selection of MPICH": '{\n "collective=bcast": {"algorithm=MPIR_Bcast_intra_binomial": {}}}',
    "the output of the OSU micro-benchmarks": "0: # OSU MPI Allreduce Latency Test v7.3\n0: 8 5.1\n",
    "the output of the Intel MPI Benchmarks": "# Benchmarking Allreduce\n# #processes = 2\n8 1000 5.1\n",
    "the output of nccl-tests": "#  size  count  type  redop  root  time  algbw  busbw #wrong\n8 2 float\n",
    "`measurements.jsonl` of `hocket tune`": '{"hocket": "tune", "format": 3}\n',
    "the CSV of PICO": "system,collective,nodes,ppn,algorithm,bytes_total,median_us\n",
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.what)
def test_readers_name_files_of_other_kinds(tmp_path: Path, kind: hocket.base.kinds.Kind) -> None:
    path = tmp_path / "file.txt"
    path.write_text(CONTENTS[kind.what])
    assert kind_of(path) == kind
    for reader, load in READERS.items():
        if reader not in kind.readers:
            with pytest.raises(hocket.Error) as error:
                load(path)
            assert f"{path}: is {kind.what}, {kind.advice}, expected a" in str(error.value).replace("measured", "a")


def test_an_error_in_a_file_of_the_right_kind_stays(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    path.write_text('name = "x"\n[network]\nmodel = "hockney"\nlatency = "1 parsec"\n')
    with pytest.raises(hocket.Error, match=r"machine\.toml:4: network\.latency"):
        hocket.Machine.load(path)


def test_blank_files_are_of_no_kind(tmp_path: Path) -> None:
    for number, content in enumerate(("", " " * 60_000, "\n" * 60_000, "#\n" * 30_000, "1 " * 30_000)):
        (tmp_path / str(number)).write_text(content)
        assert kind_of(tmp_path / str(number)) is None
    assert kind_of(tmp_path) is None
