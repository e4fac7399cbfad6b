"""Launchers: the command that starts the ranks of a job, by a resource manager or by the MPI itself."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from hocket._native import Error

VARIABLE = "HOCKET_LAUNCHER"
"""The environment variable with the launcher of a site."""

_OF_ALLOCATIONS = {
    "SLURM_JOB_ID": "srun -n {ranks}",
    "FLUX_URI": "flux run -n {ranks}",
    "LSB_JOBID": "jsrun -n {ranks}",
    "PBS_JOBID": "aprun -n {ranks}",
}
"""The launcher inside an allocation, by a variable that the resource manager sets. Where it is not on the path, the
MPI's own launcher finds the hosts of the allocation."""

_HOSTS = {"srun": "--nodelist={hosts}", "flux": "--requires=host:{hosts}", "aprun": "--node-list {hosts}"}
_HOSTS_OF_FAMILIES = {"mpich": "-hosts {hosts}", "openmpi": "--host {hosts}"}
"""Options that name hosts, by launcher, and for the MPI's own launcher by family."""

_HOST_FILES = ("PBS_NODEFILE", "LSB_DJOB_HOSTFILE")
"""Variables with the file of an allocation's hosts; Slurm tells their number."""

_PLACE = re.compile(r"\{(\w*)\}")
_PLACES = ("ranks", "nodes", "hosts")


def folders() -> list[str]:
    """Return where to look for programs: on the path, and beside this Python, whose environment need not be active."""
    return [*os.get_exec_path(), str(Path(sys.executable).parent)]


@dataclass(frozen=True)
class Template:
    """The words of a launcher, with the places {ranks}, {nodes} and {hosts}."""

    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its program."""
        return Path(self.words[0]).name

    @property
    def is_of_mpi(self) -> bool:
        """Whether it belongs to an MPI, such as mpiexec.hydra or mpirun, and not to a resource manager."""
        return self.name.startswith("mpi")

    @property
    def is_here(self) -> bool:
        """Whether it starts all ranks on this host unless hosts are named: an MPI's, outside an allocation."""
        return self.is_of_mpi and not any(os.environ.get(variable) for variable in _OF_ALLOCATIONS)

    @staticmethod
    def parse(text: str, what: str) -> Template:
        """Return the launcher that a text describes; refuse unknown places, and what is no command or program.

        `what` names the text in messages.
        """
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise Error(f'{what}: got "{text}", expected a command: {str(error).lower()}') from None
        unknown = [name for name in _PLACE.findall(text) if name not in _PLACES]
        if unknown:
            raise Error(f"{what}: got {{{unknown[0]}}}, expected {{ranks}}, {{nodes}} or {{hosts}}")
        program = shutil.which(words[0], path=os.pathsep.join(folders())) if words else None
        if program is None:
            name = words[0] if words else "no word"
            raise Error(f"{what}: {name} is not a program, expected a launcher such as 'srun -n {{ranks}}'")
        ranks = () if "{ranks}" in text else ("-n", "{ranks}")
        return Template((program, *words[1:], *ranks))

    @staticmethod
    def find(text: str | None) -> Template | None:
        """Return the launcher of a text, of HOCKET_LAUNCHER, or of the allocation around this process.

        Raises:
            Error: The launcher is invalid.
        """
        if text is not None:
            return Template.parse(text, "--launcher")
        text_of_site = os.environ.get(VARIABLE)
        if text_of_site:
            return Template.parse(text_of_site, VARIABLE)
        texts = (text for variable, text in _OF_ALLOCATIONS.items() if os.environ.get(variable))
        return next((Template.parse(text, "the launcher") for text in texts if shutil.which(text.split()[0])), None)

    def fill(self, ranks: int, hosts: str | None, family: str) -> list[str]:
        """Return the words for a number of ranks, on hosts, separated by commas, or where the launcher puts them.

        A launcher that needs nodes or hosts which nobody has named, or without a known option for hosts, is refused.
        """
        words = self._with_hosts(family) if hosts else self.words
        nodes = number_of_nodes(hosts)
        values = {"ranks": str(ranks), "nodes": str(min(ranks, nodes)) if nodes else None, "hosts": hosts}
        return [_PLACE.sub(lambda place: _value(place[1], values[place[1]]), word) for word in words]

    def _with_hosts(self, family: str) -> tuple[str, ...]:
        if any("{hosts}" in word for word in self.words):
            return self.words
        option = _HOSTS.get(self.name) or (_HOSTS_OF_FAMILIES.get(family) if self.is_of_mpi else None)
        if option is None:
            raise Error(f"--hosts: the option of {self.name} for hosts is not known, expected {{hosts}} in --launcher")
        at = next((at for at, word in enumerate(self.words) if word.startswith("-")), len(self.words))
        return (*self.words[:at], *option.split(), *self.words[at:])


def number_of_nodes(hosts: str | None) -> int | None:
    """Return the number of nodes of hosts, or of the allocation around this process; None if nobody tells it."""
    if hosts:
        return len({*hosts.split(",")})
    paths = (Path(os.environ[variable]) for variable in _HOST_FILES if variable in os.environ)
    files = (len({*path.read_text().split()}) for path in paths if path.is_file())
    nodes_of_slurm = os.environ.get("SLURM_JOB_NUM_NODES", "")
    return next(files, None) or (int(nodes_of_slurm) if nodes_of_slurm.isdecimal() else 0) or None


def _value(place: str, value: str | None) -> str:
    if not value:
        raise Error(
            f"--launcher: nobody tells the {place} of {{{place}}}, expected --hosts, or an allocation for {{nodes}}"
        )
    return value
