"""Too little memory, and endless input: one line, at once."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import hocket
from hocket.cli import main
from tests.conftest import TRACE, Ran

BIG = """
@hocket.algorithm("broadcast")
def big(r, c):
    r.scratch(1 << 33)
    yield r.compute(0.0)
"""


@pytest.fixture(autouse=True)
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOCKET_MEMORY", "2GiB")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("simulate broadcast binomial --ranks 67108864 --size 8B", "67108864 ranks"),
        ("simulate broadcast binomial --ranks 67108864 --size 8B --engine events", "67108864 ranks"),
        ("simulate allreduce recursive_doubling --ranks 8388608 --size 8B --engine dataflow", "8388608 ranks"),
        ("record alltoall linear --ranks 1000000 --size 8B", "1999998000000 operations"),
        ("simulate alltoall linear --ranks 3000 --size 8B --timeline out.json", "17994000 operations"),
        ("simulate barrier dissemination --ranks 4 --machine jitter-paper --trials 1000000000", "1000000000 trials"),
        ("verify alltoallv linear --ranks 60000", "verifying 60000 ranks"),
    ],
)
def test_what_cannot_fit_is_refused_before_it_begins(bad_input: Callable[..., str], line: str, what: str) -> None:
    message = bad_input(line)
    assert message.startswith(f"{what}: needs at least ")
    assert message.endswith(" of memory, expected at most the 2.0 GiB that HOCKET_MEMORY allows")


def run_alone(line: str, memory: str) -> "subprocess.CompletedProcess[str]":
    """Run a command line in its own process: in this one, memory of other tests would count."""
    words = [sys.executable, "-m", *line.split()]
    settings = {**os.environ, "HOCKET_MEMORY": memory}
    return subprocess.run(words, env=settings, capture_output=True, text=True, check=False)


def test_expressions_are_counted_before_a_call_is_run() -> None:
    """All else needs about 220 MiB, and the expressions 150 MiB."""
    ran = run_alone("hocket verify allreduce linear --ranks 2000 --count 4000", "300MiB")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("hocket: error: verifying 2000 ranks: needs at least ")


def test_ranks_that_end_before_others_begin_need_not_fit_together() -> None:
    ran = run_alone("hocket simulate broadcast binomial --ranks 1048576 --size 8B", "400MiB")
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("limit", ["HOCKET_MEMORY", "ulimit"])
def test_expressions_that_grow_are_stopped(program_file: Callable[[str], Path], limit: str) -> None:
    loop = """
@hocket.algorithm("allreduce")
def hoarding(r, c):
    yield r.copy(c.input(r), c.result(r))
    for _ in range(10_000):
        yield r.combine(c.input(r), c.result(r), "left")
"""
    words = [
        sys.executable,
        "-m",
        *["hocket", "verify", "hoarding", "--ranks", "2", "--count", "50000", "--load"],
        program_file(loop),
    ]
    limited = {"HOCKET_MEMORY": "250MiB"} if limit == "HOCKET_MEMORY" else {}
    first = "" if limited else "ulimit -v 600000 && "
    ran = subprocess.run(
        ["bash", "-c", f'{first}exec "$@"', "bash", *words],
        env={name: value for name, value in os.environ.items() if name != "HOCKET_MEMORY"} | limited,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert re.fullmatch(r"hocket: error: \d+ expressions and as many more: needs at least .*\n", ran.stderr)


@pytest.mark.parametrize("line", ["simulate {} --size 8B --machine eager.toml", "record {} --size 8B -o out.goal"])
def test_what_grows_is_stopped(program_file: Callable[[str], Path], tmp_path: Path, line: str) -> None:
    loop = """
@hocket.algorithm("alltoall")
def endless(r, c):
    while True:
        yield r.join(*(r.send(1 - r.rank, c.input(r)) for _ in range(1000)))
