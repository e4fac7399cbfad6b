"""Launchers: templates, what an allocation chooses, and jobs that are not the one that was asked for."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket import Error
from hocket.mpi import Installation, command
from hocket.mpi.launch import is_crowded, is_here, on_hosts
from hocket.mpi.launchers import Template

from .conftest import AS_ROOT, SECONDS, Mpi

VARIABLES = ("SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "FLUX_URI", "LSB_JOBID", "PBS_JOBID", "PBS_NODEFILE")


@pytest.fixture
def launchers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Puts a program of each launcher's name on the path, outside any allocation; returns their folder."""
    for name in ("srun", "flux", "jsrun", "aprun", "mpiexec"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    for variable in (*VARIABLES, "HOCKET_LAUNCHER"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def filled(text: str, hosts: str | None = None, family: str = "mpich") -> str:
    program, *words = Template.parse(text, "--launcher").fill(4, hosts, family)
    return shlex.join([Path(program).name, *words])


@pytest.mark.parametrize(
    ("text", "hosts", "expected"),
    [
        ("srun", None, "srun -n 4"),
        ("srun --mpi=pmi2 -N {nodes} -n {ranks}", "a,b", "srun --nodelist=a,b --mpi=pmi2 -N 2 -n 4"),
        ("srun -N {nodes} -w {hosts} -n{ranks}", "a,b,c,d,e", "srun -N 4 -w a,b,c,d,e -n4"),
        ("flux run -n {ranks}", "a", "flux run --requires=host:a -n 4"),
        ("aprun -n {ranks}", "a,b", "aprun --node-list a,b -n 4"),
        ("mpiexec -n {ranks}", "a,b", "mpiexec -hosts a,b -n 4"),
        ("mpiexec", None, "mpiexec -n 4"),
    ],
)
def test_a_template_is_filled(launchers: Path, text: str, hosts: str | None, expected: str) -> None:
    assert filled(text, hosts) == expected


def test_open_mpi_names_hosts_in_its_own_way(launchers: Path) -> None:
    assert filled("mpiexec", "a", "openmpi") == "mpiexec --host a -n 4"


@pytest.mark.parametrize(
    ("text", "hosts", "expected"),
    [
        ("", None, "--launcher: no word is not a program, expected a launcher such as"),
        ("nosuch -n {ranks}", None, "--launcher: nosuch is not a program, expected a launcher such as"),
        ("srun -n {rank}", None, "--launcher: got {rank}, expected {ranks}, {nodes} or {hosts}"),
        ('srun "', None, '--launcher: got "srun "", expected a command: no closing quotation'),
        ("srun -N {nodes}", None, "--launcher: nobody tells the nodes of {nodes}, expected --hosts, or an allocation"),
        ("srun -w {hosts}", None, "--launcher: nobody tells the hosts of {hosts}, expected --hosts"),
        ("jsrun", "a", "--hosts: the option of jsrun for hosts is not known, expected {hosts} in --launcher"),
    ],
)
def test_a_bad_template_is_one_line(launchers: Path, text: str, hosts: str | None, expected: str) -> None:
    with pytest.raises(Error) as error:
        filled(text, hosts)
    assert str(error.value).startswith(expected)


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("SLURM_JOB_ID", "srun -n {ranks}"),
        ("FLUX_URI", "flux run -n {ranks}"),
        ("LSB_JOBID", "jsrun -n {ranks}"),
        ("PBS_JOBID", "aprun -n {ranks}"),
    ],
)
def test_an_allocation_chooses_its_launcher(
    variable: str, expected: str, launchers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Template.find(None) is None
    monkeypatch.setenv(variable, "1")
    found = Template.find(None)
    assert found is not None and shlex.split(f"{launchers}/{expected}") == list(found.words) and not found.is_here
    (launchers / expected.split()[0]).unlink()
    assert Template.find(None) is None  # the MPI's own launcher then
    assert not Template.parse("mpiexec", "--launcher").is_here
    monkeypatch.setenv("HOCKET_LAUNCHER", "mpiexec --verbose")
    of_site = Template.find(None)
    assert of_site is not None and of_site.words[1:] == ("--verbose", "-n", "{ranks}")
    monkeypatch.setenv("HOCKET_LAUNCHER", "nosuch")
    with pytest.raises(Error, match="HOCKET_LAUNCHER: nosuch is not a program"):
        Template.find(None)


def test_nodes_are_those_of_the_allocation(launchers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "3")
    assert filled("srun -N {nodes}") == "srun -N 3 -n 4"
    (tmp_path / "nodes").write_text("a\na\nb\n")
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    assert filled("srun -N {nodes}") == "srun -N 2 -n 4"


def test_a_node_is_crowded_by_its_own_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hocket.mpi.launch.processors", lambda: 4)
    here = Installation(Path("mpicc"), Template(("mpiexec", "-n", "{ranks}")), "MPICH 5.0")
    assert is_here(here, command) and not is_here(here, on_hosts("a,b"))
    assert (is_crowded(here, command, 5), is_crowded(here, on_hosts("a,b"), 5)) == (True, False)
    by_slurm = Installation(Path("mpicc"), Template(("srun", "-n", "{ranks}")), "MPICH 5.0")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    assert (is_crowded(by_slurm, command, 8), is_crowded(by_slurm, command, 9)) == (False, True)


ALONE = '#!/bin/sh\nshift; ranks=$1; shift\nfor rank in $(seq $ranks); do "$@" & done\nwait\n'
"""Starts each rank alone, as a launcher does that does not know the MPI."""


@pytest.mark.parametrize("way", ["alone", "fewer"])
@pytest.mark.parametrize(
    "words",
    [
        "mpi run -n 4 --rule allreduce:ring",
        "mpi trace -n 4 -o {folder}/x.hktrace",
        "mpi bench allreduce ring -n 4 --sizes 8B",
        "mpi calibrate -n 4 -o {folder}/m.toml",
        "tune allreduce -n 4 --sizes 8B -o {folder}/tuned",
    ],
)
def test_another_number_of_ranks_is_one_line(way: str, words: str, mpi: Mpi, tmp_path: Path) -> None:
    script = tmp_path / "launcher"
    fewer = f'#!/bin/sh\nshift 2\nexec {mpi.installation.mpiexec} -n 2 "$@"\n'
    script.write_text(ALONE if way == "alone" else fewer)
    script.chmod(0o755)
    line = [sys.executable, "-m", "hocket", *words.format(folder=tmp_path).split()]
    line += ["--mpicc", str(mpi.installation.mpicc), "--launcher", str(script)]
    program = ["--", mpi.compiled("either_path.c")] if words.startswith(("mpi run", "mpi trace")) else []
    ran = subprocess.run(
        [*line, *program], capture_output=True, text=True, env={**os.environ, **AS_ROOT}, timeout=SECONDS, check=False
    )
    alone = ("1 rank", ": it may not know this MPI, and start each rank alone")
    ranks, cause = alone if way == "alone" else ("2 ranks", "")
    said = [each for each in ran.stderr.splitlines() if "started a job" in each]
    assert [each.removeprefix("hocket: ").removeprefix("error: ") for each in said] == [
        f"the launcher started a job of {ranks}, expected one of 4{cause}; see --launcher"
    ]
    assert not (tmp_path / "m.toml").exists()


def test_a_job_that_the_program_starts_has_a_number_of_ranks_of_its_own(mpich: Mpi) -> None:
    inner = [str(mpich.installation.mpiexec), "-n", "2", mpich.compiled("either_path.c")]
    assert mpich.run(1, inner, ["allreduce: ring"]).output == "0 wrong\n"
