"""What is wrong with an MPI, or with where things are kept: one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hocket import Error
from hocket.mpi.preload import cache_folder


def test_a_wrapper_that_makes_no_program(bad_input: Callable[..., str]) -> None:
    message = bad_input("mpi", "build", "--mpicc", "/bin/true", "--mpiexec", "/bin/true")
    assert message == (
        "/bin/true: makes no program: No such file or directory, expected the compiler wrapper of an MPI"
    )


@pytest.mark.parametrize("name", ["a b", "a:b"])
def test_a_folder_that_cannot_be_preloaded_from(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    with pytest.raises(Error, match=f"XDG_CACHE_HOME: got .*{name}, expected a path without spaces and colons"):
        cache_folder()


def test_a_program_may_change_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert cache_folder() == tmp_path / "cache" / "hocket" / "mpi"
