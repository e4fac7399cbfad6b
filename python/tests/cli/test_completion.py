"""Completion of words by the shell."""

import subprocess
import sys

import pytest

from hocket.definitions.library import COLLECTIVES


def offered(line: str) -> list[str]:
    """Return the completions of a line whose last word is incomplete."""
    words = line.split(" ")
    told = {"_HOCKET_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    run = "from hocket.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True, env=told)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("hocket sim", ["plain,simulate"]),
        ("hocket mpi ru", ["plain,run"]),
        ("hocket simulate --engine d", ["plain,dataflow"]),
        ("hocket simulate bro", ["plain,broadcast"]),
        ("hocket simulate broadcast do", ["plain,double_tree"]),
        ("hocket compare allreduce ring swing_", ["plain,swing_torus"]),
        ("hocket tune allreduce bar", ["plain,barrier"]),
        ("hocket mpi bench exs", ["plain,exscan"]),
        ("hocket simulate --machine clu", ["plain,cluster", "file,clu"]),
        ("hocket verify nothing r", []),
        ("hocket list ", [f"plain,{name}" for name in COLLECTIVES]),
    ],
)
def test_names_that_begin_with_what_is_typed(line: str, names: list[str]) -> None:
    assert offered(line) == names
