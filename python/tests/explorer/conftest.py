"""Questions as fields of the form of the page."""

from pathlib import Path

import pytest

from hocket.explorer.questions import Question, Sources, read_question

TORUS = """\
name = "small-torus"
[network]
model = "links"
topology = "torus"
dims = [2, 2, 2]
link_bandwidth = "4 GB/s"
link_latency = "100 ns"
[node]
software_latency = "1 us"
reduce_bandwidth = "10 GB/s"
"""
WRONG = '''\
import hocket


@hocket.algorithm("allreduce")
def neighbours(r, c):
    """Every rank adds up the vectors of its nearest neighbours first."""
    result, arrived = c.result(r), r.scratch(len(c.result(r)))
    yield r.copy(c.input(r), result)
    for distance in range(1, r.size):
        to, source = (r.rank + distance) % r.size, (r.rank - distance) % r.size
        yield r.sendrecv(to, c.input(r), source, arrived)
        yield r.reduce(source, arrived, result)
'''
FIELDS = {
    "collective": "allreduce",
    "algorithms": "ring swing",
    "ranks": "4,8",
    "sizes": "8B..64B",
    "machine": "",
    "verified": "2-4",
}
OSU = """\
Is this good?
```
# OSU MPI Allreduce Latency Test v7.5
# Size       Avg Latency(us)
65536                 390.20
262144               1100.00
```
"""
"""A message with the output of a benchmark, which does not tell the number of ranks."""
NCCL = """\
# nThread 1 nGpus 8 minBytes 1024 maxBytes 4096 step: 2(factor)
#       size         count      type   redop    root     time   algbw   busbw #wrong
        1024           256     float     sum      -1    30.50    0.03    0.05      0
        4096          1024     float     sum      -1    41.50    0.10    0.17      0
"""
LONG = {"ranks": "256", "sizes": "8B", "algorithms": "ring", "trials": "1000000", "machine": "jitter-paper"}
"""Compiled work that takes minutes."""


def fields(**changed: str) -> dict[str, str]:
    """The fields of a form; `machine` is a name."""
    texts = {**FIELDS, "machine": "cluster", **changed}
    return {**texts, "machine": Sources().machine_texts.get(texts["machine"], texts["machine"])}


def question(named: Sources | None = None, **changed: str) -> Question:
    return read_question(fields(**changed), named or Sources())


@pytest.fixture
def named(tmp_path: Path) -> Sources:
    """The files of a user: a wrong algorithm, and a machine."""
    program, machine = tmp_path / "wrong.py", tmp_path / "torus.toml"
    program.write_text(WRONG)
    machine.write_text(TORUS)
    return Sources((str(program),), (str(machine),))
