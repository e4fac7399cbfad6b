"""What holds for every command: one line for bad input, exit statuses, signals and pipes."""

import contextlib
import io
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hocket
from hocket.cli import main
from tests.conftest import Ran

COMMAND = [sys.executable, "-m", "hocket"]
COMMANDS = ("list", "show", "verify", "simulate", "compare", "sweep", "record", "machines")


def test_without_a_command_the_help_is_shown(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command("")
    assert ran.status == 0
    for command in COMMANDS:
        assert command in ran.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_takes_json(hocket_command: Callable[..., Ran], command: str) -> None:
    ran = hocket_command(f"{command} --help")
    assert (ran.status, ran.err) == (0, "")
    assert "--json" in ran.out


def test_the_version_is_the_packages(hocket_command: Callable[..., Ran]) -> None:
    assert hocket_command("--version").out == f"hocket {hocket.__version__}\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("simulat", "No such command"),
        ("list --colour", "No such option"),
        ("list --load nowhere.py", "nowhere.py: no such file"),
        ("simulate allreduce rign --ranks 4 --size 8B", 'unknown allreduce algorithm "rign", nearest: ring'),
        ("simulate allredcue ring --ranks 4 --size 8B", 'unknown collective "allredcue", nearest: allreduce'),
        ("simulate allreduce ring --ranks 0 --size 8B", '--ranks: got "0", expected a number of ranks, at least 1'),
        ("simulate allreduce ring --ranks 4 --size 8X", '--size: got "8X", expected a whole number of bytes'),
        ("simulate allreduce ring --ranks 4", "--size is missing, expected a size such as 64KiB"),
        ("simulate allreduce ring --size 8B", "--ranks is missing, expected the number of ranks"),
        ("simulate allreduce ring --ranks 4 --size 8B --machine clutser", '--machine: no machine "clutser", expected'),
        ("simulate allreduce ring --ranks 4 --size 8B --param a", '--param: got "a", expected NAME=VALUE'),
        ("simulate allreduce ring --ranks 4 --size 8B --param a=1", 'unknown parameter "a"'),
        ("simulate broadcast binomial --ranks 4 --size 8B --root 4", "root: got 4, expected a rank below 4"),
        ("simulate schedule", "expected schedule FILE"),
        ("simulate schedule nowhere.goal", "nowhere.goal: No such file or directory"),
        ("simulate schedule nowhere.goal --ranks 4", "expected neither --ranks nor --size"),
        ("verify", "expected COLLECTIVE, COLLECTIVE ALGORITHM, or --all"),
        ("verify allreduce --all", "got --all and a name, expected one of them"),
        ("verify allreduce ring --ranks 0-4", '--ranks: got "0-4", expected rank counts of at least 1'),
        ("compare allreduce --ranks 4", "--sizes is missing, expected sizes such as 8B..64MiB"),
        ("compare allreduce --ranks 4 --sizes 8B..4B", '--sizes: got "8B..4B", expected'),
        ("compare allreduce rign --ranks 4 --sizes 8B", 'unknown allreduce algorithm "rign", nearest: ring'),
        ("compare allreduce --ranks 4 --sizes 8B --plot x.pdf", 'got "x.pdf", expected a file that ends in .png or'),
        ("sweep", "Missing argument 'SPEC'"),
        ("sweep nowhere.toml", "nowhere.toml: No such file or directory"),
        ("sweep nowhere.toml --output x.txt", '--output: got "x.txt", expected a file that ends in .csv or .parquet'),
        ("sweep nowhere.toml --executor slurm", '--executor: got "slurm", expected local, mpi, dask or dask=ADDRESS'),
        ("sweep nowhere.toml --executor mpi=x", '--executor: got "mpi=x", expected local, mpi, dask or dask=ADDRESS'),
        ("record allreduce ring --ranks 4 --size 8B --format pdf", "'pdf' is not one of"),
        ("show binomial", "several algorithms are named binomial, expected one of "),
        ("show allreduce", "allreduce is a collective, expected also one of its algorithms"),
        ("show allreduce ring --ranks 99999999999", "--ranks: got 99999999999, expected at most 64 for a picture"),
        ("simulate allreduce ring --ranks 4 --size 8B --element 0", "--element: got 0 B, expected at least 1 B"),
        ("machines clutser", 'no machine "clutser", expected a TOML file or one of cluster, '),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(bad_input: Callable[..., str], line: str, message: str) -> None:
    assert message in bad_input(line)


ENDLESS = """
name = "endless"
[network]
model = "hockney"
latency = "1e308 s"
bandwidth = "1 GB/s"
[node]
reduce_bandwidth = "1e-300 B/s"
"""
NOISY = """[noise.os]
model = "poisson"
interval = "1 ms"
duration = "1 us"
"""


@pytest.mark.parametrize("noise", ["", NOISY])
@pytest.mark.parametrize(
    "line",
    [
        "simulate allreduce ring --size 8B",
        "simulate allreduce ring --size 8B --engine events",
        "compare allreduce --sizes 8B..64B",
        "record allreduce ring --size 8B",
    ],
)
def test_times_beyond_what_a_number_holds_are_refused(
    bad_input: Callable[..., str], tmp_path: Path, line: str, noise: str
) -> None:
    machine = tmp_path / "endless.toml"
    machine.write_text(ENDLESS + noise)
    assert re.search(
        r"machine endless, expected shorter|at most 2\^53 ns", bad_input(f"{line} --ranks 4 --machine", machine)
    )


WORDS = [
    *COMMANDS,
    *("allreduce", "broadcast", "ring", "chain", "schedule", "cluster", "--ranks", "--size", "--sizes", "--machine"),
    *("--param", "--root", "--json", "--in-place", "--element", "--engine", "--help", "segment=1B", "events", "x", ""),
    *("0", "2", "4", "-1", "8B", "8B..64B", "1-3", "1e9", "3\n4", "é", "."),
]


@given(st.lists(st.sampled_from(WORDS), max_size=8))
@settings(max_examples=300, deadline=None)
def test_whatever_is_typed_the_answer_is_a_result_or_one_line(words: list[str]) -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    if status == 0:
        assert err.getvalue() == ""
    else:
        assert (status, out.getvalue()) == (2, "")
        assert re.fullmatch(r"hocket: error: .+\n", err.getvalue())


def test_an_empty_name_is_no_machine(bad_input: Callable[..., str]) -> None:
    assert 'no machine ""' in bad_input("simulate allreduce ring --ranks 4 --size 8B --machine", "")


def test_bytes_that_are_no_text_are_one_line(bad_input: Callable[..., str]) -> None:
    bad_input("simulate allreduce ring --ranks 4 --size", "\udcff")


def test_a_closed_pipe_is_silent() -> None:
    words = " ".join([*COMMAND, "compare", "allreduce", "--ranks", "4", "--sizes", "1B..1GiB", "--json"])
    ran = subprocess.run(["bash", "-c", f"{words} | head -1"], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("{\n", "")


@pytest.mark.parametrize("line", ["", "--help", "--version", "list", "simulate --help"])
def test_nobody_who_reads_is_exit_status_141(line: str) -> None:
    script = f"{' '.join(COMMAND)} {line} | true; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (141, "")


@pytest.mark.parametrize("line", ["--help", "list", "list --json", "simulate allreduce ring --ranks 4 --size 8B"])
def test_a_closed_stdout_is_bad_input(line: str) -> None:
    script = f"{' '.join(COMMAND)} {line} >&-"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, "hocket: error: stdout is closed, expected somewhere to print to\n")


@pytest.mark.parametrize(
    "line",
    [
        "simulate allreduce ring --ranks 20000 --size 1MiB",
        "compare allreduce ring --ranks 20000 --sizes 1MiB..64MiB",
        "verify allreduce ring --ranks 300-400",
    ],
)
def test_control_c_is_one_line_and_exit_status_130(line: str) -> None:
    with subprocess.Popen(
        [*COMMAND, *line.split()],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background shell would have it ignored
    ) as ran:
        time.sleep(1.5)
        ran.send_signal(signal.SIGINT)
        out, err = ran.communicate(timeout=20)
    assert (ran.returncode, out, err) == (130, "", "hocket: interrupted\n")


def test_progress_is_shown_on_a_terminal_only() -> None:
    ours, theirs = pty.openpty()
    line = [*COMMAND, "compare", "allreduce", "--ranks", "64", "--sizes", "8B..1MiB", "--json"]
    ran = subprocess.run(line, stderr=theirs, stdout=subprocess.PIPE, check=True)
    os.close(theirs)
    assert b"simulating" in os.read(ours, 100_000)
    os.close(ours)
    assert ran.stdout.startswith(b"{")
    assert subprocess.run(line, capture_output=True, check=True).stderr == b""


def test_listing_imports_nothing_heavy() -> None:
    code = "import sys, hocket.cli; hocket.cli.main(['list']); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"numpy", "altair", "vl_convert"} & set(loaded.splitlines()[-1].split())


def test_files_to_load_may_stand_in_the_environment(
    hocket_command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        text = f'import hocket\n@hocket.algorithm("barrier")\ndef {name}(r, c):\n    yield r.compute(0.0)\n'
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setenv("HOCKET_LOAD", os.pathsep.join(str(tmp_path / f"{name}.py") for name in ("one", "two")))
    listed = [entry["name"] for entry in hocket_command("list barrier --json").json]
    assert listed[-2:] == ["one", "two"]
