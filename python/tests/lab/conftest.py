"""Machines of labs, and whether this host can build a lab."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket._native import Error
from hocket.definitions.machine import Machine
from hocket.mpi import Installation
from hocket_lab.laboratory import down, temporary
from tests.mpi.conftest import FIRST_OR_ALL

TORUS = 'topology = "torus"\ndims = [3, 3]'
STAR = 'topology = "crossbar"\nnodes = 8'


def text(topology: str, more: str = "", bandwidth: str = "5 MB/s") -> str:
    """Return a machine file of this topology."""
    network = f'model = "links"\n{topology}\nlink_bandwidth = "{bandwidth}"\nprotocol = "rendezvous"\n{more}'
    return f'name = "small"\n[network]\n{network}\nsharing = "fair"\n[node]\nports = 4\n'


@pytest.fixture(scope="session")
def can_build() -> None:
    """Skips if this host cannot build a lab."""
    try:
        with temporary(Machine.parse(text('topology = "crossbar"\nnodes = 2'))):
            pass
    except (Error, OSError) as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session", params=FIRST_OR_ALL)
def installation(request: pytest.FixtureRequest) -> Installation:
    """The first MPI of this host; in long runs all MPIs."""
    if request.param is None:
        pytest.skip("no MPI, expected what `make setup` or `make test-mpi` installs")
    found = Installation.find(request.param)
    if found.product == "intelmpi":
        pytest.skip("a lab wants MPICH or Open MPI")
    return found


@pytest.fixture
def torus(tmp_path: Path) -> Path:
    """A machine file of a torus of 3 x 3."""
    file = tmp_path / "torus.toml"
    file.write_text(text(TORUS))
    return file


@pytest.fixture
def star(tmp_path: Path) -> Path:
    """A machine file of a star of 8 nodes."""
    file = tmp_path / "star.toml"
    file.write_text(text(STAR))
    return file


@pytest.fixture
def names(can_build: None) -> Iterator[list[str]]:
    """Names of two labs, removed at the end."""
    found = ["test-1", "test-2"]
    yield found
    for name in found:
        down(name)
