"""Traces of real programs, replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket import Machine, traces
from tests.conftest import Ran

from .conftest import Mpi

pytestmark = [pytest.mark.usefixtures("as_root"), pytest.mark.real_mpi]

MACHINE = Machine.parse(
    'name = "small"\n[network]\nmodel = "hockney"\nlatency = "1 us"\nbandwidth = "10 GB/s"\nprotocol = "eager"\n'
)


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_a_traced_program_is_replayed(mpi: Mpi, hocket_command: Callable[..., Ran], tmp_path: Path, ranks: int) -> None:
    path = tmp_path / "traced.hktrace"
    command = f"mpi trace --json --mpicc {mpi.installation.mpicc} -n {ranks} -o"
    ran = hocket_command(*command.split(), path, "--", mpi.compiled("traced.c"))
    assert ran.status == 0, ran.err
    trace = traces.read(path)
    found = hocket.replay(trace, MACHINE)
    assert found == hocket.replay(path, MACHINE)
    names = Counter(call.function for rank in trace.ranks for call in rank.calls)
    assert {use.function: use.calls for use in found.functions} == names
    assert sum(use.calls for use in found.algorithms) > 10
    # The same computing, but faster calls than in a real MPI with a process per processor.
    assert hocket.replay(trace, MACHINE, scale_compute=0).time_s.mean < found.time_s.mean < found.traced_s
