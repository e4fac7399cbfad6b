"""`hocket mpi` and `hocket tune` under a real Slurm: `srun` starts MPICH's ranks on two nodes."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hocket.mpi.launchers import Template
from hocket.mpi.turns import Turns

from .conftest import SECONDS, Mpi
from .slurm import Slurm

pytestmark = pytest.mark.real_mpi

PMI2 = {"SLURM_MPI_TYPE": "pmi2"}
NO_MPI = {"SLURM_MPI_TYPE": "none"}
HOCKET = ("taskset", "--cpu-list", "0", sys.executable, "-m", "hocket")
"""On one processor, so that Hocket takes the nodes for crowded, which they are: both are this host."""
RING = ("--rule", "allreduce: ring", "--log", "summary", "--")
RAN_RING = r"^ *2 +\d+ +[\d.]+ s  MPI_Allreduce allreduce ring$"
ON_TWO_NODES = [f"n{1 + rank // 2}: rank {rank} of 4, 2 nodes, sum 4" for rank in range(4)]
"""What `places.c` prints on two ranks of each node."""
JOB = ("salloc", "--nodes=2", "--ntasks=4")
TUNE = ("tune", "allreduce", "-n", "4", "--sizes", "8B,64B,512B")


def by_srun(mpich: Mpi) -> list[str]:
    """Return the options that have `srun` start the ranks."""
    return ["--mpicc", str(mpich.installation.mpicc), "--launcher", "srun"]


def test_an_mpi_sees_two_nodes(slurm: Slurm, mpich: Mpi) -> None:
    ran = slurm.run("srun", "-N2", "-n4", "--mpi=pmi2", mpich.compiled("places.c"))
    assert (ran.returncode, sorted(ran.stdout.splitlines())) == (0, ON_TWO_NODES), ran.stderr


@pytest.mark.parametrize("variables", [{}, {"SLURM_EXPORT_ENV": "NONE"}])
def test_rules_reach_the_ranks(slurm: Slurm, mpich: Mpi, variables: dict[str, str]) -> None:
    words = ["mpi", "run", "-n", "4", *by_srun(mpich), *RING, mpich.compiled("places.c")]
    ran = slurm.run(*HOCKET, *words, variables=PMI2 | variables)
    assert (ran.returncode, sorted(ran.stdout.splitlines())) == (0, ON_TWO_NODES), ran.stderr
    assert re.search(RAN_RING, ran.stderr, re.MULTILINE), ran.stderr


def test_the_launcher_of_mpich_uses_the_nodes_of_a_job(slurm: Slurm, mpich: Mpi) -> None:
    own = ["--mpicc", mpich.installation.mpicc, "--launcher", mpich.installation.mpiexec]
    ran = slurm.run(*JOB, *HOCKET, "mpi", "run", "-n", "4", *own, *RING, mpich.compiled("places.c"))
    assert (ran.returncode, sorted(ran.stdout.splitlines())) == (0, ON_TWO_NODES), ran.stderr
    assert re.search(RAN_RING, ran.stderr, re.MULTILINE), ran.stderr


def test_a_job_chooses_srun(slurm: Slurm, mpich: Mpi) -> None:
    words = ["mpi", "run", "-n", "4", "--mpicc", mpich.installation.mpicc, *RING, mpich.compiled("places.c")]
    ran = slurm.run(*JOB, *HOCKET, *words, variables=PMI2)
    assert (ran.returncode, sorted(ran.stdout.splitlines())) == (0, ON_TWO_NODES), ran.stderr


def test_algorithms_are_timed(slurm: Slurm, mpich: Mpi) -> None:
    words = ["mpi", "bench", "allreduce", "ring", "native", "-n", "4", "--sizes", "8B", "--time-limit", "1s", "--json"]
    ran = slurm.run(*HOCKET, *words, *by_srun(mpich), variables=PMI2, timeout=SECONDS)
    assert ran.returncode == 0, ran.stderr
    assert [one["algorithm"] for one in json.loads(ran.stdout)["measurements"]] == ["ring", "native"]


def test_calibration_measures_within_and_between_nodes(slurm: Slurm, mpich: Mpi) -> None:
    words = ["mpi", "calibrate", "-n", "3", "--most", "64KiB", "--time-limit", "1s"]
    ran = slurm.run(*HOCKET, *words, *by_srun(mpich), variables=PMI2, timeout=4 * SECONDS)
    assert ran.returncode == 0, ran.stderr
    assert "[network.local]" in ran.stdout


def test_tuning_in_a_job(slurm: Slurm, mpich: Mpi, tmp_path: Path) -> None:
    words = [*TUNE, *by_srun(mpich), "--time-limit", "20s", "-o", tmp_path, "--json"]
    ran = slurm.run(*JOB, *HOCKET, *words, variables=PMI2, timeout=SECONDS)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["points"] >= 1 and found["points"] + found["left_out"] >= 3
    assert (tmp_path / "hocket.rules").exists()


def test_orders_may_come_late_and_from_another_node(slurm: Slurm, mpich: Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**slurm.environment, **PMI2}.items():
        monkeypatch.setenv(name, value)
    with Turns(replace(mpich.installation, launcher=Template(("srun", "-n", "{ranks}"))), 4) as turns:
        before = turns.variables()
        time.sleep(5)
        assert turns.variables() == before


@pytest.mark.parametrize("ending", ["cancelled", "time limit"])
def test_a_tuning_goes_on_after_its_job_was_ended(slurm: Slurm, mpich: Mpi, tmp_path: Path, ending: str) -> None:
    measured = tmp_path / "measurements.jsonl"
    line = shlex.join([*HOCKET, *TUNE, *by_srun(mpich), "-o", str(tmp_path), "--time-limit"])
    options = ["--nodes=2", "--ntasks=4", "--time=1", f"--output={tmp_path}/job.out"]
    submitted = slurm.run("sbatch", *options, "--wrap", f"{line} 100s", variables=PMI2)
    assert submitted.returncode == 0, submitted.stderr
    if ending == "cancelled":
        end_s = time.monotonic() + SECONDS
        while not measured.exists() or measured.read_bytes().count(b"\n") < 2:
            assert time.monotonic() < end_s, (tmp_path / "job.out").read_text()
            time.sleep(0.2)
        slurm.cancel_all()
    slurm.wait_until("", "squeue", "--noheader", timeout=SECONDS)
    before = measured.read_bytes()
    assert before.count(b"\n") >= 2 and not (tmp_path / "hocket.rules").exists()
    ran = slurm.run(*JOB, *shlex.split(line), "5s", variables=PMI2, timeout=SECONDS)
    assert ran.returncode == 0, ran.stderr
    assert measured.read_bytes().startswith(before)
    assert (tmp_path / "hocket.rules").exists()


COMMANDS = {
    "run": "mpi run {options} --rule allreduce:ring -- {program}",
    "bench": "mpi bench allreduce ring {options} --sizes 8B --time-limit 1s",
    "calibrate": "mpi calibrate {options} --most 64KiB --time-limit 1s",
    "tune": "tune allreduce {options} --sizes 8B --time-limit 1s -o {folder}",
}


def refusal(ran: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what Hocket says to a command that fails by its input; launchers print lines of their own.

    srun may end the last ranks before they do so themselves, and then ends with 143.
    """
    assert ran.returncode in (2, 143), (ran.returncode, ran.stdout, ran.stderr)
    return [line for line in ran.stderr.splitlines() if line.startswith("hocket: ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_ranks_that_form_no_world_are_an_error(slurm: Slurm, mpich: Mpi, tmp_path: Path, command: str) -> None:
    """Without an MPI type, srun starts four jobs of one rank."""
    options = shlex.join(["-n", "4", *by_srun(mpich)])
    line = COMMANDS[command].format(options=options, program=mpich.compiled("places.c"), folder=tmp_path)
    (message,) = refusal(slurm.run(*HOCKET, *line.split(), variables=NO_MPI))
    assert "the launcher started a job of 1 rank, expected one of 4" in message


@pytest.mark.parametrize("command", COMMANDS)
def test_too_few_ranks_are_an_error(slurm: Slurm, mpich: Mpi, tmp_path: Path, command: str) -> None:
    launcher = tmp_path / "two"
    launcher.write_text(f'#!/bin/sh\nshift 2\nexec {mpich.installation.mpiexec} -n 2 "$@"\n')
    launcher.chmod(0o700)
    options = shlex.join(["-n", "4", "--mpicc", str(mpich.installation.mpicc), "--launcher", str(launcher)])
    line = COMMANDS[command].format(options=options, program=mpich.compiled("places.c"), folder=tmp_path)
    (message,) = refusal(slurm.run(*HOCKET, *line.split(), timeout=SECONDS))
    assert "the launcher started a job of 2 ranks, expected one of 4" in message


def test_a_killed_rank_ends_the_job(slurm: Slurm, mpich: Mpi) -> None:
    words = ["mpi", "run", "-n", "4", *by_srun(mpich), *RING, mpich.compiled("places.c"), "kill"]
    ran = slurm.run(*HOCKET, *words, variables=PMI2, timeout=30)
    assert ran.returncode not in (0, 2), ran.stderr