"""
    words = f"hocket {line.format('alltoall endless --ranks 2')} --load".split()
    eager = hocket.Machine.load("cluster").text.replace("rendezvous", "eager")
    (tmp_path / "eager.toml").write_text(eager)
    ran = subprocess.run(
        [sys.executable, "-m", *words, program_file(loop)],
        env={**os.environ, "HOCKET_MEMORY": "150MiB"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
    )
    assert (ran.returncode, ran.stdout, list(tmp_path.glob("out*"))) == (2, "", [])
    assert "the work: needs at least " in ran.stderr and ran.stderr.count("\n") == 1


def test_a_schedule_is_refused_while_it_is_read(tmp_path: Path) -> None:
    tasks = "\n".join(f"l{number}: calc 1" for number in range(1 << 21))
    (tmp_path / "long.goal").write_text(f"num_ranks 1\nrank 0 {{\n{tasks}\n}}\n")
    ran = subprocess.run(
        [sys.executable, "-m", "hocket", "simulate", "schedule", tmp_path / "long.goal"],
        env={**os.environ, "HOCKET_MEMORY": "100MiB"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "the work: needs at least " in ran.stderr and ran.stderr.count("\n") == 1


def test_scratch_is_refused_where_it_would_hold_data(
    bad_input: Callable[..., str], hocket_command: Callable[..., Ran], program_file: Callable[[str], Path]
) -> None:
    file = program_file(BIG)
    assert "scratch of 8589934592 elements: needs at least 9" in bad_input(
        "verify broadcast big --ranks 2 --load", file
    )
    with pytest.raises(hocket.Error, match="scratch of 8589934592 elements: needs at least 6"):
        hocket.run(*hocket.load(file), [np.arange(3)] * 2)
    assert hocket_command("simulate broadcast big --ranks 2 --size 8B --load", file).status == 0


def test_results_on_real_data_are_refused() -> None:
    with pytest.raises(hocket.Error, match="the results of 200 ranks: needs at least "):
        hocket.run("allgather/ring", [np.zeros(1 << 17)] * 200)


def test_a_limit_that_is_none_is_refused(bad_input: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOCKET_MEMORY", "lots")
    assert bad_input("list").startswith('HOCKET_MEMORY: got "lots", expected a whole number of bytes')


@pytest.mark.parametrize(
    "line",
    [
        "simulate allreduce ring --ranks 4 --size 8B --machine",
        "machines",
        "show machine",
        "simulate schedule",
        "sweep",
        "replay",
        f"replay {TRACE} --rules",
        "list --load",
    ],
)
@pytest.mark.parametrize("file", ["/dev/zero", "huge", "folder", "dangling", "empty", "unreadable/file"])
def test_whatever_is_named_as_a_file_the_answer_is_one_line(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str], tmp_path: Path, line: str, file: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "missing")
    (tmp_path / "empty").touch()
    with open(tmp_path / "huge", "wb") as huge:
        huge.truncate(1 << 40)
    if file == "empty" and "--rules" in line:
        assert hocket_command(line, tmp_path / file).status == 0  # an empty file of rules is valid
    else:
        bad_input(line, tmp_path / file)


def test_a_file_that_a_machine_names_has_bounds(bad_input: Callable[..., str], tmp_path: Path) -> None:
    text = hocket.Machine.load("cluster").text
    noise = '[noise.os]\nmodel = "trace"\nlength = "1 s"\nfile = "/dev/zero"\n'
    (tmp_path / "machine.toml").write_text(text + noise)
    message = bad_input("simulate allreduce ring --ranks 4 --size 8B --machine", tmp_path / "machine.toml")
    assert "noise.os.file" in message and message.endswith("expected a text file of at most 268435456 bytes")


@pytest.mark.parametrize(
    ("limit", "line", "message"),
    [
        ("-s 128", "list", r"the stack has 128 KiB \(ulimit -s\), expected 1024 KiB or more"),
        ("-v 100000", "list", r"NumPy cannot be loaded within 97 MiB of addresses \(ulimit -v\), expected .*"),
    ],
)
def test_what_has_no_room_within_ulimit_is_one_line(limit: str, line: str, message: str) -> None:
    words = f'ulimit {limit} && exec "$@" -m hocket {line}'
    ran = subprocess.run(["bash", "-c", words, "bash", sys.executable], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert re.fullmatch(rf"hocket: error: {message}\n", ran.stderr)


def test_what_fails_within_few_addresses_is_one_line(
    bad_input: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: object) -> int:
        raise ImportError("lib.so: failed to\nmap segment")

    monkeypatch.setattr("hocket.cli.run.run", run)
    with pytest.raises(ImportError):
        main(["list"])
    monkeypatch.setattr("hocket.cli.describe_address_limit", lambda: "5 MiB of addresses")
    assert bad_input("list") == "no room within 5 MiB of addresses: ImportError: lib.so: failed to map segment"


def test_there_are_no_more_threads_than_have_room() -> None:
    words = 'ulimit -v 300000 && exec "$@" -m hocket verify barrier dissemination --ranks 1-40 --jobs 100'
    ran = subprocess.run(["bash", "-c", words, "bash", sys.executable], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_thread_that_cannot_start_is_one_line(bad_input: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    message = bad_input("verify barrier dissemination --ranks 2")
    assert message == "no thread can be started, expected fewer --jobs, or room for more (ulimit -u and -v)"


@pytest.mark.parametrize("limit_kib", range(120_000, 180_000, 10_000))
def test_no_room_for_addresses_is_never_the_answer_slower(limit_kib: int) -> None:
    words = f'ulimit -v {limit_kib} && exec "$@" -m hocket list'
    ran = subprocess.run(["sh", "-c", words, "sh", sys.executable], capture_output=True, text=True, check=False)
    assert ran.returncode == 0 or (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
