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
