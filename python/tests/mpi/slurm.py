"""A real Slurm whose two nodes are this host: each has a host name, processes and shared memory of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

TOOLS = ("munged", "slurmctld", "slurmd", "srun", "salloc", "sbatch", "scancel", "sinfo", "squeue", "unshare")
NODES = ("n1", "n2")
MOST_SECONDS = 30

CONFIGURATION = """
ClusterName=hocket
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MailProg=/bin/true
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
TmpFS={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
NodeName=n1 NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=1000
NodeName=n2 NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

NODE = """
set -e
hostname {node}
mount -t tmpfs tmpfs /dev/shm
mount --bind {folder}/hosts /etc/hosts
slurmd -D -N {node} -f {folder}/slurm.conf
exit
"""
"""What the shell of a node does. The shell, not slurmd, is the first process of the node: it waits for all orphans."""


@dataclass(frozen=True)
class Slurm:
    """A Slurm that runs.

    Attributes:
        environment: The variables by which programs find it.
    """

    environment: Mapping[str, str]

    def run(
        self, *words: object, timeout: float = 60, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of Slurm, or one that starts some; one that does not end fails, and all jobs are cancelled."""
        settings = {**os.environ, **self.environment, **(variables or {})}
        line = [str(word) for word in words]
        try:
            return subprocess.run(line, capture_output=True, text=True, env=settings, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            self.cancel_all()
            raise

    def cancel_all(self) -> None:
        """Cancel all jobs, and wait for their end."""
        self.run("scancel", "--user=root")
        self.wait_until("", "squeue", "--noheader")

    def wait_until(self, state: str, *words: str, timeout: float = MOST_SECONDS) -> None:
        """Wait until a command of Slurm prints lines that all are `state`, or none if the state is empty."""
        end_s = time.monotonic() + timeout
        while set((ran := self.run(*words)).stdout.split()) != set(state.split()):
            assert time.monotonic() < end_s, f"{words}: {ran.stdout}{ran.stderr}"
            time.sleep(0.2)


def can_start() -> bool:
    """Whether the tools are installed, and this user may give nodes host names."""
    return os.geteuid() == 0 and all(map(shutil.which, TOOLS))


@contextmanager
def two_nodes(folder: Path) -> Iterator[Slurm]:
    """Start a Slurm of two nodes, with its files in a folder; in the end, cancel all jobs and end it."""
    configuration, key = folder / "slurm.conf", folder / "munge.key"
    values = {"host": socket.gethostname(), "ports": free_ports(3), "folder": folder}
    configuration.write_text(CONFIGURATION.format(**values))
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    (folder / "state").mkdir()
    (folder / "hosts").write_text(Path("/etc/hosts").read_text() + f"127.0.0.1 {' '.join(NODES)}\n")
    slurm = Slurm({"SLURM_CONF": str(configuration)})
    with ExitStack() as daemons:
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed", "log-file": "log"}
        options = [f"--{option}={folder}/munge.{ending}" for option, ending in files.items()]
        daemons.enter_context(daemon(folder / "munged.out", "munged", "--foreground", "--force", *options))
        daemons.enter_context(daemon(folder / "slurmctld.out", "slurmctld", "-D", "-c", "-f", str(configuration)))
        for node in NODES:
            (folder / node).mkdir()
            script = NODE.format(node=node, folder=folder)
            own = ("unshare", "--uts", "--ipc", "--pid", "--mount-proc", "--fork", "--kill-child")
            daemons.enter_context(daemon(folder / f"{node}.out", *own, "sh", "-c", script))
        slurm.wait_until("idle", "sinfo", "--noheader", "--Node", "--format=%T")
        yield slurm
        slurm.cancel_all()


def free_ports(count: int) -> list[int]:
    """Return ports that nobody uses."""
    with ExitStack() as sockets:
        found = [sockets.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in found]


@contextmanager
def daemon(log: Path, *line: str) -> Iterator[None]:
    """Start a process in the background, and end it; a node ends with all its processes."""
    with log.open("wb") as file, subprocess.Popen(line, stdout=file, stderr=file) as process:
        try:
            yield
        finally:
            process.send_signal(signal.SIGKILL if line[0] == "unshare" else signal.SIGTERM)
            try:
                process.wait(MOST_SECONDS)
            finally:
                process.kill()
