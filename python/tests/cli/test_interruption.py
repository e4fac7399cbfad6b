"""Ctrl-C ends every command before each of two threads has worked for another second."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import needs_proc, until, until_at_work

LONG = (
    "explain alltoall bruck --ranks 4096 --size 8B --yes",
    "record alltoall linear --ranks 8192 --size 8B -o x.json --yes",
    "simulate alltoall linear --ranks 1024 --size 64KiB --machine torus.toml --yes",
)
"""Each is still at work long after it has used `BEGUN_S` of processors."""

BEGUN_S = 1.0
THREADS = min(2, os.cpu_count() or 1)
TORUS = """
name = "torus"
[network]
model = "links"
topology = "torus"
dims = [32, 32]
link_bandwidth = "1 GB/s"
link_latency = "1 us"
[host]
o_send = "1 us"
o_receive = "1 us"
"""
"""With host costs, every rank is simulated."""


def used_by_children_s() -> float:
    """The seconds of processors that processes have used for which this one has waited."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@needs_proc
@pytest.mark.parametrize("line", LONG)
def test_ctrl_c_ends_a_command_before_each_thread_works_for_a_second(tmp_path: Path, line: str) -> None:
    (tmp_path / "torus.toml").write_text(TORUS)
    before_s = used_by_children_s()
    with subprocess.Popen([sys.executable, "-m", "hocket", *line.split()], cwd=tmp_path, stderr=subprocess.PIPE) as run:
        used_s = until_at_work(run, used_s=BEGUN_S)
        os.kill(run.pid, signal.SIGINT)
        try:
            err = run.communicate(timeout=30)[1].decode()
        finally:
            run.kill()
        assert used_by_children_s() - before_s - used_s < THREADS
        assert (run.returncode, err.splitlines()[-1]) == (130, "hocket: interrupted")


def test_an_interrupted_sweep_says_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "torus.toml").write_text(TORUS)
    (tmp_path / "g.toml").write_text(
        'ranks = [4, 1024]\nsizes = "8B..1KiB"\ncollective = "alltoall"\nmachine = "torus.toml"\n'
        "[algorithms]\nlinear = {}\n"
    )
    journal = tmp_path / "g.csv.partial.jsonl"
    words = [sys.executable, "-m", "hocket", "sweep", "g.toml", "-o", "g.csv", "--yes", "--jobs", "1"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE) as run:
        until(lambda: journal.exists() and journal.read_bytes().count(b"\n") == 8, run)
        os.kill(run.pid, signal.SIGINT)
        err = run.communicate(timeout=30)[1].decode()
    assert run.returncode == 130
    assert "hocket: 8 of 16 simulations are kept, run the same command again to go on" in err


@needs_proc
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("is_early", [False, True])
def test_a_job_ends_with_the_command_that_waits_for_it(number: int, status: int, is_early: bool) -> None:
    """Early: while the command that starts the job does not know it yet."""
    program = "from hocket import cli; import hocket.cli.run as run; from hocket.mpi.jobs import wait_for\n"
    if is_early:
        program += "import subprocess, time; Popen = subprocess.Popen\n"
        program += "subprocess.Popen = lambda *a, **k: (Popen(*a, **k), time.sleep(0.5))[0]\n"
    program += (
        "run.run = lambda _: wait_for(['sh', '-c', 'echo $$; exec sleep 60'], {}); raise SystemExit(cli.main([]))"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.stdout is not None
        job = int(command.stdout.readline())
        command.send_signal(number)
        err = command.communicate(timeout=30)[1].decode()
    assert (command.returncode, err) == (status, "hocket: interrupted\n" if number == signal.SIGINT else "")
    assert not Path(f"/proc/{job}").exists()
